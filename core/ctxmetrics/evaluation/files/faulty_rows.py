"""Names the row that holds a value which Python cannot read or write: a huge integer, or data that is nested too deeply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ctxmetrics.errors import CtxMetricsError, SampleError
from ctxmetrics.samples.fields import check_depth
from ctxmetrics.samples.sample import Sample

# Bits of the largest integer that Python writes by default: 4,300 digits.
_MAX_BITS = 14_283


@contextmanager
def naming_faulty_rows(rows: Iterable[Any], what: str = "Sample", *, first: int = 1) -> Iterator[None]:
    """Read rows in the block. If Python cannot read or write a value of theirs, name its row.

    The rows are searched only after Python failed: looking at every value of every row takes long.

    Args:
        rows: The rows. They are read once more.
        what: The noun for a row in messages, before its number.
        first: The number of the first row.

    Raises:
        SampleError: A row holds an integer of thousands of digits, or is nested too deeply.
    """
    try:
        yield
    except (ValueError, RecursionError) as error:
        if isinstance(error, CtxMetricsError):
            raise
        for number, row in enumerate(rows, first):
            try:
                _check_row(row)
            except SampleError as refusal:
                raise refusal.at(f"{what} {number}") from None
        raise


def _check_row(row: Any) -> None:
    """Refuse a row with data that is nested too deeply, or with a huge integer at any depth."""
    if isinstance(row, Sample):  # the fields that may hold anything
        row = {"labels": row.labels, "metadata": row.metadata}
    if not isinstance(row, Mapping):
        return
    for key, value in row.items():
        check_depth(value, str(key))
        values = [value]
        while values:
            item = values.pop()
            if isinstance(item, int) and item.bit_length() > _MAX_BITS:
                problem = "holds an integer of thousands of digits."
                raise SampleError(problem, "Write it as a string.").inside(field=str(key))
            if isinstance(item, Mapping):
                values += item.values()
            elif isinstance(item, (list, tuple)):
                values += item
