"""The figures of `paired_mean` and `labelled_difference` for many draws at once, without clusters.

A row is a draw, a column a sample. One draw at a time, most of the time goes into calls. What is decided from the figures
stands in the library only. ``tests/core/evaluation/statistics/test_labelled.py`` compares the figures with those of the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.evaluation.statistics.intervals import student_quantile
from ctxmetrics.evaluation.statistics.labelled import (
    MAX_CHANCE_DEVIATIONS,
    MIN_SEEN_SPREAD,
    MIN_UNLABELLED_PART,
    UNSEEN_LABEL_DISTANCE,
    LabelledDifference,
    find_intervals,
)
from ctxmetrics.evaluation.statistics.paired import (
    MIN_CHANGED_SAMPLES,
    ROUNDING_ERROR,
    SIGNIFICANCE_LEVEL,
    PairedMean,
    mean_p,
    power_multiple,
    widen_for_unseen_changes,
)

Numbers = NDArray[np.float64]
Truths = NDArray[np.bool_]
Places = NDArray[np.intp]


@cache
def _make_sums(better: int, worse: int, samples: int) -> Numbers:
    """Make values of which so many are above 0, and so many below."""
    return np.repeat([1.0, -1.0, 0.0], [better, worse, samples - better - worse])


def paired_means(values: Numbers, present: Truths) -> list[PairedMean]:
    """Compute `paired_mean` of each row, from the values that are present; the others are 0."""
    samples = present.sum(axis=1)
    means = values.sum(axis=1) / samples
    squares = np.where(present, values - means[:, None], 0.0) ** 2
    errors = np.sqrt(squares.sum(axis=1) / (samples - 1) / samples)
    errors[errors < ROUNDING_ERROR * np.maximum(np.abs(means), 1e-6)] = 0.0
    better = (values > ROUNDING_ERROR).sum(axis=1)
    worse = (values < -ROUNDING_ERROR).sum(axis=1)
    columns = (means, errors, samples, better, worse)
    return [_make_paired_mean(*row) for row in zip(*(item.tolist() for item in columns), strict=True)]


def _make_paired_mean(mean: float, error: float, samples: int, better: int, worse: int) -> PairedMean:
    changed = better + worse
    if not changed:
        return PairedMean(mean, None, 1.0, None, changed)
    detectable = power_multiple(samples - 1) * error
    half = student_quantile(1 - SIGNIFICANCE_LEVEL / 2, samples - 1) * error
    p = mean_p(mean, error, samples - 1)
    interval = mean - half, mean + half
    if changed < MIN_CHANGED_SAMPLES:
        interval, p = widen_for_unseen_changes(
            mean, interval, p, _make_sums(better, worse, samples), scale=1.0
        )
        if error == 0.0:
            return PairedMean(mean, interval, p, None, changed)
    return PairedMean(mean, interval, p, detectable, changed)


@dataclass(frozen=True)
class Labels:
    """Which samples of each draw are labelled.

    Attributes:
        places: The places of the labelled samples.
        weights: How many samples each of them stands for.
    """

    places: Places
    weights: Numbers


@dataclass(frozen=True)
class _Stratum:
    """The part of one stratum in each draw, as `ctxmetrics.evaluation.statistics.labelled._Stratum`."""

    mean: Numbers
    correction: Numbers
    square: Numbers
    label_variance: Numbers
    size_correction: Numbers
    size_variance: Numbers
    unseen: Numbers
    size: Numbers


def labelled_differences(
    people: Numbers, judge: Numbers, present: Truths, labels: Labels
) -> Iterator[LabelledDifference]:
    """Compute `labelled_difference` of each draw; some samples must be without labels.

    Args:
        people: The differences by people, for all samples.
        judge: The differences by the judge; 0 where it gives none.
        present: Where the judge gives one.
        labels: Which samples are labelled.
    """
    samples = present.sum(axis=1)
    labelled_people = np.take_along_axis(people, labels.places, 1)
    labelled_judge = np.take_along_axis(judge, labels.places, 1)
    has_changed = np.abs(judge) > ROUNDING_ERROR
    label_has_changed = np.abs(labelled_judge) > ROUNDING_ERROR
    strata = [
        _compute_stratum(
            judge,
            labelled_people,
            labelled_judge,
            members=members,
            samples=samples,
            weights=np.where(label_members, labels.weights, 0.0),
            mean_weight=labels.weights.mean(axis=1),
        )
        for members, label_members in (
            (has_changed, label_has_changed),
            (present & ~has_changed, ~label_has_changed),
        )
    ]
    changed, unchanged = strata
    differences = changed.mean + unchanged.mean
    squares = changed.square + unchanged.square
    variances = np.maximum(squares - differences**2, 0.0) / (samples - 1)
    best_known = judge.copy()
    np.put_along_axis(best_known, labels.places, labelled_people, 1)
    design = np.maximum(_has_spread(judge, present, samples), _has_spread(best_known, present, samples))
    sample_errors = np.sqrt(variances * design)
    label_errors = np.sqrt(changed.label_variance + unchanged.label_variance)
    unseen = np.maximum(changed.unseen, unchanged.unseen)
    sizes = np.minimum(changed.size + unchanged.size, labels.places.shape[1])
    labelled = labels.places.shape[1]
    gaps, gap_errors = _compare_changed(labelled_people, labelled_judge, labels.weights)
    figures = {
        "difference": differences,
        "size": np.round(sizes, 9),
        "correction": changed.correction + unchanged.correction,
        "label_error": label_errors,
        "unchanged_correction": unchanged.correction,
        "unchanged_error": np.sqrt(unchanged.label_variance),
        "size_correction": changed.size_correction,
        "size_error": np.sqrt(changed.size_variance),
        "changed_gap": gaps,
        "changed_gap_error": gap_errors,
        "sample_error": sample_errors,
        "unseen_error": unseen,
        "share": labelled / samples,
        "degrees": samples - 1,
    }
    better = (best_known > ROUNDING_ERROR).sum(axis=1).tolist()
    worse = (best_known < -ROUNDING_ERROR).sum(axis=1).tolist()
    rows = zip(*(item.tolist() for item in figures.values()), strict=True)
    for row, *changes in zip(rows, better, worse, strict=True):
        yield _make_difference(dict(zip(figures, row, strict=True)), labelled, *changes)


def _has_spread(values: Numbers, present: Truths, samples: Numbers) -> Truths:
    """Tell where values differ; without clusters that is the design effect."""
    means = values.sum(axis=1) / samples
    squares = np.where(present, values - means[:, None], 0.0) ** 2
    return squares.sum(axis=1) / (samples - 1) / samples >= ROUNDING_ERROR**2


def _compute_stratum(
    judge: Numbers,
    labelled_people: Numbers,
    labelled_judge: Numbers,
    *,
    members: Truths,
    samples: Places,
    weights: Numbers,
    mean_weight: Numbers,
) -> _Stratum:
    """Compute the part of one stratum in each draw.

    Args:
        judge: The differences by the judge.
        labelled_people: The differences of the labelled samples by people.
        labelled_judge: These by the judge.
        members: Which samples are in the stratum.
        samples: How many samples there are.
        weights: How many samples each labelled one stands for; 0 in the other stratum.
        mean_weight: The mean of this over all labelled samples.
    """
    size = members.sum(axis=1)
    shares = size / samples
    divisor = np.maximum(size, 1)
    mean = np.where(members, judge, 0.0).sum(axis=1) / divisor
    square = (np.where(members, judge, 0.0) ** 2).sum(axis=1) / divisor
    labels = (weights > 0).sum(axis=1)
    total = weights.sum(axis=1)
    parts = weights / np.where(total > 0, total, 1.0)[:, None]
    trust = _compute_trust(labelled_people, labelled_judge, parts, labels, all_spread=square - mean**2)
    errors = labelled_people - trust[:, None] * labelled_judge
    error = (parts * errors).sum(axis=1)
    square = square + (parts * (labelled_people**2 - labelled_judge**2)).sum(axis=1)
    factor = np.sqrt(labels / np.maximum(labels - 1, 1))
    deviations = np.where(
        (labels > 1)[:, None],
        (errors - error[:, None]) * factor[:, None],
        labelled_people - labelled_judge,
    )
    changed_by_both = np.minimum(np.abs(labelled_people), np.abs(labelled_judge)) > ROUNDING_ERROR
    size_gaps = np.where(changed_by_both, labelled_people - labelled_judge, 0.0)
    size_gap = (parts * size_gaps).sum(axis=1)
    size_deviations = np.where(
        (labels > 1)[:, None], (size_gaps - size_gap[:, None]) * factor[:, None], size_gaps
    )
    represented = parts * size[:, None]
    unlabelled = np.maximum(1 - 1 / np.where(represented > 0, represented, 1.0), 0.0)
    label_variance = (((shares[:, None] * parts * deviations) ** 2) * unlabelled).sum(axis=1)
    size_variance = (((shares[:, None] * parts * size_deviations) ** 2) * unlabelled).sum(axis=1)
    concentration = (parts**2).sum(axis=1)
    effective = np.minimum(1 / np.where(labels > 0, concentration, 1.0), labels)
    # As `_Samples._expect_labels`: without labels of the stratum, all weights count.
    own_weight = np.where(labels > 0, total / np.maximum(labels, 1), mean_weight)
    expected = size / own_weight * mean_weight * weights.shape[1] / samples
    fewer = (labels > 0) & (labels < expected - MAX_CHANCE_DEVIATIONS * np.sqrt(expected))
    expected = np.maximum(np.where(fewer, labels, expected), 1.0)
    unseen = UNSEEN_LABEL_DISTANCE * shares / expected
    reduced = np.minimum(1.0, MIN_UNLABELLED_PART * (1 - labels / divisor)) * labels
    unseen *= np.where(labels > 0, reduced / np.where(labels > 0, effective, 1.0), 1.0)
    unseen *= np.maximum(1.0, np.abs((parts * (labelled_people - labelled_judge)).sum(axis=1)))
    return _Stratum(
        mean=shares * (error + trust * mean),
        correction=shares * (error + (trust - 1) * mean),
        square=shares * square,
        label_variance=label_variance,
        size_correction=shares * size_gap,
        size_variance=size_variance,
        unseen=unseen,
        size=effective,
    )


def _compare_changed(people: Numbers, judge: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Compute the gap between people and the judge in the samples that changed by the judge, and its error."""
    weights = np.where(np.abs(judge) > ROUNDING_ERROR, weights, 0.0)
    labels = (weights > 0).sum(axis=1)
    total = weights.sum(axis=1)
    parts = weights / np.where(total > 0, total, 1.0)[:, None]
    gaps = (parts * (people - judge)).sum(axis=1)
    squares = ((parts * (people - judge - gaps[:, None])) ** 2).sum(axis=1)
    errors = np.sqrt(labels / np.maximum(labels - 1, 1) * squares)
    return gaps, np.where(labels == 1, np.abs(gaps), errors)


def _compute_trust(
    people: Numbers, judge: Numbers, parts: Numbers, labels: Numbers, *, all_spread: Numbers
) -> Numbers:
    judge_deviations = judge - (parts * judge).sum(axis=1)[:, None]
    people_deviations = people - (parts * people).sum(axis=1)[:, None]
    spread = (parts * judge_deviations**2).sum(axis=1)
    people_spread = (parts * people_deviations**2).sum(axis=1)
    covariance = (parts * people_deviations * judge_deviations).sum(axis=1)
    in_full = (labels < MIN_CHANGED_SAMPLES) | (spread < ROUNDING_ERROR**2)
    in_full |= (people_spread < ROUNDING_ERROR**2) & (spread < MIN_SEEN_SPREAD * all_spread)
    return np.where(in_full, 1.0, np.clip(covariance / np.where(in_full, 1.0, spread), 0.0, 1.0))


def _make_difference(
    figures: dict[str, float], labelled: int, better: int, worse: int
) -> LabelledDifference:
    """Make the difference of one draw, with its interval and p value."""
    interval, decision_interval, p = find_intervals(
        figures["difference"],
        math.hypot(figures["label_error"], figures["sample_error"], figures["unseen_error"]),
        labels=figures["size"],
        few_changed=better + worse < MIN_CHANGED_SAMPLES,
        sums=_make_sums(better, worse, int(figures["degrees"]) + 1),
        unlabelled_share=1 - figures["share"],
        scale=1.0,
    )
    return LabelledDifference(
        interval=interval,
        decision_interval=decision_interval,
        p=p,
        changed=better + worse,
        labelled=labelled,
        **figures,
    )


def complete_differences(
    people: list[PairedMean], judge: list[PairedMean], present: Truths
) -> Iterator[LabelledDifference]:
    """Compute `labelled_difference` of each draw where all samples are labelled, from the paired differences."""
    rows = zip(people, judge, present.sum(axis=1).tolist(), strict=True)
    for mean, alone, samples in rows:
        yield LabelledDifference(
            difference=mean.mean,
            interval=mean.interval,
            decision_interval=mean.interval,
            p=mean.p,
            labelled=samples,
            size=float(samples),
            changed=mean.changed,
            correction=mean.mean - alone.mean,
            label_error=0.0,
            unchanged_correction=0.0,
            unchanged_error=0.0,
            size_correction=0.0,
            size_error=0.0,
            changed_gap=0.0,
            changed_gap_error=0.0,
            sample_error=(mean.detectable or 0.0) / power_multiple(samples - 1),
            unseen_error=0.0,
            share=1.0,
            degrees=samples - 1,
        )
