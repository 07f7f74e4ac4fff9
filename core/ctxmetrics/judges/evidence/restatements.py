"""Whether a context states a unit in nearly its own words.

A no about such a unit is doubtful. Of the claims that people judged this holds for 8 in 1,000 that are not supported, and for one
in eight that are (`benchmarks/validity/doubts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.contradiction import (
    find_contradiction,
    find_other_name,
    find_other_value,
)
from ctxmetrics.judges.evidence.quotes import split_context
from ctxmetrics.judges.evidence.reservations import find_reservation
from ctxmetrics.judges.evidence.words import get_stem_keys, get_word_list, list_keys, tokenize
from ctxmetrics.text.list_marks import skip_list_marks
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.quote_search import stands_in
from ctxmetrics.text.visible import see

# The minimum number of content words of a unit: fewer may stand in order by chance.
_MIN_CONTENT_WORDS = 3
# The maximum number of characters of a context whose sentences are read.
_MAX_CONTEXT_CHARACTERS = 20_000
# The number of letters at the beginning of a word that its other forms share.
_STEM_LETTERS = 4
_QUESTION_MARKS = ("?", "？", "؟")


def find_restatement(unit: str, context: str, language: str) -> str | None:
    """Return one or two sentences of a context that state a unit in its own words; None if there are none.

    One sentence must have all content words of the unit, in their order. Two sentences must have all of them together, in any
    order; the second one must begin with a pronoun, such as "It", so that both are about one thing. Neither may deny or take
    back the unit.

    >>> find_restatement("The X200 weighs 12 kg.", "Data. The X200 pump weighs 12 kg without its cable.", "en")
    'The X200 pump weighs 12 kg without its cable.'
    >>> find_restatement("The X200 weighs 12 kg.", "The X200 never weighs 12 kg.", "en")
    """
    unit_words = _read_unit(unit, language)
    text = see(context).text
    if len(unit_words.keys) < _MIN_CONTENT_WORDS or len(text) > _MAX_CONTEXT_CHARACTERS:
        return None
    if not may_state(unit, context, language):
        return None  # the usual case
    if unit_words.text.rstrip().endswith(_QUESTION_MARKS):
        return None  # a question states nothing
    sentences = _read_sentences(text)
    for sentence in sentences:
        if unit_words.keys <= sentence.keys and _states_in_order(unit_words, sentence, language):
            return sentence.text
    for sentence, following in pairwise(sentences):
        have_all_words = unit_words.keys <= sentence.keys | following.keys
        if not have_all_words or not _begins_with_pronoun(following, language):
            continue
        if _state_together(unit_words, sentence, following, language):
            return f"{sentence.text} {following.text}"
    return None


def may_state(unit: str, context: str, language: str) -> bool:
    """Whether a context has the first letters of each long content word of a unit: a quick check before the others."""
    text_without_case = _fold(see(context).text)
    return all(beginning in text_without_case for beginning in _read_unit(unit, language).beginnings)


class _RestatedUnit(NamedTuple):
    """The words of a unit.

    Attributes:
        text: The text of the sentence.
        words: The words of the sentence.
        content: The content words of the sentence.
        keys: The keys of its content words: word stems, equal for the forms of a word.
        beginnings: The first letters of its long content words. A context that states the unit has all of them.
    """

    text: str
    words: Sequence[Token]
    content: Sequence[Token]
    keys: frozenset[str]
    beginnings: Sequence[str]


@lru_cache(maxsize=64)
def _read_unit(unit: str, language: str) -> _RestatedUnit:
    """Read the words of a unit: all of them, those with a meaning of their own, and the first letters of long ones."""
    text = see(unit).text
    words = tokenize(text)
    stop_words = get_word_list("stop", language)
    content_words: list[Token] = []
    stems: list[str] = []
    for word in words:
        if word.kind == "character" or word.folded in stop_words:
            continue
        content_words.append(word)
        spelling = word.spelling
        if word.kind == "word" and spelling.isascii() and len(spelling) >= _STEM_LETTERS:
            stems.append(spelling[:_STEM_LETTERS].casefold())
    return _RestatedUnit(
        text, words, content_words, frozenset(word.key for word in content_words), stems
    )


@lru_cache(maxsize=128)  # the contexts of a request are compared with each of its units
def _fold(text: str) -> str:
    """Return a text without its case."""
    return text.casefold()


class _Sentence(NamedTuple):
    """A sentence of a context: its text, its words, and the keys that the words hold."""

    text: str
    words: Sequence[Token]
    keys: frozenset[str]


@lru_cache(maxsize=128)
def _read_sentences(text: str) -> Sequence[_Sentence]:
    """Read the sentences of a text that state something."""
    sentences = []
    for start, end in split_context(text):
        sentence = text[start:end].strip()
        if not sentence.endswith(_QUESTION_MARKS):
            words = tokenize(sentence)
            sentences.append(_Sentence(sentence, words, frozenset(list_keys(words))))
    return sentences


def _states_in_order(unit: _RestatedUnit, sentence: _Sentence, language: str) -> bool:
    """Whether a sentence has the content words of a unit in their order, and neither denies nor takes back the unit."""
    words = sentence.words
    end = 0  # the position behind the last content word that was found
    for content_word in unit.content:
        key = content_word.key
        while end < len(words) and key != words[end].key and key not in words[end].parts:
            end += 1
        if end == len(words):
            return False
        end += 1
    # Words behind the statement may only limit it: "weighs 12 kg without its cable".
    if _denies(unit, words[:end], language):
        return False
    return not _is_contrary(unit, [sentence.text], language)


def _begins_with_pronoun(sentence: _Sentence, language: str) -> bool:
    """Whether a sentence begins with a pronoun, and so is about something in the text before it."""
    first_words = sentence.words[:1]
    return bool(first_words) and first_words[0].folded in get_word_list("continuing", language)


def _state_together(
    unit: _RestatedUnit, sentence: _Sentence, following: _Sentence, language: str
) -> bool:
    """Whether two sentences that together have all content words of a unit neither deny nor take back the unit."""
    if _denies(unit, [*sentence.words, *following.words], language):
        return False
    return not _is_contrary(unit, [sentence.text, following.text], language)


def _denies(unit: _RestatedUnit, words: Iterable[Token], language: str) -> bool:
    """Whether some word denies something and is not a word of the unit."""
    denying_keys = get_stem_keys("denials", language) | get_stem_keys("negations", language)
    unit_keys = {word.key for word in unit.words}
    return any(word.key in denying_keys and word.key not in unit_keys for word in words)


def _is_contrary(unit: _RestatedUnit, sentences: Sequence[str], language: str) -> bool:
    """Whether sentences contradict a unit, take it back, or are about another value or name."""
    contradiction = (
        find_contradiction(unit.text, sentences, language)
        or find_reservation(unit.text, sentences, language)
        or find_other_value(unit.text, sentences, language)
        or find_other_name(unit.text, sentences)
    )
    return contradiction is not None


def stands_as_sentence(text: str, context: str) -> bool:
    """Whether the sentences of a text are whole sentences of a context, one after the other.

    It is not enough that a text stands inside a longer sentence: that sentence may deny it ("the claim that ...").
    """
    if not stands_in(text, context):
        return False
    sentences = _list_sentences(text)
    context_sentences = _list_sentences(context)
    sentence_count = len(sentences)
    for start in range(len(context_sentences) - sentence_count + 1):
        if context_sentences[start : start + sentence_count] == sentences:
            return True
    return False


@lru_cache(maxsize=128)
def _list_sentences(text: str) -> Sequence[str]:
    """List the sentences of a text in their normal form, without list marks and without the full stop."""
    view = see(text)
    sentences = []
    for span in split_context(text):
        sentence = view.cut(span)
        sentence = sentence[skip_list_marks(sentence, "en") :]
        sentences.append(normalise(sentence).strip().rstrip(".!。！ "))
    return sentences
