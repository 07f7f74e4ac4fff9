"""The formulas of the id metrics over the rows of a block: the same sums in the same order as `ctxmetrics.formulas`."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ctxmetrics.metrics.ids import (
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._hits import Block, Booleans, Integers

    Floats = NDArray[np.float64]


class Ranking(NamedTuple):
    """What the formulas read of some rows. A hit is a place where a reference id stands for the first time.

    Attributes:
        relevant: Places x rows: where there is a hit.
        places: The place of each hit, in rank order, from 0.
        columns: In which row it is.
        ranks: Its rank among the different ids of its row, from 1.
        found: How many hits each row has.
        retrieved: How many different ids were retrieved.
        reference: How many different reference ids there are.
    """

    relevant: Booleans
    places: Integers
    columns: Integers
    ranks: NDArray[np.int16]
    found: Integers
    retrieved: NDArray[np.int16]
    reference: Integers


def ranking_of(block: Block, top_k: int | None) -> Ranking:
    """Return what the formulas read of a block, of the first k places."""
    relevant, ranks = block.relevant[:top_k], _running(block.first[:top_k])
    count = block.rows.size
    places, columns = np.divmod(np.flatnonzero(relevant), max(count, 1))
    return Ranking(
        relevant,
        places,
        columns,
        ranks[places, columns],
        np.bincount(columns, minlength=count),
        ranks[-1] if len(ranks) else np.zeros(count, np.int16),
        block.reference,
    )


def _running(marked: Booleans) -> NDArray[np.int16]:
    """Return how many places are marked up to each one."""
    counts = np.array(marked, np.int16)
    for place in range(1, len(counts)):
        counts[place] += counts[place - 1]
    return counts


def _sum(ranking: Ranking, values: Floats) -> Floats:
    """Return the sum of each row's hits, in rank order."""
    return np.asarray(np.bincount(ranking.columns, values, ranking.found.size), np.float64)


def _recall(_: Metric, ranking: Ranking) -> Floats:
    return ranking.found / ranking.reference


def _precision(metric: Any, ranking: Ranking) -> Floats:
    if metric.formula == "share":
        return ranking.found / ranking.retrieved
    numbers = _running(ranking.relevant)[ranking.places, ranking.columns]
    total = _sum(ranking, numbers / ranking.ranks.astype(np.float64))
    divisor = ranking.found + metric.rules.epsilon
    precision: Floats = np.divide(total, divisor, out=np.zeros(total.size), where=ranking.found > 0)
    return precision


def _hit_rate(_: Metric, ranking: Ranking) -> Floats:
    return (ranking.found > 0).astype(np.float64)


def _reciprocal_rank(_: Metric, ranking: Ranking) -> Floats:
    values = np.zeros(ranking.found.size)
    values[ranking.columns[::-1]] = 1 / ranking.ranks[::-1].astype(
        np.float64
    )  # of a row's hits the first one stays
    return values


def _precision_at_k(metric: Any, ranking: Ranking) -> Floats:
    precision: Floats = np.divide(ranking.found, metric.top_k)
    return precision


def _ndcg(metric: Metric, ranking: Ranking) -> Floats:
    most = max(len(ranking.relevant), int(ranking.reference.max(initial=0)))
    discounts = np.array([0.0, *(1.0 / math.log2(rank + 1) for rank in range(1, most + 1))])
    ideal = np.array([*accumulate(discounts)])
    total = _sum(ranking, discounts[ranking.ranks])
    best = ideal[np.minimum(ranking.reference, most if metric.top_k is None else metric.top_k)]
    gain: Floats = np.minimum(1.0, total / best)
    return gain


# By the class itself: a subclass may compute something else.
FORMULAS: Mapping[type[Metric], Callable[[Any, Ranking], Floats]] = {
    IDBasedContextRecall: _recall,
    IDBasedRecallAtK: _recall,
    IDBasedContextPrecision: _precision,
    IDBasedHitRate: _hit_rate,
    IDBasedReciprocalRank: _reciprocal_rank,
    IDBasedPrecisionAtK: _precision_at_k,
    IDBasedNDCG: _ndcg,
}
# Those that read grades out of a sample's labels.
GRADED = frozenset({IDBasedNDCG})
