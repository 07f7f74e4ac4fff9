"""Names the row that holds an integer which Python refuses to write as a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ctxmetrics.errors import CtxMetricsError, SampleError

# Bits of the largest integer that Python writes by default: 4,300 digits.
_MAX_BITS = 14_283


@contextmanager
def naming_huge_integers(rows: Iterable[Any], what: str = "Sample") -> Iterator[None]:
    """Read rows in the block. If Python refuses to write an integer of theirs, name its row.

    The rows are searched only after Python refused: looking at every value of every row takes long.

    Args:
        rows: The rows. They are read once more.
        what: The noun for a row in messages, before its number.

    Raises:
        SampleError: A row holds such an integer.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, CtxMetricsError):
            raise
        for number, row in enumerate(rows, 1):
            key = _find_huge_integer(row)
            if key is not None:
                problem = "holds an integer of thousands of digits."
                refusal = SampleError(problem, "Write it as a string.").inside(field=key)
                raise refusal.at(f"{what} {number}") from None
        raise


def _find_huge_integer(row: Any) -> str | None:
    """Return the key of a row under which such an integer stands, at any depth. Return None if there is none."""
    if not isinstance(row, Mapping):
        return None
    for key, value in row.items():
        values = [value]
        while values:
            item = values.pop()
            if isinstance(item, int) and item.bit_length() > _MAX_BITS:
                return str(key)
            if isinstance(item, Mapping):
                values += item.values()
            elif isinstance(item, (list, tuple)):
                values += item
    return None
