"""The help of each command begins with what it does and an example that runs; pages have titles that tell them apart."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.cli._app import app
from ctxmetrics.evaluation.cli._commands import COMMANDS
from ctxmetrics.evaluation.pages import name_page
from ctxmetrics.metrics.catalog import ALL_METRICS
from support import FakeOpenAIServer, answer_from
from support.command import run_command

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
EXAMPLES = read_data("evaluation.cli", "words.toml")["examples"]
# They wait for a person.
SERVING = {"label", "view"} & set(EXAMPLES)
RETRIEVERS = 'def retrieve_same(question):\n    return ["The same text for all.", "Another text."]\n'


def show_help(command: str) -> str:
    return CliRunner().invoke(app, [command, "--help"], prog_name="ctxmetrics").output


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_purpose_and_example(command: str) -> None:
    shown = show_help(command)
    purpose, usage, _ = re.split("^(Usage:)", shown, maxsplit=1, flags=re.MULTILINE)
    assert usage
    sentence, example = purpose.strip().split("\n\n")
    assert sentence[0].isupper()
    assert example.strip() == EXAMPLES[command]
    assert example.strip().split()[:2] == ["ctxmetrics", command]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_own_options_before_shared_ones(command: str) -> None:
    titles = re.findall(r"^([A-Z].*):$", show_help(command), re.MULTILINE)
    shared = {
        "A file of samples, and how it is read",
        "How a file of samples is read",
        "The questions with what is expected, and how their file is read",
        "The metrics to compute",
        "Who judges, and how it asks its model",
        "How a judge asks its model",
        "What must hold of a run, else the exit status is 1",
        "What tokens cost",
    }
    shared |= {title for title in titles if title.startswith("How many requests are sent at a time")}
    places = [title in shared for title in titles if title != "Options of every command"]
    assert places == sorted(places)
    assert titles[-1] == "Options of every command"


def test_help_lists_what_is_required_first() -> None:
    first = show_help("run").partition("Arguments:")[2].partition("\n\n")[0]
    assert "--questions" in first


def test_every_metric_is_listed_with_its_fields() -> None:
    shown = run_command("metrics").stdout
    for name, kind in ALL_METRICS.items():
        entry = shown.partition(f"{name}\n")[2].partition("\n\n")[0]
        for field in kind().requires:
            assert field in entry, name
    assert "`ctxmetrics metrics` lists" in " ".join(show_help("score").split())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples name, written once."""
    folder = tmp_path_factory.mktemp("files")
    shutil.copy(HANDBOOK, folder / "samples.jsonl")
    (folder / "retrievers.py").write_text(RETRIEVERS)
    words = ("score", "samples.jsonl", "-m", "context_recall", "--out", "before.jsonl")
    assert run_command(*words, cwd=folder).returncode == 0
    for name in ("results", "sources"):
        (folder / name).mkdir()
    for name in ("after.jsonl", "results/before.jsonl", "results/after.jsonl"):
        shutil.copy(folder / "before.jsonl", folder / name)
    for line in HANDBOOK.open(encoding="utf-8"):
        sample = json.loads(line)
        for number, text in enumerate(sample["retrieved_contexts"]):
            (folder / "sources" / f"{sample['id']}-{number}.txt").write_text(text)
    return folder


@pytest.fixture
def folder(tmp_path: Path, files: Path) -> Path:
    """A folder of its own with the files that the examples name."""
    return Path(shutil.copytree(files, tmp_path, dirs_exist_ok=True))


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - SERVING - {"parity"}))
def test_each_example_runs(command: str, folder: Path) -> None:
    words = EXAMPLES[command].split()[1:]
    with FakeOpenAIServer(answer_from()) as server:
        address = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-fake-key-of-none"}
        done = run_command(*words, cwd=folder, **address)
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(SERVING))
def test_each_example_of_a_page_serves_it(command: str, folder: Path) -> None:
    words = [sys.executable, "-m", "ctxmetrics", *EXAMPLES[command].split()[1:], "--no-browser"]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        guard = threading.Timer(60, process.kill)
        guard.start()
        assert process.stderr is not None
        line = next((line for line in process.stderr if "http://127.0.0.1:" in line), "")
        process.terminate()
        guard.cancel()
    assert line


# --- titles ---


@pytest.mark.parametrize(
    ("page", "files", "title"),
    [
        ("out/report.html", ["data/samples.jsonl"], "samples.jsonl: report"),
        ("gpt.html", ["samples.jsonl"], "samples.jsonl: gpt"),
        ("c.html", ["a/results.jsonl", "b/results.jsonl"], "a/results.jsonl, b/results.jsonl: c"),
        ("h.html", [f"{n}.jsonl" for n in range(9)], "0.jsonl, .., 8.jsonl: h"),
        ("report.html", [], "report"),
    ],
)
def test_a_page_is_named_after_its_files(page: str, files: list[str], title: str) -> None:
    assert name_page(page, *files) == title


@pytest.mark.slow
def test_each_page_has_a_title_of_its_own(folder: Path) -> None:
    commands = {
        "report.html": ("score", "samples.jsonl", "-m", "context_recall"),
        "comparison.html": ("compare", "before.jsonl", "after.jsonl"),
        "history.html": ("history", "results"),
    }
    titles = {
        "report.html": "samples.jsonl: report",
        "comparison.html": "before.jsonl, after.jsonl: comparison",
        "history.html": "results: history",
    }
    for page, words in commands.items():
        for more, title in (((), titles[page]), (("--title", "A <b> & c"), "A &lt;b&gt; &amp; c")):
            assert run_command(*words, "--report", page, *more, cwd=folder).returncode == 0
            text = (folder / page).read_text(encoding="utf-8")
            assert f"<title>{title}</title>" in text
            assert f"<h1>{title}</h1>" in text
