"""Which contexts support a unit: each alone, and the first k together for every k.

The functions are pure: they take a parsed unit and an index, and return the unit's `Support`. Each word of a unit is a bit, so
that all words of the unit in a sentence are one number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache, reduce
from math import inf, log2
from operator import itemgetter, or_
from typing import Any, Literal, NamedTuple

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.contradiction import (
    find_contradiction,
    list_contradicting_keys,
)
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.reservations import find_reservation
from ctxmetrics.judges.lexical.index import WordIndex
from ctxmetrics.judges.lexical.phrase import ParsedText

TOLERANCE = 1e-9
# The maximum number of sentences to choose from without a deduction. Each doubling of this number costs one deduction.
_SENTENCES_WITHOUT_COST = 8
Contradicted = Literal["flag", "no"]
# Finds a contradiction, and remembers the last ones: contexts of several samples and stages share sentences.
find_remembered_contradiction: Any = lru_cache(maxsize=256)(find_contradiction)


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
        score: The score that is compared with `Rules.min_coverage`.
        sentences: The sentences, the one that adds most first.
        word_bits: The words of the unit that the sentences hold: bit i is set if they hold word i.
        context_bits: The words of the unit that the contexts of the sentences hold, in the same form.
    """

    score: float
    sentences: tuple[int, ...] = ()
    word_bits: int = 0
    context_bits: int = 0


class Support(NamedTuple):
    """How far the contexts support one unit, which is a sentence or a fact of the reference.

    Attributes:
        score: The highest score.
        smallest_k: The smallest k for which the first k contexts support the unit. None if even all contexts do not. Every
            larger k supports the unit, too.
        whole: The indexes of the contexts that support the unit alone, each with the sentences to quote.
        parts: If the first `smallest_k` contexts support the unit only together: the indexes of these contexts, each with the
            sentences to quote. Else empty.
        shown: The sentences to show. For a yes: those with the highest score that do not contradict it. For a no: those with
            the highest score.
        contradiction: How the shown sentences contradict the unit. Only set if all sentences that support the unit
            contradict it; else None.
    """

    score: float
    smallest_k: int | None
    whole: Mapping[int, tuple[int, ...]]
    parts: Mapping[int, tuple[int, ...]]
    shown: Candidate
    contradiction: Contradiction | None


def attribute(
    unit: ParsedText,
    index: WordIndex,
    rules: Rules,
    request: JudgeRequest,
    reservation_keys: AbstractSet[str],
) -> Support:
    """Judge a unit against each context alone, and for every k against the first k contexts together.

    Args:
        unit: The unit. It has at least one content word.
        index: The words of the contexts, in rank order.
        rules: The weights and the minimum score.
        request: The request with the unit and the contexts.
        reservation_keys: Every text with a reservation about the unit holds at least one of these keys.
    """
    unit_words = _UnitWords(unit, index, rules)
    alone, together, best = _find_candidates(unit_words, index)
    sufficient = [
        candidate
        for candidate in (*alone.values(), *together.values())
        if candidate.score >= unit_words.threshold
    ]
    sufficient.sort(key=_score, reverse=True)

    # The sentences to show: the best that support the unit and do not contradict it, if there are any.
    contradictions = _Contradictions(unit.visible_text, index, request, reservation_keys)
    undisputed = None
    for candidate in sufficient:
        if contradictions.find(candidate.sentences) is None:
            undisputed = candidate
            break
    shown = best
    contradiction = None
    if undisputed is not None:
        shown = undisputed
    elif sufficient:
        shown = sufficient[0]
        contradiction = contradictions.find(shown.sentences)

    # With "flag", sentences that contradict the unit still support it, and `contradiction` is the flag.
    supporting = {*sufficient}
    if rules.contradiction == "no":
        supporting = {
            candidate for candidate in sufficient if contradictions.find(candidate.sentences) is None
        }
    whole = _get_sentences(alone, supporting)
    by_several = _get_sentences(together, supporting)

    # The keys of `whole` are indexes of contexts. A key i of `by_several` stands for the contexts 0 to i, which are the first
    # i + 1 contexts.
    smallest_k = None
    parts: Mapping[int, tuple[int, ...]] = {}
    if whole or by_several:
        last_needed = min((*whole, *by_several))
        smallest_k = last_needed + 1
        if last_needed not in whole:
            parts = _group_by_context(by_several[last_needed], index)
    return Support(
        score=best.score,
        smallest_k=smallest_k,
        whole=whole,
        parts=parts,
        shown=shown,
        contradiction=contradiction,
    )


class _Contradictions:
    """How sentences of the contexts contradict one unit. Each choice of sentences is compared once."""

    def __init__(
        self,
        unit_text: str,
        index: WordIndex,
        request: JudgeRequest,
        reservation_keys: AbstractSet[str],
    ) -> None:
        self._unit_text = unit_text
        self._index = index
        self._contexts = request.contexts
        self._language = request.language
        self._question = request.user_input or ""
        self._reservation_keys = reservation_keys
        self._by_sentences: dict[tuple[int, ...], Contradiction | None] = {}

    def find(self, sentences: tuple[int, ...]) -> Contradiction | None:
        """Find how some sentences, read together, contradict the unit; None if they do not."""
        if sentences in self._by_sentences:
            return self._by_sentences[sentences]
        texts = tuple(self._index.read(sentence, self._contexts) for sentence in sentences)
        contradiction: Contradiction | None = None
        if texts != (self._unit_text,):  # nothing contradicts itself
            contradiction = self._compare(sentences, texts)
        self._by_sentences[sentences] = contradiction
        return contradiction

    def _compare(self, sentences: tuple[int, ...], texts: tuple[str, ...]) -> Contradiction | None:
        """Compare some sentences with the unit.

        Args:
            sentences: The sentences.
            texts: Their texts.
        """
        # Only texts with one of these keys can contradict the unit; None: any text can.
        keys = list_contradicting_keys(self._unit_text, self._language)
        contradiction: Contradiction | None = None
        if keys is None or self._index.hold_any(sentences, keys):
            contradiction = find_remembered_contradiction(self._unit_text, texts, self._language)
        # Words such as "allegedly" take back what the unit states.
        if contradiction is None and self._index.hold_any(sentences, self._reservation_keys):
            contradiction = find_reservation(self._unit_text, texts, self._language, self._question)
        return contradiction


def _get_sentences(
    candidates: Mapping[int, Candidate], supporting: Collection[Candidate]
) -> dict[int, tuple[int, ...]]:
    """Return the sentences of the candidates that support the unit, by the index of the context."""
    return {
        context: candidate.sentences
        for context, candidate in candidates.items()
        if candidate in supporting
    }


def _group_by_context(sentences: Iterable[int], index: WordIndex) -> dict[int, tuple[int, ...]]:
    """Return the sentences of each context, by the index of the context. The order stays."""
    by_context: dict[int, tuple[int, ...]] = {}
    for sentence in sentences:
        context = index.owners[sentence]
        by_context[context] = (*by_context.get(context, ()), sentence)
    return by_context


def _find_candidates(
    unit_words: _UnitWords, index: WordIndex
) -> tuple[dict[int, Candidate], dict[int, Candidate], Candidate]:
    """Choose sentences of each context alone, and of the first k contexts together for every k.

    No sentences are chosen where no choice can be better than the best one so far, nor support the unit.

    Returns:
        The choice of each context alone, by its index; the choice of the first k contexts, by the index of the last of them; and
        the best of all choices.
    """
    best = Candidate(unit_words.score(0, 0, sentence_cost=0.0, sentence_count=0))
    alone: dict[int, Candidate] = {}
    together: dict[int, Candidate] = {}
    # For each combination of the unit's words, as bits: the first sentence of the contexts so far that has exactly these words.
    sentence_by_bits: dict[int, int] = {}
    bits_so_far = 0  # the words of the unit that the contexts so far hold
    for context, bits_by_sentence in unit_words.contexts.items():
        context_bits = unit_words.context_bits[context]
        bits_so_far |= context_bits
        sentences_so_far = index.first[context + 1]
        sentences_here = sentences_so_far - index.first[context]
        cost = unit_words.find_sentence_cost(sentences_here)
        # The score if one sentence held all words of the context. No choice of its sentences scores higher.
        highest_possible = unit_words.score(context_bits.bit_count(), context_bits, cost, 1)
        if highest_possible > best.score or highest_possible >= unit_words.threshold:
            alone[context] = unit_words.choose_best(
                [*bits_by_sentence], [*bits_by_sentence.values()], context_bits, cost
            )
            best = max(best, alone[context], key=_score)
        # The same for the contexts so far. Sentences of several contexts are at least two.
        combinations_before = len(sentence_by_bits)
        for sentence, bits in bits_by_sentence.items():
            sentence_by_bits.setdefault(bits, sentence)
        if len(sentence_by_bits) == combinations_before:
            continue  # the same sentences would be chosen as without this context, at a higher cost
        cost = unit_words.find_sentence_cost(sentences_so_far)
        highest_possible = unit_words.score(bits_so_far.bit_count(), bits_so_far, cost, 2)
        if highest_possible > best.score:
            together[context] = unit_words.choose_best(
                [*sentence_by_bits.values()], [*sentence_by_bits], bits_so_far, cost
            )
            best = max(best, together[context], key=_score)
    return alone, together, best


_score = itemgetter(0)


class _UnitWords:
    """The words of one unit that the sentences of the contexts have.

    Attributes:
        contexts: For each context the bits of the unit's words in each sentence.
        context_bits: For each context the bits of the unit's words in it.
        threshold: The minimum score that supports the unit.
    """

    def __init__(self, unit: ParsedText, index: WordIndex, rules: Rules) -> None:
        bits = unit.bits
        self._number_bits = sum(bits[key] for key in unit.numbers)
        self._name_bits = sum(bits[key] for key in unit.names)
        self._rules = rules
        self._owners = index.owners
        self._word_count = unit.content_word_count
        # A unit of several sentences may choose as many without a cost, but for one.
        self._sentences_without_cost = unit.sentence_count - 1
        self._most_sentences = max(rules.max_sentences, unit.sentence_count)
        # What one chosen sentence costs more if there are twice as many sentences to choose from.
        self._cost_per_doubling = rules.search_weight / unit.content_word_count
        # With a higher cost a sentence that holds every word would not support the unit.
        self._highest_cost = 1 - rules.min_coverage
        # The deduction for missing numbers and names, by the bits of the words in some contexts.
        self._deductions: dict[int, float] = {}
        self.threshold: float = rules.min_coverage - TOLERANCE
        self.contexts: Mapping[int, Mapping[int, int]] = index.masks(bits)
        self.context_bits: dict[int, int] = {
            context: reduce(or_, bits_by_sentence.values())
            for context, bits_by_sentence in self.contexts.items()
        }

    def score(
        self, word_count: int, context_bits: int, sentence_cost: float, sentence_count: int
    ) -> float:
        """Return the score of some sentences.

        A unit of several sentences may rest on as many sentences for the cost of one.

        Args:
            word_count: How many of the unit's words the sentences hold.
            context_bits: The bits of the unit's words in the contexts of the sentences.
            sentence_cost: The deduction for each sentence; see `find_sentence_cost`.
            sentence_count: The number of sentences.
        """
        deduction = self._deductions.get(context_bits)
        if deduction is None:
            deduction = self._find_deduction(context_bits)
            self._deductions[context_bits] = deduction
        counted_sentences = max(1, sentence_count - self._sentences_without_cost)
        return word_count / self._word_count - sentence_cost * counted_sentences - deduction

    def _find_deduction(self, context_bits: int) -> float:
        """Return the deduction for the unit's numbers and names that the contexts of the sentences do not hold.

        Args:
            context_bits: The bits of the unit's words in these contexts.
        """
        missing_numbers = (self._number_bits & ~context_bits).bit_count()
        missing_names = (self._name_bits & ~context_bits).bit_count()
        deduction = self._rules.number_weight if missing_numbers else 0.0
        if missing_names:
            deduction += self._rules.name_weight * missing_names / self._name_bits.bit_count()
        return deduction

    def find_sentence_cost(self, choices: int) -> float:
        """Return the deduction for each chosen sentence.

        It grows with the number of sentences to choose from, because then more words are found by chance. It is low enough for
        a single sentence that holds every word to support the unit, however many sentences there are.

        Args:
            choices: The number of sentences to choose from.
        """
        if choices <= _SENTENCES_WITHOUT_COST:
            return 0.0
        doublings = log2(choices / _SENTENCES_WITHOUT_COST)
        return min(self._cost_per_doubling * doublings, self._highest_cost)

    def choose_best(
        self,
        sentences: Sequence[int],
        bits_of_sentences: Sequence[int],
        all_bits: int,
        sentence_cost: float,
    ) -> Candidate:
        """Return the sentences with the highest score, chosen one by one for the words that each adds.

        Args:
            sentences: The sentences that hold a word of the unit.
            bits_of_sentences: For each of them, in the same order, the bits of the unit's words in it.
            all_bits: The bits of the unit's words in all these sentences together.
            sentence_cost: The deduction for each chosen sentence.
        """
        best_score = -inf
        best_count = 0
        best_bits = 0
        best_context_bits = 0
        chosen: list[int] = []
        chosen_bits = 0
        word_count = 0
        context_bits = 0
        most_words = all_bits.bit_count()
        for choice_count in range(1, self._most_sentences + 1):
            index, added_count = _find_most_added(bits_of_sentences, chosen_bits)
            if not added_count:
                break
            sentence = sentences[index]
            chosen.append(sentence)
            chosen_bits |= bits_of_sentences[index]
            word_count += added_count
            context_bits |= self.context_bits[self._owners[sentence]]
            score = self.score(word_count, context_bits, sentence_cost, choice_count)
            if score > best_score:
                best_score = score
                best_count = choice_count
                best_bits = chosen_bits
                best_context_bits = context_bits
            sentences_left = self._most_sentences - choice_count
            if not sentences_left or word_count == most_words:
                break
            # No later sentence adds more words than this one did. Stop if even as many would not give a higher score.
            highest_count = min(most_words, word_count + sentences_left * added_count)
            highest_possible = self.score(highest_count, all_bits, sentence_cost, choice_count + 1)
            if highest_possible <= best_score:
                break
        return Candidate(best_score, tuple(chosen[:best_count]), best_bits, best_context_bits)


def choose_fullest(bits_by_sentence: Mapping[int, int], limit: int) -> tuple[int, ...]:
    """Return the sentences that together hold most words, chosen one by one. The bits are those of `WordIndex.masks`."""
    sentences = [*bits_by_sentence]
    bits_of_sentences = [*bits_by_sentence.values()]
    chosen: list[int] = []
    chosen_bits = 0
    while len(chosen) < limit:
        index, added_count = _find_most_added(bits_of_sentences, chosen_bits)
        if not added_count:
            break
        chosen.append(sentences[index])
        chosen_bits |= bits_of_sentences[index]
    return tuple(chosen)


def _find_most_added(bits_of_sentences: Sequence[int], chosen_bits: int) -> tuple[int, int]:
    """Find the sentence that adds most words to those of the chosen sentences; the first of equals.

    Args:
        bits_of_sentences: For each sentence the bits of its words.
        chosen_bits: The bits of the words that the chosen sentences have.

    Returns:
        The index of the sentence, and the number of words that it adds.
    """
    other_bits = ~chosen_bits  # the bits that no chosen sentence has
    # Faster than a loop.
    added_counts = [*map(int.bit_count, map(other_bits.__and__, bits_of_sentences))]
    most_added = max(added_counts, default=0)
    if not most_added:
        return 0, 0
    return added_counts.index(most_added), most_added
