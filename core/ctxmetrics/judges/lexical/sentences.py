"""Cutting a text of any length into sentences that are short enough to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmetrics.text import Span, sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_SENTENCE = 1_000
"""A sentence of more characters (a table, a log) is cut at white space: evidence stays readable."""
_MAX_BLOCK = 20_000


def sentences(text: str) -> Sequence[Span]:
    """Return the sentences of a text, none of them longer than `MAX_SENTENCE`."""
    if len(text) <= MAX_SENTENCE:
        return sentence_spans(text)
    found: list[Span] = []
    for block, block_end in _pieces(text, Span(0, len(text)), _MAX_BLOCK):
        for first, last in sentence_spans(text[block:block_end]):
            for start, end in _pieces(text, Span(block + first, block + last), MAX_SENTENCE):
                found.append(Span(start, start + len(text[start:end].rstrip())))
    return found


def _pieces(text: str, span: Span, longest: int) -> Iterator[Span]:
    """Cut a stretch of a text into pieces of at most ``longest`` characters: at a line, a space, or anywhere."""
    start, last = span
    while start < last:
        end = last
        if last - start > longest:
            marks = (text.rfind(mark, start + longest // 2, start + longest) + 1 for mark in "\n ")
            end = next((place for place in marks if place), start + longest)
        yield Span(start, end)
        start = end
