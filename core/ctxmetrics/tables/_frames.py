"""Tables of pyarrow, pandas and polars: one face for all, and the cells of their rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError, missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    import narwhals.stable.v1 as nw


def frame_of(table: Any) -> nw.DataFrame[Any]:
    """Return one face for every kind of table.

    Raises:
        MissingExtraError: narwhals is not installed.
        ParameterError: It is no table.
    """
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        raise missing_extra("narwhals") from None
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(
            f"score_table: {type(table).__name__} is no pyarrow, pandas or polars table, Ray dataset or Spark data frame."
        ) from None


def plain_rows(frame: nw.DataFrame[Any]) -> Iterator[dict[str, Any]]:
    """Return the rows of a table without their gaps."""
    for row in frame.iter_rows(named=True):
        yield {key: plain_cell(value) for key, value in row.items() if not is_missing(value)}


def plain_cell(value: Any) -> Any:
    """Turn an array in a cell into a list."""
    return value.tolist() if hasattr(value, "tolist") else value


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, and what pandas has beside them."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}
