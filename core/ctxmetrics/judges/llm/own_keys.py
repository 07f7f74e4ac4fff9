"""Keys that a model adds to a reply of its own accord, and what they say against a verdict.

An entry has a verdict under one key. Some models add another verdict (``"label": "unsupported"``), a probability, or a
reason; or they add a second list (``"final": {"s4": false}``). What these keys say decides nothing: it may show that a
verdict is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.prompts import Pack

# The keys that the prompt asks for: in an entry, beside its verdict, and in a piece of evidence.
_KEYS_OF_ENTRY = frozenset({"evidence", "missing", "quote"})
_KEYS_OF_EVIDENCE = frozenset({"context", "quote", "whole"})
# The lists of a reply.
_LISTS = ("sentences", "useful")
# The words for keys and values, and the beginnings of reasons.
_WORDS: Mapping[str, Any] = read_data("judges.llm", "words.toml")["own_keys"]
# What may stand around an id.
_AROUND_ID = " \t\n[](){}<>\"'`*.:#"
_NO_LETTER = re.compile(r"[^a-z]+")
# A probability below this says no.
_LEAST_PROBABILITY = 0.5
# Characters of a value that are read, and that are repeated.
_LONGEST_READ = 300
_LONGEST_SHOWN = 80


def find_objection(cell: Mapping[str, Any], key: str, verdict: bool, pack: Pack) -> str | None:
    """Return the first key and value that say something else than the verdict of an entry, or None.

    Args:
        cell: The entry.
        key: The key of its verdict.
        verdict: Its verdict.
        pack: The prompt's language, for its words for yes and no.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_objection({"supported": True, "label": "not supported"}, "supported", True, get_pack("en"))
    'label: not supported'
    >>> find_objection({"supported": True, "contradicted": False}, "supported", True, get_pack("en"))
    """
    if verdict and cell.get("missing") is True:
        return "missing: true"
    for own_key, value in _list_own_values(cell, {*_KEYS_OF_ENTRY, key}):
        opinion = _read_opinion(own_key, value, pack)
        if opinion is not None and opinion is not verdict:
            return f"{own_key}: {value}"[:_LONGEST_SHOWN]
    # A model may quote what speaks against a yes.
    pieces = cell.get("evidence")
    if not verdict or not isinstance(pieces, (list, tuple)):
        return None
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        for own_key, value in _list_own_values(piece, _KEYS_OF_EVIDENCE):
            if _read_opinion(own_key, value, pack) is False:
                return f"{own_key}: {value}"[:_LONGEST_SHOWN]
    return None


class OtherVerdict(NamedTuple):
    """A verdict about an id that stands outside of its entry.

    Attributes:
        id: The id.
        verdict: The verdict.
        place: Where it stands.
    """

    id: str
    verdict: bool
    place: str


def find_other_verdicts(
    data: Mapping[str, Any], ids: Collection[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Find verdicts about ids outside of their entries: in a second list, or under another spelling of the id.

    Args:
        data: The reply.
        ids: The ids that were asked.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"sentences": {"s1": {"supported": True}, "S2": {"supported": True}}, "unsupported": ["s1"]}
    >>> [tuple(one) for one in find_other_verdicts(reply, ["s1", "s2"], get_pack("en"))]
    [('s2', True, 'S2'), ('s1', False, 'unsupported')]
    """
    for key, value in data.items():
        if isinstance(value, (list, tuple)):
            if _NO_LETTER.sub("", str(key).casefold()) not in _get_words("denials"):
                continue
            for item in value:
                if isinstance(item, str) and item in ids:
                    yield OtherVerdict(item, False, str(key))
        elif isinstance(value, Mapping) and key in _LISTS:
            names = [name for name in value if str(name).strip() not in ids]
            yield from _read_list({name: value[name] for name in names}, ids, None, pack)
        elif isinstance(value, Mapping):
            yield from _read_list(value, ids, str(key), pack)
            for name in _LISTS:
                if isinstance(value.get(name), Mapping):
                    yield from _read_list(value[name], ids, str(key), pack)


def _read_list(
    cells: Mapping[str, Any], ids: Collection[str], place: str | None, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read the verdicts of a list about ids, in whatever spelling; the place of None is the spelling."""
    for name, content in cells.items():
        id_ = str(name).casefold().strip(_AROUND_ID)
        if id_ not in ids:
            continue
        cell = content if isinstance(content, Mapping) else {"verdict": content}
        for key, value in _list_own_values(cell, _KEYS_OF_ENTRY):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            opinion = None if is_number else _read_opinion(key, value, pack)
            if opinion is not None:
                yield OtherVerdict(id_, opinion, str(name) if place is None else place)


def _list_own_values(cell: Mapping[str, Any], asked: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the keys that were not asked for, with their values; of an object, the keys within it."""
    for key, value in cell.items():
        if key in asked:
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
    if name in _get_words("verdicts") and is_yes is None and isinstance(value, (int, float)):
        return bool(value) if value in (0, 1) else None
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
