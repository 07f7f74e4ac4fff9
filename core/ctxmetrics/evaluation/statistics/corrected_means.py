"""Means of scores if a judge scored all samples and people a part of them: prediction-powered inference (PPI++).

The unit is the sample, or a cluster of samples that belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.statistics.intervals import mean_interval, student_quantile, wilson
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR, number_clusters

_Numbers: TypeAlias = NDArray[np.float64]

# With fewer labels, only people's scores count.
MIN_LABELS = 25
# How far from the mean one more label is assumed to be, as a share of the scale: few labels may not
# show such samples.
UNSEEN_SHARE = 0.4
# The same where labels have weights, since a sample that they do not show may stand for many, and
# where the judge counts in full.
LARGER_UNSEEN_SHARE = 0.8
# The minimum number of audited samples from which a mean is corrected.
MIN_AUDITED = 2


class CorrectedMean(NamedTuple):
    """A corrected mean.

    Attributes:
        mean: The mean.
        error: The standard error of the mean.
        size: The number of independent labels behind the mean: samples, clusters, or Kish's effective number of samples.
        trust: How much the judge counts, from 0 to 1.
    """

    mean: float
    error: float
    size: float
    trust: float

    @property
    def degrees(self) -> int:
        """Degrees of freedom: independent labels less 1."""
        return max(int(self.size) - 1, 1)

    def half(self, confidence: float) -> float:
        """Return half the width of the interval: Student's quantile times the error."""
        return student_quantile((1 + confidence) / 2, self.degrees) * self.error


def corrected(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    trust: float | None = None,
    apart: bool = False,
) -> CorrectedMean:
    """Mean of people's scores on n samples, with a smaller error by a judge's scores on N more samples.

    Formula: ``mean(people) + w * (mean(others) - mean(judge))``, where w from 0 to 1 makes the variance
    ``var(people - w * judge) / n + w**2 * var(others) / N`` as small as possible: a judge whose scores
    do not follow people's gets w = 0, and people's mean alone remains.

    With weights, if people looked at some samples more often than at others:
    ``sum(a * (people - w * judge)) + w * mean(all)``, where ``a = weights / sum(weights)``, all are the judge's
    scores of all M samples. The variance is ``n / (n - 1) * sum(u**2)``: u is what a sample adds to the error,
    ``a * (r - sum(a * r))`` with r = people - w * judge if it is labelled, and ``w * (score - mean) / M``. A labelled
    sample adds both: it is one of all. w makes the variance as small as possible. Differences between strata count in
    it, so that intervals are rather too wide than too narrow.

    With clusters, the variance is that with ``G / (G - 1)`` and the sums of u over a cluster; without weights the judge's
    mean is that of the N others. G is how many clusters have labels.

    With others of another run: ``sum(a * (people - judge)) + mean(others)``, which is right where the
    judge's error is the same there; w is 1, all are the others, and the size is at most their number.

    Args:
        people: People's scores, two at least.
        judge: The judge's scores of the same samples, in the same order.
        others: The judge's scores of samples that people did not look at.
        weights: How many samples each labelled sample stands for. None, or all equal: they were drawn equally often.
        clusters: The cluster of each sample, first of the labelled samples, then of the others.
        trust: How much the judge counts; 0: people's scores alone; 1: ``mean(all) + mean(people - judge)``; None:
            the w of the formula.
        apart: Whether the other samples are of another run, and the mean of that run is computed.

    Source: A. N. Angelopoulos, J. C. Duchi, T. Zrnic, PPI++: Efficient Prediction-Powered Inference, arXiv 2311.01453;
    effective size: L. Kish, Survey Sampling (1965), 11.7; cluster error: K.-Y. Liang, S. L. Zeger, Biometrika 73 (1986) 13.
    """
    labels = np.asarray(people, dtype=float)
    judge_labelled = np.asarray(judge, dtype=float)
    judge_others = np.asarray(others, dtype=float)
    label_count = len(labels)
    sample_count = label_count + len(judge_others)
    weighted = _is_weighted(weights)
    sizes = weights if weights is not None and weighted else np.ones(label_count)
    shares = np.asarray(sizes, dtype=float) / math.fsum(sizes)
    # The judge's values to average: of all samples, or of the others only.
    averaged = judge_others
    if weighted and not apart:
        averaged = np.concatenate([judge_labelled, judge_others])
    terms = _compute_terms(labels, judge_labelled, averaged, shares, sample_count)
    if clusters is not None:
        terms = terms.add_up(number_clusters(clusters, sample_count))
    if apart:
        trust = 1.0
    elif trust is not None:
        # The given trust is for a mean over all samples. Here the judge's mean is that of the unlabelled ones only.
        if not weighted:
            trust *= len(judge_others) / sample_count
    elif weighted:
        trust = terms.fit_trust()
    else:
        trust = _estimate_trust(labels, judge_labelled, judge_others)
    trust = min(max(trust, 0.0), 1.0)
    errors = labels - trust * judge_labelled
    mean = float(shares @ errors)
    if trust:
        mean += trust * float(averaged.mean())
    effective_labels = 1 / float((shares**2).sum())
    if apart:
        effective_labels = min(effective_labels, len(judge_others))
    if clusters is None and not weighted:
        variance = _mean_variance(errors) + trust**2 * _mean_variance(averaged)
    else:
        labelled_units = label_count if clusters is None else len(set(clusters[:label_count]))
        effective_labels = min(effective_labels, float(labelled_units))
        variance = terms.sum_squares(trust) * labelled_units / max(labelled_units - 1, 1)
    return CorrectedMean(mean, math.sqrt(variance), round(effective_labels, 9), trust)


@dataclass(frozen=True, slots=True)
class _ErrorTerms:
    """What each sample, or each cluster, adds to the error of a corrected mean: u in the formula of `corrected`.

    Attributes:
        people: The part by people's scores.
        judge: The part by the judge's scores, which counts times the trust.
    """

    people: _Numbers
    judge: _Numbers

    def add_up(self, cluster_numbers: NDArray[np.intp]) -> _ErrorTerms:
        """Return the sums of each cluster. ``cluster_numbers`` has the number of the cluster of each sample."""
        people = np.bincount(cluster_numbers, self.people).astype(float)
        judge = np.bincount(cluster_numbers, self.judge).astype(float)
        return _ErrorTerms(people, judge)

    def sum_squares(self, trust: float) -> float:
        """Return the sum of the squared terms."""
        return float(((self.people - trust * self.judge) ** 2).sum())

    def fit_trust(self) -> float:
        """Return the trust that makes the sum of the squared terms as small as possible."""
        judge_square = float(self.judge @ self.judge)
        return float(self.people @ self.judge) / judge_square if judge_square else 0.0


def _compute_terms(
    labels: _Numbers, judge_labelled: _Numbers, averaged: _Numbers, shares: _Numbers, sample_count: int
) -> _ErrorTerms:
    """Compute the terms of each sample, first of the labelled ones.

    Args:
        labels: People's scores.
        judge_labelled: The judge's scores of the same samples.
        averaged: The judge's scores of the samples whose mean is taken: the last ones of all samples.
        shares: The weights of the labelled samples; their sum is 1.
        sample_count: The number of all samples.
    """
    label_count = len(labels)
    people_terms = np.zeros(sample_count)
    judge_terms = np.zeros(sample_count)
    people_terms[:label_count] = shares * (labels - shares @ labels)
    judge_terms[:label_count] = shares * (judge_labelled - shares @ judge_labelled)
    if len(averaged):
        judge_terms[-len(averaged) :] -= (averaged - averaged.mean()) / len(averaged)
    return _ErrorTerms(people_terms, judge_terms)


def _mean_variance(values: _Numbers) -> float:
    """Return the variance of the mean of values. It is 0 below two values."""
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0


def _is_weighted(weights: Sequence[float] | None) -> bool:
    return weights is not None and len(set(weights)) > 1


def _estimate_trust(people: _Numbers, judge: _Numbers, others: _Numbers) -> float:
    """Return the weight of the judge: covariance over variance, reduced if there are few other samples.

    The estimate is that of the authors' implementation.
    """
    if not len(others):
        return 0.0
    spread = float(np.concatenate([judge, others]).var(ddof=1))
    if not spread:
        return 0.0
    covariance = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return covariance / ((1 + len(people) / len(others)) * spread)


def weighted_mean(weights: Iterable[float], values: Iterable[float]) -> float:
    """Return ``sum(weights * values) / sum(weights)``."""
    pairs = list(zip(weights, values, strict=True))
    return math.fsum(map(math.prod, pairs)) / math.fsum(weight for weight, _ in pairs)


def corrected_mean(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    confidence: float = 0.95,
    *,
    weights: Sequence[float] | None = None,
    clusters: Sequence[object] | None = None,
    scale: float = 1.0,
    apart: bool = False,
    unseen: float | None = None,
) -> tuple[float, tuple[float, float]]:
    """Mean of scores from 0 to ``scale``, and its interval, inside that range.

    Formula: the mean is the mean of `corrected`. Below 25 labels it is the mean of people's scores alone, since so few labels do not
    show how much the judge is worth. The interval is Wilson's with an effective number of samples, as in
    `ctxmetrics.evaluation.statistics.intervals.mean_interval`: ``max(size, p * (1 - p) / error**2 * (z / t)**2)``, where p is the mean on the
    0-1 scale and t Student's quantile with the number of independent labels less 1 as degrees of freedom. With clusters, ``size``
    is multiplied by ``(z / t)**2``, too, since few clusters say little about their spread. Where the judge counts, or labels
    have weights or belong to clusters, ``error**2`` also grows by ``(0.4 / size)**2``, with weights or others of another run by ``(0.8 / size)**2``: the variance
    that one more label would add if it were so far from the mean. Near the ends of the scale few labels seldom show the samples on which
    the judge is wrong. With others of another run, ``size`` is the number of labels, the judge counts in full, and the mean
    may lie beyond an end of the scale: there the interval also reaches to ``mean +- t * error``. The shares were chosen by
    simulation.

    Args:
        people: As in `corrected`.
        judge: As in `corrected`.
        others: As in `corrected`.
        confidence: How often such intervals are to hold the true mean, between 0 and 1.
        weights: As in `corrected`.
        clusters: As in `corrected`.
        scale: The highest possible score.
        apart: As in `corrected`.
        unseen: How far from the mean one more label is assumed to be, as a share of the scale; None: the shares above.

    Raises:
        ParameterError: A value is out of range, or the lengths do not fit.

    Source: effective sizes: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998) 193. Simulated coverage of this and
    of people's mean: ``benchmarks/decisions/corrected.py``, of all paths: ``interval_coverage.py``.

    >>> mean, (low, high) = corrected_mean([1, 0, 1, 1] * 8, [0.9, 0.2, 0.7, 1.0] * 8, [0.6, 0.4, 0.8, 0.5] * 20)
    >>> round(mean, 3), low < mean < high
    (0.625, True)
    """
    _check_lengths(people, judge, others, weights, clusters)
    mean_interval([*people, *judge, *others], confidence, scale=scale)  # are they in range?
    label_count = len(people)
    trust = None if label_count >= MIN_LABELS else 0.0
    result = corrected(
        people, judge, others, weights=weights, clusters=clusters, trust=trust, apart=apart
    )
    is_harder = apart or _is_weighted(weights)
    if unseen is None:
        unseen = LARGER_UNSEEN_SHARE if is_harder else UNSEEN_SHARE
    if not result.trust and not is_harder and clusters is None:
        unseen = 0.0  # people's mean alone, of samples that were drawn equally often
    labels = result.size
    if apart:  # the run may have fewer samples than there are labels
        sample_weights = np.ones(label_count) if weights is None else np.asarray(weights, dtype=float)
        labels = float(sample_weights.sum() ** 2 / (sample_weights**2).sum())
    error = math.hypot(result.error / scale, unseen / labels)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    quantile = student_quantile((1 + confidence) / 2, result.degrees)
    half_width = quantile * error
    effective_size = result.size
    if clusters is not None:
        effective_size *= (z / quantile) ** 2
    mean = min(max(result.mean / scale, 0.0), 1.0)
    if result.error > ROUNDING_ERROR * scale:
        effective_size = max(effective_size, mean * (1 - mean) * (z / half_width) ** 2)
    low, high = wilson(mean, effective_size, z)
    if apart:
        low = min(low, max(result.mean / scale - half_width, 0.0))
        high = max(high, min(result.mean / scale + half_width, 1.0))
    return mean * scale, (low * scale, high * scale)


def _check_lengths(
    people: Sequence[float],
    judge: Sequence[float],
    others: Sequence[float],
    weights: Sequence[float] | None,
    clusters: Sequence[object] | None,
) -> None:
    """Check that the arguments of `corrected_mean` are about the same samples, and that weights are above 0."""
    label_count = len(people)
    if label_count < 2 or len(judge) != label_count:  # noqa: PLR2004 - a variance needs two
        raise ParameterError(
            "corrected_mean: people and judge must be scores of the same two or more samples."
        )
    if weights is not None:
        are_positive = all(0 < weight < math.inf for weight in weights)
        if len(weights) != label_count or not are_positive:
            raise ParameterError(
                "corrected_mean: weights must be numbers above 0, one for each sample of people."
            )
    if clusters is not None and len(clusters) != label_count + len(others):
        raise ParameterError(
            "corrected_mean: clusters must be one for each sample of people and of others."
        )


def audited_mean(
    people: Sequence[float], gold: Sequence[float], others: Sequence[float], *, scale: float = 1.0
) -> tuple[float, tuple[float, float]]:
    """Mean of scores by gold that people audited in part, and its interval: `corrected_mean` with the gold as the judge.

    Wrong gold is rare, and few samples may not show it: one sample more is assumed to lie 0.8 of the scale off.

    Args:
        people: The scores of the audited samples by people's gold, two at least.
        gold: The scores of the same samples by the gold as it is.
        others: The scores of the other samples by the gold as it is.
        scale: The highest possible score.

    Source: as of `corrected_mean`; simulated coverage: ``benchmarks/decisions/gold_audit.py``.
    """
    return corrected_mean(people, gold, others, scale=scale, unseen=LARGER_UNSEEN_SHARE)
