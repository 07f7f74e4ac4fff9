"""How a sentence contradicts gold that says nearly the same: another number, name or colour, a negation, an opposite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.evaluation.gold.answers import cut_short_answer
from ctxmetrics.evaluation.gold.equal_surroundings import (
    MIN_EQUAL_CHARACTERS,
    denies,
    find_name_beside,
    find_name_between,
    find_number_between,
    find_runs,
    find_words_without_negation,
    have_other_name,
)
from ctxmetrics.evaluation.gold.passages import read_compared, read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_content
from ctxmetrics.evaluation.gold.values import (
    MAX_NAMES,
    NUMBER_KINDS,
    Phrase,
    find_contraries,
    find_formed_contraries,
    find_names_in,
    find_negations,
    find_phrases,
    find_rival_of_missing,
    find_unknown_names,
    has_initials,
    list_missing,
    list_values,
    may_be_rounded,
    spell,
)
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.compared_text import ComparedText
from ctxmetrics.judges.evidence.contradiction import find_contradiction
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.words import get_word_list
from ctxmetrics.judges.lexical.index import sentences

# A sentence of gold says the same with another number if it has at least this share of the sentence's other words.
_MIN_SHARED_SHARE_BESIDE_NUMBER = 0.6
# .. and at least this number of its words, if it is not the nearest sentence or beside it.
_MIN_SHARED_WORDS_BESIDE_NUMBER = 2
# A sentence of gold says the same with another name if it has at least this share of the sentence's other words.
_MIN_SHARED_SHARE_BESIDE_NAME = 0.8
# The minimum number of words of a sentence that is compared by its names.
_MIN_WORDS_BESIDE_NAMES = 3
# Two sentences of gold say the same with another colour or month if they have at least this share of the sentence's words.
_MIN_SHARED_SHARE_BESIDE_ALTERNATIVE = 0.5
# A sentence of gold denies a sentence if it has at least this share of the sentence's other words ..
_MIN_SHARED_SHARE_BESIDE_NEGATION = 0.8
# .. and at least this number of them.
_MIN_SHARED_WORDS_BESIDE_NEGATION = 2
# A gold passage says the same with another number if at least this number of words beside the number are equal. A unit counts
# as a word.
_MIN_EQUAL_WORDS_BESIDE_NUMBER = 3
# The same for a number that the gold has elsewhere.
_MIN_EQUAL_WORDS_BESIDE_KNOWN_NUMBER = 6
# A gold passage says the same without a negation if at least this number of words around the negation are equal.
_MIN_EQUAL_WORDS_AROUND_NEGATION = 5
# A part of a sentence of Chinese, with the numbers in it.
_UNSPACED_PART = re.compile(r"[\u3400-\u9fff\d]+")


class _GoldSentence:
    """A sentence of a gold passage, or of a reference.

    Args:
        text: The text of the sentence.
        language: The language of the text.

    Attributes:
        text: The text of the sentence.
        words: The words of the sentence.
        keys: The keys of its words.
    """

    def __init__(self, text: str, language: str) -> None:
        self.text = text
        self._language = language
        self.words: Sequence[Token] = read_words(text)
        self.keys: frozenset[str] = frozenset(word.key for word in self.words)

    @cached_property
    def content(self) -> frozenset[str]:
        """The keys of the words that carry a meaning and do not deny."""
        negations = get_word_list("negations", self._language)
        denying_keys = {word.key for word in self.words if word.folded in negations}
        return find_content(self.text, self._language) - denying_keys

    @cached_property
    def _compared(self) -> ComparedText:
        """The text as it is read for negations and contrary words."""
        return read_compared(self.text, self._language)

    @cached_property
    def phrases(self) -> Sequence[Phrase]:
        """The phrases that have a contrary."""
        return find_phrases(self._compared.tokens, self._compared.negations)

    @cached_property
    def negation_count(self) -> int:
        """The number of words that deny."""
        return len(find_negations(self._compared))

    @cached_property
    def has_exception(self) -> bool:
        """Whether the sentence makes an exception: "open daily except on Mondays"."""
        return self._compared.exception is not None

    @cached_property
    def subject(self) -> str:
        """The key of the first word that carries a meaning; empty if there is none."""
        return next((word.key for word in self.words if word.key in self.content), "")

    def has_other_subject(self, other: _GoldSentence) -> bool:
        """Tell whether the first word of each sentence is missing in the other one: guests may not enter, and staff may."""
        subjects = (self.subject, other.subject)
        return all(subjects) and self.subject not in other.keys and other.subject not in self.keys

    def denies_beside(self, keys: frozenset[str]) -> bool:
        """Tell whether a part of the sentence with one of certain words has an odd number of negations."""
        negations = find_negations(self._compared)
        start = 0
        for end, word in enumerate(self._compared.tokens, 1):
            if not word.ends_clause and end < len(self._compared.tokens):
                continue
            part = self._compared.tokens[start:end]
            if not keys.isdisjoint(word.key for word in part):
                count = sum(1 for position in negations if start <= position < end)
                return count % 2 == 1
            start = end
        return False

    def list_keys_before_denial(self) -> frozenset[str]:
        """List the keys of the parts of the sentence before the part that denies."""
        negations = find_negations(self._compared)
        start = 0
        for end, word in enumerate(self._compared.tokens[: min(negations, default=0)], 1):
            if word.ends_clause:
                start = end
        return frozenset(word.key for word in self._compared.tokens[:start])

    def has_phrase_with(self, keys: frozenset[str]) -> bool:
        """Tell whether a phrase that has a contrary holds certain words, all of them."""
        return any(keys <= phrase.keys for phrase in self.phrases)

    def find_contraries(self, other: _GoldSentence) -> Sequence[tuple[Phrase, Phrase]]:
        """Find the pairs of contrary phrases of this sentence and another one. Words that both have are no difference."""
        pairs = [
            (phrase, contrary)
            for phrase, contrary in find_contraries(self.phrases, other.phrases)
            if not phrase.keys <= other.keys and not contrary.keys <= self.keys
        ]
        return pairs or find_formed_contraries(self.words, other.words)


class GoldTexts:
    """The gold passages of a question, which a sentence of its reference may contradict.

    Args:
        texts: The texts of the passages.
        question: The question.
    """

    def __init__(self, texts: Sequence[str], question: Question) -> None:
        self._texts = texts
        self._question = question
        self._language = question.language

    @cached_property
    def _words(self) -> Sequence[Sequence[Token]]:
        """The words of each passage."""
        return [read_words(text) for text in self._texts]

    @cached_property
    def _compared(self) -> Sequence[ComparedText]:
        """Each passage as it is read for negations."""
        return [read_compared(text, self._language) for text in self._texts]

    @cached_property
    def _sentences(self) -> Sequence[_GoldSentence]:
        """The sentences of all passages."""
        return [
            _GoldSentence(text[start:end], self._language)
            for text in self._texts
            for start, end in sentences(text)
        ]

    @cached_property
    def _known_keys(self) -> frozenset[str]:
        """The keys of the words of all passages, and of the question."""
        keys = (word.key for words in self._words for word in words)
        return frozenset(keys) | self._question.word_keys

    @cached_property
    def _values(self) -> frozenset[str]:
        """The numbers of all passages."""
        return frozenset[str]().union(*map(list_values, self._words))

    def find_contradiction(self, text: str, *, is_stated: bool) -> str:
        """Describe how the gold contradicts a sentence of the reference. The result is empty if it does not.

        Args:
            text: The sentence.
            is_stated: Whether the judge is sure that something states it: then only gold in the same words counts.
        """
        if not self._texts:
            return ""
        whole_text = text
        text = cut_short_answer(text, self._question)
        sentence = _GoldSentence(text, self._language)
        min_equal = _MIN_EQUAL_WORDS_AROUND_NEGATION
        is_in_one_sentence = any(sentence.content <= other.keys for other in self._sentences)
        if text != whole_text and is_in_one_sentence:
            min_equal -= 1  # an answer that begins with "yes" or "no" says what it denies
        in_same_words = (
            self._find_contrary(sentence)
            or self._find_denial(sentence)
            or self._find_alternative(sentence)
            or self._find_number_in_same_words(sentence.words)
            or self._find_negation_in_same_words(text, min_equal)
            or self._find_name_in_same_words(sentence.words)
            or self._find_changed_characters(text)
        )
        if in_same_words or is_stated:
            return in_same_words
        return self._describe_other_names(text, sentence.words) or self._find_other_statement(text)

    # --- the same statement, with a word in place of another ---

    def _find_contrary(self, sentence: _GoldSentence) -> str:
        """Describe two contrary words: one in a sentence, one in gold that otherwise has all words of the sentence."""
        for other in self._sentences:
            missing_keys = sentence.content - other.keys
            if len(missing_keys) > 1 and not sentence.has_phrase_with(missing_keys):
                continue  # the usual case, told apart before the words are compared
            pairs = sentence.find_contraries(other)
            if len(pairs) != 1:
                continue
            word, contrary = pairs[0]
            if _is_undone(sentence, word, other, contrary):
                continue
            content = sentence.content - word.keys
            if len(content) >= _MIN_SHARED_WORDS_BESIDE_NEGATION and content <= other.keys:
                return f"{word.spelling!r} against {contrary.spelling!r}"
        return ""

    def _find_denial(self, sentence: _GoldSentence) -> str:
        """Describe gold that is equal to a sentence but for one negation."""
        content = sentence.content
        if len(content) < _MIN_SHARED_WORDS_BESIDE_NEGATION:
            return ""
        for other in self._sentences:
            has_same_words = content <= other.keys and content == other.content
            if has_same_words and abs(other.negation_count - sentence.negation_count) == 1:
                return repr(shorten(other.text, 120))
        return ""

    def _find_alternative(self, sentence: _GoldSentence) -> str:
        """Describe a colour, a month or the like that no passage has, and the one in the nearest sentences."""
        nearest, share = self._find_nearest(sentence.text)
        if share < _MIN_SHARED_SHARE_BESIDE_ALTERNATIVE:
            return ""
        for other in nearest:
            if sentence.content.isdisjoint(other.keys):
                continue
            for word, alternative in sentence.find_contraries(other):
                if _is_undone(sentence, word, other, alternative):
                    continue
                is_known = not word.keys.isdisjoint(self._known_keys)
                if word.excludes_others and not is_known:
                    return f"{word.spelling!r} against {alternative.spelling!r}"
        return ""

    def _find_number_in_same_words(self, words: Sequence[Token]) -> str:
        """Describe a number that gold does not have between the same words, where it has one of the same measure.

        If gold has the number elsewhere, more of the words must be the same: "from 2005 to 2009" and "in 2013" deny
        "from 2013 to 2009".
        """
        for place, number in enumerate(words):
            if number.kind != "number":
                continue
            min_equal = _MIN_EQUAL_WORDS_BESIDE_NUMBER - (1 if number.measures else 0)
            if not list_missing(number, self._values):
                if self._has_words([word.key for word in words[max(0, place - 1) : place + 2]]):
                    continue
                min_equal = _MIN_EQUAL_WORDS_BESIDE_KNOWN_NUMBER
            for others in self._words:
                rival = find_number_between(words, place, others, min_equal, self._language)
                if rival is not None:
                    return f"{number.spelling!r} against {rival.spelling!r}"
        return ""

    def _find_negation_in_same_words(self, text: str, min_equal: int) -> str:
        """Describe a negation that only a text, or only a passage has between the same words, at least so many."""
        compared = read_compared(text, self._language)
        for passage in self._compared:
            denied_by_text = find_words_without_negation(compared, passage, min_equal)
            if denied_by_text is not None and not self._has_words(denied_by_text.keys):
                return repr(denied_by_text.spelling)
            denied_by_gold = find_words_without_negation(passage, compared, min_equal)
            if denied_by_gold is not None and not self._has_words(denied_by_gold.keys_without_negation):
                return repr(denied_by_gold.spelling)
        return ""

    def _has_words(self, keys: Sequence[str]) -> bool:
        """Tell whether a passage has certain words, one after another."""
        joined_keys = f" {' '.join(keys)} "
        return any(
            joined_keys in f" {' '.join(word.key for word in passage.tokens)} "
            for passage in self._compared
        )

    def _find_name_in_same_words(self, words: Sequence[Token]) -> str:
        """Describe names that no passage has, and other names between the same words."""
        language = self._language
        unknown_names = find_unknown_names(words, language, self._known_keys)
        for start, end in find_runs(words, unknown_names):
            name = " ".join(word.spelling for word in words[start:end])
            for gold_words in self._words:
                gold_names = find_names_in(gold_words, language)
                gold_name = find_name_between(words, start, end, gold_words, gold_names)
                gold_name = gold_name or find_name_beside(words, end, gold_words, gold_names)
                if gold_name and not has_initials(name, gold_name):
                    return f"{name!r} against {gold_name!r}"
        return ""

    def _find_changed_characters(self, text: str) -> str:
        """Describe a part of a Chinese sentence that the gold has with a denying character more or less, or with another name."""
        parts = [part for part in _UNSPACED_PART.findall(text) if len(part) >= MIN_EQUAL_CHARACTERS]
        gold_parts = [part for gold_text in self._texts for part in _UNSPACED_PART.findall(gold_text)]
        whole_gold = " ".join(gold_parts)
        for part in parts:
            if part in whole_gold:
                continue
            for gold_part in gold_parts:
                if (
                    denies(gold_part, part)
                    or (len(gold_part) >= MIN_EQUAL_CHARACTERS and denies(part, gold_part))
                    or have_other_name(part, gold_part, whole_gold)
                ):
                    return f"{part!r} against {gold_part!r}"
        return ""

    # --- nearly the same statement ---

    def _describe_other_names(self, text: str, words: Sequence[Token]) -> str:
        """Describe the names of a text that no passage has, and those that a sentence of a passage has in their place.

        Apart from these names, the text and the sentence are nearly equal. Return an empty text if there is no such sentence.
        """
        language = self._language
        unknown_names = find_unknown_names(words, language, self._known_keys)
        content = find_content(text, self._language) - unknown_names
        has_few_names = 0 < len(unknown_names) <= MAX_NAMES
        if not has_few_names or len(content) < _MIN_WORDS_BESIDE_NAMES:
            return ""
        own_spelling = spell(words, unknown_names)
        known_keys = self._question.reference_content | self._question.word_keys
        for sentence in self._sentences:
            other_names = find_names_in(sentence.words, language) - known_keys
            rival_spelling = spell(sentence.words, other_names)
            if not other_names or has_initials(own_spelling, rival_spelling):
                continue
            if len(content & sentence.keys) >= _MIN_SHARED_SHARE_BESIDE_NAME * len(content):
                return f"{own_spelling!r} against {rival_spelling!r}"
        return ""

    def _find_other_statement(self, text: str) -> str:
        """Describe how the nearest sentences have another number than a text, or deny it. Return an empty text if they do neither."""
        nearest, share = self._find_nearest(text)
        if not nearest or share < _MIN_SHARED_SHARE_BESIDE_NUMBER:
            return ""
        other_number = self._find_other_number(text, nearest)
        if other_number:
            return other_number
        denial = find_contradiction(text, [nearest[0].text], self._language)
        if denial is None or not _is_clear(denial, text, nearest[0], self._language):
            return ""
        return str(denial)

    def _find_other_number(self, text: str, nearest: Sequence[_GoldSentence]) -> str:
        """Describe a number that no passage has, and the number of the same measure in the nearest sentences."""
        words = read_words(text)
        own_values = list_values(words)
        known_values = self._values.union(word.key for words in self._words for word in words)
        content = find_content(text, self._language)
        nearest_words = [
            word
            for sentence in nearest
            if self._is_about(sentence, content, nearest[0])
            for word in sentence.words
        ]
        for place, number in enumerate(words):
            if number.kind != "number":
                continue
            missing_values = list_missing(number, known_values)
            if not missing_values:
                continue
            rival = find_rival_of_missing(number, missing_values, nearest_words, own_values)
            if rival is not None and not may_be_rounded(words, place, rival):
                return f"{number.spelling!r} against {rival.spelling!r}"
        return ""

    def _is_about(
        self, sentence: _GoldSentence, content: frozenset[str], nearest: _GoldSentence
    ) -> bool:
        """Tell whether a sentence has the subject of a text. It has not if they share one word and it is far from the nearest sentence.

        Args:
            sentence: The sentence.
            content: The keys of the words of the text that carry a meaning.
            nearest: The sentence that has most of them.
        """
        if len(content & sentence.keys) >= _MIN_SHARED_WORDS_BESIDE_NUMBER:
            return True
        distance = self._sentences.index(sentence) - self._sentences.index(nearest)
        return abs(distance) <= 1

    def _find_nearest(self, text: str) -> tuple[Sequence[_GoldSentence], float]:
        """Find the two sentences that together have most words of a text, and the share of the words that they have.

        Numbers do not count.
        """
        numbers = {word.key for word in read_words(text) if word.kind in NUMBER_KINDS}
        content = find_content(text, self._language) - numbers
        nearest: list[_GoldSentence] = []
        missing_keys = content
        for _ in range(2):
            counts = [len(missing_keys & sentence.keys) for sentence in self._sentences]
            most = max(counts, default=0)
            if most:
                best = self._sentences[counts.index(most)]
                nearest.append(best)
                missing_keys -= best.keys
        return nearest, 1 - len(missing_keys) / max(1, len(content))


def _is_undone(sentence: _GoldSentence, word: Phrase, other: _GoldSentence, contrary: Phrase) -> bool:
    """Tell whether a second difference takes back that two words are contrary.

    "Teachers may use the lift" agrees with "Pupils may not use the lift", and "closed on Mondays" with "open except on Mondays".
    """
    if sentence.has_exception != other.has_exception:
        return True
    return sentence.denies_beside(word.keys) != other.denies_beside(contrary.keys)


def _is_clear(denial: Contradiction, text: str, sentence: _GoldSentence, language: str) -> bool:
    """Tell whether a denial is about the same statement: the sentence has nearly all other words of the text.

    A denial by a number alone does not count here: numbers are compared separately.
    """
    denied_words = read_words(denial.unit)
    denied_keys = frozenset(word.key for word in denied_words)
    other_words = read_words(denial.context)
    if denial.kind == "number":
        has_other_values = list_values(denied_words) != list_values(other_words)
        # A sentence with a red roof and a green door does not deny that something is green.
        is_elsewhere = denied_keys <= sentence.keys and denied_keys.isdisjoint(
            word.key for word in other_words
        )
        if has_other_values or is_elsewhere:
            return False
    statement = _GoldSentence(text, language)
    if denial.kind == "negation" and (
        # Both texts deny something: "permitted, but tripods are not" repeats "tripods are not permitted".
        statement.negation_count == sentence.negation_count > 0 or statement.has_other_subject(sentence)
    ):
        return False
    has_two_reservations = denial.kind == "reservation" and denial.unit and denial.context
    if has_two_reservations and (statement.negation_count + sentence.negation_count) % 2 == 1:
        # "Only members may enter" and "no visitor except members may enter" say the same.
        return False
    if denial.kind == "reservation" and statement.content <= sentence.list_keys_before_denial():
        return False  # "on the deck" of "allowed on the deck, but not in the cabin"
    content = find_content(text, language) - denied_keys
    held = content & sentence.keys
    return len(held) >= max(
        _MIN_SHARED_WORDS_BESIDE_NEGATION, _MIN_SHARED_SHARE_BESIDE_NEGATION * len(content)
    )
