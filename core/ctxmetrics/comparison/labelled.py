"""Scores that people's labels give, by the metric's own formula."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ctxmetrics.errors import SampleError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall, JudgedMetric
from ctxmetrics.samples import Sample

CONTEXTS, UNITS = "context_useful", "unit_supported"


def label_of(metric: Metric | None) -> str | None:
    """Return the name of the labels that give a metric's scores; None where people cannot label what it counts."""
    if not isinstance(metric, JudgedMetric) or metric.counted_unit == "claim":
        return None
    if isinstance(metric, ContextPrecision) and metric.relevance == "useful":
        return CONTEXTS
    return UNITS if isinstance(metric, ContextRecall) else None


def people_value(
    metric: Metric, value: float | None, verdicts: int, labels: Sequence[bool | int | None] | None
) -> float | None:
    """Return the score that people's labels give, by the metric's own formula; None where a label is missing.

    Where nothing was asked, since a side is empty, the convention's value stands.

    Args:
        metric: The metric.
        value: The judge's score.
        verdicts: How many verdicts it rests on.
        labels: What people said about the same things, or None.
    """
    if (
        labels is not None
        and len(labels) != verdicts
        and (metric.top_k is None or len(labels) < verdicts)
    ):
        labels = None if verdicts else labels
    if labels is None or not verdicts:
        return None if labels is None else value
    said = tuple(bool(label) for label in labels[:verdicts] if label is not None)
    return _value(metric, said) if len(said) == verdicts else None


@lru_cache(maxsize=4096)
def _value(metric: Metric, said: tuple[bool, ...]) -> float | None:
    return metric.build(Sample(), metric.to_value(said)).value


def weight_in(labels: Mapping[str, object], who: str) -> float:
    """Return how many samples a labelled one stands for; 1 where its labels do not say.

    Raises:
        SampleError: It is no number above 0.
    """
    given = labels.get("weight", 1)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < math.inf:
        raise SampleError(f"{who}: labels.weight must be a number above 0.")
    return float(given)


def labels_in(labels: Mapping[str, object], name: str) -> Sequence[bool | int | None] | None:
    """Return the labels of one kind, or None where there are none that say yes or no."""
    given = labels.get(name)
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        return None
    return given if all(item is None or item in (0, 1) for item in given) else None
