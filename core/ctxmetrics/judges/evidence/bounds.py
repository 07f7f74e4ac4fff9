"""Bounds of numbers: "at least 20 kg" and "up to 20 kg" hold the same number and say the contrary.

The phrases stand in ``bounds.json``. One counts if it stands right before its number or right behind it, or with one word between
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import Token, read_phrase

# What measures no amount, so that "until 20:00" is no bound.
_NO_AMOUNT = frozenset(("time", "date", "code", "zone"))


class Bound(NamedTuple):
    """What a phrase says of a number.

    Attributes:
        is_least: Whether the number is the least; else it is the most.
        spelling: The phrase and the number.
    """

    is_least: bool
    spelling: str


class BoundPhrases(NamedTuple):
    """The phrases that say whether a number is the least or the most.

    Attributes:
        before: Whether a phrase before its number says that it is the least, by its words.
        behind: The same of the phrases behind it.
        longest: How many words the longest has.
        beside: The words that stand beside a number: the last ones of phrases before it, the first ones of those behind it.
    """

    before: Mapping[str, bool]
    behind: Mapping[str, bool]
    longest: int
    beside: AbstractSet[str]

    def find(self, words: Sequence[Token], position: int) -> Bound | None:
        """Return the bound of the number at a position.

        >>> from ctxmetrics.judges.evidence.words import tokens
        >>> read_phrases().find(tokens("It may weigh up to 20 kg."), 5)
        Bound(is_least=False, spelling='up to 20 kg')
        """
        spelling = words[position].spelling
        if spelling[-1] == "+":  # 18+
            return Bound(True, spelling)
        near = words[max(0, position - 2) : position + 3]
        if self.beside.isdisjoint([word.folded for word in near]):
            return None  # the usual case
        for edge in (position, position - 1):
            for size in range(min(self.longest, edge), 0, -1):
                is_least = self.before.get(_join(words[edge - size : edge]))
                if is_least is not None:
                    return Bound(is_least, _spell(words[edge - size : position + 1]))
        for edge in (position + 1, position + 2):
            for size in range(self.longest, 0, -1):
                is_least = self.behind.get(_join(words[edge : edge + size]))
                if is_least is not None:
                    return Bound(is_least, _spell(words[position : edge + size]))
        return None


def is_amount(token: Token) -> bool:
    """Whether a word is a number that may have a bound."""
    return token.kind == "number" and token.measures not in _NO_AMOUNT


def _join(words: Sequence[Token]) -> str:
    return " ".join([word.folded for word in words])


def _spell(words: Sequence[Token]) -> str:
    return " ".join([word.spelling for word in words])


@lru_cache(maxsize=1)
def read_phrases() -> BoundPhrases:
    """Read the phrases, on first use: the patterns of all scripts, which they need, take some milliseconds."""
    lists = read_data("judges.evidence", "bounds.json")
    tables: list[dict[str, bool]] = []
    for ending in ("", "_behind"):
        table: dict[str, bool] = {}
        for name in ("least", "most"):
            for phrase in lists[name + ending]:
                table[_join(read_phrase(phrase))] = name == "least"
        tables.append(table)
    longest = max(key.count(" ") for table in tables for key in table) + 1
    beside = {key.rsplit(maxsplit=1)[-1] for key in tables[0]}
    beside.update(key.split(maxsplit=1)[0] for key in tables[1])
    return BoundPhrases(tables[0], tables[1], longest, beside)
