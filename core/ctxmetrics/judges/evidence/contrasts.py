"""Words that say the contrary of each other: all and some, before and after, above and below, rose and fell.

The phrases stand in ``contrasts.json``, in groups of values. Most count only beside the same word: "all seats" is no "some seats",
but says nothing about "some doors". Two letters behind the same number are such values too: section 4(b) is not section 4(c).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.words import Token, read_phrase

# Words without content that may stand between a phrase and its word.
_MOST_SKIPPED = 3
# What "both" is the contrary of.
BOTH = "both and a number"
_LETTER = "letter behind a number"
_LATIN = frozenset(("bis", "ter", "quater"))


class Value(NamedTuple):
    """A phrase of a text, and the words beside it.

    Attributes:
        group: The name of its group.
        value: Which value of the group it is.
        beside: The keys of the words that it is about; empty where that may be any word.
        spelling: The phrase.
    """

    group: str
    value: str
    beside: frozenset[str]
    spelling: str

    def contradicts(self, other: Value) -> bool:
        """Whether two phrases about the same word have two values of a group."""
        if self.group != other.group or not self.is_beside(other):
            return False
        return _are_contrary(self.group, self.value, other.value)

    def is_beside(self, other: Value) -> bool:
        """Whether two phrases are about the same word."""
        return self.beside == other.beside or not self.beside.isdisjoint(other.beside)


class _Phrase(NamedTuple):
    """A phrase of the lists.

    Attributes:
        words: Its words, without case; of Cyrillic words their stems.
        group: The name of its group.
        value: Which value of the group it is.
        place: Where the word stands that it is about: ``behind``, ``before``, ``around`` or ``anywhere``.
        first_key: The key of its first word.
    """

    words: tuple[str, ...]
    group: str
    value: str
    place: str
    first_key: str


@lru_cache(maxsize=1)
def _read_groups() -> Sequence[Mapping[str, Any]]:
    groups: Sequence[Mapping[str, Any]] = read_data("judges.evidence", "contrasts.json")["groups"]
    return groups


@lru_cache(maxsize=1024)
def _are_contrary(group: str, value: str, other: str) -> bool:
    """Whether two values of a group say the contrary of each other; some and many do not."""
    alike = next((one.get("alike", ()) for one in _read_groups() if one["name"] == group), ())
    return value != other and not (value in alike and other in alike)


def _get_form(token: Token) -> str:
    """Return a word as it is compared: Cyrillic words have too many endings to list."""
    return token.key if "\u0400" <= token.folded[:1] <= "\u052f" else token.folded


@lru_cache(maxsize=1)
def _read_phrases() -> Mapping[str, Sequence[_Phrase]]:
    """Read the phrases on first use, by their first word, the longest first."""
    phrases: dict[str, list[_Phrase]] = {}
    for group in _read_groups():
        for value, spellings in group["values"].items():
            for spelling in spellings:
                words = read_phrase(spelling)
                forms = tuple(map(_get_form, words))
                phrase = _Phrase(forms, group["name"], value, group["beside"], words[0].key)
                phrases.setdefault(forms[0], []).append(phrase)
    for candidates in phrases.values():
        candidates.sort(key=lambda phrase: len(phrase.words), reverse=True)
    return phrases


def find_values(words: Sequence[Token], is_content: Sequence[bool]) -> list[Value]:
    """Find the phrases of a text that have a contrary.

    Args:
        words: The words of the text.
        is_content: Whether each of them is a content word.

    >>> from ctxmetrics.judges.evidence.words import tokens
    >>> [(one.value, *one.beside) for one in find_values(tokens("All seats fell."), [False, True, True])]
    [('all', 'seat'), ('down',)]
    """
    phrases = _read_phrases()
    forms = [*map(_get_form, words)]
    values = [*_find_letters(words)]
    if phrases.keys().isdisjoint(forms):
        return values
    next_free: dict[str, int] = {}  # by group: "second largest" is not "largest"
    for start, word in enumerate(forms):
        for phrase in phrases.get(word, ()):
            end = start + len(phrase.words)
            if start < next_free.get(phrase.group, 0) or tuple(forms[start:end]) != phrase.words:
                continue
            next_free[phrase.group] = end
            beside = _find_beside(words, start, end, phrase.place, is_content)
            if beside or phrase.place == "anywhere":
                spelling = " ".join(token.spelling for token in words[start:end])
                values.append(Value(phrase.group, phrase.value, beside, spelling))
    return values


@lru_cache(maxsize=256)
def find_contrary_keys(group: str, value: str) -> frozenset[str] | None:
    """Return the keys of which a text with a contrary value holds one; None where any number or letter may be one."""
    if group in {BOTH, _LETTER}:
        return None
    return frozenset(
        phrase.first_key
        for phrases in _read_phrases().values()
        for phrase in phrases
        if phrase.group == group and _are_contrary(group, phrase.value, value)
    )


def find_numbers(words: Sequence[Token]) -> Iterator[Value]:
    """Yield the plain numbers before a word, as values that "both" is the contrary of."""
    for position, word in enumerate(words[:-1]):
        if word.kind == "number" and not word.measures and not word.ends:
            value = "both" if word.key == "2" else word.key
            yield Value(BOTH, value, frozenset((words[position + 1].key,)), word.spelling)


def _find_letters(words: Sequence[Token]) -> Iterator[Value]:
    """Yield the single letters behind a number, and the Latin words that are used like them."""
    for position, word in enumerate(words[1:], 1):
        before = words[position - 1]
        is_letter = word.folded in _LATIN or (len(word.folded) == 1 and word.kind == "word")
        if is_letter and before.kind == "number" and not before.ends:
            yield Value(_LETTER, word.folded, frozenset((before.key,)), word.spelling)


def _overlap(first: Token, second: Token) -> bool:
    """Whether two pairs of characters share the one in the middle."""
    is_pair = first.kind == "characters" and second.kind == "characters"
    return is_pair and first.spelling[-1] == second.spelling[0]


def _find_beside(
    words: Sequence[Token], start: int, end: int, place: str, is_content: Sequence[bool]
) -> frozenset[str]:
    """Return the keys of the words that a phrase is about."""
    keys = []
    if place in {"behind", "around"} and not words[end - 1].ends:
        first = end + 1 if end < len(words) and _overlap(words[end - 1], words[end]) else end
        last = min(len(words), first + _MOST_SKIPPED + 1)
        for position in range(first, last):
            if is_content[position]:
                keys.append(words[position].key)
            if is_content[position] or words[position].ends:
                break
    if place in {"before", "around"}:
        first = start - 2 if start and _overlap(words[start - 1], words[start]) else start - 1
        for position in range(first, max(-1, first - _MOST_SKIPPED - 1), -1):
            if words[position].ends:
                break
            if is_content[position]:
                keys.append(words[position].key)
                break
    return frozenset(keys)
