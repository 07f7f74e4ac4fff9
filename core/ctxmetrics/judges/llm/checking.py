"""Checking a reply against what was asked.

A reply is untrusted. It may decide nothing but the ids that were asked for, with a plain yes or no, and a yes about
a unit needs a quote that stands in the context it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxmetrics._frozen import EMPTY, frozen
from ctxmetrics._secrets import masked
from ctxmetrics.judges.lexical.words import stop_words, words
from ctxmetrics.judges.llm.parsing import UnreadableReplyError
from ctxmetrics.text import Effort, EffortExceededError, Span, find_quote
from ctxmetrics.verdicts import Evidence, Verdict

if TYPE_CHECKING:
    from ctxmetrics.judges.llm.splitting import Part
    from ctxmetrics.prompts import Pack

# Quotes about one unit that are looked for: three for each of the contexts of one request.
MOST_QUOTES = 200
_LONGEST_REASON = 500
# Characters of a unit's evidence that are searched for its words.
_LONGEST_COMPARED = 1_000
# What the model is told when it is asked again, by the codes of the ids.
_NOT_FOUND = (
    "A quote must be copied word for word from the context it names, and yours was not found for: {ids}. "
    "If no context says it, answer false."
)
_UNCLEAR = "Each verdict must be exactly one true or false; look again at: {ids}."
_NOTES = (
    ({"missing_id"}, "Your last reply had no entry for: {ids}."),
    ({"invalid_reply", "conflicting_verdicts"}, _UNCLEAR),
    ({"too_many_quotes"}, "Give fewer and shorter quotes for: {ids}."),
    ({"unverified_evidence"}, _NOT_FOUND),
)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a reply decided.

    Attributes:
        verdicts: Verdicts by id; a yes about a unit has verified evidence.
        problems: The ids without a verdict, each with the code that says why.
    """

    verdicts: Mapping[str, Verdict]
    problems: Mapping[str, str]

    @property
    def note(self) -> str:
        """What to tell the model when it is asked again: ids and our own words only."""
        told = (
            (text, [id_ for id_ in self.problems if self.problems[id_] in codes]) for codes, text in _NOTES
        )
        return " ".join(text.format(ids=", ".join(ids)) for text, ids in told if ids)


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
    effort = Effort()

    @cache
    def spans_of(context: str, quote: str) -> tuple[Span, ...]:
        return find_quote(quote, part.contexts[context], effort)

    verdicts: dict[str, Verdict] = {}
    problems: dict[str, str] = {}
    for key, field, asked, known in (
        ("sentences", "supported", units, part.units),
        ("contexts", "useful", contexts, part.contexts),
    ):
        entries = _entries(data.get(key) or (), known) if asked else {}
        for id_ in asked:
            given = entries.get(id_, [])
            value = _value_of([entry.get(field) for entry in given], pack)
            evidence: tuple[Evidence, ...] = ()
            details: Mapping[str, Any] = EMPTY
            if value is True and field == "supported":
                evidence, left_out = _evidence(given, part.contexts, spans_of)
                if evidence:
                    details = _doubts(known[id_], evidence, left_out, pack.language)
                else:
                    value = "too_many_quotes" if left_out else "unverified_evidence"
            if isinstance(value, str):
                problems[id_] = value
            else:
                verdicts[id_] = Verdict(
                    id=id_,
                    value=value,
                    text=known[id_],
                    reason=_reason(given),
                    evidence=evidence,
                    details=details,
                )
    return Checked(verdicts, problems)


def _entries(entries: Sequence[Any], known: Mapping[str, str]) -> dict[str, list[Mapping[str, Any]]]:
    by_id: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        id_ = entry.get("id") if isinstance(entry, Mapping) else None
        if not isinstance(id_, str) or id_.strip() not in known:
            raise UnreadableReplyError(
                "Your last reply had an entry without an id or with an id that is not in the data. "
                "Give exactly one entry for every id listed."
            )
        by_id.setdefault(id_.strip(), []).append(entry)
    return by_id


def _value_of(values: Sequence[Any], pack: Pack) -> bool | str:
    """Return the verdict that all values about an id stand for, or the code that says why there is none."""
    if not values:
        return "missing_id"
    found = {_yes_or_no(value, pack) for value in values}
    if None in found:
        return "invalid_reply"
    return "conflicting_verdicts" if len(found) > 1 else True in found


def _yes_or_no(value: Any, pack: Pack) -> bool | None:
    """Return the verdict that a boolean, the number 1 or 0, or the language's word for yes or no stands for."""
    if isinstance(value, (bool, int, float)):
        return bool(value) if value in (0, 1) else None
    word = value.strip().strip(".!").casefold() if isinstance(value, str) else None
    return True if word in pack.yes else False if word in pack.no else None


def _reason(entries: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the first reason given, with keys masked: a server may repeat them in a reply."""
    for entry in entries:
        reason = entry.get("reason")
        if isinstance(reason, str) and reason.strip():
            return masked(reason.strip()[:_LONGEST_REASON])
    return None


def _evidence(
    entries: Sequence[Mapping[str, Any]],
    contexts: Mapping[str, str],
    spans_of: Callable[[str, str], Sequence[Span]],
) -> tuple[tuple[Evidence, ...], int]:
    """Return the quotes that are there, in order of context and place, and how many were not looked for."""
    lists = [entry["evidence"] for entry in entries if isinstance(entry.get("evidence"), (list, tuple))]
    items = [item for given in lists for item in given if isinstance(item, Mapping)]
    pairs = [(item.get("context"), item.get("quote")) for item in items]
    quotes = list(
        dict.fromkeys(
            (id_.strip(), quote)
            for id_, quote in pairs
            if isinstance(quote, str) and isinstance(id_, str) and id_.strip() in contexts
        )
    )
    left_out = max(0, len(quotes) - MOST_QUOTES)
    found: set[tuple[int, int, int, str]] = set()
    for id_, quote in quotes[:MOST_QUOTES]:
        try:
            spans = spans_of(id_, quote)
        except EffortExceededError:  # noqa: PERF203 - each quote by itself
            left_out += 1
        else:
            rank, text = int(id_[1:]) - 1, contexts[id_]
            found.update((rank, start, end, text[start:end]) for start, end in spans)
    return tuple(Evidence(*span) for span in sorted(found)), left_out


def _doubts(unit: str, evidence: Sequence[Evidence], left_out: int, language: str) -> Mapping[str, Any]:
    """Flag quotes that were not looked for, and evidence that has no telling word in common with its unit."""
    doubts: dict[str, Any] = {"quotes_left_out": left_out} if left_out else {}
    quotes = " ".join(span.quote for span in evidence)
    stop = stop_words(language)
    # The usual case is quick: a word in common that needs no analysis.
    common = set.intersection(*(set(re.findall(r"[a-z]{4,}", text.casefold())) for text in (unit, quotes)))
    if common <= stop:
        said, quoted = (
            {word.key for word in words(text) if word.folded not in stop}
            for text in (unit, quotes[:_LONGEST_COMPARED])
        )
        if said and not said & quoted:
            doubts["unrelated_evidence"] = True
    return frozen(doubts)
