"""The id metrics over two columns of ids, without an object a row."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxmetrics.errors import SampleError
from ctxmetrics.metrics.base import on_scale
from ctxmetrics.samples import MAX_CHARACTERS, Sample
from ctxmetrics.tables._hits import WIDEST, Ids, blocks, different_texts
from ctxmetrics.tables._ranked import FORMULAS, GRADED, Ranking
from ctxmetrics.tables._spans import SPAN_FORMULAS, overlaps, read_spans
from ctxmetrics.tables._values import Values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._hits import Block, Booleans, Integers, Pairs
    from ctxmetrics.tables._ranked import Floats

# Why a row has no value; the first one is that it has.
REASONS = (None, "missing_field", "no_reference", "no_retrieved_contexts", "metric_error")
_MISSING, _NO_REFERENCE, _NOT_RETRIEVED = 1, 2, 3
_SMALL = np.iinfo(np.int32)


class _Side(NamedTuple):
    missing: NDArray[np.bool_]
    lengths: Integers
    flat: pl.Series


def in_columns(metric: Metric, *, labelled: bool) -> bool:
    """Whether a metric has a form for columns; ``labelled``: rows may have grades, which are read from samples."""
    formed = type(metric) in FORMULAS or type(metric) in SPAN_FORMULAS
    return formed and not (labelled and type(metric) in GRADED)


def score_ids(
    retrieved: pl.Series, reference: pl.Series, metrics: Sequence[Metric]
) -> dict[str, Values] | None:
    """Score rows with id metrics.

    Args:
        retrieved: A list of ids a row, or null.
        reference: The same.
        metrics: Metrics that have a form for columns.

    Returns:
        The values by the metric's name; None where a cell is no list of texts or whole numbers.
    """
    ours, theirs = _side(retrieved), _side(reference)
    if ours is None or theirs is None:
        return None
    scored = {
        metric.name: Values(np.full(len(retrieved), np.nan), np.zeros(len(retrieved), np.int8), REASONS)
        for metric in metrics
    }
    missing = ours.missing | theirs.missing
    wide = np.maximum(ours.lengths, theirs.lengths) > WIDEST
    for kind, score in ((FORMULAS, _score_ranks), (SPAN_FORMULAS, _score_spans)):
        if chosen := [metric for metric in metrics if type(metric) in kind]:
            alone = wide | score(ours, theirs, chosen, scored)
            for metric in chosen:
                _rescale(scored[metric.name].values, metric)
            for row in np.flatnonzero(alone & ~missing):
                _score_alone(int(row), retrieved, reference, chosen, scored)
    for column in scored.values():
        column.values[missing] = np.nan
        column.codes[missing] = _MISSING
    return scored


def _score_ranks(
    ours: _Side, theirs: _Side, metrics: Sequence[Metric], scored: Mapping[str, Values]
) -> Booleans:
    """Write the values on the scale from 0 to 1, and return the rows for which they do not hold."""
    found, wanted = _ids(ours, theirs)
    pairs: list[tuple[Pairs, ...]] = []
    for block in blocks(found, wanted):
        rankings: dict[int | None, Ranking] = {}
        for metric in metrics:
            if metric.top_k not in rankings:
                rankings[metric.top_k] = _ranking(block, metric.top_k)
            ranking = rankings[metric.top_k]
            with np.errstate(divide="ignore", invalid="ignore"):  # of empty sides, whose values are replaced
                values = FORMULAS[type(metric)](metric, ranking)
            _fill(scored[metric.name], metric, block.rows, values, (ranking.retrieved, ranking.reference))
        pairs.append(block.pairs)
    alone = np.zeros(ours.lengths.size, np.bool_)
    alone[different_texts(pairs, found, wanted)] = True
    return alone


def _score_spans(
    ours: _Side, theirs: _Side, metrics: Sequence[Metric], scored: Mapping[str, Values]
) -> Booleans:
    """Write the values on the scale from 0 to 1, and return the rows for which they do not hold."""
    import polars as pl

    flats = [side.flat.cast(pl.String) for side in (ours, theirs)]
    (found, wanted), alone = read_spans(flats, [ours.lengths, theirs.lengths])
    for top_k in {metric.top_k for metric in metrics}:
        for rows, overlap in overlaps(found, wanted, top_k):
            for metric in metrics:
                if metric.top_k == top_k:
                    with np.errstate(divide="ignore", invalid="ignore"):  # of empty sides, as above
                        values = SPAN_FORMULAS[type(metric)](metric, overlap)
                    kept = found.lengths[rows] if top_k is None else np.minimum(found.lengths[rows], top_k)
                    _fill(scored[metric.name], metric, rows, values, (kept, wanted.lengths[rows]))
    return alone


def _side(series: pl.Series) -> _Side | None:
    """Return the ids of a column; None where there is anything but texts or whole numbers in lists."""
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
    if inner == pl.String and len(flat) and flat.str.len_bytes().max() > MAX_CHARACTERS:  # type: ignore[operator]
        return None
    return _Side(missing, lengths, flat.rechunk())  # a single piece is read much faster


def _ids(*sides: _Side) -> list[Ids]:
    """Number the ids of both sides, so that equal ids have equal numbers."""
    import polars as pl

    flats = [side.flat for side in sides]
    filled = [flat for flat in flats if len(flat)]
    whole = all(flat.dtype.is_integer() and flat.dtype != pl.UInt64 for flat in filled)
    if whole:
        flats = [flat.cast(pl.Int64) for flat in flats]
        numbers = [flat.to_numpy() for flat in flats]
        small = all(
            not item.size or (item.min() >= _SMALL.min and item.max() <= _SMALL.max) for item in numbers
        )
        codes: list[Any] = [item.astype(np.int32) if small else item for item in numbers]
    else:
        flats = [flat.cast(pl.String) for flat in flats]
        codes = [_hashes(flat) for flat in flats]
    return [
        Ids(side.lengths, np.cumsum(side.lengths) - side.lengths, code, None if whole else flat)
        for side, flat, code in zip(sides, flats, codes, strict=True)
    ]


def _hashes(texts: pl.Series) -> NDArray[np.uint32]:
    """Return a number for each text; 32 bits, because what is compared is the smaller then."""
    return texts.hash().to_numpy().astype(np.uint32)


def _ranking(block: Block, top_k: int | None) -> Ranking:
    first, relevant = block.first[:top_k], block.relevant[:top_k]
    ranks = np.arange(1, len(first) + 1, dtype=np.int16)[:, None]
    if (first[1:] & ~first[:-1]).any():  # an id follows a repeated one
        ranks = np.cumsum(first, axis=0, dtype=np.int16)
    return Ranking(relevant, ranks, relevant.sum(axis=0), first.sum(axis=0), block.reference)


def _fill(
    scored: Values, metric: Metric, rows: Integers, values: Floats, counts: tuple[Integers, Integers]
) -> None:
    """Write the values of some rows, and what empty sides are worth; the counts of both sides say which are."""
    retrieved, reference = counts
    scored.values[rows] = values
    sides = metric.rules.empty[metric.family]
    for empty, worth, code in (
        ((retrieved > 0) & (reference == 0), sides.no_reference, _NO_REFERENCE),
        ((retrieved == 0) & (reference > 0), sides.nothing_retrieved, _NOT_RETRIEVED),
        ((retrieved == 0) & (reference == 0), sides.both, _NO_REFERENCE),
    ):
        undefined = isinstance(worth, str)
        scored.values[rows[empty]] = np.nan if undefined else worth
        scored.codes[rows[empty]] = code if undefined else 0


def _rescale(values: Floats, metric: Metric) -> None:
    """Put values on the metric's scale."""
    scale = metric.rules.scale
    if scale != 1.0:
        different, which = np.unique(values, return_inverse=True)
        scaled = [value if np.isnan(value) else on_scale(float(value), scale) for value in different]
        values[:] = np.array(scaled, np.float64)[which]
    if metric.strict:
        values[values < scale] = 0.0


def _score_alone(
    row: int,
    retrieved: pl.Series,
    reference: pl.Series,
    metrics: Sequence[Metric],
    scored: Mapping[str, Values],
) -> None:
    """Score one row as a sample."""
    sample = Sample(retrieved_context_ids=retrieved[row], reference_context_ids=reference[row])
    for metric in metrics:
        column, value = scored[metric.name], None
        reason: str | None = "metric_error"
        with suppress(SampleError):
            score = metric.score(sample)
            value, reason = score.value, score.reason_code
        column.values[row] = np.nan if value is None else value
        column.codes[row] = REASONS.index(reason)
