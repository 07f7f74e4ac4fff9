"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics._statistics import corrected_mean, weighted_corrected_mean

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Correction:
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name; ``reference_supported``: the share of references that are supported.
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

    @property
    def conclusion(self) -> str:
        """How good the corrected mean is, and how many more labels halve its interval: it falls with their root."""
        half = (self.interval[1] - self.interval[0]) / 2
        text = f"its mean is good to +-{half:.2g}"
        more = min(3 * self.labelled, self.samples - self.labelled)
        return (
            f"{text}; labels of {more} more samples for about +-{half / 2:.2g}"
            if more == 3 * self.labelled
            else text
        )


def correction_of(
    name: str,
    values: Iterable[tuple[float | None, float | None]],
    stands_for: Iterable[float],
    *,
    scale: float = 1.0,
) -> Correction | None:
    """Return a corrected mean, or None where people's labels give fewer than two scores.

    Args:
        name: The metric, or the label.
        values: The judge's score of each sample and that by people; None where there is none.
        stands_for: How many samples each stands for.
        scale: The highest score.
    """
    people: list[float] = []
    judge: list[float] = []
    weights: list[float] = []
    others: list[float] = []
    for (value, said), weight in zip(values, stands_for, strict=True):
        if value is None:
            continue
        if said is None:
            others.append(value)
        else:
            people.append(said)
            judge.append(value)
            weights.append(weight)
    if len(people) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    everyone = [*judge, *others]
    if len(set(weights)) == 1:
        mean, interval = corrected_mean(people, judge, others, scale=scale)
    else:
        mean, interval = weighted_corrected_mean(people, judge, weights, everyone, scale=scale)
    return Correction(
        metric=name,
        samples=len(everyone),
        labelled=len(people),
        judge_mean=math.fsum(everyone) / len(everyone),
        people_mean=math.fsum(map(math.prod, zip(weights, people, strict=True))) / math.fsum(weights),
        mean=mean,
        interval=interval,
    )
