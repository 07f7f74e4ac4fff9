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
    from ctxmetrics.tables._hits import Booleans, Integers

    Floats = NDArray[np.float64]


class Ranking(NamedTuple):
    """What the formulas read of some rows.

    Attributes:
        relevant: Places x rows: where a reference id stands for the first time.
        ranks: The rank of each place among the different ids of its row, from 1; one column where it is the same in
            every row.
        found: How many different ids are relevant.
        retrieved: How many different ids were retrieved.
        reference: How many different reference ids there are.
    """

    relevant: Booleans
    ranks: NDArray[np.int16]
    found: Integers
    retrieved: Integers
    reference: Integers


def _recall(_: Metric, ranking: Ranking) -> Floats:
    return ranking.found / ranking.reference


def _precision(metric: Any, ranking: Ranking) -> Floats:
    if metric.formula == "share":
        return ranking.found / ranking.retrieved
    hits = np.zeros(ranking.found.size)
    total = np.zeros(ranking.found.size)
    for line, ranks in zip(ranking.relevant, ranking.ranks, strict=True):
        hits += line
        total += np.where(line, hits / ranks, 0.0)
    divisor = ranking.found + metric.rules.epsilon
    precision: Floats = np.divide(total, divisor, out=np.zeros(total.size), where=ranking.found > 0)
    return precision


def _hit_rate(_: Metric, ranking: Ranking) -> Floats:
    return (ranking.found > 0).astype(np.float64)


def _reciprocal_rank(_: Metric, ranking: Ranking) -> Floats:
    if not len(ranking.relevant):
        return np.zeros(ranking.found.size)
    first = ranking.relevant.argmax(axis=0)
    ranks = np.broadcast_to(ranking.ranks, ranking.relevant.shape)[first, np.arange(first.size)]
    return np.where(ranking.found > 0, 1 / ranks, 0.0)


def _precision_at_k(metric: Any, ranking: Ranking) -> Floats:
    precision: Floats = np.divide(ranking.found, metric.top_k)
    return precision


def _ndcg(metric: Metric, ranking: Ranking) -> Floats:
    most = max(len(ranking.relevant), int(ranking.reference.max(initial=0)))
    discounts = np.array([0.0, *(1.0 / math.log2(rank + 1) for rank in range(1, most + 1))])
    ideal = np.array([*accumulate(discounts)])
    total: Floats = np.zeros(ranking.found.size)
    for line, ranks in zip(ranking.relevant, ranking.ranks, strict=True):
        total += np.where(line, discounts[ranks], 0.0)
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
