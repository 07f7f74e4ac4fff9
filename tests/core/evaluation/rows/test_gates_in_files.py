"""What became of the gates of a run stands in its file of results: what is written is what is read."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, Results, Sample, evaluate
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.rows.output_files import write_gates
from ctxmetrics.evaluation.runs.history import read_run
from support.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

FACT = "The pump runs at 7 bar."


def write_samples(path: Path, *, found: int, count: int = 4) -> Path:
    """Write samples, of which so many have their answer in the contexts."""
    lines = []
    for number in range(count):
        context = FACT if number < found else "Nothing at all."
        lines.append(
            json.dumps(
                {
                    "id": f"q{number}",
                    "user_input": f"Question {number}?",
                    "reference": FACT,
                    "retrieved_contexts": [context],
                }
            )
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def score(folder: Path, name: str, *options: Any, found: int) -> Path:
    samples = write_samples(folder / f"{name}.samples.jsonl", found=found)
    out = folder / f"{name}.jsonl"
    done = run_command("score", samples, "--metric", "context_recall", "--out", out, *options)
    assert done.returncode in (0, 1), done.stderr
    return out


def read_gates(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return json.loads(next(lines))["run"].get("gates", [])


def test_score_writes_name_bar_value_and_whether_it_passed(tmp_path: Path) -> None:
    out = score(
        tmp_path,
        "run",
        *("--fail-under", "context_recall=0.6", "--fail-under", "context_recall=0.5"),
        *("--max-doubtful", "0.5"),
        found=2,
    )
    failed, passed, doubtful = read_gates(out)
    assert failed == {
        "gate": "--fail-under context_recall=0.6",
        "problem": "context_recall is 0.5000, below 0.6",
        "metric": "context_recall",
        "bar": 0.6,
        "value": 0.5,
        "passed": False,
    }
    assert passed == {
        "gate": "--fail-under context_recall=0.5",
        "metric": "context_recall",
        "bar": 0.5,
        "value": 0.5,
        "passed": True,
    }
    assert doubtful == {"gate": "--max-doubtful 0.5", "bar": 0.5, "passed": True}


def test_a_compressed_file_holds_them_too(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.jsonl", found=1)
    out = tmp_path / "run.jsonl.gz"
    run_command(
        *("score", samples, "--metric", "context_recall", "--out", out),
        *("--fail-under", "context_recall=0.5"),
    )
    assert [gate["passed"] for gate in read_gates(out)] == [False]
    assert Results.from_jsonl(out).summary()["context_recall"].mean == 0.25


def test_what_is_read_is_written_again(tmp_path: Path) -> None:
    out = score(tmp_path, "run", "--fail-under", "context_recall=0.6", "--tag", "a", found=2)
    again = tmp_path / "again.jsonl"
    results = Results.from_jsonl(out)
    results.to_jsonl(again)
    assert again.read_bytes() == out.read_bytes()
    _, origin = read_run(out)
    (outcome,) = origin.outcomes
    assert (outcome.passed, outcome.bar, outcome.value) == (False, 0.6, 0.5)
    assert origin.tags == ("a",)
    results.filter(lambda row: row.index == 0).to_jsonl(again)
    assert read_gates(again) == []


def test_a_file_without_gates_is_read(tmp_path: Path) -> None:
    samples = write_samples(tmp_path / "samples.jsonl", found=1)
    evaluate(samples, [ContextRecall()], out=tmp_path / "run.jsonl", progress=False)
    lines = (tmp_path / "run.jsonl").read_text().splitlines(keepends=True)
    assert read_run(tmp_path / "run.jsonl")[1].outcomes == ()
    (tmp_path / "old.jsonl").write_text("".join(lines[1:]))  # nothing is known of the run
    assert read_run(tmp_path / "old.jsonl")[1].outcomes == ()
    write_gates(tmp_path / "old.jsonl", [Outcome("--fail-under x=1", "x is 0, below 1")])
    assert [gate["passed"] for gate in read_gates(tmp_path / "old.jsonl")] == [False]
    assert (tmp_path / "old.jsonl").read_text().splitlines(keepends=True)[1:] == lines[1:]


@pytest.mark.parametrize(
    ("gate", "field"),
    [
        ({"problem": "x"}, "run.gates.0.gate: Field required"),
        ({"gate": "x", "bar": "0.5"}, "run.gates.0.bar: Input should be a valid number"),
        ({"gate": "x", "passed": 1}, "run.gates.0.passed: Input should be a valid boolean"),
        ("x", "run.gates.0: Input should be an object"),
    ],
)
def test_a_gate_of_another_form_is_refused_with_its_field(
    tmp_path: Path, gate: object, field: str
) -> None:
    out = score(tmp_path, "run", found=1)
    _, rest = out.read_text().split("\n", 1)
    first = json.dumps({"provenance_id": 0, "run": {"gates": [gate]}})
    out.write_text(f"{first}\n{rest}")
    with pytest.raises(InputFileError, match=f"line 1: .*{field}"):
        Results.from_jsonl(out)


def test_a_comparison_is_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    before = score(tmp_path, "before", found=4)
    after = score(tmp_path, "after", "--fail-under", "context_recall=0.2", found=1)
    old = after.read_bytes()
    gate = ("--max-drop", "context_recall=0.9", "--metric", "context_recall")
    run_command("compare", before, after, *gate)
    assert after.read_bytes() == old
    for _ in range(2):  # the second replaces the first
        done = run_command("compare", before, after, *gate, "--keep-gates")
        assert done.returncode == 0, done.stderr
    own, compared = read_gates(after)
    assert own["gate"] == "--fail-under context_recall=0.2"
    assert compared.pop("verdict")
    assert compared == {
        "gate": "--max-drop context_recall=0.9",
        "metric": "context_recall",
        "bar": 0.9,
        "value": -0.75,
        "against": str(before),
        "passed": True,
    }
    assert read_gates(before) == []


def test_run_writes_the_gates_of_each_setting(tmp_path: Path) -> None:
    questions = write_samples(tmp_path / "questions.jsonl", found=0)
    (tmp_path / "retrievers.py").write_text(
        f"retrievers = {{'good': lambda q: [{FACT!r}], 'bad': lambda q: ['Nothing at all.']}}\n"
    )
    done = run_command(
        *("run", tmp_path / "retrievers.py", "--questions", questions),
        *("--metric", "context_recall", "--folder", tmp_path / "out", "--tag", "trial"),
        *("--fail-under", "context_recall=0.5", "--not-worse", "context_recall=0.1"),
    )
    assert done.returncode == 1, done.stderr
    good = read_gates(tmp_path / "out" / "good.jsonl")
    bad = read_gates(tmp_path / "out" / "bad.jsonl")
    assert [(gate["passed"], gate["value"]) for gate in good] == [(True, 1.0)]
    assert [(gate["passed"], gate["value"], gate.get("against")) for gate in bad] == [
        (False, 0.0, None),
        (False, -1.0, "good"),
    ]
    assert read_run(tmp_path / "out" / "bad.jsonl")[1].tags == ("trial",)


def test_tags_are_a_list() -> None:
    sample = Sample(reference=FACT, retrieved_contexts=[FACT])
    with pytest.raises(ParameterError, match=r"Write tags=\['nightly'\]"):
        evaluate([sample], [ContextRecall()], tags="nightly", progress=False)
    for tags in ([1], [None], [["a"]], {"a": 1}, 5):
        with pytest.raises(ParameterError, match="must be a list of texts"):
            evaluate([sample], [ContextRecall()], tags=tags, progress=False)
    results = evaluate([sample], [ContextRecall()], tags=["b", "a", "b"], progress=False)
    assert results.start["tags"] == ["b", "a"]


@pytest.mark.parametrize(("tag", "read"), [("x" * 200_000, "x" * 400), ("\ud800", "\ufffd")])
def test_a_long_or_broken_tag_loses_no_other_fact(tmp_path: Path, tag: str, read: str) -> None:
    sample = Sample(reference=FACT, retrieved_contexts=[FACT])
    out = tmp_path / "out.jsonl"
    evaluate([sample], [ContextRecall()], tags=[tag], out=out, progress=False)
    start = Results.from_jsonl(out).start
    assert start["tags"] == [read]
    assert "started" in start
