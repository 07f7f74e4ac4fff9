"""Every example in the README and the docs is run: Python blocks page by page, ctxmetrics commands one by one.

An LLM judge in an example talks to a server of the test's on the loopback.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import FakeOpenAIServer, answer_from
from support.command import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_GATE = re.compile("--(fail-under|min-pass-rate|max-drop|not-worse)")
_LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """Return the words behind the fence and the text of each block."""
    return [
        (words.strip(), text)
        for kind, words, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind == language
    ]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAIServer]:
    with FakeOpenAIServer(answer_from(), models=("gpt-4o-mini", "fake-judge")) as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeOpenAIServer) -> Path:
    """A folder as the examples expect it, and an endpoint for their judge."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "examples" / "handbook.jsonl", tmp_path / "FILE.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    return tmp_path


def _slow_if(slow: bool, *values: object, name: str) -> object:
    return pytest.param(*values, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.stem
)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path, place: Path) -> None:
    code = "\n\n".join(text for _, text in blocks(page, "python"))
    if "OpenAIModel" in code:
        pytest.importorskip("openai", reason="the openai extra is not installed")
    (place / "page.py").write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "page.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr[-3000:]


def _write_two_runs(place: Path) -> None:
    """Write what the examples compare: the handbook's contexts, and the first two of each."""
    from dataclasses import replace

    from ctxmetrics import ContextPrecision, ContextRecall, evaluate
    from ctxmetrics.files import read_samples

    samples = list(read_samples(place / "FILE.jsonl"))
    fewer = [
        replace(item, retrieved_contexts=(item.retrieved_contexts or ())[:2], retrieved_context_ids=None)
        for item in samples
    ]
    for name, run in (("before", samples), ("after", fewer)):
        evaluate(run, [ContextRecall(), ContextPrecision()], progress=False, out=place / f"{name}.jsonl")


def commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for words, text in blocks(page, "sh"):
            if "no-run" in words:
                continue
            lines = text.replace("\\\n", " ").splitlines()
            found += [(page.stem, line.strip()) for line in lines if line.strip().startswith("ctxmetrics ")]
    return found


@pytest.mark.parametrize(
    ("page", "command"),
    [
        _slow_if(bool(re.search("parity|openai/|cache", command)), page, command, name=f"{page}-{command}")
        for page, command in commands()
    ],
)
def test_a_command_of_a_page_runs(page: str, command: str, place: Path) -> None:
    first = place / "scores.jsonl"
    if "agree" not in command:
        first.unlink(missing_ok=True)
    if " cache " in f" {command} ":
        run_command("score", "FILE.jsonl", "--judge", "openai/gpt-4o-mini", "--out", "scores.jsonl")
    if "--labels" in command:
        run_command("label", "FILE.jsonl", "--terminal", typed="y\nn\n" * 30)
    arguments = shlex.split(command, comments=True)[1:]
    if "label" in arguments and "--labels" not in command:
        arguments.append("--terminal")  # no person is here to stop the page; input is empty
    if "compare" in arguments:
        _write_two_runs(place)
    run = run_command(*arguments)
    assert run.returncode in ((0, 1) if _GATE.search(command) else (0,)), run.stderr[-2000:]
    assert run.stdout.strip(), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _ in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_command_of_the_readme_is_the_one_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Run the tests")[1].split("\n## ")[0]
    assert len(_BLOCK.findall(section)) == 1
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_page_on_the_design_names_every_part_of_the_core() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    named = {name.rstrip("/") for row in table for name in re.findall(r"`([\w/]+)`", row)}
    core = ROOT / "core" / "ctxmetrics"
    there = {path.stem for path in core.iterdir() if path.suffix == ".py" or path.is_dir()} - {"__pycache__"}
    public = {name for name in there if not name.startswith("_")} | {"_runtime"}
    assert named == public
