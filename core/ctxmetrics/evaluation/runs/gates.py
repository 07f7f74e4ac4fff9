"""Gates on a comparison: is the loss larger than a margin, or is it not shown to be smaller?"""

from __future__ import annotations

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.compare import choose_metric, compare
from ctxmetrics.evaluation.comparison.difference_table import format_number
from ctxmetrics.evaluation.comparison.differences import CorrectedDifference, Difference
from ctxmetrics.evaluation.comparison.sentences import count_labels, describe_labels
from ctxmetrics.evaluation.comparison.view import Comparison
from ctxmetrics.evaluation.rows.outcome import Outcome
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.statistics.labelled import decide_loss, decide_no_loss
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
    item = choose_gated(comparison, name, margin, option)
    rule = find_max_drop_problem if option == "--max-drop" else find_not_worse_problem
    return Outcome(
        f"{option} {name}={margin:g}",
        rule(comparison, item, margin),
        metric=item.name,
        bar=margin,
        value=item.basis.difference,
        against=comparison.origins[0].name,
        verdict=item.verdict,
    )


def choose_gated(comparison: Comparison, name: str, margin: float, option: str) -> Difference:
    """Choose the metric of a gate. Its name may leave out the parameters if only one metric has it.

    Raises:
        ParameterError: The comparison has no such metric, it is a secondary one, or the margin is not on its scale.
    """
    names = [item.name for item in comparison.metrics]
    item = comparison[choose_metric(names, name, option)]
    if item.verdict is None:
        primary = [item.name for item in comparison.metrics if item.verdict is not None]
        raise ParameterError(
            f"{option} {name!r}: this metric is secondary; the verdict is about {', '.join(primary)}. "
            f"Name it with --metric {name} (metrics=[..])."
        )
    if not 0 <= margin <= item.scale:
        raise ParameterError(
            f"{option} {name}={margin:g}: the margin must be a number from 0 to {item.scale:g}."
        )
    return item


def find_max_drop_problem(comparison: Comparison, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: a loss larger than the margin is shown, also by the adjusted p value. Return None otherwise.

    The judge's interval shows it unless the labels speak against it, or the interval by labels does. If the true loss is
    the margin, it fails in at most 7 % of comparisons without labels (benchmarks/intervals.md).
    """
    problem = None
    basis: Difference | CorrectedDifference = item
    if item.is_shown and decide_loss(item.interval, item.corrected, margin):
        problem, basis = _describe_loss(item, margin)
    return _find_problem(comparison, item, problem, basis)


def find_not_worse_problem(comparison: Comparison, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: it is not shown that no loss is larger than the margin. Return None otherwise.

    The judge's interval shows it unless the labels speak against it, or the interval by labels does. If the true loss is
    the margin, it passes in at most 7 % of comparisons without labels (benchmarks/intervals.md). If nothing changed it
    passes.
    """
    problem = None
    basis = item.basis
    if decide_loss(item.interval, item.corrected, margin):
        problem, basis = _describe_loss(item, margin)
    elif not decide_no_loss(item.interval, item.corrected, margin):
        problem = f"{item.name} may have fallen by more than {margin:g}"
        if item.corrected is not None and decide_no_loss(item.interval, None, margin):
            basis = item.corrected
            corrected, correction = basis.names
            problem += f"; {corrected} alone shows that it did not, and {correction} against it"
    return _find_problem(comparison, item, problem, basis)


def _describe_loss(item: Difference, margin: float) -> tuple[str, Difference | CorrectedDifference]:
    """Describe a loss that is shown to be larger than a margin. Return the difference that shows it, too."""
    basis: Difference | CorrectedDifference = item
    labels = item.corrected
    if labels is not None and labels.show_change(margin):
        basis = labels
    problem = f"{item.name} fell by {format_number(-basis.difference, item)}, more than {margin:g}"
    if labels is not None and labels.difference >= -margin:
        problem += (
            f"; {count_labels(labels)} show no such loss, but are too few to overrule {labels.names[0]}"
        )
    return problem, basis


def describe_overruled(item: Difference, margin: float) -> str | None:
    """Describe why a loss that the judge shows does not fail the gate: the labels speak against it. Return None otherwise."""
    judge_shows_loss = decide_loss(item.interval, None, margin)
    if item.corrected is None or not judge_shows_loss:
        return None
    if decide_loss(item.interval, item.corrected, margin):
        return None
    corrected, correction = item.corrected.names
    return (
        f"{corrected} alone shows a loss of more than {margin:g}, and {correction} against it: "
        f"{describe_labels(item, item.corrected)}"
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
    for item in comparison.metrics:
        fell = f"{item.name} fell" if item.basis.difference < -ROUNDING_ERROR else None
        problem = _find_problem(comparison, item, fell, item.basis)
        if problem is not None:
            return problem
    return None


def _find_problem(
    comparison: Comparison,
    item: Difference,
    problem: str | None,
    basis: Difference | CorrectedDifference,
) -> str | None:
    """Return why a gate fails: values are missing, there is one sample only, or it fell. Return None otherwise."""
    missing_count = len(comparison.only_before)
    if missing_count:
        return (
            f"{plural(missing_count, 'sample')} of the first run {'is' if missing_count == 1 else 'are'} not in the second; "
            "score both on the same samples"
        )
    if item.values_lost:
        return (
            f"{item.name} has no value for {plural(item.values_lost, 'sample', 'that has', 'that have')} "
            "one in the first run"
        )
    if item.interval is None and (item.changed or item.samples == 1):
        return f"{item.name} has values for {item.samples} sample in both runs: too few to say anything"
    if problem is None:
        return None
    interval = basis.interval
    interval_name = "95 % interval"
    difference = format_number(basis.difference, item, sign="+")
    if isinstance(basis, CorrectedDifference):
        difference += " by the labels"
        if basis.decision_interval != interval:
            interval = basis.decision_interval
            interval_name = "the interval that decides, with unseen changes,"
    low, high = (format_number(end, item, sign="+") for end in interval or (0.0, 0.0))
    return f"{problem} (difference {difference}, {interval_name} {low} to {high})"
