"""Figures computed from labels: corrected means of all samples and of each system, and a bar for the embedded judge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._internal.frozen import Plain
from ctxmetrics.evaluation.agreement.figures import Agreement
from ctxmetrics.evaluation.statistics.bootstrap import draw_samples, percentile_interval
from ctxmetrics.evaluation.statistics.corrected_means import corrected_mean, weighted_mean
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import Verdict

# Bars whose accuracies differ by at most this are equally good: rounding alone makes such a difference.
_ROUNDING_MARGIN = 1e-12


@dataclass(frozen=True, slots=True)
class Correction(Plain):
    """A metric's mean, corrected by the samples that people labelled.

    Attributes:
        metric: The metric's name; ``reference_supported``: the share of references that are supported.
        samples: The number of samples with a score by the judge.
        labelled: The number of these samples that also have a score by people.
        judge_mean: Mean of the judge's scores over all these samples.
        people_mean: Mean of people's scores over the labelled samples, weighted if these have weights.
        mean: The corrected mean; see `ctxmetrics.evaluation.statistics.corrected_means.corrected_mean`.
        interval: The 95 % interval of the corrected mean.
        judge_labelled: Mean of the judge's scores over the labelled samples, with the same weights.
    """

    metric: str
    samples: int
    labelled: int
    judge_mean: float
    people_mean: float
    mean: float
    interval: tuple[float, float]
    judge_labelled: float

    @property
    def conclusion(self) -> str:
        """The width of the corrected mean's interval, and how many more labels halve the width. It falls with the square root of the labels."""
        half_width = (self.interval[1] - self.interval[0]) / 2
        text = f"its corrected mean is known to +-{half_width:.2g}"
        more_labels = 3 * self.labelled  # four times as many labels halve the width
        if more_labels > self.samples - self.labelled:
            return text
        return f"{text}; labels of {more_labels} more samples give about +-{half_width / 2:.2g}"


def correct_mean(
    name: str,
    rows: Iterable[tuple[float | None, float | None, float, str | None]],
    *,
    scale: float = 1.0,
    apart: bool = False,
) -> Correction | None:
    """Correct a mean by people's labels. Return None if fewer than two samples are labelled, or all labelled samples are of one cluster.

    Args:
        name: The metric, or the label.
        rows: For each sample: the judge's score or None; the score by people's labels or None; its weight, which is how many
            samples it stands for; its cluster, or None if no other sample belongs to it.
        scale: The highest score.
        apart: Whether the samples without labels are the samples of another run, and its mean is computed; there must be at
            least two.
    """
    people_scores: list[float] = []
    judge_scores: list[float] = []
    weights: list[float] = []
    unlabelled_values: list[float] = []
    groups: list[str | None] = []
    unlabelled_groups: list[str | None] = []
    for value, label_value, weight, group in rows:
        if value is not None and label_value is not None:
            people_scores.append(label_value)
            judge_scores.append(value)
            weights.append(weight)
            groups.append(group)
        elif value is not None:
            unlabelled_values.append(value)
            unlabelled_groups.append(group)
    if len(people_scores) < 2 or (apart and len(unlabelled_values) < 2):  # noqa: PLR2004 - a variance needs two
        return None
    clusters = None if None in groups else [*groups, *unlabelled_groups]
    if clusters and len(set(groups)) < 2:  # noqa: PLR2004 - so do clusters
        return None
    mean, interval = corrected_mean(
        people_scores,
        judge_scores,
        unlabelled_values,
        weights=weights,
        clusters=clusters,
        scale=scale,
        apart=apart,
    )
    run = unlabelled_values if apart else [*judge_scores, *unlabelled_values]
    return Correction(
        metric=name,
        samples=len(run),
        labelled=len(people_scores),
        judge_mean=math.fsum(run) / len(run),
        people_mean=weighted_mean(weights, people_scores),
        mean=mean,
        interval=interval,
        judge_labelled=weighted_mean(weights, judge_scores),
    )


# --- by system ---


@dataclass(frozen=True, slots=True)
class SystemFigures(Plain):
    """One metric of one system.

    Attributes:
        metric: The metric's name, as in `Correction`.
        system: The system's name.
        samples: Its samples with a score by the judge.
        judge_mean: Mean of these scores; None if there is none.
        agreement: The judge and people on its labelled samples.
        correction: The mean of the system, corrected by its labelled samples; None if fewer than two are labelled.
    """

    metric: str
    system: str
    samples: int
    judge_mean: float | None
    agreement: Agreement
    correction: Correction | None


# --- a bar for the embedded judge, and for judges that give probabilities ---

# The bars that are tried for the embedded judge.
_COVERAGE_BARS = np.arange(0.3, 0.951, 0.01)
# The bars that are tried for probabilities.
_PROBABILITY_BARS = np.arange(0.05, 0.991, 0.01)
# The number of parts of the labelled samples in cross-validation.
_FOLD_COUNT = 10
# The number of draws of the bootstrap.
_BOOTSTRAP_DRAWS = 1_000
_Flags = NDArray[np.bool_]
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FittedBar(Plain):
    """A bar (``min_coverage`` of `LexicalJudge`, ``bar`` of judges that give probabilities) that fits people's labels.

    Attributes:
        label: The kind of label.
        labels: How many labels there are.
        bar: The bar with the highest balanced accuracy on all of them; the middle of equals.
        gain: Balanced accuracy gained over the run's own verdicts on labels left out: a tenth of the samples at a time, with
            the bar that is best on the others.
        interval: Its 95 % interval: a bootstrap over samples.
        parameter: The judge's parameter: ``min_coverage`` or ``bar``.
    """

    label: str
    labels: int
    bar: float
    gain: float
    interval: tuple[float, float]
    parameter: str = "min_coverage"

    @property
    def conclusion(self) -> str:
        """The advice: take this bar, or keep the bar of the run."""
        low, high = self.interval
        text = f"bar {self.bar:.2f}: {self.gain:+z.3f} balanced accuracy on labels left out ({low:+z.3f} to {high:+z.3f})"
        if low > 0:
            advice = f"{self.parameter}={self.bar:.2f}"
            if self.parameter == "min_coverage":
                advice = f"LexicalJudge({advice})"
            return f"{text}; take {advice}"
        if self.gain <= 0:
            return f"{text}; it gains nothing: keep the bar"
        return f"{text}; {self.labels} labels are too few to prefer it: keep the bar"


def propose_bar(
    label: str, scores: Sequence[Score | None], people: Sequence[tuple[bool | None, ...] | None]
) -> FittedBar | None:
    """Propose a bar from labels: one a sentence, one for all of a reference, or one a context.

    Args:
        label: The kind of label.
        scores: The judge's scores.
        people: People's labels on each sample.

    Returns:
        The bar; None if the judge measures nothing, or labels of one kind only or of fewer than two samples are there.
    """
    sample_indexes: list[int] = []
    rows: list[tuple[float, bool, bool]] = []
    measure = _choose_measure(scores)
    for sample_index, (score, labels) in enumerate(zip(scores, people, strict=True)):
        if score is not None and labels is not None:
            sample_rows = _pair_with_labels(score.verdicts, labels, measure)
            rows += sample_rows
            sample_indexes += [sample_index] * len(sample_rows)
    if not rows:
        return None
    _, groups = np.unique(sample_indexes, return_inverse=True)
    measured, judge_answers, human = (np.array(column) for column in zip(*rows, strict=True))
    has_both_labels = human.any() and not human.all()
    has_two_samples = groups.max() >= 1
    if not has_both_labels or not has_two_samples:
        return None
    bars = _COVERAGE_BARS if measure == "score" else _PROBABILITY_BARS
    answers = measured[:, None] >= bars - 1e-9
    held_out_answers = _predict_held_out(answers, human, groups)
    is_right = np.stack([held_out_answers == human, judge_answers == human], axis=1)
    (gain,) = _compute_gains(is_right, human, np.ones((1, len(human))))
    bar = round(float(bars[_find_best_bar(answers, human)]), 2)
    interval = _bootstrap_gain(is_right, human, groups)
    parameter = "min_coverage" if measure == "score" else "bar"
    return FittedBar(label, len(rows), bar, float(gain), interval, parameter)


def _choose_measure(scores: Iterable[Score | None]) -> str:
    """Choose the measure that all bars are about: the probability if a verdict has one, else the score of the embedded judge."""
    for score in scores:
        if score is not None and any("probability" in verdict.details for verdict in score.verdicts):
            return "probability"
    return "score"


def _predict_held_out(answers: _Flags, human: _Flags, groups: NDArray[np.intp]) -> _Flags:
    """Return the answers with the best bar by cross-validation: for each tenth of the samples, the bar that is best on the others.

    A bar is the lowest measure at which the judge says yes.

    Args:
        answers: Whether the judge says yes: a row for each label, a column for each bar.
        human: People's labels.
        groups: The index of each label's sample.
    """
    folds = groups % min(_FOLD_COUNT, groups.max() + 1)
    held_out_answers = np.empty_like(human)
    for fold in range(folds.max() + 1):
        in_fold = folds == fold
        best_bar = _find_best_bar(answers[~in_fold], human[~in_fold])
        held_out_answers[in_fold] = answers[in_fold, best_bar]
    return held_out_answers


def _bootstrap_gain(is_right: _Flags, human: _Flags, groups: NDArray[np.intp]) -> tuple[float, float]:
    """Return the 95 % interval of the gain, by a bootstrap over samples. It has the arguments of `_compute_gains`."""
    draws = draw_samples([1] * int(groups.max() + 1), _BOOTSTRAP_DRAWS)
    gains = [_compute_gains(is_right, human, drawn[:, groups].astype(np.float64)) for drawn in draws]
    return percentile_interval(np.concatenate(gains))


def _pair_with_labels(
    verdicts: Sequence[Verdict], labels: Sequence[bool | None], measure: str
) -> list[tuple[float, bool, bool]]:
    """Return the judge's measure, its answer and people's label: for each verdict, or for the whole reference.

    Args:
        verdicts: The verdicts of one sample.
        labels: One a verdict; or one label on the whole reference, whose measure is that of its lowest sentence.
        measure: The key of the measure in the details of a verdict. If a verdict lacks it, nothing is returned.
    """
    if any(measure not in verdict.details or verdict.value is None for verdict in verdicts):
        return []
    measures = [float(verdict.details[measure]) for verdict in verdicts]
    answers = [verdict.value is True for verdict in verdicts]
    is_one_label_on_all = len(labels) == 1 and len(verdicts) > 1
    if is_one_label_on_all:
        measures = [min(measures)]
        answers = [all(answers)]
    rows = []
    for value, answer, label in zip(measures, answers, labels, strict=False):
        if label is not None:
            rows.append((value, answer, label))
    return rows


def _find_best_bar(answers: _Flags, human: _Flags) -> int:
    """Return the index of the bar with the highest balanced accuracy. If several bars are equal, return the middle one."""
    # For each bar: the share of people's yes that it finds, plus the share of their no. That is twice the balanced accuracy.
    accuracy = np.zeros(answers.shape[1])
    if human.any():
        accuracy = accuracy + answers[human].mean(axis=0)
    if not human.all():
        accuracy = accuracy + (~answers[~human]).mean(axis=0)
    best_bars = np.flatnonzero(accuracy >= accuracy.max() - _ROUNDING_MARGIN)
    middle = len(best_bars) // 2
    return int(best_bars[middle])


def _compute_gains(is_right: _Flags, human: _Flags, weights: _Numbers) -> _Numbers:
    """Return the gain in balanced accuracy of the best bars over the judge, for each row of weights.

    Args:
        is_right: A row for each label: whether the best bar's answer, and the judge's, agree with it.
        human: People's labels.
        weights: A row for each draw, a column for each label.
    """
    with np.errstate(invalid="ignore"):  # a draw without a yes or without a no: no number
        yes = weights[:, human] @ is_right[human] / weights[:, human].sum(axis=1, keepdims=True)
        no = weights[:, ~human] @ is_right[~human] / weights[:, ~human].sum(axis=1, keepdims=True)
    balanced = (yes + no) / 2
    return np.asarray(balanced[:, 0] - balanced[:, 1], np.float64)
