"""Numbers in the place of another number."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from ctxmetrics.judges.evidence.words import Token

# The kinds of words that are numbers.
NUMBERS = frozenset({"number", "count"})
_YEAR = re.compile(r"1\d{3}|20\d{2}")
# A day of a month, as the parts of a date name it.
_DAY = re.compile(r"--\d\d-\d\d")


def list_values(words: Iterable[Token]) -> frozenset[str]:
    """List the keys of the numbers among some words, and of what they hold: a date holds its year, and its day and month."""
    keys: set[str] = set()
    for word in words:
        if word.kind == "number":
            keys.add(word.key)
            keys.update(part for part in word.parts if part.isdecimal() or _DAY.fullmatch(part))
    return frozenset(keys)


def find_rival(number: Token, words: Iterable[Token], excluded: Container[str]) -> Token | None:
    """Find a number of the same measure that may stand in the place of a number; a year has no rival but another year.

    Args:
        number: The number.
        words: The words among which the other one is looked for.
        excluded: The keys of numbers that are no rivals.
    """
    for word in words:
        if word.kind != "number" or word.key in excluded or word.key == number.key:
            continue
        if word.measures == number.measures and _is_year(word.key) == _is_year(number.key):
            return word
    return None


def _is_year(key: str) -> bool:
    """Tell whether a number may be a year."""
    return _YEAR.fullmatch(key) is not None
