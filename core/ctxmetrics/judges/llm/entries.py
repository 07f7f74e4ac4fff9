"""What a reply says about each id, each entry by itself.

An entry is untrusted: it may hold anything. What decides nothing is left out, and an entry that repeats the prompt's example
is not about the data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics._internal.secrets import mask_secrets
from ctxmetrics.judges.llm.other_places import find_other_verdicts, find_remarks
from ctxmetrics.judges.llm.own_keys import (
    KEYS_OF_ENTRY,
    KEYS_OF_EVIDENCE,
    LONGEST_SHOWN,
    find_objection,
    find_other_text,
    find_verdicts_set_apart,
)
from ctxmetrics.judges.llm.parsing import read_json
from ctxmetrics.judges.llm.splitting import RequestPart, read_id
from ctxmetrics.judges.llm.totals import count_supported, find_verdict_on_all
from ctxmetrics.prompts import Pack
from ctxmetrics.text.quote_search import stands_in

# The keys that the prompt asks for in a reply.
_REPLY_KEYS = frozenset({"code", "sentences", "useful"})
# The keys that it asks for in an entry, by the list of the entry.
_ASKED_KEYS: Mapping[str, frozenset[str]] = {
    "sentences": KEYS_OF_ENTRY | {"supported"},
    "useful": KEYS_OF_ENTRY | {"useful"},
}
_MAX_MISSING_CHARACTERS = 500
# The keys under which an entry has its missing words: the first one is asked for.
_MISSING_KEYS = ("missing", "missing_words", "missing_facts", "missing_parts")
# Characters that may stand around a word for yes or no: "**yes**", "`true`.".
_AROUND_VERDICT = " \t\n.!*`\"'"
# A text of only these characters is a form that was not filled in.
_PLACEHOLDER_CHARACTERS = " .…\t\n"

# Characters that may stand around the text behind an id.
_AROUND_TEXT = " \t\n.…\"'"
# The keys under which a piece of evidence names its context: the first one is asked for.
_CONTEXT_KEYS = ("context", "context_id", "contextid", "id", "source", "chunk", "doc", "document")
# The keys under which it has its quotes.
_QUOTE_KEYS = ("quote", "quotes", "text", "span", "excerpt", "snippet", "passage")
_CONTEXT_ID = re.compile(r"c\d+")
# A quote in a text that names its context: "c2: a quote".
_NAMED_QUOTE = re.compile(r"\s*[\[(]?([cC]\d{1,6})[\])]?\s*[:\-–—]\s*(.+)", re.DOTALL)


class Quote(NamedTuple):
    """A quote of a reply, and whether its context alone is said to state the unit."""

    context: str
    text: str
    whole: bool


@dataclass(slots=True)
class ReplyEntry:
    """What a reply says about one id, in all its entries for it.

    Attributes:
        value: The verdict that all entries give, or the code that says why there is none.
        quotes: The quotes, each with the context that it names.
        missing: The words that are said to be missing. API keys in them are masked.
        is_blank: Whether no entry has a value in the place of the verdict.
        objection: The words against the verdict under keys that the model added, or None. API keys in them are masked.
    """

    value: bool | str = "missing_id"
    quotes: list[Quote] = field(default_factory=list)
    missing: str | None = None
    is_blank: bool = True
    objection: str | None = None


def with_plain_ids(data: Mapping[str, Any], request_part: RequestPart) -> Mapping[str, Any]:
    """Return a reply whose lists use the ids as they were shown, instead of other spellings by the model: "[s1]", "s1: The tower".

    If a list has an id in two spellings, the other spelling is kept as it is. Its entry then decides nothing.

    Args:
        data: The reply.
        request_part: The units and contexts that the request showed.
    """
    corrected_lists: dict[str, Any] = {}
    for key, letter, texts in (
        ("sentences", "s", request_part.units),
        ("useful", "c", request_part.contexts),
    ):
        entries = data.get(key)
        if not isinstance(entries, Mapping) or all(str(name).strip() in texts for name in entries):
            continue  # the usual case
        read_ids = {name: _read_id_with_text(str(name), letter, texts) for name in entries}
        spellings = Counter(read_ids.values())
        corrected_lists[key] = {}
        for name, entry in entries.items():
            id_ = read_ids[name]
            is_known = id_ in texts and spellings[id_] == 1
            corrected_lists[key][id_ if is_known else name] = entry
    return {**data, **corrected_lists} if corrected_lists else data


def _read_id_with_text(name: str, letter: str, texts: Mapping[str, str]) -> str:
    """Return the id that a name means, also if the text of the id, or its beginning, stands behind it: "s1: The tower"."""
    head, colon, text = name.partition(":")
    id_ = read_id(head, letter)
    beginning = text.strip(_AROUND_TEXT)
    if colon and beginning and texts.get(id_, "").startswith(beginning):
        return id_
    return read_id(name, letter)


def count_strays(data: Mapping[str, Any], request_part: RequestPart, contexts: Collection[str]) -> int:
    """Count the ids of a reply that were not asked about. Their entries decide nothing."""
    stray_count = 0
    for key, ids in (("sentences", request_part.units), ("useful", contexts)):
        entries = data.get(key)
        if isinstance(entries, Mapping):
            stray_count += len([name for name in entries if str(name).strip() not in ids])
    return stray_count


@dataclass(frozen=True, slots=True)
class ReplyEntries:
    """What a reply says about the ids that were asked.

    Attributes:
        by_id: The entries.
        incomplete: The ids of a list (the units, or the contexts) in which a verdict is missing. The model may have taken two
            sentences for one, so that each entry may belong to another id.
        overfull: The ids of a complete list that also has an id that was not shown. The model may have taken one sentence for
            two.
    """

    by_id: Mapping[str, ReplyEntry]
    incomplete: frozenset[str]
    overfull: frozenset[str]


def read_entries(
    data: Mapping[str, Any],
    request_part: RequestPart,
    units: Sequence[str],
    contexts: Sequence[str],
    pack: Pack,
) -> ReplyEntries:
    """Read what a reply says about each id that was asked.

    These entries decide nothing:

    - an entry that repeats a text of the prompt's example;
    - if there is such an entry, also an entry that is equal to an entry of the example;
    - all entries of a list that lacks an id that was asked and has an id that was not shown: they may be shifted by one.
    """
    replies: dict[str, ReplyEntry] = {}
    incomplete: set[str] = set()
    overfull: set[str] = set()
    copied: dict[str, set[str]] = {}
    for name, key, letter, ids, shown_ids in (
        ("sentences", "supported", "s", units, request_part.units),
        ("useful", "useful", "c", contexts, request_part.contexts),
    ):
        entries = _read_entries(data.get(name), ids, key, pack, request_part.units)
        copied[name] = set()
        for id_, entry in entries.items():
            if _repeats_example(entry, request_part.units.get(id_, ""), request_part, pack):
                copied[name].add(id_)
        lacks_one = any(entries[id_].value == "missing_id" for id_ in ids)
        # Another spelling of a known id is not an id too many.
        has_stray = any(
            read_id(id_, letter) not in shown_ids for id_ in entries if id_ not in shown_ids
        )
        if lacks_one and has_stray:  # the entries may be shifted by one id
            replies |= {id_: ReplyEntry("invalid_reply") for id_ in ids}
        else:
            replies |= {id_: entries[id_] for id_ in ids}
        if any(entries[id_].is_blank for id_ in ids):
            incomplete.update(ids)
        elif has_stray:
            overfull.update(ids)
    _refuse_copies(replies, copied, {"sentences": units, "useful": contexts}, pack)
    if not _has_asked_keys_only(data, replies.keys()):
        _note_other_verdicts(data, replies, pack)
        _note_remarks(data, replies, pack)
    return ReplyEntries(replies, frozenset(incomplete), frozenset(overfull))


def _refuse_copies(
    replies: dict[str, ReplyEntry],
    copied: Mapping[str, AbstractSet[str]],
    asked: Mapping[str, Collection[str]],
    pack: Pack,
) -> None:
    """Refuse the entries that the model copied from the prompt's example. A refused entry decides nothing.

    An entry that repeats a text of the example is a copy. Where there is one, an entry that is equal to an entry of the example
    is a copy, too: it may have no text, such as ``{"supported": true}``.

    Args:
        replies: The entries of the ids that were asked. Copies are replaced.
        copied: The ids of each list whose entries repeat a text of the example. They may be ids that were not asked.
        asked: The ids of each list that were asked.
        pack: The prompt's language.
    """
    if not any(copied.values()):
        return  # the usual case
    copied_ids = {id_ for ids in copied.values() for id_ in ids}
    asked_ids = {id_ for ids in asked.values() for id_ in ids}
    answers_with_copy = not copied_ids.isdisjoint(asked_ids)
    for name, ids in asked.items():
        # A copy for an id that was asked makes both lists doubtful, any other copy makes its own list doubtful.
        is_doubtful = answers_with_copy or bool(copied[name])
        for id_ in ids:
            is_copy = id_ in copied[name]
            if is_doubtful and not is_copy:
                is_copy = replies[id_] in _example_entries(pack, id_)
            if is_copy:
                replies[id_] = ReplyEntry("wrong_data")


def _has_asked_keys_only(data: Mapping[str, Any], ids: AbstractSet[str]) -> bool:
    """Whether a reply has no key that was not asked for, so that it says nothing beside its verdicts: the usual case."""
    if not data.keys() <= _REPLY_KEYS or not str(data.get("code", "")).isalnum():
        return False
    for name, asked_keys in _ASKED_KEYS.items():
        entries = data.get(name) or {}
        if not entries.keys() <= ids:
            return False
        for cell in entries.values():
            if not isinstance(cell, dict) or not cell.keys() <= asked_keys:
                return False
            pieces = cell.get("evidence") or []
            if not isinstance(pieces, list):
                return False
            for piece in pieces:
                if not isinstance(piece, dict) or not piece.keys() <= KEYS_OF_EVIDENCE:
                    return False
    return True


def _note_other_verdicts(
    data: Mapping[str, Any], replies: Mapping[str, ReplyEntry], pack: Pack
) -> None:
    """Note which entries another place of the reply contradicts."""
    for other in find_other_verdicts(data, replies, pack):
        entry = replies[other.id]
        if isinstance(entry.value, bool) and entry.value is not other.verdict:
            word = "yes" if other.verdict else "no"
            entry.objection = mask_secrets(f"{other.place[:LONGEST_SHOWN]}: {word}")
    units = [entry for id_, entry in replies.items() if id_.startswith("s")]
    if not all(isinstance(entry.value, bool) for entry in units):
        return
    own_count = len([entry for entry in units if entry.value is True])
    if units and own_count in (0, len(units)):
        denial = find_verdict_on_all(data, own_count > 0, pack)
        for entry in units:
            if denial is not None and entry.objection is None:
                entry.objection = mask_secrets(denial)
    for key, count in count_supported(data, len(units), pack):
        for entry in units:
            if count != own_count and entry.value is (count < own_count) and entry.objection is None:
                text = f"{key}: {count}"[:LONGEST_SHOWN]
                entry.objection = mask_secrets(f"{text} of {len(units)} are supported")


def _note_remarks(data: Mapping[str, Any], replies: Mapping[str, ReplyEntry], pack: Pack) -> None:
    """Note which positive verdicts have a remark that sets them apart from the others."""
    verdicts = {id_: entry.value for id_, entry in replies.items() if isinstance(entry.value, bool)}
    for name, key in (("sentences", "supported"), ("useful", "useful")):
        entries = data.get(name) or {}
        cells = {str(id_).strip(): cell for id_, cell in entries.items() if isinstance(cell, Mapping)}
        for id_, remark in find_verdicts_set_apart(cells, verdicts, key, pack):
            if replies[id_].objection is None:
                replies[id_].objection = mask_secrets(remark)
    units = [id_ for id_ in replies if id_.startswith("s")]
    supported = {id_ for id_ in units if verdicts.get(id_) is True}
    for other in find_remarks(data, units, supported, pack):
        if replies[other.id].objection is None:
            replies[other.id].objection = mask_secrets(other.place)


@lru_cache(maxsize=256)
def _example_entries(pack: Pack, id_: str) -> tuple[ReplyEntry, ...]:
    """Read the entries for an id in the example replies of the prompts: a model may copy them."""
    entries = []
    for reply in pack.example_replies:
        for name, key in (("sentences", "supported"), ("useful", "useful")):
            if id_ in reply.get(name, ()):
                example = _read_entries(reply[name], ids=(), key=key, pack=pack)
                entries.append(example[id_])
    return tuple(entries)


def _repeats_example(entry: ReplyEntry, unit: str, request_part: RequestPart, pack: Pack) -> bool:
    """Whether an entry holds a placeholder, or a text of the prompt's example that is not in the data."""
    for quote in entry.quotes:
        if not quote.text.strip(_PLACEHOLDER_CHARACTERS):
            return True
        copied = quote.text.strip().casefold() in pack.examples
        if copied and not any(stands_in(quote.text, text) for text in request_part.contexts.values()):
            return True
    missing = (entry.missing or "").casefold()
    if missing and not missing.strip(_PLACEHOLDER_CHARACTERS):
        return True
    return missing in pack.examples and missing not in unit.casefold()


def _read_entries(
    entries: Any, ids: Collection[str], key: str, pack: Pack, units: Mapping[str, str] = EMPTY
) -> Mapping[str, ReplyEntry]:
    """Read what a reply says about each id: those that were asked, and any other.

    Args:
        entries: The entries by id; None: there are none.
        ids: The ids that were asked.
        key: Under which an entry has its verdict.
        pack: The prompt's language.
        units: The texts of the units by id.
    """
    replies = {id_: ReplyEntry() for id_ in ids}
    for name, content in (entries or {}).items():
        id_ = str(name).strip()
        cell = _read_cell(content, key)
        entry = replies.setdefault(id_, ReplyEntry())
        if cell.get(key) not in (None, ""):
            entry.is_blank = False
        value = _yes_or_no(cell.get(key), pack)
        if value is None or entry.value == "invalid_reply":
            entry.value = "invalid_reply"
        else:
            entry.value = value if entry.value in ("missing_id", value) else "conflicting_verdicts"
            if entry.objection is None:
                unit = units.get(id_, "")
                objection = find_objection(cell, key, value, pack, unit)
                if objection is None and unit:
                    objection = find_other_text(cell, key, unit, units.values())
                entry.objection = None if objection is None else mask_secrets(objection)
        missing = _read_missing_words(
            next((cell[name] for name in _MISSING_KEYS if name in cell), None)
        )
        if entry.missing is None and missing:
            entry.missing = mask_secrets(missing[:_MAX_MISSING_CHARACTERS])
        if key == "useful":
            pieces: list[Any] = [{"context": id_, "quote": cell.get("quote")}]
        else:
            pieces = _list_pieces(cell)
        entry.quotes += _read_quotes(pieces, pack)
    return replies


def _read_cell(content: Any, key: str) -> Mapping[str, Any]:
    """Return an entry as an object with the key of its verdict; a model may write it as a text of JSON, or "Supported"."""
    cell = read_json(content) if isinstance(content, str) else content
    if isinstance(cell, bool) and key == "useful":
        return {key: cell}  # a context needs no more words
    if not isinstance(cell, Mapping):
        return {}
    if key in cell:
        return cell  # the usual case
    plain_cell = {str(name).strip().casefold(): value for name, value in cell.items()}
    if len(plain_cell) < len(cell):
        return cell
    for name in (f"is_{key}", f"is{key}", "verdict"):
        if key not in plain_cell and name in plain_cell:
            plain_cell[key] = plain_cell.pop(name)
    return plain_cell


def _list_pieces(cell: Mapping[str, Any]) -> list[Any]:
    """List the pieces of evidence of an entry.

    The prompt asks for a list of objects. Some models give one object, an object of quotes by context (``{"c2": "a quote"}``), a
    text ("c2: a quote"), or the fields of a single piece in the entry itself.
    """
    evidence = cell.get("evidence")
    if evidence is None and "quote" in cell:
        return [cell]
    if isinstance(evidence, str):
        content = read_json(evidence)
        evidence = [evidence] if content is None else content
    if isinstance(evidence, Mapping):
        evidence = [evidence]
    pieces: list[Any] = []
    for piece in evidence if isinstance(evidence, (list, tuple)) else ():
        pieces += _list_pieces_by_context(piece) or [piece]
    return pieces


def _list_pieces_by_context(piece: Any) -> list[Any]:
    """List the pieces of an object whose keys are contexts: ``{"c2": "a quote", "c3": {"quote": "words"}}``; empty for any other."""
    if not isinstance(piece, Mapping) or not all(_CONTEXT_ID.fullmatch(str(key)) for key in piece):
        return []
    pieces: list[Any] = []
    for context, content in piece.items():
        for quote in content if isinstance(content, (list, tuple)) else [content]:
            is_object = isinstance(quote, Mapping)
            pieces.append({**quote, "context": context} if is_object else [context, quote])
    return pieces


# The sizes of a list that is a quote: the context and the quote, and behind them whether the context alone states the unit.
_SIZES_OF_QUOTE = (2, 3)


def _read_quotes(pieces: Sequence[Any], pack: Pack) -> list[Quote]:
    """Read the quotes of the pieces of evidence. A piece without a text is no quote.

    If no piece says whether its context alone states the unit, and all pieces name one context, that context does.
    """
    quotes: list[Quote] = []
    has_mark = False
    for piece in pieces:
        context: Any = None
        content: Any = None
        mark: Any = None
        if isinstance(piece, Mapping):
            context, content, mark = _read_piece(piece)
        elif isinstance(piece, str):
            match = _NAMED_QUOTE.match(piece)
            context, content = match.groups() if match else ("", piece)
        elif isinstance(piece, (list, tuple)) and len(piece) in _SIZES_OF_QUOTE:
            context, content, mark = [*piece, None][:3]
        has_mark = has_mark or mark is not None
        whole = _yes_or_no(mark, pack) is True
        texts = content if isinstance(content, (list, tuple)) else [content]
        context_id = read_id(context, "c")
        quotes += [
            Quote(context_id, text, whole) for text in texts if isinstance(text, str) and text.strip()
        ]
    is_one_context = len({quote.context for quote in quotes}) == 1
    if not has_mark and is_one_context:
        return [quote._replace(whole=True) for quote in quotes]
    return quotes


def _read_piece(piece: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the context that a piece of evidence names, its quote or list of quotes, and its mark ``whole``; None for what it lacks.

    A model may give the keys other names. Then the only text is the quote, and the only name of a context is the context.
    """
    if piece.keys() <= KEYS_OF_EVIDENCE and isinstance(piece.get("context"), str):
        return piece["context"], piece.get("quote"), piece.get("whole")  # the usual case
    plain_piece = {str(name).strip().casefold(): value for name, value in piece.items()}
    context = next((plain_piece[name] for name in _CONTEXT_KEYS if name in plain_piece), None)
    if isinstance(context, Mapping):  # {"context": {"id": "c2"}}
        context = next((context[name] for name in _CONTEXT_KEYS if name in context), None)
    content = next((plain_piece[name] for name in _QUOTE_KEYS if plain_piece.get(name)), None)
    texts = [value for value in plain_piece.values() if isinstance(value, str)]
    names = [text for text in texts if _CONTEXT_ID.fullmatch(read_id(text, "c"))]
    other_texts = [text for text in texts if text not in names]
    if context is None and len(names) == 1:
        context = names[0]
    if content is None and len(other_texts) == 1:
        content = other_texts[0]
    return "" if context is None else context, content, plain_piece.get("whole")


def _read_missing_words(value: Any) -> str:
    """Read the words that are called missing: a text, or a list or an object of texts."""
    texts: Iterable[Any] = [value]
    if isinstance(value, (list, tuple)):
        texts = value
    elif isinstance(value, Mapping):
        texts = value.values()
    return ", ".join(text.strip() for text in texts if isinstance(text, str) and text.strip())


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict of a boolean, of the number 1 or 0, or of the language's word for yes or no; None for other values."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    word = value.strip(_AROUND_VERDICT).casefold() if isinstance(value, str) else None
    if word in pack.yes:
        return True
    return False if word in pack.no else None
