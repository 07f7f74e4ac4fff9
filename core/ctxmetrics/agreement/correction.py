"""A metric's mean, corrected by the samples that people labelled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxmetrics._display import visible
from ctxmetrics._frozen import Plain
from ctxmetrics.agreement.figures import Agreement
from ctxmetrics.comparison.means import corrected_mean, weighted_mean


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
    given = zip(values, stands_for, groups or itertools.repeat(None), strict=groups is not None)
    rows = [(value, said, weight, group) for (value, said), weight, group in given if value is not None]
    rows.sort(key=lambda row: row[1] is None)  # first those with labels
    said = [(people, value, weight) for value, people, weight, _ in rows if people is not None]
    names = None if groups is None else [group for *_, group in rows]
    if len(said) < 2 or (names and len(set(names[: len(said)])) < 2):  # noqa: PLR2004 - a variance needs two
        return None
    people, judge, weights = zip(*said, strict=True)
    everyone = [value for value, *_ in rows]
    others = everyone[len(said) :]
    mean, interval = corrected_mean(people, judge, others, weights=weights, clusters=names, scale=scale)
    return Correction(
        metric=name,
        samples=len(everyone),
        labelled=len(said),
        judge_mean=math.fsum(everyone) / len(everyone),
        people_mean=weighted_mean(weights, people),
        mean=mean,
        interval=interval,
        judge_labelled=weighted_mean(weights, judge),
    )


# --- by system ---

_SHOWN = 24


@dataclass(frozen=True, slots=True)
class SystemFigures(Plain):
    """One metric of one system.

    Attributes:
        metric: The metric's name, as in `Correction`.
        system: The system's name.
        samples: Its samples with a score by the judge.
        judge_mean: Mean of these scores; None without one.
        agreement: The judge and people on its labelled samples.
        correction: Its mean, corrected by its labelled samples; None where these are fewer than two.
    """

    metric: str
    system: str
    samples: int
    judge_mean: float | None
    agreement: Agreement
    correction: Correction | None


@dataclass(frozen=True, slots=True)
class Ranking(Plain):
    """Whether a judge ranks systems as people do: both means are those of each system's labelled samples.

    Attributes:
        metric: The metric's name.
        systems: How many systems have two labelled samples or more.
        kendall: Kendall's tau-b of the means by the judge and by people; None where all means of one are equal.
        spearman: Spearman's rank correlation of the same.
        lowest: Where the judge's mean is lowest beside people's: system, and judge less people.
        highest: Where it is highest.
    """

    metric: str
    systems: int
    kendall: float | None
    spearman: float | None
    lowest: tuple[str, float]
    highest: tuple[str, float]

    @property
    def conclusion(self) -> str:
        """What the figures say, in a sentence."""
        (low_name, low), (high_name, high) = self.lowest, self.highest
        figures = ", ".join(
            f"{name} {'-' if value is None else f'{value:.2f}'}"
            for name, value in (("Kendall's tau", self.kendall), ("Spearman's rho", self.spearman))
        )
        return (
            f"{self.systems} systems ranked by the judge and by people: {figures}; the judge is off by {low:+.2f} "
            f"({visible(low_name)[:_SHOWN]}) to {high:+.2f} ({visible(high_name)[:_SHOWN]}): a difference between "
            f"systems below {high - low:.2f} may be the judge's"
        )


def ranking_of(metric: str, figures: Sequence[SystemFigures]) -> Ranking | None:
    """Return how the judge's means rank systems beside people's; None below two systems with labels."""
    known = [(item.system, item.correction) for item in figures if item.correction is not None]
    if len(known) < 2:  # noqa: PLR2004 - one system has no rank
        return None
    judge = [correction.judge_labelled for _, correction in known]
    people = [correction.people_mean for _, correction in known]
    off = sorted(
        (its - said, system) for (system, _), its, said in zip(known, judge, people, strict=True)
    )
    return Ranking(
        metric,
        len(known),
        kendall_tau(judge, people),
        spearman_rho(judge, people),
        (off[0][1], off[0][0]),
        (off[-1][1], off[-1][0]),
    )


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Kendall's tau-b: 1 where both give the same order, -1 where they give the opposite one.

    Formula: ``(agreeing - opposite) / sqrt(a * b)`` over all pairs, a and b the pairs that differ in the one and in the
    other. None where all values of one are equal.

    Source: M. G. Kendall, Biometrika 33 (1945) 239.

    >>> kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    import numpy as np

    first, second = (
        np.sign(np.subtract.outer(values, values)) for values in (np.asarray(one), np.asarray(other))
    )
    size = float((first**2).sum() * (second**2).sum()) ** 0.5
    return float((first * second).sum()) / size if size else None


def spearman_rho(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None where all values of one are equal.

    Source: C. Spearman, American Journal of Psychology 15 (1904) 72.

    >>> round(spearman_rho([1, 2, 3, 4], [1, 2, 4, 3]), 9)
    0.8
    """
    import numpy as np

    ranks = []
    for values in (one, other):
        _, places, often = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
        rank = (np.cumsum(often) - (often - 1) / 2)[places.ravel()]
        ranks.append(rank - rank.mean())
    size = float((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()) ** 0.5
    return float((ranks[0] * ranks[1]).sum()) / size if size else None
