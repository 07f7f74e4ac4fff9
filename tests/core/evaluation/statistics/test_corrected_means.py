"""The mean that people's labels correct: its trust in the judge, its error and its interval, by hand and by scipy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ctxmetrics.evaluation.statistics.corrected_means import (
    corrected,
    corrected_mean,
    weighted_mean,
)
from support.later import later

optimize = later("scipy.optimize")
stats = later("scipy.stats")

PEOPLE = [1.0, 0.0, 1.0, 1.0]
JUDGE = [0.8, 0.2, 0.6, 1.0]
OTHERS = [0.5, 0.7, 0.3, 0.9, 0.5, 0.1]
WEIGHTS = [1.0, 2.0, 4.0, 1.0]
CLUSTERS = ["a", "a", "b", "c", "b", "c", "c", "d", "d", "a"]


def add_up_errors(
    trust: float,
    *,
    weights: Sequence[float],
    clusters: Sequence[str] | None,
    has_everyone: bool,
) -> float:
    """Return the sum of the squared errors, as the docstring of `corrected` says it, sample by sample."""
    shares = np.array(weights) / sum(weights)
    residuals = np.array(PEOPLE) - trust * np.array(JUDGE)
    pool = np.array(JUDGE + OTHERS if has_everyone else OTHERS)
    errors = [0.0] * 10
    for number in range(4):
        errors[number] += shares[number] * (residuals[number] - shares @ residuals)
    for number, score in enumerate(pool, 10 - len(pool)):
        errors[number] += trust * (score - pool.mean()) / len(pool)
    sums: dict[object, float] = {}
    for number, error in enumerate(errors):
        key = number if clusters is None else clusters[number]
        sums[key] = sums.get(key, 0.0) + error
    return sum(value**2 for value in sums.values())


def test_the_trust_is_that_of_the_authors() -> None:
    # Covariance .1125, variance of all ten scores by the judge .804 / 9: .1125 / ((1 + 4 / 6) * .0893333).
    result = corrected(PEOPLE, JUDGE, OTHERS)
    assert result.trust == pytest.approx(0.755597, abs=1e-6)
    assert result.mean == pytest.approx(0.75 - 0.755597 * (0.65 - 0.5), abs=1e-6)
    # var(people - w * judge) / 4 = .0224822, w ** 2 * var(others) / 6 = .0076124
    assert result.error == pytest.approx((0.0224822 + 0.0076124) ** 0.5, abs=1e-5)
    assert (result.size, result.degrees) == (4.0, 3)


def test_without_trust_people_alone_count() -> None:
    result = corrected(PEOPLE, JUDGE, OTHERS, trust=0.0)
    assert result.mean == 0.75
    assert result.error == pytest.approx(stats.sem(PEOPLE))


def test_full_trust_corrects_the_mean_of_everyone() -> None:
    result = corrected(PEOPLE, JUDGE, OTHERS, trust=1.0)
    assert result.mean == pytest.approx(np.mean(JUDGE + OTHERS) + 0.75 - 0.65)


def test_a_judge_without_spread_is_not_trusted() -> None:
    result = corrected(PEOPLE, [0.5] * 4, [0.5] * 6)
    assert (result.trust, result.mean) == (0.0, 0.75)
    assert corrected(PEOPLE, JUDGE, []).trust == 0.0


def test_with_weights_the_trust_makes_the_error_smallest() -> None:
    result = corrected(PEOPLE, JUDGE, OTHERS, weights=WEIGHTS)
    best = optimize.minimize_scalar(
        lambda trust: add_up_errors(trust, weights=WEIGHTS, clusters=None, has_everyone=True),
        bounds=(0, 1),
        method="bounded",
    )
    assert result.trust == pytest.approx(best.x, abs=1e-5)
    shares = np.array(WEIGHTS) / 8
    mean = shares @ (np.array(PEOPLE) - best.x * np.array(JUDGE)) + best.x * np.mean(JUDGE + OTHERS)
    assert result.mean == pytest.approx(mean, abs=1e-5)
    assert result.error == pytest.approx((best.fun * 4 / 3) ** 0.5, abs=1e-6)
    assert result.size == pytest.approx(64 / 22)  # Kish: the square of the sum over the sum of squares


def test_clusters_are_summed_before_they_are_squared() -> None:
    result = corrected(PEOPLE, JUDGE, OTHERS, clusters=CLUSTERS, trust=1.0)
    assert result.trust == pytest.approx(0.6)
    squares = add_up_errors(0.6, weights=[1] * 4, clusters=CLUSTERS, has_everyone=False)
    # Three of the four clusters have labels.
    assert result.error == pytest.approx((squares * 3 / 2) ** 0.5)
    assert result.size == 3.0


def test_a_weighted_mean() -> None:
    assert weighted_mean([1, 3], [0.2, 0.6]) == pytest.approx(0.5)


def test_few_labels_have_the_interval_of_wilson() -> None:
    mean, interval = corrected_mean(PEOPLE, JUDGE, OTHERS)
    assert mean == 0.75
    assert interval == pytest.approx(tuple(stats.binomtest(3, 4).proportion_ci(method="wilson")))


def test_the_size_of_the_interval_is_that_of_the_error() -> None:
    people = [1.0, 0.0, 1.0, 1.0, 0.5] * 8
    judge = [0.9, 0.2, 0.7, 1.0, 0.6] * 8
    others = [1.0, 0.0, 0.9, 0.1] * 20
    result = corrected(people, judge, others)
    mean, ends = corrected_mean(people, judge, others)
    assert 0 < result.trust < 1
    assert mean == pytest.approx(result.mean)
    error = np.hypot(result.error, 0.4 / 40)
    z = stats.norm.ppf(0.975)
    half_width = stats.t.ppf(0.975, 39) * error
    size = mean * (1 - mean) * (z / half_width) ** 2
    assert size > 40
    # Each end of Wilson's interval is z standard errors of its own away from the mean.
    for end in ends:
        assert (mean - end) ** 2 == pytest.approx(z**2 * end * (1 - end) / size)
