"""Gates on a comparison: whether a loss is too large, or could be."""

from __future__ import annotations

from ctxmetrics.comparison.text import number
from ctxmetrics.comparison.view import Difference, Findings
from ctxmetrics.errors import ParameterError


def metric_in(found: Findings, name: str, margin: float, option: str) -> Difference:
    """Return the metric that a gate is about; its name may leave out the parameters where only one metric has it.

    Raises:
        ParameterError: The comparison has no such metric, or the margin is not on its scale.
    """
    items = [item for item in found.metrics if item.name == name] or [
        item for item in found.metrics if item.name.partition("(")[0] == name
    ]
    if len(items) != 1:
        raise ParameterError(
            f"{option} {name!r}: {'several metrics' if items else 'no metric'} of this comparison "
            f"{'are' if items else 'is'} named so. It has: {', '.join(item.name for item in found.metrics)}."
        )
    if not 0 <= margin <= items[0].scale:
        raise ParameterError(
            f"{option} {name}={margin:g}: the margin must be a number from 0 to {items[0].scale:g}."
        )
    return items[0]


def max_drop(found: Findings, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: the mean fell by more than the margin, and the interval excludes zero; else None.

    Where there is no true loss, it fails in about 2.5 % of comparisons (docs/comparing.md).
    """
    problem = incomplete(found, item)
    if problem is None and item.interval and item.difference < -margin and item.interval[1] < 0:
        problem = f"{item.name} fell by {number(-item.difference, item)}, more than {margin:g} {_interval(item)}"
    return problem


def not_worse(found: Findings, item: Difference, margin: float) -> str | None:
    """Return why the gate fails: the interval holds losses larger than the margin; else None.

    Where the true loss is the margin, it passes in about 2.5 % of comparisons (docs/comparing.md); in more where
    losses are so rare that hardly a sample shows one.
    """
    problem = incomplete(found, item)
    if problem is None and item.interval and item.interval[0] < -margin:
        problem = f"{item.name} may have fallen by more than {margin:g} {_interval(item)}"
    return problem


def incomplete(found: Findings, item: Difference) -> str | None:
    """Return why a gate cannot hold whatever the figures are: values are missing, or there is one sample only."""
    if found.only_before:
        return f"{len(found.only_before)} samples of the first run are not in the second; score both on the same samples"
    if item.values_lost:
        return f"{item.name} has no value for {item.values_lost} samples that have one in the first run"
    if item.interval is None:
        return f"{item.name} has values for {item.samples} sample in both runs: too few to say anything"
    return None


def _interval(item: Difference) -> str:
    low, high = (number(end, item, sign="+") for end in item.interval or (0.0, 0.0))
    return f"(difference {number(item.difference, item, sign='+')}, 95 % interval {low} to {high})"
