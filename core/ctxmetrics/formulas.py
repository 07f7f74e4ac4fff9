"""The formulas: verdicts or gains in, one number out.

Pure functions over the standard library. They know no sample, no judge and no convention: what an undefined
value means is for the caller to say.

- A *verdict* is ``True`` or ``False``, or what equals them (``0``, ``1``, NumPy's booleans). Anything else, such
  as ``2``, ``-1`` or ``None``, is an error and never counted: a sum over unchecked verdicts is how a recall of
  1.5 comes about.
- Lists of retrieved things are in rank order, best first.
- ``k`` counts from the top. A ``k`` beyond the end is the whole list; ``k=0`` looks at nothing.
- ``None`` means that the formula is 0/0 there. No function returns NaN.
- Sums run over doubles in rank order, then there is one division, so the same verdicts give the same bits on
  every Python: the built-in ``sum`` rounds differently since 3.12.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeVar

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

# Part of a source: its name, the first character from 0, one past the last character.
Span = tuple[str, int, int]

_T = TypeVar("_T")
_ROUNDING = 1e-12

__all__ = [
    "attribution_precision",
    "attribution_recall",
    "average_precision",
    "characters",
    "common_span",
    "common_spans",
    "covered_spans",
    "hit_rate",
    "merged_spans",
    "ndcg",
    "precision_at_k",
    "reciprocal_rank",
    "redundancy",
    "redundant_contexts",
    "relevant_spans",
    "share",
    "smallest_k",
    "span_iou",
    "span_precision",
    "span_recall",
    "supported_units",
    "unused_contexts",
    "useful_contexts",
]


# --- verdicts -------------------------------------------------------------------------------------------------


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
    checked = _verdicts(verdicts, "verdicts")
    return _ratio(checked.count(True), len(checked))


def average_precision(relevant: Sequence[bool], *, epsilon: float = 0.0) -> float | None:
    """Average precision over the relevant contexts that were *retrieved*.

    ``sum(P@i for every rank i that is relevant) / (relevant retrieved + epsilon)``, in 0..1. It tells whether
    the relevant contexts stand above the others; a relevant context that was not retrieved costs nothing: that
    is recall's part.

    Args:
        relevant: One verdict per retrieved context, in rank order.
        epsilon: Added to the divisor. ``1e-10`` gives the digits of Ragas, whose perfect ranking is
            0.9999999999.

    Returns:
        The average precision, 0.0 when nothing retrieved is relevant, ``None`` for an empty list.

    Raises:
        ParameterError: A verdict is not true or false, or `epsilon` is negative or not finite.

    Source:
        Context precision of Ragas, contextual precision of DeepEval. Not what information retrieval calls AP.

    >>> average_precision([True, False, True]) == (1 / 1 + 2 / 3) / 2
    True
    >>> average_precision([False, True])
    0.5
    >>> average_precision([True], epsilon=1e-10)
    0.9999999999
    >>> average_precision([False, False])
    0.0
    """
    checked = _verdicts(relevant, "relevant")
    added = _not_negative(epsilon, "epsilon")
    if not checked:
        return None
    hits, total = 0, 0.0  # precision@rank over the relevant ranks, added up plainly and in rank order
    for rank, is_relevant in enumerate(checked, start=1):
        if is_relevant:
            hits += 1
            total += hits / rank
    return total / (hits + added) if hits else 0.0


def precision_at_k(relevant: Sequence[bool], k: int) -> float | None:
    """Share of the first `k` contexts that are relevant, where what was not retrieved is not relevant.

    ``relevant among the first k / k``, in 0..1: 2 relevant of 4 retrieved are 0.2 at ``k=10``.

    Args:
        relevant: One verdict per retrieved context, in rank order.
        k: How many contexts from the top count.

    Returns:
        The precision, or ``None`` for ``k=0``.

    Raises:
        ParameterError: A verdict is not true or false, or `k` is not a whole number of at least 0.

    Source:
        ``P_k`` of trec_eval.

    >>> precision_at_k([True, False, True, False], 10)
    0.2
    """
    checked = _verdicts(relevant, "relevant")
    return _ratio(checked[: _count(k, "k")].count(True), k)


def hit_rate(relevant: Sequence[bool]) -> float:
    """Whether any context is relevant: 1.0 or 0.0.

    Args:
        relevant: One verdict per retrieved context, in rank order.

    Returns:
        1.0 or 0.0; 0.0 for an empty list, where there is nothing to hit. Never ``None``.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        ``success_k`` of trec_eval; hit rate of LlamaIndex and ranx.

    >>> hit_rate([False, True]), hit_rate([False])
    (1.0, 0.0)
    """
    return 1.0 if True in _verdicts(relevant, "relevant") else 0.0


def reciprocal_rank(relevant: Sequence[bool]) -> float:
    """One over the rank of the first relevant context; its mean over samples is the MRR.

    ``1 / rank``, in 0..1.

    Args:
        relevant: One verdict per retrieved context, in rank order.

    Returns:
        The reciprocal rank; 0.0 when none is relevant, so also for an empty list. Never ``None``.

    Raises:
        ParameterError: A verdict is not true or false.

    Source:
        ``recip_rank`` of trec_eval.

    >>> reciprocal_rank([False, False, False, True])
    0.25
    """
    checked = _verdicts(relevant, "relevant")
    return 1 / (checked.index(True) + 1) if True in checked else 0.0


def ndcg(gains: Sequence[float], ideal: Sequence[float], k: int | None = None) -> float | None:
    """Normalised discounted cumulative gain, for binary or graded relevance.

    ``DCG(first k of gains) / DCG(k largest of ideal)`` with ``DCG = sum(gain / log2(rank + 1))``, in 0..1.

    Args:
        gains: Relevance of each retrieved context in rank order: 0 for not relevant, 1 for relevant, or grades.
        ideal: Relevance of every relevant context there is, retrieved or not, in any order.
        k: How many contexts from the top count; ``None`` counts all.

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
    retrieved = [_not_negative(gain, f"gains[{index}]") for index, gain in enumerate(gains)]
    best = sorted((_not_negative(gain, f"ideal[{index}]") for index, gain in enumerate(ideal)), reverse=True)
    _check_within_ideal(retrieved, best)
    ideal_sum = _discounted_sum(_top(best, k))
    if ideal_sum == math.inf:
        raise ParameterError("the gains are too large to add up: write smaller relevance grades")
    if not ideal_sum:
        return None
    # Two orders of nearly equal gains may differ in the last bit the wrong way round.
    return min(1.0, _discounted_sum(_top(retrieved, k)) / ideal_sum)


# --- attribution: units x contexts ----------------------------------------------------------------------------


def supported_units(matrix: Sequence[Sequence[bool]], k: int | None = None) -> tuple[bool, ...]:
    """For each unit, whether one of the first `k` contexts supports it.

    Args:
        matrix: One row per unit of the reference, one column per retrieved context in rank order; a cell says
            whether that context supports that unit. A matrix without units has no contexts either.
        k: How many contexts from the top count; ``None`` counts all.

    Returns:
        One verdict per unit; all false for ``k=0`` and where nothing was retrieved.

    Raises:
        ParameterError: A cell is not true or false, the rows differ in length, or `k` is not a whole number of
            at least 0.

    >>> supported_units([[True, False], [False, True], [False, False]])
    (True, True, False)
    >>> supported_units([[True, False], [False, True], [False, False]], k=1)
    (True, False, False)
    """
    return tuple(True in _top(row, k) for row in _matrix(matrix))


def attribution_recall(matrix: Sequence[Sequence[bool]], k: int | None = None) -> float | None:
    """Share of the units that one of the first `k` contexts supports: context recall, and recall@k.

    ``supported units / units``, in 0..1; it never falls as `k` grows.

    Args:
        matrix: Units x contexts, as for `supported_units`.
        k: How many contexts from the top count; ``None`` counts all.

    Returns:
        The recall; 0.0 for ``k=0`` and where nothing was retrieved; ``None`` without units.

    Raises:
        ParameterError: As for `supported_units`.

    Source:
        Claim recall of RAGChecker (Ru et al. 2024, arXiv:2408.08067).

    >>> attribution_recall([[True, False], [False, True], [False, False], [False, True]])
    0.75
    >>> attribution_recall([[True, False], [False, True], [False, False], [False, True]], k=1)
    0.25
    """
    return share(supported_units(matrix, k))


def useful_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[bool, ...]:
    """For each context, whether it supports at least one unit.

    The verdicts can go into `share` (unranked precision) or `average_precision` (ranked).

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        One verdict per context, in rank order; empty without units.

    Raises:
        ParameterError: A cell is not true or false, or the rows differ in length.

    >>> useful_contexts([[True, False, False], [True, True, False]])
    (True, True, False)
    """
    return tuple(True in column for column in zip(*_matrix(matrix), strict=True))


def attribution_precision(matrix: Sequence[Sequence[bool]]) -> float | None:
    """Share of the contexts that support at least one unit; the order does not matter.

    ``useful contexts / contexts``, in 0..1.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        The precision; ``None`` without units or without contexts.

    Raises:
        ParameterError: As for `useful_contexts`.

    Source:
        Context precision of RAGChecker (Ru et al. 2024, arXiv:2408.08067).

    >>> attribution_precision([[True, False, False, False], [True, True, False, True]])
    0.75
    """
    return share(useful_contexts(matrix))


def redundant_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Indices of the contexts that support units, but only units a context above them supports already.

    Reading from the top, these bring nothing new. All of them can be dropped together without losing a unit,
    and retrieving more contexts never changes the answer for those above. (Asking of each context alone whether
    it could go would call both of two equal contexts redundant, though one of them is needed.)

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        Indices from 0, in rank order.

    Raises:
        ParameterError: As for `useful_contexts`.

    >>> redundant_contexts([[True, True, False], [False, False, False]])
    (1,)
    """
    covered: set[int] = set()
    redundant: list[int] = []
    for context, column in enumerate(zip(*_matrix(matrix), strict=True)):
        units = {unit for unit, supported in enumerate(column) if supported}
        if units and units <= covered:
            redundant.append(context)
        covered |= units
    return tuple(redundant)


def redundancy(matrix: Sequence[Sequence[bool]]) -> float | None:
    """Share of the useful contexts that bring nothing new, read from the top.

    ``redundant contexts / useful contexts``, in 0 up to but not including 1: of the useful contexts the first
    one always brings something. It depends on the order: a context that covers the ones above it is not
    redundant. Contexts that support nothing do not count; they lower the precision instead.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        The redundancy; ``None`` when no context supports any unit.

    Raises:
        ParameterError: As for `useful_contexts`.

    Source:
        Defined here; see `redundant_contexts` for the reasons.

    >>> redundancy([[True, True, False, False], [False, False, True, True]])
    0.5
    >>> redundancy([[True, False], [False, True]])
    0.0
    """
    return _ratio(len(redundant_contexts(matrix)), useful_contexts(matrix).count(True))


def unused_contexts(matrix: Sequence[Sequence[bool]]) -> tuple[int, ...]:
    """Indices of the contexts that support no unit.

    Args:
        matrix: Units x contexts, as for `supported_units`.

    Returns:
        Indices from 0, in rank order; empty without units.

    Raises:
        ParameterError: As for `useful_contexts`.

    >>> unused_contexts([[True, False, False], [True, True, False]])
    (2,)
    """
    return tuple(context for context, useful in enumerate(useful_contexts(matrix)) if not useful)


def smallest_k(recalls: Sequence[float], keep: float) -> int | None:
    """The smallest k whose recall is at least a share of the recall with all contexts.

    ``min(k : recall@k >= keep * recall@n)``. Contexts below rank k cost at most the rest of the share.

    Args:
        recalls: recall@1, recall@2 .. recall@n: of one sample, or means over samples.
        keep: The share, above 0, up to 1.

    Returns:
        k, from 1; ``None`` where nothing is retrieved, or the recall is 0.

    Source:
        Defined here.

    >>> smallest_k([0.4, 0.7, 0.78, 0.8], 0.95)
    3
    >>> print(smallest_k([0.0, 0.0], 0.95))
    None
    """
    if not recalls or not recalls[-1]:
        return None
    least = keep * recalls[-1] - _ROUNDING  # sums of doubles in another order differ in the last bits
    return next(k for k, recall in enumerate(recalls, start=1) if recall >= least)


# --- spans of sources -----------------------------------------------------------------------------------------


def span_recall(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Share of the reference characters that stand in a retrieved span.

    ``|reference and retrieved| / |reference|``, as sets of characters, in 0..1: an overlap counts once.

    Args:
        reference: Spans ``(source, start, end)`` of what should have been retrieved; the order does not matter.
        retrieved: Spans of what was retrieved; the order does not matter.

    Returns:
        The recall; 0.0 where nothing was retrieved; ``None`` without reference spans.

    Raises:
        ParameterError: A span is no ``(source, start, end)`` with whole numbers, 0 <= start < end.

    Source:
        Recall of Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma,
        https://research.trychroma.com/evaluating-chunking, in characters instead of tokens.

    >>> span_recall([("a", 0, 10)], [("a", 5, 20), ("a", 5, 20), ("b", 0, 5)])
    0.5
    """
    wanted = merged_spans(reference)
    return _ratio(_length(_common(wanted, merged_spans(retrieved))), _length(wanted))


def span_precision(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Share of the retrieved characters that are reference text, each piece of which counts once.

    ``|reference and retrieved| / sum of the retrieved lengths``, in 0..1. What is retrieved twice counts twice below
    the line and once above it: redundancy costs.

    Args:
        reference: As for `span_recall`.
        retrieved: As for `span_recall`.

    Returns:
        The precision; 0.0 without reference spans; ``None`` where nothing was retrieved.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Precision of the report that `span_recall` names.

    >>> span_precision([("a", 0, 10)], [("a", 5, 15), ("a", 5, 15)])
    0.25
    """
    return _ratio(_length(common_spans(reference, retrieved)), _length(retrieved))


def span_iou(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Intersection over union of reference and retrieved characters, where what is retrieved twice counts twice.

    ``common / (sum of the retrieved lengths + |reference| - common)``, in 0..1, with
    ``common = |reference and retrieved|``.

    Args:
        reference: As for `span_recall`.
        retrieved: As for `span_recall`.

    Returns:
        The share; 0.0 where one side is empty; ``None`` where both are.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Intersection over union of the report that `span_recall` names.

    >>> span_iou([("a", 0, 10)], [("a", 5, 15), ("a", 5, 15)])
    0.2
    """
    wanted = merged_spans(reference)
    common = _length(_common(wanted, merged_spans(retrieved)))
    return _ratio(common, _length(retrieved) + _length(wanted) - common)


def covered_spans(spans: Sequence[Span], by: Sequence[Span], least: float) -> tuple[bool, ...]:
    """For each span, whether at least a share of its characters stands in the others.

    Args:
        spans: The spans that are asked about.
        by: The others, together.
        least: The share, 0 to 1; one character is needed also for 0.

    Returns:
        One verdict per span, in their order.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Defined here.

    >>> covered_spans([("a", 0, 10), ("a", 10, 20)], [("a", 0, 3), ("a", 4, 12)], 0.5)
    (True, False)
    """
    others = merged_spans(by)
    return tuple(_enough(_length(_common([span], others)), span, least) for span in _spans(spans, "spans"))


def relevant_spans(retrieved: Sequence[Span], reference: Sequence[Span], least: float) -> tuple[bool, ...]:
    """For each retrieved span, whether it is relevant.

    It is where it holds at least a share of one reference span, or is reference text to at least that share.

    Args:
        retrieved: Spans in rank order.
        reference: As for `span_recall`.
        least: The share, 0 to 1; one character is needed also for 0.

    Returns:
        One verdict per retrieved span, in their order; they can go into `average_precision`.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Defined here.

    >>> relevant_spans([("a", 0, 100), ("a", 8, 12), ("a", 9, 12)], [("a", 0, 10)], 0.5)
    (True, True, False)
    """
    filled = covered_spans(retrieved, reference, least)
    return tuple(
        full
        or any(
            _enough(_length([part]), other, least)
            for other in reference
            if (part := common_span(span, other))
        )
        for span, full in zip(retrieved, filled, strict=True)
    )


def merged_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans: spans that are in order and apart, with the same characters.

    Args:
        spans: Spans in any order, which may overlap.

    Raises:
        ParameterError: As for `span_recall`.

    >>> merged_spans([("a", 5, 9), ("b", 0, 1), ("a", 0, 6), ("a", 9, 12)])
    [('a', 0, 12), ('b', 0, 1)]
    """
    merged: list[Span] = []
    for source, start, end in sorted(_spans(spans, "spans")):
        if merged and merged[-1][0] == source and start <= merged[-1][2]:
            _, begin, last = merged[-1]
            merged[-1] = (source, begin, max(end, last))
        else:
            merged.append((source, start, end))
    return merged


def common_spans(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """Return the characters that stand in both, as spans that are in order and apart.

    Args:
        first: Spans in any order, which may overlap.
        second: The same.

    Raises:
        ParameterError: As for `span_recall`.

    >>> common_spans([("a", 0, 10)], [("a", 8, 20), ("a", 2, 4), ("b", 0, 9)])
    [('a', 2, 4), ('a', 8, 10)]
    """
    return _common(merged_spans(first), merged_spans(second))


def common_span(span: Span, other: Span) -> Span | None:
    """Return the characters that stand in both spans; None where there are none.

    >>> common_span(("a", 0, 10), ("a", 8, 20))
    ('a', 8, 10)
    """
    (source, start, end), (name, begin, last) = span, other
    if source != name or start >= last or begin >= end:
        return None
    return source, max(start, begin), min(end, last)


def characters(spans: Sequence[Span]) -> int:
    """Return the sum of the spans' lengths.

    Raises:
        ParameterError: As for `span_recall`.

    >>> characters([("a", 0, 10), ("a", 5, 10)])
    15
    """
    return _length(_spans(spans, "spans"))


# --- shared steps ---------------------------------------------------------------------------------------------


def _ratio(numerator: float, denominator: int) -> float | None:
    return numerator / denominator if denominator else None


def _common(ours: Sequence[Span], theirs: Sequence[Span]) -> list[Span]:
    """Return what two lists of spans have in common; each is in order, its spans are apart."""
    common: list[Span] = []
    here = there = 0
    while here < len(ours) and there < len(theirs):
        if part := common_span(ours[here], theirs[there]):
            common.append(part)
        (source, _, end), (other, _, last) = ours[here], theirs[there]
        if (source, end) <= (other, last):
            here += 1
        else:
            there += 1
    return common


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for _, start, end in spans)


def _enough(found: int, span: Span, least: float) -> bool:
    return found > 0 and found / (span[2] - span[1]) >= least


def _discounted_sum(gains: list[float]) -> float:
    total = 0.0
    for rank, value in enumerate(gains, start=1):
        total += value / math.log2(rank + 1)
    return total


def _top(ranked: list[_T], k: int | None) -> list[_T]:
    return ranked if k is None else ranked[: _count(k, "k")]


# --- checks ---------------------------------------------------------------------------------------------------


def _verdicts(values: Sequence[bool], name: str) -> list[bool]:
    """Check that every value is a verdict; what equals a boolean, such as 0 and 1, becomes one."""
    checked = []
    for index, value in enumerate(values):
        if value not in (True, False):  # a tuple, because a value that cannot be hashed is asked too
            raise ParameterError(f"{name}[{index}] is {value!r}: a verdict is True or False")
        checked.append(bool(value))
    return checked


def _matrix(matrix: Sequence[Sequence[bool]]) -> list[list[bool]]:
    rows = [_verdicts(row, f"matrix[{unit}]") for unit, row in enumerate(matrix)]
    for unit, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ParameterError(
                f"matrix[{unit}] has {len(row)} contexts but matrix[0] has {len(rows[0])}: "
                "write one verdict per context for every unit"
            )
    return rows


def _is_span(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) != 3:  # noqa: PLR2004 - source, start, end
        return False
    source, start, end = value
    return isinstance(source, str) and isinstance(start, int) and isinstance(end, int) and 0 <= start < end


def _spans(values: Sequence[Span], name: str) -> Sequence[Span]:
    """Check that every span has a source and holds at least one character."""
    for index, value in enumerate(values):
        if not _is_span(value):
            raise ParameterError(
                f"{name}[{index}] is {value!r}: write (source, start, end) with 0 <= start < end"
            )
    return values


def _count(value: int, name: str) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ParameterError(f"{name} is {value!r}: write a whole number of at least 0")
    return int(value)


def _not_negative(value: float, name: str) -> float:
    number = math.nan  # of what is no number
    if isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not 0.0 <= number < math.inf:  # false for NaN too
        raise ParameterError(f"{name} is {value!r}: write a finite number of at least 0")
    return number


def _check_within_ideal(gains: list[float], ideal: list[float]) -> None:
    """Check that the k largest gains never exceed the k largest of the ideal, for every k."""
    largest = sorted((gain for gain in gains if gain > 0), reverse=True)
    if len(largest) > len(ideal) or any(mine > best for mine, best in zip(largest, ideal, strict=False)):
        raise ParameterError(
            "gains holds more relevance than ideal: list every relevant context in ideal, "
            "and give the repetition of a context the gain 0"
        )
