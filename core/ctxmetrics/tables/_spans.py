"""The span metrics over two columns of ids: the formulas of `ctxmetrics.formulas` for many rows at once.

All sources stand one after the other on one line of numbers, far enough apart that no span of one reaches another: so
spans of different sources never overlap, and nothing else is to be known about sources.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxmetrics.fields import SPAN_MARK
from ctxmetrics.metrics.spans import (
    MOST_DIGITS,
    SpanBasedContextPrecision,
    SpanBasedContextRecall,
    plain_source,
)
from ctxmetrics.tables._hits import blocks_of, matrix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._hits import Booleans, Integers
    from ctxmetrics.tables._ranked import Floats

_ID = rf"(?s)^(.+){SPAN_MARK}([0-9]{{1,{MOST_DIGITS}}}),([0-9]{{1,{MOST_DIGITS}}})$"
# Sources begin so far apart; a number of `MOST_DIGITS` digits is below it.
_APART = 1 << 40
_MOST_SOURCES = 1 << 22
# A path that has no second spelling among those that look like it.
_SURELY_PLAIN = r"^/?[A-Za-z0-9_-][A-Za-z0-9_. -]*(/[A-Za-z0-9_-][A-Za-z0-9_. -]*)*$"


class Spans(NamedTuple):
    """The spans of a column.

    Attributes:
        lengths: How many each row has.
        starts: Where those of each row begin among all.
        begins: The first character of each.
        ends: One past the last character of each.
    """

    lengths: Integers
    starts: Integers
    begins: Integers
    ends: Integers


class _Lines(NamedTuple):
    """The spans of some rows: places x rows. Where there is none, both are 0."""

    begins: Integers
    ends: Integers

    def lengths(self) -> Integers:
        return self.ends - self.begins


class Overlap(NamedTuple):
    """What the formulas read of some rows.

    Attributes:
        retrieved: The retrieved spans in rank order.
        reference: The reference spans; of equal ones the first.
        found: Their union, as spans that are apart.
        wanted: The same of the reference spans.
    """

    retrieved: _Lines
    reference: _Lines
    found: _Lines
    wanted: _Lines


def read_spans(texts: Sequence[pl.Series], lengths: Sequence[Integers]) -> tuple[list[Spans], Booleans]:
    """Read the spans of both columns.

    Args:
        texts: The ids of each column.
        lengths: How many each row has.

    Returns:
        The spans of each column; and which rows have an id that names no span, or a source that is spelled in two ways
        somewhere.
    """
    import polars as pl

    doubtful = np.zeros(lengths[0].size, np.bool_)
    parts = [
        text.str.extract_groups(_ID).struct.unnest().rename({"1": "source", "2": "begin", "3": "end"})
        for text in texts
    ]
    read = pl.concat(parts).with_columns(pl.col("begin", "end").cast(pl.Int64))
    sources = read["source"].unique().drop_nulls()
    odd = _spelled_twice(sources)
    places = pl.DataFrame({"source": sources, "place": np.arange(len(sources), dtype=np.int64)})
    read = read.join(places, on="source", how="left", maintain_order="left")
    wrong = read.select(
        pl.col("source").is_null() | (pl.col("begin") >= pl.col("end")) | pl.col("source").is_in(odd)
    ).to_series()
    if len(sources) > _MOST_SOURCES:
        doubtful[:] = True
    numbers = read.select(pl.col("place", "begin", "end").fill_null(0)).to_dict(as_series=True)
    line = numbers["place"].to_numpy() * _APART
    begins, ends = line + numbers["begin"].to_numpy(), line + numbers["end"].to_numpy()
    bad = wrong.fill_null(value=True).to_numpy()
    found, at = [], 0
    for count in lengths:
        until = at + int(count.sum())
        doubtful[np.repeat(np.arange(count.size), count)[bad[at:until]]] = True
        found.append(Spans(count, np.cumsum(count) - count, begins[at:until], ends[at:until]))
        at = until
    return found, doubtful


def _spelled_twice(sources: pl.Series) -> list[str]:
    """Return the sources of which another spelling is among them."""
    sure = sources.str.contains(_SURELY_PLAIN)
    others = sources.filter(~sure).to_list()
    if not others:
        return []
    plain = {source: plain_source(source) for source in others}
    count = Counter(plain.values())
    known = set(sources.filter(sure & sources.is_in(list(count))).to_list())
    return [*known, *(source for source, form in plain.items() if count[form] > 1 or form in known)]


def overlaps(retrieved: Spans, reference: Spans, top_k: int | None) -> Iterator[tuple[Integers, Overlap]]:
    """Yield rows and their spans, without the rows that have a list too long for it."""
    for rows in blocks_of(retrieved.lengths, reference.lengths):
        ours, theirs = _lines(rows, retrieved), _lines(rows, reference)
        ours = _Lines(ours.begins[:top_k], ours.ends[:top_k])
        yield rows, Overlap(ours, _distinct(theirs), _union(ours), _union(theirs))


def _lines(rows: Integers, spans: Spans) -> _Lines:
    there, (begins, ends) = matrix_of(rows, spans.lengths, spans.starts, spans.begins, spans.ends)
    return _Lines(begins * there, ends * there)


def _distinct(lines: _Lines) -> _Lines:
    """Return the spans without those that stand before them in their row."""
    begins, ends = lines.begins.copy(), lines.ends.copy()
    for place in range(1, len(begins)):
        equal = (lines.begins[:place] == lines.begins[place]) & (lines.ends[:place] == lines.ends[place])
        again = equal.any(axis=0)
        begins[place, again] = ends[place, again] = 0
    return _Lines(begins, ends)


def _union(lines: _Lines) -> _Lines:
    """Return spans that are apart and have the same characters together."""
    order = np.argsort(lines.begins, axis=0)
    begins = np.take_along_axis(lines.begins, order, axis=0)
    ends = np.maximum.accumulate(np.take_along_axis(lines.ends, order, axis=0), axis=0)
    if len(begins) > 1:
        np.maximum(begins[1:], ends[:-1], out=begins[1:])
    return _Lines(begins, ends)


def _common(begin: Integers, end: Integers, lines: _Lines) -> Integers:
    """Return how many characters of one span a row stand in spans that are apart."""
    found = np.zeros(begin.size, np.int64)
    for other, last in zip(*lines, strict=True):
        found += np.maximum(np.minimum(end, last) - np.maximum(begin, other), 0)
    return found


def _all_common(overlap: Overlap) -> Integers:
    found = np.zeros(overlap.found.begins.shape[1], np.int64)
    for begin, end in zip(*overlap.found, strict=True):
        found += _common(begin, end, overlap.wanted)
    return found


def _ratio(part: Integers, whole: Integers) -> Floats:
    ratio: Floats = part / whole
    return ratio


def _enough(found: Integers, length: Integers, least: float) -> Booleans:
    return (found > 0) & (found / length >= least)


def _recall(metric: Any, overlap: Overlap) -> Floats:
    if metric.unit == "character":
        return _ratio(_all_common(overlap), overlap.wanted.lengths().sum(axis=0))
    hits = count = np.zeros(overlap.found.begins.shape[1], np.int64)
    for begin, end in zip(*overlap.reference, strict=True):
        hits = hits + _enough(_common(begin, end, overlap.found), end - begin, metric.min_cover)
        count = count + (end > begin)
    return _ratio(hits, count)


def _precision(metric: Any, overlap: Overlap) -> Floats:
    if metric.formula == "ap":
        return _average_precision(metric, overlap)
    common, retrieved = _all_common(overlap), overlap.retrieved.lengths().sum(axis=0)
    if metric.formula == "share":
        return _ratio(common, retrieved)
    return _ratio(common, retrieved + overlap.wanted.lengths().sum(axis=0) - common)


def _average_precision(metric: Any, overlap: Overlap) -> Floats:
    hits = np.zeros(overlap.found.begins.shape[1], np.int64)
    total = np.zeros(hits.size)
    for rank, (begin, end) in enumerate(zip(*overlap.retrieved, strict=True), 1):
        relevant = _enough(_common(begin, end, overlap.wanted), end - begin, metric.min_cover)
        for other, last in zip(*overlap.reference, strict=True):
            part = np.maximum(np.minimum(end, last) - np.maximum(begin, other), 0)
            relevant |= _enough(part, last - other, metric.min_cover)
        hits += relevant
        total += np.where(relevant, hits / rank, 0.0)
    precision: Floats = np.divide(
        total, hits + metric.rules.epsilon, out=np.zeros(hits.size), where=hits > 0
    )
    return precision


# By the class itself: a subclass may compute something else.
SPAN_FORMULAS: Mapping[type[Metric], Callable[[Any, Overlap], Floats]] = {
    SpanBasedContextRecall: _recall,
    SpanBasedContextPrecision: _precision,
}
