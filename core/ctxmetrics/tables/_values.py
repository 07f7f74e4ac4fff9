"""The values of one metric over many rows, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ctxmetrics.evaluation.columns import Values
from ctxmetrics.metrics.base import on_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ctxmetrics.metrics.base import Metric

# Why a row that was read as columns has no value; the first one is that it has.
REASONS = (None, "missing_field", "no_reference", "no_retrieved_contexts", "metric_error", "not_text")
_NO_REFERENCE, _NOT_RETRIEVED = 2, 3


def joined(parts: Sequence[Values]) -> Values:
    """Return the values of several parts of a table as one."""
    if len(parts) == 1:
        return parts[0]
    reasons = tuple(dict.fromkeys(reason for part in parts for reason in part.reasons))
    codes = [
        np.array([reasons.index(reason) for reason in part.reasons], np.int8)[part.codes]
        for part in parts
    ]
    return Values(np.concatenate([part.values for part in parts]), np.concatenate(codes), reasons)


def no_values(rows: int, reasons: tuple[str | None, ...] = REASONS) -> Values:
    """Return rows without a value, for the first of the reasons: unless said otherwise, those of reading columns."""
    return Values(np.full(rows, np.nan), np.zeros(rows, np.int8), reasons)


def fill(
    scored: Values,
    metric: Metric,
    rows: NDArray[np.int64],
    values: NDArray[np.float64],
    counts: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]],
) -> None:
    """Write the values of some rows, and what empty sides are worth; the counts of both sides say which are."""
    retrieved, reference = counts
    scored.values[rows] = values
    if retrieved.all() and reference.all():
        return
    sides = metric.rules.empty[metric.family]
    for empty, worth, code in (
        ((retrieved > 0) & (reference == 0), sides.no_reference, _NO_REFERENCE),
        ((retrieved == 0) & (reference > 0), sides.nothing_retrieved, _NOT_RETRIEVED),
        ((retrieved == 0) & (reference == 0), sides.both, _NO_REFERENCE),
    ):
        undefined = isinstance(worth, str)
        scored.values[rows[empty]] = np.nan if undefined else worth
        scored.codes[rows[empty]] = code if undefined else 0


def rescale(values: NDArray[np.float64], metric: Metric) -> None:
    """Put values on the metric's scale."""
    scale = metric.rules.scale
    if scale != 1.0:
        different, which = np.unique(values, return_inverse=True)
        scaled = [value if np.isnan(value) else on_scale(float(value), scale) for value in different]
        values[:] = np.array(scaled, np.float64)[which]
    if metric.strict:
        values[values < scale] = 0.0


def mark(scored: Values, rows: NDArray[np.bool_] | NDArray[np.int64], reason: str) -> None:
    """Take the values of some rows away, and say why."""
    scored.values[rows] = np.nan
    scored.codes[rows] = REASONS.index(reason)
