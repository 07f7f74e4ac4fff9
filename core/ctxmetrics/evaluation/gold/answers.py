"""Whether a reference is an answer, or a placeholder, a question, or a note where the answer stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from html import unescape
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.gold.question import Question
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.samples.unanswerable import is_unwritten, phrase_kind
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.sentences import split_sentences

# The minimum and the maximum number of words of a question without a question mark.
_MIN_QUESTION_WORDS = 3
_MAX_QUESTION_WORDS = 12
# The maximum number of characters of a verb that answers a Chinese or Japanese question.
_MAX_VERB_CHARACTERS = 5
# The marks that end a sentence that is no question.
END_MARKS = frozenset(".!:;。！")
# A text of one repeated letter is a placeholder if it has at least this number of letters. AAA is a size, III a number.
_MIN_REPEATED_LETTERS = 5
# A note after a mark such as TODO has at most this number of words; more are a sentence.
_MAX_NOTE_WORDS = 3
# Several checks, one after the other, ask about the references of all questions. So many references are remembered.
_MAX_REFERENCES_REMEMBERED = 16_384
# The question mark at the end of a question. The last one is the Greek mark.
_QUESTION_END = re.compile(r"[?？؟\u037e]\W*$")
# A whole text in brackets, as templates have it: [answer], <answer>, {{ answer }}.
_TEMPLATE_TEXT = re.compile(
    r"\s*(?:\[[^]]*\]|<[^<>]*>|\{+[^{}]*\}+|%\w+%?|\$\w+|\#[A-Z]+[!?])\s*\.?\s*"
)
# A mark in capital letters at the beginning, such as TODO(anna).
_CAPITAL_MARK = re.compile(r"\W*(?:TODO|TBD|TBA|TBC|FIXME)\b")
# An address, or the name of a file.
_ADDRESS = re.compile(
    r"\w+://\S+|www\.\S+|\S+\.(?:pdf|docx?|md|html?|txt|xlsx?|pptx?)\b", re.IGNORECASE
)
# The number of a page or a question, such as 12 or q3.
_NUMBERED_LABEL = re.compile(r"[a-z]?\d+[a-z]?")
# The particle at the end of a Chinese or Japanese question that asks for yes or no: 开门吗？
_QUESTION_PARTICLE = re.compile(r"[吗嗎か]\W*$")
# The marks that end the first part of a text.
_PART_END = re.compile(r"[,.!:;，、。！：；–—]")
# A tag of HTML.
_HTML_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
# The marks between words.
MARKS_BETWEEN_WORDS = re.compile(r"[\W_]+")
# The colon after a mark at the beginning of a text, such as ``TODO:``.
_COLON = re.compile(r"[:：]")


@cache
def read_word_lists() -> Mapping[str, Any]:
    """Read the lists of words in the data file."""
    words: Mapping[str, Any] = read_data("evaluation.gold", "words.json")
    return words


@cache
def read_folded_words(name: str) -> frozenset[str]:
    """Read a list of words without case and marks."""
    return frozenset(map(fold_words, read_word_lists()[name]))


def fold_words(text: str) -> str:
    """Return the words of a text in small letters, without accents and marks between them."""
    return " ".join(MARKS_BETWEEN_WORDS.sub(" ", fold(normalise(text))).split())


def is_placeholder(text: str) -> bool:
    """Tell whether a text only marks where an answer should be written, such as TODO."""
    visible_text = _HTML_TAG.sub(" ", unescape(text))
    folded_text = fold_words(visible_text)
    if not folded_text or is_unwritten(visible_text) or _TEMPLATE_TEXT.fullmatch(text):
        return True
    label, *rest = _COLON.split(text, maxsplit=1)
    names_answer = len(label.strip()) == 1 or is_unwritten(label)
    if rest and names_answer and is_unwritten(rest[0]):
        return True
    if _points_elsewhere(text) or _begins_with_mark(text):
        return True
    if rest and fold_words(label) in read_folded_words("placeholder_marks"):
        return True
    beginnings = read_folded_words("placeholder_beginnings")
    if any(f"{folded_text} ".startswith(f"{words} ") for words in beginnings):
        return True
    is_one_letter = len(set(folded_text)) == 1 and folded_text[0].isalpha()
    return is_one_letter and len(folded_text) >= _MIN_REPEATED_LETTERS


def _begins_with_mark(text: str) -> bool:
    """Tell whether a text begins with a mark such as TODO, which a note follows. A sentence may begin with it, too."""
    mark = _CAPITAL_MARK.match(text)
    if mark is None:
        return False
    note = text[mark.end() :]
    if note.isupper():  # TODO is a word of Spanish
        return False
    return not note[:1].isspace() or len(note.split()) <= _MAX_NOTE_WORDS


def _points_elsewhere(text: str) -> bool:
    """Tell whether a text only says where the answer stands, such as "see the manual, page 3" or "same as above"."""
    has_address = _ADDRESS.search(text) is not None
    folded_text = fold_words(_ADDRESS.sub(" ", text))
    places = read_folded_words("places")
    document_words = read_folded_words("documents")
    first_word, _, other_words = folded_text.partition(" ")
    if first_word in read_folded_words("answer_words"):
        folded_text = other_words
    words_behind_same = _cut_beginning(folded_text, "same") or ()
    if not places.isdisjoint(words_behind_same) and _are_known(words_behind_same, places):
        return True
    words_behind_see = _cut_beginning(folded_text, "see")
    if words_behind_see is None:
        return False
    names_document = has_address or not document_words.isdisjoint(words_behind_see)
    has_number = any(map(_NUMBERED_LABEL.fullmatch, words_behind_see))
    return (names_document or has_number) and _are_known(words_behind_see, document_words)


def _cut_beginning(plain: str, name: str) -> Sequence[str] | None:
    """Return the words of a text after the longest phrase of a list with which it begins; None if it begins with no phrase."""
    beginnings = [words for words in read_folded_words(name) if f"{plain} ".startswith(f"{words} ")]
    if not beginnings:
        return None
    longest = max(beginnings, key=len)
    return plain.removeprefix(longest).split()


def _are_known(words: Iterable[str], names: frozenset[str]) -> bool:
    """Tell whether all words are some names, words between them or numbers of pages."""
    allowed = names | read_folded_words("between")
    return all(word in allowed or _NUMBERED_LABEL.fullmatch(word) for word in words)


@lru_cache(maxsize=_MAX_REFERENCES_REMEMBERED)
def is_answer(text: str) -> bool:
    """Tell whether a reference is an answer: no refusal, no placeholder and no question."""
    return not (phrase_kind(text) in {"refusal", "mark"} or is_placeholder(text) or asks(text))


def may_be_refusal(question: Question) -> bool:
    """Tell whether a reference of one sentence may be a refusal, and says nothing that the gold says beyond the question."""
    if phrase_kind(question.reference) != "unsure" or len(split_sentences(question.reference)) > 1:
        return False
    gold_words = frozenset[str]().union(*question.gold_content)
    answer = question.reference_content - question.word_keys
    return bool(gold_words) and answer.isdisjoint(gold_words)


def begins_with_yes_or_no(text: str) -> bool:
    """Tell whether the first part of a text is "yes" or "no" in some language."""
    return phrase_kind(_PART_END.split(text, maxsplit=1)[0]) == "yes_no"


def cut_short_answer(text: str, question: Question) -> str:
    """Cut the answer "yes" or "no" from the beginning of a sentence: "No, it is closed." becomes "it is closed.".

    A Chinese or Japanese answer repeats the verb of the question: "不开门，..". A sentence of one part stays as it is.
    """
    part, *rest = _PART_END.split(text, maxsplit=1)
    if not rest or not rest[0].strip():
        return text
    repeats_verb = len(part) <= _MAX_VERB_CHARACTERS and _QUESTION_PARTICLE.search(question.text)
    if phrase_kind(part) == "yes_no" or repeats_verb:
        return rest[0].strip()
    return text


def asks(text: str) -> bool:
    """Tell whether each sentence of a text is a question and ends with a question mark. A single sentence needs no mark."""
    return all(map(_QUESTION_END.search, split_sentences(text))) or _begins_as_question(text)


def _begins_as_question(text: str) -> bool:
    """Tell whether a short text without a mark at its end begins as a question: "when does", "what is"."""
    words = fold_words(text).split()
    if not _MIN_QUESTION_WORDS <= len(words) <= _MAX_QUESTION_WORDS:
        return False
    has_end_mark = text.rstrip()[-1:] in END_MARKS
    if has_end_mark or "," in text:
        return False
    has_verb = words[1] in read_folded_words("yes_no_beginnings")
    return has_verb and words[0] in read_folded_words("asking")
