"""Every code block of the README and the docs is run, or checked in a way that is written here.

Python blocks run page by page, from top to bottom, and ctxmetrics commands one by one. An LLM judge in an example talks
to a server of the test's on the loopback.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from typer.main import get_command

from ctxmetrics.evaluation.cli import app
from support import FakeOpenAIServer, answer_from
from support.cases import each_case
from support.command import run_command
from support.deadlines import LONGEST_PROCESS
from support.later import WITHOUT_CLIENTS
from support.trees import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "examples").glob("*.md"), *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FRAMEWORK = re.compile(
    r"\b(ctxmetrics_)?(ragas|deepeval|langchain|langsmith|mlflow|pydantic_evals|inspect_ai)"
)
_FOR_THE_PROCESS = re.compile("register_pack|set_tracer_provider")
"""What changes the process for good, and so needs one of its own."""
_GATE = re.compile("--(fail-under|min-pass-rate|max-drop|not-worse)")
_LINK = re.compile(r"\]\(([^)#:]+)(#[^)]*)?\)")

CHECKED_ELSEWHERE = {
    (
        "README",
        "sh",
    ): "the command of CI is run by .ci/run; the other one's words are run below, without the installation",
    ("README", "python"): "each block stands alone: tests/docs/test_readme.py",
    ("cli", "python config"): "with the file above it: tests/core/evaluation/cli/test_config.py",
    (
        "running",
        "sh no-run",
    ): "ends with status 4, against a server that has batches: tests/core/evaluation/batching",
    ("running", "python cluster"): "on clusters of this machine: tests/cluster",
    (
        "comparing",
        "sh no-run",
    ): "one after the other, with a person's answers: tests/docs/test_deciding.py",
    (
        "llm-judges",
        "sh no-run",
    ): "against a server that stands for each provider: tests/core/models/openai/test_providers.py, tests/adapters/langchain",
    (
        "start",
        "python file=test_retriever.py",
    ): "by `deepeval test run` and pytest: tests/docs/test_start.py",
    (
        "reference-contexts",
        "sh no-run",
    ): "needs a folder of sources; parsed below, run in tests/core/evaluation/agreement/test_span_labels.py",
    ("retrievers", "sh new-user"): "from an empty folder: tests/docs/test_new_user.py",
    ("own-adapter", "sh no-run"): "in a bare environment: tests/core/test_distribution.py",
    ("start", "sh no-run"): "installs, sets a key, or is run by tests/docs/test_start.py; parsed below",
}
"""Blocks that are not run by this file, by page and fence, and who runs them or why none does."""
DATA = {"json": json.loads, "toml": tomllib.loads, "py": parse}
"""Fences of what is read, not run: it must at least be what the fence says."""
PRINTED = {"text", ""}
"""Fences of what a command or a block prints."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, its fence (``sh no-run``) and its text."""

    page: Path
    fence: str
    text: str


BLOCKS = [
    Block(page, f"{kind} {words.strip()}".strip(), text)
    for page in PAGES
    for kind, words, text in _BLOCK.findall(page.read_text(encoding="utf-8"))
]


def blocks(page: Path, fence: str) -> list[str]:
    return [block.text for block in BLOCKS if block.page == page and block.fence == fence]


def lines(block: Block) -> list[str]:
    """The commands of a block of shell, without comments."""
    text = block.text.replace("\\\n", " ").replace("$ ctxmetrics", "ctxmetrics")
    return [line for raw in text.splitlines() if (line := re.sub(r"\s+# .*$", "", raw).strip())]


def test_every_block_is_run_or_checked() -> None:
    """Count all blocks; each must be of a kind for which this file, or the one that is named, has a test."""
    counted = dict.fromkeys(("run", "checked elsewhere", "data", "printed"), 0)
    for block in BLOCKS:
        if (block.page.stem, block.fence) in CHECKED_ELSEWHERE and block.page.name != "examples":
            counted["checked elsewhere"] += 1
        elif block.fence == "python":
            counted["run"] += 1
        elif block.fence in {"sh", "console"}:
            assert all(line.startswith("ctxmetrics ") for line in lines(block)), block
            counted["run"] += 1
        elif block.fence in DATA:
            DATA[block.fence](block.text)
            counted["data"] += 1
        else:
            assert block.fence in PRINTED, block
            counted["printed"] += 1
    print(counted, len(BLOCKS))
    assert sum(counted.values()) == len(BLOCKS)
    assert counted["run"] > 60
    unused = CHECKED_ELSEWHERE.keys() - {(block.page.stem, block.fence) for block in BLOCKS}
    assert unused == set()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=f"{block.page.stem}: {line}")
        for block in BLOCKS
        if block.fence == "sh no-run"
        for line in lines(block)
    ],
)
def test_a_line_that_is_not_run_is_one_that_could_be(line: str) -> None:
    """A ctxmetrics command has arguments that the program takes, an installation names extras that exist."""
    words = shlex.split(line)
    if words[0] == "ctxmetrics":
        group = get_command(app)
        with group.make_context("ctxmetrics", words[1:], resilient_parsing=True) as context:
            _, command, rest = group.resolve_command(context, words[1:])
            command.make_context(command.name, [*rest])
    elif words[:2] == ["pip", "install"]:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = re.match(r"\.(?:\[(.*)\])?$", words[2])
        assert extras, line
        assert (
            set(filter(None, (extras[1] or "").split(","))) <= project["optional-dependencies"].keys()
        )
    else:  # a tool of somebody else, or a variable of the environment
        assert words[0] in {"export", "python", "deepeval", "ollama", "vllm", "lms", "llama-server"}, (
            line
        )


@pytest.fixture(scope="module")
def server() -> Iterator[FakeOpenAIServer]:
    with FakeOpenAIServer(answer_from(), models=("gpt-4o-mini", "fake-judge")) as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: FakeOpenAIServer) -> Path:
    """A folder as the examples expect it, and an endpoint for their judge."""
    (tmp_path / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "handbook.jsonl", tmp_path / "examples")
    shutil.copy(ROOT / "examples" / "handbook.jsonl", tmp_path / "FILE.jsonl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    return tmp_path


def _slow_if(slow: bool, *values: object, name: str) -> object:
    return pytest.param(*values, id=name, marks=[pytest.mark.slow] if slow else [])


CODE = {
    page.stem: code
    for page in PAGES
    if page.stem != "README" and (code := "\n\n".join(blocks(page, "python")))
}
"""The Python of each page, as one text."""
_WITH_FRAMEWORKS = [page for page, code in CODE.items() if _FRAMEWORK.search(code)]
_RUN_PAGES = "import runpy, sys; [runpy.run_path(page, run_name='__main__') for page in sys.argv[1:]]"


def _run_in_a_process(pages: list[str], place: Path) -> None:
    """Run pages one after the other in one process: frameworks are imported once. The traceback names the page."""
    for page in pages:
        (place / f"{page}.py").write_text(CODE[page], encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", _RUN_PAGES, *(f"{page}.py" for page in pages)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_PROCESS,
        encoding="utf-8",
        # The tests of MLflow's adapter set options of MLflow in this process; a reader has none.
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")},
            **WITHOUT_CLIENTS,
        },
    )
    assert run.returncode == 0, run.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in CODE if page not in _WITH_FRAMEWORKS])
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = CODE[page]
    if "OpenAIModel" in code:
        pytest.importorskip("openai", reason="the openai extra is not installed")
    if "import openpyxl" in code:
        pytest.importorskip("openpyxl", reason="the excel extra is not installed")
    if _FOR_THE_PROCESS.search(code):
        _run_in_a_process([page], place)
        return
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    exec(compile(code, f"{page}.md", "exec"), module.__dict__)  # noqa: S102 - our own page


@pytest.mark.slow
def test_pages_with_frameworks_run_from_top_to_bottom(place: Path) -> None:
    assert len(_WITH_FRAMEWORKS) >= 5
    _run_in_a_process(_WITH_FRAMEWORKS, place)


def _write_two_runs(place: Path) -> None:
    """Write what the examples compare: the handbook's contexts, and the first two of each."""
    from dataclasses import replace

    from ctxmetrics import ContextPrecision, ContextRecall, Results, evaluate
    from ctxmetrics.evaluation.files.sample_file import read_samples

    samples = list(read_samples(place / "FILE.jsonl"))
    fewer = [
        replace(
            item, retrieved_contexts=(item.retrieved_contexts or ())[:2], retrieved_context_ids=None
        )
        for item in samples
    ]
    for name, run in (("before", samples), ("after", fewer)):
        evaluate(
            run, [ContextRecall(), ContextPrecision()], progress=False, out=place / f"{name}.jsonl"
        )
    Results.from_jsonl(place / "before.jsonl").to_baseline(place / "baseline.jsonl")


def commands() -> list[tuple[str, str]]:
    """Each command that a page shows, once a page; of the README what follows the installation."""
    found = [
        (block.page.stem, line)
        for block in BLOCKS
        if block.fence in {"sh", "console"}
        for line in (part.replace(".venv/bin/ctxmetrics", "ctxmetrics") for part in lines(block))
    ]
    found = [(page, line[line.index("ctxmetrics ") :]) for page, line in found if "ctxmetrics " in line]
    return list(dict.fromkeys(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "command"),
    [
        _slow_if(
            bool(re.search("parity|openai/|cache|check-judge|label|agree", command)),
            page,
            command,
            name=f"{page}-{command}",
        )
        for page, command in commands()
    ],
)
def test_a_command_of_a_page_runs(page: str, command: str, place: Path) -> None:
    if " cache " in command:
        run_command("score", "FILE.jsonl", "--judge", "openai/gpt-4o-mini", "--out", "scores.jsonl")
    if "--labels" in command:
        run_command("label", "FILE.jsonl", "--terminal", typed="y\nn\n" * 30)
    elif " label " in command:
        command += " --terminal"  # no person is here to stop the page; the input is empty
    if " compare " in command:
        _write_two_runs(place)
    if "run.trec" in command:
        Path("run.trec").write_text("q1 Q0 d2 1 7.5 mine\nq1 Q0 d1 2 7.1 mine\n")
        Path("qrels.txt").write_text("q1 0 d1 2\nq1 0 d3 1\n")
        Path("scifact", "qrels").mkdir(parents=True)
        Path("scifact", "qrels", "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    if "--calibration" in command:
        run_command("agree", "FILE.jsonl", "--write", "card.json")
    run = run_command(*shlex.split(command)[1:])
    assert run.returncode in ((0, 1) if _GATE.search(command) else (0,)), run.stderr[-2000:]
    assert run.stdout.strip(), page


@each_case("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _ in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_command_of_the_readme_is_the_one_that_ci_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Run the tests")[1].split("\n## ")[0]
    assert len(_BLOCK.findall(section)) == 1
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
