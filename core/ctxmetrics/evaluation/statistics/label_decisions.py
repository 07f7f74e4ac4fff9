"""Decisions about a difference between two runs, of whose samples a part is labelled: is a loss shown, is none shown?

The judge decides, unless the labels speak against it. Labels that agree with the judge everywhere change no decision, however
few there are. The printed interval does not decide: it holds the true difference for every judge, and is so wide that it would
reverse right decisions of a good judge.

The constants were chosen by simulation: ``benchmarks/decisions/labelled_gates.py``.
"""

from __future__ import annotations

import math

from ctxmetrics.evaluation.statistics.intervals import student_quantile
from ctxmetrics.evaluation.statistics.labelled import LabelledDifference
from ctxmetrics.evaluation.statistics.paired import (
    ROUNDING_ERROR,
    SIGNIFICANCE_LEVEL,
    TEST_POWER,
    PairedMean,
    power_multiple,
)

# Labels overrule a change that the judge shows if they differ from the judge by more than this number of standard errors. Two
# contradicting labels are enough if no other label shows the change: they differ by the square root of 2.
OVERRULE_ERRORS = 1.4
# The same limit for only the samples that changed by the judge. People err about all samples, and their errors about the many
# other samples would hide this difference.
OVERRULE_ERRORS_OF_CHANGED = 2
# The share of true changes that labels overrule with these limits, if the judge errs equally often in both directions: the tails
# beyond 1.4 or 2 of the normal distribution.
OVERRULED_SHARE = 0.1
# Labels show the same change as the judge if their difference exceeds the margin by more than this share of half their interval.
MIN_HALF_INTERVAL_PART = 0.88
# The same share for a pass. It grows from this value without labels, in proportion to the labels ..
MIN_PASS_PART = 0.6
LABELS_PER_PASS_PART = 160
# .. up to the number of labels for each independent one, at most this value. Labels that belong together, such as those of one
# document, show less than their number says.
MAX_PASS_PART = 1.25
# For a pass, the correction of the changes that only the judge sees is shrunk towards the judge: by this factor times its variance,
# divided by its square.
SHRINKAGE_FACTOR = 2


def show_change(labels: LabelledDifference, margin: float, sign: int = -1) -> bool:
    """Tell whether the whole deciding interval is a change larger than a margin: a loss (``sign`` -1) or a gain (1)."""
    if labels.decision_interval is None:
        return False
    smallest_change = min(sign * end for end in labels.decision_interval)
    return smallest_change > margin


def allow_change(labels: LabelledDifference, margin: float, sign: int = -1) -> bool:
    """Tell whether the labels allow a change that the judge shows and that is larger than a margin.

    For a gain, they do not allow it if both conditions hold:

    - they differ from the judge: ``c < -1.4 * s_r``, or, in the samples that changed by the judge, ``g < -2 * s_g``;
    - they do not show the change themselves: ``T - 0.88 * t * sqrt(s_d**2 + s_r**2) <= margin``.

    Symbols, with their attributes of `LabelledDifference`: c ``correction``, s_r ``label_error``, g ``changed_gap``, s_g
    ``changed_gap_error``, T ``difference``, t ``quantile``, s_d ``sample_error``.

    Args:
        labels: The difference by labels.
        margin: At least 0.
        sign: -1 for a loss, 1 for a gain.
    """
    if labels.complete:
        return show_change(labels, margin, sign)
    limit = OVERRULE_ERRORS * labels.label_error
    differ = -sign * labels.correction > limit + ROUNDING_ERROR
    limit_of_changed = OVERRULE_ERRORS_OF_CHANGED * labels.changed_gap_error
    differ_in_changed = -sign * labels.changed_gap > limit_of_changed + ROUNDING_ERROR
    if not (differ or differ_in_changed):
        return True
    half_width = MIN_HALF_INTERVAL_PART * labels.quantile * labels.error
    smallest_change = sign * labels.difference - half_width
    return smallest_change > margin + ROUNDING_ERROR


def show_no_loss(labels: LabelledDifference, margin: float) -> bool:
    """Tell whether the deciding interval shows that no loss is larger than a margin."""
    if labels.decision_interval is None:
        return labels.difference >= 0
    return labels.decision_interval[0] >= -margin


def allow_no_loss(labels: LabelledDifference, margin: float) -> bool:
    """Tell whether the labels allow the judge's conclusion that no loss is larger than a margin.

    They do not allow it if both conditions hold:

    - they are below the judge: ``c < 0``;
    - they do not show the same: ``T - w * t * sqrt(s_d**2 + s_r**2) < -margin``, with ``w = min(k / g, 1.25, 0.6 + k / 160)``,
      k labels, and g independent ones: see `LabelledDifference.size`.

    c, T and s_r are the symbols of `allow_change`, after `_shrink_invented`.
    """
    if labels.complete:
        return show_no_loss(labels, margin)
    correction, label_error = _shrink_invented(labels)
    is_below_judge = correction < -ROUNDING_ERROR
    difference = labels.difference - labels.correction + correction
    part = min(
        labels.labelled / labels.size,
        MAX_PASS_PART,
        MIN_PASS_PART + labels.labelled / LABELS_PER_PASS_PART,
    )
    half_width = labels.quantile * math.hypot(label_error, labels.sample_error)
    shows_no_loss = difference - part * half_width >= -margin - ROUNDING_ERROR
    return shows_no_loss or not is_below_judge


def _shrink_invented(labels: LabelledDifference) -> tuple[float, float]:
    """Shrink the part of the correction by samples that changed by the judge only, and its error.

    Both are multiplied by ``max(0, 1 - 2 * error**2 / correction**2)``. Few of these samples are labelled if labels are drawn at
    random, and a good judge invents changes in both directions. Samples that changed by both count in full: there a good judge agrees
    with people, and any gap is an error in size or direction.

    The variance is that of all samples that changed by the judge.

    Returns:
        The whole correction, and its standard error.

    Source: W. James, C. Stein, Proceedings of the Fourth Berkeley Symposium 1 (1961) 361, with the positive part.
    """
    full_correction = labels.unchanged_correction + labels.size_correction
    invented_correction = labels.correction - full_correction
    changed_variance = max(labels.label_error**2 - labels.unchanged_error**2, 0.0)
    kept_share = 0.0
    if abs(invented_correction) > ROUNDING_ERROR:
        kept_share = max(0.0, 1 - SHRINKAGE_FACTOR * changed_variance / invented_correction**2)
    correction = full_correction + kept_share * invented_correction
    error = math.hypot(
        labels.unchanged_error, labels.size_error, kept_share * math.sqrt(changed_variance)
    )
    return correction, error


def choose_p(judge_difference: float, judge_p: float, labels: LabelledDifference | None) -> float:
    """Choose the p value of "no difference" that decides: the judge's, or the labels' (see `do_labels_decide`).

    Args:
        judge_difference: The judge's mean difference.
        judge_p: The p value of the judge's difference.
        labels: The difference by labels; None without labels.
    """
    if labels is not None and do_labels_decide(judge_difference, judge_p, labels):
        return labels.p
    return judge_p


def do_labels_decide(judge_difference: float, judge_p: float, labels: LabelledDifference) -> bool:
    """Tell whether the labels decide about the direction of a difference, and not the judge.

    They do in three cases: all samples are labelled; their p value is smaller than the judge's; or they do not allow a difference
    that the judge shows.
    """
    if labels.complete or labels.p < judge_p:
        return True
    judge_sign = 1 if judge_difference > 0 else -1
    return judge_p <= SIGNIFICANCE_LEVEL and not allow_change(labels, 0.0, judge_sign)


def decide_loss(
    judge_interval: tuple[float, float] | None, labels: LabelledDifference | None, margin: float
) -> bool:
    """Decide whether a loss larger than a margin is shown.

    The interval by labels shows it. Or the judge's interval shows it, and the labels allow it.

    Args:
        judge_interval: The interval of the judge's difference; None if nothing changed.
        labels: The difference by labels; None without labels.
        margin: At least 0.
    """
    judge_shows_loss = judge_interval is not None and judge_interval[1] < -margin
    if labels is None:
        return judge_shows_loss
    return show_change(labels, margin) or (judge_shows_loss and allow_change(labels, margin))


def decide_no_loss(
    judge_interval: tuple[float, float] | None, labels: LabelledDifference | None, margin: float
) -> bool:
    """Decide whether it is shown that no loss is larger than a margin. The labels count as in `decide_loss`.

    Args:
        judge_interval: The interval of the judge's difference; None if nothing changed.
        labels: The difference by labels; None without labels.
        margin: At least 0.
    """
    judge_shows_none = judge_interval is None or judge_interval[0] >= -margin
    if labels is None:
        return judge_shows_none
    return show_no_loss(labels, margin) or (judge_shows_none and allow_no_loss(labels, margin))


def find_detectable_loss(judge: PairedMean, labels: LabelledDifference | None) -> float | None:
    """Find the smallest true loss beyond the margin of a gate that the decision shows with 80 % power.

    Without labels it is the judge's own.

    With labels of some samples it is the judge's own if they agree. Else it is larger: labels overrule a true loss in
    `OVERRULED_SHARE` of the comparisons if the judge errs as often in both directions, so the judge must show it more often in
    the others. If labels show a smaller loss than that themselves, ``(t(0.8) + 0.88 * t) * sqrt(s_d**2 + s_r**2)``, it is this
    loss. It is never smaller than the judge's own.

    If all samples are labelled, or the judge's difference is outside the interval by labels, it is the labels' own.

    It is None if no sample changed, or all by the same amount: nothing is known of the size of other changes.

    Args:
        judge: The judge's difference.
        labels: The difference by labels; None without labels.
    """
    if labels is None:
        return judge.detectable
    if labels.complete or labels.contradict(judge.mean):
        error = math.hypot(labels.error, labels.unseen_error)
        return power_multiple(labels.label_degrees) * error if error else None
    labels_detectable = (
        student_quantile(TEST_POWER, labels.degrees) + MIN_HALF_INTERVAL_PART * labels.quantile
    ) * labels.error
    if judge.detectable is None:
        return labels_detectable or None
    # The judge shows this loss with the usual power. In the comparisons that labels do not overrule it must show more.
    power = student_quantile(TEST_POWER / (1 - OVERRULED_SHARE), labels.degrees)
    combined_detectable = judge.detectable * (labels.quantile + power) / power_multiple(labels.degrees)
    return max(judge.detectable, min(combined_detectable, labels_detectable))
