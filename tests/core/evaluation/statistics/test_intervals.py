"""Intervals against scipy, and by hand."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.statistics.intervals import mean_interval, student_quantile
from support.cases import each_case
from support.later import later

scipy_stats = later("scipy.stats")


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize(
    ("hits", "n"), [(0, 2), (1, 2), (6, 8), (19, 20), (99, 100), (0, 50), (50, 50)]
)
def test_scores_of_0_and_1_get_wilsons_interval(hits, n, confidence):
    values = [1.0] * hits + [0.0] * (n - hits)
    oracle = scipy_stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert mean_interval(values, confidence) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


@each_case("degrees", [1, 2, 3, 4, 7, 10, 29, 30, 31, 32, 60, 300, 301, 500, 100_000])
@each_case("probability", [0.5, 0.6, 0.75, 0.9, 0.975, 0.995, 0.9995])
def test_quantiles_of_students_distribution(probability, degrees):
    oracle = scipy_stats.t.ppf(probability, degrees)
    assert student_quantile(probability, degrees) == pytest.approx(oracle, rel=1e-10, abs=1e-12)


def test_the_interval_of_graded_scores_follows_from_their_spread():
    # By hand: p = 0.5, s^2 = 0.1 / 4, n = 5, t(4) = 2.776445: n_eff = 0.25 / 0.005 * (1.959964 / 2.776445)^2 = 24.9168.
    # Wilson: centre 0.5, half = 1.959964 / 1.154171 * sqrt(0.25 / 24.9168 + 3.841459 / (4 * 620.847)) = 0.182743.
    assert mean_interval([0.4, 0.6, 0.3, 0.5, 0.7]) == pytest.approx((0.317257, 0.682743), abs=2e-6)


def test_with_many_scores_it_is_the_normal_interval():
    source = random.Random(3)
    values = [source.betavariate(2, 3) for _ in range(20_000)]
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    assert mean_interval(values) == pytest.approx(
        (mean - 1.95996 * error, mean + 1.95996 * error), abs=2e-5
    )


def test_equal_scores_leave_doubt():
    oracle = scipy_stats.binomtest(12, 12).proportion_ci(method="wilson")
    assert mean_interval([1.0] * 12) == pytest.approx((oracle.low, 1.0))
    oracle = scipy_stats.binomtest(3, 6).proportion_ci(method="wilson")
    assert mean_interval([0.5] * 6) == pytest.approx((oracle.low, oracle.high))
    assert mean_interval([0.1 + 0.2] * 3 + [0.3] * 3) == pytest.approx(mean_interval([0.3] * 6))


def test_on_another_scale_only_the_scale_differs():
    values = [0.0, 0.25, 1.0, 0.5, 0.5, 1.0]
    low, high = mean_interval(values)
    assert mean_interval([100 * value for value in values], scale=100.0) == pytest.approx(
        (100 * low, 100 * high)
    )


@pytest.mark.parametrize("values", [[], [0.5]])
def test_below_two_values_there_is_none(values):
    assert mean_interval(values) is None


def test_it_stays_inside_the_scale_and_holds_the_mean():
    source = random.Random(1)
    for _ in range(300):
        n = source.randint(2, 40)
        values = [
            source.choice([0.0, 1.0, source.random() ** 8, 1 - source.random() ** 8]) for _ in range(n)
        ]
        low, high = mean_interval(values)
        assert 0.0 <= low <= statistics.fmean(values) + 1e-12
        assert statistics.fmean(values) - 1e-12 <= high <= 1.0


@pytest.mark.parametrize(
    "values", [[0.5, 1.1], [-0.1, 0.5], [math.nan, 0.5], [0.5, math.nan], [math.inf, 0.0]]
)
def test_values_off_the_scale_are_refused(values):
    with pytest.raises(ParameterError, match="from 0 to scale=1"):
        mean_interval(values)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, math.nan])
def test_an_impossible_confidence_is_refused(confidence):
    with pytest.raises(ParameterError, match="between 0 and 1"):
        mean_interval([0.1, 0.2], confidence)


def test_values_seen_several_times_are_counted_once():
    values = [0.2, 0.4, 0.9, 1.0, 0.0, 0.7]
    once = mean_interval(values)
    assert mean_interval(values, times=[600] * 6) == pytest.approx(once, abs=1e-12)
    # Seen unequally often: Kish's effective number, 12**2 / (7**2 + 5) = 2.67 draws of 0 and 1 with a mean of 8/12.
    times, hits = [7, 1, 1, 1, 1, 1], [1, 1, 0, 0, 0, 0]
    low, high = mean_interval(hits, times=times)
    size, p = 144 / 54, 8 / 12
    variance = p * (1 - p) * size / (size - 1)
    t = scipy_stats.t.ppf(0.975, 1)
    z = scipy_stats.norm.ppf(0.975)
    size = max(size, p * (1 - p) * size / variance * (z / t) ** 2)
    centre, half = (
        (p + z**2 / (2 * size)) / (1 + z**2 / size),
        z / (1 + z**2 / size) * math.sqrt(p * (1 - p) / size + z**2 / (4 * size**2)),
    )
    assert (low, high) == pytest.approx((max(0, centre - half), min(1, centre + half)), abs=1e-12)
    assert low <= p <= high


def test_one_value_seen_often_has_no_interval():
    assert mean_interval([0.5], times=[600]) is None
    assert mean_interval([0.0, 1.0], times=[599, 1]) is None
