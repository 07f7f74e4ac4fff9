"""What so many samples can show: the differences that a gate finds, before a run is paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import stdev

from ctxmetrics.formulas.intervals import mean_interval
from ctxmetrics.presentation.wording import plural
from ctxmetrics.results.comparison.compare import choose_metric
from ctxmetrics.results.comparison.view import describe_power
from ctxmetrics.results.labels.means import FEW, paired_mean, power_multiple
from ctxmetrics.results.results import Results

# The options whose gates are described, and the end of the interval of the difference that each compares with its margin.
GATES: dict[str, int | None] = {"--fail-under": None, "--max-drop": 1, "--not-worse": 0}


def describe_gate(results: Results, option: str, name: str, bar: float, *, changed: float = 1.0) -> str:
    """Describe which difference a gate shows on the samples of a run, or that it cannot fail on so many.

    It cannot fail if it passes where every value falls to 0.

    Args:
        results: A run of the same metrics, which says how values spread.
        option: One of `GATES`.
        name: The metric; its name may leave out parameters if one metric has it.
        bar: The bar or margin.
        changed: The share of samples whose value changes between two runs, above 0.

    Raises:
        ParameterError: The run has no such metric.
    """
    column = results.by_metric[choose_metric(results.metrics, name, option)]
    values = [value for value in column.values if not math.isnan(value)]
    size = plural(len(values), "sample")
    end = GATES[option]
    if end is not None:
        text = _describe_margin(values, end, bar, column.scale, changed)
    elif bar <= 0:
        text = "cannot fail"
    else:
        low, high = mean_interval(values, scale=column.scale) or (0.0, column.scale)
        text = (
            f"the mean of {size} is known to +- {(high - low) / 2:.3g}: a true mean so near the bar passes or "
            "fails by chance"
        )
    return f"{option} {name}={bar:g}: {text}"


def _describe_margin(
    values: Sequence[float], end: int, margin: float, scale: float, changed: float
) -> str:
    size = plural(len(values), "sample")
    worst = paired_mean([-value for value in values], scale=scale).interval if values else None
    if worst is None or worst[end] >= -margin:
        return f"cannot fail with {size}, even if every value falls to 0"
    smallest = find_smallest_difference(values, changed)
    if smallest is None:
        return f"{size}, too few to show a difference"
    if smallest == 0:
        return f"all values of {size} are equal, so their spread says nothing about a difference"
    if end:
        return f"{describe_power(f'{margin + smallest:.3g}')} comparisons of {size}"
    return (
        f"without a true difference 4 of 5 comparisons of {size} pass from a margin of {smallest:.3g}"
    )


def find_smallest_difference(values: Sequence[float], changed: float = 1.0) -> float | None:
    """Find the smallest true difference for which `samples_for` needs no more samples; None if there is none.

    >>> round(find_smallest_difference([0.0, 1.0] * 18), 3)
    0.344
    """
    if changed * len(values) < FEW:
        return None
    multiple = power_multiple(len(values) - 1)
    rest = len(values) - multiple**2 * (1 / changed - 1)
    return multiple * math.sqrt(2 * changed / rest) * stdev(values) if rest > 0 else None
