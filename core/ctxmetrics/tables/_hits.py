"""Which retrieved ids are reference ids, for many rows at once.

Numbers are compared: an integer stands for itself, a text for a part of its hash. Where the numbers of two texts are
equal, the texts are compared as well, so that no two ids are taken for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

    Booleans = NDArray[np.bool_]
    Integers = NDArray[np.int64]

# Longest list that is compared here: the work grows with the square of the length.
WIDEST = 512
_NARROWEST = 4
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


class Block(NamedTuple):
    """Rows with lists of similar length. A matrix has a line for each place of the list and a column for each row.

    Attributes:
        rows: Which rows they are.
        first: Where an id stands for the first time.
        relevant: Where an id stands for the first time, and is a reference id.
        reference: How many different reference ids each row has.
        doubtful: Which rows have two different texts with one number: the other attributes do not hold for them.
    """

    rows: Integers
    first: Booleans
    relevant: Booleans
    reference: Integers
    doubtful: Booleans


def blocks(retrieved: Ids, reference: Ids) -> Iterator[Block]:
    """Compare two columns, without the rows that have a list longer than `WIDEST`."""
    longest = np.maximum(retrieved.lengths, reference.lengths)
    least, width = -1, _NARROWEST
    while width <= WIDEST:
        rows = np.flatnonzero((longest > least) & (longest <= width))
        step = _CELLS // width
        for begin in range(0, rows.size, step):
            yield _compared(rows[begin : begin + step], retrieved, reference)
        least, width = width, 2 * width


def _compared(rows: Integers, retrieved: Ids, reference: Ids) -> Block:
    ours, here = _lines(rows, retrieved)
    theirs, there = _lines(rows, reference)
    doubtful = np.zeros(rows.size, np.bool_)
    first = here & ~_repeated(ours, here, rows, retrieved, doubtful)
    different = there & ~_repeated(theirs, there, rows, reference, doubtful)
    relevant = np.zeros(ours.shape, np.bool_)
    for line in range(len(theirs)):
        equal = (ours == theirs[line]) & first & there[line]
        relevant |= equal
        if retrieved.texts is not None and reference.texts is not None:
            places, columns = np.nonzero(equal)
            mine = retrieved.texts.gather(retrieved.starts[rows[columns]] + places)
            other = reference.texts.gather(reference.starts[rows[columns]] + line)
            doubtful[columns[(mine != other).to_numpy()]] = True
    return Block(rows, first, relevant, different.sum(axis=0), doubtful)


def _lines(rows: Integers, ids: Ids) -> tuple[NDArray[Any], Booleans]:
    """Return the numbers of the ids of some rows as a matrix, and where it holds one."""
    lengths = ids.lengths[rows]
    places = np.arange(lengths.max(initial=0))[:, None]
    at = np.minimum(ids.starts[rows] + places, max(ids.codes.size - 1, 0))
    return ids.codes[at], places < lengths


def _repeated(codes: NDArray[Any], there: Booleans, rows: Integers, ids: Ids, doubtful: Booleans) -> Booleans:
    """Return where an id stands that stands before it in its row as well."""
    repeated = np.zeros(codes.shape, np.bool_)
    for line in range(1, len(codes)):
        equal = codes[:line] == codes[line]
        repeated[line] = equal.any(axis=0) & there[line]
        if ids.texts is not None and (columns := np.flatnonzero(repeated[line])).size:
            begin = ids.starts[rows[columns]]
            mine = ids.texts.gather(begin + line)
            other = ids.texts.gather(begin + equal[:, columns].argmax(axis=0))
            doubtful[columns[(mine != other).to_numpy()]] = True
    return repeated
