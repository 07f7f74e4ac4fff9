"""Whether the evidence for a unit takes back what it says, without a "not": it failed to, it may, until 2019, reportedly.

The words are lists by language. A sentence counts only where it holds nearly all of the unit: there the words belong to what
the unit states. Measured by `benchmarks/validity/doubts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.contradiction import Contradiction
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_word_list, tokenize

# The share of the unit's content words that the sentence holds.
_NEARLY_ALL = 0.7
# Words behind a marker among which the word is looked for that it takes back.
_SCOPE = 6
_YEAR = re.compile(r"(?:1\d|20)\d\d")
_NO_LISTS: Mapping[str, Sequence[str]] = {}


def find_reservation(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for what takes back the evidence for a unit.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence. One that states as much of the unit without a reservation counts.
        language: ISO 639 code; it chooses the lists.

    >>> str(find_reservation("It reached the coast.", ["It failed to reach the coast."], "en"))
    "reservation: 'reach' against 'failed to reach'"
    """
    markers = _read_markers(base_language(language))
    if not markers or not any(next(_find_markers(tokenize(text), markers), None) for text in evidence):
        return None  # the usual case
    claim = tokenize(unit)
    if next(_find_markers(claim, markers), None) or _denies(claim, language):
        return None
    stop = get_word_list("stop", language)
    content = {word.key for word in claim if word.folded not in stop and word.kind != "character"}
    free = 0
    reserved: list[tuple[int, Contradiction]] = []
    for text in evidence:
        words = tokenize(text)
        keys = {key for word in words for key in (word.key, *word.parts)}
        shared = len(content & keys)
        if shared < _NEARLY_ALL * len(content):
            continue
        match = _find_match(words, markers, claim, content, language)
        if match is None:
            free = max(free, shared)
        else:
            reserved.append((shared, match))
    for shared, match in reserved:
        if shared > free:
            return match
    return None


def _denies(words: Sequence[Token], language: str) -> bool:
    denying = get_word_list("negations", language)
    return any(word.folded in denying for word in words)


def _find_match(
    words: Sequence[Token],
    markers: Mapping[str, Collection[tuple[str, tuple[str, ...]]]],
    claim: Sequence[Token],
    content: Collection[str],
    language: str,
) -> Contradiction | None:
    """Return the first marker of a sentence that takes back a word of the unit, or the sentence."""
    keys_of_claim = {key for word in claim for key in (word.key, *word.parts)}
    for kind, start, end in _find_markers(words, markers):
        marker_text = " ".join(word.spelling for word in words[start:end])
        following = words[end : end + _SCOPE]
        if kind == "anywhere":
            return Contradiction("reservation", claim[0].spelling, marker_text)
        if kind == "until":
            date = next((word for word in following[:2] if _YEAR.search(word.key)), None)
            if date is not None and date.key not in keys_of_claim:
                return Contradiction("reservation", claim[0].spelling, f"{marker_text} {date.spelling}")
            continue
        position = _find_content(words, end, language)
        if (
            position is not None
            and words[position].key in content
            and not _is_stated_elsewhere(words, position, content)
        ):
            against = " ".join(word.spelling for word in words[start : position + 1])
            return Contradiction("reservation", words[position].spelling, against)
    return None


def _is_stated_elsewhere(words: Sequence[Token], position: int, content: Collection[str]) -> bool:
    """Whether a word that a marker takes back stands elsewhere, near at least as many content words of the unit.

    "They tried to date the books, and the papyrus dates from 125": the second "date" states it.
    """
    key = words[position].key
    least_shared = _count_near(words, position, content)
    return any(
        word.key == key
        and other_position != position
        and _count_near(words, other_position, content) >= least_shared
        for other_position, word in enumerate(words)
    )


def _count_near(words: Sequence[Token], position: int, content: Collection[str]) -> int:
    neighbours = words[max(0, position - _SCOPE) : position + _SCOPE + 1]
    return len({word.key for word in neighbours if word.key in content})


def _find_content(words: Sequence[Token], start: int, language: str) -> int | None:
    """Return the position of the first content word from one on, in the same clause."""
    stop = get_word_list("stop", language)
    for position in range(start, min(start + _SCOPE, len(words))):
        if position > start and words[position - 1].ends_clause:
            return None
        if words[position].folded not in stop:
            return position
    return None


def _find_markers(
    words: Sequence[Token], markers: Mapping[str, Collection[tuple[str, tuple[str, ...]]]]
) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the first position and the end of each marker; within a harmless marker no other one is looked for."""
    position = 0
    while position < len(words):
        kind, end = _longest_marker(words, position, markers)
        if kind not in ("", "harmless"):
            yield kind, position, end
        position = end


def _longest_marker(
    words: Sequence[Token],
    position: int,
    markers: Mapping[str, Collection[tuple[str, tuple[str, ...]]]],
) -> tuple[str, int]:
    for kind, phrase in markers.get(words[position].folded, ()):
        end = position + len(phrase)
        if tuple(word.folded for word in words[position:end]) == phrase:
            return kind, end
    return "", position + 1


@lru_cache(maxsize=16)
def _read_markers(language: str) -> Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]:
    """Return the markers of a language with their kinds, by their first word; the longest first."""
    by_first: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for kind, phrases in LISTS["reservations"].get(language, _NO_LISTS).items():
        for text in phrases:
            phrase = tuple(word.folded for word in tokenize(text))
            by_first.setdefault(phrase[0], []).append((kind, phrase))
    for same_first in by_first.values():
        same_first.sort(key=lambda marker: len(marker[1]), reverse=True)
    return by_first
