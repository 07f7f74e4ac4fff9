"""Gates on a comparison: is the loss larger than a margin, or is it not shown to be smaller?"""

from __future__ import annotations

from ctxmetrics.errors import ParameterError
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.comparison.compare import choose_metric, compare
from ctxmetrics.results.comparison.view import Comparison, Difference, number
from ctxmetrics.results.labels.means import EQUAL
from ctxmetrics.results.results import Results


def choose_gated(comparison: Comparison, name: str, margin: float, option: str) -> Difference:
    """Choose the metric of a gate; its name may leave out the parameters if only one metric has it.

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


def max_drop_problem(comparison: Comparison, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: interval and adjusted p value show a loss larger than the margin; else None.

    If the true loss is the margin, it fails in at most 7 % of comparisons (benchmarks/intervals.md).
    """
    _, high = item.basis.interval or (0.0, 0.0)
    problem = None
    if item.shown and high < -margin:
        problem = f"{item.name} fell by {number(-item.basis.difference, item)}, more than {margin:g}"
    return _find_problem(comparison, item, problem)


def not_worse_problem(comparison: Comparison, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: the interval holds losses larger than the margin; else None.

    If the true loss is the margin, it passes in at most 7 % of comparisons (benchmarks/intervals.md). If nothing
    changed it passes.
    """
    low, _ = item.basis.interval or (0.0, 0.0)
    problem = None
    unchanged = not item.changed and item.basis.difference == 0
    if low < -margin and not unchanged:
        problem = f"{item.name} may have fallen by more than {margin:g}"
    return _find_problem(comparison, item, problem)


def find_worse(before: Results, after: Results) -> str | None:
    """Return why a run does not take the place of a baseline: a mean fell, or something is missing; else None."""
    missing = [name for name in before.metrics if name not in after.metrics]
    if missing:
        return f"this run has no {missing[0]}"
    try:
        comparison = compare(before, after)
    except ParameterError as error:
        return str(error)
    for item in comparison.metrics:
        fell = f"{item.name} fell" if item.basis.difference < -EQUAL else None
        problem = _find_problem(comparison, item, fell)
        if problem is not None:
            return problem
    return None


def _find_problem(comparison: Comparison, item: Difference, problem: str | None) -> str | None:
    """Return why a gate fails: values are missing, there is one sample only, or it fell; else None."""
    missing = len(comparison.only_before)
    if missing:
        return (
            f"{plural(missing, 'sample')} of the first run {'is' if missing == 1 else 'are'} not in the second; "
            "score both on the same samples"
        )
    if item.values_lost:
        return (
            f"{item.name} has no value for {plural(item.values_lost, 'sample', 'that has', 'that have')} "
            "one in the first run"
        )
    basis = item.basis
    if basis.interval is None and (item.changed or item.samples == 1):
        return f"{item.name} has values for {item.samples} sample in both runs: too few to say anything"
    if problem is None:
        return None
    low, high = (number(end, item, sign="+") for end in basis.interval or (0.0, 0.0))
    difference = number(basis.difference, item, sign="+")
    return f"{problem} (difference {difference}, 95 % interval {low} to {high})"
