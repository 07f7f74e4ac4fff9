"""Keys that a model adds to a reply of its own accord, and what they say against a verdict.

An entry has a verdict under one key. Some models add another verdict (``"label": "unsupported"``), a probability, a grade, a
list of errors, or a reason; or they add a second list (``"final": {"s4": false}``), a count, or a sentence about several ids.
What these keys say decides nothing: it may show that a verdict is doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
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
# An id of a sentence or a context, and what may stand between ids of a list.
_ID = re.compile(r"\b[sc]\d+\b")
_BETWEEN_IDS = re.compile(r"[\s,;&+]|\band\b")
# Ids that a text denies: "s4, s5 and s6 are not supported".
_DENIED_IDS = re.compile(
    r"""
    (?P<ids> \b[sc]\d+\b (?: (?:\s*[,;&]\s* | \s+and\s+ | ,\s*and\s+) [sc]\d+\b )* )
    \s+ (?:is|are|should\s+be|was|were) \s+ (?:in\s+fact\s+ | actually\s+ | also\s+)?
    (?: not\s+(?:supported|stated|useful|relevant) | unsupported | useless | irrelevant | contradicted | false | wrong | no\b(?!\s+(?!and\b|or\b)\w) )
    (?! \s+ (?:by|in|to|for) \s+ s\d )  # a context that is not relevant to s2 may be to s1
    (?! \s+ (?:by|in) \s+ c\d+ \s* [,;]? \s* (?: (?:but|however|although|though|while|only)\b | c\d+\s+(?:states|supports|says)\b ) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
# A grade as a share: 2/10, 20 %.
_FRACTION = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(\d+)")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|percent)")
# A probability or a grade below this share says no.
_LEAST_PROBABILITY = 0.5
# What is left out of the name of a list.
_LIST_ENDINGS = ("sentences", "contexts", "units", "claims", "items", "ids", "list")
# What stands before the conclusion of a reason. Behind it "does not .." without a subject may be about a side issue.
_BUT = re.compile(
    r"[,;.]\s*(?:but|however,?)\s+(?=no context|none of|the |this |it is not|there is no)"
)
# What a reason may negate that speaks for a yes: "no context contradicts it".
_OPPOSES = re.compile(
    r"contradict\w*|against|den(?:y|ies)|conflicts?|refutes?|disputes?|opposes?|disagrees?"
)
# What ends a clause of a reason.
_CLAUSE_END = re.compile(r"[,;.](?:\s|$)|\sand\s")
# A context that states something, and a conclusion that says so.
_CONTEXT_STATES = re.compile(
    r"\bc\d+\b.*\b(?:states?|stated|supports?|supported|says|gives|names)\b|\b(?:stated|supported|given|named)\b.*\bc\d+\b"
)
_CONCLUDES_YES = re.compile(
    r"\b(?:so|thus|hence|therefore)\b(?![^.;]*\b(?:not|no|none|nothing)\b)[^.;]*\b(?:is|are)\s+(?:fully\s+)?(?:supported|stated|useful|relevant)\W*$"
)
_DIFFERS = re.compile(
    r"\b(?:not|no|nor|neither|none|another|different|differently|otherwise|instead|opposite|contrary)\b"
)
# "The contexts contain no contradiction."
_NO_FAULT = re.compile(
    r"\bno (?:contradictions?|errors?|issues?|problems?|discrepanc(?:y|ies)|conflicts?|mismatch(?:es)?)$"
)
# Items of a list in an entry that are read.
_MOST_ITEMS = 20
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
        if opinion is not None and opinion is not verdict and not _is_aside(own_key, key, opinion):
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


def _is_aside(own_key: str, key: str, opinion: bool) -> bool:
    """Whether a key says nothing about the verdict under another key.

    A useful context need not state the whole answer. An unsupported sentence may be correct, and about the topic.
    """
    name = _NO_LETTER.sub("", own_key.casefold())
    if opinion:
        return name in _get_words("truths") or (key == "supported" and name in _get_words("topics"))
    return key == "useful" and (name in _get_words("faults") or name.startswith(("part", "ispart")))


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
        if isinstance(value, Mapping) and key in _LISTS:
            names = [name for name in value if str(name).strip() not in ids]
            yield from _read_list({name: value[name] for name in names}, ids, None, pack)
        elif isinstance(value, Mapping):
            yield from _read_list(value, ids, str(key), pack)
            for name in _LISTS:
                if isinstance(value.get(name), Mapping):
                    yield from _read_list(value[name], ids, str(key), pack)
        yield from _read_listed_ids(str(key), value, ids, pack)


def find_denied_ids(text: str) -> Sequence[str]:
    """Find the ids that a text calls unsupported or useless.

    >>> find_denied_ids("Note: s4 and s5 are not supported.")
    ['s4', 's5']
    """
    ids: list[str] = []
    for match in _DENIED_IDS.finditer(text):
        ids += _ID.findall(match["ids"].casefold())
    return ids


def count_supported(data: Mapping[str, Any], total: int) -> Iterator[tuple[str, int]]:
    """Count the supported units as keys beside the lists do.

    Args:
        data: The reply.
        total: How many units it is about.

    Yields:
        Each key, and how many units are supported by it.

    >>> [*count_supported({"supported_count": 3, "score": "3/7"}, 7)]
    [('supported_count', 3), ('score', 3)]
    """
    for key, value in data.items():
        name = _NO_LETTER.sub("", str(key).casefold())
        if isinstance(value, int) and not isinstance(value, bool):
            if name in _get_words("supported_counts"):
                yield str(key), value
            elif name in _get_words("unsupported_counts"):
                yield str(key), total - value
        elif isinstance(value, str) and name in _get_words("grades"):
            fraction = _FRACTION.fullmatch(value.strip())
            if fraction is not None and fraction[2] == str(total):
                yield str(key), round(float(fraction[1]))


def _read_listed_ids(key: str, value: Any, ids: Collection[str], pack: Pack) -> Iterator[OtherVerdict]:
    """Read verdicts about ids that stand in a list, in a text, or in an object of reasons."""
    name = _NO_LETTER.sub("", key.casefold())
    for ending in _LIST_ENDINGS:
        name = name.removesuffix(ending)
    items = _list_items(value)
    if name.removesuffix("s") in _get_words("verdicts"):
        yield from _read_in_order(key, items, ids, pack)
    for id_ in _list_denied_ids(name, value, items, ids):
        if id_ in ids:
            yield OtherVerdict(id_, False, key)
    for item in items:
        if isinstance(item, Mapping) and str(item.get("id", "")) in ids:
            cell = {inner_key: inner for inner_key, inner in item.items() if inner_key != "id"}
            yield from _read_list({item["id"]: cell}, ids, key, pack)


def _list_denied_ids(
    name: str, value: Any, items: Sequence[Any], ids: Collection[str]
) -> Sequence[str]:
    """List the ids that a value denies: those in a list of the unsupported, those that a list of the supported leaves out.

    Args:
        name: What the list is of.
        value: The value.
        items: Its items, as `_list_items` has them.
        ids: The ids that were asked.
    """
    named = [item for item in items if isinstance(item, str) and item in ids]
    if name in _get_words("denials"):
        if isinstance(value, Mapping):  # {"s1": false, "s2": "another year"}
            return [id_ for id_ in named if _says_something(value[id_])]
        return named
    if isinstance(value, str) and not named:
        return find_denied_ids(value[:_LONGEST_READ])
    has_ids_alone = bool(named) and len(named) == len(items) and not isinstance(value, Mapping)
    if name in _get_words("yes") and has_ids_alone:
        return [id_ for id_ in ids if id_ not in named and id_[0] == named[0][0]]
    return []


def _list_items(value: Any) -> Sequence[Any]:
    """List the items of a list, the ids of a text that has nothing else, or the keys of an object; of another value, none."""
    if isinstance(value, str):
        ids = _ID.findall(value.casefold())
        rest = _BETWEEN_IDS.sub("", _ID.sub("", value.casefold()))
        return [] if rest else ids
    return [*value] if isinstance(value, (list, tuple, Mapping)) else []


def _read_in_order(
    key: str, values: Sequence[Any], ids: Collection[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a list of verdicts that has one for each unit, in their order."""
    units = [id_ for id_ in ids if id_.startswith("s")]
    verdicts = [_read_value(value, pack) for value in values]
    if len(units) == len(verdicts):
        for id_, verdict in zip(units, verdicts, strict=True):
            if verdict is not None:
                yield OtherVerdict(id_, verdict, key)


def _read_list(
    cells: Mapping[str, Any], ids: Collection[str], place: str | None, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read the verdicts of a list about ids, in whatever spelling; the place of None is the spelling."""
    if place is not None and _NO_LETTER.sub("", place.casefold()) in _get_words("denials"):
        return  # `_list_denied_ids` reads it
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
    """Yield the keys that were not asked for, with their values; of an object the keys within it, of a list its items."""
    for key, value in cell.items():
        if key in asked:
            continue
        if isinstance(value, Mapping):
            for inner_key, inner_value in value.items():
                yield str(inner_key), inner_value
        elif isinstance(value, (list, tuple)):
            for item in value[:_MOST_ITEMS]:
                is_list_of_one = isinstance(item, (list, tuple)) and len(item) == 1
                yield str(key), item[0] if is_list_of_one else item
        else:
            yield str(key), value


def _read_opinion(key: str, value: Any, pack: Pack) -> bool | None:
    """Return what a key and its value say about an entry: yes, no, or None for neither."""
    name = _NO_LETTER.sub("", key.casefold())
    if name in _get_words("reasons"):
        return False if isinstance(value, str) and _denies(value) else None
    if name in _get_words("faults") and isinstance(value, str):
        return False if _names_something(value) else None
    if name in _get_words("denials"):
        return False if _read_value(value, pack) else None
    is_verdict = name in _get_words("verdicts") or name.removesuffix("s") in _get_words("verdicts")
    if _is_low_grade(name, value, is_verdict=is_verdict):
        return False
    if not is_verdict:
        return None
    is_one_or_zero = isinstance(value, (int, float)) and value in (0, 1)
    return bool(value) if is_one_or_zero else _read_value(value, pack)


def _is_low_grade(name: str, value: Any, *, is_verdict: bool) -> bool:
    """Whether a value is a low probability, percentage or grade, by the letters of its key."""
    is_probability = name in _get_words("probabilities")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        is_low_percentage = name in _get_words("percents") and 1 < value < 100 * _LEAST_PROBABILITY
        return is_low_percentage or (is_probability and 0 <= value < _LEAST_PROBABILITY)
    is_grade = is_verdict or is_probability or name in _get_words("grades")
    return is_grade and isinstance(value, str) and _is_low(value)


def _is_low(grade: str) -> bool:
    """Whether a grade is low: a fraction or a percentage below a half, or a word that says so."""
    text = grade.strip().casefold()
    if text in _get_words("low"):
        return True
    fraction = _FRACTION.fullmatch(text)
    if fraction is not None:
        return float(fraction[1]) < _LEAST_PROBABILITY * float(fraction[2])
    percent = _PERCENT.fullmatch(text)
    return percent is not None and float(percent[1]) < 100 * _LEAST_PROBABILITY


def _names_something(text: str) -> bool:
    """Whether a text under a key such as ``errors`` names one."""
    plain = text[:_LONGEST_READ].strip(f"{_AROUND_ID}-–—").casefold()
    if plain in _read_nothing() or plain in _get_words("yes"):
        return False
    if _denies(plain):
        return True
    if plain.startswith(tuple(_get_words("no_fault_beginnings"))) or _NO_FAULT.search(plain):
        return False
    return not plain.endswith(tuple(_get_words("no_fault_endings")))


def _says_something(value: Any) -> bool:
    """Whether a value is something else than false, nothing, or a text that says that there is nothing."""
    return _names_something(value) if isinstance(value, str) else bool(value)


@lru_cache(maxsize=1)
def _read_nothing() -> frozenset[str]:
    """Read what a model writes where there is nothing."""
    return frozenset(read_data("judges.llm", "words.toml")["nothing"])


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
    """Whether a reason, or what follows its last "but", begins with what speaks against a yes, and takes nothing back."""
    text = reason[:_LONGEST_READ].strip().casefold()
    # "It is close, but the context does not state it."
    conclusion = _BUT.split(text)[-1]
    beginning = next(
        (words for words in _get_words("denying_beginnings") if conclusion.startswith(words)), None
    )
    if beginning is None or _CONCLUDES_YES.search(conclusion):
        return False
    first, *others = _CLAUSE_END.split(conclusion[len(beginning) :])
    if _OPPOSES.search(first):
        return False
    # "Not stated in c1, stated in c2."
    if any(_CONTEXT_STATES.search(clause) and not _DIFFERS.search(clause) for clause in others):
        return False
    words = re.findall(r"\w+", conclusion)
    takes_back = not _get_words("turns").isdisjoint(words)
    return not takes_back


@lru_cache(maxsize=16)
def _get_words(name: str) -> frozenset[str]:
    """Return the words of a list of the data file, by its name."""
    return frozenset(_WORDS[name])
