"""Keys that a model adds to an entry of its own accord, and what they say against the verdict of the entry.

An entry has a verdict under one key. Some models add another verdict (``"label": "unsupported"``), a probability, or a
reason. What these keys say decides nothing: it may show that the verdict is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.prompts import Pack

# The keys of an entry, and of its evidence, that the prompt asks for.
_ASKED_KEYS = frozenset({"evidence", "missing", "supported", "quote", "useful", "context", "whole"})
# The words for keys and values, and the beginnings of reasons.
_WORDS: Mapping[str, Any] = read_data("judges.llm", "words.toml")["own_keys"]
_NO_LETTER = re.compile(r"[^a-z]+")
# A probability below this says no.
_LEAST_PROBABILITY = 0.5
# Characters of a value that are read, and that are repeated.
_LONGEST_READ = 300
_LONGEST_SHOWN = 80


def find_objection(cell: Mapping[str, Any], verdict: bool, pack: Pack) -> str | None:
    """Return the first key and value that say something else than the verdict of an entry, or None.

    Args:
        cell: The entry.
        verdict: Its verdict.
        pack: The prompt's language, for its words for yes and no.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_objection({"supported": True, "label": "not supported"}, True, get_pack("en"))
    'label: not supported'
    >>> find_objection({"supported": True, "contradicted": False}, True, get_pack("en"))
    """
    if cell.keys() <= _ASKED_KEYS and cell.get("missing") is not True:
        return _find_objection_in_evidence(cell, verdict, pack)
    if verdict and cell.get("missing") is True:
        return "missing: true"
    for key, value in _list_own_values(cell):
        opinion = _read_opinion(key, value, pack)
        if opinion is not None and opinion is not verdict:
            return f"{key}: {value}"[:_LONGEST_SHOWN]
    return _find_objection_in_evidence(cell, verdict, pack)


def _find_objection_in_evidence(cell: Mapping[str, Any], verdict: bool, pack: Pack) -> str | None:
    """Look at the keys of each piece of evidence of a yes: a model may quote what speaks against it."""
    pieces = cell.get("evidence")
    if not verdict or not isinstance(pieces, (list, tuple)):
        return None
    for piece in pieces:
        if not isinstance(piece, Mapping) or piece.keys() <= _ASKED_KEYS:
            continue
        for key, value in _list_own_values(piece):
            if _read_opinion(key, value, pack) is False:
                return f"{key}: {value}"[:_LONGEST_SHOWN]
    return None


def _list_own_values(cell: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys that were not asked for, with their values; of an object, the keys within it."""
    for key, value in cell.items():
        if key in _ASKED_KEYS:
            continue
        if isinstance(value, Mapping):
            for inner_key, inner_value in value.items():
                yield str(inner_key), inner_value
        else:
            yield str(key), value


def _read_opinion(key: str, value: Any, pack: Pack) -> bool | None:
    """Return what a key and its value say about an entry: yes, no, or None for neither."""
    name = _NO_LETTER.sub("", key.casefold())
    if name in _get_words("reasons"):
        return False if isinstance(value, str) and _denies(value) else None
    if name in _get_words("probabilities"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return False if is_number and 0 <= value < _LEAST_PROBABILITY else None
    is_yes = _read_value(value, pack)
    if name in _get_words("denials"):
        return False if is_yes else None
    return is_yes if name in _get_words("verdicts") else None


def _read_value(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a value of such a key is, or None."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    word = " ".join(value[:_LONGEST_READ].casefold().replace("_", " ").replace("-", " ").split()).strip(
        ".!"
    )
    if word in pack.yes or word in _get_words("yes"):
        return True
    return False if word in pack.no or word in _get_words("no") else None


def _denies(reason: str) -> bool:
    """Whether a reason begins with what speaks against a yes, and takes nothing back."""
    text = reason[:_LONGEST_READ].strip().casefold()
    if not text.startswith(tuple(_get_words("denying_beginnings"))):
        return False
    return _get_words("turns").isdisjoint(re.findall(r"\w+", text))


@lru_cache(maxsize=16)
def _get_words(name: str) -> frozenset[str]:
    """Return a list of words."""
    return frozenset(_WORDS[name])
