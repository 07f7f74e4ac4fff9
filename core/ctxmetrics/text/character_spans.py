"""Spans of a text; whether a text holds letters or digits; whether a position is inside a number."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from ctxmetrics._internal.patterns import compile_on_use

_LETTER_OR_DIGIT = compile_on_use(r"[^\W_]")
# The parts of the pattern below. A mark between two digits of a number: 3.5, 12:30, 10-12.
_JOINT = r"[.:/'’⁄\u066b\u066c\-–−]"
# The digits behind a comma of a number: 1,000. More than three digits may belong to another column of a table.
_COMMA = r"\d{1,3}(?!\d)"
# A position inside a number, such as before the "." of 3.5. A text that begins or ends there would hold another number (3). It is
# between two digits, at one of the marks above, before a fraction (1½) or a per cent sign (5 %), or behind a minus sign (-5).
INSIDE_NUMBER: str = (
    rf"(?:(?<=\d)(?=[\d¼-¾⅐-⅞]|{_JOINT}\d|,{_COMMA}|\s?%)"
    rf"|(?<=\d{_JOINT})(?=\d)|(?<=\d,)(?={_COMMA})|(?<=[^\S\n][-–−])(?=\d)|(?<=\d\s)(?=%))"
)
INSIDE_NUMBER_PATTERN = compile_on_use(INSIDE_NUMBER)
NUMBER = compile_on_use(rf"(?:(?<!\S)-)?\d+(?:(?:{_JOINT}|,)\d+)*")


class Span(NamedTuple):
    """A part of a text: ``text[start:end]``."""

    start: int
    end: int


def has_content(text: str) -> bool:
    """Whether a text holds a letter or a digit."""
    return _LETTER_OR_DIGIT.search(text) is not None


def is_visible(text: str) -> bool:
    """Tell whether a text holds a visible character: neither white space nor a character without width.

    >>> is_visible("-"), is_visible(" ")
    (True, False)
    """
    if text.isascii():
        return bool(text.strip())
    return any(not char.isspace() and unicodedata.category(char) != "Cf" for char in text)


def is_inside_number_or_word(text: str, place: int) -> bool:
    """Whether a place of a text is inside a number, or a word of a script with spaces."""
    pair = text[max(place - 1, 0) : place + 1]
    is_word = len(pair) > 1 and pair.isalnum() and max(pair) < "\u0e00"
    return is_word or INSIDE_NUMBER_PATTERN.match(text, place) is not None
