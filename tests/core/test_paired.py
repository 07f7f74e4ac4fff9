"""Paired figures against scipy, and against values of statsmodels 0.15.0 and ppi-python 0.2.3."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ctxmetrics.comparison.corrected import corrected_difference
from ctxmetrics.comparison.paired import (
    bca_interval,
    bootstrap_means,
    holm,
    paired_mean,
    sign_flip_p,
)

stats = pytest.importorskip("scipy.stats")
RANDOM = np.random.default_rng(5)
CLUSTERED = [0.5, 0.0, -0.25, 1.0, 0.0, 1 / 3, -0.5, 0.25, 0.75, 0.0, 0.2, -0.1]
CLUSTERS = [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 5]
PEOPLE = [0.5, -0.5, 1.0, 0.0, 0.25, 0.5, 0.0, -0.25, 0.5, 0.0]
JUDGE = [0.25, -0.5, 0.75, 0.0, 0.5, 0.25, 0.25, -0.5, 0.5, 0.25]
OTHERS = [0.5, 0.0, 0.25, -0.25, 0.75, 0.0, 0.5, 0.25, -0.5, 0.0, 0.5, 0.25, 1.0, 0.0, -0.25]


def differences(n: int, kind: str) -> list[float]:
    if kind == "0 and 1":
        return RANDOM.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.5, 0.3]).tolist()
    return (RANDOM.integers(0, 5, n) / 4 - RANDOM.integers(0, 9, n) / 8).tolist()  # sums without rounding


@pytest.mark.parametrize("kind", ["0 and 1", "fractions"])
@pytest.mark.parametrize("n", [2, 7, 30, 99])
def test_below_a_hundred_the_interval_is_students(n, kind):
    values = differences(n, kind)
    while len(set(values)) == 1:
        values = differences(n, kind)
    found, oracle = paired_mean(values), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.interval == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)
    quantiles = stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)
    assert found.detectable == pytest.approx(quantiles * np.std(values, ddof=1) / math.sqrt(n), abs=1e-9)


@pytest.mark.parametrize("kind", ["0 and 1", "fractions"])
@pytest.mark.parametrize("n", [100, 400])
def test_from_a_hundred_on_the_interval_is_that_of_scipys_bca_on_the_same_draws(n, kind):
    values = np.array(differences(n, kind))
    drawn = bootstrap_means(values, np.ones(n))
    given = SimpleNamespace(bootstrap_distribution=drawn)
    oracle = stats.bootstrap((values,), np.mean, n_resamples=0, method="BCa", bootstrap_result=given)
    ends = oracle.confidence_interval
    assert paired_mean(values.tolist()).interval == pytest.approx((ends.low, ends.high), abs=1e-9)


def test_both_ways_to_draw_are_the_same_distribution():
    values = RANDOM.normal(size=2500)  # more different values than are drawn by kind
    drawn = bootstrap_means(values, np.ones(2500))
    assert len(drawn) == 5000
    assert drawn.std() == pytest.approx(values.std() / 50, rel=0.05)
    few = bootstrap_means(np.repeat([0.0, 1.0, 3.0], 100), np.ones(300))
    assert few.std() == pytest.approx(np.repeat([0.0, 1.0, 3.0], 100).std() / math.sqrt(300), rel=0.05)


def test_clusters_widen_the_interval_as_statsmodels_says():
    """``OLS(d, 1).fit(cov_type='cluster', use_t=True)``: mean, standard error, interval."""
    found = paired_mean(CLUSTERED, CLUSTERS)
    assert found.mean == pytest.approx(0.1819444444444445, abs=1e-9)
    assert found.interval == pytest.approx((-0.02444805254030183, 0.38833694142919084), abs=1e-9)
    quantiles = stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4)
    assert found.detectable == pytest.approx(quantiles * 0.07433696297411324, abs=1e-9)
    single = paired_mean(CLUSTERED, range(12))
    assert single.interval == pytest.approx(paired_mean(CLUSTERED).interval, abs=1e-12)


def test_the_bootstrap_draws_clusters_whole():
    values = np.repeat(RANDOM.choice([-1.0, 1.0], 120), 5)
    whole = paired_mean(values.tolist(), np.repeat(np.arange(120), 5).tolist()).interval
    alone = paired_mean(values.tolist()).interval
    assert (whole[1] - whole[0]) / (alone[1] - alone[0]) == pytest.approx(math.sqrt(5), rel=0.1)


def test_clusters_of_one_run_are_compared_live_where_statsmodels_is_installed():
    api = pytest.importorskip("statsmodels.api")
    values, groups = RANDOM.normal(size=60), RANDOM.integers(0, 12, 60)
    fit = api.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    found = paired_mean(values.tolist(), groups.tolist())
    assert found.interval == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)


@pytest.mark.parametrize("n", [3, 8, 12])
def test_the_p_value_is_that_of_scipys_permutation_test(n):
    values = np.array(differences(n, "fractions"))
    oracle = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_p(values.tolist()) == pytest.approx(oracle.pvalue, abs=1e-9)


@pytest.mark.parametrize(("lost", "won"), [(0, 1), (5, 14), (300, 351), (40_000, 40_600)])
def test_for_zeros_and_ones_the_p_value_is_that_of_the_exact_sign_test(lost, won):
    oracle = stats.binomtest(won, lost + won).pvalue
    assert sign_flip_p([-1.0] * lost + [1.0] * won + [0.0] * 7) == pytest.approx(oracle, rel=1e-9)


def test_mcnemars_exact_test_of_statsmodels():
    assert sign_flip_p([-1.0] * 5 + [1.0] * 14 + [0.0] * 30) == pytest.approx(0.063568115234375, abs=1e-9)


def test_many_different_values_are_flipped_at_random():
    values = RANDOM.normal(0.05, 1, 3000)
    z = abs(values.sum()) / math.sqrt((values**2).sum())
    assert sign_flip_p(values.tolist()) == pytest.approx(2 * stats.norm.sf(z), abs=0.02)
    assert sign_flip_p((values + 5).tolist()) == pytest.approx(1 / 10_000)


def test_no_difference_at_all_has_p_one_and_no_width():
    found = paired_mean([0.0] * 150)
    assert (found.mean, found.interval, found.p, found.detectable) == (0.0, (0.0, 0.0), 1.0, 0.0)
    one = paired_mean([0.25])
    assert (one.mean, one.interval, one.p, one.detectable) == (0.25, None, 1.0, None)


def test_holm_as_in_statsmodels():
    """``multipletests(.., method='holm')``."""
    assert holm([0.012, 0.04, 0.03, 0.005, 0.9]) == pytest.approx(
        [0.048, 0.09, 0.09, 0.025, 0.9], abs=1e-9
    )
    assert holm([]) == []


def test_the_corrected_difference_is_that_of_ppi_python():
    """``ppi_mean_pointestimate``: the estimate; the interval by the formula, with quantiles of scipy."""
    mean, (low, high) = corrected_difference(PEOPLE, JUDGE, OTHERS)
    assert mean == pytest.approx(0.21331571994715987, abs=1e-9)
    weight = (mean - np.mean(PEOPLE)) / (np.mean(OTHERS) - np.mean(JUDGE))
    rest = np.var(np.array(PEOPLE) - weight * np.array(JUDGE), ddof=1) / 10
    half = stats.t.ppf(0.975, 9) * math.sqrt(rest + weight**2 * np.var(OTHERS, ddof=1) / 15)
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=1e-9)


def test_a_judge_that_is_worth_nothing_leaves_peoples_difference():
    minus = [-value for value in JUDGE], [-value for value in OTHERS]
    mean, interval = corrected_difference(PEOPLE, *minus)
    assert mean == pytest.approx(0.2, abs=1e-9)
    oracle = stats.ttest_1samp(PEOPLE, 0).confidence_interval(0.95)
    assert interval == pytest.approx((oracle.low, oracle.high), abs=1e-9)
    assert corrected_difference(PEOPLE, JUDGE, [])[1] == pytest.approx(interval, abs=1e-12)


def test_a_corrected_difference_of_one_run_live_where_ppi_python_is_installed():
    ppi = pytest.importorskip("ppi_py")
    people, judge, others = RANDOM.normal(size=40), RANDOM.normal(size=40), RANDOM.normal(size=200)
    judge += people
    expected = float(ppi.ppi_mean_pointestimate(people, judge, others)[0])
    found = corrected_difference(people.tolist(), judge.tolist(), others.tolist())[0]
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_bca_interval_of_skewed_values_is_not_symmetric():
    values = RANDOM.exponential(size=150)
    rest = (values.sum() - values) / 149
    low, high = bca_interval(float(values.mean()), bootstrap_means(values, np.ones(150)), rest)
    assert high - values.mean() > 1.05 * (values.mean() - low)
