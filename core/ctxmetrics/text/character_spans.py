"""A stretch of a text, whether a text says anything, and where a number begins and ends in it."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from ctxmetrics._internal.patterns import compile_on_use

_LETTER_OR_DIGIT = compile_on_use(r"[^\W_]")
# Between two characters of one number: two digits; a digit and a fraction, group, part or range behind it (a comma joins up to
# three digits, so that it also separates columns); a digit and its per cent sign; a minus sign, which begins no line, and a digit.
_JOINT = r"[.:/'’⁄\u066b\u066c\-–−]"
_COMMA = r"\d{1,3}(?!\d)"
# The pattern of a place inside a number: a text that ends or begins there holds another number (3 in 3.5).
INSIDE_NUMBER: str = (
    rf"(?:(?<=\d)(?=[\d¼-¾⅐-⅞]|{_JOINT}\d|,{_COMMA}|\s?%)"
    rf"|(?<=\d{_JOINT})(?=\d)|(?<=\d,)(?={_COMMA})|(?<=[^\S\n][-–−])(?=\d)|(?<=\d\s)(?=%))"
)
INSIDE_NUMBER_PATTERN = compile_on_use(INSIDE_NUMBER)
NUMBER = compile_on_use(rf"(?:(?<!\S)-)?\d+(?:(?:{_JOINT}|,)\d+)*")


class Span(NamedTuple):
    """A stretch of a text: ``text[start:end]``."""

    start: int
    end: int


def has_content(text: str) -> bool:
    """Whether a text holds a letter or a digit."""
    return _LETTER_OR_DIGIT.search(text) is not None


def is_visible(text: str) -> bool:
    """Whether a text holds a character that is seen: neither white space nor one of no width.

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
