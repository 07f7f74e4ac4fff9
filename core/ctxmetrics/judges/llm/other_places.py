"""Finds verdicts outside of the entries of a reply: in a second list, a count, a patch, or a sentence about several ids.

Only the entries decide. If another verdict differs from an entry, the verdict of the entry becomes doubtful.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any, NamedTuple

from ctxmetrics.judges.llm.denied_ids import (
    LIST_OF_IDS,
    find_denied_ids,
    list_other_ids,
    name_by_ids,
)
from ctxmetrics.judges.llm.own_keys import (
    DEEPEST,
    ID,
    KEYS_OF_ENTRY,
    LONGEST_SHOWN,
    MOST_ITEMS,
    REPLY_LISTS,
    answers_other_question,
    list_opinions,
    speaks_for_yes,
)
from ctxmetrics.judges.llm.remarks import (
    LONGEST_TEXT,
    MOST_KEYS,
    NO_LETTER,
    get_words,
    is_nothing,
    is_number,
    read_opinion,
    read_value,
    says_something,
    split_name,
)
from ctxmetrics.judges.llm.splitting import read_id
from ctxmetrics.prompts import Pack

# The keys under which an object of a list names its id.
_KEYS_OF_IDS = frozenset({"id", "sentence", "context", "unit"})
_BETWEEN_IDS = re.compile(r"[\s,;&+]|\band\b")
# Characters that may stand around a remark.
_AROUND_REMARK = " \t,;:&*|>-–—→=[](){}\"'"
# Signs for yes and no.
_SIGNS = frozenset("YNTFyntf✓✔✗✘✅❌")
# A grade below this share of the best one says no.
_MIN_SHARE_OF_BEST = 0.5
# Endings that are dropped from the name of a list.
_LIST_ENDINGS = ("sentences", "contexts", "units", "claims", "items", "ids", "list")


# The end of the name of an object with a value for each id: "confidence_by_id", "scores per sentence".
_BY_ID = re.compile(
    r"[\W_]?(?:by|per|for_each)[\W_]?(?:id|unit|sentence|claim|context)s?$", re.IGNORECASE
)


class OtherVerdict(NamedTuple):
    """A verdict about an id that a reply gives outside of the entry of the id.

    Attributes:
        id: The id.
        verdict: The verdict.
        place: The key under which the verdict stands, or the spelling of the id.
    """

    id: str
    verdict: bool
    place: str


def find_other_verdicts(
    data: Mapping[str, Any], ids: Collection[str], pack: Pack, depth: int = 0
) -> Iterator[OtherVerdict]:
    """Find verdicts about ids outside of their entries: in a second list, or under another spelling of the id.

    Args:
        data: The reply, or an object within it.
        ids: The ids that the model was asked about.
        pack: The prompt's language.
        depth: How deep in the reply the object stands.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"sentences": {"s1": {"supported": True}, "S2": {"supported": True}}, "unsupported": ["s1"]}
    >>> [tuple(one) for one in find_other_verdicts(reply, ["s1", "s2"], get_pack("en"))]
    [('s2', True, 'S2'), ('s1', False, 'unsupported')]
    """
    for key, value in islice(data.items(), MOST_KEYS):
        if key == "code" or ID.fullmatch(str(key)):
            # Below the key of one id, a second id does not say which of the two a verdict is about.
            continue
        if isinstance(value, Mapping) and key in REPLY_LISTS:
            letter = "s" if key == "sentences" else "c"
            # At the top, the entries of the ids themselves are read elsewhere.
            names = [name for name in value if depth or str(name).strip() not in ids]
            yield from _read_list({name: value[name] for name in names}, ids, None, pack, letter)
        elif isinstance(value, Mapping):
            yield from _read_list(value, ids, str(key), pack)
        yield from _read_listed_ids(str(key), value, ids, pack)
        objects = value if isinstance(value, (list, tuple)) else [_read_json(value)]
        for item in objects[:MOST_ITEMS]:
            if isinstance(item, Mapping) and key not in REPLY_LISTS and depth < DEEPEST:
                if item is not value:
                    yield from _read_list(item, ids, str(key), pack)
                    yield from _read_patch(item, ids, str(key), pack)
                yield from find_other_verdicts(item, ids, pack, depth + 1)


def _read_json(value: Any) -> Any:
    """Decode a text that is a JSON object; return any other value unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("{") and len(value) < LONGEST_TEXT:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _read_patch(
    item: Mapping[str, Any], ids: Collection[str], place: str, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a verdict from an operation of a JSON patch, whose path names the id."""
    path = item.get("path")
    ids_in_path = ID.findall(path) if isinstance(path, str) else []
    verdict = read_value(item.get("value"), pack)
    if len(ids_in_path) == 1 and ids_in_path[0] in ids and verdict is not None:
        yield OtherVerdict(ids_in_path[0], verdict, place)


def find_remarks(
    data: Mapping[str, Any], units: Sequence[str], positive_units: AbstractSet[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Find remarks beside the lists of a reply that are about only some of the supported units, in any language.

    A remark is a list of ids under a name, a value under an id, or a clause of a text that names ids. It sets units apart if it
    names some of the supported units and no other unit, and does not speak for a yes.

    Args:
        data: The reply.
        units: The ids of all units that the model was asked about.
        positive_units: The ids of the supported ones.
        pack: The prompt's language.

    >>> from ctxmetrics.prompts import get_pack
    >>> reply = {"disputed": ["s2"], "log": "s1 is stated. I would not rely on s2."}
    >>> [tuple(one) for one in find_remarks(reply, ["s1", "s2"], {"s1", "s2"}, get_pack("en"))]
    [('s2', False, 'disputed'), ('s2', False, 'log: i would not rely on')]
    """
    ids_by_remark: dict[tuple[str, Any], set[str]] = {}
    for key, value in islice(data.items(), MOST_KEYS):
        if key != "code" and key not in REPLY_LISTS and not ID.fullmatch(str(key)):
            for ids, remark in _list_remarks(value, units):
                ids_by_remark.setdefault((str(key), remark), set()).update(ids)
    for (key, remark), ids in ids_by_remark.items():
        sets_apart = ids < positive_units
        if sets_apart and not speaks_for_yes(key, remark, pack):
            place = key if remark is True else f"{key}: {remark}"[:LONGEST_SHOWN]
            for id_ in sorted(ids):
                yield OtherVerdict(id_, False, place)


class _Remark(NamedTuple):
    """A remark about some units in a value beside the lists of a reply.

    Attributes:
        ids: The ids of the units.
        content: A text or a truth value; True for a list that holds only ids.
    """

    ids: Collection[str]
    content: str | bool


def _list_remarks(value: Any, units: Sequence[str]) -> Iterator[_Remark]:
    """List the remarks about units in a value beside the lists of a reply.

    Args:
        value: A text, an object with a remark under each id, or a list of texts, objects or ids.
        units: The ids of all units.
    """
    if isinstance(value, str):
        yield from _list_clauses(value, units)
    elif isinstance(value, Mapping):
        for name, content in islice(value.items(), MOST_KEYS):
            id_ = read_id(name, "s")
            if id_ in units and isinstance(content, (str, bool)) and content != "":
                yield _Remark([id_], content)
    elif isinstance(value, (list, tuple)):
        for item in value[:MOST_ITEMS]:
            if isinstance(item, Mapping):
                yield from _list_texts_of_id(item, units)
            elif isinstance(item, str) and item in units:
                yield _Remark([item], content=True)
            elif isinstance(item, str):
                yield from _list_clauses(item, units)


def _list_clauses(text: str, units: Sequence[str]) -> Iterator[_Remark]:
    """List the clauses of a text that name units and no context. The remark is the other words of the clause."""
    for clause in re.split(r"[.;\n]", name_by_ids(text, units)):
        ids = ID.findall(clause)
        words = " ".join(LIST_OF_IDS.sub(" ", clause).split()).strip(_AROUND_REMARK)
        if ids and words and all(id_ in units for id_ in ids):
            yield _Remark(ids, words)


def _list_texts_of_id(item: Mapping[str, Any], units: Sequence[str]) -> Iterator[_Remark]:
    """List the texts of an object that names the id of a unit: ``{"sentence": 4, "problem": "not stated"}``."""
    id_ = next((read_id(item[key], "s") for key in _KEYS_OF_IDS if key in item), "")
    texts = [text for key, text in item.items() if key not in _KEYS_OF_IDS and isinstance(text, str)]
    if id_ in units and texts:
        yield _Remark([id_], ", ".join(texts))


def _read_listed_ids(key: str, value: Any, ids: Collection[str], pack: Pack) -> Iterator[OtherVerdict]:
    """Read verdicts about ids that stand in a list, in a text, or in an object of reasons."""
    name = NO_LETTER.sub("", key.casefold())
    for ending in _LIST_ENDINGS:
        name = name.removesuffix(ending)
    items = _list_items(value)
    if name.removesuffix("s") in get_words("verdicts") or "verdict" in split_name(key):
        yield from _read_in_order(key, items or _list_signs(value), ids, pack)
    elif _names_grades(key):
        yield from _read_grades_in_order(key, items, ids)
    for id_ in _list_denied_ids(name, key, value, items, ids):
        if id_ in ids:
            yield OtherVerdict(id_, False, key)
    for item in items:
        if isinstance(item, Mapping):
            yield from _read_item(item, ids, key, pack)


def _read_item(
    item: Mapping[str, Any], ids: Collection[str], place: str, pack: Pack
) -> Iterator[OtherVerdict]:
    """Read the verdict of an object in a list that names its id."""
    for id_key in _KEYS_OF_IDS.intersection(item):
        id_ = read_id(item[id_key], "c" if id_key == "context" else "s")
        if id_key == "id":
            id_ = str(item[id_key]).casefold().strip()
        if id_ in ids:
            cell = {key: value for key, value in item.items() if key != id_key}
            yield from _read_list({id_: cell}, ids, place, pack)


def _list_denied_ids(
    name: str, key: str, value: Any, items: Sequence[Any], ids: Collection[str]
) -> Sequence[str]:
    """List the ids that a value denies: ids in a list of unsupported ids, and ids that a list of supported ids leaves out.

    Args:
        name: The name of the list: the key in small letters, without an ending such as "sentences".
        key: The key, as the reply spells it.
        value: The value under this key.
        items: The items of the value (`_list_items`).
        ids: The ids that the model was asked about.

    Returns:
        The ids; empty if the value denies none.
    """
    named_ids = [item for item in items if isinstance(item, str) and item in ids]
    if name in get_words("denials"):
        return _list_ids_of_denials(value, items, ids)
    if name in get_words("faults"):
        # Numbers in such a list may count anything.
        ids_with_faults = _list_ids_of_denials(
            value, [item for item in items if isinstance(item, str)], ids
        )
        if ids_with_faults:
            return ids_with_faults
    lists_sources = not get_words("source_words").isdisjoint(split_name(key))
    if isinstance(value, Mapping) and lists_sources:  # an id may have no source
        return [id_ for id_ in named_ids if is_nothing(value[id_])]
    if isinstance(value, Mapping):
        return []
    ids_in_texts = [_find_id(item, ids, "") for item in items if isinstance(item, str)]
    is_list_of_ids = len(ids_in_texts) == len(items) and None not in ids_in_texts
    if items and is_list_of_ids and name in get_words("yes"):
        # A list of the supported ids denies all others.
        return list_other_ids(ids, [id_ for id_ in ids_in_texts if id_ is not None])
    # Other texts may say which ids are denied: "s4 is not supported".
    statements = [item for item in items if isinstance(item, str) and item not in ids]
    if isinstance(value, str) and not named_ids:
        statements = [value]
    return find_denied_ids("\n".join(statements), ids) if statements else []


# An id with a reason behind it: "s4: the year is wrong", "S4 (year)", "Sentence 4 - the year".
_ID_WITH_REASON = re.compile(
    r"\s*(?P<id>[^:()–—\n]{1,30}?)\s*(?:[:(–—]|\s-\s)(?P<reason>.+)", re.DOTALL
)


def _list_ids_of_denials(value: Any, items: Sequence[Any], ids: Collection[str]) -> Sequence[str]:
    """List the ids in a list of unsupported ids, in any spelling.

    Args:
        value: A list of ids or numbers (``[4, 5]``), a text, or an object with a reason under each id: ``{"s2": "year"}``.
        items: The items of the value (`_list_items`).
        ids: The ids that the model was asked about.

    Returns:
        The ids; an id whose reason says nothing, such as "none" or false, is left out.
    """
    numbers = [item for item in items if isinstance(item, int) and not isinstance(item, bool)]
    if items and len(numbers) == len(items):
        return [f"s{number}" for number in numbers]
    reasons: dict[str, Any] = {}  # by the spelling of the id
    if isinstance(value, Mapping):
        reasons = {str(spelling): reason for spelling, reason in value.items()}
    else:
        texts = [value] if isinstance(value, str) and not items else items
        for text in texts:
            if not isinstance(text, str):
                continue
            match = _ID_WITH_REASON.fullmatch(text)
            if match is not None and _find_id(match["id"], ids, "") is not None:
                reasons[match["id"]] = match["reason"]
            else:
                reasons[text] = True
    denied_ids = []
    for spelling, reason in reasons.items():
        id_ = _find_id(spelling, ids, "")
        if id_ is not None and says_something(reason):
            denied_ids.append(id_)
    return denied_ids


def _list_items(value: Any) -> Sequence[Any]:
    """List the items of a list, the keys of an object, or the ids of a text that holds only ids; empty for other values."""
    if isinstance(value, str):
        text = name_by_ids(value, ())
        rest = _BETWEEN_IDS.sub("", ID.sub("", text))
        return [] if rest else ID.findall(text)
    return [*value] if isinstance(value, (list, tuple, Mapping)) else []


def _read_in_order(
    key: str, values: Sequence[Any], ids: Collection[str], pack: Pack
) -> Iterator[OtherVerdict]:
    """Read a list with one verdict for each unit, in the order of the units."""
    # Sentences have ids such as s1, contexts such as c1.
    units = [id_ for id_ in ids if id_.startswith("s")]
    has_numbers_only = all(value in (0, 1) for value in values)
    verdicts = [bool(value) if has_numbers_only else read_value(value, pack) for value in values]
    if len(units) == len(verdicts):
        for id_, verdict in zip(units, verdicts, strict=True):
            if verdict is not None:
                yield OtherVerdict(id_, verdict, key)


def _list_signs(value: Any) -> Sequence[Any]:
    """List the verdicts of a text with one sign for each: "YYN", "1, 0"; empty for other values."""
    if not isinstance(value, str):
        return []
    signs = _BETWEEN_IDS.sub("", value)
    if set(signs) <= {"0", "1"}:
        return [int(sign) for sign in signs]
    return [*signs] if set(signs) <= _SIGNS else []


def _names_grades(key: str) -> bool:
    """Whether a key names several grades: "scores", "score_per_sentence"."""
    is_list = _BY_ID.search(key) is not None or key.endswith("s")
    words = {word.removesuffix("s") for word in split_name(key)}
    return is_list and not words.isdisjoint(get_words("grade_words"))


def _read_grades_in_order(
    key: str, values: Sequence[Any], ids: Collection[str]
) -> Iterator[OtherVerdict]:
    """Read a list with one grade for each unit: a grade below half of the best one says no."""
    units = [id_ for id_ in ids if id_.startswith("s")]
    if len(units) != len(values) or not all(map(is_number, values)):
        return
    best = max(values, default=0)
    for id_, value in zip(units, values, strict=True):
        if 0 <= value < _MIN_SHARE_OF_BEST * best:
            yield OtherVerdict(id_, False, key)


def _read_list(
    cells: Mapping[str, Any], ids: Collection[str], place: str | None, pack: Pack, letter: str = ""
) -> Iterator[OtherVerdict]:
    """Read the verdicts of a list about ids, in any spelling of the ids.

    Args:
        cells: The list.
        ids: The ids that the model was asked about.
        place: The place of the list; None if the place of a verdict is the spelling of its id.
        pack: The prompt's language.
        letter: The letter of the ids in this list, if they may be written as numbers.
    """
    if place is not None:
        place = _BY_ID.sub("", place) or place
    plain_place = NO_LETTER.sub("", (place or "").casefold())
    if plain_place in get_words("denials") or plain_place in get_words("faults"):
        return  # `_list_denied_ids` reads it
    for name, content in cells.items():
        id_ = _find_id(str(name), ids, letter)
        if id_ is None:
            continue
        is_number = isinstance(content, (int, float)) and not isinstance(content, bool)
        if is_number and place is not None and read_opinion(place, content, pack) is False:
            yield OtherVerdict(id_, False, place)
        cell = content if isinstance(content, Mapping) else {"verdict": content}
        for opinion in list_opinions(cell, KEYS_OF_ENTRY, pack, ""):
            is_number = isinstance(opinion.value, (int, float)) and not isinstance(opinion.value, bool)
            is_other_answer = opinion.verdict and answers_other_question(opinion, "supported")
            if not is_number and not is_other_answer:
                yield OtherVerdict(id_, opinion.verdict, str(name) if place is None else place)


def _find_id(name: str, ids: Collection[str], letter: str) -> str | None:
    """Return the id that a name means, or None. A number alone means an id only if the letter of its list is given."""
    name = re.sub(r"\s*\(.*\)\s*$", "", name) or name
    letters = [letter] if letter else ["s", "c"]
    for possible_letter in letters:
        id_ = read_id(name, possible_letter)
        has_letter = name.strip()[:1].casefold() not in "0123456789"
        if id_ in ids and (letter or has_letter):
            return id_
    return None
