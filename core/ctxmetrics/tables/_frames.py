"""Tables of pyarrow, pandas and polars: columns read out of them, and columns that fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ctxmetrics.errors import ParameterError, missing_extra

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import polars as pl

    from ctxmetrics.tables._values import Values


def frame_of(table: Any) -> nw.DataFrame[Any]:
    """Return one face for every kind of table.

    Raises:
        MissingExtraError: narwhals is not installed.
        ParameterError: It is no table.
    """
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise missing_extra("narwhals", "tables") from None
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(
            f"score_table: {type(table).__name__} is no pyarrow, pandas or polars table, Ray dataset or Spark data frame."
        ) from None


def as_polars(series: nw.Series[Any]) -> pl.Series | None:
    """Return a column for polars; None where its cells are of several types, or pandas has no pyarrow to read them."""
    if series.implementation.is_polars():
        return series.to_native()  # type: ignore[no-any-return]  # narwhals does not say which kind it gives
    import polars as pl

    native = series.to_native()
    if series.implementation.is_pandas_like():
        try:
            import pyarrow as pa

            if native.dtype == object and not {set, frozenset}.isdisjoint(map(type, native)):
                return None
            native = pa.array(native, from_pandas=True)
        except (ImportError, ValueError, TypeError):  # pyarrow's errors are such too
            return None
    return pl.Series(native)


def may_hold_documents(series: nw.Series[Any]) -> bool:
    """Whether cells may hold documents with ids, and not texts only."""
    import polars as pl

    column = as_polars(series)
    return column is None or column.dtype not in (pl.Null, pl.String, pl.List(pl.String), pl.List(pl.Null))


def series_of(frame: nw.DataFrame[Any], name: str, reason: str, column: Values) -> tuple[nw.Series[Any], ...]:
    """Return the values and the reason codes of a metric as columns that fit a table; what is missing is missing."""
    import narwhals.stable.v1 as nw

    kind = frame.implementation
    names, codes = np.array(column.reasons, object), column.codes
    values: Any
    reasons: Any
    if kind.is_polars():
        import polars as pl

        values = pl.Series(name, column.values, nan_to_null=True)
        reasons = pl.Series(reason, column.reasons, pl.String).gather(codes)
    elif kind.is_pyarrow():
        import pyarrow as pa

        values = pa.chunked_array([pa.array(column.values, from_pandas=True)])
        reasons = pa.chunked_array([pa.array(column.reasons, pa.string()).take(pa.array(codes))])
    else:
        space = nw.get_native_namespace(frame)
        return (
            nw.new_series(name, column.values, nw.Float64, native_namespace=space),
            nw.new_series(reason, names[codes], nw.String, native_namespace=space),
        )
    return tuple(
        nw.from_native(series, series_only=True).alias(title)
        for series, title in ((values, name), (reasons, reason))
    )
