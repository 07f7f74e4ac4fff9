"""Spans of sources, compared character by character."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

from ctxmetrics.errors import ParameterError
from ctxmetrics.formulas.ranks import divide

# A part of a source: the name of the source, the index of the first character, and the index behind the last character.
Span = tuple[str, int, int]


def span_recall(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Share of the reference characters that stand in a retrieved span.

    ``|reference and retrieved| / |reference|``, as sets of characters, in 0..1: an overlap counts once.

    Args:
        reference: Spans ``(source, start, end)`` of what should have been retrieved; the order does not matter.
        retrieved: Spans of what was retrieved; the order does not matter.

    Returns:
        The recall; 0.0 if nothing was retrieved; ``None`` without reference spans.

    Raises:
        ParameterError: A span is no ``(source, start, end)`` with whole numbers, 0 <= start < end.

    Source:
        Recall of Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval, Chroma,
        https://research.trychroma.com/evaluating-chunking, in characters instead of tokens.

    >>> span_recall([("a", 0, 10)], [("a", 5, 20), ("a", 5, 20), ("b", 0, 5)])
    0.5
    """
    reference_union = merged_spans(reference)
    common = _intersect(reference_union, merged_spans(retrieved))
    return divide(_count_characters(common), _count_characters(reference_union))


def span_precision(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Share of the retrieved characters that are reference text.

    ``|reference and retrieved| / sum of the retrieved lengths``, in 0..1. Text that is retrieved twice
    counts twice in the denominator and once in the numerator.

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
    retrieved = _check_spans(retrieved)
    return divide(_count_characters(common_spans(reference, retrieved)), _count_characters(retrieved))


def span_iou(reference: Sequence[Span], retrieved: Sequence[Span]) -> float | None:
    """Intersection over union of reference and retrieved characters.

    ``common / (sum of the retrieved lengths + |reference| - common)``, in 0..1, with
    ``common = |reference and retrieved|``. Text that is retrieved twice counts twice in the denominator.

    Args:
        reference: As for `span_recall`.
        retrieved: As for `span_recall`.

    Returns:
        The share; 0.0 if one side is empty; ``None`` where both are.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Intersection over union of the report that `span_recall` names.

    >>> span_iou([("a", 0, 10)], [("a", 5, 15), ("a", 5, 15)])
    0.2
    """
    retrieved = _check_spans(retrieved)
    reference_union = merged_spans(reference)
    common = _count_characters(_intersect(reference_union, merged_spans(retrieved)))
    return divide(common, _count_characters(retrieved) + _count_characters(reference_union) - common)


def covered_spans(spans: Sequence[Span], by: Sequence[Span], least: float) -> tuple[bool, ...]:
    """For each span, whether other spans together hold a minimum share of its characters.

    Args:
        spans: The spans that are checked.
        by: The other spans.
        least: The minimum share, 0 to 1. Even for 0, one character is needed.

    Returns:
        One verdict per span, in their order.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Defined here.

    >>> covered_spans([("a", 0, 10), ("a", 10, 20)], [("a", 0, 3), ("a", 4, 12)], 0.5)
    (True, False)
    """
    union = merged_spans(by)
    verdicts = []
    for span in _check_spans(spans):
        covered_characters = _count_characters(_intersect([span], union))
        verdicts.append(_has_share(covered_characters, span, least))
    return tuple(verdicts)


def relevant_spans(
    retrieved: Sequence[Span], reference: Sequence[Span], least: float
) -> tuple[bool, ...]:
    """For each retrieved span, whether it is relevant.

    It is relevant if it holds at least a minimum share of one reference span, or if at least that share of its own characters is
    reference text.

    Args:
        retrieved: Spans in rank order.
        reference: As for `span_recall`.
        least: The minimum share, 0 to 1. Even for 0, one character is needed.

    Returns:
        One verdict per retrieved span, in their order; they can go into `average_precision`.

    Raises:
        ParameterError: As for `span_recall`.

    Source:
        Defined here.

    >>> relevant_spans([("a", 0, 100), ("a", 8, 12), ("a", 9, 12)], [("a", 0, 10)], 0.5)
    (True, True, False)
    """
    retrieved = _check_spans(retrieved)
    reference = _check_spans(reference)
    are_reference_text = covered_spans(retrieved, reference, least)
    verdicts = []
    for span, is_reference_text in zip(retrieved, are_reference_text, strict=True):
        verdicts.append(is_reference_text or _holds_share_of_any(span, reference, least))
    return tuple(verdicts)


def _holds_share_of_any(span: Span, reference: Sequence[Span], min_share: float) -> bool:
    """Return whether a span holds at least a minimum share of some reference span."""
    for reference_span in reference:
        common_part = common_span(span, reference_span)
        if common_part is None:
            continue
        if _has_share(_count_characters([common_part]), reference_span, min_share):
            return True
    return False


def merged_spans(spans: Sequence[Span]) -> list[Span]:
    """Return the union of spans, as spans in order that do not overlap or touch.

    Args:
        spans: Spans in any order, which may overlap.

    Raises:
        ParameterError: As for `span_recall`.

    >>> merged_spans([("a", 5, 9), ("b", 0, 1), ("a", 0, 6), ("a", 9, 12)])
    [('a', 0, 12), ('b', 0, 1)]
    """
    merged: list[Span] = []
    for source, start, end in sorted(_check_spans(spans)):
        if merged:
            last_source, last_start, last_end = merged[-1]
            if source == last_source and start <= last_end:
                merged[-1] = (source, last_start, max(end, last_end))
                continue
        merged.append((source, start, end))
    return merged


def common_spans(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """Return the characters that stand in both lists, as spans in order that do not overlap or touch.

    Args:
        first: Spans in any order, which may overlap.
        second: Other spans, also in any order.

    Raises:
        ParameterError: As for `span_recall`.

    >>> common_spans([("a", 0, 10)], [("a", 8, 20), ("a", 2, 4), ("b", 0, 9)])
    [('a', 2, 4), ('a', 8, 10)]
    """
    return _intersect(merged_spans(first), merged_spans(second))


def common_span(span: Span, other: Span) -> Span | None:
    """Return the characters that stand in both spans; None if there are none.

    Args:
        span: A span ``(source, start, end)``. It is not checked.
        other: Another span.

    >>> common_span(("a", 0, 10), ("a", 8, 20))
    ('a', 8, 10)
    """
    source, start, end = span
    other_source, other_start, other_end = other
    if source != other_source or start >= other_end or other_start >= end:
        return None
    return source, max(start, other_start), min(end, other_end)


def characters(spans: Sequence[Span]) -> int:
    """Return the sum of the spans' lengths.

    Raises:
        ParameterError: As for `span_recall`.

    >>> characters([("a", 0, 10), ("a", 5, 10)])
    15
    """
    return _count_characters(_check_spans(spans))


def _intersect(first: Sequence[Span], second: Sequence[Span]) -> list[Span]:
    """Return the characters that stand in both lists of spans. The spans of each list are in order and apart."""
    common: list[Span] = []
    first_index = 0
    second_index = 0
    while first_index < len(first) and second_index < len(second):
        part = common_span(first[first_index], second[second_index])
        if part is not None:
            common.append(part)
        # The span that ends first cannot overlap the next spans of the other list.
        source, _, end = first[first_index]
        other_source, _, other_end = second[second_index]
        if (source, end) <= (other_source, other_end):
            first_index += 1
        else:
            second_index += 1
    return common


def _count_characters(spans: Sequence[Span]) -> int:
    """Return the sum of the lengths of spans that are checked already."""
    return sum(end - start for _, start, end in spans)


def _has_share(count: int, span: Span, min_share: float) -> bool:
    """Tell whether ``count`` characters are at least this share of a span. No character is never enough."""
    _, start, end = span
    return count > 0 and count / (end - start) >= min_share


def _check_spans(spans: Sequence[Span]) -> list[Span]:
    """Check that every span has a source and holds at least one character, and return them as tuples.

    A list is accepted in place of a tuple, and whole numbers of NumPy: a file or a table holds such spans.
    """
    checked_spans: list[Span] = []
    for index, span in enumerate(spans):
        match span:
            case tuple((str(), int(start), int(end))) if 0 <= start < end:  # the usual case
                checked_spans.append(span)
            case (str(source), Integral() as start, Integral() as end) if 0 <= start < end:
                checked_spans.append((source, int(start), int(end)))
            case _:
                raise ParameterError(
                    f"spans[{index}] is {span!r}: write (source, start, end) with 0 <= start < end"
                )
    return checked_spans
