"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics._statistics import corrected_mean, weighted_corrected_mean
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
        people_mean: Mean of people's scores over the labelled ones, by the weights of these where they have any.
        mean: The corrected mean; see `ctxmetrics._statistics.corrected_mean` and `weighted_corrected_mean`.
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
    metric: Metric, scored: Iterable[tuple[Score, Sequence[bool | None] | None, float]]
) -> Correction | None:
    """Return the metric's corrected mean, or None where people's labels give fewer than two scores.

    Args:
        metric: The metric that gave the scores.
        scored: The scores by the judge, what people said (None where they said nothing), and how many samples each
            stands for.
    """
    people: list[float] = []
    judge: list[float] = []
    weights: list[float] = []
    others: list[float] = []
    for score, labels, weight in scored:
        if score.value is None:
            continue
        said = people_value(metric, score.value, len(score.verdicts), labels)
        if said is None:
            others.append(score.value)
        else:
            people.append(said)
            judge.append(score.value)
            weights.append(weight)
    if len(people) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    everyone = [*judge, *others]
    if len(set(weights)) == 1:
        mean, interval = corrected_mean(people, judge, others, scale=metric.rules.scale)
    else:
        mean, interval = weighted_corrected_mean(people, judge, weights, everyone, scale=metric.rules.scale)
    return Correction(
        metric=metric.name,
        samples=len(everyone),
        labelled=len(people),
        judge_mean=math.fsum(everyone) / len(everyone),
        people_mean=math.fsum(map(math.prod, zip(weights, people, strict=True))) / math.fsum(weights),
        mean=mean,
        interval=interval,
    )
