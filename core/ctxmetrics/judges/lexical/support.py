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
    find_contradiction,
    list_contradicting_keys,
)
from ctxmetrics.judges.lexical.index import WordIndex
from ctxmetrics.judges.lexical.phrase import Phrase

TOLERANCE = 1e-9
# With so many sentences to choose from, there is no deduction; with twice as many, that of one doubling.
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

    @cache
    def find_contradiction_in(sentences: tuple[int, ...]) -> Contradiction | None:
        """Find how some sentences contradict the unit; None if they do not."""
        keys = list_contradicting_keys(unit.visible, language)
        if keys is not None and not index.hold_any(sentences, keys):
            return None
        texts = [index.read(sentence, contexts) for sentence in sentences]
        return None if texts == [unit.visible] else find_contradiction(unit.visible, texts, language)

    unit_words = _UnitWords(unit, index, rules)
    alone, together, best = _find_candidates(unit_words, index)
    bar = unit_words.bar
    reaching = [item for item in (*alone.values(), *together.values()) if item.score >= bar]
    reaching.sort(key=_score, reverse=True)
    undisputed = next(
        (item for item in reaching if find_contradiction_in(item.sentences) is None), None
    )
    if undisputed is not None:
        shown = undisputed
    elif reaching:
        shown = reaching[0]
    else:
        shown = best
    supporting = {*reaching}
    if rules.contradiction == "no":  # sentences that contradict a unit do not support it
        supporting = {item for item in reaching if find_contradiction_in(item.sentences) is None}
    whole = {context: item.sentences for context, item in alone.items() if item in supporting}
    several = {context: item.sentences for context, item in together.items() if item in supporting}
    # The last of the first k contexts, for the smallest k that is enough.
    last_needed = min((*whole, *several), default=None)
    parts: dict[int, tuple[int, ...]] = {}
    if last_needed is not None and last_needed not in whole:
        for sentence in several[last_needed]:
            owner = index.owners[sentence]
            parts[owner] = (*parts.get(owner, ()), sentence)
    is_disputed = bool(reaching) and undisputed is None
    return Support(
        score=best.score,
        smallest_k=None if last_needed is None else last_needed + 1,
        whole=whole,
        parts=parts,
        shown=shown,
        doubt=find_contradiction_in(shown.sentences) if is_disputed else None,
    )


def _find_candidates(
    unit_words: _UnitWords, index: WordIndex
) -> tuple[dict[int, Candidate], dict[int, Candidate], Candidate]:
    """Choose sentences of each context alone, and of the first k contexts together for every k.

    Where no choice of sentences can be better than the best one so far, nor support the unit, none is chosen.

    Returns:
        The choice of each context alone; the choice of the first k contexts, by the last of them; and the best of all.
    """
    best = Candidate(unit_words.score(0, 0, unit_words.find_cost(1, 1)))
    alone: dict[int, Candidate] = {}
    together: dict[int, Candidate] = {}
    # By the words that a sentence has: the first sentence of the contexts so far that has exactly these.
    sentence_by_mask: dict[int, int] = {}
    present = 0  # the words in the contexts so far
    for context, masks in unit_words.contexts.items():
        present_here = unit_words.present[context]
        present |= present_here
        for sentence, mask in masks.items():
            sentence_by_mask.setdefault(mask, sentence)
        sentences_so_far = index.first[context + 1]
        sentences_here = sentences_so_far - index.first[context]
        cost = unit_words.find_cost(1, sentences_here)
        highest_possible = unit_words.score(present_here, present_here, cost)
        if highest_possible > best.score or highest_possible >= unit_words.bar:
            alone[context] = unit_words.best(masks, sentences_here)
            best = max(best, alone[context], key=_score)
        cost = unit_words.find_cost(2, sentences_so_far)
        if unit_words.score(present, present, cost) > best.score:
            distinct_masks = {sentence: mask for mask, sentence in sentence_by_mask.items()}
            together[context] = unit_words.best(distinct_masks, sentences_so_far)
            best = max(best, together[context], key=_score)
    return alone, together, best


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
        self._number_mask = sum(bits[key] for key in unit.numbers)
        self._name_mask = sum(bits[key] for key in unit.names)
        self._rules = rules
        self._owners = index.owners
        self._word_count = unit.size
        self._free_sentences = unit.sentences - 1
        self._most_sentences = max(rules.max_sentences, unit.sentences)
        self._cost_of_doubling = rules.search_weight / unit.size
        self._costs: dict[int, float] = {}  # of one sentence, by the number of sentences to choose from
        self._missing: dict[int, float] = {}  # what is subtracted, by the words that are present
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
        deduction = self._missing.get(present)
        if deduction is None:
            deduction = self._find_deduction(present)
            self._missing[present] = deduction
        return held.bit_count() / self._word_count - cost - deduction

    def _find_deduction(self, present: int) -> float:
        """Return what is subtracted for the numbers and names that do not stand in some contexts.

        Args:
            present: The words that stand in them, as a bit mask.
        """
        absent_numbers = (self._number_mask & ~present).bit_count()
        absent_names = (self._name_mask & ~present).bit_count()
        deduction = self._rules.number_weight if absent_numbers else 0.0
        if absent_names:
            deduction += self._rules.name_weight * absent_names / self._name_mask.bit_count()
        return deduction

    def find_cost(self, count: int, n: int) -> float:
        """Return what is subtracted for so many sentences, chosen from n: with more choices more words are found by chance.

        A unit of several sentences counts as one, so its further sentences are free. A sentence that holds every word
        supports the unit for any n.
        """
        cost = self._costs.get(n)
        if cost is None:
            doublings = log2(max(n, _FREE) / _FREE)
            # With a higher cost a sentence that holds every word would not support the unit.
            highest_cost = 1 - self._rules.min_coverage
            cost = min(self._cost_of_doubling * doublings, highest_cost)
            self._costs[n] = cost
        counted_sentences = max(1, count - self._free_sentences)
        return cost * counted_sentences

    def best(self, masks: Mapping[int, int], n: int) -> Candidate:
        """Return the sentences with the highest score, chosen one by one from n for what each adds."""
        highest = -inf
        best = Candidate(highest)
        chosen: tuple[int, ...] = ()
        present = 0
        for sentence, held in islice(_choose_greedily(masks), self._most_sentences):
            chosen = (*chosen, sentence)
            present |= self.present[self._owners[sentence]]
            score = self.score(held, present, self.find_cost(len(chosen), n))
            if score > highest:
                highest = score
                best = Candidate(score, chosen, held, present)
        return best


def fullest(masks: Mapping[int, int], limit: int) -> tuple[int, ...]:
    """Return those of some sentences that hold most of the words of `WordIndex.masks`, chosen one by one."""
    return tuple(sentence for sentence, _ in islice(_choose_greedily(masks), limit))


def _choose_greedily(masks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Choose sentences one by one: each time the sentence that adds most words, the first of equals.

    Yields:
        The sentence, and the bits of the words that all chosen sentences have.
    """
    held = 0
    added = dict(masks)  # the bits that each sentence would add
    while added:
        counts = [*map(int.bit_count, added.values())]
        sentence = [*added][counts.index(max(counts))]
        held |= masks[sentence]
        yield sentence, held
        not_held = ~held
        added = {other: mask & not_held for other, mask in added.items() if mask & not_held}
