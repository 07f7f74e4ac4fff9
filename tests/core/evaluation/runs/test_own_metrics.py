"""Metrics of the user's own in a run: what they may return, and how they may be called."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ctxmetrics import IDBasedContextRecall, IDMetric, Results, Sample, evaluate
from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = [
    Sample(id=name, retrieved_context_ids=["a", "b"], reference_context_ids=["a"]) for name in "xyz"
]


def own_metric(value: Any, name: str = "own") -> IDMetric:
    @dataclass(frozen=True, kw_only=True)
    class Own(IDMetric):
        base_name = name
        formula_name = "own"
        counted_words = ("retrieved id", "relevant")

        def to_value(self, hits: Any) -> Any:
            return value

    return Own()


@pytest.mark.parametrize("value", [2.0, -0.5, float("nan"), float("inf"), "0.5", [0.5]], ids=str)
def test_a_value_off_the_scale_is_a_failure(tmp_path: Path, value: Any) -> None:
    """It is counted, and the means of the other metrics stay: no file or mean could hold it."""
    metrics = [IDBasedContextRecall(), own_metric(value)]
    out = tmp_path / "out.jsonl"
    results = evaluate(SAMPLES, metrics, out=out, progress=False)
    summary = results.summary()
    assert summary["own"].missing == {"metric_error": 3}
    assert summary["id_based_context_recall"].mean == 1.0
    kept = evaluate(SAMPLES, metrics, progress=False)
    kept.to_jsonl(out)
    assert "is no number from 0 to 1" in str(Results.from_jsonl(out)[0]["own"].message)


@pytest.mark.parametrize(
    ("value", "number"),
    [(True, 1.0), (1, 1.0), (np.float32(0.5), 0.5), (np.float64(0.5), 0.5), (Fraction(1, 2), 0.5)],
)
def test_a_number_of_another_type_becomes_a_float(tmp_path: Path, value: Any, number: float) -> None:
    out = tmp_path / "out.jsonl"
    evaluate(SAMPLES, [own_metric(value)], out=out, progress=False)
    values = [row["own"].value for row in Results.from_jsonl(out)]
    assert values == [number] * 3
    assert {type(value) for value in values} == {float}


def test_what_is_no_score_is_a_failure() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Own(IDMetric):
        base_name = "own"
        formula_name = "own"
        counted_words = ("retrieved id", "relevant")

        def score(self, sample: Sample) -> Any:
            return 0.5

    score = evaluate(SAMPLES, [Own()], progress=False)[0]["own"]
    assert score.reason_code == "metric_error"
    assert "returned float, no Score" in str(score.message)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("context_recall", "is the name of ContextRecall"),
        ("user_input", "is a field of a sample"),
        ("id", "is a field of a sample"),
        ("a\nb", "is no text that can be shown"),
        ("\x1b[31mred", "is no text that can be shown"),
        ("\ud800", "is no text that can be shown"),
        ("", "is no text that can be shown"),
    ],
)
def test_a_name_that_results_cannot_hold_is_refused(name: str, problem: str) -> None:
    with pytest.raises(ParameterError, match=problem):
        evaluate(SAMPLES, [own_metric(0.5, name)], progress=False)


def test_a_name_with_marks_is_a_column(tmp_path: Path) -> None:
    name = "a|b, </script>"
    results = evaluate(SAMPLES, [own_metric(0.5, name)], progress=False)
    results.to_jsonl(tmp_path / "out.jsonl")
    results.to_html(tmp_path / "out.html")
    assert Results.from_jsonl(tmp_path / "out.jsonl").summary()[name].mean == 0.5
    assert results.to_pandas()[name].tolist() == [0.5, 0.5, 0.5]
    assert "a|b, &lt;/script&gt;" in (tmp_path / "out.html").read_text(encoding="utf-8")
