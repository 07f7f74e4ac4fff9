"""Statistics of paired differences: mean, interval, p value and the smallest difference that could have been seen.

The unit is the sample, or a cluster of samples that hang together: clusters are drawn, left out and flipped whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ctxmetrics._statistics import student_quantile
from ctxmetrics.comparison.corrected import numbered

# From so many samples, or clusters, on the interval is that of the bootstrap.
BOOTSTRAP_FROM = 100
# How often the smallest detectable difference would be found.
POWER = 0.8
_LEVEL = 0.05
_DRAWS, _FEWEST_DRAWS, _LARGEST_WORK = 5000, 1000, 10**8
_FLIPS, _BLOCK, _MOST_SUMS = 9_999, 303, 10**5
_FEW_VALUES = 2000
_SEED = 0
_EQUAL = 1e-9
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The mean of paired differences, and how sure it is.

    Attributes:
        mean: Mean of the differences.
        interval: Its 95 % interval; None below two samples or clusters.
        p: p value of the sign-flip test of "no difference".
        detectable: The smallest true difference that a test at 5 % would have found in 80 % of such runs; None below two.
    """

    mean: float
    interval: tuple[float, float] | None
    p: float
    detectable: float | None


def paired_mean(differences: Sequence[float], clusters: Sequence[object] | None = None) -> PairedMean:
    """Mean of differences, one a sample, with interval, p value and detectable difference.

    Formula: with G clusters (without clusters, each sample is one), s and c the sums and the numbers of their
    differences, n = sum(c) and m = sum(s) / n: the standard error is
    ``sqrt(G / (G - 1) * sum((s - m * c)**2)) / n``, for single samples the usual one. Interval: below 100 clusters
    ``m +- t * error`` with Student's quantile and G - 1 degrees of freedom; from 100 on BCa with 5,000 draws, fewer for
    more than 20,000 clusters with more than 2,000 different values, and a fixed seed. Where all differences are equal, it has no width. Detectable:
    ``(t(0.975) + t(0.8)) * error``. p: see `sign_flip_p`.

    Args:
        differences: At least one.
        clusters: For each difference, what it belongs to.

    Source: cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13, with the usual factor for few clusters; BCa:
    B. Efron, JASA 82 (1987) 171; detectable difference: H. S. Bloom, Evaluation Review 19 (1995) 547.

    >>> found = paired_mean([0.5, 0.0, 0.5, 0.0, 0.25])
    >>> found.mean, round(found.interval[0], 3), round(found.interval[1], 3), found.p
    (0.25, -0.06, 0.56, 0.25)
    """
    sums, counts = _by_cluster(differences, clusters)
    total = float(counts.sum())
    mean = math.fsum(sums.tolist()) / total
    p = sign_flip_p(sums.tolist())
    size = len(sums)
    if size < 2:  # noqa: PLR2004 - one says nothing about the spread
        return PairedMean(mean, None, p, None)
    error = _error(sums - mean * counts) / total
    high = student_quantile(1 - _LEVEL / 2, size - 1)
    detectable = (high + student_quantile(POWER, size - 1)) * error
    interval = (mean - high * error, mean + high * error)
    if error < _EQUAL * max(abs(mean), 1e-6):
        interval, detectable = (mean, mean), 0.0
    elif size >= BOOTSTRAP_FROM:
        rest = (sums.sum() - sums) / (total - counts)
        interval = bca_interval(mean, bootstrap_means(sums, counts), rest)
    return PairedMean(mean, interval, p, detectable)


def _by_cluster(values: Sequence[float], clusters: Sequence[object] | None) -> tuple[Any, Any]:
    data = np.asarray(values, dtype=float)
    if clusters is None:
        return data, np.ones(len(data))
    places = numbered(clusters)
    return np.bincount(places, data), np.bincount(places).astype(float)


def _error(residuals: Any) -> float:
    """Standard deviation of a sum of independent terms whose mean is 0."""
    size = len(residuals)
    return math.sqrt(size / (size - 1) * float((residuals**2).sum()))


def bootstrap_means(sums: Any, counts: Any) -> Any:
    """Return means of so many clusters, drawn with replacement.

    Args:
        sums: Of each cluster.
        counts: How many differences each holds.
    """
    random, size = np.random.default_rng(_SEED), len(sums)
    single = bool((counts == 1).all())
    if single:
        kinds, often = np.unique(sums, return_counts=True)
        kinds = np.column_stack([kinds, np.ones(len(kinds))])
    else:
        kinds, often = np.unique(np.column_stack([sums, counts]), axis=0, return_counts=True)
    if len(kinds) <= _FEW_VALUES:  # drawing how often each kind occurs is the same, and quicker
        drawn = random.multinomial(size, often / size, size=_DRAWS) @ kinds
        return drawn[:, 0] / drawn[:, 1]
    found = []
    for _ in range(max(_FEWEST_DRAWS, min(_DRAWS, _LARGEST_WORK // size))):
        places = random.integers(0, size, size, dtype=np.int32)
        found.append(sums[places].sum() / (size if single else counts[places].sum()))
    return np.array(found)


def bca_interval(mean: float, drawn: Any, left_out: Any) -> tuple[float, float]:
    """95 % bias-corrected and accelerated bootstrap interval.

    Args:
        mean: The statistic.
        drawn: The statistic of the bootstrap draws.
        left_out: The statistic without each cluster.

    Source: B. Efron, JASA 82 (1987) 171; B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), 14.3.
    """
    drawn, mean = (
        np.round(drawn, 12),
        round(mean, 12),
    )  # equal sums of fractions differ in their last digits
    below = ((drawn < mean).mean() + (drawn <= mean).mean()) / 2
    least = 1 / (2 * len(drawn))
    bias = _NORMAL.inv_cdf(min(max(float(below), least), 1 - least))
    away = left_out.mean() - left_out
    skew = float((away**3).sum() / (away**2).sum() ** 1.5) / 6
    ends = []
    for share in (_LEVEL / 2, 1 - _LEVEL / 2):
        shifted = bias + _NORMAL.inv_cdf(share)
        ends.append(100 * _NORMAL.cdf(bias + shifted / (1 - skew * shifted)))
    low, high = np.percentile(drawn, ends).tolist()
    return low, high


def sign_flip_p(sums: Sequence[float]) -> float:
    """P value of the sign-flip test: how often random signs make a sum as far from 0 as the one that was seen.

    Exact where the sums that are possible are at most 100,000 different ones (for values of 0 and 1 this is the exact
    McNemar test); else from 9,999 random draws with a fixed seed (fewer, 1,000 at least, above 10,000 differences of which
    more than 2,000 have different sizes), ``(1 + as far) / (1 + draws)``.

    Args:
        sums: The differences; of clusters, their sums.

    Source: R. A. Fisher, The Design of Experiments (1935), 21; B. Phipson, G. K. Smyth, SAGMB 9 (2010) 39.
    """
    seen = abs(math.fsum(sums))
    sizes, often = np.unique(np.round(np.abs(np.asarray(sums, dtype=float)), 12), return_counts=True)
    sizes, often = sizes[sizes > 0], often[sizes > 0]
    possible: Any = np.zeros(1)
    shares: Any = np.ones(1)
    for size, number in zip(sizes.tolist(), often.tolist(), strict=True):
        if len(possible) * (number + 1) > _MOST_SUMS:
            return _drawn_p(sizes, often, seen)
        steps = np.arange(number + 1)
        every = np.add.outer(possible, size * (2 * steps - number)).ravel()
        possible, places = np.unique(np.round(every, 10), return_inverse=True)
        shares = np.bincount(places.ravel(), np.multiply.outer(shares, _binomial(number)).ravel())
    return min(1.0, float(shares[np.abs(possible) >= seen - _EQUAL].sum()))


def _binomial(number: int) -> Any:
    """Return the probabilities of 0 to ``number`` heads."""
    logs = [
        math.lgamma(number + 1) - math.lgamma(k + 1) - math.lgamma(number - k + 1)
        for k in range(number + 1)
    ]
    return np.exp(np.array(logs) - number * math.log(2))


def _drawn_p(sizes: Any, often: Any, seen: float) -> float:
    random, total = np.random.default_rng(_SEED), float((sizes * often).sum())
    if len(sizes) <= _FEW_VALUES:  # drawing how often each size is positive is the same, and quicker
        blocks = (random.binomial(often, 0.5, size=(_BLOCK, len(sizes))) for _ in range(_FLIPS // _BLOCK))
        heads = np.concatenate([block @ sizes for block in blocks])
    else:
        every = np.repeat(sizes, often)
        draws = max(_FEWEST_DRAWS, min(_FLIPS, _LARGEST_WORK // len(every)))
        signs = (random.integers(0, 2, len(every), dtype=np.int8).astype(bool) for _ in range(draws))
        heads = np.array([every[sign].sum() for sign in signs])
    far = int((np.abs(2 * heads - total) >= seen - _EQUAL).sum())
    return (1 + far) / (1 + len(heads))


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
