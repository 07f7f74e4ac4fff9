"""Whether a judge ranks systems, or runs, as people do: over all topics, topic by topic, and beside a second person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.agreement.correction import SystemFigures
from ctxmetrics.evaluation.statistics.corrected_means import weighted_mean
from ctxmetrics.scores.wording import plural

_MAX_NAME_CHARACTERS = 24
# Means are rounded to so many decimals, so that equal means are equal despite rounding errors.
_DECIMALS = 9


class RankedScore(NamedTuple):
    """One labelled sample of one system.

    Attributes:
        system: The system, or run.
        topic: The question; None if the sample has none.
        judge: The score by the judge, or by the second of two persons.
        people: The score by people, or by the first of two persons.
        weight: The number of samples that this sample stands for.
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
        kendall: Kendall's tau-b of the systems' means; None if all means of one side are equal.
        spearman: Spearman's rank correlation of the systems' means.
        tau_ap: tau-AP of the systems' means, by people's ranking.
        topics: The number of topics that rank systems: topics with two or more systems, not all of them equal to the judge or to people.
        topic_kendall: Mean of Kendall's tau-b over these topics; None if there is none.
        topic_tau_ap: Mean of tau-AP over these topics.
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
    """How well a judge ranks systems as people do. Both means of a system are means of its labelled samples.

    Attributes:
        metric: The metric's name.
        systems: How many systems have two labelled samples or more.
        kendall: Kendall's tau-b of the means by the judge and by people; None if all means of one are equal.
        spearman: Spearman's rank correlation of the systems' means.
        lowest: The system with the lowest difference of the judge's mean minus people's mean, and this difference.
        highest: The system with the highest such difference, and this difference.
        agreement: The same rank correlations with tau-AP, and topic by topic.
        people: How far two persons agree, in the mean over the pairs of persons; None if no two labelled the same samples.
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
        """The meaning of the figures, in a sentence."""
        low_name, low = self.lowest
        high_name, high = self.highest
        return (
            f"{self.systems} systems ranked by the judge and by people: {self.agreement}; "
            f"Spearman's rho {_format_rank(self.spearman)}; the judge is off by {low:+z.2f} "
            f"({replace_invisible(low_name)[:_MAX_NAME_CHARACTERS]}) to {high:+z.2f} ({replace_invisible(high_name)[:_MAX_NAME_CHARACTERS]}): a difference between "
            f"systems below {high - low:.2f} may be the judge's"
        )


def _format_rank(value: float | None) -> str:
    """Write a rank correlation. Write ``-`` if there is none."""
    return "-" if value is None else f"{value:.2f}"


def rank_systems(
    figures: Sequence[SystemFigures],
    scores: Iterable[RankedScore],
    pairs: Iterable[Sequence[RankedScore]] = (),
) -> Ranking | None:
    """Compare the ranks that the judge and people give to systems. Return None below two systems with labels.

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
    scores_by_topic: dict[str, list[RankedScore]] = {}
    for score in scores:
        if score.topic is not None:
            scores_by_topic.setdefault(score.topic, []).append(score)
    kendall_by_topic: list[float] = []
    tau_ap_by_topic: list[float] = []
    for scores_of_topic in scores_by_topic.values():
        judge_means, people_means = _list_means(scores_of_topic)
        kendall = kendall_tau(judge_means, people_means)
        ap = tau_ap(judge_means, people_means)
        if kendall is not None and ap is not None:
            kendall_by_topic.append(kendall)
            tau_ap_by_topic.append(ap)
    judge_means, people_means = _list_means(scores)
    return RankAgreement(
        kendall=kendall_tau(judge_means, people_means),
        spearman=spearman_rho(judge_means, people_means),
        tau_ap=tau_ap(judge_means, people_means),
        topics=len(kendall_by_topic),
        topic_kendall=_mean(kendall_by_topic),
        topic_tau_ap=_mean(tau_ap_by_topic),
    )


def _list_means(scores: Iterable[RankedScore]) -> tuple[list[float], list[float]]:
    """Return the mean of each system by both sides, by the weights of the samples."""
    scores_by_system: dict[str, list[RankedScore]] = {}
    for score in scores:
        scores_by_system.setdefault(score.system, []).append(score)
    judge_means: list[float] = []
    people_means: list[float] = []
    for scores_of_system in scores_by_system.values():
        weights = [score.weight for score in scores_of_system]
        judge_mean = weighted_mean(weights, [score.judge for score in scores_of_system])
        people_mean = weighted_mean(weights, [score.people for score in scores_of_system])
        judge_means.append(round(judge_mean, _DECIMALS))
        people_means.append(round(people_mean, _DECIMALS))
    return judge_means, people_means


def _average_agreements(agreements: Sequence[RankAgreement]) -> RankAgreement | None:
    """Average several agreements, figure by figure. A figure that is not defined is left out of its mean."""
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
    """Return the mean of values. Return None if there is none."""
    return math.fsum(values) / len(values) if values else None


def tau_ap(judge: Sequence[float], people: Sequence[float]) -> float | None:
    """Compute tau-AP: Kendall's tau in which upper ranks weigh more. It is 1 for people's order, and -1 for the opposite order.

    Formula, for the items in the judge's order: ``2 / (n - 1) * sum over i = 2..n of C(i) / (i - 1) - 1``. C(i) is the number of
    items above rank i that people also put above the item of rank i. Items that are equal to people count half. Items that are equal to
    the judge have no order: the figure is its mean over all orders of them. It is not symmetric. None below two items, and
    where all values of one side are equal.

    Source: E. Yilmaz, J. Aslam, S. Robertson, SIGIR 2008, 587; for equal values J. Urbano, M. Marrero, SIGIR 2017, 1041.

    >>> round(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]), 6)  # the first two are exchanged
    0.333333
    >>> round(tau_ap([4, 3, 2, 1], [4, 3, 1, 2]), 6)  # the last two are
    0.777778
    """
    if len(set(judge)) < 2 or len(set(people)) < 2:  # noqa: PLR2004 - equal values have no order
        return None
    terms = []
    for judge_score, people_score in zip(judge, people, strict=True):
        # People's scores of the items that the judge puts above this item.
        people_scores_above = [
            other_people
            for other_people, other_judge in zip(people, judge, strict=True)
            if other_judge > judge_score
        ]
        if not people_scores_above:
            continue
        agreeing = len([other for other in people_scores_above if other > people_score])
        opposite = len([other for other in people_scores_above if other < people_score])
        # The item may stand at any place among the items that are equal to the judge; all places are equally likely. Equal items
        # above it cancel out in the mean.
        equal_count = len([other for other in judge if other == judge_score])
        divisors = range(len(people_scores_above), len(people_scores_above) + equal_count)
        mean_factor = math.fsum(1 / divisor for divisor in divisors) / equal_count
        terms.append((agreeing - opposite) * mean_factor)
    return math.fsum(terms) / (len(judge) - 1)


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Compute Kendall's tau-b. It is 1 if both give the same order, and -1 if they give opposite orders.

    Formula: ``(agreeing - opposite) / sqrt(a * b)`` over all pairs, a and b the pairs that differ in the first and in the
    second. None if all values of one are equal.

    Source: M. G. Kendall, Biometrika 33 (1945) 239.

    >>> kendall_tau([1, 2, 3, 4], [1, 2, 4, 3])
    0.6666666666666666
    """
    return _correlation(_signs(first), _signs(second))


def spearman_rho(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Compute Spearman's rank correlation. Equal values have their mean rank. Return None if all values of one are equal.

    Source: C. Spearman, American Journal of Psychology 15 (1904) 72.

    >>> round(spearman_rho([1, 2, 3, 4], [1, 2, 4, 3]), 9)
    0.8
    """
    return _correlation(_ranks(first), _ranks(second))


def _signs(values: Sequence[float]) -> NDArray[np.float64]:
    """Return for each pair of values whether the first one is higher (1), lower (-1) or equal (0)."""
    array = np.asarray(values)
    differences = np.subtract.outer(array, array)
    return np.asarray(np.sign(differences), np.float64)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the ranks of values, minus the mean rank. Equal values have the mean of their ranks."""
    # For each value, its index among the sorted distinct values. For each distinct value, how often it occurs.
    _, index_of_equal, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last_ranks = np.cumsum(counts)
    mean_ranks = last_ranks - (counts - 1) / 2
    ranks = mean_ranks[index_of_equal.ravel()]
    return np.asarray(ranks - ranks.mean())


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Return ``sum(first * second) / sqrt(sum(first**2) * sum(second**2))``. Return None if one is all zeros."""
    divisor = float((first**2).sum() * (second**2).sum()) ** 0.5
    return float((first * second).sum()) / divisor if divisor else None
