"""The columnar form: a table in, the same kind of table out with one column a metric."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics.errors import ParameterError, missing_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric

Table = TypeVar("Table")


def score_table(
    table: Table,
    metrics: Sequence[Metric],
    *,
    schema: str = "ragas",
    judge: Judge | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Score the rows of a table.

    Args:
        table: A pyarrow, pandas or polars table whose columns are the fields of a sample.
        metrics: The metrics; each becomes a column of its name (missing values are missing), and where a value is
            missing anywhere, a column ``NAME.reason_code``.
        schema: Whose words the columns are (`ctxmetrics.fields.SCHEMAS`).
        judge: As for `evaluate`.
        **options: As for `evaluate`.

    Returns:
        A table of the same kind, the rows in the same order.

    Raises:
        MissingExtraError: narwhals is not installed.
        ParameterError: It is no table, or has a column of a metric's name.
        CtxMetricsError: As `evaluate` and `Sample.from_dict` raise.
    """
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise missing_extra("narwhals", "tables") from None
    from ctxmetrics.evaluation.engine import check_metrics, evaluate
    from ctxmetrics.samples import Sample

    try:
        frame: Any = nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(
            f"score_table: {type(table).__name__} is no pyarrow, pandas or polars table."
        ) from None
    taken = {metric.name for metric in check_metrics(metrics, judge)} & set(frame.columns)
    if taken:
        raise ParameterError(f"score_table: the table already has a column {min(taken)!r}. Rename it.")
    samples = [
        Sample.from_dict(
            {key: _plain(value) for key, value in row.items() if not _is_missing(value)},
            schema,
            where=f"row {number}",
        )
        for number, row in enumerate(frame.iter_rows(named=True), 1)
    ]
    results = evaluate(samples, metrics, judge=judge, **options)
    series = partial(nw.new_series, native_namespace=nw.get_native_namespace(frame))
    columns = []
    for name in results.metrics:
        columns.append(series(name, [row[name].value for row in results], nw.Float64))
        reasons = [row[name].reason_code for row in results]
        if any(reasons):
            columns.append(series(f"{name}.reason_code", reasons, nw.String))
    native: Table = nw.to_native(frame.with_columns(*columns))
    return native


def _plain(value: Any) -> Any:
    """Turn array values of table cells into lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, and what pandas has beside them."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}
