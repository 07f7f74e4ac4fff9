"""Recall and support precision over k, and the smallest k that is enough: read from the attributions of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any

from ctxmetrics.attribution import Attribution
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.formulas import smallest_k
from ctxmetrics.presentation.layout import align_rows
from ctxmetrics.scores import Score
from ctxmetrics.verdicts import CHARACTERS_A_TOKEN

RESAMPLES = 2_000
_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Means over samples of what the first k contexts give. All are shares from 0 to 1, whatever the convention.

    Attributes:
        metric: The metric whose units are counted.
        k: How many contexts from the top count; a sample with fewer counts with all that it has.
        recall: Mean of recall@k (`Attribution.recall`); None without a sample.
        precision: Mean of support precision@k (`Attribution.precision`). Both are 0.0 for a sample with an empty side,
            as its score is.
        characters: Mean of the characters of the first k contexts.
        tokens: The same in tokens, estimated as characters / 4.
        n: How many samples: those with a value.
    """

    metric: str
    k: int
    recall: float | None
    precision: float | None
    characters: float | None
    tokens: float | None
    n: int


class Curve(tuple[CurvePoint, ...]):
    """The points of a curve, by metric and k; ``str()`` is a table."""

    __slots__ = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict a point: rows for a table or a plot."""
        return [asdict(point) for point in self]

    def __repr__(self) -> str:
        rows = [("metric", "k", "recall", "support precision", "characters", "tokens", "samples")]
        for point in self:
            shares = (
                "-" if value is None else f"{value:.4f}" for value in (point.recall, point.precision)
            )
            sizes = (
                "-" if value is None else f"{value:.0f}" for value in (point.characters, point.tokens)
            )
            rows.append((point.metric, str(point.k), *shares, *sizes, str(point.n)))  # type: ignore[arg-type]  # seven
        return "\n".join(align_rows(rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestK:
    """The smallest k that keeps a share of the recall.

    Attributes:
        metric: The metric whose units are counted.
        keep: The share.
        k: The smallest k with mean recall@k >= keep * mean recall of all contexts; None where that is 0.
        interval: 95 % interval of k: percentiles over resampled samples; None below two samples.
        recall: Mean recall of all contexts.
        n: How many samples: those with a value.
    """

    metric: str
    keep: float
    k: int | None
    interval: tuple[int, int] | None
    recall: float | None
    n: int


def curve_of(
    metric: str, scores: Iterable[Score], ks: Iterable[int], formula: str
) -> Iterator[CurvePoint]:
    """Yield a metric's points; see `Results.curve`."""
    known = _known(metric, scores)
    for k in ks:
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ParameterError(f"curve: k={k!r} must be a whole number from 1.")
        characters = _mean([sum(attribution.context_lengths[:k]) for attribution in known])
        yield CurvePoint(
            metric=metric,
            k=int(k),
            recall=_mean([attribution.recall(k) or 0.0 for attribution in known]),
            precision=_mean(
                [attribution.precision(k, formula=formula) or 0.0 for attribution in known]
            ),
            characters=characters,
            tokens=None if characters is None else characters / CHARACTERS_A_TOKEN,
            n=len(known),
        )


def smallest_k_of(metric: str, scores: Iterable[Score], keep: float) -> SmallestK:
    """Return a metric's smallest k; see `Results.smallest_k`."""
    known = _known(metric, scores)
    most = max((len(attribution.context_lengths) for attribution in known), default=0)
    rows = [[attribution.recall(k) or 0.0 for k in range(1, most + 1)] for attribution in known]
    means = [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
    return SmallestK(
        metric=metric,
        keep=keep,
        k=smallest_k(means, keep),
        interval=_interval(rows, keep),
        recall=means[-1] if means else None,
        n=len(rows),
    )


def _interval(rows: Sequence[Sequence[float]], keep: float) -> tuple[int, int] | None:
    """Resample the samples. Equal rows are drawn together, which gives the same result and is faster."""
    if len(rows) < 2 or not rows[0]:  # noqa: PLR2004 - one sample says nothing about the spread
        return None
    import numpy as np

    kinds, counts = np.unique(np.array(rows), axis=0, return_counts=True)
    drawn = np.random.default_rng(_SEED).multinomial(len(rows), counts / len(rows), size=RESAMPLES)
    found = [
        k
        for means in (drawn @ kinds / len(rows)).tolist()
        if (k := smallest_k(means, keep)) is not None
    ]
    if not found:
        return None
    low, high = np.quantile(found, (0.025, 0.975), method="inverted_cdf")
    return int(low), int(high)


def _known(metric: str, scores: Iterable[Score]) -> list[Attribution]:
    """Return the attributions of the scores with a value; one with an empty side has no units."""
    known = [(score, score.attribution) for score in scores if score.value is not None]
    if any(attribution is None for _, attribution in known):
        raise CtxMetricsError(
            f"{metric} has no attribution: its verdicts are not about units of a reference."
        )
    return [attribution for _, attribution in known if attribution is not None]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
