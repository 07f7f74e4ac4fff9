"""Questions with two readings: another passage answers in the same words with another number, and the question tells neither apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxmetrics.evaluation.gold.findings import Finding
from ctxmetrics.evaluation.gold.passages import Passages, read_words, shorten
from ctxmetrics.evaluation.gold.question import Question, find_content
from ctxmetrics.evaluation.gold.question_texts import is_answer
from ctxmetrics.evaluation.gold.values import NUMBERS, find_rival, list_values
from ctxmetrics.judges.evidence.words import Token
from ctxmetrics.judges.lexical.index import sentences

# How many passages are looked at for a question.
_MOST_COMPARED = 5
# A passage is searched by so many words at most, the rarest ones.
_SEARCHED_WORDS = 20
# Two sentences say the same with another number if the second one has this share of the other words of the first ..
_SAME_BUT_NUMBER = 0.7
# .. and at least so many.
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class _Answer:
    """A sentence of gold that has a number of the reference.

    Attributes:
        place: Where the passage stands.
        number: The number, which the question does not have.
        content: The keys of the other words of the sentence that carry a meaning.
        asked: The keys of the words of the question that the passage has.
    """

    place: int
    number: Token
    content: frozenset[str]
    asked: frozenset[str]


def check_readings(questions: Sequence[Question], passages: Passages) -> Iterator[Finding]:
    """Find questions that another passage answers as well as the gold, with another number."""
    for question in questions:
        if not is_answer(question.reference):
            continue
        for answer in _find_answers(question, passages):
            finding = _find_other_reading(question, answer, passages)
            if finding is not None:
                yield finding
                break


def _find_answers(question: Question, passages: Passages) -> Iterator[_Answer]:
    """Yield the sentences of the gold that have a number of the reference which the question does not have."""
    values = list_values(read_words(question.reference)) - list_values(question.words)
    if not values:
        return
    asked = find_content(question.text)
    for place in sorted(question.gold_places):
        asked_here = asked & _read_passage_words(passages, place)
        for sentence in _read_sentences(passages.chunks[place].text):
            for word in sentence.words:
                if not values.isdisjoint(list_values([word])):
                    yield _Answer(place, word, sentence.content, asked_here)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage.

    Attributes:
        words: Its words.
        content: The keys of those that carry a meaning and are no numbers.
    """

    words: Sequence[Token]
    content: frozenset[str]


def _read_sentences(text: str) -> Iterator[_Sentence]:
    """Yield the sentences of a passage."""
    for start, end in sentences(text):
        words = read_words(text[start:end])
        numbers = {word.key for word in words if word.kind in NUMBERS}
        yield _Sentence(words, find_content(text[start:end]) - numbers)


def _read_passage_words(passages: Passages, place: int) -> frozenset[str]:
    """Return the keys of the words of a passage and its title."""
    chunk = passages.chunks[place]
    keys = frozenset(word.key for word in read_words(chunk.text))
    if chunk.title:
        keys |= frozenset(word.key for word in read_words(chunk.title))
    return keys


def _find_other_reading(question: Question, answer: _Answer, passages: Passages) -> Finding | None:
    """Find a passage that is not gold and has another number where the gold has that of the reference."""
    if len(answer.content) < _FEWEST:
        return None
    nearest = passages.search(
        answer.content | answer.asked,
        _MOST_COMPARED,
        without=question.gold_places,
        most_words=_SEARCHED_WORDS,
    )
    gold_words = frozenset[str]().union(*question.gold_content)
    least_common = max(_FEWEST, _SAME_BUT_NUMBER * len(answer.content))
    for place in nearest:
        text = passages.chunks[place].text
        passage_words = _read_passage_words(passages, place)
        has_sentence = len(answer.content & passage_words) >= least_common
        is_told_apart = not answer.asked <= passage_words
        if not has_sentence or is_told_apart:
            continue
        if answer.number.key in list_values(read_words(text)):
            continue
        for sentence in _read_sentences(text):
            rival = find_rival(answer.number, sentence.words, gold_words)
            if rival is None or len(answer.content & sentence.content) < least_common:
                continue
            own = passages.name(answer.place)
            other = passages.name(place)
            quote = shorten(" ".join(word.spelling for word in sentence.words), 120)
            evidence = (
                f"{own!r} is gold and says {answer.number.spelling!r}; {other!r} says {rival.spelling!r} in the same words: "
                f"{quote!r}"
            )
            return question.make_finding("two_readings", evidence, (own, other))
    return None
