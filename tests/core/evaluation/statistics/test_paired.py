"""Paired figures against scipy, and against values of statsmodels 0.15.0 and ppi-python 0.2.3."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ctxmetrics.evaluation.statistics.corrected_means import corrected
from ctxmetrics.evaluation.statistics.intervals import sign_p, student_p, upper_limit_of_share
from ctxmetrics.evaluation.statistics.paired import holm, paired_mean
from support.cases import each_case
from support.later import later

stats = later("scipy.stats")

RANDOM = np.random.default_rng(5)
CLUSTERED = [0.5, 0.1, -0.25, 1.0, 0.0, 1 / 3, -0.5, 0.25, 0.75, 0.0, 0.2, -0.1]
CLUSTERS = [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 5]
PEOPLE = [0.5, -0.5, 1.0, 0.0, 0.25, 0.5, 0.0, -0.25, 0.5, 0.0]
JUDGE = [0.25, -0.5, 0.75, 0.0, 0.5, 0.25, 0.25, -0.5, 0.5, 0.25]
OTHERS = [0.5, 0.0, 0.25, -0.25, 0.75, 0.0, 0.5, 0.25, -0.5, 0.0, 0.5, 0.25, 1.0, 0.0, -0.25]


def corrected_difference(people, judge, others):
    """A corrected mean of differences and its 95 % interval."""
    found = corrected(people, judge, others)
    return found.mean, (found.mean - found.half(0.95), found.mean + found.half(0.95))


def differences(n: int, kind: str) -> list[float]:
    if kind == "0 and 1":
        return RANDOM.choice([-1.0, 0.0, 1.0], n, p=[0.2, 0.5, 0.3]).tolist()
    return (
        RANDOM.integers(0, 5, n) / 4 - RANDOM.integers(0, 9, n) / 8
    ).tolist()  # sums without rounding


def changed(n: int, kind: str) -> list[float]:
    """Differences of which at least ten are not zero."""
    values = differences(n, kind)
    while sum(value != 0 for value in values) < 10:
        values = differences(n, kind)
    return values


@pytest.mark.parametrize("kind", ["0 and 1", "fractions"])
@pytest.mark.parametrize("n", [12, 30, 99, 100, 101, 400, 3000])
def test_interval_and_p_value_are_students_at_every_n(n, kind):
    values = changed(n, kind) if n > 12 or kind == "fractions" else [1.0, -1.0, 1.0, 1.0] * 3
    found, oracle = paired_mean(values), stats.ttest_1samp(values, 0)
    ends = oracle.confidence_interval(0.95)
    assert found.interval == pytest.approx((ends.low, ends.high), abs=1e-9)
    assert found.p == pytest.approx(oracle.pvalue, abs=1e-9)
    assert found.mean == pytest.approx(np.mean(values), abs=1e-12)
    quantiles = stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)
    assert found.detectable == pytest.approx(
        quantiles * np.std(values, ddof=1) / math.sqrt(n), abs=1e-9
    )


@each_case("t", [0.0, 0.01, 1.0, 2.5, 8.0])
@each_case("degrees", [1, 2, 3, 29, 300, 301, 5000])
def test_students_p_value_is_that_of_scipy(t, degrees):
    assert student_p(t, degrees) == pytest.approx(2 * stats.t.sf(t, degrees), abs=1e-11)
    assert student_p(-t, degrees) == student_p(t, degrees)


@pytest.mark.parametrize(("better", "worse"), [(0, 1), (0, 6), (5, 5), (2, 7), (9, 0), (800, 900)])
def test_the_sign_test_is_scipys_exact_binomial_test(better, worse):
    assert sign_p(better, worse) == pytest.approx(
        stats.binomtest(better, better + worse).pvalue, abs=1e-12
    )


@pytest.mark.parametrize(
    ("hits", "size"), [(0, 5), (0, 100), (3, 99), (9, 20), (5, 5), (1, 100_000), (900, 2_000)]
)
def test_the_upper_share_is_scipys_exact_interval(hits, size):
    oracle = stats.binomtest(hits, size).proportion_ci(0.95, method="exact").high
    assert upper_limit_of_share(hits, size, 0.025) == pytest.approx(oracle, abs=1e-9)


@pytest.mark.parametrize("n", [99, 100])
def test_interval_of_few_changes_includes_unseen_ones(n):
    """Three losses of 1.0: the exact interval of their share says how many there may be."""
    found = paired_mean([-1.0] * 3 + [0.0] * (n - 3))
    lost = stats.binomtest(3, n).proportion_ci(0.95, method="exact").high
    won = stats.binomtest(0, n).proportion_ci(0.95, method="exact").high
    assert found.interval == pytest.approx((-lost, won), abs=1e-9)
    assert (found.changed, found.p) == (3, 0.25)  # two of eight sign patterns


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_few_changes_in_one_direction_match_both_tests(scale):
    values = [-scale] * 7 + [0.0] * 3
    found, oracle = paired_mean(values, scale=scale), stats.ttest_1samp(values, 0)
    assert found.p == pytest.approx(max(oracle.pvalue, 2 / 2**7), abs=1e-9)
    assert found.interval[1] == pytest.approx(oracle.confidence_interval(0.95).high, abs=1e-6)
    lost = stats.binomtest(7, 10).proportion_ci(0.95, method="exact").high
    low = min(oracle.confidence_interval(0.95).low, -scale * lost)
    assert found.interval[0] == pytest.approx(low, rel=1e-9)
    mixed = paired_mean([-scale] * 5 + [0.0] * 5, scale=scale)
    assert mixed.p > 0.05
    assert mixed.interval[1] == pytest.approx(scale * (1 - 0.025 ** (1 / 10)), abs=1e-6)


def test_interval_excludes_zero_if_p_is_at_most_five_percent():
    for n in (5, 8, 12, 40, 150):
        for share in (0.05, 0.2, 0.6, 1.0):
            for _ in range(20):
                values = (RANDOM.normal(-0.2, 0.4, n) * (RANDOM.random(n) < share)).tolist()
                found = paired_mean(values)
                if found.interval is not None:
                    away = found.interval[0] > 0 or found.interval[1] < 0
                    assert away == (found.p <= 0.05)


def test_clusters_widen_the_interval_as_statsmodels_says():
    """``OLS(d, 1).fit(cov_type='cluster', use_t=True)``: mean, standard error, interval, p."""
    found = paired_mean(CLUSTERED, CLUSTERS)
    assert found.mean == pytest.approx(0.19027777777777782, abs=1e-9)
    assert found.interval == pytest.approx((-0.0100671857202137, 0.39062274127576935), abs=1e-9)
    assert found.p == pytest.approx(0.05776554068648676, abs=1e-9)
    quantiles = stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4)
    assert found.detectable == pytest.approx(quantiles * 0.07215880592161716, abs=1e-9)
    single = paired_mean(CLUSTERED, range(12))
    assert single.interval == pytest.approx(paired_mean(CLUSTERED).interval, abs=1e-12)


@pytest.mark.slow
def test_clusters_of_one_run_match_live_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    values, groups = RANDOM.normal(size=60), RANDOM.integers(0, 12, 60)
    fit = api.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    found = paired_mean(values.tolist(), groups.tolist())
    assert found.interval == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)


def test_no_difference_at_all_has_p_one_and_no_interval():
    found = paired_mean([0.0] * 150)
    assert (found.mean, found.interval, found.p, found.detectable, found.changed) == (
        0.0,
        None,
        1.0,
        None,
        0,
    )
    one = paired_mean([0.25])
    assert (one.mean, one.interval, one.p, one.detectable) == (0.25, None, 1.0, None)


def test_equal_differences_have_an_interval_without_width():
    found = paired_mean([-0.25] * 40)
    assert (found.mean, found.interval, found.p, found.detectable) == (-0.25, (-0.25, -0.25), 0.0, 0.0)


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


@pytest.mark.slow
def test_corrected_difference_of_one_run_matches_live_ppi():
    ppi = pytest.importorskip("ppi_py")
    people, judge, others = RANDOM.normal(size=40), RANDOM.normal(size=40), RANDOM.normal(size=200)
    judge += people
    expected = float(ppi.ppi_mean_pointestimate(people, judge, others)[0])
    found = corrected_difference(people.tolist(), judge.tolist(), others.tolist())[0]
    assert found == pytest.approx(expected, abs=1e-9)


def test_few_clusters_with_equal_means_are_no_proof() -> None:
    """Two clusters of six: the sign test gives 2 * 0.5**2; of 0 of 2, the exact bound is 1 - 0.025**(1/2)."""
    found = paired_mean([0.5] * 12, [0] * 6 + [1] * 6)
    assert found.p == 0.5
    assert found.interval == pytest.approx((-(1 - 0.025**0.5), 1.0))
    assert found.detectable is None
    many = paired_mean([0.5] * 40, [number // 4 for number in range(40)])
    assert (many.interval, many.p) == ((0.5, 0.5), 0.0)


@pytest.mark.parametrize("size", [1, 2, 10])
def test_few_changed_clusters_are_as_few_changed_samples(size: int) -> None:
    """Five of 40 documents are lost, and a document has several samples that say the same."""
    alone = paired_mean([-1.0] * 5 + [0.0] * 35)
    found = paired_mean(
        [-1.0] * 5 * size + [0.0] * 35 * size, [number // size for number in range(40 * size)]
    )
    assert found.p == alone.p == 0.0625
    assert found.interval == pytest.approx(alone.interval)
    assert found.interval[0] < -0.26  # 1 - the lower end of the share 35 of 40, by Clopper and Pearson


def test_few_clusters_of_different_changes_are_students() -> None:
    """Each of six clusters is a mean of twenty changes: `ttest_1samp` of the six means."""
    means = [-0.3, -0.25, -0.35, -0.28, -0.32, -0.3]
    values = [mean + shift for mean in means for shift in (-0.1, 0.1) * 10]
    found = paired_mean(values, [number // 20 for number in range(120)])
    oracle = stats.ttest_1samp(means, 0)
    assert found.p == pytest.approx(oracle.pvalue)
    assert found.interval == pytest.approx(tuple(oracle.confidence_interval(0.95)))
