"""Intervals of means, and the distributions behind them.

The unit is the sample: the sentences of one reference are not independent draws, nor are the contexts of one question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from ctxmetrics.errors import ParameterError

# The quantile of the normal distribution for an interval of 95 %.
NORMAL_QUANTILE = 1.96
_ROUNDING_ERROR = 1e-9
_MIN_TRIALS_FOR_SERIES = 300
# From this number of trials on, the number of combinations may be above the largest float.
_MIN_TRIALS_FOR_LOGARITHMS = 1000


def mean_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    *,
    scale: float = 1.0,
    times: Sequence[int] | None = None,
) -> tuple[float, float] | None:
    """Interval of the mean of per-sample scores from 0 to ``scale``, inside that range.

    Formula: Wilson's interval of a share with an effective number of samples
    ``n_eff = max(n, p * (1 - p) / (s**2 / n) * (z / t)**2)``, where p and s are mean and standard deviation on the
    0-1 scale, z and t the quantiles of the normal and of Student's distribution with n - 1 degrees of freedom. For
    scores of 0 and 1 this is Wilson's interval. Where all scores are equal, n_eff is n, since equal scores do not
    prove that the next one is equal too. Closed form: the same values give the same interval.

    Args:
        values: One score for each sample.
        confidence: How often such intervals are to hold the true mean, between 0 and 1.
        scale: The highest possible score.
        times: How often each value was seen; None: once. Seeing a sample again proves nothing, so n is then Kish's
            effective number ``sum(times)**2 / sum(times**2)``: where all are seen equally often, that of the values.

    Returns:
        The lower and the upper end, or None below two values.

    Raises:
        ParameterError: ``confidence`` or a value is out of range.

    Source: E. B. Wilson, JASA 22 (1927) 209; effective sizes with Student's t: E. L. Korn and B. I. Graubard, Survey
    Methodology 24 (1998) 193; L. Kish, Survey Sampling (1965). Simulated coverage of this and of the bootstrap: ``benchmarks/decisions/intervals.py``.

    >>> low, high = mean_interval([1, 1, 1, 0, 1, 1, 0, 1])  # six of eight
    >>> round(low, 3), round(high, 3)
    (0.409, 0.929)
    """
    if not 0 < confidence < 1:
        raise ParameterError(
            f"mean_interval: confidence={confidence!r} must be between 0 and 1, such as 0.95."
        )
    weights = times or [1] * len(values)
    total = sum(weights)
    n = total**2 / max(1, sum(weight * weight for weight in weights))
    if n < 2:  # noqa: PLR2004 - one value says nothing about the spread
        return None
    lowest = min(values)
    highest = max(values)
    weighted_values = (weight * value for weight, value in zip(weights, values, strict=True))
    mean = math.fsum(weighted_values) / total / scale
    if not (lowest >= 0 and highest <= scale * (1 + _ROUNDING_ERROR) and math.isfinite(mean)):
        raise ParameterError(f"mean_interval: values must be numbers from 0 to scale={scale:g}.")
    p = min(mean, 1.0)
    tail = (1 + confidence) / 2
    z = NormalDist().inv_cdf(tail)
    effective_size = n
    if highest - lowest > _ROUNDING_ERROR * scale:
        squares = (
            weight * (value / scale - p) ** 2 for weight, value in zip(weights, values, strict=True)
        )
        variance = math.fsum(squares) / (total * (n - 1) / n)
        effective_size = max(
            effective_size, p * (1 - p) * n / variance * (z / student_quantile(tail, int(n) - 1)) ** 2
        )
    low, high = wilson(p, effective_size, z)
    return low * scale, high * scale


def wilson(p: float, size: float, z: float = NORMAL_QUANTILE) -> tuple[float, float]:
    """Wilson's interval of a share ``p`` seen in ``size`` draws, ``z`` standard errors to each side. Without ``z`` it is the 95 % interval."""
    weight = 1 + z * z / size
    centre = (p + z * z / (2 * size)) / weight
    half = z / weight * math.sqrt(p * (1 - p) / size + z * z / (4 * size * size))
    return max(0.0, centre - half), min(1.0, centre + half)


@lru_cache(maxsize=1024)
def student_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's distribution above its median, to ten digits or better.

    Up to 300 degrees of freedom by bisection of the exact distribution function, beyond by its expansion around the
    normal quantile.

    Args:
        probability: From 0.5, below 1.
        degrees: Degrees of freedom, from 1.

    Source: Abramowitz and Stegun, 26.7.3, 26.7.4 and 26.7.5.
    """
    if degrees > _MIN_TRIALS_FOR_SERIES:
        z = NormalDist().inv_cdf(probability)
        terms = (
            z,
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return sum(term / float(degrees) ** power for power, term in enumerate(terms))
    # The search is over the angle atan(t / sqrt(degrees)), in which the function is smooth.
    low = 0.0
    high = math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        if (1 + _central(middle, degrees)) / 2 < probability:
            low = middle
        else:
            high = middle
    return math.tan(low) * math.sqrt(degrees)


def student_p(t: float, degrees: int) -> float:
    """Return how often Student's distribution is as far from 0 as ``t``, on both sides.

    Source: Abramowitz and Stegun, 26.7.3 and 26.7.4.

    >>> round(student_p(2.0, 10), 6)
    0.073388
    """
    return max(0.0, 1 - _central(math.atan(abs(t) / math.sqrt(degrees)), degrees))


def sign_p(better: int, worse: int) -> float:
    """P value of the exact sign test: both directions are equally frequent.

    Source: W. J. Dixon, A. M. Mood, JASA 41 (1946) 557.

    >>> sign_p(0, 6)
    0.03125
    """
    changed = better + worse
    tail = sum(math.comb(changed, hits) for hits in range(min(better, worse) + 1))
    return min(1.0, tail / (1 << (changed - 1))) if changed else 1.0


@lru_cache(maxsize=1024)
def upper_limit_of_share(hits: int, size: int, tail: float) -> float:
    """Return the exact upper end for a share: the share at which so few hits, or fewer, have probability ``tail``.

    Source: C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404.

    >>> round(upper_limit_of_share(0, 100, 0.025), 4)
    0.0362
    """
    low = 0.0
    high = 1.0
    if hits == size:
        return high
    for _ in range(60):
        share = (low + high) / 2
        below = math.fsum(binomial(hit, size, share) for hit in range(hits + 1))
        if below > tail:
            low = share
        else:
            high = share
    return high


def binomial(hits: int, size: int, rate: float) -> float:
    """Return the probability of a number of hits in a number of draws.

    >>> binomial(1, 2, 0.5)
    0.5
    """
    if size < _MIN_TRIALS_FOR_LOGARITHMS:
        return math.comb(size, hits) * rate**hits * (1 - rate) ** (size - hits)
    if rate in (0, 1):
        return float(hits == size * rate)
    ways = math.lgamma(size + 1) - math.lgamma(hits + 1) - math.lgamma(size - hits + 1)
    return math.exp(ways + hits * math.log(rate) + (size - hits) * math.log1p(-rate))


def _central(angle: float, degrees: int) -> float:
    """Probability between -t and t, where t = tan(angle) * sqrt(degrees)."""
    cosine = math.cos(angle)
    sine = math.sin(angle)
    odd = degrees % 2
    term = cosine if odd else 1.0
    total = 0.0
    for power in range(1 + odd, degrees, 2):
        total += term
        term *= cosine * cosine * power / (power + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
