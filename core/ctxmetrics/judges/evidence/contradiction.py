"""Whether the evidence for a unit contradicts the unit.

A word count cannot tell "was signed" from "was not signed". This check compares a unit with the sentences that are its
evidence: what one side denies and the other does not, and numbers beside the same word. It knows the
words of its lists only; where they have none for a language (Chinese, Japanese), it finds no denial.
The check finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ctxmetrics.judges.evidence.words import LISTS, base_language, keys, listed, tokens

# Words after a denial among which the word it denies is looked for; words on either side of a word of the evidence, and
# before one of the unit, within which something may deny it.
_SCOPE, _NEAR, _SHORTLY = 6, 7, 4
# The share of the unit's content words that a sentence must hold to deny the unit by a negation of its own.
_ENOUGH = 0.35
# The share that it must hold to give another number.
_MOST = 0.5
# Languages in which a negation may stand after the verb that it denies.
_FOLLOWS = frozenset(("de", "fr", "tr"))


# White space before a mark, as in texts that were cut into words: the mark belongs to the word before it.
_LOOSE_MARK = re.compile(r"\s+(?=[.,;:!?](?:\s|$))")


class Contradiction(NamedTuple):
    """Why a yes is doubtful.

    Attributes:
        kind: ``negation`` or ``number``.
        unit: The words of the unit.
        context: The words of the evidence against it; empty for a negation that only the unit has.
    """

    kind: str
    unit: str
    context: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.unit!r}" + (f" against {self.context!r}" if self.context else "")


class _Text:
    """A text, read for this check.

    Args:
        text: The text.
        language: ISO 639 code; it chooses the lists.
        unit: What it is compared with; None: it is the unit itself.

    Attributes:
        tokens: Its words.
        counts: Whether each of them is a content word.
        places: The positions of each key.
        negations: The positions of words that deny.
        denials: The positions of words that deny, and of those that may ("lacks", "refused").
        content: The keys of its content words.
        shared: How many content words of the unit it holds.
    """

    def __init__(self, text: str, language: str, unit: _Text | None = None) -> None:
        self.tokens = tokens(_LOOSE_MARK.sub("", text))
        self.language = language
        stop, may_deny = listed("stop", language), keys("denials", language)
        denying, harmless = listed("negations", language), listed("no_negation_before", language)
        self.counts: list[bool] = []
        self.places: dict[str, list[int]] = {}
        content = set()
        self.negations: list[int] = []
        denials = set()
        for position, token in enumerate(self.tokens):
            self.places.setdefault(token.key, []).append(position)
            counts = token.folded not in stop and token.kind != "character"
            self.counts.append(counts)
            if counts:
                content.add(token.key)
            if token.key in may_deny:
                denials.add(position)
            if token.folded in denying:
                after = self.tokens[position + 1 : position + 2]
                if not after or after[0].folded not in harmless:
                    self.negations.append(position)
                    denials.add(position)
        self.denials = frozenset(denials)
        self.content = frozenset(content)
        self.shared = len((unit or self).content & self.places.keys())

    def scope(self, position: int, step: int = 1) -> Iterator[int]:
        """Yield the content words after (or before) a word, up to a mark that ends the clause."""
        for other in range(position + step, position + step * (_SCOPE + 1), step):
            if not 0 <= other < len(self.tokens) or self.tokens[other - (step > 0)].ends:
                return
            if self.counts[other]:
                yield other

    def after_aside(self, negation: int) -> Iterator[int]:
        """Yield the content words after an insertion that follows a negation: "no longer, as they say, thrives"."""
        near = range(negation, min(negation + _SCOPE + 2, len(self.tokens)))
        marks = [position for position in near if self.tokens[position].ends]
        if len(marks) > 1 and marks[0] <= negation + 1:
            after = range(marks[1] + 1, min(marks[1] + _SCOPE, len(self.tokens)))
            for position in after:
                if self.counts[position]:
                    yield position

    def limits(self, negation: int) -> bool:
        """Whether a negation denies the comparative after it and nothing else: no more than, no longer than."""
        after = self.tokens[negation + 2 : negation + 3]
        return bool(after) and after[0].folded == LISTS["than"].get(base_language(self.language))

    def denied(self, position: int, before: int = _NEAR, after: int = _NEAR) -> bool:
        """Whether something within so many words before or after a word may deny it."""
        return not self.denials.isdisjoint(range(position - before, position + after + 1))

    def spelled(self, first: int, last: int) -> str:
        """Return the text from one word to another, both included."""
        start, end = min(first, last), max(first, last) + 1
        return " ".join(token.spelling for token in self.tokens[start:end])


def contradiction(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for what the evidence says otherwise than the unit.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence.
        language: ISO 639 code; it chooses the lists.

    Returns:
        The first contradiction found, or None.

    >>> str(contradiction("It was built by Maud.", ["It was not built by Queen Maud."], "en"))
    "negation: 'built' against 'not built'"
    >>> str(contradiction("You are covered for 2 years.", ["You are covered for 1 year."], "en"))
    "number: '2 years' against '1 year'"
    """
    claim = _Text(unit, language)
    sentences = [_Text(text, language, claim) for text in evidence]
    for check in (_denied_by_the_unit, _denied_by_the_evidence, _numbers):
        for match in check(claim, sentences):
            return match
    return None


def _denied_by_the_unit(unit: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """The unit denies a word that stands undenied in the evidence."""
    for position in unit.negations:
        for denied in _find_denied(unit, position):
            key = unit.tokens[denied].key
            places = [(text, place) for text in evidence for place in text.places.get(key, ())]
            most = max((text.shared for text, _ in places), default=0)
            if most < _ENOUGH * len(unit.content):
                continue
            if not any(text.denied(place) for text, place in places):
                yield Contradiction("negation", unit.spelled(position, denied), "")


def _find_denied(unit: _Text, negation: int) -> Iterator[int]:
    """Yield the words that a negation of the unit denies: the nearest one, in some languages on either side."""
    if unit.limits(negation):
        yield negation + 1
        return
    yield from islice(unit.scope(negation), 1)
    if base_language(unit.language) in _FOLLOWS:
        yield from islice(unit.scope(negation, -1), 1)


def _denied_by_the_evidence(unit: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """The evidence denies a word that stands undenied in the unit."""
    after = _NEAR if base_language(unit.language) in _FOLLOWS else 0
    for text in evidence:
        if text.shared < _ENOUGH * len(unit.content):
            continue
        for position in text.negations:
            denied = _find_denied_in_evidence(text, position)
            if denied is None or text.tokens[denied].key not in unit.content:
                continue
            key = text.tokens[denied].key
            if all(unit.denied(place, _SHORTLY, after) for place in unit.places[key]):
                continue
            if not _stands_undenied(key, evidence, text.shared):
                own = unit.places[key][0]
                yield Contradiction("negation", unit.spelled(own, own), text.spelled(position, denied))


def _find_denied_in_evidence(text: _Text, negation: int) -> int | None:
    """Find the word that a negation of the evidence denies."""
    if text.limits(negation):
        return negation + 1
    skipped = listed("skipped_after_negation", text.language)
    for place in chain(text.scope(negation), text.after_aside(negation)):
        if text.tokens[place].folded not in skipped:
            return place
    return None


def _stands_undenied(key: str, evidence: Sequence[_Text], least: int) -> bool:
    """Whether a word stands undenied in a sentence that holds at least so many words of the unit."""
    for text in evidence:
        if text.shared < least:
            continue
        if not all(text.denied(place) for place in text.places.get(key, ())):
            return True
    return False


def _numbers(unit: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """Another number stands before the same word in the sentence that holds most of the unit."""
    for position, token in enumerate(unit.tokens[:-1]):
        noun = unit.tokens[position + 1]
        if token.kind != "number" or token.ends or noun.kind != "word" or not unit.counts[position + 1]:
            continue
        same = 0
        others: list[tuple[int, _Text]] = []
        for text in evidence:
            if token.key not in text.places:
                others.append((text.shared, text))
            elif noun.key in text.places:
                same = max(same, text.shared - 1)
        for shared, text in others:
            if shared <= same or shared < _MOST * len(unit.content):
                continue
            for place in text.places.get(noun.key, ()):
                other = text.tokens[place - 1]
                if place and other.kind == "number" and not other.ends:
                    against = text.spelled(place - 1, place)
                    yield Contradiction("number", unit.spelled(position, position + 1), against)
