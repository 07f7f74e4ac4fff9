"""Questions that another passage answers: in the words of the gold with another number or name, or where the gold is off the subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxmetrics.evaluation.gold.answers import is_answer
from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages, read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_content, find_language
from ctxmetrics.evaluation.gold.values import (
    MAX_NAMES,
    NUMBER_KINDS,
    find_names,
    find_rival,
    list_values,
    spell,
)
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.text.languages import detect_language

# The maximum number of passages that are compared for a question.
_MAX_COMPARED_PASSAGES = 3
# The maximum number of words of a search for passages. The rarest words count.
_MAX_SEARCH_WORDS = 12
# Two sentences say the same with different answers if the second has at least this share of the first one's other words ..
_MIN_SHARED_RATIO = 0.7
# .. and at least this number of them.
_MIN_SHARED_WORDS = 3
# A passage is about a question if it has at least this share of the weight of the question's words ..
_MIN_SUBJECT_SHARE = 0.6
# .. and at least this number of them.
_MIN_SUBJECT_WORDS = 2


@dataclass(frozen=True, slots=True)
class _PassageSentence:
    """A sentence of a passage.

    Attributes:
        words: The words of the sentence.
        names: The keys of its names. Empty in German: there all nouns begin with a capital letter.
        content: The keys of the words that carry a meaning, without numbers.
    """

    words: Sequence[Token]
    names: frozenset[str]
    content: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Answer:
    """A number or a name of the reference in a sentence of the gold. The question does not contain it.

    Attributes:
        place: The index of the passage.
        number: The number; None for names.
        names: The keys of the names; empty for a number.
        sentence: The sentence.
        asked: The keys of the question's words that the passage has too.
    """

    place: int
    number: Token | None
    names: frozenset[str]
    sentence: _PassageSentence
    asked: frozenset[str]

    @property
    def content(self) -> frozenset[str]:
        """The keys of the words of the sentence that carry a meaning, without the answer itself."""
        return self.sentence.content - self.sentence.names if self.names else self.sentence.content

    @property
    def min_shared_words(self) -> float:
        """The minimum number of words of `content` that another sentence must have if it says the same."""
        return max(_MIN_SHARED_WORDS, _MIN_SHARED_RATIO * len(self.content))

    @property
    def spelling(self) -> str:
        """The number or the names, as the sentence spells them."""
        return spell(self.sentence.words, self.names) if self.number is None else self.number.spelling

    def is_in(self, words: Sequence[Token]) -> bool:
        """Tell whether a text contains the number, or at least one of the names."""
        if self.number is not None:
            return self.number.key in list_values(words)
        return any(word.key in self.names for word in words)

    def find_rival(self, sentence: _PassageSentence, excluded: frozenset[str]) -> str:
        """Find the number or the names that another sentence has instead of the answer. Return an empty text if there are none.

        Args:
            sentence: The other sentence.
            excluded: The keys of words that cannot be an answer.
        """
        if len(self.content & sentence.content) < self.min_shared_words:
            return ""
        if self.number is None:
            names = sentence.names - excluded
            has_words_of_question = not self.asked.isdisjoint(self.content & sentence.content)
            if has_words_of_question and len(names) <= MAX_NAMES:
                return spell(sentence.words, names)
            return ""
        rival = find_rival(self.number, sentence.words, excluded)
        return "" if rival is None else rival.spelling


def check_readings(questions: Sequence[Question], passages: Passages) -> Iterator[Finding]:
    """Find questions that another passage answers as well as the gold, with another number or name."""
    for question in questions:
        yield from _check_subject(question, passages)
        if not is_answer(question.reference):
            continue
        for answer in _find_answers(question, passages):
            finding = _find_other_reading(question, answer, passages)
            if finding is not None:
                yield finding
                break


def _check_subject(question: Question, passages: Passages) -> Iterator[Finding]:
    """Find a question whose gold and reference have none of its words, where another passage has most of them.

    So it is where gold and reference were pasted one row too high or too low. Only words of the passages count.
    """
    places = question.gold_places
    if not places or len(question.gold) > 1:
        return
    content = passages.find_known(question.find_content(question.text))
    if len(content) < _MIN_SUBJECT_WORDS or not content.isdisjoint(question.reference_content):
        return
    if any(passages.find_words(place, content) for place in places):
        return
    if find_language(question.text) != find_language(passages.chunks[min(places)].text):
        return
    weight = sum(map(passages.weigh, content))
    for place in passages.search(content, 1):  # the best one, if there is any
        shared_words = passages.find_words(place, content)
        has_most = sum(map(passages.weigh, shared_words)) >= _MIN_SUBJECT_SHARE * weight
        if len(shared_words) >= _MIN_SUBJECT_WORDS and has_most:
            gold_name = passages.name(min(places))
            other_name = passages.name(place)
            evidence = f"{gold_name!r} is gold and has no word of the question, {other_name!r} has most of them"
            yield question.make_finding("other_subject", evidence, (gold_name, other_name))


def _find_answers(question: Question, passages: Passages) -> Iterator[_Answer]:
    """Yield the numbers and names of the reference that sentences of the gold contain and the question does not."""
    reference = question.reference_words
    values = list_values(reference) - list_values(question.words)
    reference_names = find_names(reference) - question.word_keys
    if not values and not reference_names:
        return
    question_keys = question.find_content(question.text)
    for place in sorted(question.gold_places):
        question_keys_of_passage = passages.find_words(place, question_keys)
        for sentence in _read_sentences(passages.chunks[place].text):
            if len(sentence.content) < _MIN_SHARED_WORDS:
                continue
            for word in sentence.words:
                if not values.isdisjoint(list_values([word])):
                    yield _Answer(place, word, frozenset(), sentence, question_keys_of_passage)
            names = sentence.names & reference_names
            if 0 < len(names) <= MAX_NAMES:
                yield _Answer(place, None, names, sentence, question_keys_of_passage)


def _read_sentences(text: str) -> Iterator[_PassageSentence]:
    """Yield the sentences of a passage."""
    language = detect_language(text)
    for start, end in sentences(text):
        words = read_words(text[start:end])
        names = frozenset[str]() if language == "de" else find_names(words)
        numbers = {word.key for word in words if word.kind in NUMBER_KINDS}
        yield _PassageSentence(words, names, find_content(text[start:end]) - numbers)


def _find_other_reading(question: Question, answer: _Answer, passages: Passages) -> Finding | None:
    """Find a passage that is not gold and has another number or name where the gold has the number or name of the reference."""
    content = answer.content
    nearest = passages.search(
        content | answer.asked,
        _MAX_COMPARED_PASSAGES,
        without=question.gold_places,
        most_words=_MAX_SEARCH_WORDS,
    )
    gold_words = frozenset[str]().union(question.word_keys, *question.gold_content)
    for place in nearest:
        text = passages.chunks[place].text
        has_sentence = len(passages.find_words(place, content)) >= answer.min_shared_words
        is_told_apart = len(passages.find_words(place, answer.asked)) < len(answer.asked)
        if not has_sentence or is_told_apart or answer.is_in(read_words(text)):
            continue
        for sentence in _read_sentences(text):
            rival = answer.find_rival(sentence, gold_words)
            if not rival:
                continue
            gold_name = passages.name(answer.place)
            other_name = passages.name(place)
            quote = shorten(" ".join(word.spelling for word in sentence.words), 120)
            evidence = f"{gold_name!r} is gold and says {answer.spelling!r}; {other_name!r} says {rival!r} in the same words: {quote!r}"
            return question.make_finding("two_readings", evidence, (gold_name, other_name))
    return None
