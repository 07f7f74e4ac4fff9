"""The id metrics over two columns of ids, without an object a row."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxmetrics.errors import SampleError
from ctxmetrics.samples import Sample
from ctxmetrics.tables._frames import Lists, lists_of
from ctxmetrics.tables._hits import WIDEST, Ids, blocks, different_texts
from ctxmetrics.tables._ranked import FORMULAS, GRADED, Ranking, ranking_of
from ctxmetrics.tables._spans import SPAN_FORMULAS, overlaps, read_spans
from ctxmetrics.tables._values import REASONS, fill, mark, no_values, rescale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from ctxmetrics.evaluation.columns import Values
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._hits import Booleans, Pairs

_SMALL = np.iinfo(np.int32)


def reads_ids(metric: Metric, *, labelled: bool) -> bool:
    """Whether a metric has a form for columns of ids; ``labelled``: rows may have grades, which samples hold."""
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
    ours, theirs = lists_of(retrieved), lists_of(reference)
    if ours is None or theirs is None:
        return None
    scored = {metric.name: no_values(len(retrieved)) for metric in metrics}
    missing = ours.missing | theirs.missing
    wide = np.maximum(ours.lengths, theirs.lengths) > WIDEST
    for kind, score in ((FORMULAS, _score_ranks), (SPAN_FORMULAS, _score_spans)):
        if chosen := [metric for metric in metrics if type(metric) in kind]:
            alone = wide | score(ours, theirs, chosen, scored)
            for metric in chosen:
                rescale(scored[metric.name].values, metric)
            for row in np.flatnonzero(alone & ~missing):
                _score_alone(int(row), retrieved, reference, chosen, scored)
    for column in scored.values():
        mark(column, missing, "missing_field")
    return scored


def _score_ranks(
    ours: Lists, theirs: Lists, metrics: Sequence[Metric], scored: Mapping[str, Values]
) -> Booleans:
    """Write the values on the scale from 0 to 1, and return the rows for which they do not hold."""
    found, wanted = _ids(ours, theirs)
    pairs: list[tuple[Pairs, ...]] = []
    for block in blocks(found, wanted):
        rankings: dict[int | None, Ranking] = {}
        for metric in metrics:
            if metric.top_k not in rankings:
                rankings[metric.top_k] = ranking_of(block, metric.top_k)
            ranking = rankings[metric.top_k]
            # Of empty sides, whose values are replaced.
            with np.errstate(divide="ignore", invalid="ignore"):
                values = FORMULAS[type(metric)](metric, ranking)
            fill(scored[metric.name], metric, block.rows, values, (ranking.retrieved, ranking.reference))
        pairs.append(block.pairs)
    alone = np.zeros(ours.lengths.size, np.bool_)
    alone[different_texts(pairs, found, wanted)] = True
    return alone


def _score_spans(
    ours: Lists, theirs: Lists, metrics: Sequence[Metric], scored: Mapping[str, Values]
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
                    kept = (
                        found.lengths[rows] if top_k is None else np.minimum(found.lengths[rows], top_k)
                    )
                    fill(scored[metric.name], metric, rows, values, (kept, wanted.lengths[rows]))
    return alone


def _ids(*sides: Lists) -> list[Ids]:
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
        Ids(side.lengths, side.starts, code, None if whole else flat)
        for side, flat, code in zip(sides, flats, codes, strict=True)
    ]


def _hashes(texts: pl.Series) -> NDArray[np.uint32]:
    """Return a number for each text; 32 bits, because what is compared is the smaller then."""
    return texts.hash().to_numpy().astype(np.uint32)


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
