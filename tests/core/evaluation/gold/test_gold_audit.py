"""An audit of gold: it is drawn and labelled blind, and corrects the gold and the means."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import Sample, check_gold, read_samples
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.statistics.corrected_means import audited_mean
from support.command import run_command as ctxmetrics
from support.gold_audits import label

NUMBERS = range(30)
CORPUS = {
    f"{kind}-{number}": f"The {kind} number {number} of hall {number} stands beside shelf {number + 100}."
    for number in NUMBERS
    for kind in ("pump", "oven")
}
# In these questions, the oven is gold where the pump should be.
WRONG = frozenset({0, 10, 20})


def make_samples() -> list[dict[str, Any]]:
    samples = []
    for number in NUMBERS:
        kind = "oven" if number in WRONG else "pump"
        retrieved = [f"pump-{number}", f"oven-{number}"]
        samples.append(
            {
                "id": f"q{number}",
                "user_input": f"Beside which shelf stands pump number {number}?",
                "reference": f"The pump number {number} stands beside shelf {number + 100}.",
                "reference_context_ids": [f"{kind}-{number}"],
                "retrieved_context_ids": retrieved,
                "retrieved_contexts": [CORPUS[id_] for id_ in retrieved],
            }
        )
    return samples


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def is_right(sample: Sample, text: str) -> bool:
    """Answer as a person who knows that the pump is right."""
    return text == CORPUS[f"pump-{(sample.id or '')[1:]}"]


def test_audit_shows_neither_gold_nor_findings(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    check_gold(make_samples(), corpus=CORPUS, audit=audit, sample=10, progress=False)
    rows = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    assert 10 <= len(rows) <= 20
    shown = {"id", "user_input", "reference", "retrieved_contexts", "retrieved_context_ids"}
    assert all(row.keys() == shown for row in rows)
    firsts = {row["retrieved_context_ids"][0].split("-")[0] for row in rows}
    assert firsts == {"pump", "oven"}  # the gold passage is not always the first


def test_labels_of_the_audit_correct_gold_and_means(tmp_path: Path) -> None:
    samples = make_samples()
    file = write_rows(tmp_path / "samples.jsonl", samples)
    first = [
        {"id": row["id"], "user_input": row["user_input"], "retrieved_context_ids": [f"pump-{n}"]}
        for n, row in enumerate(samples)
    ]
    audit = tmp_path / "audit.jsonl"
    runs = {"pumps": first}
    check_gold(file, corpus=CORPUS, runs=runs, audit=audit, sample=30, progress=False)
    labels = label(audit, is_right)
    new = tmp_path / "new.jsonl"
    report = check_gold(
        file, corpus=CORPUS, runs=runs, audit=audit, labels=labels, corrected=new, progress=False
    )
    assert report.audit is not None
    assert report.audit.random == (30, 3)
    assert report.audit.interval[0] < 0.1 < report.audit.interval[1]
    means = {item.run: item for item in report.audit.means}
    assert means["pumps"].mean == pytest.approx(27 / 30)
    assert means["pumps"].corrected == pytest.approx(1.0)
    assert {(change.sample, change.passage, change.change) for change in report.audit.changes} == {
        (f"q{number}", f"{kind}-{number}", change)
        for number in WRONG
        for kind, change in (("oven", "removed"), ("pump", "added"))
    }
    golds = [sample.reference_context_ids for sample in read_samples(new)]
    assert golds == [(f"pump-{number}",) for number in NUMBERS]
    changes = new.with_name("new.jsonl.changes.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(changes) == 6
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["reference_context_ids"] == [
        "oven-0"
    ]


def test_decision_that_rests_on_wrong_gold_does_not_survive(tmp_path: Path) -> None:
    samples = make_samples()
    runs = {
        kind: [
            {"id": row["id"], "user_input": row["user_input"], "retrieved_context_ids": [f"{kind}-{n}"]}
            for n, row in enumerate(samples)
        ]
        for kind in ("pump", "oven")
    }
    for row in samples[3:]:
        row["reference_context_ids"] = [f"oven-{row['id'][1:]}"]
    audit = tmp_path / "audit.jsonl"
    check_gold(samples, corpus=CORPUS, runs=runs, audit=audit, sample=30, progress=False)
    report = check_gold(
        samples, corpus=CORPUS, runs=runs, audit=audit, labels=label(audit, is_right), progress=False
    )
    assert report.audit is not None
    (difference,) = [item for item in report.audit.means if item.run == "oven - pump"]
    assert difference.mean > 0
    assert difference.corrected == pytest.approx(-1.0)
    assert difference.survives is False
    assert "does not survive the audit" in " ".join(str(report).split())


def test_command_writes_an_audit_and_says_what_is_next(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "samples.jsonl", make_samples())
    audit = tmp_path / "audit.jsonl"
    run = ctxmetrics("check-gold", file, "--audit", audit, "--sample", 500)
    assert run.returncode == 0, run.stderr
    count = len(audit.read_text(encoding="utf-8").splitlines())
    assert 5 <= count <= 500
    assert f"ctxmetrics label {audit} --n {count} " in run.stderr
    same = ctxmetrics("check-gold", file, "--audit", file)
    assert same.returncode == 2


def test_audit_of_an_earlier_check_is_kept(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    check_gold(make_samples(), audit=audit, sample=5, progress=False)
    with pytest.raises(InputFileError, match="the audit of an earlier check"):
        check_gold(make_samples(), audit=audit, sample=6, progress=False)
    answers = "n\n" * 100
    labelled = ctxmetrics(
        "label", audit, "--terminal", "--n", 1, "--ask", "context_useful", typed=answers
    )
    assert f"ctxmetrics check-gold SAMPLES --corpus CORPUS --audit {audit} --labels" in labelled.stdout


def test_audit_without_answers_or_labels_is_refused(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    check_gold(make_samples(), corpus=CORPUS, audit=audit, sample=5, progress=False)
    with pytest.raises(InputFileError, match="no question of"):
        check_gold(make_samples(), corpus=CORPUS, audit=audit, labels=tmp_path / "none", progress=False)
    with pytest.raises(ParameterError, match="needs labels"):
        check_gold(make_samples(), corrected=tmp_path / "new.jsonl")


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_widened_interval_holds_the_mean_by_right_gold(share: float) -> None:
    """A small form of ``benchmarks/decisions/gold_audit.py``, which has more draws."""
    source = random.Random(7)
    held = 0
    draws = 100
    for _ in range(draws):
        right = [float(source.random() < 0.7) for _ in range(300)]
        by_gold = [source.choice((0.0, 1.0)) if source.random() < share else value for value in right]
        _, (low, high) = audited_mean(right[:40], by_gold[:40], by_gold[40:])
        held += low <= 0.7 <= high
    assert held >= 0.88 * draws


def omit_ids(samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in samples]


def write_audit(folder: Path, samples: list[dict[str, Any]]) -> dict[str, Any]:
    audit = folder / "audit.jsonl"
    check_gold(samples, corpus=CORPUS, audit=audit, sample=30, progress=False)
    labels = label(audit, lambda _, text: "pump" in text)
    return {"audit": audit, "labels": labels, "corrected": folder / "new.jsonl"}


def test_answers_about_other_samples_correct_nothing(tmp_path: Path) -> None:
    samples = make_samples()[:4]
    numbered = omit_ids(samples)
    other = {**numbered[0], "user_input": "Who built the mill?"}
    for place, rows, others in (
        ("inserted", numbered, [other, *numbered]),
        ("reversed", numbered, numbered[::-1]),
        ("question", samples, [{**row, "user_input": "Where is it?"} for row in samples]),
    ):
        folder = tmp_path / place
        folder.mkdir()
        options = write_audit(folder, rows)
        with pytest.raises(InputFileError, match=r"the question of sample '.*' is another one"):
            check_gold(others, corpus=CORPUS, progress=False, **options)
        assert not options["corrected"].exists()
        check_gold(rows, corpus=CORPUS, progress=False, **options)
        assert len([*read_samples(options["corrected"])]) == 4


def test_answers_about_another_reference_correct_nothing(tmp_path: Path) -> None:
    samples = make_samples()[:4]
    options = write_audit(tmp_path, samples)
    samples[2]["reference"] = "The oven number 2 stands beside shelf 102."
    with pytest.raises(InputFileError, match="the reference of sample 'q2' is another one"):
        check_gold(samples, corpus=CORPUS, progress=False, **options)


def test_answers_are_checked_before_a_judge_is_asked(tmp_path: Path) -> None:
    samples = make_samples()[:4]
    options = write_audit(tmp_path, samples)
    samples[2]["reference"] = "The oven number 2 stands beside shelf 102."
    announced: list[str] = []
    with pytest.raises(InputFileError):
        check_gold(samples, corpus=CORPUS, announce=announced.append, progress=False, **options)
    assert announced == []


@pytest.mark.parametrize("name", ["audit", "labels", "corrected"])
def test_file_of_another_type_is_refused(name: str) -> None:
    files: dict[str, Any] = {"audit": "audit.jsonl", "labels": "labels.jsonl", name: ["a.jsonl"]}
    with pytest.raises(ParameterError, match=f"check_gold: {name} must be a file"):
        check_gold(make_samples(), progress=False, **files)


def test_number_of_a_sample_without_id_is_no_id(tmp_path: Path) -> None:
    first, second = omit_ids(make_samples()[:2])
    samples = [first, {**second, "id": "1"}]
    audit = tmp_path / "audit.jsonl"
    with pytest.raises(SampleError, match="Sample 2 has the id '1', and sample 1 has no id"):
        check_gold(samples, corpus=CORPUS, audit=audit, progress=False)
    assert not audit.exists()
    check_gold([first, {**second, "id": "2"}], corpus=CORPUS, audit=audit, progress=False)
    assert {sample.id for sample in read_samples(audit)} == {"1", "2"}
