"""Does the evidence for a unit say something else than the unit?

A word count cannot tell "was signed" from "was not signed". This check compares the unit with the sentences chosen as
its evidence: negations, antonyms, numbers with their units, dates and names with their neighbours, and who did what to
whom. It knows the words of `vocabulary` only. It finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import chain, islice, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics.judges.lexical import vocabulary
from ctxmetrics.judges.lexical.words import CURRENCY_KEYS, stop_words, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxmetrics.judges.lexical.phrase import Phrase
    from ctxmetrics.judges.lexical.words import Token, Word

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
_VALUE_FOLLOWS = CURRENCY_KEYS | {"v"}
"""Keys whose letters may touch a value: EUR5, v5.7."""
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

    def __init__(self, text: str, tokens: Sequence[Token], language: str, number: int = -1) -> None:
        self.text: str = text
        self.tokens: Sequence[Token] = tokens
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
        places = self.places
        for position, token in enumerate(tokens):
            key, folded = token.key, token.folded
            if key in places:
                places[key].append(position)
            else:
                places[key] = [position]
            if folded in denying:
                after = tokens[position + 1].folded if position + 1 < len(tokens) else ""
                if after not in harmless:
                    self.negations.append(position)
                    self.denials.append(position)
            elif key in maybe:
                self.denials.append(position)

    @cached_property
    def words(self) -> list[Word]:
        """The words with their places in the text, which few checks need."""
        return words(self.text)

    def is_label(self, position: int) -> bool:
        """Whether a number is part of a name (RS1) or the number of a heading (11.1 What is covered)."""
        start = self.words[position].start
        before = self.text[start - 1 : start]
        if before.islower() or before.isupper():  # scripts without spaces have neither
            return self.tokens[position - 1].key not in _VALUE_FOLLOWS
        after = self.tokens[position + 1 : position + 2]
        return not position and "." in self.tokens[0].key and bool(after) and after[0].capital

    def denied(self, position: int) -> bool:
        """Whether something near a word may deny it."""
        return any(abs(position - denial) <= _NEAR for denial in self.denials)

    def denied_before(self, position: int) -> bool:
        """Whether something shortly before a word denies it; or after it, in a language that puts negations there."""
        after = _NEAR if vocabulary.negation_follows(self._language) else 0
        return any(-after <= position - denial <= _SHORTLY for denial in self.denials)

    def limits(self, negation: int) -> bool:
        """Whether a negation denies the comparative after it and nothing else: no more than, no longer than."""
        after = self.tokens[negation + 2 : negation + 3]
        return bool(after) and after[0].folded == vocabulary.than(self._language)

    def spelled(self, first: int, last: int) -> str:
        """Return the text from one word to another."""
        return self.text[self.words[first].start : self.words[last].end]

    def measures(self, position: int) -> set[str]:
        """Return the units and currencies of a number: the word before or after it, or a sign."""
        table = vocabulary.measures()
        near = self.tokens[max(0, position - 1) : position + 2]
        if not (
            any(token.key in table or token.key in CURRENCY_KEYS for token in near)
            or "%" in self.text
            or not self.text.isascii()
        ):
            return set()
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


class Statement(Passage):
    """A unit, read for this check once for all evidence.

    Attributes:
        unit: The unit.
        stop: The stop words of its language.
        content: The positions of its words that are none.
        numbers: The positions of its numbers and number words.
        capitals: The positions of its capitalised words that are no stop words.
    """

    def __init__(self, unit: Phrase, language: str) -> None:
        super().__init__(unit.text, unit.tokens, language)
        self.unit: Phrase = unit
        self.language: str = language
        self.stop: frozenset[str] = stop_words(language)
        self.content: list[int] = []
        self.numbers: list[int] = []
        self.capitals: list[int] = []
        for position, token in enumerate(unit.tokens):
            if token.kind in {"number", "count"}:
                self.numbers.append(position)
            if token.folded not in self.stop and token.kind != "character":
                self.content.append(position)
                if token.capital and token.kind == "word":
                    self.capitals.append(position)

    @cached_property
    def values(self) -> list[tuple[int, str]]:
        """The positions of its numbers, dates and names, and which of them each is."""
        calendar = vocabulary.calendar()
        named = {*self.unit.names, *(key for key in self.places if key in calendar)}
        return [
            (position, kind)
            for position, token in enumerate(self.tokens)
            if (token.kind == "number" or token.key in named)
            and (kind := _kind(token, self.unit, calendar)) is not None
        ]

    @cached_property
    def name_runs(self) -> list[int]:
        """For each word a number that the words of one name share: capitalised words one after the other."""
        runs, run, before = list[int](), 0, False
        for token in self.tokens:
            run += not (token.capital and before)
            before = token.capital
            runs.append(run)
        return runs


def contradiction(
    said: Statement,
    evidence: Sequence[Passage],
    holding: Callable[[str], Sequence[Passage]],
    elsewhere: Callable[[str, str, int], int],
) -> Contradiction | None:
    """Look for what the evidence says otherwise than the unit.

    Args:
        said: The unit.
        evidence: The sentences chosen for it.
        holding: The sentences of the contexts in which a key stands.
        elsewhere: How many content words of the unit, the first key not counted, the best sentence of the contexts
            holds in which two keys stand, apart from the sentence of a number; 0 where there is none.

    Returns:
        The first contradiction found, or None.
    """
    return next(_Check(said, evidence, holding, elsewhere).found(), None)


class _Check:
    def __init__(
        self,
        said: Statement,
        evidence: Sequence[Passage],
        holding: Callable[[str], Sequence[Passage]],
        elsewhere: Callable[[str, str, int], int],
    ) -> None:
        self.said, self.evidence = said, evidence
        self.unit, self.language, self.stop, self.content = (
            said.unit,
            said.language,
            said.stop,
            said.content,
        )
        self.holding, self.elsewhere = holding, elsewhere
        self.held = frozenset[str]().union(*[passage.places for passage in evidence])

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
            between = (
                passage.text[own.end : word.start] if step > 0 else passage.text[word.end : own.start]
            )
            if not _CLAUSE_END.isdisjoint(between):
                return
            if word.folded not in self.stop and word.kind != "character":
                yield other

    def _negated_in_unit(self) -> Iterator[Contradiction]:
        """The unit denies a word that stands undenied in the evidence."""
        for position in self.said.negations:
            after = islice(self._scope(self.said, position, 1), _DENIED)
            before = islice(self._scope(self.said, position, -1), 1)
            for denied in (position + 1,) if self.said.limits(position) else chain(after, before):
                key = self.said.tokens[denied].key
                if key not in self.held and not self.held.isdisjoint(
                    vocabulary.opposites(key, self.language)
                ):
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
                if passage.limits(position):
                    scope, skipped_here = iter((position + 1,)), frozenset[str]()
                else:
                    skipped_here = skipped
                denied = next((at for at in scope if passage.tokens[at].folded not in skipped_here), None)
                if denied is None:
                    continue
                key = passage.tokens[denied].key
                if key not in self.unit.content or all(
                    map(self.said.denied_before, self.said.places[key])
                ):
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
        if self.said.negations or self.held.issuperset(own):
            return
        for position, word in enumerate(self.said.tokens):
            if word.key in self.held or _counts(word):
                continue
            opposites = vocabulary.opposites(word.key, self.language) & self.held
            for other in sorted(opposites - own.keys()):
                for passage in self.evidence:
                    places = [
                        place
                        for place in passage.places.get(other, ())
                        if not _counts(passage.tokens[place])
                    ]
                    if places and not any(
                        abs(place - negation) <= _NEAR
                        for place in places
                        for negation in passage.negations
                    ):
                        yield Contradiction(
                            "antonym",
                            self.said.spelled(position, position),
                            passage.spelled(places[0], places[0]),
                        )

    # --- numbers, dates, names ---

    def _units_of_measure(self) -> Iterator[Contradiction]:
        for position in self.said.numbers:
            word = self.said.tokens[position]
            own = self.said.measures(position)
            if not own:
                continue
            known: set[str] = set()
            for passage in self.evidence if word.key in self.held else self.holding(word.key):
                for place in passage.places.get(word.key, ()):
                    known |= passage.measures(place)
            if known and own.isdisjoint(known):
                yield Contradiction(
                    "unit", f"{self.said.spelled(position, position)} {min(own)}", min(known)
                )
            elif self.said.places[word.key][0] == position and (lost := self._lost_measures(word.key)):
                yield Contradiction(
                    "unit", f"{self.said.spelled(position, position)} {min(own)}", min(lost)
                )

    def _lost_measures(self, key: str) -> set[str]:
        """Return in what other units the evidence gives a number that stands in it as often as in the unit.

        It gives one amount in two units ("$499 (€499)"), and the unit gives it in one of these only, twice.
        """
        own = [self.said.measures(place) for place in self.said.places[key]]
        if len(own) == 1 or not all(measures == own[0] for measures in own):
            return set()
        lost: set[str] = set()
        for passage in self.evidence:
            there = [passage.measures(place) for place in passage.places.get(key, ())]
            if len(there) != len(own) or not all(there):
                continue
            if all(measures == own[0] for measures in there):
                return set()
            lost |= set[str]().union(*there) - own[0]
        return lost

    def _values(self) -> Iterator[Contradiction]:
        """A number, date or name stands beside a neighbour beside which the evidence has another one."""
        for position, kind in self.said.values:
            word = self.said.tokens[position]
            if kind == "name" and all(word.key in passage.places for passage in self.evidence):
                continue
            anchors = (
                place
                for place in self._anchors(position, kind)
                if self.said.tokens[place].key in self.held
            )
            anchor = next(anchors, None)
            if anchor is None:
                continue
            key = self.said.tokens[anchor].key
            own = self.said.measures(position) if kind == "number" else set[str]()
            other = self._other(kind, word.key, key, own, after=anchor < position)
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
        tokens, here = self.said.tokens, bisect_left(self.content, position)
        measures = vocabulary.measures()
        near = [
            other
            for other in self.content[max(0, here - _ANCHOR) : here + _ANCHOR + 1]
            if 0 < abs(other - position) <= _ANCHOR
            and (
                kind == "month" or (tokens[other].kind != "number" and tokens[other].key not in measures)
            )
            and tokens[other].key != tokens[position].key
            and not (kind == "name" and self.said.name_runs[position] == self.said.name_runs[other])
        ]
        return sorted(near, key=lambda other: (abs(other - position), other < position))

    def _name(self, position: int) -> list[str]:
        """Return the keys of the words of the name that a word belongs to."""
        runs = self.said.name_runs
        return [
            word.key for word, run in zip(self.said.tokens, runs, strict=True) if run == runs[position]
        ]

    def _other(
        self, kind: str, own: str, anchor: str, measures: set[str], *, after: bool
    ) -> tuple[Passage, int] | None:
        """Return the value that stands beside the anchor in the evidence instead.

        None where the own value does too, in a sentence that holds as much of the unit.
        """
        found: tuple[Passage, int] | None = None
        most = most_with_own = -1
        for passage in self.evidence:
            holds = self._shared(passage) - (own in passage.places)
            for place in passage.places.get(anchor, ()):
                beside = self._beside(passage, place, kind, own, measures, after=after)
                if beside is None:
                    continue
                if passage.tokens[beside].key == own:
                    most_with_own = max(most_with_own, holds)
                elif holds > most:
                    found, most = (passage, beside), holds
        if found is None or most_with_own >= most:
            return None
        return None if self.elsewhere(own, anchor, found[0].number) >= most else found

    def _beside(
        self, passage: Passage, place: int, kind: str, own: str, measures: set[str], *, after: bool
    ) -> int | None:
        """Return the own value, or one that the unit does not hold, whichever is nearest to a place.

        The side on which the unit has it comes first; beside a month or weekday both sides are one.
        """
        calendar = vocabulary.calendar()
        reach = len(passage.tokens) if kind in {"month", "weekday"} else _ANCHOR + 1
        right = range(place + 1, min(len(passage.tokens), place + reach + 1))
        left = range(place - 1, max(-1, place - reach - 1), -1)
        either = passage.tokens[place].key in calendar
        sides = (
            (other for pair in zip_longest(right, left) for other in pair if other is not None)
            if either
            else chain(right, left)
            if after
            else chain(left, right)
        )
        for other in sides:
            word = passage.tokens[other]
            if word.key == own or (
                word.key not in self.said.places
                and _kind_there(passage, other, calendar) == kind
                and (kind != "number" or _is_year(word.key) == _is_year(own))
                and not (measures and (there := passage.measures(other)) and measures.isdisjoint(there))
            ):
                return other
        return None

    # --- roles ---

    def _roles(self) -> Iterator[Contradiction]:
        """Two names change places around one word, in a language in which their order tells who does what."""
        mark = vocabulary.passive_mark(self.language)
        if mark is None:
            return
        for left, right in pairwise(self.said.capitals):
            first, second = self.said.tokens[left].key, self.said.tokens[right].key
            if first == second or first not in self.held or second not in self.held:
                continue
            for passage in self.evidence:
                if self._reversed(passage, self.said.tokens[left + 1 : right], first, second, mark):
                    yield Contradiction(
                        "role",
                        self.said.spelled(left, right),
                        passage.spelled(passage.places[second][0], passage.places[first][0]),
                    )

    def _reversed(
        self, passage: Passage, between: Sequence[Token], first: str, second: str, mark: str
    ) -> bool:
        """Whether the two names change places around one word, in the same voice."""
        ones, twos = passage.places.get(first, ()), passage.places.get(second, ())
        if len(ones) != 1 or len(twos) != 1 or twos[0] >= ones[0]:
            return False
        there = passage.tokens[twos[0] + 1 : ones[0]]
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


def _counts(word: Token) -> bool:
    """Whether a word says how many: first has an opposite, one and 1 have none."""
    return word.kind == "number" or (word.kind == "count" and word.folded in vocabulary.ones())


def _is_year(number: str) -> bool:
    return len(number) == len(str(_YEARS.start)) and number.isdecimal() and int(number) in _YEARS


def _kind(word: Token, unit: Phrase, calendar: dict[str, str]) -> str | None:
    if word.kind == "number":
        return "number"
    if word.key in calendar and word.key in unit.content:
        return calendar[word.key]
    return "name" if word.key in unit.names else None


def _kind_there(passage: Passage, position: int, calendar: dict[str, str]) -> str | None:
    token = passage.tokens[position]
    if token.kind == "number":
        return None if passage.is_label(position) else "number"
    if token.key in calendar and (token.key != "may" or token.capital):
        return calendar[token.key]
    named = token.kind == "word" and token.capital and len(token.folded) > 1
    return "name" if named and (position > 0 or passage.words[0].start > 0) else None
