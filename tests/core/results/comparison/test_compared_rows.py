"""The rows of a run as a comparison reads them."""

from __future__ import annotations

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.results.comparison.compared_rows import read_compared
from support import answer_from


def score(path):
    judge = ScriptedJudge(answer_from(), name="x")  # a text is useful where it shares the words
    samples = [
        Sample(
            id=f"q{number}",
            user_input="Where?",
            reference="It is in Rome.",
            retrieved_contexts=["It is in Rome, they say.", "Another text."],
            retrieved_context_ids=["a", "b"],
            reference_context_ids=["a", "c"],
        )
        for number in range(3)
    ]
    metrics = [ContextRecall(), ContextPrecision(), IDBasedContextRecall()]
    evaluate(samples, metrics, judge=judge, out=path, progress=False)


def test_only_verdicts_about_units_keep_text_and_evidence(tmp_path):
    score(tmp_path / "a.jsonl")
    whole = read_compared(tmp_path / "a.jsonl", whole=True)
    rows = read_compared(tmp_path / "a.jsonl", whole=False)
    for row, other in zip(rows, whole, strict=True):
        recall, precision, ids = row.scores
        assert [item.text for item in recall.verdicts] == ["It is in Rome."]
        assert [item.evidence for item in recall.verdicts] == [other.scores[0].verdicts[0].evidence]
        assert [(item.id, item.value, item.text) for item in precision.verdicts] == [
            ("c1", True, ""),
            ("c2", False, ""),
        ]
        assert [(item.id, item.value) for item in ids.verdicts] == [("", True), ("", False)]
        assert [item.value for item in row.scores] == [item.value for item in other.scores]


def test_equal_ids_and_verdicts_are_held_once(tmp_path):
    score(tmp_path / "a.jsonl")
    first, *others = read_compared(tmp_path / "a.jsonl", whole=False)
    for row in others:
        assert row["context_precision"].verdicts[0] is first["context_precision"].verdicts[0]
        assert row.sample.retrieved_context_ids[0] is first.sample.retrieved_context_ids[0]
        assert row.record["retrieved_context_ids"] is row.sample.retrieved_context_ids
