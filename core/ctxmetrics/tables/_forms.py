"""Which metrics read columns, and how."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics.fields import TEXTS_OF
from ctxmetrics.tables._ids import reads_ids, score_ids
from ctxmetrics.tables._texts import reads_texts, score_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from ctxmetrics.evaluation.columns import Values
    from ctxmetrics.metrics.base import Metric


class Form(NamedTuple):
    """How metrics of a kind read columns.

    Attributes:
        fields: The fields that the two columns hold: what was retrieved, and what should have been.
        elsewhere: Where the same may stand in a row that has a gap there.
        rows: How many rows are read at a time.
        slow: Whether a row takes so long that a run may ask for other processes, or for its end at some time.
        score: Scores them; None where a cell is of another type.
    """

    fields: tuple[str, ...]
    elsewhere: tuple[str, ...]
    rows: int
    slow: bool
    score: Callable[[pl.Series, pl.Series, Sequence[Metric]], dict[str, Values] | None]


_IDS = Form(tuple(TEXTS_OF), tuple(TEXTS_OF.values()), rows=1 << 16, slow=False, score=score_ids)
_TEXTS = Form(tuple(TEXTS_OF.values()), (), rows=1 << 8, slow=True, score=score_texts)


def form_of(metric: Metric, *, labelled: bool) -> Form | None:
    """Return how a metric reads columns, or None; ``labelled``: rows may have grades, which are read from samples."""
    if reads_ids(metric, labelled=labelled):
        return _IDS
    return _TEXTS if reads_texts(metric) else None
