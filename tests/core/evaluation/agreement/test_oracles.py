"""Each figure of `agree` and `compare` beside the library that has it too, on drawn data; benchmarks/intervals.md lists them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ctxmetrics.evaluation.agreement.figures import Agreement, krippendorff_alpha
from ctxmetrics.evaluation.agreement.rank_agreement import kendall_tau, spearman_rho
from ctxmetrics.evaluation.statistics.corrected_means import corrected, corrected_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval
from ctxmetrics.evaluation.statistics.paired import holm, paired_mean
from support.later import later

stats = later("scipy.stats")

SEEDS = range(4)


def close(expected: Any) -> Any:
    return pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_rank_correlations_are_those_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = (
        random.integers(0, 6, 9).tolist(),
        random.integers(0, 9, 9).tolist(),
    )  # with equal values
    assert kendall_tau(one, other) == close(stats.kendalltau(one, other).statistic)
    assert spearman_rho(one, other) == close(stats.spearmanr(one, other).statistic)
    assert kendall_tau([1, 1, 1], [1, 2, 3]) is None
    assert spearman_rho([1, 1, 1], [1, 2, 3]) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_paired_intervals_and_p_values_are_those_of_scipy(seed: int) -> None:
    for n in (40, 150):
        values = (np.random.default_rng(seed).integers(-4, 6, n) / 4).tolist()
        found, oracle = paired_mean(values), stats.ttest_1samp(values, 0)
        ends = oracle.confidence_interval(0.95)
        assert found.interval == close((ends.low, ends.high))
        assert found.p == close(oracle.pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_kappa_and_balanced_accuracy_are_those_of_scikit_learn(seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    both, judge_only, people_only, neither = np.random.default_rng(seed).integers(1, 40, 4).tolist()
    judge = [1] * (both + judge_only) + [0] * (people_only + neither)
    people = [1] * both + [0] * judge_only + [1] * people_only + [0] * neither
    found = Agreement("x", 1, both, judge_only, people_only, neither)
    assert found.kappa == close(metrics.cohen_kappa_score(people, judge))
    assert found.balanced_accuracy == close(metrics.balanced_accuracy_score(people, judge))
    assert found.sensitivity == close(metrics.recall_score(people, judge))
    assert found.specificity == close(metrics.recall_score(people, judge, pos_label=0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha_is_that_of_krippendorff(seed: int) -> None:
    package = pytest.importorskip("krippendorff")
    random = np.random.default_rng(seed)
    said = np.where(random.random((4, 30)) < 0.3, np.nan, random.integers(0, 2, (4, 30)))
    expected = package.alpha(reliability_data=said, level_of_measurement="nominal")
    questions = [[bool(value) for value in column if not math.isnan(value)] for column in said.T]
    assert krippendorff_alpha(questions) == close(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_cluster_intervals_p_values_and_holm_equal_statsmodels(seed: int) -> None:
    api = pytest.importorskip("statsmodels.api")
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint

    random = np.random.default_rng(seed)
    values, groups = random.normal(size=60), random.integers(0, 12, 60)
    fit = api.OLS(values, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert paired_mean(values.tolist(), groups.tolist()).interval == close(tuple(fit.conf_int()[0]))
    assert paired_mean(values.tolist(), groups.tolist()).p == close(float(fit.pvalues[0]))
    many = random.random(7).tolist()
    assert holm(many) == close(multipletests(many, method="holm")[1])
    hits = int(random.integers(1, 20))
    shares = [1.0] * hits + [0.0] * (20 - hits)
    assert mean_interval(shares) == close(proportion_confint(hits, 20, method="wilson"))


def drawn(seed: int) -> tuple[list[float], list[float], list[float]]:
    """Scores of 0 to 1 of 40 people's labels, the judge's on them, and on 200 others."""
    random = np.random.default_rng(seed)
    truth = random.random(240)
    judge = np.clip(truth + random.normal(0.05, 0.2, 240), 0, 1)
    return truth[:40].tolist(), judge[:40].tolist(), judge[40:].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_corrected_means_and_differences_are_those_of_ppi_python(seed: int) -> None:
    ppi = pytest.importorskip("ppi_py")
    data = drawn(seed)
    people, judge, others = map(np.array, data)
    expected = float(np.ravel(ppi.ppi_mean_pointestimate(people, judge, others))[0])
    assert corrected_mean(*data)[0] == close(expected)
    assert corrected(*data).mean == close(expected)
    weights = np.random.default_rng(seed).choice([1.0, 3.0, 5.0], 40)
    found = corrected(*data, weights=weights.tolist())
    everyone = np.concatenate([judge, others])
    weighted = ppi.ppi_mean_pointestimate(people, judge, everyone, lam=found.trust, w=weights)
    assert found.mean == close(float(np.ravel(weighted)[0]))
    assert 0.5 < found.trust < 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_cluster_error_of_corrected_mean_equals_statsmodels(seed: int, weighted: bool) -> None:
    """Labelled residuals and judged scores as one regression on two columns of ones, clusters across both."""
    api = pytest.importorskip("statsmodels.api")
    people, judge, others = drawn(seed)
    random = np.random.default_rng(seed)
    clusters = random.integers(0, 15, 240)
    weights = random.choice([1.0, 3.0], 40) if weighted else np.ones(40)
    found = corrected(
        people,
        judge,
        others,
        weights=weights.tolist() if weighted else None,
        clusters=clusters.tolist(),
    )
    pool = [*judge, *others] if weighted else others
    rows = np.concatenate(
        [np.array(people) - found.trust * np.array(judge), found.trust * np.array(pool)]
    )
    columns = np.zeros((len(rows), 2))
    columns[:40, 0] = columns[40:, 1] = 1
    groups = np.concatenate([clusters[:40], clusters if weighted else clusters[40:]])
    fit = api.WLS(rows, columns, weights=np.concatenate([weights, np.ones(len(pool))])).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    labelled = len(set(clusters[:40].tolist()))
    assert found.mean == close(fit.params.sum())
    assert found.error == close(math.sqrt(fit.cov_params().sum() * labelled / (labelled - 1)))
    assert found.size <= labelled
