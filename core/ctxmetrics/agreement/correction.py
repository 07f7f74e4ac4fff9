"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics._statistics import corrected_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score


@dataclass(frozen=True, slots=True)
class Correction:
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name.
        samples: Samples with a score by the judge.
        labelled: Those of them that have one by people, too.
        judge_mean: Mean of the judge's scores over all of them.
        people_mean: Mean of people's scores over the labelled ones.
        mean: The corrected mean; see `ctxmetrics._statistics.corrected_mean`.
        interval: Its 95 % interval.
    """

    metric: str
    samples: int
    labelled: int
    judge_mean: float
    people_mean: float
    mean: float
    interval: tuple[float, float]


def correction_of(
    metric: Metric, scored: Iterable[tuple[Sample, Score, Sequence[bool | None] | None]]
) -> Correction | None:
    """Return the metric's corrected mean, or None where people's labels give fewer than two scores.

    Args:
        metric: The metric that gave the scores.
        scored: Samples, their scores by the judge, and what people said; None where they said nothing.
    """
    both: list[tuple[float, float]] = []
    others: list[float] = []
    for sample, score, labels in scored:
        if score.value is not None:
            said = people_value(metric, sample, score, labels)
            others += [score.value] if said is None else []
            both += [] if said is None else [(said, score.value)]
    if len(both) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    people, judge = (list(values) for values in zip(*both, strict=True))
    mean, interval = corrected_mean(people, judge, others, scale=metric.rules.scale)
    return Correction(
        metric=metric.name,
        samples=len(judge) + len(others),
        labelled=len(judge),
        judge_mean=math.fsum([*judge, *others]) / (len(judge) + len(others)),
        people_mean=math.fsum(people) / len(people),
        mean=mean,
        interval=interval,
    )


def people_value(
    metric: Metric, sample: Sample, score: Score, labels: Sequence[bool | None] | None
) -> float | None:
    """Return the score that people's labels give, by the metric's own formula; None where a label is missing.

    Where nothing was asked, since a side is empty, the convention's value stands.
    """
    if labels is None or not score.verdicts:
        return None if labels is None else score.value
    said = [label for label in labels[: len(score.verdicts)] if label is not None]
    if len(said) != len(score.verdicts):
        return None
    return metric.build(sample, metric.to_value(said)).value
