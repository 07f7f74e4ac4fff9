"""The ways through the library on the design page: what a call really enters, part by part, is what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.deadlines import LONGEST_PROCESS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "design.md"
# The first name of the table's row whose modules every part uses: they are no stops.
HELPERS = {"_internal"}
MOST = 12


def parts() -> dict[str, str]:
    """Return for each part of the core the first name of its row in the tables of the page."""
    page = PAGE.read_text(encoding="utf-8")
    names = {}
    for title, folder in (("| part |", ""), ("| part of `evaluation/` |", "evaluation/")):
        table = page.split(f"{title} what it does |")[1].split("\n\n")[0]
        for line in table.splitlines():
            row = re.findall(r"`(\w+)/?`", line.split("|")[1]) if "`" in line else ()
            names |= {f"{folder}{name}": f"{folder}{row[0]}" for name in row}
    return names


def ways_of_the_page() -> dict[str, list[str]]:
    """Return the files of each way, in order."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Four ways\n")[1].split("\n## ")[0]
    return {
        way.split("\n")[0].strip(): re.findall(r"^\d+\. `([^`]+)`", way, re.MULTILINE)
        for way in section.split("\n### ")[1:]
    }


WAYS = {
    "`ContextRecall().score`": "score",
    "Ragas' `evaluate()`": "ragas",
    "`score FILE --judge openai/MODEL`": "command",
    "`compare`": "compare",
}


def test_every_module_of_the_core_is_in_one_row_of_the_table():
    core = ROOT / "core" / "ctxmetrics"
    here = {
        path.relative_to(core).with_suffix("").as_posix()
        for folder in (core, core / "evaluation")
        for path in folder.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert here - {"__init__", "__main__", "evaluation/__init__"} == {*parts()}


def test_the_page_shows_these_ways():
    assert [*ways_of_the_page()] == [*WAYS]


@cache
def find_files_entered(way: str) -> list[str]:
    """Take a way in a process of its own; return the files that it enters, in order."""
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, __file__, way, folder],
            env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_PROCESS,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("title", WAYS)
def test_a_way_enters_what_the_page_says(title):
    if WAYS[title] == "ragas":
        pytest.importorskip("ragas")
    listed = ways_of_the_page()[title]
    assert first_of_each_part(find_files_entered(WAYS[title])) == listed
    assert len(listed) <= MOST


@pytest.mark.slow
def test_one_sample_meets_the_files_of_the_page_in_order():
    section = (
        PAGE.read_text(encoding="utf-8").split("\n## The way of one sample\n")[1].split("\n## ")[0]
    )
    listed = re.findall(r"`([\w/]+\.py)`", section)
    assert [file for file in find_files_entered("command") if file in listed] == listed
    assert len(listed) >= 20


def first_of_each_part(files: list[str]) -> list[str]:
    """Return the file through which each part is entered, in order, without the helpers."""
    known, found = parts(), {}
    for file in files:
        name = file.partition("/")[0].removesuffix(".py")
        if name == "evaluation":
            name = "/".join(file.split("/")[:2]).removesuffix(".py")
        found.setdefault(known.get(name, name), file)
    return [file for part, file in found.items() if part not in HELPERS]


def traced(call) -> list[str]:
    """Return the files of the library whose functions a call enters, in order; what runs while a module loads does not count."""
    folders = f"{ROOT / 'core' / 'ctxmetrics'}/", f"{ROOT / 'adapters'}/"
    found: dict[str, None] = {}

    def look(frame, event, arg) -> None:
        code = frame.f_code
        if event != "call" or "<" in code.co_name or not code.co_filename.startswith(folders):
            return
        file = code.co_filename.removeprefix(folders[0]).removeprefix(folders[1])
        if file in found:
            return
        above = frame
        while (above := above.f_back) is not None:
            if above.f_code.co_name == "<module>" and above.f_code.co_filename.startswith(folders):
                return
        found[file] = None

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [*found]


def the_call(way: str, folder: Path):
    """Prepare a way: return the call to trace."""
    from ctxmetrics import ContextRecall, LexicalJudge, Sample

    fields = {
        "user_input": "How long do refunds take?",
        "reference": "Refunds take 14 days. Shipping is free.",
        "retrieved_contexts": ["Refunds take 14 days from the purchase.", "Returns are accepted."],
    }
    if way == "score":
        sample = Sample(**fields)
        return lambda: ContextRecall().score(sample)
    if way == "ragas":
        from ragas import EvaluationDataset, SingleTurnSample, evaluate

        import ctxmetrics_ragas

        data = EvaluationDataset([SingleTurnSample(**fields)])
        metric = ctxmetrics_ragas.ContextRecall(judge=LexicalJudge())
        return lambda: evaluate(data, metrics=[metric], show_progress=False)
    from ctxmetrics.evaluation.cli._app import main

    def command(*words: str) -> None:
        sys.argv = ["ctxmetrics", *words]
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code

    file = folder / "samples.jsonl"
    file.write_text(json.dumps(fields) + "\n", encoding="utf-8")
    out = str(folder / "{}.jsonl")
    if way == "compare":
        for name in ("a", "b"):
            command("score", str(file), "--metric", "context_recall", "--out", out.format(name))
        return lambda: command("compare", out.format("a"), out.format("b"))
    sys.path.insert(0, str(ROOT / "tests"))
    from support import FakeOpenAIServer, answer_from

    server = FakeOpenAIServer(answer_from()).start()
    options = (
        "--judge",
        "openai/gpt-test",
        "--base-url",
        server.base_url,
        "--metric",
        "context_recall",
    )
    return lambda: command("score", str(file), *options, "--out", out.format("c"))


if __name__ == "__main__":
    import os

    os.environ["OPENAI_API_KEY"] = "sk-test"
    print(json.dumps(traced(the_call(sys.argv[1], Path(sys.argv[2])))))
