"""Means of scores: of paired differences, and of scores of which people gave a part and a judge all.

The unit is the sample, or a cluster of samples that belong together. The mean of paired differences has an interval, a
p value, and the smallest difference that could have been seen; interval and p value have one basis, so that one excludes
zero where the other is at most 0.05. The corrected mean is prediction-powered inference (PPI++).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.intervals import (
    mean_interval,
    sign_p,
    student_p,
    student_quantile,
    upper_share,
    wilson,
)

# Below this number of changed samples, their spread says too little about changes that were not seen.
FEW = 10
# The share of tests that find the smallest detectable difference.
POWER = 0.8
LEVEL = 0.05
# Below this number of labels, people's scores count alone.
FEWEST = 25
# How far from the mean one more label is assumed to be, as a share of the scale: few labels may not
# show such samples.
UNSEEN = 0.4
# The same where labels have weights, since a sample that they do not show may stand for many, and
# where the judge counts in full.
UNSEEN_MORE = 0.8
# The same for a difference, whose ends lie farther apart. Chosen by simulation, `benchmarks/decisions/interval_coverage.py`.
UNSEEN_CHANGE = 1.25
# Differences that are smaller count as equal.
EQUAL = 1e-9


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The mean of paired differences, and how sure it is.

    Attributes:
        mean: Mean of the differences.
        interval: Its 95 % interval; None below two samples or clusters, and where none changed.
        p: p value of "no difference".
        detectable: The smallest true difference that a test at 5 % would have found in 80 % of such runs; None below two.
        changed: How many samples have a difference.
    """

    mean: float
    interval: tuple[float, float] | None
    p: float
    detectable: float | None
    changed: int


def paired_mean(
    differences: Sequence[float], clusters: Sequence[object] | None = None, *, scale: float = 1.0
) -> PairedMean:
    """Mean of differences, one a sample, with interval, p value and detectable difference.

    Formula: with G clusters (without clusters, each sample is one), s and c the sums and the numbers of their
    differences, n = sum(c) and m = sum(s) / n: the standard error is
    ``sqrt(G / (G - 1) * sum((s - m * c)**2)) / n``, for single samples the usual one. Interval:
    ``m +- t * error`` with Student's quantile and G - 1 degrees of freedom; p: of ``m / error`` in that distribution;
    detectable: ``(t(0.975) + t(0.8)) * error``. Where all differences are equal, the interval has no width.

    With fewer than ten changed samples the interval also reaches to ``-scale * u(worse)`` and ``scale * u(better)``,
    where u is the upper end of the exact 95 % interval of the share of clusters (Clopper and Pearson), since changes that
    were not seen could be as large as the scale. An end stays Student's where the sign test shows the direction. p is then the
    larger one of both tests.

    Args:
        differences: At least one.
        clusters: For each difference, what it belongs to.
        scale: The largest possible difference.

    Source: Student, Biometrika 6 (1908) 1; cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13, with the usual
    factor for few clusters; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404; detectable difference: H. S. Bloom,
    Evaluation Review 19 (1995) 547.

    >>> found = paired_mean([0.5, 0.0, 0.5, 0.0, 0.25] * 4)
    >>> found.mean, round(found.interval[0], 3), round(found.interval[1], 3), round(found.p, 4)
    (0.25, 0.143, 0.357, 0.0001)
    """
    data = np.asarray(differences, dtype=float)
    places = np.arange(len(data))
    if clusters is not None:
        places = np.array(numbered(clusters))
    sums, counts = np.bincount(places, data), np.bincount(places)
    mean, size = math.fsum(differences) / len(data), len(sums)
    better, worse = int((sums > EQUAL).sum()), int((sums < -EQUAL).sum())
    changed = int((np.abs(data) > EQUAL).sum())
    if size < 2:  # noqa: PLR2004 - one says nothing about the spread
        return PairedMean(mean, None, 1.0, None, changed)
    error = math.sqrt(size / (size - 1) * float(((sums - mean * counts) ** 2).sum())) / len(data)
    if error < EQUAL * max(abs(mean), 1e-6):
        error = 0.0
    high = student_quantile(1 - LEVEL / 2, size - 1)
    detectable = power_multiple(size - 1) * error
    if not changed:
        return PairedMean(mean, None, 1.0, detectable, changed)
    p = _p_value(mean, error, size - 1)
    lower, upper = mean - high * error, mean + high * error
    if changed < FEW:
        p = max(p, sign_p(better, worse))
        if p > LEVEL or mean <= 0:
            lower = min(lower, -scale * upper_share(worse, size, LEVEL / 2))
        if p > LEVEL or mean >= 0:
            upper = max(upper, scale * upper_share(better, size, LEVEL / 2))
    return PairedMean(mean, (lower, upper), p, detectable, changed)


def _p_value(mean: float, error: float, degrees: int) -> float:
    """Return the p value of "the mean is 0", from Student's distribution; without an error it is 0 or 1."""
    if error:
        return student_p(mean / error, degrees)
    return float(not mean)


def samples_needed(difference: float, spread: float, changed: float = 1.0) -> int:
    """Return how many samples show a true mean difference with 80 % power, in a test at 5 %.

    Formula: the smallest n with ``(t(0.975) + t(0.8)) * spread / sqrt(n) <= difference``, Student's quantiles with n - 1
    degrees of freedom; and so many that ten changed samples are expected.

    Args:
        difference: The true mean of the paired differences, above 0.
        spread: Their standard deviation.
        changed: The share of samples that have a difference.

    Source: H. S. Bloom, Evaluation Review 19 (1995) 547.

    >>> samples_needed(0.5, 1.0)
    34
    """
    normal = sum(map(NormalDist().inv_cdf, (1 - LEVEL / 2, POWER)))
    n = max(2, math.ceil((normal * spread / difference) ** 2), math.ceil(FEW / changed - EQUAL))
    while power_multiple(n - 1) * spread > difference * math.sqrt(n):
        n += 1
    return n


def power_multiple(degrees: int) -> float:
    """Return how many standard errors a difference has that is found with 80 % power."""
    return student_quantile(1 - LEVEL / 2, degrees) + student_quantile(POWER, degrees)


def holm(values: Sequence[float]) -> list[float]:
    """Return p values adjusted for how many there are, in the same order.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted


class CorrectedMean(NamedTuple):
    """A corrected mean.

    Attributes:
        mean: The mean.
        error: Its standard error.
        size: How many independent labels it rests on: samples, clusters, or Kish's effective number of samples.
        trust: How much the judge counts, from 0 to 1.
    """

    mean: float
    error: float
    size: float
    trust: float

    @property
    def degrees(self) -> int:
        """Degrees of freedom: independent labels less 1."""
        return max(int(self.size) - 1, 1)

    @property
    def p(self) -> float:
        """P value of "the mean is 0", from Student's distribution."""
        return _p_value(self.mean, self.error, self.degrees)

    def half(self, confidence: float) -> float:
        """Return half the width of the interval: Student's quantile times the error."""
        return student_quantile((1 + confidence) / 2, self.degrees) * self.error


def corrected(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    trust: float | None = None,
    apart: bool = False,
) -> CorrectedMean:
    """Mean of people's scores on n samples, with a smaller error by a judge's scores on N more samples.

    Formula: ``mean(people) + w * (mean(others) - mean(judge))``, where w from 0 to 1 makes the variance
    ``var(people - w * judge) / n + w**2 * var(others) / N`` as small as possible: a judge whose scores
    do not follow people's gets w = 0, and people's mean alone remains.

    With weights, where people looked at some samples more often than at others:
    ``sum(a * (people - w * judge)) + w * mean(everyone)``, where ``a = weights / sum(weights)``, everyone are the judge's
    scores of all M samples. The variance is ``n / (n - 1) * sum(u**2)``: u is what a sample adds to the error,
    ``a * (r - sum(a * r))`` with r = people - w * judge if it is labelled, and ``w * (score - mean) / M``. A labelled
    sample adds both: it is one of everyone. w makes the variance as small as possible. Differences between strata count in
    it, so that intervals are rather too wide than too narrow.

    With clusters, the variance is that with ``G / (G - 1)`` and the sums of u over a cluster; without weights the judge's
    mean is that of the N others. G is how many clusters have labels.

    With others of another run: ``sum(a * (people - judge)) + mean(others)``, which is right where the
    judge's error is the same there; w is 1, everyone are the others, and the size is at most their number.

    Args:
        people: People's scores, two at least.
        judge: The judge's scores of the same samples, in the same order.
        others: The judge's scores of samples that people did not look at.
        weights: How many samples each of the labelled ones stands for; None, or all equal: they were drawn equally often.
        clusters: What each sample belongs to, first the labelled ones, then the others.
        trust: How much the judge counts; 0: people's scores alone; 1: ``mean(everyone) + mean(people - judge)``; None:
            the w of the formula.
        apart: Whether the others are those of another run, whose mean is looked for.

    Source: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference, arXiv 2311.01453;
    effective size: L. Kish, Survey Sampling (1965), 11.7; cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13.
    """
    labels, its, rest = (np.asarray(values, dtype=float) for values in (people, judge, others))
    n, everyone = len(labels), np.concatenate([its, rest])
    weighted = _is_weighted(weights)
    sizes = weights if weights is not None and weighted else np.ones(n)
    shares = np.asarray(sizes, dtype=float) / math.fsum(sizes)
    pool = everyone if weighted and not apart else rest
    # What each sample adds to the error of people's mean, and to that of the judge's difference.
    people_terms, judge_terms = np.zeros((2, len(everyone)))
    people_terms[:n] = shares * (labels - shares @ labels)
    judge_terms[:n] = shares * (its - shares @ its)
    if len(pool):
        judge_terms[-len(pool) :] -= (pool - pool.mean()) / len(pool)
    if clusters is not None:
        places = numbered(clusters)
        people_terms = np.bincount(places, people_terms).astype(float)
        judge_terms = np.bincount(places, judge_terms).astype(float)
    if apart:
        trust = 1.0
    elif trust is not None:
        # Everyone are the labelled samples, too: without weights the others stand for their part of everyone.
        trust *= 1.0 if weighted else len(rest) / len(everyone)
    elif weighted:
        own = float(judge_terms @ judge_terms)
        trust = float(people_terms @ judge_terms) / own if own else 0.0
    else:
        trust = _trust(labels, its, rest)
    trust = min(max(trust, 0.0), 1.0)
    errors = labels - trust * its
    centre = float(shares @ errors)
    size = 1 / float((shares**2).sum())
    if apart:
        size = min(size, len(rest))
    if clusters is None and not weighted:
        spread = float(pool.var(ddof=1)) / len(pool) if len(pool) > 1 else 0.0
        variance = float(errors.var(ddof=1)) / n + trust**2 * spread
    else:
        labelled = n if clusters is None else len(set(clusters[:n]))
        size = min(size, float(labelled))
        squares = (people_terms - trust * judge_terms) ** 2
        variance = float(squares.sum()) * labelled / max(labelled - 1, 1)
    judged = trust * float(pool.mean()) if trust else 0.0
    return CorrectedMean(centre + judged, math.sqrt(variance), round(size, 9), trust)


def _is_weighted(weights: Sequence[float] | None) -> bool:
    return weights is not None and len(set(weights)) > 1


def corrected_difference(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    scale: float = 1.0,
) -> CorrectedMean:
    """Mean of paired differences, corrected by the samples of which people give the difference too.

    Formula: that of `corrected`. Where fewer than ten labelled samples changed, their spread does not say how much the judge
    is worth, and it counts in full. ``error**2`` grows by ``(1.25 * scale / size)**2``, what one more label would
    add that lies more than the whole scale off: a few labels may show no sample that changed.

    Args:
        people: The differences by people's labels, two at least.
        judge: The judge's differences of the same samples, in the same order.
        others: The judge's differences of the samples without labels.
        weights: As in `corrected`.
        clusters: As in `corrected`.
        scale: The largest possible difference.

    Source: simulated coverage and errors of the gates: ``benchmarks/decisions/interval_coverage.py``.

    >>> found = corrected_difference([0.0] * 25, [0.0] * 25, [-0.5] * 40 + [0.0] * 35)  # no loss is labelled
    >>> round(found.mean, 3), round(found.half(0.95), 3)
    (-0.2, 0.113)
    """
    both = np.abs([people, judge])
    changed = int((both.max(axis=0) > EQUAL).sum())
    trust = 1.0 if changed < FEW else None
    mean = corrected(people, judge, others, weights=weights, clusters=clusters, trust=trust)
    return mean._replace(error=math.hypot(mean.error, UNSEEN_CHANGE * scale / mean.size))


def _trust(people: Any, judge: Any, others: Any) -> float:
    """Covariance over variance, less the fewer others there are; estimated as the authors' implementation does."""
    if not len(others):
        return 0.0
    spread = float(np.concatenate([judge, others]).var(ddof=1))
    if not spread:
        return 0.0
    covariance = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return covariance / ((1 + len(people) / len(others)) * spread)


def weighted_mean(weights: Iterable[float], values: Iterable[float]) -> float:
    """Return ``sum(weights * values) / sum(weights)``."""
    pairs = list(zip(weights, values, strict=True))
    return math.fsum(map(math.prod, pairs)) / math.fsum(weight for weight, _ in pairs)


def numbered(clusters: Sequence[object]) -> list[int]:
    """Return clusters as numbers from 0, in the order in which they occur."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    confidence: float = 0.95,
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    scale: float = 1.0,
    apart: bool = False,
) -> tuple[float, tuple[float, float]]:
    """Mean of scores from 0 to ``scale``, and its interval, inside that range.

    Formula: the mean is that of `corrected`; below 25 labels people's scores alone, since how much the judge is worth
    cannot be estimated there. The interval is Wilson's with an effective number of samples, as in
    `ctxmetrics.formulas.intervals.mean_interval`: ``max(size, p * (1 - p) / error**2 * (z / t)**2)``, where p is the mean on the
    0-1 scale and t Student's quantile with the number of independent labels less 1 as degrees of freedom. Where the judge counts, or labels have weights,
    ``error**2`` also grows by ``(0.4 / size)**2``, with weights or others of another run by ``(0.8 / size)**2``: what one label
    more would add that lies so much of the scale off. Near the ends of the scale few labels seldom show the samples on which
    the judge is wrong. With others of another run, this size is that of the labels, the judge counts in full, and the mean
    may lie beyond an end of the scale: there the interval also reaches to ``mean +- t * error``. The shares were chosen by
    simulation.

    Args:
        people: As in `corrected`.
        judge: As in `corrected`.
        others: As in `corrected`.
        confidence: How often such intervals are to hold the true mean, between 0 and 1.
        weights: As in `corrected`.
        clusters: As in `corrected`.
        scale: The highest possible score.
        apart: As in `corrected`.

    Raises:
        ParameterError: A value is out of range, or the lengths do not fit.

    Source: effective sizes: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193. Simulated coverage of this and
    of people's mean: ``benchmarks/decisions/corrected.py``, of all paths: ``interval_coverage.py``.

    >>> mean, (low, high) = corrected_mean([1, 0, 1, 1] * 8, [0.9, 0.2, 0.7, 1.0] * 8, [0.6, 0.4, 0.8, 0.5] * 20)
    >>> round(mean, 3), low < mean < high
    (0.625, True)
    """
    n = len(people)
    if n < 2 or len(judge) != n:  # noqa: PLR2004 - a variance needs two
        raise ParameterError(
            "corrected_mean: people and judge must be scores of the same two or more samples."
        )
    if weights is not None and not (
        len(weights) == n and all(0 < weight < math.inf for weight in weights)
    ):
        raise ParameterError(
            "corrected_mean: weights must be numbers above 0, one for each sample of people."
        )
    if clusters is not None and len(clusters) != n + len(others):
        raise ParameterError(
            "corrected_mean: clusters must be one for each sample of people and of others."
        )
    mean_interval([*people, *judge, *others], confidence, scale=scale)  # are they in range?
    trust = None if n >= FEWEST else 0.0
    result = corrected(
        people, judge, others, weights=weights, clusters=clusters, trust=trust, apart=apart
    )
    size, z = result.size, NormalDist().inv_cdf((1 + confidence) / 2)
    mean = min(max(result.mean / scale, 0.0), 1.0)
    unseen = UNSEEN_MORE if apart or _is_weighted(weights) else UNSEEN * bool(result.trust)
    labels = size
    if apart:  # the run may have fewer samples than there are labels
        sizes = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
        labels = float(sizes.sum() ** 2 / (sizes**2).sum())
    error = math.hypot(result.error / scale, unseen / labels)
    half = student_quantile((1 + confidence) / 2, result.degrees) * error
    if result.error > EQUAL * scale:
        size = max(size, mean * (1 - mean) * (z / half) ** 2)
    low, high = wilson(mean, size, z)
    if apart:
        low = min(low, max(result.mean / scale - half, 0.0))
        high = max(high, min(result.mean / scale + half, 1.0))
    return mean * scale, (low * scale, high * scale)
