"""What changes a statement if it is replaced: numbers, names, negations and opposites."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.judges.evidence.words import get_word_list

# The kinds of words that are numbers.
NUMBERS = frozenset({"number", "count"})
# More names than these in a sentence are a list, and no answer.
MOST_NAMES = 3
# What a number measures that holds years and days.
_HOLDS_DATES = frozenset({"date", "range"})
_YEAR = re.compile(r"1\d{3}|20\d{2}")
# A day of a month, as the parts of a date name it.
_DAY = re.compile(r"--\d\d-\d\d")


def list_values(words: Iterable[Token]) -> frozenset[str]:
    """List the keys of the numbers among some words, and of what they hold: a date holds its year, and its day and month."""
    values: set[str] = set()
    for word in words:
        if word.kind == "number":
            values.add(word.key)
            values.update(part for part in word.parts if part.isdecimal() or _DAY.fullmatch(part))
    return frozenset(values)


def list_missing(number: Token, values: frozenset[str]) -> frozenset[str]:
    """List what values lack of a number: its key, of a date or a range its years and days; empty if they have it."""
    own_values = list_values([number])
    if number.key in values:
        return frozenset()
    if number.measures in _HOLDS_DATES:
        return frozenset(value for value in own_values - values if _is_day_or_year(value))
    return frozenset([number.key]) if own_values.isdisjoint(values) else frozenset()


def find_rival(number: Token, words: Iterable[Token], excluded: Container[str]) -> Token | None:
    """Find a number of the same measure that may stand in the place of a number; a year has no rival but another year.

    Args:
        number: The number.
        words: The words among which the other one is looked for.
        excluded: The keys of numbers that are no rivals.
    """
    for word in words:
        if word.kind != "number" or word.key in excluded or word.key == number.key:
            continue
        if word.measures == number.measures and _is_year(word.key) == _is_year(number.key):
            return word
    return None


def find_rival_of_missing(
    number: Token, missing: frozenset[str], words: Iterable[Token], excluded: frozenset[str]
) -> Token | None:
    """Find what stands in the place of what is missing of a number: of a date another day, or another year.

    Args:
        number: The number.
        missing: What is missing, as `list_missing` has it; not empty.
        words: The words among which it is looked for.
        excluded: The keys of numbers that are no rivals.
    """
    if number.measures not in _HOLDS_DATES:
        return find_rival(number, words, excluded)
    for word in words:
        for value in list_values([word]) - excluded:
            is_other_day = _DAY.fullmatch(value) and any(map(_DAY.fullmatch, missing))
            is_other_year = _is_year(value) and any(map(_is_year, missing))
            if is_other_day or is_other_year:
                return word
    return None


def has_other_number(words: Sequence[Token], others: Sequence[Token]) -> bool:
    """Tell whether a text has a number that another one lacks, which has another one of its kind in its place."""
    own_values = list_values(words)
    other_values = list_values(others)
    missing = [word for word in words if word.kind == "number" and word.key not in other_values]
    return any(find_rival(word, others, own_values) is not None for word in missing)


def has_more_numbers(words: Sequence[Token], others: Sequence[Token]) -> bool:
    """Tell whether one of two texts has a number that the other one lacks."""
    return list_values(words) != list_values(others)


def find_names(words: Iterable[Token]) -> frozenset[str]:
    """Find the keys of the names: capitalised words within a sentence that the text has nowhere in small letters."""
    names: set[str] = set()
    in_small_letters: set[str] = set()
    begins_sentence = True
    for word in words:
        if word.kind in NUMBERS or any(map(str.isdigit, word.spelling)):
            pass
        elif not word.spelling[:1].isupper():
            in_small_letters.add(word.key)
        elif not begins_sentence:
            names.add(word.key)
        begins_sentence = word.ends_clause
    return frozenset(names - in_small_letters)


def find_telling(words: Sequence[Token], language: str) -> frozenset[str]:
    """Find the keys of the words that change what a text states: numbers, words with a digit, names, and negations."""
    denying = get_word_list("negations", language)
    telling: set[str] = set()
    for word in words:
        is_number = word.kind in NUMBERS or any(map(str.isdigit, word.spelling))
        if is_number or word.folded in denying:
            telling.add(word.key)
    return find_names(words) | telling


def spell(words: Iterable[Token], keys: frozenset[str]) -> str:
    """Spell the words of a text that have certain keys."""
    return " ".join(word.spelling for word in words if word.key in keys)


def have_opposites(words: Iterable[Token], others: Iterable[Token]) -> bool:
    """Tell whether one of some words is the opposite of one of others."""
    other_names = {word.measures for word in others}
    return any(OPPOSITES.get(word.measures) in other_names for word in words)


def find_listed_opposites(
    words: Sequence[Token], others: Sequence[Token]
) -> tuple[Token, Token] | None:
    """Find the word of a text that another text has the opposite of; None if there is none, or several.

    Args:
        words: The words of the text.
        others: The words of the other text.
    """
    opposites = _read_opposites()
    words_by_spelling = {word.folded: word for word in words}
    others_by_spelling = {word.folded: word for word in others}
    pairs = [
        (word, others_by_spelling[opposite])
        for spelling, word in words_by_spelling.items()
        for opposite in opposites.get(spelling, ())
        if opposite in others_by_spelling
        and opposite not in words_by_spelling
        and spelling not in others_by_spelling
    ]
    return pairs[0] if len(pairs) == 1 else None


@cache
def _read_opposites() -> Mapping[str, Sequence[str]]:
    """Read the opposites of each word that has some."""
    opposites: dict[str, list[str]] = {}
    for pair in read_data("evaluation.gold", "words.json")["opposites"]:
        first, second = map(fold, pair)
        opposites.setdefault(first, []).append(second)
        opposites.setdefault(second, []).append(first)
    return opposites


def has_initials(name: str, other: str) -> bool:
    """Tell whether one of two names is made of the first letters of the other one: USA and United States."""
    for short, long in ((name, other), (other, name)):
        initials = "".join(word[0] for word in long.split() if word[:1].isupper())
        is_short = short.isupper() and " " not in short and len(initials) > 1
        if is_short and (short.startswith(initials) or initials.startswith(short)):
            return True
    return False


def _is_day_or_year(value: str) -> bool:
    """Tell whether a value is a day of a month, or may be a year."""
    return _DAY.fullmatch(value) is not None or _is_year(value)


def _is_year(key: str) -> bool:
    """Tell whether a number may be a year."""
    return _YEAR.fullmatch(key) is not None
