"""``ctxmetrics run``: the retrievers of a Python file, compared from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from ctxmetrics import Results, forget
from support import answer_from
from support.command import run_command
from support.server import FakeOpenAIServer

if TYPE_CHECKING:
    from pathlib import Path

FACTS = [f"Fact {number} has the value {7 * number + 100}." for number in range(12)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with questions, and two settings: one with the answer, one without in two of three questions."""
    rows = [
        {"id": f"q{number}", "question": f"What is fact {number}?", "ground_truth": fact}
        for number, fact in enumerate(FACTS)
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "settings.py").write_text(
        f"FACTS = {FACTS!r}\n"
        "def number_of(question):\n    return int(question.split()[-1].rstrip('?'))\n"
        "def retrieve_good(question):\n    return [FACTS[number_of(question)], FACTS[0]]\n"
        "def retrieve_bad(question):\n"
        "    number = number_of(question)\n"
        "    return [FACTS[number if number % 3 == 0 else (number + 1) % 12]]\n"
    )
    return tmp_path


def test_functions_of_a_file_are_compared(place: Path) -> None:
    found = run_command(
        "run",
        "settings.py",
        "--questions",
        "q.jsonl",
        "--folder",
        "out",
        "--report",
        "page.html",
        cwd=place,
    )
    assert found.returncode == 0, found.stderr
    assert "12 questions, the first 10 contexts; differences are those to good" in found.stdout
    assert "context_recall     good     1.0000" in found.stdout
    assert "context_recall     bad      0.3333" in found.stdout
    assert "s1 lost by bad; held by good (rank 1)" in found.stdout
    assert (place / "page.html").read_text().startswith("<!doctype html>")
    assert len(Results.from_jsonl(place / "out" / "bad.jsonl")) == 12
    assert len((place / "out" / "good.retrieved.jsonl").read_text().splitlines()) == 12


def test_a_mapping_in_the_file_wins_over_functions(place: Path) -> None:
    file = place / "settings.py"
    file.write_text(file.read_text() + "retrievers = {'only': retrieve_good}\n")
    found = run_command(
        *("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall", "--format", "json"), cwd=place
    )
    data = json.loads(found.stdout)
    assert [*data["settings"]] == ["only"]
    assert [*data["settings"]["only"]["metrics"]] == ["context_recall"]


def test_resume_asks_no_retriever_again(place: Path) -> None:
    file = place / "settings.py"
    arguments = ("run", "settings.py", "-q", "q.jsonl", "--folder", "out", "--format", "json")
    first = run_command(*arguments, cwd=place)
    file.write_text(
        "def retrieve_good(question):\n    raise RuntimeError\ndef retrieve_bad(question):\n    raise RuntimeError\n"
    )
    second = run_command(*arguments, "--resume", cwd=place)
    one, two = (json.loads(found.stdout) for found in (first, second))
    assert two["settings"]["bad"]["metrics"] == one["settings"]["bad"]["metrics"]
    assert two["settings"]["bad"]["calls"]["errors"] == 0


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--max-drop", "context_recall=0.1"], 1, "bad: context_recall fell by 0.667"),
        (["--max-drop", "context_recall=0.9"], 0, ""),
        (["--not-worse", "context_recall=0.1"], 1, "bad: context_recall fell by 0.667"),
        (["--fail-under", "context_recall=0.5"], 1, "bad: context_recall is 0.3333, below 0.5"),
        (["--fail-under", "context_recall=0.3"], 0, ""),
        (["--max-errors", "0"], 0, ""),
        (["--fail-under", "faithfulness=0.3"], 2, "no metric is named so"),
        (["--fail-under", "context_recall=30"], 2, "Write context_recall=0.3"),
        (["--min-pass-rate", "context_recall=0.3"], 2, "context_recall has no pass mark"),
        (["--max-doubtful", "0.7"], 0, ""),
        (["--max-doubtful", "2"], 2, "--max-doubtful"),
        (["--min-controls", "0.5"], 2, "--min-controls needs --controls NUMBER"),
    ],
)
def test_gates_decide_the_exit_status(place: Path, options: list[str], status: int, says: str) -> None:
    found = run_command(
        "run", "settings.py", "-q", "q.jsonl", "--junit", "gates.xml", *options, cwd=place
    )
    assert found.returncode == status, found.stderr
    assert says in found.stderr
    if status != 2:
        suite = ET.parse(place / "gates.xml").getroot()[0]  # noqa: S314 - our own file
        assert int(suite.attrib["failures"]) == status
        is_difference = options[0] in {"--max-drop", "--not-worse"}
        assert int(suite.attrib["tests"]) == (1 if is_difference else 2)  # the first is the measure


def test_a_pass_rate_is_a_gate_on_each_setting(place: Path) -> None:
    """By hand: the facts of 4 of 12 questions stand in what bad returns."""
    arguments = ("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall(threshold=0.8)")
    assert run_command(*arguments, "--min-pass-rate", "context_recall=0.3", cwd=place).returncode == 0
    failed = run_command(*arguments, "--min-pass-rate", "context_recall=0.4", cwd=place)
    assert failed.returncode == 1
    assert "gate: bad: the pass rate of context_recall is 0.3333 (4 of 12), below 0.4" in failed.stderr
    assert "q1: 0" in failed.stderr  # a sample behind it
    assert "good: the pass rate" not in failed.stderr


def test_doubtful_verdicts_of_one_setting_fail_its_gate(place: Path) -> None:
    """The embedded judge flags verdicts where words of a fact stand in a sentence that denies it."""
    file = place / "settings.py"
    text = "Fact 3 has not the value 121, and Fact 4 has not the value 128."
    file.write_text(file.read_text() + f"def retrieve_denying(question):\n    return [{text!r}]\n")
    arguments = ("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall", "--max-doubtful", "0")
    failed = run_command(*arguments, cwd=place)
    assert failed.returncode == 1
    assert "gate: denying: context_recall has " in failed.stderr
    assert "gate: good" not in failed.stderr


def test_controls_of_a_run_are_one_gate(place: Path) -> None:
    arguments = ("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall", "--controls", "20")
    failed = run_command(*arguments, "--min-controls", "1", cwd=place)
    assert failed.returncode == 1
    assert failed.stderr.count("gate: controls: ") == 1
    assert ", below 1" in failed.stderr
    assert run_command(*arguments, "--min-controls", "0.1", cwd=place).returncode == 0


def test_a_gate_on_a_metric_without_ids_fails(place: Path) -> None:
    rows = [json.loads(line) for line in (place / "q.jsonl").open()]
    for row in rows:
        row["reference_context_ids"] = ["d1"]
    (place / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gate = ("--fail-under", "id_based_context_recall=0.5")
    failed = run_command("run", "settings.py", "-q", "q.jsonl", *gate, cwd=place)
    assert failed.returncode == 1
    assert "gate: id_based_context_recall was left out: no retriever returned" in failed.stderr
    assert "context_recall     good     1.0000" in failed.stdout


def test_errors_of_a_retriever_are_counted_and_a_gate(place: Path) -> None:
    file = place / "settings.py"
    file.write_text(
        file.read_text()
        + "def retrieve_flaky(question):\n    if '3' in question:\n        raise OSError('no index')\n    return [FACTS[0]]\n"
    )
    arguments = ("run", "settings.py", "-q", "q.jsonl")
    assert run_command(*arguments, "--max-errors", "1", cwd=place).returncode == 0
    found = run_command(*arguments, "--max-errors", "0", cwd=place)
    assert found.returncode == 1
    assert "gate: flaky: 1 call of 12 failed, more than 0" in found.stderr
    assert "q3: OSError: no index" in found.stderr


def test_a_retriever_that_always_fails_is_no_result(place: Path) -> None:
    (place / "settings.py").write_text("def retrieve_down(question):\n    raise OSError('no index')\n")
    found = run_command("run", "settings.py", "-q", "q.jsonl", cwd=place)
    assert found.returncode == 3
    assert "OSError: no index" in found.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n", "holds no retriever"),
        ("retrievers = []\n", "holds no retriever"),
        ("import nothing_of_that_name\n", "ModuleNotFoundError"),
        ("retrievers = {'a': 7}\n", "cannot be asked"),
    ],
)
def test_a_file_without_retrievers_says_what_to_write(place: Path, text: str, says: str) -> None:
    (place / "settings.py").write_text(text)
    found = run_command("run", "settings.py", "-q", "q.jsonl", cwd=place)
    assert found.returncode == 2
    assert says in found.stderr


def test_a_missing_file_says_how_to_make_one(place: Path) -> None:
    found = run_command("run", "nothing.py", "-q", "q.jsonl", cwd=place)
    assert found.returncode == 2
    assert "ctxmetrics init QUESTIONS --out FILE.py" in found.stderr


def test_init_writes_a_file_of_retrievers_that_runs(place: Path) -> None:
    made = run_command("init", "q.jsonl", "--out", "mine.py", cwd=place)
    assert "ctxmetrics run mine.py --questions q.jsonl" in made.stderr
    found = run_command("run", "mine.py", "--questions", "q.jsonl", cwd=place)
    assert found.returncode == 0, found.stderr
    assert "differences are those to first" in found.stdout
    assert run_command("init", "q.jsonl", "--out", "mine.py", cwd=place).returncode == 2


def test_labels_of_earlier_contexts_play_no_part(place: Path) -> None:
    """The samples of the questions file may hold people's answers about other contexts."""
    rows = [json.loads(line) for line in (place / "q.jsonl").open()]
    for row in rows:
        row |= {"retrieved_contexts": ["old"], "labels": {"sentences": [True], "contexts": [False]}}
    (place / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run_command("run", "settings.py", "-q", "q.jsonl", "--format", "json", cwd=place)
    data = json.loads(found.stdout)
    difference = data["settings"]["bad"]["differences"][0]
    assert difference["corrected"] is None
    assert difference["decides"] == "judge"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--max-drop", "recal=0.1"), "--max-drop"),
        (("--primary", "context_recall", "--max-drop", "context_precision=0.1"), "secondary"),
    ],
)
def test_a_gate_on_no_metric_is_refused_before_anything_is_asked(
    place: Path, options: tuple[str, ...], says: str
) -> None:
    (place / "settings.py").write_text("def retrieve_one(question):\n    raise SystemExit('asked')\n")
    found = run_command("run", "settings.py", "-q", "q.jsonl", *options, cwd=place)
    assert (found.returncode, found.stdout) == (2, "")
    assert says in found.stderr
    assert "asked" not in found.stderr


def test_a_corpus_adds_a_floor_that_no_gate_is_about(place: Path) -> None:
    pytest.importorskip("bm25s")
    pytest.importorskip("Stemmer")
    (place / "corpus.jsonl").write_text(
        "".join(json.dumps({"text": fact}) + "\n" for fact in FACTS[:2])
    )
    arguments = ("run", "settings.py", "-q", "q.jsonl", "--corpus", "corpus.jsonl")
    found = run_command(*arguments, "--max-drop", "context_recall=0.7", cwd=place)
    assert found.returncode == 0, found.stderr
    assert "good against bm25: context_recall +0.833" in found.stdout
    refused = run_command("run", "settings.py", "-q", "q.jsonl", "--corpus", "q.jsonl", cwd=place)
    assert refused.returncode == 2
    assert "a chunk has no text" in refused.stderr or "these are samples" in refused.stderr


@pytest.mark.slow
def test_an_llm_judge_is_asked_once_a_question_and_never_again(place: Path) -> None:
    key = {"OPENAI_API_KEY": "sk-fake-key-of-nobody"}
    arguments = (
        "run",
        "settings.py",
        "-q",
        "q.jsonl",
        "-m",
        "context_recall",
        "-m",
        "context_precision",
    )
    forget()
    with FakeOpenAIServer(answer_from()) as server:
        judge = ("--judge", "openai/x", "--base-url", server.base_url, "--folder", "out")
        first = run_command(*arguments, *judge, cwd=place, **key)
        assert first.returncode == 0, first.stderr
        assert server.count == 12
        assert (
            "judged together: 12 pools of 2 settings, 0 sets of contexts alone as well: 12 requests"
            in first.stdout
        )
        forget()  # the cache has what the process forgot
        second = run_command(*arguments, *judge, "--resume", cwd=place, **key)
        assert server.count == 12
        assert second.stdout.split("\n\n")[1] == first.stdout.split("\n\n")[1]
        apart = run_command(*arguments, *judge, "--apart", "--resume", cwd=place, **key)
        # Two sets of contexts at least stand in the order of their pool, so that the cache has them.
        assert 12 + 20 < server.count <= 12 + 24
        assert "each setting was judged alone: " in apart.stdout
    forget()


def test_a_file_of_retrievers_that_exits_is_an_error(place: Path) -> None:
    (place / "settings.py").write_text("import sys\nsys.exit(0)\n")
    run = run_command("run", "settings.py", "-q", "q.jsonl", cwd=place)
    assert run.returncode == 2
    assert "settings.py: SystemExit: 0" in run.stderr


def test_what_retrievers_print_is_no_result(place: Path) -> None:
    file = place / "settings.py"
    file.write_text(
        f"print('loading')\n{file.read_text()}"
        "def retrieve_loud(question):\n    print(question)\n    return []\n"
    )
    words = ("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall", "--format", "json")
    run = run_command(*words, cwd=place)
    assert [*json.loads(run.stdout)["settings"]] == ["good", "bad", "loud"]
    assert "loading\n" in run.stderr
    assert "What is fact 3?\n" in run.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--max-drop", "context_recall=5"),
            "--max-drop context_recall=5: the margin must be a number from 0 to 1.",
        ),
        (("--not-worse", "context_recall=-1"), "--not-worse context_recall=-1: the margin must be"),
        (("--resume",), "--resume needs --folder DIR"),
        (("--cluster", "metadata.topic"), "has no 'metadata.topic'"),
        (("--batch", "submit"), "No such option: --batch. It is an option of: score."),
        (("-k", "3"), "No such option: -k. Did you mean --k?"),
        (
            ("--report", "page.pdf"),
            "--report page.pdf: the report is a page. Write --report FILE.html.",
        ),
    ],
)
def test_wrong_options_ask_no_retriever(place: Path, words: tuple[str, ...], says: str) -> None:
    (place / "settings.py").write_text(
        "def retrieve_one(question):\n    open('asked', 'w')\n    return []\n"
        "def retrieve_two(question):\n    return []\n"
    )
    run = run_command("run", "settings.py", "-q", "q.jsonl", *words, cwd=place)
    assert run.returncode == 2
    assert says in run.stderr
    assert not (place / "asked").exists()


def test_the_last_line_says_why_all_calls_failed(place: Path) -> None:
    (place / "settings.py").write_text(
        "def retrieve_one(question):\n    raise ValueError('no index')\n"
    )
    run = run_command("run", "settings.py", "-q", "q.jsonl", "-m", "context_recall", cwd=place)
    assert run.returncode == 3
    assert run.stderr.splitlines()[-1] == (
        "ctxmetrics: no verdict at all for context_recall: retriever_error: ValueError: no index. "
        "Mend the retriever, or give it more time with --retrieval-timeout."
    )
