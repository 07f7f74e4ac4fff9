"""How sure a mean is.

The unit is the sample: the sentences of one reference, or the contexts of one question, are no independent draws.
"""

from __future__ import annotations

import math
from statistics import NormalDist, covariance, variance
from typing import TYPE_CHECKING

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

_EQUAL = 1e-9
_SERIES_FROM = 300


def mean_interval(
    values: Sequence[float], confidence: float = 0.95, *, scale: float = 1.0
) -> tuple[float, float] | None:
    """Interval of the mean of per-sample scores from 0 to ``scale``, inside that range.

    Formula: Wilson's interval of a share with an effective number of samples
    ``n_eff = max(n, p * (1 - p) / (s**2 / n) * (z / t)**2)``, where p and s are mean and standard deviation on the
    0-1 scale, z and t the quantiles of the normal and of Student's distribution with n - 1 degrees of freedom. For
    scores of 0 and 1 this is Wilson's interval. Where all scores are equal, n_eff is n, since equal scores do not
    prove that the next one is equal too. Closed form: the same values give the same interval.

    Args:
        values: One score a sample.
        confidence: How often such intervals are to hold the true mean, between 0 and 1.
        scale: The highest possible score.

    Returns:
        The lower and the upper end, or None below two values.

    Raises:
        ParameterError: ``confidence`` or a value is out of range.

    Source: E. B. Wilson, JASA 22 (1927) 209; effective sizes with Student's t: E. L. Korn and B. I. Graubard, Survey
    Methodology 24 (1998) 193. Simulated coverage of this and of the bootstrap: ``benchmarks/intervals.py``.

    >>> low, high = mean_interval([1, 1, 1, 0, 1, 1, 0, 1])  # six of eight
    >>> round(low, 3), round(high, 3)
    (0.409, 0.929)
    """
    if not 0 < confidence < 1:
        raise ParameterError(
            f"mean_interval: confidence={confidence!r} must be between 0 and 1, such as 0.95."
        )
    n = len(values)
    if n < 2:  # noqa: PLR2004 - one value says nothing about the spread
        return None
    lowest, highest = min(values), max(values)
    mean = math.fsum(values) / n / scale
    if not (lowest >= 0 and highest <= scale * (1 + _EQUAL) and math.isfinite(mean)):
        raise ParameterError(f"mean_interval: values must be numbers from 0 to scale={scale:g}.")
    p = min(mean, 1.0)
    tail = (1 + confidence) / 2
    z = NormalDist().inv_cdf(tail)
    size: float = n
    if highest - lowest > _EQUAL * scale:
        variance = math.fsum((value / scale - p) ** 2 for value in values) / (n - 1)
        size = max(size, p * (1 - p) * n / variance * (z / student_quantile(tail, n - 1)) ** 2)
    low, high = wilson(p, size, z)
    return low * scale, high * scale


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    confidence: float = 0.95,
    *,
    scale: float = 1.0,
) -> tuple[float, tuple[float, float]]:
    """Mean of scores of which people gave a part and a judge all, and its interval: PPI++ for a mean.

    Formula: ``mean(people) + w * (mean(others) - mean(judge))``, where w from 0 to 1 makes the variance
    ``var(people - w * judge) / n + w**2 * var(others) / N`` as small as possible: a judge that says nothing about people
    gets w = 0, and people's mean alone remains. The interval has Student's quantile with n - 1 degrees of freedom, and
    ends at 0 and ``scale``. Where w is 0, where there are no others, and where it would have no width, it is that of
    people's mean.

    Args:
        people: People's scores of n samples, two at least.
        judge: The judge's scores of the same samples, in the same order.
        others: The judge's scores of N samples that people did not look at, drawn as the labelled ones were.
        confidence: As in `mean_interval`.
        scale: The highest possible score.

    Raises:
        ParameterError: A value is out of range, or the lengths do not fit.

    Source: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference,
    arXiv 2311.01453.

    >>> round(corrected_mean([1, 0, 1, 1], [0.9, 0.2, 0.7, 1.0], [0.6, 0.4, 0.8, 0.5, 0.7, 0.6])[0], 9)
    0.65
    """
    n = len(people)
    if n < 2 or len(judge) != n:  # noqa: PLR2004 - a variance needs two
        raise ParameterError(
            "corrected_mean: people and judge must be scores of the same two or more samples."
        )
    interval = mean_interval(people, confidence, scale=scale)
    mean = math.fsum(people) / n
    if not others or interval is None:
        return mean, interval or (0.0, scale)
    mean_interval([*judge, *others], confidence, scale=scale)  # are they in range?
    weight = weight_of_judge(people, judge, others)
    corrected = mean + weight * (math.fsum(others) / len(others) - math.fsum(judge) / n)
    rest = variance([mine - weight * its for mine, its in zip(people, judge, strict=True)])
    spread = variance(others) if len(others) > 1 else 0.0
    half = student_quantile((1 + confidence) / 2, n - 1) * math.sqrt(
        rest / n + weight**2 * spread / len(others)
    )
    corrected = min(max(corrected, 0.0), scale)
    if not weight or half < _EQUAL * scale:
        low, high = interval
        return corrected, (min(low, corrected), max(high, corrected))
    return corrected, (max(0.0, corrected - half), min(scale, corrected + half))


def weight_of_judge(people: Sequence[float], judge: Sequence[float], others: Sequence[float]) -> float:
    """How much a judge is worth in `corrected_mean`: covariance over variance, less the fewer others there are."""
    n = len(people)
    spread = variance([*judge, *others])
    together = covariance(people, judge) * (n - 1) / n  # as the authors' implementation estimates it
    return min(max(together / ((1 + n / len(others)) * spread), 0.0), 1.0) if spread else 0.0


def weighted_corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    weights: Sequence[float],
    everyone: Sequence[float],
    confidence: float = 0.95,
    *,
    scale: float = 1.0,
) -> tuple[float, tuple[float, float]]:
    """`corrected_mean` where people looked at some samples more often than at others.

    Formula: ``sum(a * (people - w * judge)) + w * mean(everyone)``, where ``a = weights / sum(weights)`` and w from 0 to 1
    makes the variance ``v(people - w * judge) + w**2 * var(everyone) / N`` as small as possible, with
    ``v(r) = n / (n - 1) * sum(a**2 * (r - sum(a * r))**2)``. The interval has Student's quantile with
    ``1 / sum(a**2) - 1`` degrees of freedom (Kish's effective number of samples), and ends at 0 and ``scale``; where it
    would have no width, it is Wilson's with that number. Differences between strata count in the variance, so that the
    interval is rather too wide than too narrow.

    Args:
        people: People's scores of n samples, two at least.
        judge: The judge's scores of the same samples, in the same order.
        weights: How many samples each of them stands for, above 0.
        everyone: The judge's scores of all N samples, those of people among them.
        confidence: As in `mean_interval`.
        scale: The highest possible score.

    Raises:
        ParameterError: A value is out of range, or the lengths do not fit.

    Source: the estimator of PPI++ (arXiv 2311.01453) with sampling weights; effective size: L. Kish, Survey Sampling
    (1965), 11.7.

    >>> mean, _ = weighted_corrected_mean([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5], [9, 9, 1, 1], [0.5] * 20)
    >>> round(mean, 9)
    0.9
    """
    n = len(people)
    if not len(judge) == len(weights) == n >= 2 or not all(0 < one < math.inf for one in weights):  # noqa: PLR2004 - a variance needs two
        raise ParameterError(
            "weighted_corrected_mean: people, judge and weights must be of the same two or more samples, "
            "and weights above 0."
        )
    for values in (people, everyone):
        mean_interval(values, confidence, scale=scale)  # are they in range?
    shares = [one / math.fsum(weights) for one in weights]
    size = 1 / math.fsum(share * share for share in shares)
    rest = variance(everyone) / len(everyone) if len(everyone) > 1 else 0.0
    own = _error(shares, judge, judge) + rest
    weight = min(max(_error(shares, people, judge) / own, 0.0), 1.0) if own > 0 else 0.0
    errors = [mine - weight * its for mine, its in zip(people, judge, strict=True)]
    mean = _dot(shares, errors) + weight * math.fsum(everyone) / len(everyone)
    mean = min(max(mean, 0.0), scale)
    tail = (1 + confidence) / 2
    half = math.sqrt(_error(shares, errors, errors) + weight**2 * rest)
    half *= student_quantile(tail, max(int(size) - 1, 1))
    if half < _EQUAL * scale:
        low, high = wilson(mean / scale, size, NormalDist().inv_cdf(tail))
        return mean, (low * scale, high * scale)
    return mean, (max(0.0, mean - half), min(scale, mean + half))


def _dot(shares: Sequence[float], values: Sequence[float]) -> float:
    return math.fsum(map(math.prod, zip(shares, values, strict=True)))


def _error(shares: Sequence[float], one: Sequence[float], other: Sequence[float]) -> float:
    """Covariance of two means with these shares; of one with itself, its squared standard error."""
    centre, middle = _dot(shares, one), _dot(shares, other)
    terms = zip(shares, one, other, strict=True)
    n = len(shares)
    return n / (n - 1) * math.fsum(share**2 * (x - centre) * (y - middle) for share, x, y in terms)


def wilson(p: float, size: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share ``p`` seen in ``size`` draws, ``z`` normal standard deviations wide."""
    weight = 1 + z * z / size
    centre = (p + z * z / (2 * size)) / weight
    half = z / weight * math.sqrt(p * (1 - p) / size + z * z / (4 * size * size))
    return max(0.0, centre - half), min(1.0, centre + half)


def student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's distribution above its median, to ten digits or better.

    Up to 300 degrees of freedom by bisection of the exact distribution function, beyond by its expansion around the
    normal quantile.

    Args:
        probability: From 0.5, below 1.
        degrees: Degrees of freedom, from 1.

    Source: Abramowitz and Stegun, 26.7.3, 26.7.4 and 26.7.5.
    """
    if degrees > _SERIES_FROM:
        return _expanded(NormalDist().inv_cdf(probability), degrees)
    low, high = 0.0, math.pi / 2  # of the angle atan(t / sqrt(degrees)), in which the function is tame
    for _ in range(60):
        middle = (low + high) / 2
        if (1 + _central(middle, degrees)) / 2 < probability:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def _central(angle: float, degrees: int) -> float:
    """Probability between -t and t, where t = tan(angle) * sqrt(degrees)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = degrees % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for power in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _expanded(z: float, degrees: int) -> float:
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / float(degrees) ** power for power, term in enumerate(terms))
