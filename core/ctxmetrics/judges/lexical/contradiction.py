"""Does the evidence for a unit say something else than the unit?

A word count cannot tell "was signed" from "was not signed". This check compares the unit with the sentences chosen as
its evidence: negations, antonyms, numbers with their units, dates and names with their neighbours, and who did what to
whom. It knows the words of `vocabulary` only. It finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain, islice, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics.judges.lexical import vocabulary
from ctxmetrics.judges.lexical.words import CURRENCY_KEYS, stop_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxmetrics.judges.lexical.phrase import Phrase
    from ctxmetrics.judges.lexical.words import Word

_SCOPE = 6
"""Words after a negation among which the word it denies is looked for."""
_DENIED = 3
"""Content words after a negation of the unit that are looked up in the evidence, until one is found there."""
_NEAR = 7
"""Words on either side within which a negation of the evidence may deny a word."""
_SHORTLY = 4
"""Words before a word of the unit within which something may deny it."""
_ANCHOR = 4
"""Words on either side of a number, date or name among which its neighbours are looked for."""
_CLAUSE_END = frozenset(".,;:!?")
_LONGEST_GAP = 3
"""Characters between a number and its unit."""
_ENOUGH = 0.35
"""The share of the unit's content words that a sentence must hold to deny the unit by a negation of its own."""


class Contradiction(NamedTuple):
    """Why a yes is doubtful.

    Attributes:
        kind: ``negation``, ``antonym``, ``unit`` (of measure, or currency), ``number``, ``date``, ``name`` or ``role``.
        unit: The words of the unit.
        context: The words of the evidence against it; empty for a negation that only the unit has.
    """

    kind: str
    unit: str
    context: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.unit!r}" + (f" against {self.context!r}" if self.context else "")


class Passage:
    """A text with its words, read for this check; the number of a sentence tells it from the others."""

    def __init__(self, text: str, found: Sequence[Word], language: str, number: int = -1) -> None:
        self.text: str = text
        self.words: Sequence[Word] = found
        self.number: int = number
        self._language = language
        self.places: dict[str, list[int]] = {}
        """The positions of each key."""
        denying, harmless = vocabulary.negations(language), vocabulary.no_negation_after(language)
        maybe = vocabulary.denials(language)
        self.negations: list[int] = []
        """The positions of words that deny."""
        self.denials: list[int] = []
        """The positions of words that deny, and of those that may."""
        for position, word in enumerate(found):
            self.places.setdefault(word.key, []).append(position)
            if word.folded in denying:
                after = found[position + 1].folded if position + 1 < len(found) else ""
                if after not in harmless:
                    self.negations.append(position)
                    self.denials.append(position)
            elif word.key in maybe:
                self.denials.append(position)

    def denied(self, position: int) -> bool:
        """Whether something near a word may deny it."""
        return any(abs(position - denial) <= _NEAR for denial in self.denials)

    def denied_before(self, position: int) -> bool:
        """Whether something shortly before a word denies it; or after it, in a language that puts negations there."""
        after = _NEAR if vocabulary.negation_follows(self._language) else 0
        return any(-after <= position - denial <= _SHORTLY for denial in self.denials)

    def spelled(self, first: int, last: int) -> str:
        """Return the text from one word to another."""
        return self.text[self.words[first].start : self.words[last].end]

    def measures(self, position: int) -> set[str]:
        """Return the units and currencies of a number: the word before or after it, or a sign."""
        table = vocabulary.measures()
        found = set()
        word = self.words[position]
        if position + 1 < len(self.words):
            after = self.words[position + 1]
            if self._adjoins(word, after) and (name := table.get(after.key)):
                found.add(name)
        if position:
            before = self.words[position - 1]
            if before.key in CURRENCY_KEYS and self._adjoins(before, word):
                found.add(before.key)
        rest = self.text[word.end : word.end + 1]
        if rest == "%" or (rest == " " and self.text[word.end + 1 : word.end + 2] == "%"):
            found.add("percent")
        elif rest and not rest.isascii():
            found.update(
                name
                for spelling, name in vocabulary.spaceless_measures()
                if self.text.startswith(spelling, word.end)
            )
        return found

    def _adjoins(self, left: Word, right: Word) -> bool:
        gap = self.text[left.end : right.start]
        return len(gap) <= _LONGEST_GAP and not gap.strip(" .-\u00a0\u202f")


def contradiction(
    unit: Phrase,
    evidence: Sequence[Passage],
    language: str,
    holding: Callable[[str], Sequence[Passage]],
    elsewhere: Callable[[str, str, int], int],
) -> Contradiction | None:
    """Look for what the evidence says otherwise than the unit.

    Args:
        unit: The unit.
        evidence: The sentences chosen for it.
        language: ISO 639 code; chooses the word lists.
        holding: The sentences of the contexts in which a key stands.
        elsewhere: How many content words of the unit, the first key not counted, the best sentence of the contexts
            holds in which two keys stand, apart from the sentence of a number; 0 where there is none.

    Returns:
        The first contradiction found, or None.
    """
    check = _Check(unit, evidence, language, holding, elsewhere)
    return next(check.found(), None)


class _Check:
    def __init__(
        self,
        unit: Phrase,
        evidence: Sequence[Passage],
        language: str,
        holding: Callable[[str], Sequence[Passage]],
        elsewhere: Callable[[str, str, int], int],
    ) -> None:
        self.unit, self.evidence, self.language = unit, evidence, language
        self.holding, self.elsewhere = holding, elsewhere
        self.said = Passage(unit.text, unit.words, language)
        self.stop = stop_words(language)
        self._runs = self._name_runs()
        self.held = frozenset[str]().union(*(passage.places for passage in evidence))
        self.content = [
            position
            for position, word in enumerate(unit.words)
            if word.folded not in self.stop and word.kind != "character"
        ]

    def found(self) -> Iterator[Contradiction]:
        yield from self._negated_in_unit()
        yield from self._negated_in_evidence()
        yield from self._antonyms()
        yield from self._units_of_measure()
        yield from self._values()
        yield from self._roles()

    # --- negation ---

    def _scope(self, passage: Passage, position: int, step: int) -> Iterator[int]:
        """Yield the content words after (or before) a word, up to a mark that ends the clause."""
        own = passage.words[position]
        for other in range(position + step, position + step * (_SCOPE + 1), step):
            if not 0 <= other < len(passage.words):
                return
            word = passage.words[other]
            between = passage.text[own.end : word.start] if step > 0 else passage.text[word.end : own.start]
            if not _CLAUSE_END.isdisjoint(between):
                return
            if word.folded not in self.stop and word.kind != "character":
                yield other

    def _negated_in_unit(self) -> Iterator[Contradiction]:
        """The unit denies a word that stands undenied in the evidence."""
        for position in self.said.negations:
            after = islice(self._scope(self.said, position, 1), _DENIED)
            before = islice(self._scope(self.said, position, -1), 1)
            for denied in chain(after, before):
                key = self.said.words[denied].key
                if key not in self.held and not self.held.isdisjoint(self._opposites(key)):
                    break  # did not fall: rose
                places = [
                    (passage, place) for passage in self.evidence for place in passage.places.get(key, ())
                ]
                if not places:
                    continue
                if not any(passage.denied(place) for passage, place in places):
                    first, last = sorted((position, denied))
                    yield Contradiction("negation", self.said.spelled(first, last), "")
                break

    def _negated_in_evidence(self) -> Iterator[Contradiction]:
        """The evidence denies a word that stands undenied in the unit."""
        skipped = vocabulary.skipped_after_negation(self.language)
        for passage in self.evidence:
            if not passage.negations:
                continue
            shared = self._shared(passage)
            if shared < _ENOUGH * len(self.unit.content):
                continue
            for position in passage.negations:
                scope = self._scope(passage, position, 1)
                denied = next((place for place in scope if passage.words[place].folded not in skipped), None)
                if denied is None:
                    continue
                key = passage.words[denied].key
                if key not in self.unit.content or all(map(self.said.denied_before, self.said.places[key])):
                    continue
                if not self._undenied(key, shared):
                    yield Contradiction(
                        "negation", self.unit.spelled((key,))[0], passage.spelled(position, denied)
                    )

    def _shared(self, passage: Passage) -> int:
        return sum(key in passage.places for key in self.unit.content)

    def _undenied(self, key: str, shared: int) -> bool:
        """Whether a sentence that holds as much of the unit has the word undenied."""
        return any(
            not passage.denied(place)
            for passage in self.evidence
            for place in passage.places.get(key, ())
            if self._shared(passage) >= shared
        )

    # --- antonyms ---

    def _antonyms(self) -> Iterator[Contradiction]:
        own = self.said.places
        if self.said.negations:
            return
        for position, word in enumerate(self.said.words):
            if word.key in self.held or word.kind == "number":
                continue
            for other in self._opposites(word.key) & self.held - own.keys():
                for passage in self.evidence:
                    places = passage.places.get(other, ())
                    if places and not any(
                        abs(place - negation) <= _NEAR for place in places for negation in passage.negations
                    ):
                        yield Contradiction(
                            "antonym",
                            self.said.spelled(position, position),
                            passage.spelled(places[0], places[0]),
                        )

    def _opposites(self, key: str) -> frozenset[str]:
        return (
            vocabulary.antonyms(self.language)
            .get(key, frozenset())
            .union(vocabulary.opposite_by_prefix(key, self.language))
        )

    # --- numbers, dates, names ---

    def _units_of_measure(self) -> Iterator[Contradiction]:
        for position, word in enumerate(self.said.words):
            if word.kind not in {"number", "count"}:
                continue
            own = self.said.measures(position)
            if not own:
                continue
            known: set[str] = set()
            for passage in self.evidence if word.key in self.held else self.holding(word.key):
                for place in passage.places.get(word.key, ()):
                    known |= passage.measures(place)
            if known and own.isdisjoint(known):
                yield Contradiction("unit", f"{self.said.spelled(position, position)} {min(own)}", min(known))

    def _values(self) -> Iterator[Contradiction]:
        """A number, date or name stands beside a neighbour beside which the evidence has another one."""
        calendar = vocabulary.calendar()
        for position, word in enumerate(self.said.words):
            kind = _kind(word, self.unit, calendar)
            if kind is None or (
                kind == "name" and all(word.key in passage.places for passage in self.evidence)
            ):
                continue
            anchors = (
                place for place in self._anchors(position, kind) if self.said.words[place].key in self.held
            )
            anchor = next(anchors, None)
            if anchor is None:
                continue
            key = self.said.words[anchor].key
            other = self._other(kind, word.key, key, after=anchor < position)
            if other is not None:
                passage, place = other
                if kind == "name" and any(part in passage.places for part in self._name(position)):
                    continue
                first, last = sorted((anchor, position))
                yield Contradiction(
                    "date" if kind in {"month", "weekday"} else kind,
                    self.said.spelled(first, last),
                    passage.spelled(place, place),
                )

    def _anchors(self, position: int, kind: str) -> list[int]:
        """Return the content words beside a word, the nearest first."""
        words, here = self.said.words, bisect_left(self.content, position)
        measures = vocabulary.measures()
        near = [
            other
            for other in self.content[max(0, here - _ANCHOR) : here + _ANCHOR + 1]
            if 0 < abs(other - position) <= _ANCHOR
            and (kind == "month" or (words[other].kind != "number" and words[other].key not in measures))
            and words[other].key != words[position].key
            and not (kind == "name" and self._runs[position] == self._runs[other])
        ]
        return sorted(near, key=lambda other: (abs(other - position), other < position))

    def _name_runs(self) -> list[int]:
        """Return for each word a number that the words of one name share: capitalised words one after the other."""
        text, runs, run, before = self.unit.text, list[int](), 0, False
        for word in self.unit.words:
            capital = text[word.start].isupper()
            run += not (capital and before)
            before = capital
            runs.append(run)
        return runs

    def _name(self, position: int) -> list[str]:
        """Return the keys of the words of the name that a word belongs to."""
        run = self._runs[position]
        return [word.key for word, other in zip(self.unit.words, self._runs, strict=True) if other == run]

    def _other(self, kind: str, own: str, anchor: str, *, after: bool) -> tuple[Passage, int] | None:
        """Return the value that stands beside the anchor in the evidence instead.

        None where the own value does too, in a sentence that holds as much of the unit.
        """
        found: tuple[Passage, int] | None = None
        most = most_with_own = -1
        for passage in self.evidence:
            holds = self._shared(passage) - (own in passage.places)
            for place in passage.places.get(anchor, ()):
                beside = self._beside(passage, place, kind, own, after=after)
                if beside is None:
                    continue
                if passage.words[beside].key == own:
                    most_with_own = max(most_with_own, holds)
                elif holds > most:
                    found, most = (passage, beside), holds
        if found is None or most_with_own >= most:
            return None
        return None if self.elsewhere(own, anchor, found[0].number) >= most else found

    def _beside(self, passage: Passage, place: int, kind: str, own: str, *, after: bool) -> int | None:
        """Return the own value, or one that the unit does not hold, whichever is nearest to a place.

        The side on which the unit has it comes first; beside a month or weekday both sides are one.
        """
        calendar = vocabulary.calendar()
        reach = len(passage.words) if kind in {"month", "weekday"} else _ANCHOR + 1
        right = range(place + 1, min(len(passage.words), place + reach + 1))
        left = range(place - 1, max(-1, place - reach - 1), -1)
        either = passage.words[place].key in calendar
        sides = (
            (other for pair in zip_longest(right, left) for other in pair if other is not None)
            if either
            else chain(right, left)
            if after
            else chain(left, right)
        )
        for other in sides:
            word = passage.words[other]
            if word.key == own or (
                word.key not in self.said.places
                and _kind_there(word, passage, calendar) == kind
                and (kind != "number" or _is_year(word.key) == _is_year(own))
            ):
                return other
        return None

    # --- roles ---

    def _roles(self) -> Iterator[Contradiction]:
        """Two names change places around one word, in a language in which their order tells who does what."""
        mark = vocabulary.passive_mark(self.language)
        if mark is None:
            return
        names = [
            position
            for position, word in enumerate(self.said.words)
            if word.kind == "word" and self.said.text[word.start].isupper() and word.folded not in self.stop
        ]
        for left, right in pairwise(names):
            first, second = self.said.words[left].key, self.said.words[right].key
            if first == second or first not in self.held or second not in self.held:
                continue
            for passage in self.evidence:
                if self._reversed(passage, self.said.words[left + 1 : right], first, second, mark):
                    yield Contradiction(
                        "role",
                        self.said.spelled(left, right),
                        passage.spelled(passage.places[second][0], passage.places[first][0]),
                    )

    def _reversed(
        self, passage: Passage, between: Sequence[Word], first: str, second: str, mark: str
    ) -> bool:
        """Whether the two names change places around one word, in the same voice."""
        ones, twos = passage.places.get(first, ()), passage.places.get(second, ())
        if len(ones) != 1 or len(twos) != 1 or twos[0] >= ones[0]:
            return False
        there = passage.words[twos[0] + 1 : ones[0]]
        calendar, reciprocal = vocabulary.calendar(), vocabulary.reciprocal()
        if first in calendar or second in calendar:
            return False
        if any(word.key in reciprocal or word.folded in reciprocal for word in (*between, *there)):
            return False
        verbs = {word.key for word in between if word.folded not in self.stop and word.kind == "word"}
        same_voice = any(word.folded == mark for word in between) == any(
            word.folded == mark for word in there
        )
        return same_voice and any(word.key in verbs for word in there)


_YEARS = range(1000, 2101)


def _is_year(number: str) -> bool:
    return len(number) == len(str(_YEARS.start)) and number.isdecimal() and int(number) in _YEARS


def _kind(word: Word, unit: Phrase, calendar: dict[str, str]) -> str | None:
    if word.kind == "number":
        return "number"
    if word.key in calendar and word.key in unit.content:
        return calendar[word.key]
    return "name" if word.key in unit.names else None


def _kind_there(word: Word, passage: Passage, calendar: dict[str, str]) -> str | None:
    if word.kind == "number":
        return "number"
    if word.key in calendar and (word.key != "may" or passage.text[word.start].isupper()):
        return calendar[word.key]
    capital = (
        word.kind == "word" and word.start > 0 and passage.text[word.start].isupper() and len(word.folded) > 1
    )
    return "name" if capital else None
