"""Finds questions without an answer, and references that state no fact: refusals, or only a yes or a no."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Literal

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.samples.refusals import find_refusal
from ctxmetrics.samples.systems import normalized_key

# The label of a sample whose question has no answer.
LABEL = "unanswerable"
# Words of public data sets: names of columns that say whether a question has an answer, and values for yes and no.
_WORDS: Mapping[str, Sequence[str]] = read_data("samples", "keys.json")["unanswerable"]
# Whether a yes in a column means that the question has no answer: {"isimpossible": True, "answerable": False}.
_COLUMNS = {
    **dict.fromkeys(_WORDS["without_answer"], True),
    **dict.fromkeys(_WORDS["with_answer"], False),
}
# Whether the text of a cell means yes: {"true": True, "0": False}.
_VALUES = {**dict.fromkeys(_WORDS["yes"], True), **dict.fromkeys(_WORDS["no"], False)}
# The kinds of references that name no fact; empty for a reference that may name one. See `phrase_kind`.
Kind = Literal["refusal", "mark", "unsure", "yes_no", ""]
# The maximum number of words of a reference that may say that the answer is not written yet.
_MAX_UNWRITTEN_WORDS = 6
# A word with spaces between its letters: t o d o.
_SPACED_LETTERS = re.compile(r"\w(?: \w)+")
# The number behind a phrase: answer 1.
_LAST_NUMBER = re.compile(r" \d+$")
# The marks between words.
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# The maximum number of characters of a reference that ``refusals.json`` lists as a whole, with its punctuation.
_MAX_PHRASE_CHARACTERS = 80


def is_answerability_name(name: str) -> bool:
    """Whether a column says whether questions have an answer."""
    return normalized_key(name) in _COLUMNS


def has_mark(row: Mapping[str, Any]) -> bool:
    """Whether a row marks its question as one that has no answer."""
    for key, value in row.items():
        yes_means_no_answer = _COLUMNS.get(normalized_key(str(key)))
        if yes_means_no_answer is None:  # the column says nothing about answers
            continue
        cell = value[0] if isinstance(value, list) and len(value) == 1 else value
        is_yes = _VALUES.get(str(cell).strip().casefold().removesuffix(".0"))
        if is_yes is yes_means_no_answer:
            return True
    return False


@cache
def _phrases() -> dict[str, Kind]:
    """Return the kind of each whole reference that ``refusals.json`` lists."""
    data = read_data("samples", "refusals.json")
    kinds: dict[str, Kind] = {}
    for phrase in chain.from_iterable(data["yes_no"].values()):
        kinds[_without_punctuation(phrase)] = "yes_no"
    for phrase in chain.from_iterable(data["phrases"].values()):
        kinds[_without_punctuation(phrase)] = "refusal"
    for mark in data["marks"]:
        kinds[_without_punctuation(mark)] = "mark"
    return kinds


@cache
def _cased_marks() -> frozenset[str]:
    """Read the marks of unanswerable questions that count in capital letters only."""
    return frozenset(read_data("samples", "refusals.json")["cased_marks"])


def _without_punctuation(text: str) -> str:
    """Return a text in lower case and without punctuation. A text of punctuation only is returned unchanged."""
    words = re.sub(r"[\W_]+", " ", re.sub(r"['’]", "", text.casefold()))
    return " ".join(words.split()) or text.strip()


@lru_cache(maxsize=1024)  # several parts ask about the same reference
def phrase_kind(text: str) -> Kind:
    """Return the kind of a reference that names no fact; an empty text for any other reference.

    - ``refusal``: the reference says that there is no answer; see `ctxmetrics.samples.refusals`.
    - ``mark``: the reference is a word that fills an empty cell, and may be an answer: "None", "Unknown".
    - ``unsure``: the reference may be a refusal, or is a refusal beside a statement. It counts as a statement.
    - ``yes_no``: the reference is a yes or a no and nothing else.
    """
    if len(text) <= _MAX_PHRASE_CHARACTERS:
        if text.strip() in _cased_marks():
            return "mark"
        kind = _phrases().get(_without_punctuation(text))
        if kind is not None:
            return kind
    return find_refusal(text)


def is_unwritten(text: str) -> bool:
    """Tell whether a reference only says that the answer is not written yet: TODO, tbd later, answer 1.

    Such a phrase may also be an answer: "What does the button do?" "Test." The caller must check whether a passage has the phrase.
    """
    if len(text) > _MAX_PHRASE_CHARACTERS or len(text.split()) > _MAX_UNWRITTEN_WORDS:
        return False  # the usual case
    words = _fold_words(text)
    joined_letters = words.replace(" ", "") if _SPACED_LETTERS.fullmatch(words) else words
    words_before, _, last_word = words.rpartition(" ")
    first_word, _, words_behind = words.partition(" ")
    forms = {words, joined_letters, _LAST_NUMBER.sub("", words)}
    if last_word in _unwritten("endings"):
        forms.add(words_before)
    if first_word in _unwritten("beginnings"):
        forms.add(words_behind)
    forms.update(words.removeprefix(word) for word in _unwritten("answer_words"))
    return not _unwritten("phrases").isdisjoint(forms)


@cache
def _unwritten(name: str) -> frozenset[str]:
    """Read a list of ``unwritten.json``, without case, accents and punctuation."""
    return frozenset(map(_fold_words, read_data("samples", "unwritten.json")[name]))


def _fold_words(text: str) -> str:
    """Return the words of a text without case, accents and punctuation."""
    text = text.casefold()
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(_BETWEEN_WORDS.sub(" ", text).split())


def is_refusal(text: str) -> bool:
    """Whether a reference says that there is no answer."""
    return phrase_kind(text) in {"refusal", "mark"}
