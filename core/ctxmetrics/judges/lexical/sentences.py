"""Cutting a text of any length into sentences that are short enough to show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxmetrics.text import Span, sentence_spans

MAX_SENTENCE = 1_000
"""A sentence of more characters (a table, a log) is cut at white space: evidence stays readable."""


def sentences(text: str) -> Sequence[Span]:
    """Return the sentences of a text, none of them longer than `MAX_SENTENCE`."""
    found = sentence_spans(text)
    if len(text) <= MAX_SENTENCE:
        return found
    return [piece for span in found for piece in _pieces(text, span)]


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """Cut a sentence that is too long: at a line, a space, or anywhere."""
    start, last = span
    while last - start > MAX_SENTENCE:
        marks = (text.rfind(mark, start + MAX_SENTENCE // 2, start + MAX_SENTENCE) + 1 for mark in "\n ")
        end = next((place for place in marks if place), start + MAX_SENTENCE)
        yield Span(start, start + len(text[start:end].rstrip()))
        start = end
    yield Span(start, last)
