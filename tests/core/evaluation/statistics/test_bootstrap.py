"""The bootstrap over samples, beside that of scipy and a calculation by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ctxmetrics.evaluation.statistics.bootstrap import (
    BOOTSTRAP_DRAWS,
    draw_samples,
    percentile_interval,
)


def test_each_draw_has_as_many_samples_as_there_are() -> None:
    drawn = np.vstack(list(draw_samples([3, 1, 6])))
    assert drawn.shape == (BOOTSTRAP_DRAWS, 3)
    assert set(drawn.sum(axis=1).tolist()) == {10}
    # Three standard errors of the mean of 2,000 draws, of the standard deviation of a binomial count.
    error = 3 * np.sqrt(10 * 0.6 * 0.4 / BOOTSTRAP_DRAWS)
    assert drawn[:, 2].mean() == pytest.approx(6, abs=error)


def test_interval_of_a_mean_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(3).normal(size=40)
    means = np.concatenate([drawn @ values / len(values) for drawn in draw_samples([1] * len(values))])
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", random_state=5
    ).confidence_interval
    # Two percentiles of 2,000 draws: each has a standard error of about .006 of this mean.
    assert percentile_interval(means) == pytest.approx((theirs.low, theirs.high), abs=0.025)


def test_ends_are_percentiles_and_nan_is_no_value() -> None:
    values = [float(number) for number in range(41)]
    assert percentile_interval([*values, float("nan")]) == pytest.approx((1.0, 39.0))
    assert percentile_interval(range(11), whole=True) == (0.0, 10.0)
    assert percentile_interval(range(11)) == pytest.approx((0.25, 9.75))
