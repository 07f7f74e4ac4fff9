"""Gates on a comparison: is the loss larger than a margin, or is it not shown to be smaller?"""

from __future__ import annotations

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.compare import choose_metric, compare
from ctxmetrics.evaluation.comparison.difference_sentences import count_labels, describe_labels
from ctxmetrics.evaluation.comparison.difference_table import format_number
from ctxmetrics.evaluation.comparison.differences import CorrectedDifference, Difference
from ctxmetrics.evaluation.comparison.view import Comparison
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.label_decisions import decide_loss, decide_no_loss, show_change
from ctxmetrics.evaluation.statistics.paired import ROUNDING_ERROR
from ctxmetrics.scores.wording import plural


def check_difference(comparison: Comparison, option: str, name: str, margin: float) -> Outcome:
    """Check a gate on the difference between two runs.

    Args:
        comparison: The comparison.
        option: ``--max-drop`` or ``--not-worse``.
        name: The metric.
        margin: The loss that is allowed.

    Raises:
        ParameterError: As `choose_gated` raises.
    """
    metric = choose_gated(comparison, name, margin, option)
    rule = find_max_drop_problem if option == "--max-drop" else find_not_worse_problem
    return Outcome(
        f"{option} {name}={margin:g}",
        rule(comparison, metric, margin),
        metric=metric.name,
        bar=margin,
        value=metric.basis.difference,
        against=comparison.origins[0].name,
        verdict=metric.verdict,
    )


def choose_gated(comparison: Comparison, name: str, margin: float, option: str) -> Difference:
    """Choose the metric of a gate. Its name may leave out the parameters if only one metric has it.

    Raises:
        ParameterError: The comparison has no such metric, it is a secondary one, or the margin is not on its scale.
    """
    names = [metric.name for metric in comparison.metrics]
    metric = comparison[choose_metric(names, name, option)]
    if metric.verdict is None:
        primary = [metric.name for metric in comparison.metrics if metric.verdict is not None]
        raise ParameterError(
            f"{option} {name!r}: this metric is secondary; the verdict is about {', '.join(primary)}. "
            f"Name it with --metric {name} (metrics=[..])."
        )
    check_margin(option, name, margin, metric.scale)
    return metric


def check_margin(option: str, name: str, margin: float, scale: float) -> None:
    """Check the margin of a gate.

    Args:
        option: ``--max-drop`` or ``--not-worse``.
        name: The metric.
        margin: The loss that is allowed.
        scale: The highest value of the metric.

    Raises:
        ParameterError: The margin is not on the scale of the metric.
    """
    if not 0 <= margin <= scale:
        raise ParameterError(
            f"{option} {name}={margin:g}: the margin must be a number from 0 to {scale:g}."
        )


def find_max_drop_problem(comparison: Comparison, metric: Difference, margin: float) -> str | None:
    """Return why ``--max-drop`` fails; None if it passes. It fails if a loss larger than the margin is shown, also by the adjusted p value.

    The judge's interval shows such a loss, unless the labels contradict it. The interval by labels may show it, too. If the true loss is
    the margin, it fails in at most 7 % of comparisons without labels (benchmarks/intervals.md).
    """
    problem = None
    basis: Difference | CorrectedDifference = metric
    if metric.is_shown and decide_loss(metric.interval, metric.corrected, margin):
        problem, basis = _describe_loss(metric, margin)
    return _find_problem(comparison, metric, problem, basis)


def find_not_worse_problem(comparison: Comparison, metric: Difference, margin: float) -> str | None:
    """Return why ``--not-worse`` fails; None if it passes. It fails unless it is shown that no loss is larger than the margin.

    The judge's interval shows this, unless the labels contradict it. The interval by labels may show it, too. If the true loss is
    the margin, it passes in at most 7 % of comparisons without labels (benchmarks/intervals.md). If nothing changed it
    passes.
    """
    problem = None
    basis = metric.basis
    if decide_loss(metric.interval, metric.corrected, margin):
        problem, basis = _describe_loss(metric, margin)
    elif not decide_no_loss(metric.interval, metric.corrected, margin):
        problem = f"{metric.name} may have fallen by more than {margin:g}"
        if metric.corrected is not None and decide_no_loss(metric.interval, None, margin):
            basis = metric.corrected
            corrected, correction = basis.names
            problem += f"; {corrected} alone shows that it did not, and {correction} against it"
    return _find_problem(comparison, metric, problem, basis)


def _describe_loss(metric: Difference, margin: float) -> tuple[str, Difference | CorrectedDifference]:
    """Describe a loss that is shown to be larger than a margin. Return the difference that shows it, too."""
    basis: Difference | CorrectedDifference = metric
    labels = metric.corrected
    if labels is not None and show_change(labels, margin):
        basis = labels
    problem = f"{metric.name} fell by {format_number(-basis.difference, metric)}, more than {margin:g}"
    if labels is not None and labels.difference >= -margin:
        problem += (
            f"; {count_labels(labels)} show no such loss, but are too few to overrule {labels.names[0]}"
        )
    return problem, basis


def describe_overruled(metric: Difference, margin: float) -> str | None:
    """Describe why a loss that the judge shows does not fail the gate: the labels speak against it. Return None otherwise."""
    judge_shows_loss = decide_loss(metric.interval, None, margin)
    if metric.corrected is None or not judge_shows_loss:
        return None
    if decide_loss(metric.interval, metric.corrected, margin):
        return None
    corrected, correction = metric.corrected.names
    return (
        f"{corrected} alone shows a loss of more than {margin:g}, and {correction} against it: "
        f"{describe_labels(metric, metric.corrected)}"
    )


def find_worse(before: Results, after: Results) -> str | None:
    """Return why a run must not replace a baseline: a mean fell, or something is missing. Return None if it may replace it."""
    missing_metrics = [name for name in before.metrics if name not in after.metrics]
    if missing_metrics:
        return f"this run has no {missing_metrics[0]}"
    try:
        comparison = compare(before, after)
    except ParameterError as error:
        return str(error)
    for metric in comparison.metrics:
        fell = f"{metric.name} fell" if metric.basis.difference < -ROUNDING_ERROR else None
        problem = _find_problem(comparison, metric, fell, metric.basis)
        if problem is not None:
            return problem
    return None


def _find_problem(
    comparison: Comparison,
    metric: Difference,
    problem: str | None,
    basis: Difference | CorrectedDifference,
) -> str | None:
    """Return why a gate on a metric fails; None if it passes.

    Args:
        comparison: The comparison of two runs.
        metric: The difference of the metric. If values are missing, or there is one sample only, the gate fails for that.
        problem: Why the gate fails if the values are complete: ``"context_recall fell"``; None if it passes then.
        basis: The difference that decides: that of all samples, or the one that is corrected by labels.
    """
    missing_count = len(comparison.only_before)
    if missing_count:
        samples = plural(missing_count, "sample")
        verb = "is" if missing_count == 1 else "are"
        return f"{samples} of the first run {verb} not in the second; score both on the same samples"
    if metric.values_lost:
        samples_that_have = plural(metric.values_lost, "sample", "that has", "that have")
        return f"{metric.name} has no value for {samples_that_have} one in the first run"
    if metric.interval is None and (metric.changed or metric.samples == 1):
        samples = "1 sample" if metric.samples == 1 else f"{metric.samples} samples of one cluster"
        return f"{metric.name} has values for {samples} in both runs: too few to say anything"
    if problem is None:
        return None
    interval = basis.interval
    interval_name = "95 % interval"
    difference = format_number(basis.difference, metric, sign="+")
    if isinstance(basis, CorrectedDifference):
        difference += " by the audit" if basis.by_audit else " by the labels"
        if basis.decision_interval != interval:
            interval = basis.decision_interval
            interval_name = "the interval that decides, with unseen changes,"
    low, high = interval or (0.0, 0.0)
    low_text = format_number(low, metric, sign="+")
    high_text = format_number(high, metric, sign="+")
    return f"{problem} (difference {difference}, {interval_name} {low_text} to {high_text})"
