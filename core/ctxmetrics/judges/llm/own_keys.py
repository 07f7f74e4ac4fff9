"""Reads keys and texts that a model adds to a reply although the prompt does not ask for them.

An entry has a verdict under one key. Some models add another verdict (``"label": "unsupported"``), a probability, a grade, a
list of errors, or a reason; or they add a second list (``"final": {"s4": false}``), a count, or a sentence about several ids.
Such keys decide nothing, but may show that a verdict is doubtful. A reason may be in any language, and a key may have any name.
So a yes is doubtful, too, if only some of the yes verdicts have a remark, and the remark does not agree with the yes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ctxmetrics.judges.llm.remarks import (
    LONGEST_READ,
    MOST_KEYS,
    NO_LETTER,
    denies,
    find_low_grades,
    get_words,
    has_fault,
    is_nothing,
    is_number,
    names_fault,
    read_opinion,
    read_value,
    split_name,
)
from ctxmetrics.prompts import Pack

# The keys of the lists of a reply: sentences have ids such as s1, contexts such as c1.
REPLY_LISTS = ("sentences", "useful")
# The keys that the prompt asks for: in an entry, beside its verdict, and in a piece of evidence.
KEYS_OF_ENTRY = frozenset({"evidence", "missing", "quote"})
KEYS_OF_EVIDENCE = frozenset({"context", "quote", "whole"})
# The id of a sentence or a context: s1, c12.
ID = re.compile(r"\b[sc]\d+\b")
# A word of a remark that agrees with a yes: "stated", "verbatim".
_AFFIRMS = re.compile(
    r"\b(?:states?|stated|sa(?:ys|id)|mentions?|confirm(?:s|ed)|supports?|supported|shows?|proves?|matches|verbatim|word for word"
    r"|paraphras\w+|same|synonym\w*|exact\w*|explicit\w*|direct\w*|literal\w*|clear\w*|yes|true|correct|full\w*|in other words|rounded|equivalent)\b"
    r"|\b(?:see|in|from|by|per|cf)\W+c\d"
)
# A word that limits or denies such a remark: "only", "not".
_RESERVES = re.compile(
    r"n['’]t\b|\b(?:only|partial\w*|partly|unclear|uncertain|whether|not|no|but|almost|nearly|guess\w*|assum\w*|infer\w*|beyond|different|another"
    r"|other(?!\s+words)|wrong\w*|mistak\w*|erroneous\w*"
    r"|contradict\w*|den(?:y|ies|ied)|against|opposes?|doubt\w*)\b"
)
# Characters around the text of a unit.
_AROUND_TEXT = " \n.\"'"
# Characters around a value that is a text, or a list of one text.
_AROUND_VALUE = " []'\""
# The maximum number of items of a list in an entry that are read.
MOST_ITEMS = 20
# The maximum depth of objects in an entry that are read.
DEEPEST = 4
# The maximum number of characters of a key and its value in a message.
LONGEST_SHOWN = 80


def find_objection(
    cell: Mapping[str, Any], key: str, verdict: bool, pack: Pack, unit: str = ""
) -> str | None:
    """Return the first key and value that contradict the verdict of an entry, or None.

    Args:
        cell: The entry.
        key: The key of its verdict.
        verdict: The verdict of the entry.
        pack: The prompt's language, for its words for yes and no.
        unit: The text of the unit that the entry is about. A reason may repeat its negation.

    >>> from ctxmetrics.prompts import get_pack
    >>> find_objection({"supported": True, "label": "not supported"}, "supported", True, get_pack("en"))
    'label: not supported'
    >>> find_objection({"supported": True, "contradicted": False}, "supported", True, get_pack("en"))
    """
    if verdict and cell.get("missing") is True:
        return "missing: true"
    for opinion in list_opinions(cell, KEYS_OF_ENTRY | {key}, pack, unit):
        if opinion.verdict is not verdict and not answers_other_question(opinion, key):
            return f"{opinion.key}: {opinion.value}"[:LONGEST_SHOWN]
    # A model may say yes, and say about a quote that it does not support the yes.
    pieces = cell.get("evidence")
    if not verdict or not isinstance(pieces, (list, tuple)):
        return None
    for piece in pieces:
        if not isinstance(piece, Mapping):
            continue
        for opinion in list_opinions(piece, KEYS_OF_EVIDENCE, pack, unit):
            is_quote = ID.fullmatch(opinion.key) is not None  # {"c2": "a quote"}
            if opinion.verdict is False and not is_quote:
                return f"{opinion.key}: {opinion.value}"[:LONGEST_SHOWN]
    return None


def find_other_text(cell: Mapping[str, Any], key: str, unit: str, texts: Iterable[str]) -> str | None:
    """Return the first key whose value is the text of another unit, if no key has the text of the entry's own unit.

    Args:
        cell: The entry.
        key: The key of its verdict.
        unit: The text of the unit that the entry is about.
        texts: The texts of all units.

    >>> find_other_text({"claim": "It is red."}, "supported", "It is old.", ["It is old.", "It is red."])
    'claim: It is red.'
    """
    added_texts = {
        name: value.strip(_AROUND_TEXT)
        for name, value in _list_texts(cell, KEYS_OF_ENTRY | {key}).items()
        if isinstance(value, str)
    }
    if not added_texts or unit.strip(_AROUND_TEXT) in added_texts.values():
        return None
    unit_texts = {text.strip(_AROUND_TEXT) for text in texts}
    for name, text in added_texts.items():
        if text in unit_texts:
            return f"{name}: {cell[name]}"[:LONGEST_SHOWN]
    return None


def find_verdicts_set_apart(
    cells: Mapping[str, Mapping[str, Any]], verdicts: Mapping[str, bool], key: str, pack: Pack
) -> Iterator[tuple[str, str]]:
    """Find the positive verdicts of a list with a remark that sets them apart from the others, in any language.

    A remark sets a positive verdict apart in one of these cases; in the first two, only if its value does not speak for a yes:

    - Only some of the positive verdicts have its key.
    - A negative verdict has the same text under this key, and another positive verdict has another text there.
    - Its text says that the sentence was not read in a context ("implied"), and another positive verdict has another text, or none.

    Args:
        cells: The entries by id.
        verdicts: Their verdicts.
        key: The key of the verdicts.
        pack: The prompt's language.

    Yields:
        The id, and the key with its value.

    >>> from ctxmetrics.prompts import get_pack
    >>> entries = {"s1": {"supported": True}, "s2": {"supported": True, "nota": "quasi"}}
    >>> [*find_verdicts_set_apart(entries, {"s1": True, "s2": True}, "supported", get_pack("en"))]
    [('s2', 'nota: quasi')]
    """
    remarks = {id_: _list_remarks(cell, key) for id_, cell in cells.items() if id_ in verdicts}
    positive_ids = [id_ for id_ in remarks if verdicts[id_]]
    positive_remarks: list[tuple[str, Any]] = []
    negative_remarks: set[tuple[str, Any]] = set()
    for id_, remarks_of_entry in remarks.items():
        if verdicts[id_]:
            positive_remarks += remarks_of_entry.items()
        else:
            negative_remarks.update(remarks_of_entry.items())
    name_counts = Counter(name for name, _ in positive_remarks)
    # The names that have a text which only positive verdicts have.
    distinguishing_names = {
        name for name, value in positive_remarks if (name, value) not in negative_remarks
    }
    words_for_not_read = get_words("not_read")
    yield from find_low_grades({id_: cells[id_] for id_ in positive_ids})
    for id_ in positive_ids:
        for name, value in remarks[id_].items():
            is_in_some_only = name_counts[name] < len(positive_ids)
            is_negative_text = isinstance(value, str) and (name, value) in negative_remarks
            is_not_read = (
                isinstance(value, str) and value.strip(_AROUND_VALUE).casefold() in words_for_not_read
            )
            has_other_text = any(
                other_name == name and other_value != value
                for other_name, other_value in positive_remarks
            )
            if is_not_read and (is_in_some_only or has_other_text):
                yield id_, f"{name}: {value}"[:LONGEST_SHOWN]
                continue
            sets_apart = is_in_some_only or (is_negative_text and name in distinguishing_names)
            if sets_apart and not speaks_for_yes(name, value, pack):
                yield id_, f"{name}: {value}"[:LONGEST_SHOWN]


def _list_remarks(cell: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """List the texts and truth values of an entry and its evidence that were not asked for."""
    remarks = _list_texts(cell, KEYS_OF_ENTRY | {key})
    pieces = cell.get("evidence")
    for piece in pieces if isinstance(pieces, (list, tuple)) else ():
        if isinstance(piece, Mapping):
            texts = _list_texts(piece, KEYS_OF_EVIDENCE)
            # A key that is the id of a context has a quote.
            remarks |= {name: text for name, text in texts.items() if not ID.fullmatch(name)}
    return remarks


def _list_texts(content: Mapping[str, Any], asked_keys: frozenset[str]) -> dict[str, Any]:
    """List the texts and truth values of an object under keys that were not asked for."""
    if content.keys() <= asked_keys:
        return {}  # the usual case
    texts: dict[str, Any] = {}
    for name, value in islice(content.items(), MOST_KEYS):
        remark = value
        if isinstance(value, (list, tuple, Mapping)) and value:
            remark = str(value)[:LONGEST_READ]
        if name not in asked_keys and isinstance(remark, (str, bool)) and remark != "":
            texts[str(name)] = remark
    return texts


def speaks_for_yes(key: str, value: Any, pack: Pack) -> bool:
    """Whether a remark agrees with a positive verdict, is about something else, or says that there is nothing to add."""
    words = split_name(key)
    is_fault = names_fault(NO_LETTER.sub("", key.casefold()), words)
    if words and words <= get_words("neutral_words"):
        return True
    if isinstance(value, bool):
        is_read = not words.isdisjoint(get_words("plain_words"))
        is_yes = read_opinion(key, value, pack) is True
        return is_yes or (is_read and value is not is_fault)
    text = value[:LONGEST_READ].strip().casefold()
    is_plain_no = text.strip(".!") in pack.no
    if is_fault or is_plain_no:
        return is_fault and not has_fault(value, pack)
    if is_nothing(value) or read_value(value, pack) is True:
        return True
    return _AFFIRMS.search(text) is not None and not _RESERVES.search(text) and not denies(text)


class _Opinion(NamedTuple):
    """The verdict, yes or no, that a key of an entry and its value express."""

    key: str
    value: Any
    verdict: bool


def list_opinions(
    cell: Mapping[str, Any], asked: frozenset[str], pack: Pack, unit: str, depth: int = 0
) -> Iterator[_Opinion]:
    """Yield the opinions under keys of an entry that were not asked for, and under the keys of objects within it."""
    if asked and cell.keys() <= asked:
        return  # the usual case
    for key, value in islice(cell.items(), MOST_KEYS):
        if key in asked:
            continue
        if isinstance(value, Mapping):
            yield from _list_opinions_within(str(key), value, pack, unit, depth)
            continue
        items = [value]
        if isinstance(value, (list, tuple)) and value:
            items = list(value[:MOST_ITEMS])
        objects = [item for item in items if isinstance(item, Mapping)]
        for item in items:
            content = item[0] if isinstance(item, (list, tuple)) and len(item) == 1 else item
            if not isinstance(content, Mapping):
                verdict = read_opinion(str(key), content, pack, unit)
                if verdict is not None:
                    yield _Opinion(str(key), content, verdict)
        if objects and depth < DEEPEST:
            yield from _list_opinions_without_yes(objects, pack, unit, depth)


def _list_opinions_within(
    key: str, value: Mapping[str, Any], pack: Pack, unit: str, depth: int
) -> Iterator[_Opinion]:
    """Yield the opinions of an object within an entry: it has probabilities by label, or keys with verdicts."""
    verdict = _read_probabilities(value, pack)
    if verdict is not None:
        yield _Opinion(key, value, verdict)
    elif depth < DEEPEST and any(ID.fullmatch(str(name)) for name in value):
        # The object has an entry for each context. One context may be enough for a yes.
        cells = [
            content if isinstance(content, Mapping) else {"verdict": content}
            for content in value.values()
        ]
        yield from _list_opinions_without_yes(cells, pack, unit, depth)
    elif depth < DEEPEST:
        yield from list_opinions(value, frozenset(), pack, unit, depth + 1)


def _list_opinions_without_yes(
    cells: Sequence[Mapping[str, Any]], pack: Pack, unit: str, depth: int
) -> Iterator[_Opinion]:
    """Yield the opinions of several objects; if one object says yes, yield none."""
    opinions: list[_Opinion] = []
    for cell in cells:
        opinions += list_opinions(cell, frozenset(), pack, unit, depth + 1)
    if not any(opinion.verdict for opinion in opinions):
        yield from opinions


def _read_probabilities(value: Mapping[str, Any], pack: Pack) -> bool | None:
    """Return the verdict with the larger number, if the keys of an object are words for yes and no; else None."""
    sums = {True: 0.0, False: 0.0}
    labels = set()
    for name, number in value.items():
        label = read_value(str(name), pack)
        if label is None or not is_number(number):
            return None
        labels.add(label)
        sums[label] += number
    if len(labels) < len(sums) or sums[True] == sums[False]:
        return None
    return sums[True] > sums[False]


def answers_other_question(opinion: _Opinion, key: str) -> bool:
    """Whether an opinion answers another question than the verdict of its entry, so that both may be right.

    An unsupported sentence may be correct, on topic or mentioned. A useful context need not state the whole answer.

    Args:
        opinion: The opinion.
        key: The key of the verdict: ``supported`` or ``useful``.
    """
    name = NO_LETTER.sub("", opinion.key.casefold())
    if opinion.verdict:
        is_mentioned = name.removeprefix("is") in get_words("affirmations")
        is_correct = name in get_words("truths")
        is_on_topic = key == "supported" and name in get_words("topics")
        return is_mentioned or is_correct or is_on_topic
    names_part = name in get_words("faults") or name.startswith(("part", "ispart"))
    return key == "useful" and names_part
