"""Contradictions within one reply: within an entry, and between two entries.

The entries are compared after all of them were read. A contradiction is flagged. Only one is asked again: a no whose quote is
said to state the whole unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence import quotes as evidence
from ctxmetrics.judges.evidence.quotes import DENIED, read_distinctive_words, share_script
from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.judges.llm.entries import ReplyEntry
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.text.character_spans import has_content
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.verdicts import EMPTY_FORM, Evidence, Verdict

# Doubts about a verdict, each with the case in which it is raised.
# A yes whose entry calls words missing.
MISSING = "missing"
# A yes that rests on one part alone.
PART_ALONE = "part_alone"
# A verdict that other keys of its entry contradict.
OBJECTION = "objection"
# The doubts that make a verdict `contradicted`.
CONTRADICTING = frozenset({DENIED, MISSING, PART_ALONE, OBJECTION})
# A yes whose evidence belongs to another unit.
ANOTHER_SENTENCE = "another_sentence"
# Evidence of a unit about which the reply decides nothing.
UNDECIDED = "undecided"
# All doubts that evidence may have.
DOUBTS = evidence.DOUBTS | CONTRADICTING | {EMPTY_FORM, ANOTHER_SENTENCE, UNDECIDED}
# Evidence that holds at least this share of the words that only another unit has belongs to that unit.
_MIN_SHARE_OF_OTHER_UNIT = 0.5
# Words that mean that nothing is missing.
_NOTHING = frozenset(read_data("judges.llm", "words.toml")["nothing"])
# What stands before a remark on such words.
_REMARK_BEGINNING = re.compile(r"\s[-–—]\s|[,;:(]")
# Characters that may stand around such words.
_AROUND_WORDS = " \t\n.,;:!\"'`()[]{}<>*_-–—/"


class Denial(NamedTuple):
    """How a reply denies its own yes.

    Attributes:
        doubt: `OBJECTION`, `MISSING` or `PART_ALONE`.
        reason: The doubt in words.
    """

    doubt: str
    reason: str


def find_denial(
    entry: ReplyEntry, spans: Sequence[Evidence], request_part: RequestPart
) -> Denial | None:
    """Return how an entry that says yes denies it, or None.

    Args:
        entry: The entry.
        spans: The places of the entry's quotes.
        request_part: The units and contexts that the request showed.
    """
    if entry.objection is not None:
        return Denial(OBJECTION, f"called supported, and beside it: {entry.objection}")
    missing = read_missing(entry)
    if missing:
        return Denial(MISSING, f"called supported, and called missing: {missing}")
    if len(request_part.contexts) > 1 and spans and not any(span.whole for span in spans):
        texts = sorted({normalise(span.quote) for span in spans}, key=len)
        if all(text in texts[-1] for text in texts):
            return Denial(PART_ALONE, "called supported, and only one part of it is quoted")
    return None


def read_missing(entry: ReplyEntry) -> str:
    """Return the words that an entry calls missing; empty if it says that nothing is missing."""
    missing = entry.missing or ""
    has_words = has_content(missing)  # "∅" has none
    return missing if has_words and not _says_nothing(missing) else ""


def _says_nothing(missing: str) -> bool:
    """Whether words in the place of the missing ones say that nothing is missing, also with a remark: "n/a - fully supported"."""
    parts = _REMARK_BEGINNING.split(missing, maxsplit=1)
    return all(part.strip(_AROUND_WORDS).casefold() in _NOTHING for part in (parts[0], parts[-1]))


def is_empty_form(id_: str, entry: ReplyEntry, request_part: RequestPart) -> bool:
    """Whether a negative entry does not name any word of its sentence as missing.

    Such an entry may be a default of the schema, or be about another sentence.
    """
    missing = read_missing(entry)
    if not missing:
        return True
    language = request_part.request.language
    text = request_part.units[id_]
    words = read_distinctive_words(missing, language)
    if words.isdisjoint(read_distinctive_words(text, language)) and share_script(missing, text):
        # A negation, or another word without a meaning of its own, may be missing.
        all_keys = {word.key for word in tokenize(text)}
        return any(word.key not in all_keys for word in tokenize(missing))
    nearness = _measure_nearness(missing, id_, request_part)
    return any(own == 0 and other > 0 for own, other in nearness)


def is_about(id_: str, entry: ReplyEntry, request_part: RequestPart) -> bool:
    """Whether the own words of an entry prove that the entry is about its sentence and no other one."""
    if entry.value is True:
        words = " ".join(quote.text for quote in entry.quotes)
    else:
        words = read_missing(entry)
        if not words:
            return False
    return all(own > other for own, other in _measure_nearness(words, id_, request_part))


def is_about_another(id_: str, entry: ReplyEntry, request_part: RequestPart) -> bool:
    """Whether the own words of an entry show that the entry is about another sentence."""
    texts = [read_missing(entry)]
    if entry.value is True or not texts[0]:
        texts = [quote.text for quote in entry.quotes]
    nearness = _measure_nearness(" ".join(texts), id_, request_part)
    return any(other > own for own, other in nearness)


def is_evidence_of_another(id_: str, sentences: Sequence[str], request_part: RequestPart) -> bool:
    """Whether the evidence of a unit belongs to another unit.

    The evidence must have none of the words that only its own unit has, and at least half of the words that only the other unit
    has.

    Args:
        id_: The id of the unit.
        sentences: The sentences that hold the quotes of the unit.
        request_part: The units and contexts that the request showed.
    """
    units = request_part.units
    if len(units) == 1 or [*sentences] == [units[id_]]:
        return False  # the usual cases: there is no other unit, or the unit stands there word for word
    language = request_part.request.language
    words = frozenset[str]()
    for sentence in sentences:
        words |= read_distinctive_words(sentence, language)
    unit_words = read_distinctive_words(units[id_], language)
    words_of_unit_here = words & unit_words
    for other_id, other_text in units.items():
        other_words = read_distinctive_words(other_text, language)
        if other_id == id_ or not words_of_unit_here <= other_words:
            continue  # the usual case: the evidence has a word that only its own unit has
        if _measure_share(other_words - unit_words, words) >= _MIN_SHARE_OF_OTHER_UNIT:
            return True
    return False


def _measure_nearness(text: str, id_: str, request_part: RequestPart) -> Iterator[tuple[float, float]]:
    """Compare how near a text is to a unit and to each other unit.

    Yields:
        For each other unit, two shares of distinctive words that stand in the text: of the words that the unit has and the
        other unit has not, and of the words that the other unit has and the unit has not.
    """
    language = request_part.request.language
    words = read_distinctive_words(text, language)
    words_by_unit = {
        unit_id: read_distinctive_words(unit, language) for unit_id, unit in request_part.units.items()
    }
    unit_words = words_by_unit[id_]
    for other_id, other_words in words_by_unit.items():
        if other_id != id_ and other_words != unit_words:
            own_share = _measure_share(unit_words - other_words, words)
            yield own_share, _measure_share(other_words - unit_words, words)


def _measure_share(words: frozenset[str], text_words: frozenset[str]) -> float:
    """Return the share of words that a text has; 0 without words."""
    return len(words & text_words) / len(words) if words else 0.0


class Conflict(NamedTuple):
    """A quote on which a supported unit rests, in a context that is called useless: the ids of both, and the quote's place."""

    unit_id: str
    context_id: str
    span: Evidence


def find_conflicts(verdicts: Mapping[str, Verdict], request_part: RequestPart) -> Iterator[Conflict]:
    """Find the supported units that rest on a context that is called useless.

    Args:
        verdicts: The verdicts by id.
        request_part: The units and contexts that the request showed.
    """
    for unit_id in request_part.units:
        unit_verdict = verdicts.get(unit_id)
        if unit_verdict is None or unit_verdict.value is not True:
            continue
        # A unit with a quote that states all of it does not need the quotes that state a part.
        whole_spans = [span for span in unit_verdict.evidence if span.whole]
        for span in whole_spans or unit_verdict.evidence:
            context_id = f"c{span.context + 1}"
            context_verdict = verdicts.get(context_id)
            if context_verdict is not None and context_verdict.value is False:
                yield Conflict(unit_id, context_id, span)


def settle_conflicts(verdicts: MutableMapping[str, Verdict], request_part: RequestPart) -> None:
    """Flag each supported unit that rests on a useless context, and flag the context.

    Such a context becomes useful if the evidence of one of its units is strong; else it stays useless.
    """
    # For each useless context, the evidence in it by the unit that rests on it.
    spans_by_context: dict[str, dict[str, list[Evidence]]] = {}
    for unit_id, context_id, span in find_conflicts(verdicts, request_part):
        spans_by_context.setdefault(context_id, {}).setdefault(unit_id, []).append(span)
    for context_id, spans_by_unit in spans_by_context.items():
        strong_spans: list[Evidence] = []
        for unit_id, spans in spans_by_unit.items():
            unit = verdicts[unit_id]
            # A quote that names another context is still strong evidence, if it stands only in this context.
            if set(unit.details.get("weak", ())) <= {"another_context"}:
                strong_spans += spans
            verdicts[unit_id] = contradicted(unit, f"rests on {context_id}, which is called useless")
        verb = "rests" if len(spans_by_unit) == 1 else "rest"
        verdicts[context_id] = replace(
            verdicts[context_id],
            value=bool(strong_spans),
            code="contradicted",
            reason=f"called useless, and {', '.join(spans_by_unit)} {verb} on it",
            evidence=tuple(strong_spans),
        )


def contradicted(verdict: Verdict, reason: str) -> Verdict:
    """Return the verdict with the flag ``contradicted`` and one more reason."""
    reasons: Iterable[str] = filter(None, (verdict.reason, reason))
    return replace(verdict, code="contradicted", reason="; ".join(reasons))
