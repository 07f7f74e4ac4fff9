"""Whether the evidence for a unit takes back what it says, without a "not": it failed to, it may, until 2019, reportedly.

The words are lists by language. A sentence counts only where it holds nearly all of the unit: there the words belong to what
the unit states. Measured by `benchmarks/validity/doubts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_word_list, list_keys, tokenize

# The share of the unit's content words that the sentence holds at least.
_MIN_SHARED_WORD_SHARE = 0.7
# The number of words behind a marker among which the word is looked for that the marker takes back.
_WORDS_IN_SCOPE = 6
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_NO_LISTS: Mapping[str, Sequence[str]] = {}


class _Marker(NamedTuple):
    """Words that take back what a sentence says, such as "failed to".

    Attributes:
        kind: ``anywhere``: the words take back the whole sentence. ``until``: the words take back the sentence if a year follows.
            ``harmless``: the words take back nothing. Any other kind: the words take back the word behind them.
        phrase: The words, folded.
    """

    kind: str
    phrase: tuple[str, ...]


# The markers of a language by their first word; the longest first.
_Markers: TypeAlias = Mapping[str, Sequence[_Marker]]


def find_reservation(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for words that take back the evidence for a unit.

    A reservation does not count if another sentence states as much of the unit without a reservation.

    Args:
        unit: The unit.
        evidence: The sentences that hold the evidence for the unit.
        language: ISO 639 code; it chooses the lists.

    >>> str(find_reservation("It reached the coast.", ["It failed to reach the coast."], "en"))
    "reservation: 'reach' against 'failed to reach'"
    """
    markers = _read_markers(base_language(language))
    if not any(_has_marker(tokenize(text), markers) for text in evidence):
        return None  # the usual case
    unit_words = tokenize(unit)
    if _has_marker(unit_words, markers) or _denies(unit_words, language):
        return None
    stop_words = get_word_list("stop", language)
    content_keys = {
        word.key for word in unit_words if word.kind != "character" and word.folded not in stop_words
    }
    # The highest number of the unit's content words in a sentence without a reservation.
    most_shared_without_reservation = 0
    # Each reservation, with the number of the unit's content words in its sentence.
    reservations: list[tuple[int, Contradiction]] = []
    for text in evidence:
        words = tokenize(text)
        shared_count = len(content_keys.intersection(list_keys(words)))
        if shared_count < _MIN_SHARED_WORD_SHARE * len(content_keys):
            continue
        reservation = _find_in_sentence(words, markers, unit_words, content_keys, language)
        if reservation is None:
            most_shared_without_reservation = max(most_shared_without_reservation, shared_count)
        else:
            reservations.append((shared_count, reservation))
    for shared_count, reservation in reservations:
        if shared_count > most_shared_without_reservation:
            return reservation
    return None


def _has_marker(words: Sequence[Token], markers: _Markers) -> bool:
    """Whether a marker that is not harmless stands in some words."""
    return next(_find_markers(words, markers), None) is not None


def _denies(words: Sequence[Token], language: str) -> bool:
    """Whether one of some words denies something."""
    negations = get_word_list("negations", language)
    return any(word.folded in negations for word in words)


def _find_in_sentence(
    words: Sequence[Token],
    markers: _Markers,
    unit_words: Sequence[Token],
    content_keys: Collection[str],
    language: str,
) -> Contradiction | None:
    """Return the first marker of a sentence that takes back a word of the unit, or the sentence."""
    unit_keys = frozenset(list_keys(unit_words))
    first_word_of_unit = unit_words[0].spelling
    for kind, start, end in _find_markers(words, markers):
        marker_text = _spell(words[start:end])
        if kind == "anywhere":
            return Contradiction("reservation", first_word_of_unit, marker_text)
        if kind == "until":
            dates = [word for word in words[end : end + 2] if _YEAR.search(word.key)]
            if dates and dates[0].key not in unit_keys:
                marker_and_year = f"{marker_text} {dates[0].spelling}"
                return Contradiction("reservation", first_word_of_unit, marker_and_year)
            continue
        position = _find_content_word(words, end, language)
        if position is None or words[position].key not in content_keys:
            continue
        if not _is_stated_elsewhere(words, position, content_keys):
            marker_and_word = _spell(words[start : position + 1])
            return Contradiction("reservation", words[position].spelling, marker_and_word)
    return None


def _spell(words: Sequence[Token]) -> str:
    """Return words as the text writes them."""
    return " ".join(word.spelling for word in words)


def _is_stated_elsewhere(words: Sequence[Token], position: int, content_keys: Collection[str]) -> bool:
    """Whether a word that a marker takes back also stands elsewhere in the sentence, near as many content words of the unit.

    "They tried to date the books, and the papyrus dates from 125": the second "date" is not taken back.
    """
    least_shared = _count_content_near(words, position, content_keys)
    for other_position, word in enumerate(words):
        if other_position == position or word.key != words[position].key:
            continue
        if _count_content_near(words, other_position, content_keys) >= least_shared:
            return True
    return False


def _count_content_near(words: Sequence[Token], position: int, content_keys: Collection[str]) -> int:
    """Count the different content words of the unit near a position."""
    neighbours = words[max(0, position - _WORDS_IN_SCOPE) : position + _WORDS_IN_SCOPE + 1]
    return len({word.key for word in neighbours if word.key in content_keys})


def _find_content_word(words: Sequence[Token], start: int, language: str) -> int | None:
    """Return the position of the first content word at or behind a position, in the same clause; None if there is none."""
    stop_words = get_word_list("stop", language)
    for position in range(start, min(start + _WORDS_IN_SCOPE, len(words))):
        if position > start and words[position - 1].ends_clause:
            return None
        if words[position].folded not in stop_words:
            return position
    return None


def _find_markers(words: Sequence[Token], markers: _Markers) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the first position and the end of each marker. No marker is looked for within a harmless one."""
    position = 0
    while position < len(words):
        kind, end = _find_longest_marker(words, position, markers)
        if kind not in ("", "harmless"):
            yield kind, position, end
        position = end


def _find_longest_marker(
    words: Sequence[Token],
    position: int,
    markers: _Markers,
) -> tuple[str, int]:
    """Return the kind and the end of the longest marker at a position. Without a marker: an empty kind and the next position."""
    for kind, phrase in markers.get(words[position].folded, ()):
        end = position + len(phrase)
        if tuple(word.folded for word in words[position:end]) == phrase:
            return kind, end
    return "", position + 1


@lru_cache(maxsize=16)
def _read_markers(language: str) -> _Markers:
    """Read the markers of a language."""
    markers: dict[str, list[_Marker]] = {}
    for kind, phrases in LISTS["reservations"].get(language, _NO_LISTS).items():
        for text in phrases:
            phrase = tuple(word.folded for word in tokenize(text))
            markers.setdefault(phrase[0], []).append(_Marker(kind, phrase))
    for markers_of_word in markers.values():
        markers_of_word.sort(key=lambda marker: len(marker.phrase), reverse=True)
    return markers
