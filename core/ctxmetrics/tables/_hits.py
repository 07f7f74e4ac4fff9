"""Which retrieved ids are reference ids, for many rows at once.

Numbers are compared: an integer stands for itself, a text for a part of its hash. Where the numbers of two texts are
equal, the texts are compared as well, so that no two ids are taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    Booleans = NDArray[np.bool_]
    Integers = NDArray[np.int64]
    Places = NDArray[np.int8 | np.int16]

# Longest list that is compared here: the work grows with the square of the length.
WIDEST = 512
_NARROWEST = 4
_SMALL = np.iinfo(np.int8)
# Cells of a block, so that its numbers stay in the processor's cache.
_CELLS = 1 << 18


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of a column.

    Attributes:
        lengths: How many ids each row has.
        starts: Where the ids of each row begin among all.
        codes: The number of each id.
        texts: The ids themselves where the numbers are hashes; None where the numbers are the ids.
    """

    lengths: Integers
    starts: Integers
    codes: NDArray[Any]
    texts: pl.Series | None


class Pairs(NamedTuple):
    """Texts that were taken for one because of their numbers: in which row, and where each stands in its column."""

    rows: Integers
    ones: Integers
    others: Integers


class Block(NamedTuple):
    """Rows with lists of similar length. A matrix has a line for each place of the list and a column for each row.

    Attributes:
        rows: Which rows they are.
        first: Where an id stands for the first time.
        relevant: Where an id stands for the first time, and is a reference id.
        reference: How many different reference ids each row has.
        pairs: What `different_texts` is to look at: of the retrieved ids among themselves, of the reference ids among
            themselves, of both. Nothing here holds for the rows that it returns.
    """

    rows: Integers
    first: Booleans
    relevant: Booleans
    reference: Integers
    pairs: tuple[Pairs, ...]


def blocks(retrieved: Ids, reference: Ids) -> Iterator[Block]:
    """Compare two columns, without the rows that have a list longer than `WIDEST`."""
    for rows in blocks_of(retrieved.lengths, reference.lengths):
        yield _compared(rows, retrieved, reference)


def blocks_of(retrieved: Integers, reference: Integers) -> Iterator[Integers]:
    """Yield rows with lists of similar length, from the lengths of both, without those longer than `WIDEST`."""
    longest = np.maximum(retrieved, reference)
    least, width = -1, _NARROWEST
    while width <= WIDEST:
        rows = np.flatnonzero((longest > least) & (longest <= width))
        step = _CELLS // width
        for begin in range(0, rows.size, step):
            yield rows[begin : begin + step]
        least, width = width, 2 * width


def matrix_of(
    rows: Integers, lengths: Integers, starts: Integers, *items: NDArray[Any]
) -> tuple[Booleans, list[NDArray[Any]]]:
    """Return the items of some rows as matrices, places x rows, and where these hold one; elsewhere they hold any."""
    places = np.arange(lengths[rows].max(initial=0))[:, None]
    at = starts[rows] + places
    empty = np.zeros(at.shape, np.int64)
    return places < lengths[rows], [item.take(at, mode="clip") if item.size else empty for item in items]


def different_texts(pairs: Sequence[tuple[Pairs, ...]], retrieved: Ids, reference: Ids) -> Integers:
    """Return the rows in which two different texts have one number."""
    if retrieved.texts is None or reference.texts is None or not pairs:
        return np.zeros(0, np.int64)
    found = []
    columns = (
        (retrieved.texts, retrieved.texts),
        (reference.texts,) * 2,
        (retrieved.texts, reference.texts),
    )
    for (one, other), parts in zip(columns, zip(*pairs, strict=True), strict=True):
        rows, ones, others = (np.concatenate(part) for part in zip(*parts, strict=True))
        found.append(rows[(one.gather(ones) != other.gather(others)).to_numpy()])
    return np.concatenate(found)


class _Lines(NamedTuple):
    """The numbers of the ids of some rows as a matrix, where it holds one, and where each row's ids begin."""

    codes: NDArray[Any]
    there: Booleans
    starts: Integers


def _compared(rows: Integers, retrieved: Ids, reference: Ids) -> Block:
    ours, theirs = _lines(rows, retrieved), _lines(rows, reference)
    again, twice = _earlier(ours), _earlier(theirs)
    first, different = ours.there & (again == 0), theirs.there & (twice == 0)
    found = _zeros(ours, theirs)
    for place, (line, there) in enumerate(zip(theirs.codes, theirs.there, strict=True), 1):
        _mark((ours.codes == line) & there, place, found)
    found *= first
    pairs: tuple[Pairs, ...] = ()
    if retrieved.texts is not None:
        pairs = (
            _pairs(rows, again, ours, ours),
            _pairs(rows, twice, theirs, theirs),
            _pairs(rows, found, ours, theirs),
        )
    return Block(rows, first, found > 0, different.sum(axis=0), pairs)


def _lines(rows: Integers, ids: Ids) -> _Lines:
    there, (codes,) = matrix_of(rows, ids.lengths, ids.starts, ids.codes)
    return _Lines(codes, there, ids.starts[rows])


def _zeros(lines: _Lines, others: _Lines) -> Places:
    """Return a number for each id of the lines; places of the others, from 1, fit in."""
    return np.zeros(lines.codes.shape, np.int8 if len(others.codes) <= _SMALL.max else np.int16)


def _mark(equal: Booleans, place: int, found: Places) -> None:
    """Write a place where something is equal; places come in their order."""
    np.maximum(found, equal.view(np.int8) * found.dtype.type(place), out=found)


def _earlier(lines: _Lines) -> Places:
    """Return for each id the last place, from 1, where it stands before in its row; 0 where it does not."""
    earlier = _zeros(lines, lines)
    for place in range(1, len(earlier)):
        _mark(lines.codes[place:] == lines.codes[place - 1], place, earlier[place:])
    earlier *= lines.there
    return earlier


def _pairs(rows: Integers, places: Places, lines: _Lines, others: _Lines) -> Pairs:
    """Return each id of the lines that has a place among the others, from 1, with the id that stands there."""
    at = np.flatnonzero(places != 0)
    line, column = np.divmod(at, max(rows.size, 1))
    return Pairs(
        rows[column], lines.starts[column] + line, others.starts[column] + places.ravel()[at] - 1
    )
