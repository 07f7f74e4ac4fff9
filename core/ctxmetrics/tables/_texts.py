"""The string metrics over two columns of texts, without an object a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ctxmetrics._pictures import in_text
from ctxmetrics.metrics.similarity import deciding_similarities
from ctxmetrics.metrics.strings import NonLLMContextPrecision, NonLLMContextRecall
from ctxmetrics.tables._frames import lists_of
from ctxmetrics.tables._values import fill, mark, no_values, rescale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from ctxmetrics.evaluation.columns import Values
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._frames import Lists

# By the class itself: a subclass may compute something else.
_METRICS = (NonLLMContextRecall, NonLLMContextPrecision)
# A space inside a text, which no picture's address has; what Python calls white space. DeepEval's pictures may stand
# anywhere.
_WORDS, _PICTURE = r"[^\s\x1c-\x1f] +[^\s\x1c-\x1f]", "[DEEPEVAL:"


def reads_texts(metric: Metric) -> bool:
    """Whether a metric has a form for columns of texts; a function of the user's is asked sample by sample."""
    return type(metric) in _METRICS and not callable(getattr(metric, "similarity", None))


def score_texts(
    retrieved: pl.Series, reference: pl.Series, metrics: Sequence[Any]
) -> dict[str, Values] | None:
    """Score rows with string metrics.

    Args:
        retrieved: A list of texts a row, or null.
        reference: The same.
        metrics: Metrics that have a form for columns.

    Returns:
        The values by the metric's name; None where a cell is no list of texts.
    """
    ours, theirs = _texts(retrieved), _texts(reference)
    if ours is None or theirs is None:
        return None
    values = _values(ours, theirs, metrics)
    (pictured, places), (pictured_too, _) = _pictures(ours), _pictures(theirs)
    scored = {}
    for metric in metrics:
        scored[metric.name] = column = no_values(len(retrieved))
        most = np.iinfo(np.int64).max if metric.top_k is None else metric.top_k
        counts = np.minimum(ours.lengths, most), theirs.lengths
        fill(column, metric, np.arange(len(retrieved)), values[metric.name], counts)
        rescale(column.values, metric)
        mark(column, pictured[places < most], "not_text")
        mark(column, pictured_too, "not_text")
        mark(column, ours.missing | theirs.missing, "missing_field")
    return scored


def _texts(series: pl.Series) -> Lists | None:
    """Return the texts of a column; None where there is anything but lists of texts."""
    import polars as pl

    lists = lists_of(series)
    if lists is None or lists.flat.dtype.is_integer():
        return None
    return lists._replace(flat=lists.flat.cast(pl.String))


def _values(ours: Lists, theirs: Lists, metrics: Sequence[Any]) -> dict[str, NDArray[np.float64]]:
    """Return the values on the scale from 0 to 1; 0 where a side is empty."""
    values = {metric.name: np.zeros(ours.lengths.size) for metric in metrics}
    alike: dict[tuple[Any, ...], list[Any]] = {}
    for metric in metrics:
        if metric.top_k != 0:
            alike.setdefault((metric.similarity, metric.min_similarity, metric.top_k), []).append(metric)
    for row, retrieved, references in _filled(ours, theirs):
        for (measure, cutoff, top_k), group in alike.items():
            sides = deciding_similarities(retrieved[:top_k], references, measure, cutoff)
            for metric in group:
                hits = metric.hits(sides[metric.counts_reference])
                values[metric.name][row] = metric.to_value(hits)
    return values


def _filled(ours: Lists, theirs: Lists) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield the rows that have texts on both sides."""
    retrieved, references = ours.flat.to_list(), theirs.flat.to_list()
    ends, other_ends = np.cumsum(ours.lengths).tolist(), np.cumsum(theirs.lengths).tolist()
    begin = other_begin = 0
    for row, (end, other_end) in enumerate(zip(ends, other_ends, strict=True)):
        if end > begin and other_end > other_begin:
            yield row, retrieved[begin:end], references[other_begin:other_end]
        begin, other_begin = end, other_end


def _pictures(lists: Lists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return in which rows, and at which places of their lists, something stands that is no text."""
    texts = lists.flat.str
    doubtful = ~texts.contains(_WORDS) | texts.contains(_PICTURE, literal=True)
    found = [at for at in doubtful.arg_true() if in_text(lists.flat[at], alone=True)]
    rows = np.repeat(np.arange(lists.lengths.size), lists.lengths)[found]
    return rows, np.array(found, np.int64) - lists.starts[rows]
