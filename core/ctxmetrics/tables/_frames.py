"""Tables of pyarrow, pandas and polars: columns read out of them, and columns that fit them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxmetrics.errors import ParameterError, missing_extra
from ctxmetrics.samples import MAX_CHARACTERS

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import polars as pl
    from numpy.typing import NDArray

    from ctxmetrics.evaluation.columns import Values


class Lists(NamedTuple):
    """A column of lists.

    Attributes:
        missing: Which rows have none.
        lengths: How many items each row has.
        flat: The items of all rows, texts or whole numbers.
    """

    missing: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    flat: pl.Series

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the items of each row begin among all."""
        starts: NDArray[np.int64] = np.cumsum(self.lengths) - self.lengths
        return starts


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


def lists_of(series: pl.Series) -> Lists | None:
    """Return the lists of a column; None where there is anything but texts or whole numbers in lists."""
    import polars as pl

    if series.dtype == pl.Null:
        series = series.cast(pl.List(pl.String))
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    if not isinstance(series.dtype, pl.List):
        return None
    inner: Any = series.dtype.inner
    if inner != pl.String and inner != pl.Null and not inner.is_integer():  # noqa: PLR1714 - types of polars
        return None
    missing = series.is_null().to_numpy()
    lengths = series.list.len().fill_null(0).to_numpy().astype(np.int64)
    filled = series if lengths.all() else series.filter(pl.Series(lengths > 0))
    flat = filled.explode() if len(filled) else pl.Series(dtype=inner)
    if flat.null_count():
        return None
    if inner == pl.String and (flat.str.len_bytes() > MAX_CHARACTERS).any():
        return None
    return Lists(missing, lengths, flat.rechunk())  # a single piece is read much faster


def may_hold_documents(series: nw.Series[Any]) -> bool:
    """Whether cells may hold documents with ids, and not texts only."""
    import polars as pl

    column = as_polars(series)
    return column is None or column.dtype not in (
        pl.Null,
        pl.String,
        pl.List(pl.String),
        pl.List(pl.Null),
    )


def series_of(
    frame: nw.DataFrame[Any], name: str, reason: str, column: Values
) -> tuple[nw.Series[Any], ...]:
    """Return the values and the reason codes of a metric as columns that fit a table; what is missing is missing."""
    import narwhals.stable.v1 as nw

    kind = frame.implementation
    values: Any
    reasons: Any
    if kind.is_polars():
        import polars as pl

        values = pl.Series(name, column.values, nan_to_null=True)
        reasons = pl.Series(reason, column.reasons, pl.String).gather(column.codes)
    elif kind.is_pyarrow():
        import pyarrow as pa

        values = pa.chunked_array([pa.array(column.values, from_pandas=True)])
        reasons = pa.chunked_array([pa.array(column.reasons, pa.string()).take(pa.array(column.codes))])
    else:
        space = nw.get_native_namespace(frame)
        return (
            nw.new_series(name, column.values, nw.Float64, native_namespace=space),
            nw.new_series(reason, column.texts(), nw.String, native_namespace=space),
        )
    return tuple(
        nw.from_native(series, series_only=True).alias(title)
        for series, title in ((values, name), (reasons, reason))
    )
