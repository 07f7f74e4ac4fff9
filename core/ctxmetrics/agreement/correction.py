"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxmetrics._frozen import Plain
from ctxmetrics.comparison.means import corrected_mean


@dataclass(frozen=True, slots=True)
class Correction(Plain):
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name; ``reference_supported``: the share of references that are supported.
        samples: Samples with a score by the judge.
        labelled: Those of them that have one by people, too.
        judge_mean: Mean of the judge's scores over all of them.
        people_mean: Mean of people's scores over the labelled ones, by the weights of these where they have any.
        mean: The corrected mean; see `ctxmetrics.comparison.means.corrected_mean`.
        interval: Its 95 % interval.
        judge_labelled: Mean of the judge's scores over the labelled ones, weighted as people's.
    """

    metric: str
    samples: int
    labelled: int
    judge_mean: float
    people_mean: float
    mean: float
    interval: tuple[float, float]
    judge_labelled: float

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
    groups: Iterable[str] | None = None,
    scale: float = 1.0,
) -> Correction | None:
    """Return a corrected mean, or None where people's labels give fewer than two scores, or those of one group only.

    Args:
        name: The metric, or the label.
        values: The judge's score of each sample and that by people; None where there is none.
        stands_for: How many samples each stands for.
        groups: The cluster that each belongs to; None: each is one by itself.
        scale: The highest score.
    """
    people: list[float] = []
    judge: list[float] = []
    weights: list[float] = []
    others: list[float] = []
    clusters: tuple[list[str], list[str]] = ([], [])
    names = None if groups is None else list(groups)
    for place, ((value, said), weight) in enumerate(zip(values, stands_for, strict=True)):
        if value is None:
            continue
        if names is not None:
            clusters[said is None].append(names[place])
        if said is None:
            others.append(value)
        else:
            people.append(said)
            judge.append(value)
            weights.append(weight)
    if len(people) < 2 or (names is not None and len(set(clusters[0])) < 2):  # noqa: PLR2004 - a variance needs two
        return None
    everyone = [*judge, *others]
    mean, interval = corrected_mean(
        people,
        judge,
        others,
        weights=weights,
        clusters=None if names is None else [*clusters[0], *clusters[1]],
        scale=scale,
    )
    return Correction(
        metric=name,
        samples=len(everyone),
        labelled=len(people),
        judge_mean=math.fsum(everyone) / len(everyone),
        people_mean=_weighted(weights, people),
        mean=mean,
        interval=interval,
        judge_labelled=_weighted(weights, judge),
    )


def _weighted(weights: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(map(math.prod, zip(weights, values, strict=True))) / math.fsum(weights)
