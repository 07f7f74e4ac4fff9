"""Recall and support precision over k, and the smallest k that is enough: read from the attributions of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any

from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.pages import render
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.report.stage_means import mean_known
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.statistics.bootstrap import draw_samples, percentile_interval
from ctxmetrics.formulas import smallest_k
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.scores.score import Score
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN

# The largest k of the curve on the page.
_MAX_K = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Means over samples of what the first k contexts give. All are shares from 0 to 1, whatever the convention.

    Attributes:
        metric: The metric whose units are counted.
        k: How many contexts from the top count; a sample with fewer counts with all that it has.
        recall: Mean of recall@k (`Attribution.recall`); None if there is no sample.
        precision: Mean of support precision@k (`Attribution.precision`). Both are 0.0 for a sample with an empty side,
            as its score is.
        characters: Mean of the characters of the first k contexts.
        tokens: The same in tokens, estimated as characters / 4.
        n: The number of samples with a value.
    """

    metric: str
    k: int
    recall: float | None
    precision: float | None
    characters: float | None
    tokens: float | None
    n: int


# The columns of the table of points.
_COLUMNS: Sequence[Column[CurvePoint]] = (
    Column("metric", attrgetter("metric")),
    Column("k", attrgetter("k")),
    Column("recall", attrgetter("recall"), ".4f"),
    Column("support precision", attrgetter("precision"), ".4f"),
    Column("characters", attrgetter("characters"), ".0f"),
    Column("tokens", attrgetter("tokens"), ".0f"),
    Column("samples", attrgetter("n")),
)


class Curve(tuple[CurvePoint, ...]):
    """The points of a curve, by metric and k; ``str()`` is a table."""

    __slots__ = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict a point: rows for a table or a plot."""
        return [asdict(point) for point in self]

    def __repr__(self) -> str:
        return str(Table.build(_COLUMNS, self))

    def _repr_html_(self) -> str:
        return render("text.html", text=repr(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestK:
    """The smallest k that keeps a share of the recall.

    Attributes:
        metric: The metric whose units are counted.
        keep: The share.
        k: The smallest k with mean recall@k >= keep * mean recall of all contexts; None if that is 0.
        interval: 95 % interval of k: percentiles over resampled samples; None below two samples.
        recall: Mean recall of all contexts.
        n: The number of samples with a value.
    """

    metric: str
    keep: float
    k: int | None
    interval: tuple[int, int] | None
    recall: float | None
    n: int


def compute_curve(
    metric: str, scores: Iterable[Score], ks: Iterable[int], formula: str
) -> Iterator[CurvePoint]:
    """Yield a metric's points; see `Results.curve`."""
    attributions = _list_attributions(metric, scores)
    for k in ks:
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError(f"curve: k={k!r} must be a whole number from 1.")
        characters = mean_known([sum(attribution.context_lengths[:k]) for attribution in attributions])
        yield CurvePoint(
            metric=metric,
            k=int(k),
            recall=mean_known([attribution.recall(k) or 0.0 for attribution in attributions]),
            precision=mean_known(
                [attribution.precision(k, formula=formula) or 0.0 for attribution in attributions]
            ),
            characters=characters,
            tokens=None if characters is None else characters / CHARACTERS_A_TOKEN,
            n=len(attributions),
        )


def compute_page_curves(
    rows: Sequence[Row], metrics: Iterable[str]
) -> dict[str, tuple[tuple[int, float, float], ...]]:
    """Compute the points that a page shows of each metric that counts units: k, recall, precision."""
    # The points of each metric: k, recall and precision.
    curves: dict[str, tuple[tuple[int, float, float], ...]] = {}
    for name in metrics:
        scores = [row[name] for row in rows if row[name].value is not None]
        longest = max((len(score.context_lengths or ()) for score in scores), default=0)
        if longest:
            ks = range(1, min(longest, _MAX_K) + 1)
            points = compute_curve(name, scores, ks, "average_precision")
            curves[name] = tuple(
                (point.k, point.recall or 0.0, point.precision or 0.0) for point in points
            )
    return curves


def find_smallest_k(metric: str, scores: Iterable[Score], keep: float) -> SmallestK:
    """Find a metric's smallest k; see `Results.smallest_k`."""
    attributions = _list_attributions(metric, scores)
    max_contexts = max((len(attribution.context_lengths) for attribution in attributions), default=0)
    rows = [
        [attribution.recall(k) or 0.0 for k in range(1, max_contexts + 1)]
        for attribution in attributions
    ]
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    return SmallestK(
        metric=metric,
        keep=keep,
        k=smallest_k(means, keep),
        interval=_find_interval(rows, keep),
        recall=means[-1] if means else None,
        n=len(rows),
    )


def _find_interval(rows: Sequence[Sequence[float]], keep: float) -> tuple[int, int] | None:
    """Return the 95 % interval of k, by a bootstrap. Equal rows are drawn together: the same result in less time."""
    if len(rows) < 2 or not rows[0]:  # noqa: PLR2004 - one sample says nothing about the spread
        return None
    import numpy as np

    distinct_rows, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    ks = []
    for drawn_counts in draw_samples(counts.tolist()):
        for means in (drawn_counts @ distinct_rows / len(rows)).tolist():
            k = smallest_k(means, keep)
            if k is not None:
                ks.append(k)
    if not ks:
        return None
    low, high = percentile_interval(ks, whole=True)
    return int(low), int(high)


def _list_attributions(metric: str, scores: Iterable[Score]) -> list[Attribution]:
    """List the attributions of the scores with a value. A score with an empty side has no units."""
    attributions = []
    for score in scores:
        if score.value is None:
            continue
        attribution = score.attribution
        if attribution is None:
            raise CtxMetricsError(
                f"{metric} has no attribution: its verdicts are not about units of a reference."
            )
        attributions.append(attribution)
    return attributions
