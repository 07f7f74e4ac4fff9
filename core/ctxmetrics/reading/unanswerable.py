"""References that name no fact: the columns that say that a question has no answer, refusals, and a yes or no alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import chain
from typing import Any

from ctxmetrics._internal.data_files import read_data, read_words
from ctxmetrics.reading.names import letters_of

# The label of a sample whose question has no answer.
LABEL = "unanswerable"
# Columns of public data sets that say so, by the letters of their names, and what a yes in them means; a yes and a no.
_WORDS = read_words("reading", "keys.json", "unanswerable")
_COLUMNS = {
    **dict.fromkeys(_WORDS["without_answer"], True),
    **dict.fromkeys(_WORDS["with_answer"], False),
}
_VALUES = {**dict.fromkeys(_WORDS["yes"], True), **dict.fromkeys(_WORDS["no"], False)}
# The most characters of a refusal.
_LONGEST = 80


def is_column(name: str) -> bool:
    """Whether a column says whether questions have an answer."""
    return letters_of(name) in _COLUMNS


def has_mark(row: Mapping[str, Any]) -> bool:
    """Whether a row marks its question as one that has no answer."""
    for key, value in row.items():
        means_none = _COLUMNS.get(letters_of(str(key)))
        cell = value[0] if isinstance(value, list) and len(value) == 1 else value
        yes = _VALUES.get(str(cell).strip().casefold().removesuffix(".0"))
        if means_none is not None and yes is means_none:
            return True
    return False


@cache
def _phrases() -> dict[str, str]:
    """Return the kind of each phrase of ``refusals.json``."""
    kinds: dict[str, str] = {}
    for kind, by_language in read_data("reading", "refusals.json").items():
        if kind != "note":
            for phrase in chain.from_iterable(by_language.values()):
                kinds[_plain(phrase)] = kind
    return kinds


def _plain(text: str) -> str:
    """Return a text without case and punctuation."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"['’]", "", text.casefold()))
    return " ".join(words.split())


@lru_cache(maxsize=1024)  # several parts ask about the same reference
def phrase_kind(text: str) -> str:
    """Return ``refusal`` for a reference that says that there is no answer, ``yes_no`` for a yes or a no and nothing else.

    A refusal is one of the phrases in ``refusals.json`` and no more. Any other text is of no kind, which is an empty text.
    """
    return _phrases().get(_plain(text), "") if len(text) <= _LONGEST else ""
