"""Which contexts support a unit: each alone, and the first k together for every k.

Pure: a read unit and an index in, its `Support` out. The words of a unit are bits of a number, so that what a sentence
holds of the unit is one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import islice
from math import inf, log2
from operator import itemgetter, or_
from typing import Literal, NamedTuple

from ctxmetrics.judges.evidence.contradiction import (
    Contradiction,
    contradiction,
    denying_keys,
    states_plainly,
)
from ctxmetrics.judges.lexical.index import WordIndex
from ctxmetrics.judges.lexical.phrase import Phrase

TOLERANCE = 1e-9
# Sentences that are searched without a deduction.
_FREE = 8
Contradicted = Literal["flag", "no"]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """When a unit is supported, and when a context is useful: the parameters of `LexicalJudge`, which describes them."""

    max_sentences: int = 3
    min_coverage: float = 0.65
    search_weight: float = 0.175
    number_weight: float = 0.5
    name_weight: float = 0.5
    min_share: float = 0.08
    min_relative: float = 0.35
    contradiction: Contradicted = "flag"


class Candidate(NamedTuple):
    """Sentences that hold words of a unit together.

    Attributes:
        score: What is compared with `Rules.min_coverage`.
        sentences: The sentences, the one that adds most first.
        held: The bits of the words that they hold.
        present: The bits of the words that stand in their contexts.
    """

    score: float
    sentences: tuple[int, ...] = ()
    held: int = 0
    present: int = 0


class Support(NamedTuple):
    """What the contexts hold of one unit.

    Attributes:
        score: The highest score.
        smallest_k: The smallest k for which the first k contexts support the unit, None where all of them do not.
            Every larger k supports it too.
        whole: The contexts that alone support the unit, each with the sentences to quote.
        parts: The same of those that support it together at `smallest_k`, where none does alone.
        shown: The sentences to show: for a yes the fullest ones that do not contradict it, for a no the nearest.
        doubt: The contradiction in the fullest sentences, where all sentences that support the unit
            contradict it.
    """

    score: float
    smallest_k: int | None
    whole: Mapping[int, tuple[int, ...]]
    parts: Mapping[int, tuple[int, ...]]
    shown: Candidate
    doubt: Contradiction | None


def attribute(
    unit: Phrase, index: WordIndex, rules: Rules, contexts: Sequence[str], language: str
) -> Support:
    """Judge a unit against each context alone, and against the first k together for every k.

    Args:
        unit: The unit; it has at least one content word.
        index: The contexts, in rank order.
        rules: The weights and the bar.
        contexts: Their texts.
        language: ISO 639 code of the unit.
    """
    denying = denying_keys(language)

    @cache
    def doubt(sentences: tuple[int, ...]) -> Contradiction | None:
        if not index.hold_any(sentences, denying) and states_plainly(unit.visible, language):
            return None
        texts = [index.read(sentence, contexts) for sentence in sentences]
        return None if texts == [unit.visible] else contradiction(unit.visible, texts, language)

    row = _UnitWords(unit, index, rules)
    best = Candidate(row.score(0, 0, row.find_cost(1, 1)))
    alone: dict[int, Candidate] = {}
    together: dict[int, Candidate] = {}  # by the last context of the first k
    pool: dict[int, int] = {}  # what sentences hold, each kind once, with the first such sentence
    present = 0
    for context, masks in row.contexts.items():
        own = row.present[context]
        present |= own
        for sentence, mask in masks.items():
            pool.setdefault(mask, sentence)
        last = index.first[context + 1]
        count = last - index.first[context]
        highest = row.score(own, own, row.find_cost(1, count))
        if highest > best.score or highest >= row.bar:
            alone[context] = row.best(masks, count)
            best = max(best, alone[context], key=_score)
        if row.score(present, present, row.find_cost(2, last)) > best.score:
            together[context] = row.best({sentence: mask for mask, sentence in pool.items()}, last)
            best = max(best, together[context], key=_score)
    full = [one for one in (*alone.values(), *together.values()) if one.score >= row.bar]
    full.sort(key=_score, reverse=True)
    certain = next((one for one in full if doubt(one.sentences) is None), None)
    shown = certain or next(iter(full), best)
    # Unless a contradiction is flagged only, sentences that contradict a unit do not support it.
    only_flagged = rules.contradiction == "flag"
    supporting = {one for one in full if only_flagged or doubt(one.sentences) is None}
    whole = {context: one.sentences for context, one in alone.items() if one in supporting}
    several = {context: one.sentences for context, one in together.items() if one in supporting}
    first = min((*whole, *several), default=None)
    parts: dict[int, tuple[int, ...]] = {}
    for sentence in () if first is None or first in whole else several[first]:
        owner = index.owners[sentence]
        parts[owner] = (*parts.get(owner, ()), sentence)
    return Support(
        score=best.score,
        smallest_k=None if first is None else first + 1,
        whole=whole,
        parts=parts,
        shown=shown,
        doubt=doubt(shown.sentences) if full and certain is None else None,
    )


_score = itemgetter(0)


class _UnitWords:
    """The words of one unit that the sentences of the contexts have.

    Attributes:
        contexts: For each context the words of the unit in each sentence, as a bit mask.
        present: For each context the words of the unit in it, as a bit mask.
        bar: The score that supports the unit.
    """

    def __init__(self, unit: Phrase, index: WordIndex, rules: Rules) -> None:
        bits = unit.bits
        self._numbers = sum(bits[key] for key in unit.numbers)
        self._names = sum(bits[key] for key in unit.names)
        self._rules = rules
        self._owners = index.owners
        self._count = unit.size
        self._own = unit.sentences - 1
        self._size = max(rules.max_sentences, unit.sentences)
        self._price = rules.search_weight / unit.size
        self._prices: dict[int, float] = {}  # by the sentences to choose from
        self._missing: dict[int, float] = {}  # by the words that are present
        self.bar: float = rules.min_coverage - TOLERANCE
        self.contexts: Mapping[int, Mapping[int, int]] = index.masks(bits)
        self.present: dict[int, int] = {
            context: reduce(or_, masks.values()) for context, masks in self.contexts.items()
        }

    def score(self, held: int, present: int, cost: float) -> float:
        """Return the score of some sentences.

        Args:
            held: The words that they hold.
            present: Those that stand in their contexts.
            cost: What is subtracted for them.
        """
        missing = self._missing.get(present)
        if missing is None:
            missing = self._missing[present] = self._subtract_missing(present)
        return held.bit_count() / self._count - cost - missing

    def _subtract_missing(self, present: int) -> float:
        """Return what is subtracted for the numbers and names that do not stand in some contexts."""
        missing = self._rules.number_weight if self._numbers & ~present else 0.0
        names = self._names & ~present
        if names:
            missing += self._rules.name_weight * names.bit_count() / self._names.bit_count()
        return missing

    def find_cost(self, count: int, n: int) -> float:
        """Return what is subtracted for so many sentences, chosen from n: with more choices more words are found by chance.

        A unit of several sentences counts as one, so its further sentences are free. A sentence that holds every word
        supports the unit for any n.
        """
        price = self._prices.get(n)
        if price is None:
            price = self._price * log2(max(n, _FREE) / _FREE)
            price = self._prices[n] = min(price, 1 - self._rules.min_coverage)
        return price * max(1, count - self._own)

    def best(self, masks: Mapping[int, int], n: int) -> Candidate:
        """Return the sentences with the highest score, chosen one by one from n for what each adds."""
        highest = -inf
        best = Candidate(highest)
        chosen: tuple[int, ...] = ()
        present = 0
        for sentence, held in islice(_greedy(masks), self._size):
            chosen = (*chosen, sentence)
            present |= self.present[self._owners[sentence]]
            score = self.score(held, present, self.find_cost(len(chosen), n))
            if score > highest:
                highest = score
                best = Candidate(score, chosen, held, present)
        return best


def fullest(masks: Mapping[int, int], limit: int) -> tuple[int, ...]:
    """Return those of some sentences that hold most of the words of `WordIndex.masks`, chosen one by one."""
    return tuple(sentence for sentence, _ in islice(_greedy(masks), limit))


def _greedy(masks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Choose sentences one by one, each the one that adds most, the first of equals; yield it and what all hold."""
    held = 0
    free = -1  # the bits that no chosen sentence holds
    fullest = 0
    while masks:
        most = 0
        for sentence, mask in masks.items():
            count = (mask & free).bit_count()
            if count > most:
                most = count
                fullest = sentence
        if not most:
            return
        held |= masks[fullest]
        free = ~held
        yield fullest, held
