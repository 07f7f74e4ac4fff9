"""Reading a model's reply. Pure: text or object in, checked verdicts or a problem in our own words out.

A reply is untrusted. It may decide nothing but the ids that were asked for, with a plain yes or no, and a yes about
a unit needs a quote that stands in the context it names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import frozen
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.lexical.words import stop_words, words
from ctxmetrics.text import Effort, EffortExceededError, Span, find_quote
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from ctxmetrics.models.base import Reply
    from ctxmetrics.prompts import Pack

_THOUGHT_END = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_BEGINS_THINKING = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)
_STOP = re.compile(rf"\{{|{_THOUGHT_END.pattern}", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n")
_VERDICT = re.compile(r"\b(?:supported|useful)['\"]?\s*:")
_LONGEST_REPLY = 2_000_000
_LONGEST_MENDED = 16_000
"""Characters that json-repair may see: on some texts its time grows with their square."""
_MOST_FAILURES, _MOST_TRIES = 200, 1000
_LONGEST_REASON = 500
MOST_QUOTES = 200
"""Quotes about one unit that are looked for: three for each of the contexts of one request."""
_LONGEST_COMPARED = 1_000
"""Characters of a unit's evidence that are searched for its words."""
_NOT_JSON = (
    "Your last reply was no JSON object of the form shown. Reply with that JSON object and nothing else."
)


class UnreadableReplyError(JudgeError):
    """A reply that decides nothing; ``note`` tells the model what was wrong with it."""

    code = "unreadable_reply"

    def __init__(self, note: str) -> None:
        super().__init__(note, reason_code="invalid_reply")
        self.note = note


@dataclass(frozen=True, slots=True)
class Part:
    """What one request shows: units ``s1`` .. and contexts ``c1`` .., counted within the part.

    Attributes:
        units: Texts of the units by id.
        contexts: Texts of the contexts by id.
    """

    units: Mapping[str, str]
    contexts: Mapping[str, str]

    def text_of(self, id_: str) -> str:
        """Return the unit or context with this id."""
        return self.units[id_] if id_ in self.units else self.contexts[id_]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a reply decided.

    Attributes:
        verdicts: Verdicts by id; a yes about a unit has verified evidence.
        unverified: Units that were called supported without a quote that is there.
        invalid: Ids with an entry that is neither yes nor no, with the code.
        missing: Ids without an entry.
    """

    verdicts: Mapping[str, Verdict]
    unverified: tuple[str, ...] = ()
    invalid: Mapping[str, str] = frozen({})
    missing: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What to tell the model when it is asked again: ids and our own words only."""
        lines = []
        if self.missing:
            lines.append(f"Your last reply had no entry for: {', '.join(self.missing)}.")
        if self.invalid:
            lines += self._notes_about_invalid()
        if self.unverified:
            lines.append(
                "A quote must be copied word for word from the context it names, and yours was not found for: "
                f"{', '.join(self.unverified)}. If no context says it, answer false."
            )
        return " ".join(lines)

    def _notes_about_invalid(self) -> list[str]:
        long = [id_ for id_, code in self.invalid.items() if code == "too_many_quotes"]
        unclear = [id_ for id_ in self.invalid if id_ not in long]
        lines = []
        if unclear:
            lines.append(
                f"Each verdict must be exactly one true or false; look again at: {', '.join(unclear)}."
            )
        if long:
            lines.append(f"Give fewer and shorter quotes for: {', '.join(long)}.")
        return lines


def parse(reply: Reply, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return the one JSON object that a reply means.

    Fences, prose around the object and think-blocks are taken off; small slips (trailing commas, single quotes) are
    mended where the object is complete. What could mean two things, or was cut off, means nothing: a reply may quote
    a text that looks like a reply.

    Args:
        reply: The model's reply.
        keys: The keys the object should have, each with a list. An object without one of them is taken where no
            other has more: what it lacks is missing.

    Raises:
        UnreadableReplyError: There is no such object, or more than one.
    """
    content = reply.content
    if not isinstance(content, str):
        data = content if isinstance(content, Mapping) else content.model_dump()
        return _with_keys(data, keys)
    text = content[:_LONGEST_REPLY]
    candidates, around = _objects(text, keys)
    if not candidates:
        candidates = [data for data in [_mended(text, keys)] if data is not None]
    elif re.search(rf"['\"](?:{'|'.join(keys)})['\"]\s*:", around):
        raise UnreadableReplyError(_NOT_JSON)  # the object stands inside another answer, or beside one
    most = max((_number_of(data, keys) for data in candidates), default=0)
    best = [data for data in candidates if _number_of(data, keys) == most]
    if not best or any(other != best[0] for other in best[1:]):
        raise UnreadableReplyError(_NOT_JSON)
    return _with_keys(best[0], keys)


def parse_claims(reply: Reply) -> tuple[str, ...]:
    """Return the claims of a decomposition.

    Raises:
        UnreadableReplyError: There is none, or something else than texts among them.
    """
    found = parse(reply, ("claims",))["claims"]
    if not found or not all(isinstance(claim, str) and claim.strip() for claim in found):
        raise UnreadableReplyError("Give at least one claim, and each as a string that is not empty.")
    return tuple(claim.strip() for claim in found)


def _objects(text: str, keys: Sequence[str]) -> tuple[list[Any], str]:
    """Return every object with the keys that stands in the text after the thinking, the outermost only; and the rest.

    Where thinking ends is looked for outside of objects only: their strings may quote anything. What stands before
    belongs to the rest, too, unless the text says that it is thinking.
    """
    decoder = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
    found: list[Any] = []
    around: list[str] = []
    thinking = _BEGINS_THINKING.match(text) is not None
    position = begin = failures = 0
    tries = _MOST_TRIES
    while match := (_STOP if tries and failures < _MOST_FAILURES else _THOUGHT_END).search(text, position):
        position = match.end()
        if match.group() != "{":
            if thinking:
                around.clear()
            else:
                around.append(text[begin : match.start()])
            found, begin, failures, thinking = [], position, 0, False
            continue
        tries -= 1
        try:
            data, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failures += 1
            continue
        position = end
        if _has(data, keys):
            found.append(data)
            around.append(text[begin : match.start()])
            begin = end
    return found, " ".join([*around, text[begin:]])


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key twice: which one counts?")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _mended(text: str, keys: Sequence[str]) -> Any:
    """Return the object that an almost-JSON text is, if it is nothing else."""
    thoughts = [match.span() for _, match in zip(range(2), _THOUGHT_END.finditer(text), strict=False)]
    if thoughts:
        start, end = thoughts[0]
        if len(thoughts) > 1 or not (_BEGINS_THINKING.match(text) or "{" not in text[:start]):
            return None
        text = text[end:]
    fence = _FENCE.search(text)
    if fence and "{" not in text[: fence.start()] and text.rfind("```") > fence.end():
        text = text[fence.end() : text.rfind("```")]
    text = text.strip()
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end != len(text) - 1 or end - start > _LONGEST_MENDED:
        return None  # cut off, or followed by prose: not clear where it ends
    from json_repair import loads

    try:
        data: Any = loads(text[start:])
    except (ValueError, RecursionError, TypeError, IndexError):
        return None
    if not _has(data, keys):
        return None
    entries = [entry for key in keys if isinstance(data.get(key), list) for entry in data[key]]
    verdicts = sum(
        isinstance(entry, dict) and not entry.keys().isdisjoint(("supported", "useful")) for entry in entries
    )
    # More verdicts in the text than in the object: a string ended early, and a quoted text became part of the reply.
    return data if len(_VERDICT.findall(text)) == verdicts else None


def _has(data: Any, keys: Sequence[str]) -> bool:
    return isinstance(data, dict) and _number_of(data, keys) > 0


def _number_of(data: Mapping[str, Any], keys: Sequence[str]) -> int:
    return sum(isinstance(data.get(key), (list, tuple)) for key in keys)


def _with_keys(data: Any, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return the object if it has a list under one of the keys at least, and nothing else than lists under the others."""
    if not isinstance(data, Mapping) or not _number_of(data, keys):
        raise UnreadableReplyError(_NOT_JSON)
    if any(data.get(key) is not None and not isinstance(data[key], (list, tuple)) for key in keys):
        raise UnreadableReplyError(_NOT_JSON)
    return data


def check(
    data: Mapping[str, Any], part: Part, units: Sequence[str], contexts: Sequence[str], pack: Pack
) -> Checked:
    """Check a reply against what was asked.

    Args:
        data: The parsed reply.
        part: What was shown.
        units: Ids of the units that need a verdict.
        contexts: Ids of the contexts that need one.
        pack: The prompt's language, for its words for yes and no.

    Raises:
        UnreadableReplyError: An entry has no id, or one that was not shown. Its neighbours may then be meant for
            other ids, so the whole reply decides nothing.
    """
    verdicts: dict[str, Verdict] = {}
    unverified: list[str] = []
    invalid: dict[str, str] = {}
    missing: list[str] = []
    quotes = _Quotes(part)
    for key, field, asked, known in (
        ("sentences", "supported", units, part.units),
        ("contexts", "useful", contexts, part.contexts),
    ):
        if not asked:
            continue
        entries = _entries(data.get(key) or (), known)
        for id_ in asked:
            given = entries.get(id_)
            if not given:
                missing.append(id_)
                continue
            values = {_yes_or_no(entry.get(field), pack) for entry in given}
            if len(values) > 1 or None in values:
                invalid[id_] = "invalid_reply" if None in values else "conflicting_verdicts"
                continue
            value = values.pop() is True
            if key == "contexts":
                verdicts[id_] = Verdict(id=id_, value=value, text=known[id_], reason=_reason(given))
            elif not value:
                verdicts[id_] = Verdict(id=id_, value=False, text=known[id_], reason=_reason(given))
            else:
                evidence, left_out = quotes.find(given)
                if evidence:
                    doubts = _doubts(known[id_], evidence, pack.language)
                    verdicts[id_] = Verdict(
                        id=id_,
                        value=True,
                        text=known[id_],
                        reason=_reason(given),
                        evidence=evidence,
                        details=frozen({**doubts, "quotes_left_out": left_out}) if left_out else doubts,
                    )
                elif left_out:
                    invalid[id_] = "too_many_quotes"
                else:
                    unverified.append(id_)
    return Checked(frozen(verdicts), tuple(unverified), frozen(invalid), tuple(missing))


def _entries(entries: Sequence[Any], known: Mapping[str, str]) -> dict[str, list[Mapping[str, Any]]]:
    by_id: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        id_ = entry.get("id") if isinstance(entry, Mapping) else None
        id_ = id_.strip() if isinstance(id_, str) else id_
        if not isinstance(id_, str) or id_ not in known:
            raise UnreadableReplyError(
                "Your last reply had an entry without an id or with an id that is not in the data. "
                "Give exactly one entry for every id listed."
            )
        by_id.setdefault(id_, []).append(entry)
    return by_id


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a boolean, the number 1 or 0, or the language's word for yes or no stands for."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    if isinstance(value, str):
        word = value.strip().strip(".!").casefold()
        if word in pack.yes:
            return True
        if word in pack.no:
            return False
    return None


def _reason(entries: Sequence[Mapping[str, Any]]) -> str | None:
    reasons = (entry.get("reason") for entry in entries)
    return next(
        (
            reason.strip()[:_LONGEST_REASON]
            for reason in reasons
            if isinstance(reason, str) and reason.strip()
        ),
        None,
    )


class _Quotes:
    """Finds the quotes of one reply, each once, within the bounds.

    Args:
        part: What was shown.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._effort = Effort()
        self._found: dict[tuple[str, str], tuple[Span, ...]] = {}

    def find(self, entries: Sequence[Mapping[str, Any]]) -> tuple[tuple[Evidence, ...], int]:
        """Return the quotes that are there, and how many were not looked for.

        The quotes are spans of the part's contexts, in order of context and place.
        """
        given = list(dict.fromkeys(self._quotes(entries)))
        found: set[tuple[int, int, int, str]] = set()
        left_out = max(0, len(given) - MOST_QUOTES)
        for id_, quote in given[:MOST_QUOTES]:
            text = self._part.contexts[id_]
            try:
                spans = self._spans(id_, quote)
            except EffortExceededError:
                left_out += 1
                continue
            found.update((index_of(id_), start, end, text[start:end]) for start, end in spans)
        return tuple(Evidence(*span) for span in sorted(found)), left_out

    def _quotes(self, entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
        for entry in entries:
            given = entry.get("evidence")
            for item in given if isinstance(given, (list, tuple)) else ():
                id_, quote = (
                    (item.get("context"), item.get("quote")) if isinstance(item, Mapping) else (None, None)
                )
                if isinstance(quote, str) and isinstance(id_, str) and id_.strip() in self._part.contexts:
                    yield id_.strip(), quote

    def _spans(self, id_: str, quote: str) -> tuple[Span, ...]:
        if (id_, quote) not in self._found:
            self._found[id_, quote] = find_quote(quote, self._part.contexts[id_], self._effort)
        return self._found[id_, quote]


def index_of(id_: str) -> int:
    """Return the position, from 0, that an id such as ``c1`` stands for."""
    return int(id_.strip()[1:]) - 1


def _doubts(unit: str, evidence: Sequence[Evidence], language: str) -> Mapping[str, Any]:
    """Flag evidence that has no telling word in common with its unit: it may be right, a person should look."""
    quotes = " ".join(span.quote for span in evidence)
    if any(word not in stop_words(language) for word in _plain_words(unit) & _plain_words(quotes)):
        return frozen({})  # the usual case, seen at a glance
    said, quoted = _telling(unit, language), _telling(quotes[:_LONGEST_COMPARED], language)
    return frozen({"unrelated_evidence": True}) if said and not said & quoted else frozen({})


def _plain_words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.casefold()))


def _telling(text: str, language: str) -> set[str]:
    stop = stop_words(language)
    return {word.key for word in words(text) if word.folded not in stop}
