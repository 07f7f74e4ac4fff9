"""Formulas over verdicts: the share of yes, and how early the yes verdicts stand in a ranked list."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import TypeVar

from ctxmetrics.errors import ParameterError

__all__ = [
    "average_precision",
    "hit_rate",
    "merge_repeats",
    "ndcg",
    "precision_at_k",
    "reciprocal_rank",
    "share",
    "weighted_share",
]

_BOOLEAN = frozenset({bool})
_T = TypeVar("_T")


def share(verdicts: Sequence[bool]) -> float | None:
    """Share of verdicts that are yes.

    ``yes / total``, in 0..1. Context recall is the share over the units of the reference, plain (unranked)
    precision the share over the retrieved contexts.

    Args:
        verdicts: One verdict per unit or context; the order does not matter.

    Returns:
        The share, or ``None`` for an empty list.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        Context recall of Ragas (Es et al. 2024, arXiv:2309.15217) and DeepEval; context precision of RAGChecker
        (Ru et al. 2024, arXiv:2408.08067).

    >>> share([True, True, False, True])
    0.75
    >>> print(share([]))
    None
    """
    # A list that holds only booleans needs no further check, which saves two thirds of the time.
    holds_only_booleans = False
    if type(verdicts) is list:
        boolean_count = verdicts.count(True) + verdicts.count(False)
        holds_only_booleans = boolean_count == len(verdicts)
    if not holds_only_booleans:
        verdicts = check_verdicts(verdicts, "verdicts")
    return verdicts.count(True) / len(verdicts) if verdicts else None


def merge_repeats(verdicts: Sequence[bool], repeats: Mapping[int, int]) -> list[bool]:
    """Count each repeated context once, at its first rank. The contexts below move up.

    Its verdict is yes if the verdict of the first context, or of any repetition, is yes.

    Args:
        verdicts: One verdict per retrieved context, in rank order.
        repeats: For each repetition: its index, and the index of the first context with its text.

    Returns:
        One verdict per distinct context, in rank order.

    Raises:
        ParameterError: A verdict is not true or false, or an index has no verdict.

    >>> merge_repeats([False, True, True], {2: 1})
    [False, True]
    """
    merged_verdicts = check_verdicts(verdicts, "verdicts")
    for index, first_index in repeats.items():
        if not 0 <= first_index < index < len(merged_verdicts):
            raise ParameterError(
                f"repeats says that verdict {index} repeats verdict {first_index}: write indexes of "
                f"{len(merged_verdicts)} verdicts from 0, the lower one second"
            )
        merged_verdicts[first_index] = merged_verdicts[first_index] or merged_verdicts[index]
    return [verdict for index, verdict in enumerate(merged_verdicts) if index not in repeats]


def weighted_share(parts: Sequence[float], weights: Sequence[float]) -> float | None:
    """Weighted mean of the supported shares of units: context recall over facts of different importance.

    ``sum(part * weight) / sum(weight)``, in 0..1.

    Args:
        parts: The supported share of each unit, from 0 (nothing) to 1 (all of it).
        weights: The weight of each unit, at least 0.

    Returns:
        The mean, or ``None`` where the weights sum to 0.

    Raises:
        ParameterError: A part is outside 0..1, a weight is negative or not finite, or the lists differ in length.

    Source:
        The nugget scores of TREC RAG (Pradeep et al. 2024, arXiv:2411.09607): vital facts weigh 1 and others 0, or all 1;
        partial support is worth 0 (strict) or 0.5.

    >>> weighted_share([1, 0.5, 0], [1, 1, 0])
    0.75
    >>> print(weighted_share([1], [0]))
    None
    """
    checked_parts = _check_gains(parts, "parts")
    checked_weights = _check_gains(weights, "weights")
    if len(checked_parts) != len(checked_weights):
        raise ParameterError(
            f"the numbers of parts and weights differ, {len(checked_parts)} and {len(checked_weights)}: give one weight a unit"
        )
    if any(part > 1 for part in checked_parts):
        raise ParameterError("write parts from 0 to 1, and finite weights of at least 0")
    pairs = zip(checked_parts, checked_weights, strict=True)
    try:
        total_weight = math.fsum(checked_weights)
        supported_weight = math.fsum(part * weight for part, weight in pairs)
    except OverflowError:
        raise ParameterError("the weights are too large to add up: write smaller ones") from None
    return supported_weight / total_weight if total_weight else None


def average_precision(
    relevant: Sequence[bool], *, epsilon: float = 0.0, relevant_in_all: int | None = None
) -> float | None:
    """Average precision over the relevant contexts that were *retrieved*, or over all.

    ``sum(P@i for every rank i that is relevant) / (relevant retrieved + epsilon)``, in 0..1. It tells
    whether the relevant contexts stand above the others. A relevant context that was not retrieved does
    not lower the value, since recall measures this. With `relevant_in_all` such a context counts: this is the AP of
    information retrieval.

    Args:
        relevant: One verdict per retrieved context, in rank order.
        epsilon: Added to the divisor. ``1e-10`` gives the numbers of Ragas, where a perfect ranking is
            0.9999999999.
        relevant_in_all: The number of all relevant contexts, retrieved or not; ``None`` divides by the retrieved
            ones.

    Returns:
        The average precision, 0.0 when nothing retrieved is relevant, ``None`` for an empty list.

    Raises:
        ParameterError: A verdict is not true or false, `epsilon` is negative or not finite, or more are relevant
            than there are in all.

    Source:
        Context precision of Ragas, contextual precision of DeepEval; with `relevant_in_all` ``map`` of trec_eval.

    >>> average_precision([True, False, True]) == (1 / 1 + 2 / 3) / 2
    True
    >>> average_precision([False, True])
    0.5
    >>> average_precision([True], epsilon=1e-10)
    0.9999999999
    >>> average_precision([False, False])
    0.0
    >>> average_precision([True, False], relevant_in_all=2)
    0.5
    """
    checked = check_verdicts(relevant, "relevant")
    checked_epsilon = check_not_negative(epsilon, "epsilon")
    if not checked:
        return None
    hits = 0
    # The precision at each relevant rank is added in rank order, so that all Python versions round alike.
    sum_of_precisions = 0.0
    for rank, is_relevant in enumerate(checked, start=1):
        if is_relevant:
            hits += 1
            precision_at_rank = hits / rank
            sum_of_precisions += precision_at_rank
    if relevant_in_all is not None and check_k(relevant_in_all) < hits:
        raise ParameterError(
            f"relevant_in_all is {relevant_in_all}, and {hits} relevant ones were retrieved"
        )
    if not hits:
        return 0.0
    relevant_contexts = hits if relevant_in_all is None else relevant_in_all
    return sum_of_precisions / (relevant_contexts + checked_epsilon)


def precision_at_k(relevant: Sequence[bool], k: int) -> float | None:
    """Share of the first `k` contexts that are relevant. If fewer were retrieved, the missing ones count as not relevant.

    ``relevant among the first k / k``, in 0..1: 2 relevant of 4 retrieved are 0.2 at ``k=10``.

    Args:
        relevant: One verdict per retrieved context, in rank order.
        k: The number of contexts from the top that count.

    Returns:
        The precision, or ``None`` for ``k=0``.

    Raises:
        ParameterError: A verdict is not true or false, or `k` is not a whole number of at least 0.

    Source:
        ``P_k`` of trec_eval.

    >>> precision_at_k([True, False, True, False], 10)
    0.2
    """
    k = check_k(k)
    first_k = check_verdicts(relevant, "relevant")[:k]
    return divide(first_k.count(True), k)


def hit_rate(relevant: Sequence[bool]) -> float:
    """Return 1.0 if any context is relevant, else 0.0.

    Args:
        relevant: One verdict per retrieved context, in rank order.

    Returns:
        1.0 or 0.0; 0.0 for an empty list. Never ``None``.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        ``success_k`` of trec_eval; hit rate of LlamaIndex and ranx.

    >>> hit_rate([False, True]), hit_rate([False])
    (1.0, 0.0)
    """
    return 1.0 if True in check_verdicts(relevant, "relevant") else 0.0


def reciprocal_rank(relevant: Sequence[bool]) -> float:
    """One over the rank of the first relevant context; its mean over samples is the MRR.

    ``1 / rank``, in 0..1.

    Args:
        relevant: One verdict per retrieved context, in rank order.

    Returns:
        The reciprocal rank; 0.0 if no context is relevant, and for an empty list. Never ``None``.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        ``recip_rank`` of trec_eval.

    >>> reciprocal_rank([False, False, False, True])
    0.25
    """
    checked = check_verdicts(relevant, "relevant")
    if True not in checked:
        return 0.0
    first_rank = checked.index(True) + 1
    return 1 / first_rank


def ndcg(gains: Sequence[float], ideal: Sequence[float], k: int | None = None) -> float | None:
    """Normalised discounted cumulative gain, for binary or graded relevance.

    ``DCG(first k of gains) / DCG(k largest of ideal)`` with ``DCG = sum(gain / log2(rank + 1))``, in 0..1.

    Args:
        gains: Relevance of each retrieved context in rank order: 0 for not relevant, 1 for relevant, or grades.
        ideal: Relevance of every relevant context, retrieved or not, in any order.
        k: The number of contexts from the top that count; ``None`` counts all.

    Returns:
        The nDCG; 0.0 when nothing relevant is among the first `k`; ``None`` when the ideal has no gain either:
        nothing is relevant, or ``k=0``.

    Raises:
        ParameterError: A gain is negative, not a finite number or too large to add up; `gains` holds more
            relevance than `ideal` (a context listed twice, or missing from `ideal`), which would exceed 1; `k`
            is not a whole number of at least 0.

    Source:
        Järvelin and Kekäläinen 2002, https://doi.org/10.1145/582415.582418; ``ndcg`` of trec_eval.

    >>> ndcg([1, 0, 1], [1, 1]) == (1 + 1 / 2) / (1 + 1 / math.log2(3))
    True
    >>> ndcg([3, 1], ideal=[3, 1]), ndcg([0, 0], ideal=[3, 1])
    (1.0, 0.0)
    """
    retrieved = _check_gains(gains, "gains")
    ideal_gains = _check_gains(ideal, "ideal")
    ideal_gains.sort(reverse=True)
    positive_gains = [gain for gain in retrieved if gain > 0]
    positive_gains.sort(reverse=True)
    has_higher_gain = any(
        gain > ideal_gain for gain, ideal_gain in zip(positive_gains, ideal_gains, strict=False)
    )
    if len(positive_gains) > len(ideal_gains) or has_higher_gain:
        raise ParameterError(
            "gains holds more relevance than ideal: list every relevant context in ideal, "
            "and give the repetition of a context the gain 0"
        )
    ideal_sum = _sum_discounted(take_first(ideal_gains, k))
    if ideal_sum == math.inf:
        raise ParameterError("the gains are too large to add up: write smaller relevance grades")
    if not ideal_sum:
        return None
    # With nearly equal gains, rounding could make the quotient a little larger than 1.
    return min(1.0, _sum_discounted(take_first(retrieved, k)) / ideal_sum)


def _sum_discounted(gains: list[float]) -> float:
    """Compute DCG: the sum of the gains, each divided by log2(rank + 1)."""
    total = 0.0
    for rank, gain in enumerate(gains, start=1):
        if gain:
            total += gain / math.log2(rank + 1)
    return total


def _check_gains(gains: Sequence[float], name: str) -> list[float]:
    """Return gains as finite floats of at least 0."""
    gains = [*gains]
    are_floats = {*map(type, gains)} == {float}
    if are_floats and min(gains) >= 0.0 and math.isfinite(sum(gains)):  # the usual case
        return gains
    return [check_not_negative(gain, f"{name}[{index}]") for index, gain in enumerate(gains)]


def take_first(ranked: list[_T], k: int | None) -> list[_T]:
    """Return the first k elements of a list; all if k is None."""
    return ranked if k is None else ranked[: check_k(k)]


def check_k(k: int) -> int:
    """Return a number of contexts, a whole number of at least 0."""
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 0:
        raise ParameterError(f"k is {k!r}: write a whole number of at least 0")
    return int(k)


def check_not_negative(value: float, name: str) -> float:
    """Return a number as a finite float of at least 0."""
    try:
        number = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        number = math.inf
    if not 0.0 <= number < math.inf:  # false for NaN too
        raise ParameterError(f"{name} is {value!r}: write a finite number of at least 0")
    return number


def check_verdicts(values: Sequence[bool], name: str) -> list[bool]:
    """Check that every value is a verdict, and return them as booleans: 0 and 1, or NumPy's booleans, become booleans."""
    verdicts = [*values]  # an iterator can be read only once
    if _BOOLEAN.issuperset(map(type, verdicts)):  # the usual case
        return verdicts
    for index, value in enumerate(verdicts):
        if value not in (True, False):  # not a set: the value may have no hash
            raise ParameterError(f"{name}[{index}] is {value!r}: a verdict is True or False")
    return list(map(bool, verdicts))


def divide(numerator: float, denominator: int) -> float | None:
    """Return a quotient; None if it is 0/0."""
    return numerator / denominator if denominator else None
