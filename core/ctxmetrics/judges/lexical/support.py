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

from ctxmetrics.judges.evidence.contradiction import Contradiction, contradiction
from ctxmetrics.judges.lexical.index import Index
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
    unit: Phrase, index: Index, rules: Rules, contexts: Sequence[str], language: str
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
    def doubt(sentences: tuple[int, ...]) -> Contradiction | None:
        texts = [index.evidence(sentence, contexts).quote for sentence in sentences]
        return None if texts == [unit.text] else contradiction(unit.text, texts, language)

    row = _Row(unit, index, rules)
    best = Candidate(row.score(0, 0, 1, 1))
    alone: dict[int, Candidate] = {}
    together: dict[int, Candidate] = {}  # by the last context of the first k
    pool: dict[int, int] = {}  # what sentences hold, each kind once, with the first such sentence
    present = 0
    for context, masks in row.contexts.items():
        last = index.first[context + 1]
        present |= row.present[context]
        for sentence, mask in masks.items():
            pool.setdefault(mask, sentence)
        alone[context] = row.best(masks, last - index.first[context])
        best = max(best, alone[context], key=_score)
        if row.score(present, present, 2, last) > best.score:
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


class _Row:
    """What the sentences hold of one unit.

    Attributes:
        contexts: What each sentence holds, by context.
        present: What each context holds.
        bar: The score that supports the unit.
    """

    def __init__(self, unit: Phrase, index: Index, rules: Rules) -> None:
        keys = tuple(unit.content)
        bits = {key: 1 << number for number, key in enumerate(keys)}
        self._numbers = sum(bits[key] for key in unit.numbers)
        self._names = sum(bits[key] for key in unit.names)
        self._rules, self._owners, self._count = rules, index.owners, len(keys)
        self._own, self._size = unit.sentences - 1, max(rules.max_sentences, unit.sentences)
        self._price = rules.search_weight / len(keys)
        self.bar: float = rules.min_coverage - TOLERANCE
        self.contexts: dict[int, dict[int, int]] = {}
        for sentence, mask in sorted(index.masks(keys).items()):
            self.contexts.setdefault(index.owners[sentence], {})[sentence] = mask
        self.present: dict[int, int] = {
            context: reduce(or_, masks.values()) for context, masks in self.contexts.items()
        }

    def score(self, held: int, present: int, count: int, n: int) -> float:
        """Return the score of so many sentences, chosen from n.

        Args:
            held: The words that they hold.
            present: Those that stand in their contexts.
            count: How many sentences; a unit of several sentences counts as one, so its further
                sentences are subtracted.
            n: From how many they were chosen: with more choices more words are found by chance. A
                sentence that holds every word supports the unit for any n.
        """
        price = self._price * log2(max(n, _FREE) / _FREE)
        search = min(price, 1 - self._rules.min_coverage) * max(1, count - self._own)
        missing = self._rules.number_weight if self._numbers & ~present else 0.0
        if names := self._names & ~present:
            missing += self._rules.name_weight * names.bit_count() / self._names.bit_count()
        return held.bit_count() / self._count - search - missing

    def best(self, masks: Mapping[int, int], n: int) -> Candidate:
        """Return the sentences with the highest score, chosen one by one from n for what each adds."""
        best, chosen, present = Candidate(-inf), list[int](), 0
        for sentence, held in islice(_greedy(masks), self._size):
            chosen.append(sentence)
            present |= self.present[self._owners[sentence]]
            score = self.score(held, present, len(chosen), n)
            if score > best.score:
                best = Candidate(score, tuple(chosen), held, present)
        return best


def fullest(masks: Mapping[int, int], sentences: range, limit: int) -> tuple[int, ...]:
    """Return those of some sentences that hold most of the words of `Index.masks`, chosen one by one."""
    own = {sentence: masks[sentence] for sentence in sentences if sentence in masks}
    return tuple(sentence for sentence, _ in islice(_greedy(own), limit))


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
