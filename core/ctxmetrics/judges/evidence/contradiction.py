"""Whether the evidence for a unit contradicts the unit.

A word count cannot tell "was signed" from "was not signed". This check compares a unit with the sentences that are its
evidence: what one side denies and the other does not, and numbers beside the same word. It knows the
words of its lists only; where they have none for a language (Chinese, Japanese), it finds no denial.
The check finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice
from typing import NamedTuple

from ctxmetrics.judges.evidence.words import (
    LISTS,
    base_language,
    keys,
    listed,
    tokens,
)

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
        stop = listed("stop", language)
        self.counts = [token.folded not in stop and token.kind != "character" for token in self.tokens]
        self.language = language
        self.places: dict[str, list[int]] = {}
        for position, token in enumerate(self.tokens):
            self.places.setdefault(token.key, []).append(position)
        denying, may_deny = listed("negations", language), keys("denials", language)
        harmless = listed("no_negation_before", language)
        following = [*(token.folded for token in self.tokens[1:]), ""]
        self.negations = [
            position
            for position, (token, after) in enumerate(zip(self.tokens, following, strict=True))
            if token.folded in denying and after not in harmless
        ]
        may = [position for position, token in enumerate(self.tokens) if token.key in may_deny]
        self.denials = frozenset((*self.negations, *may))
        self.content = frozenset(token.key for token in compress(self.tokens, self.counts))
        self.shared = len((self if unit is None else unit).content & self.places.keys())

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
            yield from (position for position in after if self.counts[position])

    def limits(self, negation: int) -> bool:
        """Whether a negation denies the comparative after it and nothing else: no more than, no longer than."""
        after = self.tokens[negation + 2 : negation + 3]
        return bool(after) and after[0].folded == LISTS["than"].get(base_language(self.language))

    def denied(self, position: int, before: int = _NEAR, after: int = _NEAR) -> bool:
        """Whether something within so many words before or after a word may deny it."""
        return not self.denials.isdisjoint(range(position - before, position + after + 1))

    def spelled(self, first: int, last: int) -> str:
        """Return the text from one word to another, both included."""
        return " ".join(
            token.spelling for token in self.tokens[min(first, last) : max(first, last) + 1]
        )


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
    said = _Text(unit, language)
    sentences = [_Text(text, language, said) for text in evidence]
    return next(
        chain.from_iterable(
            check(said, sentences) for check in (_denied_by_the_unit, _denied_by_the_evidence, _numbers)
        ),
        None,
    )


def _denied_by_the_unit(said: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """The unit denies a word that stands undenied in the evidence."""
    backwards = base_language(said.language) in _FOLLOWS
    for position in said.negations:
        sides = (said.scope(position), said.scope(position, -1) if backwards else ())
        nearest = chain.from_iterable(islice(side, 1) for side in sides)
        for denied in (position + 1,) if said.limits(position) else nearest:
            key = said.tokens[denied].key
            places = [(text, place) for text in evidence for place in text.places.get(key, ())]
            held = max((text.shared for text, _ in places), default=0)
            if held >= _ENOUGH * len(said.content) and not any(
                text.denied(place) for text, place in places
            ):
                yield Contradiction("negation", said.spelled(position, denied), "")


def _denied_by_the_evidence(said: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """The evidence denies a word that stands undenied in the unit."""
    skipped = listed("skipped_after_negation", said.language)
    after = _NEAR if base_language(said.language) in _FOLLOWS else 0
    for text in evidence:
        for position in text.negations if text.shared >= _ENOUGH * len(said.content) else ():
            inside = chain(text.scope(position), text.after_aside(position))
            scope = (one for one in inside if text.tokens[one].folded not in skipped)
            denied = position + 1 if text.limits(position) else next(scope, None)
            key = "" if denied is None else text.tokens[denied].key
            if denied is None or key not in said.content:
                continue
            if all(said.denied(place, _SHORTLY, after) for place in said.places[key]):
                continue
            if not any(
                other.shared >= text.shared and not other.denied(place)
                for other in evidence
                for place in other.places.get(key, ())
            ):
                own = said.places[key][0]
                yield Contradiction("negation", said.spelled(own, own), text.spelled(position, denied))


def _numbers(said: _Text, evidence: Sequence[_Text]) -> Iterator[Contradiction]:
    """Another number stands before the same word in the sentence that holds most of the unit."""
    for position, token in enumerate(said.tokens[:-1]):
        noun = said.tokens[position + 1]
        if token.kind != "number" or token.ends or noun.kind != "word" or not said.counts[position + 1]:
            continue
        beside = [(text.shared - (token.key in text.places), text) for text in evidence]
        own = max(
            (held for held, text in beside if {token.key, noun.key} <= text.places.keys()), default=0
        )
        for held, text in beside:
            if held <= own or held < _MOST * len(said.content) or token.key in text.places:
                continue
            for place in text.places.get(noun.key, ()):
                other = text.tokens[place - 1]
                if place and other.kind == "number" and not other.ends:
                    against = text.spelled(place - 1, place)
                    yield Contradiction("number", said.spelled(position, position + 1), against)
