"""Which contexts support a unit: each alone, and the first k together for every k.

Pure: a read unit and an index in, its `Support` out. The words of a unit are bits of a number, so that what a sentence
holds of the unit is one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from itertools import islice
from math import log2
from operator import or_
from typing import NamedTuple

from ctxmetrics.judges.evidence.contradiction import Contradiction
from ctxmetrics.judges.lexical.index import Index
from ctxmetrics.judges.lexical.phrase import Phrase

TOLERANCE = 1e-9
# Sentences that are searched at no cost.
_FREE = 4


class Rule(NamedTuple):
    """When a unit is supported; the parameters of `LexicalJudge`."""

    max_sentences: int
    min_coverage: float
    search_weight: float
    number_weight: float
    name_weight: float


class Candidate(NamedTuple):
    """Sentences that hold words of a unit together.

    Attributes:
        held: Their share of the unit's content words, less what the search takes off.
        sentences: The sentences, the one that adds most first.
        bits: The bits of the words that they hold.
    """

    held: float
    sentences: tuple[int, ...] = ()
    bits: int = 0


class Support(NamedTuple):
    """What the contexts hold of one unit.

    Attributes:
        keys: The unit's content words, in the order of the bits.
        present: The bits of those that stand in any context.
        score: What is compared with `Rule.min_coverage`.
        smallest_k: The smallest k for which the first k contexts support the unit, None where all of them do not.
            Every larger k supports it too.
        whole: The contexts that alone support the unit, each with the sentences to quote.
        parts: The same of those that support it together at `smallest_k`, where none does alone.
        shown: The sentences to show: for a yes the fullest ones that do not contradict it, for a no the nearest.
        doubt: What contradicts the unit, where all sentences that hold enough of it do: what the fullest ones say.
    """

    keys: tuple[str, ...]
    present: int
    score: float
    smallest_k: int | None
    whole: Mapping[int, tuple[int, ...]]
    parts: Mapping[int, tuple[int, ...]]
    shown: Candidate
    doubt: Contradiction | None

    def keys_of(self, bits: int) -> tuple[str, ...]:
        """Return the words that some bits stand for."""
        return tuple(key for number, key in enumerate(self.keys) if bits >> number & 1)


def attribute(
    unit: Phrase,
    index: Index,
    rule: Rule,
    doubt: Callable[[tuple[int, ...]], Contradiction | None],
    *,
    strict: bool,
) -> Support:
    """Judge a unit against each context alone, and against the first k together for every k.

    Args:
        unit: The unit; it has at least one content word.
        index: The contexts, in rank order.
        rule: The weights and the bar.
        doubt: What contradicts the unit in some sentences.
        strict: Sentences that contradict the unit do not support it.
    """
    row = _Row(unit, index, rule)
    best = Candidate(0.0)
    found: list[Candidate] = []  # what each context holds, and what only several hold together
    whole: dict[int, tuple[int, ...]] = {}
    parts: dict[int, tuple[int, ...]] = {}
    pool: dict[int, int] = {}  # what sentences hold, each kind once, with the first such sentence
    seen, missing, smallest_k = 0, row.missing(0), None
    score = -missing

    def enough(candidate: Candidate, missing: float) -> bool:
        return candidate.held - missing >= rule.min_coverage - TOLERANCE

    def supports(candidate: Candidate, missing: float) -> bool:
        return enough(candidate, missing) and not (strict and doubt(candidate.sentences))

    for context, masks in row.contexts.items():
        own, last = _union(masks.values()), index.first[context + 1]
        alone = row.best(masks, last - index.first[context])
        if supports(alone, row.missing(own)):
            whole[context] = alone.sentences
        seen |= own
        missing = row.missing(seen)
        for sentence, mask in masks.items():
            pool.setdefault(mask, sentence)
        found.append(alone)
        best = max(best, alone, key=_held)
        if row.at_most(seen, last) > max(best.held, score + missing):
            found.append(row.best({sentence: mask for mask, sentence in pool.items()}, last))
            best = max(best, found[-1], key=_held)
        score = max(score, best.held - missing)
        if smallest_k is None:
            first = max((one for one in found if supports(one, missing)), key=_held, default=None)
            if first is not None:
                smallest_k = context + 1
                parts = {} if context in whole else row.parts(first, context)
    full = sorted((one for one in found if enough(one, missing)), key=_held, reverse=True)
    certain = next((one for one in full if doubt(one.sentences) is None), None)
    shown = certain or next(iter(full), best)
    return Support(
        keys=row.keys,
        present=row.present,
        score=score,
        smallest_k=smallest_k,
        whole=whole,
        parts=parts,
        shown=shown,
        doubt=doubt(shown.sentences) if full and certain is None else None,
    )


def _held(candidate: Candidate) -> float:
    return candidate.held


class _Row:
    """What the sentences hold of one unit."""

    def __init__(self, unit: Phrase, index: Index, rule: Rule) -> None:
        self._rule, self._owners = rule, index.owners
        self._own = unit.sentences - 1
        """Sentences beyond the first that the unit has itself."""
        self._size = max(rule.max_sentences, unit.sentences)
        self.keys = tuple(unit.content)
        marked = unit.numbers or unit.names
        bits = {key: 1 << number for number, key in enumerate(self.keys)} if marked else {}
        self._numbers = sum(bits[key] for key in unit.numbers)
        self._names, self._name_count = sum(bits[key] for key in unit.names), len(unit.names)
        self.contexts: dict[int, dict[int, int]] = {}
        """What each sentence holds, by context."""
        for sentence, mask in sorted(index.masks(self.keys).items()):
            self.contexts.setdefault(index.owners[sentence], {})[sentence] = mask
        self.present: int = _union(map(_union, map(dict.values, self.contexts.values())))
        """The bits of the words that stand in any context."""

    def missing(self, present: int) -> float:
        """Return what is taken off for the numbers and names that are not among the words present."""
        taken = self._rule.number_weight if self._numbers & ~present else 0.0
        names = self._names & ~present
        return taken + (self._rule.name_weight * names.bit_count() / self._name_count if names else 0.0)

    def searching(self, n: int, count: int) -> float:
        """Return what is taken off for so many sentences, chosen from n: the more choices, the more stands there by chance."""
        return self._rule.search_weight * log2(n / _FREE) * max(1, count - self._own)

    def at_most(self, seen: int, n: int) -> float:
        """Return what sentences of several contexts may hold, given all the words of these."""
        cost = min(self.searching(n, 2), self.searching(n, self._size))
        return seen.bit_count() / len(self.keys) - cost

    def best(self, masks: Mapping[int, int], n: int) -> Candidate:
        """Return the sentences that hold most, chosen one by one from n; as many as pay."""
        found, chosen = Candidate(-1.0), list[int]()
        for sentence, bits in islice(_greedy(masks), self._size):
            chosen.append(sentence)
            held = bits.bit_count() / len(self.keys) - self.searching(n, len(chosen))
            if held > found.held:
                found = Candidate(held, tuple(chosen), bits)
        return found

    def parts(self, candidate: Candidate, last: int) -> dict[int, tuple[int, ...]]:
        """Return a candidate's contexts, and those up to the last that hold the numbers and names that these lack."""
        found: dict[int, tuple[int, ...]] = {}
        for sentence in candidate.sentences:
            context = self._owners[sentence]
            found[context] = (*found.get(context, ()), sentence)
        lacking = self._numbers | self._names
        for context in found:
            lacking &= ~_union(self.contexts[context].values())
        for context, masks in self.contexts.items():
            held = {sentence: mask & lacking for sentence, mask in masks.items() if mask & lacking}
            if held and context <= last:
                found[context] = tuple(sentence for sentence, _ in islice(_greedy(held), self._size))
                lacking &= ~_union(held.values())
        return found


def fullest(keys: Iterable[str], index: Index, context: int, limit: int) -> tuple[int, ...]:
    """Return the sentences of one context that hold most of some words, chosen one by one."""
    inside = range(index.first[context], index.first[context + 1])
    masks = {sentence: mask for sentence, mask in sorted(index.masks(keys).items()) if sentence in inside}
    return tuple(sentence for sentence, _ in islice(_greedy(masks), limit))


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


def _greedy(masks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Choose sentences one by one, each the one that adds most, the first of equals; yield it and what all hold."""
    held, fullest = 0, 0
    while masks:
        most = 0
        for sentence, mask in masks.items():
            if (count := (mask & ~held).bit_count()) > most:
                most, fullest = count, sentence
        if not most:
            return
        held |= masks[fullest]
        yield fullest, held
