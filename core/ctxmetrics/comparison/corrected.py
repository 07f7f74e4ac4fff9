"""Means of scores of which people gave a part and a judge all: prediction-powered inference (PPI++).

The unit is the sample, or a cluster of samples that belong together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ctxmetrics._statistics import mean_interval, student_quantile, wilson
from ctxmetrics.errors import ParameterError

_EQUAL = 1e-9


class Estimate(NamedTuple):
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

    def half(self, confidence: float) -> float:
        """Return half the width of the interval: Student's quantile times the error."""
        return student_quantile((1 + confidence) / 2, max(int(self.size) - 1, 1)) * self.error


def corrected(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
) -> Estimate:
    """Mean of scores by people on n samples, made sharper by a judge's scores on N more.

    Formula: ``mean(people) + w * (mean(others) - mean(judge))``, where w from 0 to 1 makes the variance
    ``var(people - w * judge) / n + w**2 * var(others) / N`` as small as possible: a judge that says nothing about people
    gets w = 0, and people's mean alone remains.

    With weights, where people looked at some samples more often than at others:
    ``sum(a * (people - w * judge)) + w * mean(everyone)``, where ``a = weights / sum(weights)``, everyone are the judge's
    scores of all M samples, and w makes ``v(people - w * judge) + w**2 * var(everyone) / M`` as small as possible, with
    ``v(r) = n / (n - 1) * sum(a**2 * (r - sum(a * r))**2)``. Differences between strata count in the variance, so that
    intervals are rather too wide than too narrow.

    With clusters, the variance is ``G / (G - 1) * sum(u**2)``: u is what a cluster adds to the error, the sum of
    ``a * (r - sum(a * r))`` with r = people - w * judge over its labelled samples and of ``w * (score - mean) / number``
    over the others (with weights, over all); G is how many clusters have labels.

    Args:
        people: People's scores, two at least.
        judge: The judge's scores of the same samples, in the same order.
        others: The judge's scores of samples that people did not look at.
        weights: How many samples each of the labelled ones stands for; None, or all equal: they were drawn equally often.
        clusters: What each sample belongs to, first the labelled ones, then the others.

    Source: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference, arXiv 2311.01453;
    effective size: L. Kish, Survey Sampling (1965), 11.7; cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13.
    """
    said, its, rest = (np.asarray(values, dtype=float) for values in (people, judge, others))
    n, everyone = len(said), np.concatenate([its, rest])
    weighted = weights is not None and len(set(weights)) > 1
    given = weights if weights is not None and weighted else np.ones(n)
    shares = np.asarray(given, dtype=float) / math.fsum(given)
    pool = everyone if weighted else rest
    spread = float(pool.var(ddof=1)) / len(pool) if len(pool) > 1 else 0.0
    trust = _trust(said, its, rest)
    if weighted:
        own = _covariance(shares, its, its) + spread
        trust = _covariance(shares, said, its) / own if own > 0 else 0.0
    trust = min(max(trust, 0.0), 1.0)
    errors = said - trust * its
    centre = float(shares @ errors)
    size = 1 / float((shares**2).sum())
    variance = _covariance(shares, errors, errors) + trust**2 * spread
    if clusters is not None:
        terms = np.zeros(len(everyone))
        terms[:n] = shares * (errors - centre)
        if trust:
            terms[-len(pool) :] += trust * (pool - pool.mean()) / len(pool)
        labelled, squares = len(set(clusters[:n])), np.bincount(numbered(clusters), terms) ** 2
        size = min(size, float(labelled))
        variance = float(squares.sum()) * labelled / max(labelled - 1, 1)
    mean = centre + (trust * float(pool.mean()) if trust else 0.0)
    return Estimate(mean, math.sqrt(variance), round(size, 9), trust)


def _trust(people: Any, judge: Any, others: Any) -> float:
    """Covariance over variance, less the fewer others there are; estimated as the authors' implementation does."""
    if not len(others):
        return 0.0
    spread = float(np.concatenate([judge, others]).var(ddof=1))
    together = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return together / ((1 + len(people) / len(others)) * spread) if spread else 0.0


def numbered(clusters: Sequence[object]) -> list[int]:
    """Return clusters as numbers from 0, in the order in which they occur."""
    numbers: dict[object, int] = {}
    return [numbers.setdefault(cluster, len(numbers)) for cluster in clusters]


def _covariance(shares: Any, one: Any, other: Any) -> float:
    """Covariance of two means with these shares; of one with itself, its squared standard error."""
    n = len(shares)
    centred = (one - shares @ one) * (other - shares @ other)
    return n / (n - 1) * float((shares**2 * centred).sum())


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    confidence: float = 0.95,
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    scale: float = 1.0,
) -> tuple[float, tuple[float, float]]:
    """Mean of scores from 0 to ``scale``, and its interval, inside that range.

    Formula: that of `corrected`, with Student's quantile and the number of independent labels less 1 as degrees of
    freedom. Where the interval would have no width, it is Wilson's with that number; where the judge counts for nothing
    and samples have neither weights nor clusters, it is that of people's mean (`ctxmetrics._statistics.mean_interval`).

    Args:
        people: As in `corrected`.
        judge: As in `corrected`.
        others: As in `corrected`.
        confidence: How often such intervals are to hold the true mean, between 0 and 1.
        weights: As in `corrected`.
        clusters: As in `corrected`.
        scale: The highest possible score.

    Raises:
        ParameterError: A value is out of range, or the lengths do not fit.

    >>> round(corrected_mean([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], [0.6, 0.4, 0.8, 0.5, 0.7, 0.6])[0], 9)
    0.65
    """
    n = len(people)
    if n < 2 or len(judge) != n:  # noqa: PLR2004 - a variance needs two
        raise ParameterError(
            "corrected_mean: people and judge must be scores of the same two or more samples."
        )
    if weights is not None and not (len(weights) == n and all(0 < one < math.inf for one in weights)):
        raise ParameterError(
            "corrected_mean: weights must be numbers above 0, one for each sample of people."
        )
    if clusters is not None and len(clusters) != n + len(others):
        raise ParameterError(
            "corrected_mean: clusters must be one for each sample of people and of others."
        )
    own = mean_interval(people, confidence, scale=scale)
    mean_interval([*judge, *others], confidence, scale=scale)  # are they in range?
    found = corrected(people, judge, others, weights=weights, clusters=clusters)
    mean, half = min(max(found.mean, 0.0), scale), found.half(confidence)
    plain = clusters is None and (weights is None or len(set(weights)) == 1)
    if plain and own is not None and (not found.trust or half < _EQUAL * scale):
        return mean, (min(own[0], mean), max(own[1], mean))
    if half < _EQUAL * scale:
        low, high = wilson(mean / scale, found.size, NormalDist().inv_cdf((1 + confidence) / 2))
        return mean, (low * scale, high * scale)
    return mean, (max(0.0, mean - half), min(scale, mean + half))


def corrected_difference(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
) -> tuple[float, tuple[float, float]]:
    """Mean of paired differences, and its 95 % interval.

    Formula: that of `corrected`, with Student's quantile and the number of independent labels less 1 as degrees of
    freedom.

    Args:
        people: Differences by people's labels on n samples, two at least.
        judge: The judge's differences on the same samples, in the same order.
        others: The judge's differences on samples without labels.
        weights: As in `corrected`.
        clusters: As in `corrected`.
    """
    found = corrected(people, judge, others, weights=weights, clusters=clusters)
    half = found.half(0.95)
    return found.mean, (found.mean - half, found.mean + half)
