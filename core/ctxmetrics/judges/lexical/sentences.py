"""Cutting a text of any length into sentences that are short enough to show."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxmetrics.text import Span, sentence_spans

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SENTENCE = 1_000
"""A sentence of more characters (a table, a log) is cut at white space: evidence stays readable."""
_MAX_BLOCK = 20_000
_SURROGATE = re.compile("[\ud800-\udfff]")


def sentences(text: str) -> Iterator[Span]:
    """Yield the sentences of a text, none of them longer than `MAX_SENTENCE`."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a character: the splitter refuses it
            text = _SURROGATE.sub("\ufffd", text)
    position = 0
    while position < len(text):
        block = _piece(text, position, len(text), _MAX_BLOCK)
        whole = position == 0 and block == len(text)
        for span in sentence_spans(text if whole else text[position:block]):
            start, last = position + span.start, position + span.end
            if last - start <= MAX_SENTENCE:
                yield Span(start, last)
                continue
            while start < last:
                end = _piece(text, start, last, MAX_SENTENCE)
                yield Span(start, start + len(text[start:end].rstrip()))
                start = end
        position = block


def _piece(text: str, start: int, end: int, longest: int) -> int:
    """Return where a piece of at most ``longest`` characters ends: at the end, a line, a space, or anywhere."""
    if end - start <= longest:
        return end
    for mark in ("\n", " "):
        found = text.rfind(mark, start + longest // 2, start + longest)
        if found >= 0:
            return found + 1
    return start + longest
