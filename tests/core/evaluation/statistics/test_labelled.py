"""What labels of a part of the samples decide: never less than the judge where they agree, the paired test where all are labelled."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxmetrics.evaluation.statistics.label_decisions import (
    choose_p,
    decide_loss,
    decide_no_loss,
    find_detectable_loss,
)
from ctxmetrics.evaluation.statistics.labelled import LabelledDifference, labelled_difference
from ctxmetrics.evaluation.statistics.paired import SIGNIFICANCE_LEVEL, holm, paired_mean
from support.benchmarks import load_benchmark

DIFFERENCES = [-1.0, -0.5, -1 / 3, -0.2, 0.0, 0.0, 0.0, 0.0, 0.25, 1.0]
MARGINS = [0.0, 0.02, 0.05, 0.1, 0.3]


@st.composite
def labelled_runs(draw: st.DrawFn) -> dict[str, Any]:
    """Differences of a judge, how many are labelled, their weights and clusters."""
    judge = draw(st.lists(st.sampled_from(DIFFERENCES), min_size=2, max_size=80))
    share = draw(st.integers(0, 3))
    judge += [draw(st.sampled_from([-1.0, -0.25, 0.5]))] * (share * len(judge) // 2)
    labels = draw(st.integers(1, len(judge)))
    weights = draw(
        st.none() | st.lists(st.sampled_from([1.0, 1.5, 4.0]), min_size=labels, max_size=labels)
    )
    names = st.lists(st.integers(0, 12), min_size=len(judge), max_size=len(judge))
    clusters = draw(st.none() | names.filter(lambda found: len(set(found)) > 1))
    return {
        "judge": draw(st.permutations(judge)),
        "labels": labels,
        "weights": weights,
        "clusters": clusters,
    }


def correct(people: list[float], case: dict[str, Any]) -> LabelledDifference:
    judge, labels = case["judge"], case["labels"]
    return labelled_difference(
        people,
        judge[:labels],
        judge[labels:],
        weights=case["weights"],
        clusters=case["clusters"],
    )


@pytest.mark.slow
@given(labelled_runs(), st.sampled_from(MARGINS))
def test_labels_that_agree_change_no_decision(case: dict[str, Any], margin: float) -> None:
    judge = case["judge"]
    alone = paired_mean(judge, case["clusters"])
    labels = correct(judge[: case["labels"]], case)
    p = choose_p(alone.mean, alone.p, labels)
    assert p == pytest.approx(alone.p, abs=1e-9) or (
        p > SIGNIFICANCE_LEVEL and alone.p > SIGNIFICANCE_LEVEL
    )
    margins = [margin]
    if alone.interval is not None:
        # The gates are decided by a hair; no loss is larger than the scale.
        for end in alone.interval:
            margins += [min(max(0.0, -end + hair), 0.999) for hair in (-1e-6, 1e-6)]
    for bar in margins:
        assert decide_loss(alone.interval, labels, bar) == decide_loss(alone.interval, None, bar)
        passes = decide_no_loss(alone.interval, None, bar)
        assert decide_no_loss(alone.interval, labels, bar) == passes


@settings(max_examples=settings().max_examples // 4)
@given(st.lists(labelled_runs(), min_size=2, max_size=4))
def test_labels_that_agree_change_no_verdict_by_holm(cases: list[dict[str, Any]]) -> None:
    alone = [paired_mean(case["judge"], case["clusters"]) for case in cases]
    labels = [correct(case["judge"][: case["labels"]], case) for case in cases]
    adjusted = holm([choose_p(one.mean, one.p, item) for one, item in zip(alone, labels, strict=True)])
    without = holm([one.p for one in alone])
    assert [p <= SIGNIFICANCE_LEVEL for p in adjusted] == [p <= SIGNIFICANCE_LEVEL for p in without]


@settings(max_examples=settings().max_examples // 4)
@given(labelled_runs(), st.data(), st.sampled_from(MARGINS))
def test_all_labelled_is_the_paired_test_of_people(
    case: dict[str, Any], data: st.DataObject, margin: float
) -> None:
    judge, clusters = case["judge"], case["clusters"]
    size = len(judge)
    people = data.draw(st.lists(st.sampled_from(DIFFERENCES), min_size=size, max_size=size))
    alone, expected = paired_mean(judge, clusters), paired_mean(people, clusters)
    labels = labelled_difference(people, judge, [], clusters=clusters)
    assert (labels.difference, labels.interval, labels.p) == (
        expected.mean,
        expected.interval,
        expected.p,
    )
    assert choose_p(alone.mean, alone.p, labels) == expected.p
    assert decide_loss(alone.interval, labels, margin) == decide_loss(expected.interval, None, margin)
    if expected.interval is not None or expected.mean >= -margin:
        passes = decide_no_loss(expected.interval, None, margin)
        assert decide_no_loss(alone.interval, labels, margin) == passes


@pytest.mark.slow
@given(labelled_runs(), st.data())
def test_labelled_interval_holds_the_difference(case: dict[str, Any], data: st.DataObject) -> None:
    labels = case["labels"]
    people = data.draw(st.lists(st.sampled_from(DIFFERENCES), min_size=labels, max_size=labels))
    found = correct(people, case)
    assert all(math.isfinite(value) for value in (found.difference, found.p, found.error))
    if found.interval is not None and not found.complete:
        low, high = found.interval
        assert -1 <= low <= high <= 1
        assert low <= min(max(found.difference, -1), 1) <= high


def test_few_changes_widen_the_deciding_interval_only() -> None:
    """Four of 100 samples lose a fifth, four win one; people agree about these and about 42 others.

    Errors: 0.25 / 10 for one unseen label of 46, and sqrt(8 * 0.04 / 100 / 99) = 0.005685; Student's quantile for 49 degrees is
    2.00958. Clopper and Pearson's upper end for 4 of 100 is 0.0993.
    """
    agreed = [-0.2] * 4 + [0.2] * 4 + [0.0] * 42
    found = labelled_difference(agreed, agreed, [0.0] * 50)
    half = 2.00958 * math.hypot(0.025, 0.005685)
    assert found.interval == pytest.approx((-half, half), abs=1e-5)
    assert found.decision_interval == pytest.approx((-0.0993, 0.0993), abs=5e-5)
    alone = paired_mean([*agreed, *[0.0] * 50])
    assert not decide_no_loss(alone.interval, found, 0.06)  # the judge alone does not pass


def test_printed_interval_reaches_far_if_nearly_all_are_labelled() -> None:
    agreed = [-0.2] * 4 + [0.2] * 4 + [0.0] * 82
    found = labelled_difference(agreed, agreed, [0.0] * 10)
    near, far = found.interval, found.decision_interval
    assert near is not None
    assert far is not None
    # One in ten is without a label, so the unseen error is 4/10 of itself: the rest, 6/10, is the way to the far end.
    unseen = 1.25 * 0.92 / (92 * 90 / 100) * 4 * (1 - 82 / 92)
    half = 1.98698 * math.hypot(unseen, 0.005685)
    assert far[1] == pytest.approx(0.0993, abs=5e-5)
    assert near[1] == pytest.approx(half + 0.6 * (far[1] - half), abs=1e-5)


def test_post_stratified_difference_and_errors_by_hand() -> None:
    """Ten of 100 samples changed by the judge, two of them labelled (one is no loss); eight of 90 others, one is a loss."""
    found = labelled_difference(
        [-1.0, 0.0] + [-1.0] + [0.0] * 7, [-1.0, -1.0] + [0.0] * 8, [-1.0] * 8 + [0.0] * 82
    )
    # Below ten labels the judge counts in full: errors are 0 and 1, and -1 and seven times 0.
    assert found.difference == pytest.approx(0.1 * (0.5 - 1) + 0.9 * (-1 / 8))
    changed = 0.1**2 * (1 - 2 / 10) * 0.5 / 2
    equal = 0.9**2 * (1 - 8 / 90) * (7 / 64 / 8 * 8 / 7) * 8 / 8
    assert found.label_error**2 == pytest.approx(changed + equal)
    square = 0.1 * 0.5 + 0.9 / 8
    assert found.sample_error**2 == pytest.approx((square - found.difference**2) / 99)
    unseen = (
        1.25 / 10
    )  # one of ten labels is expected among the changed, and nine among the others: eight are as good
    half = 2.262157162740992 * math.hypot(found.error, unseen)  # t(0.975), 9 degrees of freedom
    assert found.interval == pytest.approx((found.difference - half, found.difference + half))
    assert found.size == 10


LOSSES = [-1.0] * 20 + [0.0] * 180


def test_detectable_is_the_judges_where_labels_agree() -> None:
    alone = paired_mean(LOSSES)
    labels = labelled_difference(LOSSES[:30], LOSSES[:30], LOSSES[30:])
    assert find_detectable_loss(alone, None) == alone.detectable
    assert find_detectable_loss(alone, labels) == pytest.approx(alone.detectable)


def test_detectable_is_peoples_where_all_are_labelled() -> None:
    people = [-1.0] * 60 + [0.0] * 140
    labels = labelled_difference(people, LOSSES, [])
    expected = paired_mean(people).detectable
    assert find_detectable_loss(paired_mean(LOSSES), labels) == pytest.approx(expected)


@pytest.mark.parametrize("labels", [0, 30, 200])
def test_nothing_is_detectable_where_nothing_changed(labels: int) -> None:
    unchanged = [0.0] * 200
    judge = paired_mean(unchanged)
    found = (
        labelled_difference(unchanged[:labels], unchanged[:labels], unchanged[labels:])
        if labels
        else None
    )
    assert find_detectable_loss(judge, found) is None


def test_detectable_is_that_of_labels_that_contradict() -> None:
    """The judge calls everything equal; 60 of 200 samples are labelled, and half of them lost."""
    judge = [0.0] * 200
    labels = labelled_difference([-1.0, 0.0] * 30, judge[:60], judge[60:])
    stats = pytest.importorskip("scipy.stats")
    error = math.hypot(labels.label_error, labels.sample_error, 1.25 / 60)
    expected = (stats.t.ppf(0.975, 59) + stats.t.ppf(0.8, 59)) * error
    assert find_detectable_loss(paired_mean(judge), labels) == pytest.approx(expected)


@pytest.mark.parametrize("judge", ["good", "gloomy", "missing", "always yes"])
def test_arrays_of_the_benchmark_equal_the_functions(judge: str) -> None:
    """The benchmark computes many draws at once; what it decides from is what the library computes for each."""
    benchmark = load_benchmark("labelled_gates")
    setting = benchmark.Setting(judge, "samples", 0.05, 60)
    runs = benchmark.draw_runs(np.random.default_rng(1), setting, draws=4)
    (people,), (by_judge,), (alone,) = runs.people, runs.judge, runs.alone
    everything = benchmark.estimate(runs, -1, "random", before=False)[0][0]
    for row in range(4):
        there = runs.present[row]
        assert_equal_figures(alone[row], paired_mean(by_judge[row, there]))
        expected = labelled_difference(people[row, there], by_judge[row, there], [])
        assert_equal_figures(everything[row], expected)
    for labels, way in itertools.product([1, 2, 10, 30], benchmark.DRAWS):
        (found,), _ = benchmark.estimate(runs, labels, way, before=False)
        drawn = benchmark.choose_labels(runs, labels, way)
        for row in range(4):
            places = drawn.places[row]
            rest = np.setdiff1d(np.flatnonzero(runs.present[row]), places)
            expected = labelled_difference(
                people[row, places],
                by_judge[row, places],
                by_judge[row, rest],
                weights=drawn.weights[row],
            )
            assert_equal_figures(found[row], expected)


def assert_equal_figures(found: Any, expected: Any) -> None:
    for name, value in asdict(expected).items():
        assert getattr(found, name) == pytest.approx(value, abs=1e-7), name


@pytest.mark.parametrize(
    ("labels", "red", "passes"),
    [
        # The judge shows 30 losses. Labels of 20 contradict all; or two, so that they show the loss themselves.
        (([0.0] * 20 + [0.0] * 20, [-1.0] * 20 + [0.0] * 20, [-1.0] * 10 + [0.0] * 250), False, False),
        (([-1.0] * 18 + [0.0] * 22, [-1.0] * 20 + [0.0] * 20, [-1.0] * 10 + [0.0] * 250), True, False),
        # One of ten labels of losses contradicts the judge: by less than 1.4 standard errors.
        (([-1.0] * 9 + [0.0] * 31, [-1.0] * 10 + [0.0] * 30, [-1.0] * 20 + [0.0] * 240), True, False),
        # Nine labels say that a loss by the judge is none. Those of unchanged samples vary, since people err.
        (
            (
                [0.0] * 9 + [-0.5, 0.5] * 2 + [-0.5] + [0.0] * 11,
                [-1.0] * 9 + [0.0] * 16,
                [-1.0] * 21 + [0.0] * 254,
            ),
            False,
            False,
        ),
        # The judge sees nothing. No label of 50 is a loss; one is; three are.
        (([0.0] * 50, [0.0] * 50, [0.0] * 250), False, True),
        (([-1.0] + [0.0] * 49, [0.0] * 50, [0.0] * 250), False, False),
        (([-1.0] * 3 + [0.0] * 47, [0.0] * 50, [0.0] * 250), False, False),
        # One label of 50 says that a small change of the judge is none, and it counts as if it agreed.
        (([0.0] * 50, [0.2] + [0.0] * 49, [0.2] * 10 + [0.0] * 240), False, True),
    ],
)
def test_labels_overrule_what_they_contradict(labels: Any, red: bool, passes: bool) -> None:
    people, by_judge, others = labels
    alone = paired_mean([*by_judge, *others])
    found = labelled_difference(people, by_judge, others)
    assert decide_loss(alone.interval, found, 0.02) == red
    assert decide_no_loss(alone.interval, found, 0.05) == passes


@pytest.mark.parametrize(("clusters", "passes"), [(None, True), ([n // 5 for n in range(300)], False)])
def test_dependent_labels_speak_louder_against_a_pass(clusters: list[int] | None, passes: bool) -> None:
    """The judge sees nothing. Of 100 labels, three of one cluster of five lost a half: T = -.015.

    With clusters, s_r^2 = 20 / 19 * (1.425^2 + 19 * .075^2) * 2 / 3 / 100^2 = 1.5e-4 and s_d^2 = 3.0202 * .007275 / 299 = 7.35e-5.
    T - t s is -.045 with t = 2.001. The factor is .6 + 100 / 160 = 1.225, below 5^.15, for 20 independent labels: -.0516.
    """
    found = labelled_difference([-0.5] * 3 + [0.0] * 97, [0.0] * 100, [0.0] * 200, clusters=clusters)
    if clusters is not None:
        assert found.size == 20
        assert found.error**2 == pytest.approx(2.235e-4, abs=1e-7)
    assert decide_no_loss(None, found, 0.05) == passes


def test_noise_of_the_judge_is_no_contradiction() -> None:
    """The judge sees 20 losses of 200 samples and says .01 too much or too little of each other one; no loss is labelled.

    The labels say nothing about its trust where it sees a loss, so that is 1 and not the slope, which is 0: T = -.1, and not 0.
    """
    noise = [0.01, -0.01] * 10
    found = labelled_difference([0.0] * 20, noise, [-1.0] * 20 + [0.01, -0.01] * 80)
    assert found.difference == pytest.approx(-0.1)
    alone = paired_mean([*noise, *[-1.0] * 20, *[0.01, -0.01] * 80])
    assert decide_loss(alone.interval, found, 0.02)
    assert choose_p(alone.mean, alone.p, found) == alone.p
    # Labels of losses that the judge invents have the spread of all its losses: there it is not trusted.
    invented = labelled_difference([0.0] * 20, [-1.0, -0.5] * 10, [-1.0, -1.0, -0.5] * 60)
    assert invented.difference == 0


def test_unseen_error_grows_with_errors_beyond_the_scale() -> None:
    """The judge reads losses as gains. Of 100 samples, 20 changed by the judge; four of the 20 labels are of these.

    Expected are 4 = 20 * 20 / 100 labels of them. The difference d - f is -2, so the error is 1.25 * 2 * .2 / 4 and not half of it.
    """
    found = labelled_difference(
        [-1.0] * 4 + [0.0] * 16, [1.0] * 4 + [0.0] * 16, [1.0] * 16 + [0.0] * 64
    )
    assert found.unseen_error == pytest.approx(1.25 * 2 * 0.2 / 4)


@pytest.mark.parametrize(("independent", "passes"), [(100, True), (91, True), (52, False), (20, False)])
def test_labels_of_few_clusters_show_less_for_a_pass(independent: int, passes: bool) -> None:
    """100 labels with a mean of -0.02 and an error of 0.013, in 60 clusters of 300 samples.

    Student's quantile for 59 degrees of freedom is 2.001. The part of half the interval is 1, 1.1 for 91 independent labels, and
    0.6 + 100 / 160 = 1.225 for 52 and 20: the ends are -0.0460, -0.0486 and -0.0519.
    """
    found = labelled_difference([-0.02] * 100, [0.0] * 100, [0.0] * 200)
    labels = replace(
        found,
        difference=-0.02,
        correction=-0.02,
        unchanged_correction=-0.02,
        label_error=0.012,
        unchanged_error=0.012,
        sample_error=0.005,
        size=float(independent),
        degrees=59,
        decision_interval=(-0.2, 0.2),
    )
    alone = paired_mean([0.0] * 300)
    assert decide_no_loss(alone.interval, labels, 0.05) == passes


@pytest.mark.parametrize("seen_part", [0.5, -1.0])
def test_changes_of_another_size_speak_against_a_pass(seen_part: float) -> None:
    """The judge sees each change at half its size, or in the other direction: 14 others lost, 1 won. Three of 50 labels changed.

    For half the size, d - f is -.5, -.5 and .5: .06 * -.5 / 3 = -.01, with the variance .06^2 * (1 / 3) / 3 * (1 - 3 / 18).
    """
    changes = [-1.0, -1.0, 1.0]
    people = [*changes, *[0.0] * 47]
    judge = [seen_part * value for value in people]
    others = [seen_part * value for value in [*[-1.0] * 14, 1.0, *[0.0] * 235]]
    labels = labelled_difference(people, judge, others)
    gap = (1 - seen_part) * np.array(changes)
    assert labels.size_correction == pytest.approx(0.06 * gap.mean())
    assert labels.size_error**2 == pytest.approx(0.06**2 * gap.var(ddof=1) / 3 * (1 - 3 / 18))
    alone = paired_mean([*judge, *others])
    assert decide_no_loss(alone.interval, None, 0.04)
    assert not decide_no_loss(alone.interval, labels, 0.04)
