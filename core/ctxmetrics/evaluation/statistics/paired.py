"""Means of paired differences: interval, p value, and how many samples show a difference.

The unit is the sample, or a cluster of samples that belong together. Interval and p value have one basis, so that one
excludes zero where the other is at most 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.evaluation.statistics.intervals import (
    sign_p,
    student_p,
    student_quantile,
    upper_limit_of_share,
)

# With fewer changed samples, their spread says too little about changes that were not seen.
MIN_CHANGED_SAMPLES = 10
# The share of tests that find the smallest detectable difference.
TEST_POWER = 0.8
SIGNIFICANCE_LEVEL = 0.05
# Values that differ by less count as equal.
ROUNDING_ERROR = 1e-9


@dataclass(frozen=True, slots=True)
class PairedMean:
    """The mean of paired differences, and how sure it is.

    Attributes:
        mean: Mean of the differences.
        interval: The 95 % interval of the mean; None below two samples or clusters, and if no sample changed.
        p: p value of "no difference".
        detectable: The smallest true difference that a test at 5 % would have found in 80 % of such runs. None as
            ``interval``, and if few samples changed, all by the same amount.
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
    detectable: ``(t(0.975) + t(0.8)) * error``. If the means of all clusters are equal, ten changed ones at least, the interval has
    no width.

    If few samples or clusters changed (`have_few_changed`), the interval also reaches to
    ``-scale * u(worse)`` and ``scale * u(better)``, where u is the upper end of the exact 95 % interval of the share of clusters
    (Clopper and Pearson), since changes that were not seen could be as large as the scale. An end stays Student's where the sign
    test shows the direction. p is then the larger one of both tests.

    Args:
        differences: At least one.
        clusters: The cluster of each difference.
        scale: The largest possible difference.

    Source: Student, Biometrika 6 (1908) 1; cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13, with the usual
    factor for few clusters; C. J. Clopper, E. S. Pearson, Biometrika 26 (1934) 404; detectable difference: H. S. Bloom,
    Evaluation Review 19 (1995) 547.

    >>> found = paired_mean([0.5, 0.0, 0.5, 0.0, 0.25] * 4)
    >>> found.mean, round(found.interval[0], 3), round(found.interval[1], 3), round(found.p, 4)
    (0.25, 0.143, 0.357, 0.0001)
    """
    data = np.asarray(differences, dtype=float)
    cluster_numbers = number_clusters(clusters, len(data))
    mean = math.fsum(differences) / len(data)
    cluster_count = int(cluster_numbers.max()) + 1
    changed = int((np.abs(data) > ROUNDING_ERROR).sum())
    if cluster_count < 2:  # noqa: PLR2004 - one says nothing about the spread
        return PairedMean(mean, None, 1.0, None, changed)
    error = cluster_error(data, cluster_numbers, mean)
    if not changed:  # nothing is known of the size of a change
        return PairedMean(mean, None, 1.0, None, changed)
    detectable = power_multiple(cluster_count - 1) * error
    half_width = student_quantile(1 - SIGNIFICANCE_LEVEL / 2, cluster_count - 1) * error
    p_value = mean_p(mean, error, cluster_count - 1)
    interval = mean - half_width, mean + half_width
    sums = np.bincount(cluster_numbers, data).astype(float)
    if have_few_changed(data, cluster_numbers, error):
        interval, p_value = widen_for_unseen_changes(mean, interval, p_value, sums, scale=scale)
        if error == 0.0:  # equal changes say nothing about the size of others
            return PairedMean(mean, interval, p_value, None, changed)
    return PairedMean(mean, interval, p_value, detectable, changed)


def cluster_error(data: NDArray[np.float64], cluster_numbers: NDArray[np.intp], mean: float) -> float:
    """Return the standard error of a mean by clusters, two at least; see `paired_mean`."""
    sums = np.bincount(cluster_numbers, data)
    counts = np.bincount(cluster_numbers)
    cluster_count = len(sums)
    error = math.sqrt(
        cluster_count / (cluster_count - 1) * float(((sums - mean * counts) ** 2).sum())
    ) / len(data)
    return 0.0 if error < ROUNDING_ERROR * max(abs(mean), 1e-6) else error


def have_few_changed(
    data: NDArray[np.float64], cluster_numbers: NDArray[np.intp], error: float
) -> bool:
    """Tell whether so few differences are not 0 that their spread says too little about changes that were not seen.

    That is so in three cases:

    - fewer than ten samples changed;
    - fewer than ten clusters changed, and all samples of a cluster have the same difference: then a cluster says no more than one
      sample;
    - fewer than ten clusters changed, and all clusters have the same mean.

    Args:
        data: The differences.
        cluster_numbers: The number of the cluster of each.
        error: The standard error of their mean.
    """
    if int((np.abs(data) > ROUNDING_ERROR).sum()) < MIN_CHANGED_SAMPLES:
        return True
    sums = np.bincount(cluster_numbers, data)
    if int((np.abs(sums) > ROUNDING_ERROR).sum()) >= MIN_CHANGED_SAMPLES:
        return False
    means = sums / np.bincount(cluster_numbers)
    are_equal_in_clusters = bool((np.abs(data - means[cluster_numbers]) < ROUNDING_ERROR).all())
    return are_equal_in_clusters or error == 0.0


def widen_for_unseen_changes(
    mean: float, interval: tuple[float, float], p: float, sums: NDArray[np.float64], *, scale: float
) -> tuple[tuple[float, float], float]:
    """Widen an interval, and raise its p value, where few samples changed; see `paired_mean`.

    Args:
        mean: The mean difference.
        interval: The interval of the mean by Student's distribution.
        p: The p value that belongs to it.
        sums: The sum of the differences of each cluster.
        scale: The largest possible difference.
    """
    better = int((sums > ROUNDING_ERROR).sum())
    worse = int((sums < -ROUNDING_ERROR).sum())
    lower, upper = interval
    p = max(p, sign_p(better, worse))
    # The share of clusters that may be worse, of which the samples show few, each by the scale. A bound that shows the direction of a
    # significant difference stays.
    if p > SIGNIFICANCE_LEVEL or mean <= 0:
        lower = min(lower, -scale * upper_limit_of_share(worse, len(sums), SIGNIFICANCE_LEVEL / 2))
    if p > SIGNIFICANCE_LEVEL or mean >= 0:
        upper = max(upper, scale * upper_limit_of_share(better, len(sums), SIGNIFICANCE_LEVEL / 2))
    return (lower, upper), p


def limit_to_scale(interval: tuple[float, float], scale: float) -> tuple[float, float]:
    """Limit the ends of an interval to the scale: no mean difference is larger."""
    low, high = interval
    return max(low, -scale), min(high, scale)


def mean_p(mean: float, error: float, degrees: int) -> float:
    """Return the p value of "the mean is 0", from Student's distribution. If the standard error is 0, the p value is 0 or 1."""
    if error:
        return student_p(mean / error, degrees)
    return 1.0 if mean == 0.0 else 0.0


def samples_needed(difference: float, spread: float, changed: float = 1.0) -> int:
    """Return how many samples show a true mean difference with 80 % power, in a test at 5 %.

    Formula: the smallest n with ``(t(0.975) + t(0.8)) * spread / sqrt(n) <= difference``, Student's quantiles with n - 1
    degrees of freedom. It is also large enough to expect ten changed samples.

    Args:
        difference: The true mean of the paired differences, above 0.
        spread: The standard deviation of the paired differences.
        changed: The share of samples that have a difference.

    Source: H. S. Bloom, Evaluation Review 19 (1995) 547.

    >>> samples_needed(0.5, 1.0)
    34
    """
    normal = NormalDist()
    normal_multiple = normal.inv_cdf(1 - SIGNIFICANCE_LEVEL / 2) + normal.inv_cdf(TEST_POWER)
    # A lower bound: Student's quantiles are larger than those of the normal distribution.
    n_by_normal = math.ceil((normal_multiple * spread / difference) ** 2)
    n_by_changed = math.ceil(MIN_CHANGED_SAMPLES / changed - ROUNDING_ERROR)
    sample_count = max(2, n_by_normal, n_by_changed)
    while power_multiple(sample_count - 1) * spread > difference * math.sqrt(sample_count):
        sample_count += 1
    return sample_count


def power_multiple(degrees: int) -> float:
    """Return how many standard errors a difference has that is found with 80 % power."""
    return student_quantile(1 - SIGNIFICANCE_LEVEL / 2, degrees) + student_quantile(TEST_POWER, degrees)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for the number of tests, in the same order.

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979) 65.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    # The highest adjusted p value so far: a larger p value must not become smaller than it.
    highest = 0.0
    indexes_by_p = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in enumerate(indexes_by_p):
        remaining_tests = len(p_values) - rank
        highest = max(highest, min(1.0, remaining_tests * p_values[index]))
        adjusted[index] = highest
    return adjusted


def number_clusters(clusters: Sequence[object] | None, size: int) -> NDArray[np.intp]:
    """Return the number of the cluster of each sample: from 0, in the order in which clusters occur.

    Args:
        clusters: The cluster of each sample. None: each sample is a cluster.
        size: How many samples there are.
    """
    if clusters is None:
        return np.arange(size)
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
