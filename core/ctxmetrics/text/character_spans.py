"""A stretch of a text, and whether a text says anything."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


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
