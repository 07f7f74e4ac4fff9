"""The matrix units x contexts: each context alone, the first k together for every k, and what contradicts a yes."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ctxmetrics.judges.lexical.attribution import Candidate, Rule, Support, attribute, by_context, fullest
from ctxmetrics.judges.lexical.contradiction import Contradiction, Passage, Statement, contradiction

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ctxmetrics.judges.lexical.index import Index
    from ctxmetrics.judges.lexical.phrase import Phrase
    from ctxmetrics.judges.lexical.words import Token


class Judged(NamedTuple):
    """A unit's row of the matrix, and what its verdict shows.

    Attributes:
        smallest_k: The smallest k for which the first k contexts support the unit, None where all of them do not.
            Every larger k supports it too.
        whole: The contexts that support the unit alone.
        evidence: For each of them, and for each part of what supports the unit together before the first of them, the
            sentences to quote.
        doubt: What contradicts a yes of all contexts together.
        shown: The sentences to show: for a yes the fullest ones that do not contradict it, for a no the nearest.
        support: What was counted.
    """

    smallest_k: int | None
    whole: frozenset[int]
    evidence: Mapping[int, tuple[int, ...]]
    doubt: Contradiction | None
    shown: Candidate | None
    support: Support


_MOST_READ = 10
"""Sentences that are read for one number."""


class Reader:
    """Reads the sentences of the contexts as they are needed, each once."""

    def __init__(self, index: Index, contexts: Sequence[str], language: str) -> None:
        self.index: Index = index
        self.language: str = language
        self._contexts, self._passages = contexts, dict[int, Passage]()

    def tokens(self, sentence: int) -> list[Token]:
        """Return the words of a sentence."""
        return self.index.tokens(sentence, self._contexts)

    def text(self, sentence: int) -> str:
        """Return a sentence."""
        return self.index.text(sentence, self._contexts)

    def passage(self, sentence: int) -> Passage:
        """Return a sentence, read for the check for contradictions."""
        found = self._passages.get(sentence)
        if found is None:
            text = self.text(sentence)
            found = self._passages[sentence] = Passage(
                text, self.tokens(sentence), self.language, sentence
            )
        return found

    def holding(self, key: str, contexts: range) -> list[Passage]:
        """Return the first sentences of some contexts in which a key stands."""
        first, last = self.index.first[contexts.start], self.index.first[contexts.stop]
        found = [sentence for sentence in self.index.sentences(key) if first <= sentence < last]
        return [self.passage(sentence) for sentence in found[:_MOST_READ]]

    def overlap(self, unit: Phrase, one: str, other: str, contexts: range, but: int) -> int:
        """Return how many content words of a unit, the first key not counted, stand with two keys in one sentence.

        The most of all sentences of some contexts, apart from one sentence; 0 where no sentence holds both keys.
        """
        index = self.index
        first, last = index.first[contexts.start], index.first[contexts.stop]
        both = set(index.sentences(one)).intersection(index.sentences(other)) - {but}
        both = {sentence for sentence in both if first <= sentence < last}
        if not both:
            return 0
        counts = Counter(
            sentence
            for key in unit.content
            if key != one
            for sentence in both.intersection(index.sentences(key))
        )
        return max(counts.values(), default=0)


def judged(unit: Phrase, reader: Reader, rule: Rule, *, strict: bool) -> Judged:
    """Judge a unit against each context alone, and against the first k together for every k.

    Args:
        unit: The unit; it has at least one content word.
        reader: The contexts, in rank order.
        rule: The weights and the bar.
        strict: Sentences that contradict the unit do not support it.
    """
    found = attribute(unit, reader.index, rule)
    n = len(reader.index.lengths)
    smallest_k, whole, parts = found.smallest_k, found.whole, found.parts
    shown, doubt = next(iter(found.candidates), None), None
    if smallest_k is not None:
        doubts = _Doubts(unit, reader, found)
        shown = doubts.best()
        doubt = doubts.of(shown, range(n))
        if strict:
            certain = doubts.certain()
            smallest_k = certain[0] if certain else None
            whole = frozenset(
                candidate.context
                for candidate in found.candidates
                if candidate.context in whole and doubts.of(candidate, _alone(candidate)) is None
            )
            if certain is None or min(whole, default=n) < certain[0]:
                parts = {}
            elif certain[0] != found.smallest_k or not parts:
                # the last of the first k contexts adds what supports the unit, or what takes the contradiction away
                last = certain[0] - 1
                added = {last: fullest(unit.content, reader.index, last, rule.max_sentences)}
                parts = {**added, **by_context(certain[1].picks, reader.index.owners)}
    picks = [pick for one in found.candidates if one.context in whole for pick in one.picks]
    evidence = {**parts, **by_context(picks, reader.index.owners)}
    return Judged(smallest_k, whole, evidence, doubt, shown, found)


class _Doubts:
    """What contradicts the candidates of a unit; looked up as far as it is needed."""

    def __init__(self, unit: Phrase, reader: Reader, support: Support) -> None:
        self.n = len(reader.index.lengths)
        self._unit, self._reader = unit, reader
        self._candidates, self._whole = support.candidates, support.whole
        self._known: dict[tuple[Candidate, range], Contradiction | None] = {}

    def of(self, candidate: Candidate, contexts: range) -> Contradiction | None:
        """Return what contradicts a unit in a candidate's sentences, given what some contexts say of its words.

        With more contexts a contradiction may go, and none comes.
        """
        if candidate.context in self._whole and self._found(candidate, _alone(candidate)) is None:
            return None
        return self._found(candidate, contexts)

    def _found(self, candidate: Candidate, contexts: range) -> Contradiction | None:
        known = (candidate, contexts)
        if known not in self._known:
            # its numbers are looked up where it was first enough: more contexts may hold more to contradict
            read = range(contexts.start, min(contexts.stop, candidate.since))
            self._known[known] = (
                None
                if self._verbatim(candidate)
                else contradiction(
                    self._said,
                    [self._reader.passage(pick.sentence) for pick in candidate.picks],
                    lambda key: self._reader.holding(key, read),
                    lambda one, other, but: self._reader.overlap(self._unit, one, other, contexts, but),
                )
            )
        return self._known[known]

    def _verbatim(self, candidate: Candidate) -> bool:
        """Whether a candidate is the unit word for word, so that nothing in it can contradict the unit."""
        return (
            len(candidate.picks) == 1
            and self._reader.text(candidate.picks[0].sentence) == self._unit.text
        )

    @cached_property
    def _said(self) -> Statement:
        return Statement(self._unit, self._reader.language)

    def certain(self) -> tuple[int, Candidate] | None:
        """Return the smallest k at which sentences support the unit without contradicting it, and these."""
        found: tuple[int, Candidate] | None = None
        for candidate in sorted(self._candidates, key=lambda candidate: candidate.since):
            last = found[0] - 1 if found else self.n
            if candidate.since > last:
                break
            if self.of(candidate, range(self.n)) is None:
                ks = range(candidate.since, last + 1)
                k = next((k for k in ks if self.of(candidate, range(k)) is None), None)
                found = (k, candidate) if k is not None else found
        return found

    def best(self) -> Candidate:
        """Return the fullest candidate without a contradiction, else the fullest."""
        certain = (
            candidate for candidate in self._candidates if self.of(candidate, range(self.n)) is None
        )
        return next(certain, self._candidates[0])


def _alone(candidate: Candidate) -> range:
    """Return the contexts of a candidate of one context: that one."""
    context = candidate.context or 0
    return range(context, context + 1)
