"""What people's answers about an audit do to gold of each form, and to the means."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import LLMJudge, OpenAIModel, Sample, check_gold
from ctxmetrics.errors import InputFileError, OutputFileError
from ctxmetrics.evaluation.gold import gold_audit
from ctxmetrics.evaluation.gold.gold_audit import AuditResult
from ctxmetrics.evaluation.statistics.corrected_means import LARGER_UNSEEN_SHARE, corrected_mean
from support.answers import answer_from
from support.command import run_command as ctxmetrics
from support.gold_audits import Decision, label
from support.server import FakeOpenAIServer


def audit_gold(
    folder: Path, samples: list[dict[str, Any]], decide: Decision, n: int, **options: Any
) -> tuple[AuditResult, list[dict[str, Any]]]:
    """Draw an audit, label it and read it; return what it says and the corrected samples."""
    audit = folder / "audit.jsonl"
    check_gold(samples, audit=audit, sample=n, progress=False, **options)
    labels = label(audit, decide)
    new = folder / "new.jsonl"
    report = check_gold(samples, audit=audit, labels=labels, corrected=new, progress=False, **options)
    assert report.audit is not None
    return report.audit, [json.loads(line) for line in new.read_text(encoding="utf-8").splitlines()]


def make_sample(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "user_input": f"Where stands pump number {number}?",
        "reference": f"The Pump number {number} stands beside shelf {number + 100}.",
        **fields,
    }


OVEN = "The Oven “number” stands in Hall 7, près de l'École."
PUMP = "The Pump of ACME stands beside shelf 100."


def is_pump(_: Sample, text: str) -> bool:
    return "Pump" in text


def test_texts_of_corrected_gold_are_the_original_ones(tmp_path: Path) -> None:
    samples = [
        make_sample(number, reference_contexts=[OVEN, f"{PUMP} It is Red."], retrieved_contexts=[PUMP])
        for number in range(3)
    ]
    result, corrected = audit_gold(tmp_path, samples, is_pump, 3)
    assert corrected[0]["reference_contexts"] == [f"{PUMP} It is Red.", PUMP]
    assert {(change.passage, change.change) for change in result.changes} == {
        (OVEN, "removed"),
        (PUMP, "added"),
    }
    changes = (tmp_path / "new.jsonl.changes.jsonl").read_text(encoding="utf-8")
    assert OVEN in changes


def test_judge_without_an_answer_writes_no_corrected_gold(tmp_path: Path) -> None:
    samples = [make_sample(number, reference_contexts=[OVEN]) for number in range(3)]
    audit = tmp_path / "audit.jsonl"
    check_gold(samples, audit=audit, sample=3, progress=False)
    labels = label(audit, is_pump)
    new = tmp_path / "new.jsonl"
    with FakeOpenAIServer(answer_from(), api_key="right") as server:
        judge = LLMJudge(OpenAIModel("m", base_url=server.base_url, api_key="sk-wrong"))
        report = check_gold(
            samples, judge=judge, audit=audit, labels=labels, corrected=new, progress=False
        )
    assert report.audit is not None
    assert f"{new} is not written: the judge did not answer" in report.notes
    assert not new.exists()
    assert not new.with_name("new.jsonl.changes.jsonl").exists()


def test_passage_without_id_is_not_added_to_gold_by_id(tmp_path: Path) -> None:
    samples = [
        make_sample(
            number,
            reference_context_ids=["oven", "pump"],
            reference_contexts=[OVEN, "The Pump is beside shelf 100."],
            retrieved_contexts=[PUMP],
        )
        for number in range(3)
    ]
    result, corrected = audit_gold(tmp_path, samples, is_pump, 3)
    assert [row["reference_context_ids"] for row in corrected] == [["pump"]] * 3
    assert {change.passage for change in result.changes} == {"oven"}
    assert result.without_id == 3
    assert "3 useful passages without an id" in " ".join(result.list_sentences())


def test_id_of_another_run_names_a_passage_without_id(tmp_path: Path) -> None:
    samples = [
        make_sample(
            number,
            reference_context_ids=["oven"],
            reference_contexts=[OVEN],
            retrieved_contexts=[PUMP],
        )
        for number in range(3)
    ]
    run = [
        make_sample(number, retrieved_contexts=[PUMP], retrieved_context_ids=["pump"])
        for number in range(3)
    ]
    _, corrected = audit_gold(tmp_path, samples, is_pump, 3, runs={"b": run})
    assert [row["reference_context_ids"] for row in corrected] == [["pump"]] * 3


def test_one_id_beside_two_texts_is_added_once(tmp_path: Path) -> None:
    samples = [
        make_sample(
            number,
            reference_context_ids=["oven"],
            reference_contexts=[OVEN],
            retrieved_contexts=[PUMP, f"{PUMP} It is red."],
            retrieved_context_ids=["pump", "pump"],
        )
        for number in range(3)
    ]
    _, corrected = audit_gold(tmp_path, samples, is_pump, 3)
    assert [row["reference_context_ids"] for row in corrected] == [["pump"]] * 3


def test_gold_id_stays_if_one_of_its_texts_is_useful(tmp_path: Path) -> None:
    samples = [
        make_sample(number, reference_context_ids=["pump"], reference_contexts=[PUMP])
        for number in range(3)
    ]
    corpus = {"pump": "The station number 1 stands beside shelf 101.", "oven": OVEN}
    result, corrected = audit_gold(tmp_path, samples, is_pump, 3, corpus=corpus)
    assert [row["reference_context_ids"] for row in corrected] == [["pump"]] * 3
    assert result.changes == ()


def test_questions_without_gold_by_people_are_left_out(tmp_path: Path) -> None:
    samples = [
        make_sample(
            number,
            reference_context_ids=[f"oven-{number}"],
            retrieved_context_ids=[f"oven-{number}" if number < 20 or number % 2 else "other"],
            retrieved_contexts=[f"The Oven number {number} stands in Hall {number}."],
            reference_contexts=[f"The Oven number {number} stands in Hall {number}."],
        )
        for number in range(40)
    ]

    def decide(sample: Sample, text: str) -> bool:
        # The gold of the first half is wrong, and retrieved; of the second half every other one is retrieved.
        number = int((sample.id or "")[1:])
        return number >= 20 and f"number {number} " in text

    result, _ = audit_gold(tmp_path, samples, decide, 40)
    assert result.random == (40, 20)
    assert result.emptied == 20
    (mean,) = result.means
    assert (mean.mean, mean.corrected) == (0.5, 0.5)
    same = corrected_mean([0.0, 1.0] * 10, [0.0, 1.0] * 10, [], unseen=LARGER_UNSEEN_SHARE)
    assert mean.interval == pytest.approx(same[1])
    assert "removed all gold of 20 random questions" in " ".join(result.list_sentences())
    assert "of the questions that can be labelled" in " ".join(result.list_sentences())


@pytest.mark.slow
def test_decision_survives_if_people_overturn_nothing(tmp_path: Path) -> None:
    numbers = range(120)
    samples = [
        make_sample(
            number,
            reference_context_ids=[f"pump-{number}"],
            reference_contexts=[f"The Pump number {number} stands beside shelf {number + 100}."],
        )
        for number in numbers
    ]

    def make_run(every: int) -> list[dict[str, Any]]:
        return [
            make_sample(
                number, retrieved_context_ids=["x" if number % every == 0 else f"pump-{number}"]
            )
            for number in numbers
        ]

    runs = {"a": make_run(200), "b": make_run(8)}
    result, _ = audit_gold(tmp_path, samples, lambda _, __: True, 12, runs=runs)
    assert result.random == (12, 0)
    difference = result.means[-1]
    assert difference.run == "b - a"
    assert difference.mean == pytest.approx(-14 / 120)  # 15 of b less the one of a
    assert difference.interval[0] < 0 < difference.interval[1]  # twelve questions alone decide nothing
    assert difference.survives is True


@pytest.mark.parametrize("value", [1 / 3, 0.1, 0.7])
def test_equal_scores_have_no_interval_of_zero_width(value: float) -> None:
    scores = [value] * 10
    mean, (low, high) = corrected_mean(scores, scores, [0.5] * 20, unseen=LARGER_UNSEEN_SHARE)
    assert mean == pytest.approx(value)
    assert low < value - 0.05
    assert high > value + 0.15


def test_unseen_share_widens_only_where_the_gold_counts() -> None:
    people = [1.0, 0.0, 1.0, 1.0] * 8
    plain = corrected_mean(people, people, [0.5, 1.0] * 40)
    wide = corrected_mean(people, people, [0.5, 1.0] * 40, unseen=LARGER_UNSEEN_SHARE)
    assert wide[0] == plain[0]
    assert wide[1][0] < plain[1][0] < plain[1][1] < wide[1][1]
    few = people[:8]
    assert corrected_mean(few, few, [0.5], unseen=LARGER_UNSEEN_SHARE) == corrected_mean(
        few, few, [0.5]
    )


def make_few() -> list[dict[str, Any]]:
    return [make_sample(number, reference_contexts=[f"{PUMP} {number}"]) for number in range(9)]


def test_old_key_is_refused_before_anything_is_judged(tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    check_gold(make_few(), audit=audit, sample=3, progress=False)
    audit.unlink()
    costs: list[str] = []
    with pytest.raises(InputFileError, match=r"audit.jsonl.key.json: cannot be written"):
        check_gold(make_few(), audit=audit, sample=3, seed=5, announce=costs.append, progress=False)
    assert costs == []
    assert not audit.exists()


OUTPUTS = [
    ("samples.jsonl", None),
    ("run.jsonl", None),
    ("corpus.jsonl", None),
    ("audit.jsonl", "audit.jsonl"),
    ("audit.jsonl", "audit.jsonl.key.json"),
    ("audit.jsonl", "audit.jsonl.labels.jsonl"),
    ("audit.jsonl", "run.jsonl"),
]


def write_inputs(folder: Path) -> None:
    rows = {
        "samples.jsonl": make_few(),
        "run.jsonl": [make_sample(number, retrieved_contexts=[PUMP]) for number in range(9)],
        "corpus.jsonl": [{"id": "p", "text": PUMP}],
    }
    for name, items in rows.items():
        (folder / name).write_text("".join(f"{json.dumps(item)}\n" for item in items), "utf-8")


@pytest.mark.parametrize(("audit", "corrected"), OUTPUTS)
def test_files_that_are_read_are_not_written(tmp_path: Path, audit: str, corrected: str | None) -> None:
    write_inputs(tmp_path)
    options: dict[str, Any] = {"audit": tmp_path / audit}
    if corrected is not None:
        check_gold(tmp_path / "samples.jsonl", audit=tmp_path / audit, progress=False)
        labels = label(tmp_path / audit, is_pump)
        options |= {"labels": labels, "corrected": tmp_path / corrected}
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    costs: list[str] = []
    with pytest.raises(InputFileError, match="are the same file"):
        check_gold(
            tmp_path / "samples.jsonl",
            corpus=tmp_path / "corpus.jsonl",
            runs={"b": tmp_path / "run.jsonl"},
            announce=costs.append,
            progress=False,
            **options,
        )
    assert costs == []
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_file_of_changes_is_no_input(tmp_path: Path) -> None:
    source = tmp_path / "new.jsonl.changes.jsonl"
    source.write_text("".join(f"{json.dumps(item)}\n" for item in make_few()), "utf-8")
    audit = tmp_path / "audit.jsonl"
    check_gold(source, audit=audit, progress=False)
    labels = label(audit, is_pump)
    before = source.read_bytes()
    with pytest.raises(InputFileError, match="are the same file"):
        check_gold(source, audit=audit, labels=labels, corrected=tmp_path / "new.jsonl", progress=False)
    assert source.read_bytes() == before


def test_audit_without_its_key_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, pieces: Iterable[str]) -> None:
        if path.name.endswith(".key.json"):
            raise OutputFileError("no space left")
        path.write_text("".join(pieces), "utf-8")

    monkeypatch.setattr(gold_audit, "write_whole", fail)
    with pytest.raises(OutputFileError, match="no space left"):
        check_gold(make_few(), audit=tmp_path / "audit.jsonl", progress=False)
    assert not [*tmp_path.iterdir()]


def test_command_refuses_hidden_outputs_and_runs(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    file = tmp_path / "samples.jsonl"
    audit = tmp_path / "a.jsonl"
    run = tmp_path / "run.jsonl"
    key = tmp_path / "a.jsonl.key.json"
    page = ctxmetrics("check-gold", file, "--audit", audit, "--report", key)
    assert (page.returncode, "are the same file" in page.stderr) == (2, True), page.stderr
    same = ctxmetrics("check-gold", file, "--run", f"a={run}", "--audit", run)
    assert (same.returncode, "--run a" in same.stderr) == (2, True), same.stderr
    twice = ctxmetrics("check-gold", file, "--run", f"a={run}", "--run", f"a={file}")
    assert (twice.returncode, "--run a=.. is there twice" in twice.stderr) == (2, True)
    unnamed = ctxmetrics("check-gold", file, "--run", f" ={run}")
    assert (unnamed.returncode, "must be NAME=FILE, such as" in unnamed.stderr) == (2, True)
    own = ctxmetrics("check-gold", file, "--run", f"retrieved={run}")
    assert (own.returncode, "Give the run another name" in own.stderr) == (2, True)


def test_recipe_of_an_audit_has_the_same_passages_twice() -> None:
    page = Path(__file__).parents[4] / "docs" / "reference-contexts.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    first, last = [line.split() for line in lines if "check-gold" in line and "--audit" in line]
    for option in ("--corpus", "--run"):
        names = [
            [line[place + 1] for place, word in enumerate(line) if word == option]
            for line in (first, last)
        ]
        assert names[0] == names[1] != []
