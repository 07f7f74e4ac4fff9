"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics._statistics import corrected_mean
from ctxmetrics.comparison.labelled import people_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxmetrics.metrics.base import Metric
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
    metric: Metric, scored: Iterable[tuple[Score, Sequence[bool | None] | None]]
) -> Correction | None:
    """Return the metric's corrected mean, or None where people's labels give fewer than two scores.

    Args:
        metric: The metric that gave the scores.
        scored: The scores by the judge, and what people said; None where they said nothing.
    """
    both: list[tuple[float, float]] = []
    others: list[float] = []
    for score, labels in scored:
        if score.value is not None:
            said = people_value(metric, score.value, len(score.verdicts), labels)
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
