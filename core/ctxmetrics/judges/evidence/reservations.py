"""Words that take back what the evidence for a unit says, without a "not": it failed to, it may, until 2019, reportedly.

A sentence counts only if it holds nearly all of the unit: there the words belong to what the unit states. Measured by
`benchmarks/validity/doubts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ctxmetrics.judges.evidence.chunks import Token, get_folded, join_spellings
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.word_forms import JOINING_WORDS, LISTS, base_language, fold
from ctxmetrics.judges.evidence.words import (
    IRREGULAR_FORMS,
    get_word_list,
    list_keys,
    may_have_other_language,
    tokenize,
)

# The share of the unit's content words that the sentence holds at least.
_MIN_SHARED_WORD_SHARE = 0.7
# The number of words behind a marker among which the word is looked for that the marker takes back.
_WORDS_IN_SCOPE = 6
# The number of letters at the beginning of a word that its other forms share: Spanish produce, produjo.
_STEM_LETTERS = 4
_YEAR = re.compile(r"(?:1\d|20)\d\d")
# A mark between two statements of one sentence.
_STATEMENT_END = re.compile("[;；]")
# Words that add a statement behind a comma: "it opens at nine, and if you are early, you can wait", "while others open if ..".
_ADDING_WORDS = JOINING_WORDS | {"while", "whereas", fold("während")}
# Words of the past in all languages: was, had.
_PAST_WORDS = frozenset(fold(word) for words in LISTS["past"].values() for word in words)
# Stands for all languages: a text of an unknown language is searched for the markers of each of them.
_ALL_LANGUAGES = ""
_NO_LISTS: Mapping[str, Sequence[str]] = {}


class _Marker(NamedTuple):
    """Words that take back what a sentence says, such as "failed to".

    Attributes:
        kind: ``before``: the words take back the word behind them. ``until``: the words take back the sentence if a year follows.
            ``anywhere`` (reportedly) and ``condition`` (if): the words take back the sentence. ``limit`` (only in): the words take
            back the sentence if the unit lacks the word behind them. ``harmless``: the words take back nothing.
        phrase: The words, folded.
    """

    kind: str
    phrase: tuple[str, ...]


class _Markers(NamedTuple):
    """The markers of a language.

    Attributes:
        by_first_word: The markers by their first word; the longest first.
        keys: The key of one word of each marker that is not harmless: "only" of a limit, else the longest word, since others, such
            as "is", stand in most texts.
    """

    by_first_word: Mapping[str, Sequence[_Marker]]
    keys: frozenset[str]


class _MarkerPlace(NamedTuple):
    """A marker in a text: its kind (`_Marker.kind`), the position of its first word, and the position behind its last word."""

    kind: str
    start: int
    end: int


class _UnitWords(NamedTuple):
    """The words of a unit.

    Attributes:
        first_word: The first word, as it is written.
        denies: Whether a word of the unit denies something. "Failed to reach" says the same as "did not reach".
        is_past: Whether the unit is about the past: then "until 2019" takes nothing back.
        keys: The keys of all words.
        content_keys: The keys of the content words.
        forms: The content word for each key of another form of it: run for ran. For languages other than English also by the first
            letters of the content words, which their other forms share.
        question_keys: The keys of the content words of the question.
    """

    first_word: str
    denies: bool
    is_past: bool
    keys: frozenset[str]
    content_keys: frozenset[str]
    forms: Mapping[str, str]
    question_keys: frozenset[str]

    def find_key(self, word: Token) -> str | None:
        """Return the key of the content word of which a word is a form, or None."""
        if word.key in self.content_keys:
            return word.key
        return self.forms.get(word.key) or self.forms.get(word.folded[:_STEM_LETTERS])

    def count_shared(self, words: Sequence[Token]) -> int:
        """Count the content words of the unit that stand in some words, also in another form."""
        shared_keys = {*self.content_keys.intersection(list_keys(words))}
        if len(shared_keys) < len(self.content_keys):
            for word in words:
                key = self.find_key(word)
                if key is not None:
                    shared_keys.add(key)
        return len(shared_keys)


def find_reservation(
    unit: str, evidence: Sequence[str], language: str, question: str = ""
) -> Contradiction | None:
    """Look for words that take back the evidence for a unit.

    A reservation does not count if another sentence states as much of the unit without a reservation.

    Args:
        unit: The unit.
        evidence: The sentences that hold the evidence for the unit.
        language: ISO 639 code; it chooses the lists.
        question: The question. A condition that it names is no reservation: what to do if a key is lost.

    >>> str(find_reservation("It reached the coast.", ["It failed to reach the coast."], "en"))
    "reservation: 'reach' against 'failed to reach'"
    """
    unit_words = tokenize(unit)
    markers = _read_markers(_choose_language(unit_words, language))
    if not any(_has_marker(tokenize(text), markers) for text in evidence):
        return None  # the usual case
    if _has_marker(unit_words, markers):
        return None
    words_of_unit = _read_unit(unit, language, question)
    # What a unit with a "not" is about cannot be told as surely.
    least_shared_share = 1.0 if words_of_unit.denies else _MIN_SHARED_WORD_SHARE
    least_shared = least_shared_share * len(words_of_unit.content_keys)
    # The highest number of the unit's content words in a sentence without a reservation.
    most_shared_without_reservation = 0
    # Each reservation, with the number of the unit's content words in its sentence.
    reservations: list[tuple[int, Contradiction]] = []
    for text in evidence:
        words = tokenize(text)
        shared_count = words_of_unit.count_shared(words)
        if shared_count < least_shared:
            continue
        reservation = None
        if not _is_free_of_markers_elsewhere(text, shared_count, markers, words_of_unit):
            reservation = _find_in_sentence(words, markers, words_of_unit, language)
        if reservation is None:
            most_shared_without_reservation = max(most_shared_without_reservation, shared_count)
        else:
            reservations.append((shared_count, reservation))
    for shared_count, reservation in reservations:
        if shared_count > most_shared_without_reservation:
            return reservation
    return None


def list_reservation_keys(unit: str, language: str) -> frozenset[str]:
    """Return keys (`Token.key`) of which every text with a reservation about the unit has at least one."""
    return _read_markers(_choose_language(tokenize(unit), language)).keys


def _choose_language(unit_words: Sequence[Token], language: str) -> str:
    """Return the language whose markers are looked for: `_ALL_LANGUAGES` if the language of a short unit is unknown."""
    folded_words = {*map(get_folded, unit_words)}
    if may_have_other_language(folded_words, language):
        return _ALL_LANGUAGES
    return base_language(language)


@lru_cache(maxsize=16)  # a unit is compared with one candidate after the other
def _read_unit(unit: str, language: str, question: str) -> _UnitWords:
    """Read the words of a unit."""
    words = tokenize(unit)
    markers = _read_markers(_choose_language(words, language))
    stop_words = get_word_list("stop", language)
    content_keys = set()
    forms: dict[str, str] = {}
    is_english = markers is _read_markers("en")  # English stems are enough
    for word in words:
        if word.kind == "character" or word.folded in stop_words:
            continue
        content_keys.add(word.key)
        for form in IRREGULAR_FORMS.get(word.key, ()):
            forms[form] = word.key
        if not is_english and word.kind == "word" and len(word.folded) >= _STEM_LETTERS:
            forms[word.folded[:_STEM_LETTERS]] = word.key
    return _UnitWords(
        first_word=words[0].spelling,
        denies=_denies(words, language),
        is_past=not _PAST_WORDS.isdisjoint(map(get_folded, words)),
        keys=frozenset(list_keys(words)),
        content_keys=frozenset(content_keys),
        forms=forms,
        question_keys=frozenset(
            word.key for word in tokenize(question) if word.folded not in stop_words
        ),
    )


def _has_marker(words: Sequence[Token], markers: _Markers) -> bool:
    """Whether a marker that is not harmless stands in some words."""
    if markers.by_first_word.keys().isdisjoint(map(get_folded, words)):
        return False  # the usual case
    return next(_find_markers(words, markers), None) is not None


def _denies(words: Sequence[Token], language: str) -> bool:
    """Whether one of some words denies something."""
    negations = get_word_list("negations", language)
    return any(word.folded in negations for word in words)


# Where a marker stands: in the statement of the unit, or in another one of the same sentence.


def _is_free_of_markers_elsewhere(
    sentence: str, shared_count: int, markers: _Markers, unit: _UnitWords
) -> bool:
    """Whether a statement of a sentence has no marker, and as much of the unit as the whole sentence.

    "The lake is 40 m deep; some believe that a monster lives in it" takes nothing back about the depth.
    """
    statements = _STATEMENT_END.split(sentence)
    if len(statements) == 1:
        return False  # the usual case
    for statement in statements:
        words = tokenize(statement)
        if unit.count_shared(words) == shared_count and not _has_marker(words, markers):
            return True
    return False


def _belongs_to_other_statement(words: Sequence[Token], place: _MarkerPlace, unit: _UnitWords) -> bool:
    """Whether a marker stands in a statement that a sentence adds or inserts, and all that it has of the unit stands outside.

    A statement is added behind a comma and a word such as "and". An insertion stands between two commas, and has a content word
    besides the marker: "The inn, allegedly haunted, has a bar". A condition that is inserted is one of the whole sentence.
    """
    start = place.start
    while start > 0 and not words[start - 1].ends_clause:
        start -= 1
    if start == 0:
        return False  # the marker stands in the first clause
    end = place.end
    while end < len(words) and not words[end - 1].ends_clause:
        end += 1
    shared_count = unit.count_shared(words)
    if words[start].folded in _ADDING_WORDS and unit.count_shared(words[:start]) == shared_count:
        return True
    is_inserted = end < len(words) and place.kind != "condition"
    if not is_inserted or not _has_own_word(words[start : place.start], words[place.end : end]):
        return False
    return unit.count_shared([*words[:start], *words[end:]]) == shared_count


def _is_asked_about(words: Sequence[Token], place: _MarkerPlace, unit: _UnitWords) -> bool:
    """Whether the question names the condition: "What if I lose the key?", "If you lose the key, you pay 20 euros"."""
    other_keys = unit.question_keys - unit.content_keys
    for word in words[place.end :]:
        if word.key in other_keys:
            return True
        if word.ends_clause:
            break
    return False


def _leads_to_instruction(words: Sequence[Token], place: _MarkerPlace, unit: _UnitWords) -> bool:
    """Whether a sentence begins with the condition of an instruction that the unit gives: "If it is cold, raise the curve".

    Who answers with an instruction means the case that the question is about. An instruction begins with its verb, a content word
    in small letters behind the comma; a noun without an article would mostly be a plural: "if it rains, trains stop".
    """
    if place.start > 0:
        return False
    for last_of_condition, first_of_instruction in pairwise(words):
        if last_of_condition.ends_clause:
            verb = first_of_instruction.spelling
            may_be_plural = verb.endswith("s") and not verb.endswith("ss")
            if first_of_instruction.kind != "word" or may_be_plural:
                return False
            is_content = first_of_instruction.key in unit.content_keys
            return is_content and verb == unit.first_word.lower()
    return False


def _has_own_word(words_before: Sequence[Token], words_behind: Sequence[Token]) -> bool:
    """Whether there is a word beside a marker that is no number, no date and not short."""
    words = (*words_before, *words_behind)
    return any(word.kind == "word" and len(word.folded) >= _STEM_LETTERS for word in words)


def _find_in_sentence(
    words: Sequence[Token], markers: _Markers, unit: _UnitWords, language: str
) -> Contradiction | None:
    """Return the first marker of a sentence that takes back a word of the unit, or the sentence."""
    for marker in _find_markers(words, markers):
        if marker.kind == "before":
            reservation = _find_word_taken_back(words, marker, unit, language)
        else:
            reservation = _find_statement_taken_back(words, marker, unit, language)
        if reservation is not None:
            return reservation
    return None


def _find_word_taken_back(
    words: Sequence[Token], place: _MarkerPlace, unit: _UnitWords, language: str
) -> Contradiction | None:
    """Return a word of the unit together with the marker before it; None if the marker takes back no such word."""
    if unit.denies or _ends_other_clause(words, place, language):
        return None
    position = _find_content_word(words, place.end, language)
    if position is None or unit.find_key(words[position]) is None:
        return None
    longest_word = max(words[place.start : place.end], key=lambda word: len(word.folded))
    if longest_word.key in unit.keys:
        return None  # "used to treat" is no contrary of "used in the treatment"
    if _is_stated_elsewhere(words, position, unit):
        return None
    marker_and_word = join_spellings(words[place.start : position + 1])
    return Contradiction("reservation", words[position].spelling, marker_and_word)


def _find_statement_taken_back(
    words: Sequence[Token], place: _MarkerPlace, unit: _UnitWords, language: str
) -> Contradiction | None:
    """Return a marker that takes back a whole sentence; None if it is about something else."""
    marker_text = join_spellings(words[place.start : place.end])
    if place.kind == "until":
        date = _find_date(words, place.end)
        if date is None or date.key in unit.keys or unit.is_past:
            return None
        marker_text += f" {date.spelling}"
    if place.kind == "limit":
        position = _find_content_word(words, place.end, language)
        # "Built only in 1990" says when, and limits nothing.
        if position is None or _YEAR.search(words[position].key) or unit.find_key(words[position]):
            return None
        marker_text += f" {words[position].spelling}"
    if place.kind in {"condition", "limit"} and _is_asked_about(words, place, unit):
        return None
    if place.kind == "condition" and _leads_to_instruction(words, place, unit):
        return None
    if _belongs_to_other_statement(words, place, unit):
        return None
    return Contradiction("reservation", unit.first_word, marker_text)


def _find_date(words: Sequence[Token], start: int) -> Token | None:
    """Return the first year or date behind a word such as "until", in the same clause: until 2019, until it closed in 2019."""
    for position in range(start, min(start + _WORDS_IN_SCOPE, len(words))):
        if _YEAR.search(words[position].key):
            return words[position]
        if words[position].ends_clause:
            return None
    return None


def _ends_other_clause(words: Sequence[Token], place: _MarkerPlace, language: str) -> bool:
    """Whether a marker ends a clause, and takes back nothing of the next: "although the pump failed, the crew saved the ship".

    A marker between two commas is an insertion: "the tower is, perhaps, open". In German, a comma stands before an infinitive.
    """
    is_inserted = place.start > 0 and words[place.start - 1].ends_clause
    ends_clause = words[place.end - 1].ends_clause
    return ends_clause and not is_inserted and base_language(language) != "de"


def _is_stated_elsewhere(words: Sequence[Token], position: int, unit: _UnitWords) -> bool:
    """Whether a word that a marker takes back also stands elsewhere in the sentence, near as many content words of the unit.

    "They tried to date the books, and the papyrus dates from 125": the second "date" is not taken back.
    """
    least_shared = _count_content_near(words, position, unit)
    for other_position, word in enumerate(words):
        if other_position == position or word.key != words[position].key:
            continue
        if _count_content_near(words, other_position, unit) >= least_shared:
            return True
    return False


def _count_content_near(words: Sequence[Token], position: int, unit: _UnitWords) -> int:
    """Count the different content words of the unit near a position."""
    neighbours = words[max(0, position - _WORDS_IN_SCOPE) : position + _WORDS_IN_SCOPE + 1]
    return len({word.key for word in neighbours if word.key in unit.content_keys})


def _find_content_word(words: Sequence[Token], start: int, language: str) -> int | None:
    """Return the position of the first content word at or behind a position, in the same clause; None if there is none."""
    stop_words = get_word_list("stop", language)
    for position in range(start, min(start + _WORDS_IN_SCOPE, len(words))):
        if position > start and words[position - 1].ends_clause:
            return None
        if words[position].folded not in stop_words:
            return position
    return None


def _find_markers(words: Sequence[Token], markers: _Markers) -> Iterator[_MarkerPlace]:
    """Yield the place of each marker. No marker is looked for within a harmless one."""
    next_free = 0  # the first position behind the last marker
    for position, folded in enumerate(map(get_folded, words)):
        if position < next_free:
            continue
        for kind, phrase in markers.by_first_word.get(folded, ()):
            end = position + len(phrase)
            if tuple(map(get_folded, words[position:end])) == phrase:
                next_free = end
                if kind != "harmless":
                    yield _MarkerPlace(kind, position, end)
                break


@lru_cache(maxsize=16)
def _read_markers(language: str) -> _Markers:
    """Read the markers of a language; those of all languages for `_ALL_LANGUAGES`, without words that mean something else in another."""
    lists: Mapping[str, Mapping[str, Sequence[str]]] = LISTS["reservations"]
    left_out: frozenset[str] = frozenset()
    chosen_lists = [lists.get(language, _NO_LISTS)]
    if language == _ALL_LANGUAGES:
        chosen_lists = [*lists.values()]
        left_out = frozenset(map(fold, LISTS["reservations_only_in_their_language"]))
    markers: dict[str, list[_Marker]] = {}
    keys: set[str] = set()
    for phrases_by_kind in chosen_lists:
        for kind, phrases in phrases_by_kind.items():
            for text in phrases:
                if fold(text) in left_out:
                    continue
                words = tokenize(text)
                phrase = tuple(map(get_folded, words))
                markers.setdefault(phrase[0], []).append(_Marker(kind, phrase))
                if kind == "limit":
                    keys.add(words[0].key)
                elif kind != "harmless":
                    keys.add(max(words, key=lambda word: len(word.folded)).key)
    for markers_of_word in markers.values():
        markers_of_word.sort(key=lambda marker: len(marker.phrase), reverse=True)
    return _Markers(markers, frozenset(keys))
