"""The difference between two runs by labels of a part of the samples: estimate, errors and intervals.

The decisions by it: `ctxmetrics.evaluation.statistics.label_decisions`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.evaluation.statistics.intervals import student_quantile
from ctxmetrics.evaluation.statistics.paired import (
    MIN_CHANGED_SAMPLES,
    ROUNDING_ERROR,
    SIGNIFICANCE_LEVEL,
    PairedMean,
    cluster_error,
    have_few_changed,
    limit_to_scale,
    mean_p,
    number_clusters,
    paired_mean,
    power_multiple,
    widen_for_unseen_changes,
)

# The assumed distance of one more label from the mean, in units of the scale. A few labels may show no changed sample.
UNSEEN_LABEL_DISTANCE = 1.25
# The unseen change counts in full unless less than one in this number of a stratum's samples is without labels.
MIN_UNLABELLED_PART = 4
# A stratum may have fewer labels than expected by chance: up to this number of standard deviations.
MAX_CHANCE_DEVIATIONS = 2
# If people say the same about all labelled samples, these tell how far the judge can be trusted only if its values of them have
# at least this part of the variance of all its values.
MIN_SEEN_SPREAD = 0.5

_Numbers: TypeAlias = NDArray[np.float64]
_Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class LabelledDifference:
    """A mean difference by the labels of some samples and the judge's values of all.

    Attributes:
        difference: The mean difference.
        interval: The 95 % interval of the difference, inside the scale; that of `paired_mean` if all samples are labelled; None if none
            of these changed.
        decision_interval: The interval by which labels decide alone. It is wider if few samples or clusters changed; None as
            ``interval``.
        p: p value of "no difference", from the distribution of ``decision_interval``.
        labelled: The number of samples with labels.
        size: The number of independent labels: samples, clusters, or Kish's effective number in each stratum.
        changed: The number of samples with a difference, by their labels or, without labels, by the judge.
        correction: By how much the labels move the judge's mean.
        label_error: The standard error that comes from the samples without labels.
        unchanged_correction: The part of ``correction`` by samples that are equal by the judge.
        unchanged_error: The part of ``label_error`` by these samples.
        size_correction: The part of ``correction`` by samples that changed by both: the judge sees another size or direction.
        size_error: The standard error of ``size_correction``.
        changed_gap: People's mean minus the judge's mean, over the labelled samples that changed by the judge.
        changed_gap_error: The standard error of ``changed_gap``. If only one such sample is labelled, it is as large as the gap.
        sample_error: The standard error that would remain if all samples were labelled.
        unseen_error: The error for changes that no label shows.
        share: The share of the samples that is labelled.
        degrees: Degrees of freedom of the samples: the number of samples, or of clusters, minus 1.
    """

    difference: float
    interval: tuple[float, float] | None
    decision_interval: tuple[float, float] | None
    p: float
    labelled: int
    size: float
    changed: int
    correction: float
    label_error: float
    unchanged_correction: float
    unchanged_error: float
    size_correction: float
    size_error: float
    changed_gap: float
    changed_gap_error: float
    sample_error: float
    unseen_error: float
    share: float
    degrees: int

    @property
    def complete(self) -> bool:
        """Whether all samples are labelled, so that the labels alone decide."""
        return self.share == 1

    def contradict(self, judge: float) -> bool:
        """Tell whether the judge's difference is outside the interval."""
        low, high = self.interval or (self.difference, self.difference)
        return not low - ROUNDING_ERROR <= judge <= high + ROUNDING_ERROR

    @property
    def label_degrees(self) -> int:
        """Degrees of freedom of the interval: independent labels less 1."""
        return max(int(self.size) - 1, 1)

    @property
    def error(self) -> float:
        """The standard error of the difference."""
        return math.hypot(self.label_error, self.sample_error)

    @property
    def quantile(self) -> float:
        """Student's quantile of a 95 % interval, by samples."""
        return student_quantile(1 - SIGNIFICANCE_LEVEL / 2, self.degrees)


def labelled_difference(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    scale: float = 1.0,
) -> LabelledDifference:
    """Estimate the mean of paired differences. The judge gives the difference of every sample, people the difference of some.

    There are two strata: the samples whose difference by the judge is not 0, and those where it is 0.

    Symbols, for all samples or for the stratum h:

    - d, f: the differences by people and by the judge;
    - n, N_h: the number of samples;
    - k, k_h: the number of labels;
    - W_h: the stratum's share of the samples, ``N_h / n``;
    - l_h: the trust in the judge, ``cov(d, f) / var(f)``, from 0 to 1. It is 1 in two cases: the stratum has fewer than ten
      labels; or all d are equal, and the f of the labelled samples vary much less than all f. In the second case, no labelled
      sample has one of the differences that the judge sees in other samples;
    - e_h: the number of labels that such a draw gives the stratum on average. If k_h is more than two standard deviations
      below this average, e_h is k_h.

    Formula, with weighted means:

    - the mean: ``T = sum(W_h * (mean(d - l_h * f over the labelled) + l_h * mean(f over all)))``;
    - s_r, its error by samples without labels: ``s_r**2 = sum(W_h**2 * (1 - k_h / N_h) * var(d - l_h * f) / k_h)``;
    - s_d, its error by the choice of the samples:
      ``s_d**2 = (sum(W_h * (mean(f**2 over all) + mean(d**2 - f**2 over the labelled))) - T**2) / (n - 1)``;
    - b, its error by changes that no label shows: the largest ``1.25 * scale * W_h / e_h * min(1, 4 * (1 - k_h / N_h))``. If the
      judge is wrong by more than the scale, as one that reads losses as gains, ``abs(mean(d - f))`` replaces the scale;
    - the interval: ``T +- t * sqrt(s_r**2 + s_d**2 + b**2)``, with Student's quantile t for k - 1 degrees of freedom.

    Special cases:

    - All samples are labelled: the interval is that of `paired_mean`.
    - Few samples or clusters changed (`have_few_changed`): the interval that decides is widened as in `paired_mean`. Without that, labels that agree
      everywhere would pass a gate that the judge alone does not pass. The printed interval needs it only as far as b is
      reduced: see `find_intervals`.
    - A stratum has one label: ``d - f`` replaces the deviation.
    - A stratum has no label: the judge's mean counts.
    - There are clusters: s_r is the error of the sums of clusters. s_d grows by as much as clusters raise the error of the
      judge's differences. k_h and k are at most the number of labelled clusters.

    Args:
        people: The differences by people's labels, one at least.
        judge: The judge's differences of the same samples, in the same order.
        others: The judge's differences of the samples without labels.
        weights: The number of samples that each labelled one stands for; None: all were drawn with the same chance.
        clusters: The cluster of each sample, first of the labelled ones, then of the others.
        scale: The largest possible difference.

    Source: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++, arXiv 2311.01453; post-stratification and finite populations:
    W. G. Cochran, Sampling Techniques (1977), 5A.9 and 2.6; effective size: L. Kish, Survey Sampling (1965), 11.7. The
    constants are by simulation: ``benchmarks/decisions/labelled_gates.py``.

    >>> found = labelled_difference([0.0] * 25, [0.0] * 25, [-0.5] * 40 + [0.0] * 35)  # no loss is labelled
    >>> round(found.difference, 3), [round(end, 3) for end in found.interval]
    (-0.2, [-1.0, 0.833])
    """
    labels, labelled_by_judge, unlabelled_by_judge = (
        np.asarray(values, float) for values in (people, judge, others)
    )
    all_by_judge = np.concatenate([labelled_by_judge, unlabelled_by_judge])
    cluster_numbers = number_clusters(clusters, len(all_by_judge))
    if not len(others):
        estimate = paired_mean(people, clusters, scale=scale)
        return _from_paired(estimate, labelled_by_judge, int(cluster_numbers.max()))
    sample_weights = [1.0] * len(people) if weights is None else weights
    samples = _Samples(labels, all_by_judge, np.asarray(sample_weights, float), cluster_numbers, scale)
    strata = samples.list_strata()
    difference = math.fsum(stratum.mean for stratum in strata)
    correction = math.fsum(stratum.correction for stratum in strata)
    unchanged = [stratum for stratum in strata if not stratum.changed]
    changed_gap, changed_gap_error = samples.compare_changed()
    labelled_clusters = cluster_numbers[: len(people)]
    label_error = _combine_errors([stratum.terms for stratum in strata], labelled_clusters)
    cluster_count = len(np.unique(labelled_clusters))
    effective_labels = math.fsum(stratum.size for stratum in strata)
    effective_labels = round(min(effective_labels, float(cluster_count)), 9)
    best_known = np.concatenate([labels, unlabelled_by_judge])
    mean_square = math.fsum(stratum.mean_square for stratum in strata)
    variance = max(mean_square - difference**2, 0.0) / (len(all_by_judge) - 1)
    design = max(
        _design_effect(all_by_judge, cluster_numbers), _design_effect(best_known, cluster_numbers)
    )
    sample_error = math.sqrt(variance * design)
    unseen_error = max(stratum.unseen for stratum in strata)
    error = math.hypot(label_error, sample_error, unseen_error)
    interval, decision_interval, p_value = find_intervals(
        difference,
        error,
        labels=effective_labels,
        few_changed=have_few_changed(best_known, cluster_numbers, sample_error),
        sums=np.bincount(cluster_numbers, best_known).astype(float),
        unlabelled_share=len(others) / len(all_by_judge),
        scale=scale,
    )
    return LabelledDifference(
        difference=difference,
        interval=interval,
        decision_interval=decision_interval,
        p=p_value,
        labelled=len(people),
        size=effective_labels,
        changed=int((np.abs(best_known) > ROUNDING_ERROR).sum()),
        correction=correction,
        label_error=label_error,
        unchanged_correction=math.fsum(stratum.correction for stratum in unchanged),
        unchanged_error=_combine_errors([stratum.terms for stratum in unchanged], labelled_clusters),
        size_correction=math.fsum(stratum.size_correction for stratum in strata),
        size_error=_combine_errors([stratum.size_terms for stratum in strata], labelled_clusters),
        changed_gap=changed_gap,
        changed_gap_error=changed_gap_error,
        sample_error=sample_error,
        unseen_error=unseen_error,
        share=len(people) / len(all_by_judge),
        degrees=int(cluster_numbers.max()),
    )


def find_intervals(
    difference: float,
    error: float,
    *,
    labels: float,
    few_changed: bool,
    sums: _Numbers,
    unlabelled_share: float,
    scale: float,
) -> tuple[_Interval, _Interval, float]:
    """Find the printed interval of a labelled difference, the interval that decides, and its p value.

    The interval that decides reaches to changes that were not seen if few samples or clusters changed (`have_few_changed`). The
    printed interval has the error of `UNSEEN_LABEL_DISTANCE` for them. As far as this error is reduced, since nearly all samples
    are labelled, it reaches towards the ends of the interval that decides.

    Args:
        difference: The mean difference.
        error: Its standard error, with the error for changes that no label shows.
        labels: The number of independent labels.
        few_changed: Whether few samples or clusters have a difference (`have_few_changed`).
        sums: The sum of the differences of each cluster.
        unlabelled_share: The share of the samples that has no label.
        scale: The largest possible difference.
    """
    degrees = max(int(labels) - 1, 1)
    half_width = student_quantile(1 - SIGNIFICANCE_LEVEL / 2, degrees) * error
    interval = difference - half_width, difference + half_width
    decision_interval = interval
    p_value = mean_p(difference, error, degrees)
    if few_changed:
        decision_interval, p_value = widen_for_unseen_changes(
            difference, interval, p_value, sums, scale=scale
        )
        reach = max(0.0, 1 - MIN_UNLABELLED_PART * unlabelled_share)
        low, high = (
            end + reach * (far_end - end)
            for end, far_end in zip(interval, decision_interval, strict=True)
        )
        interval = low, high
    return limit_to_scale(interval, scale), limit_to_scale(decision_interval, scale), p_value


def _from_paired(estimate: PairedMean, judge_differences: _Numbers, degrees: int) -> LabelledDifference:
    """Convert the estimate of samples that are all labelled.

    Args:
        estimate: The mean of people's differences.
        judge_differences: The differences of the same samples by the judge.
        degrees: The number of samples or clusters, minus 1.
    """
    error = 0.0
    if estimate.detectable is not None:
        error = estimate.detectable / power_multiple(degrees)
    return LabelledDifference(
        difference=estimate.mean,
        interval=estimate.interval,
        decision_interval=estimate.interval,
        p=estimate.p,
        labelled=len(judge_differences),
        size=float(degrees + 1),  # every label is independent, or every cluster
        changed=estimate.changed,
        correction=estimate.mean - float(judge_differences.mean()),
        label_error=0.0,
        unchanged_correction=0.0,
        unchanged_error=0.0,
        size_correction=0.0,
        size_error=0.0,
        changed_gap=0.0,
        changed_gap_error=0.0,
        sample_error=error,
        unseen_error=0.0,
        share=1.0,
        degrees=max(degrees, 1),
    )


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The figures of one stratum: the samples with a difference by the judge, or the samples without.

    Attributes:
        changed: Whether the samples of the stratum have a difference by the judge.
        mean: The contribution of the stratum to the mean difference.
        correction: By how much labels move this contribution.
        mean_square: The contribution of the stratum to the mean square.
        terms: For each labelled sample, its contribution to the error that comes from samples without labels.
        size_correction: The part of ``correction`` by samples that changed by both. In it, the judge counts in full.
        size_terms: As ``terms``, for ``size_correction``.
        unseen: The error for changes that no label shows.
        size: The number of independent labels in the stratum.
    """

    changed: bool
    mean: float
    correction: float
    mean_square: float
    terms: _Numbers
    size_correction: float
    size_terms: _Numbers
    unseen: float
    size: float


@dataclass(frozen=True, slots=True)
class _Samples:
    """The samples of both runs. The labelled samples come first.

    Attributes:
        people: The differences of the labelled samples by people's labels.
        judge: The differences of all samples by the judge.
        sizes: The number of samples that each labelled sample stands for.
        cluster_numbers: The number of the cluster of each sample.
        scale: The largest possible difference.
    """

    people: _Numbers
    judge: _Numbers
    sizes: _Numbers
    cluster_numbers: NDArray[np.intp]
    scale: float

    def list_strata(self) -> list[_Stratum]:
        """List the strata that have samples: first the samples with a difference by the judge, then the samples without."""
        has_changed = np.abs(self.judge) > ROUNDING_ERROR
        strata: list[_Stratum] = []
        if has_changed.any():
            strata.append(self._build_stratum(True, has_changed))
        if not has_changed.all():
            strata.append(self._build_stratum(False, ~has_changed))
        return strata

    def _build_stratum(self, changed: bool, members: NDArray[np.bool_]) -> _Stratum:
        """Compute the figures of one stratum.

        Args:
            changed: Whether the difference of its samples by the judge is not 0.
            members: Whether each sample belongs to the stratum.
        """
        values = self.judge[members]
        share = len(values) / len(self.judge)
        mean = float(values.mean())
        mean_square = float((values**2).mean())
        labelled_rows = np.flatnonzero(members[: len(self.people)])
        terms = np.zeros(len(self.people))
        unseen_error = (
            UNSEEN_LABEL_DISTANCE * self.scale * share / self._expect_labels(len(values), labelled_rows)
        )
        if not len(labelled_rows):
            return _Stratum(
                changed=changed,
                mean=share * mean,
                correction=0.0,
                mean_square=share * mean_square,
                terms=terms,
                size_correction=0.0,
                size_terms=terms,
                unseen=unseen_error,
                size=0.0,
            )
        people_differences = self.people[labelled_rows]
        judge_differences = self.judge[labelled_rows]
        weights = self.sizes[labelled_rows] / self.sizes[labelled_rows].sum()
        trust = _compute_trust(
            people_differences, judge_differences, weights, spread=mean_square - mean**2
        )
        errors = people_differences - trust * judge_differences
        error = float(weights @ errors)
        mean_square += float(weights @ (people_differences**2 - judge_differences**2))
        deviations = errors - error
        changed_by_both = (np.abs(people_differences) > ROUNDING_ERROR) & changed
        size_gaps = np.where(changed_by_both, people_differences - judge_differences, 0.0)
        size_gap = float(weights @ size_gaps)
        size_deviations = size_gaps - size_gap
        clusters = len(set(self.cluster_numbers[labelled_rows].tolist()))
        if clusters > 1:
            deviations *= math.sqrt(clusters / (clusters - 1))
            size_deviations *= math.sqrt(clusters / (clusters - 1))
        else:  # one draw says nothing about a spread
            deviations = people_differences - judge_differences
            size_deviations = size_gaps
        # A labelled sample that stands only for itself adds no error.
        unlabelled = np.maximum(1 - 1 / (weights * len(values)), 0.0)
        factors = share * weights * np.sqrt(unlabelled)
        terms[labelled_rows] = factors * deviations
        size_terms = np.zeros(len(self.people))
        size_terms[labelled_rows] = factors * size_deviations
        independent_labels = min(1 / float((weights**2).sum()), float(clusters))
        unlabelled_share = 1 - len(labelled_rows) / len(values)
        unseen_error *= min(1.0, MIN_UNLABELLED_PART * unlabelled_share)
        mean_gap = float(weights @ (people_differences - judge_differences))
        unseen_error *= max(1.0, abs(mean_gap) / self.scale)
        unseen_error *= len(labelled_rows) / independent_labels  # dependent labels show less
        return _Stratum(
            changed=changed,
            mean=share * (error + trust * mean),
            correction=share * (error + (trust - 1) * mean),
            mean_square=share * mean_square,
            terms=terms,
            size_correction=share * size_gap,
            size_terms=size_terms,
            unseen=unseen_error,
            size=independent_labels,
        )

    def compare_changed(self) -> tuple[float, float]:
        """Compute people's mean minus the judge's mean, over the labelled samples that changed by the judge.

        Return the difference and its standard error. The error has no correction for a finite population: even if all samples
        are labelled, people's own errors remain.
        """
        labelled_judge = self.judge[: len(self.people)]
        rows = np.flatnonzero(np.abs(labelled_judge) > ROUNDING_ERROR)
        if not len(rows):
            return 0.0, 0.0
        weights = self.sizes[rows] / self.sizes[rows].sum()
        gaps = self.people[rows] - labelled_judge[rows]
        gap = float(weights @ gaps)
        _, numbers = np.unique(self.cluster_numbers[rows], return_inverse=True)
        clusters = int(numbers.max()) + 1
        if clusters == 1:  # one draw says nothing about a spread
            return gap, abs(gap)
        sums = np.bincount(numbers, weights * (gaps - gap))
        return gap, math.sqrt(clusters / (clusters - 1) * float((sums**2).sum()))

    def _expect_labels(self, size: int, labelled_rows: NDArray[np.intp]) -> float:
        """Return the number of labels that a draw like this one gives a stratum.

        Fewer labels by chance do not lower it: up to `MAX_CHANCE_DEVIATIONS` standard deviations count as chance.
        """
        represented_counts = self.sizes[labelled_rows] if len(labelled_rows) else self.sizes
        expected = size / float(represented_counts.mean()) * float(self.sizes.sum()) / len(self.judge)
        if len(labelled_rows) < expected - MAX_CHANCE_DEVIATIONS * math.sqrt(expected):
            expected = float(len(labelled_rows))
        return max(expected, 1.0)


def _combine_errors(terms: Sequence[_Numbers], clusters: NDArray[np.intp]) -> float:
    """Compute the error that comes from samples without labels, from the terms of some strata."""
    if not terms:
        return 0.0
    error_by_sample = np.sum(terms, axis=0)
    # The samples of one cluster err together: their errors are added before they are squared.
    error_by_cluster = np.bincount(clusters, weights=error_by_sample)
    return math.sqrt(float((error_by_cluster**2).sum()))


def _compute_trust(people: _Numbers, judge: _Numbers, shares: _Numbers, *, spread: float) -> float:
    """Return how much the judge counts in a stratum, from 0 to 1: the slope of people's values over the judge's values.

    Args:
        people: People's values.
        judge: The judge's values of the same samples.
        shares: The weights of the samples; their sum is 1.
        spread: The variance of the judge's values of all samples.
    """
    if len(people) < MIN_CHANGED_SAMPLES:
        return 1.0
    judge_mean = shares @ judge
    people_mean = shares @ people
    variance = float(shares @ (judge - judge_mean) ** 2)
    if variance < ROUNDING_ERROR**2:
        return 1.0
    people_variance = float(shares @ (people - people_mean) ** 2)
    if people_variance < ROUNDING_ERROR**2 and variance < MIN_SEEN_SPREAD * spread:
        return 1.0
    covariance = float(shares @ ((people - people_mean) * (judge - judge_mean)))
    return min(max(covariance / variance, 0.0), 1.0)


def _design_effect(values: _Numbers, cluster_numbers: NDArray[np.intp]) -> float:
    """Return the factor by which clusters raise the variance of a mean. It is 0 if all values are equal."""
    spread = float(values.var(ddof=1)) / len(values)
    if spread < ROUNDING_ERROR**2:
        return 0.0
    return cluster_error(values, cluster_numbers, float(values.mean())) ** 2 / spread
