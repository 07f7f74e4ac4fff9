"""References that name no fact: the columns that say that a question has no answer, refusals, and a yes or no alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ctxmetrics.reading.names import letters_of

# The label of a sample whose question has no answer.
LABEL = "unanswerable"
# Columns of public data sets that say so, by the letters of their names, and what a yes in them means.
_COLUMNS: Mapping[str, bool] = {
    **dict.fromkeys(("unanswerable", "isunanswerable", "isimpossible", "impossible", "noanswer"), True),
    **dict.fromkeys(("answerable", "isanswerable", "hasanswer", "answerability"), False),
}
# A yes and a no, as cells write them.
_VALUES: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "1", "answerable"), True),
    **dict.fromkeys(("false", "no", "0", "unanswerable"), False),
}
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
def _phrases(kind: str) -> frozenset[str]:
    text = files("ctxmetrics.reading").joinpath("refusals.json").read_text(encoding="utf-8")
    phrases: set[str] = set()
    for listed in json.loads(text)[kind].values():
        phrases.update(map(_plain, listed))
    return frozenset(phrases)


def _plain(text: str) -> str:
    """Return a text without case and punctuation."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"['’]", "", text.casefold()))
    return " ".join(words.split())


def is_refusal(text: str) -> bool:
    """Whether a reference says that there is no answer: it is one of the phrases in ``refusals.json`` and no more."""
    return len(text) <= _LONGEST and _plain(text) in _phrases("phrases")


def is_yes_or_no(text: str) -> bool:
    """Whether a reference is a yes or a no and nothing else."""
    return len(text) <= _LONGEST and _plain(text) in _phrases("yes_no")
