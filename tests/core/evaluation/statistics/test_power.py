"""How often a comparison finds a true difference: against scipy, statsmodels, and the library's own test."""

from __future__ import annotations

import numpy as np
import pytest

from ctxmetrics.evaluation.statistics.paired import paired_mean
from ctxmetrics.evaluation.statistics.power import (
    ChangeDistribution,
    ChangeModel,
    ValueParts,
    compare_counts,
    find_sample_count,
    simulate,
)
from support.later import later

stats = later("scipy.stats")


def build_model(values, parts: int = 1, scale: float = 1.0) -> ChangeModel:
    """Build the model of values that are shares of so many parts."""
    samples = []
    for value in values:
        lost = round(value / scale * parts)
        samples.append(ValueParts(value, max(lost, 1), max(parts - lost, 1)))
    return ChangeModel(samples, scale)


def test_simulated_comparisons_are_those_of_paired_mean():
    source = np.random.default_rng(4)
    sizes = np.array([-1.0, -0.5, -0.25, 0.25, 0.75])
    for samples in (2, 5, 12, 60):
        shares = [0.02, 0.03, 0.1, 0.03, 0.02, 0.8]
        counts = source.multinomial(samples, shares, size=200)[:, :-1]
        compared = compare_counts(counts, sizes, samples)
        for row, frequencies in enumerate(counts):
            differences = [*np.repeat(sizes, frequencies), *[0.0] * (samples - frequencies.sum())]
            expected = paired_mean(differences)
            assert compared.shown[row] == (expected.p <= 0.05)
            low, high = expected.interval or (0.0, 0.0)
            assert (compared.low[row], compared.high[row]) == pytest.approx((low, high), abs=1e-9)
            assert compared.mean[row] == pytest.approx(expected.mean, abs=1e-12)


@pytest.mark.parametrize(("samples", "share"), [(80, 0.1), (160, 0.05), (300, 0.02)])
def test_power_for_lost_samples_is_the_binomial_one(samples, share):
    """All values are 1 and each loss takes one: k losses are shown if the sign test, or from ten on Student's, shows them."""

    def is_shown(losses: int) -> bool:
        if losses < 10:
            return 2 * 0.5**losses <= 0.05
        t = np.sqrt(losses * (samples - 1) / (samples - losses))
        return 2 * stats.t.sf(t, samples - 1) <= 0.05

    expected = sum(
        stats.binom.pmf(losses, samples, share) for losses in range(samples) if is_shown(losses)
    )
    changes = build_model([1.0] * 10).lose_samples(share)
    assert simulate(changes, samples).shown.mean() == pytest.approx(expected, abs=0.025)


def test_many_small_changes_need_what_statsmodels_says():
    power = pytest.importorskip("statsmodels.stats.power")
    # Six in ten lose .02, four in ten win it.
    changes = build_model([0.5] * 10, parts=50).change(0.004, 1.0, whole=False)
    effect = 0.004 / (0.02**2 - 0.004**2) ** 0.5
    expected = power.TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.815)
    assert find_sample_count(changes) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("changed", [None, 0.3, 0.8])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_changes_make_the_loss_that_is_asked_for(changed, whole, scale):
    model = build_model([scale * value for value in (0.25, 0.5, 0.75, 1.0)], 4, scale)
    changes = model.build(0.1 * scale, changed, whole=whole)
    assert changes.mean == pytest.approx(-0.1 * scale, rel=1e-6)
    if changed is not None:
        assert changes.changed == pytest.approx(changed, rel=1e-6)
    assert np.abs(changes.sizes).max() <= scale + 1e-9


def test_lost_parts_are_binomial():
    """Values of 1 with two parts; a rate of .1 loses one of them in .18 of the samples, and both in .01."""
    changes = build_model([1.0] * 4, parts=2).lose_parts(0.1)
    assert dict(zip(changes.sizes.round(9), changes.shares.round(9), strict=True)) == {
        -0.5: 0.18,
        -1.0: 0.01,
    }


def test_parts_of_a_deep_pool_are_binomial():
    """A value of 2,400 parts loses a tenth of them: nearly every sample changes, by a tenth on average."""
    changes = build_model([1.0] * 4, parts=2_400).lose_parts(0.1)
    assert changes.changed == pytest.approx(1.0)
    assert changes.mean == pytest.approx(-0.1)


def test_no_more_samples_change_than_can():
    """One of ten values can rise, so at most .1 win, and these wins allow as much more loss."""
    changes = build_model([1.0] * 9 + [0.0]).change(0.05, 0.6, whole=True)
    assert dict(zip(changes.sizes.round(6), changes.shares.round(6), strict=True)) == {
        -1.0: 0.15,
        1.0: 0.1,
    }
    assert build_model([0.0] * 3).find_largest_loss() == 0
    assert build_model([1.0, 1.0, 0.0, 0.0]).find_largest_loss(0.2) == pytest.approx(0.2)


def test_larger_parts_are_taken_if_few_samples_change():
    """A tenth of the samples changes: single parts of a quarter make a loss of .025 at most."""
    model = build_model([1.0] * 10, parts=4)
    changes = model.change(0.05, 0.1, whole=False)
    assert changes.mean == pytest.approx(-0.05, rel=1e-6)
    assert changes.changed == pytest.approx(0.1, rel=1e-6)
    assert changes.sizes.max() == pytest.approx(-0.25)


def test_same_changes_need_the_same_number_again():
    changes = ChangeDistribution(np.array([-0.5, 0.5]), np.array([0.2, 0.1]))
    assert find_sample_count(changes) == find_sample_count(changes)
    everything = ChangeDistribution(np.array([-0.3]), np.array([1.0]))
    assert find_sample_count(everything) == 6  # 2 * 0.5**6 is the first below .05
