"""Whether a judge ranks systems, or runs, as people do: over all topics, topic by topic, and beside a second person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._internal.display import visible
from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.agreement.correction import SystemFigures
from ctxmetrics.evaluation.statistics.corrected_means import weighted_mean
from ctxmetrics.scores.wording import plural

_LONGEST = 24


class RankedScore(NamedTuple):
    """One labelled sample of one system.

    Attributes:
        system: The system, or run.
        topic: The question; None where the sample has none.
        judge: The score by the judge, or by the second of two persons.
        people: The score by people, or by the first of two persons.
        weight: How many samples it stands for.
    """

    system: str
    topic: str | None
    judge: float
    people: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class RankAgreement(Plain):
    """How far two rankings of systems agree.

    Attributes:
        kendall: Kendall's tau-b of the systems' means; None where all means of one side are equal.
        spearman: Spearman's rank correlation of the same.
        tau_ap: tau-AP of the same, by people's ranking.
        topics: How many topics rank systems: two or more that are not all equal to one side.
        topic_kendall: Mean of Kendall's tau-b over these topics; None without one.
        topic_tau_ap: Mean of tau-AP over them.
    """

    kendall: float | None
    spearman: float | None
    tau_ap: float | None
    topics: int
    topic_kendall: float | None
    topic_tau_ap: float | None

    def __str__(self) -> str:
        text = f"Kendall's tau {_format_rank(self.kendall)}, tau-AP {_format_rank(self.tau_ap)}"
        if not self.topics:
            return text
        return (
            f"{text}; mean over {plural(self.topics, 'topic')}: Kendall's tau {_format_rank(self.topic_kendall)}, "
            f"tau-AP {_format_rank(self.topic_tau_ap)}"
        )


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
        agreement: The same rank correlations with tau-AP, and topic by topic.
        people: How far two persons agree, in the mean over the pairs of persons; None where no two labelled the same samples.
    """

    metric: str
    systems: int
    kendall: float | None
    spearman: float | None
    lowest: tuple[str, float]
    highest: tuple[str, float]
    agreement: RankAgreement
    people: RankAgreement | None = None

    @property
    def conclusion(self) -> str:
        """What the figures say, in a sentence."""
        (low_name, low), (high_name, high) = self.lowest, self.highest
        return (
            f"{self.systems} systems ranked by the judge and by people: {self.agreement}; "
            f"Spearman's rho {_format_rank(self.spearman)}; the judge is off by {low:+.2f} "
            f"({visible(low_name)[:_LONGEST]}) to {high:+.2f} ({visible(high_name)[:_LONGEST]}): a difference between "
            f"systems below {high - low:.2f} may be the judge's"
        )


def _format_rank(value: float | None) -> str:
    """Write a rank correlation; ``-`` if there is none."""
    return "-" if value is None else f"{value:.2f}"


def rank_systems(
    figures: Sequence[SystemFigures],
    scores: Iterable[RankedScore],
    pairs: Iterable[Sequence[RankedScore]] = (),
) -> Ranking | None:
    """Compare the ranks that the judge and people give to systems; None below two systems with labels.

    Args:
        figures: The figures of each system.
        scores: The scores of the labelled samples, by the judge and by people.
        pairs: For each pair of persons, the samples that both labelled.
    """
    corrections = {item.system: item.correction for item in figures if item.correction is not None}
    if len(corrections) < 2:  # noqa: PLR2004 - one system has no rank
        return None
    agreement = compare_ranks([item for item in scores if item.system in corrections])
    errors = sorted(
        (item.judge_labelled - item.people_mean, name) for name, item in corrections.items()
    )
    lowest_error, lowest_system = errors[0]
    highest_error, highest_system = errors[-1]
    return Ranking(
        metric=figures[0].metric,
        systems=len(corrections),
        kendall=agreement.kendall,
        spearman=agreement.spearman,
        lowest=(lowest_system, lowest_error),
        highest=(highest_system, highest_error),
        agreement=agreement,
        people=_average_agreements([compare_ranks(pair) for pair in pairs if pair]),
    )


def compare_ranks(scores: Sequence[RankedScore]) -> RankAgreement:
    """Compare two rankings of systems: by their means over all samples, and topic by topic."""
    judge, people = _list_means(scores)
    by_topic: dict[str, list[RankedScore]] = {}
    for item in scores:
        if item.topic is not None:
            by_topic.setdefault(item.topic, []).append(item)
    kendalls: list[float] = []
    taus_ap: list[float] = []
    for own in by_topic.values():
        means = _list_means(own)
        kendall, ap = kendall_tau(*means), tau_ap(*means)
        if kendall is not None and ap is not None:
            kendalls.append(kendall)
            taus_ap.append(ap)
    return RankAgreement(
        kendall=kendall_tau(judge, people),
        spearman=spearman_rho(judge, people),
        tau_ap=tau_ap(judge, people),
        topics=len(kendalls),
        topic_kendall=_mean(kendalls),
        topic_tau_ap=_mean(taus_ap),
    )


def _list_means(scores: Iterable[RankedScore]) -> tuple[list[float], list[float]]:
    """Return the mean of each system by both sides, by the weights of the samples."""
    by_system: dict[str, list[RankedScore]] = {}
    for item in scores:
        by_system.setdefault(item.system, []).append(item)
    judge: list[float] = []
    people: list[float] = []
    for own in by_system.values():
        weights = [item.weight for item in own]
        judge.append(weighted_mean(weights, [item.judge for item in own]))
        people.append(weighted_mean(weights, [item.people for item in own]))
    return judge, people


def _average_agreements(agreements: Sequence[RankAgreement]) -> RankAgreement | None:
    """Average several agreements, figure by figure; a figure that is not defined counts nowhere."""
    if not agreements:
        return None

    def mean_of(name: str) -> float | None:
        """Return the mean of one figure over all agreements that have it."""
        values = [getattr(item, name) for item in agreements]
        return _mean([value for value in values if value is not None])

    return RankAgreement(
        kendall=mean_of("kendall"),
        spearman=mean_of("spearman"),
        tau_ap=mean_of("tau_ap"),
        topics=min(item.topics for item in agreements),
        topic_kendall=mean_of("topic_kendall"),
        topic_tau_ap=mean_of("topic_tau_ap"),
    )


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean of values; None without one."""
    return math.fsum(values) / len(values) if values else None


def tau_ap(judge: Sequence[float], people: Sequence[float]) -> float | None:
    """tau-AP: Kendall's tau in which the upper ranks weigh more; 1 where the judge gives people's order, -1 the opposite one.

    Formula: the items stand in the judge's order; ``2 / (n - 1) * sum over i = 2..n of C(i) / (i - 1) - 1``, C(i) how many
    of the items above rank i people put above it, too. Items that are equal to people count half. Items that are equal to
    the judge have no order: the figure is its mean over all orders of them. It is not symmetric. None below two items, and
    where all values of one side are equal.

    Source: E. Yilmaz, J. Aslam, S. Robertson, SIGIR 2008, 587; for equal values J. Urbano, M. Marrero, SIGIR 2017, 1041.

    >>> round(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), 6)  # the first two are exchanged
    0.333333
    >>> round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 6)  # the last two are
    0.777778
    """
    size = len(judge)
    if len(set(judge)) < 2 or len(set(people)) < 2:  # noqa: PLR2004 - equal values have no order
        return None
    terms = []
    for score, truth in zip(judge, people, strict=True):
        above = [other for other, rank in zip(people, judge, strict=True) if rank > score]
        equals = sum(rank == score for rank in judge)
        if not above:
            continue
        right = sum(other > truth for other in above) - sum(other < truth for other in above)
        # At each place among its equals the item is as likely; those above it in that order cancel out.
        places = [1 / (len(above) + place) for place in range(equals)]
        terms.append(right * math.fsum(places) / equals)
    return math.fsum(terms) / (size - 1)


def kendall_tau(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Kendall's tau-b: 1 where both give the same order, -1 where they give the opposite one.

    Formula: ``(agreeing - opposite) / sqrt(a * b)`` over all pairs, a and b the pairs that differ in the one and in the
    other. None where all values of one are equal.

    Source: M. G. Kendall, Biometrika 33 (1945) 239.

    >>> kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    return _correlation(_signs(one), _signs(other))


def spearman_rho(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal values with their mean rank; None where all values of one are equal.

    Source: C. Spearman, American Journal of Psychology 15 (1904) 72.

    >>> round(spearman_rho([1, 2, 3, 4], [1, 2, 4, 3]), 9)
    0.8
    """
    return _correlation(_ranks(one), _ranks(other))


def _signs(values: Sequence[float]) -> NDArray[np.float64]:
    """Return which of two values is the higher one, for all pairs."""
    return np.asarray(np.sign(np.subtract.outer(np.asarray(values), np.asarray(values))), np.float64)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks of values, less their mean."""
    _, places, often = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(often) - (often - 1) / 2)[places.ravel()]
    return np.asarray(ranks - ranks.mean())


def _correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Return ``sum(one * other) / sqrt(sum(one**2) * sum(other**2))``; None where one is all zeros."""
    size = float((one**2).sum() * (other**2).sum()) ** 0.5
    return float((one * other).sum()) / size if size else None
