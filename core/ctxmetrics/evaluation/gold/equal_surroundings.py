"""Two texts that are equal around one place: where one has another number or name than the other, or a negation.

A text is compared word by word. Chinese has no blanks between words, so that it is compared character by character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.evaluation.gold.values import find_negations, list_values, may_be_rounded
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.compared_text import ComparedText
from ctxmetrics.judges.evidence.word_forms import LISTS
from ctxmetrics.judges.evidence.words import get_word_list

# The minimum number of equal words beside another name.
_MIN_EQUAL_WORDS_BESIDE_NAME = 4
# With at most this number of equal words beside another number, the words before these show whether both texts have one subject.
_FEW_EQUAL_WORDS = 2
# A name has at most this number of words.
_MAX_NAME_WORDS = 3
# The minimum number of equal characters of two parts of Chinese sentences.
MIN_EQUAL_CHARACTERS = 4
# The numbers of characters of a Chinese name.
_LENGTHS_OF_CHINESE_NAMES = (2, 3)


def _count_equal_after(
    words: Sequence[Token], start: int, others: Sequence[Token], other_start: int
) -> int:
    """Count how many words of two texts are equal, from a position in each on. Nothing is copied, since texts may be long."""
    length = min(len(words) - start, len(others) - other_start)
    for offset in range(length):
        if words[start + offset].key != others[other_start + offset].key:
            return offset
    return max(length, 0)


def _count_equal_before(
    words: Sequence[Token], end: int, others: Sequence[Token], other_end: int
) -> int:
    """Count how many words of two texts are equal, from a position in each backwards."""
    length = min(end, other_end)
    for offset in range(1, length + 1):
        if words[end - offset].key != others[other_end - offset].key:
            return offset - 1
    return length


def find_number_between(
    words: Sequence[Token], place: int, others: Sequence[Token], min_equal: int, language: str
) -> Token | None:
    """Find another number of the same measure that stands between the same words in another text.

    Args:
        words: The words of the text.
        place: The position of the number in them.
        others: The words of the other text.
        min_equal: The minimum number of words on both sides that must be equal. If only one of the numbers ends a clause, the words
            behind it belong to another statement.
        language: The language of both texts.
    """
    number = words[place]
    own_values = list_values([number])
    for other_place, other in enumerate(others):
        is_rival = other.kind == "number" and other.measures == number.measures
        other_values = list_values([other])
        if not is_rival or other_values <= own_values or number.key in other_values:
            continue  # "9 April" says no other day than "9 April 2011", and "half past four" no other time than 16:30
        if may_be_rounded(words, place, other):
            continue
        before = _count_equal_before(words, place, others, other_place)
        after = 0
        if other.ends_clause == number.ends_clause:
            after = _count_equal_after(words, place + 1, others, other_place + 1)
        if before + after < min_equal:
            continue
        starts_differ = before < min(place, other_place)
        if starts_differ and before + after <= _FEW_EQUAL_WORDS:
            words_before = (words[place - before - 1], others[other_place - before - 1])
            if _are_content_words(words_before, language):
                continue  # "the hall costs" and "the sauna costs" are two statements
        return other
    return None


class DeniedWords(NamedTuple):
    """Words of a text around a negation.

    Attributes:
        spelling: The words as a text.
        keys: The keys of the words.
        keys_without_negation: The keys of the words without the negation.
    """

    spelling: str
    keys: Sequence[str]
    keys_without_negation: Sequence[str]


def find_words_without_negation(
    text: ComparedText, other: ComparedText, min_equal: int
) -> DeniedWords | None:
    """Find a negation in a text whose neighbouring words stand in another text without the negation.

    Args:
        text: The text with negations.
        other: The other text.
        min_equal: The minimum number of equal words around the negation.

    Returns:
        The equal words around the first such negation; None if there is no such negation.
    """
    words = text.tokens
    others = other.tokens
    for negation in find_negations(text):
        # The position in the other text where the negation is missing.
        for position in range(1, len(others)):
            count_before = _count_equal_before(words, negation, others, position)
            if not count_before:
                continue
            count_after = _count_equal_after(words, negation + 1, others, position)
            first_equal = negation - count_before
            other_first_equal = position - count_before
            if first_equal and other_first_equal:
                words_before = (words[first_equal - 1], others[other_first_equal - 1])
                if _are_content_words(words_before, text.language):
                    continue  # "Guests may not enter": what staff may do is another statement
            if count_after > 1 and count_before + count_after >= min_equal:
                equal_words = words[negation - count_before : negation + count_after + 1]
                keys = [word.key for word in equal_words]
                return DeniedWords(
                    spelling=" ".join(word.spelling for word in equal_words),
                    keys=keys,
                    keys_without_negation=[*keys[:count_before], *keys[count_before + 1 :]],
                )
    return None


def _are_content_words(words_before: Iterable[Token], language: str) -> bool:
    """Tell whether a content word stands before each of two equal stretches. Then the stretches may have different subjects.

    Args:
        words_before: The last word before the stretch in each text. These words differ.
        language: The language of both texts.
    """
    stop = get_word_list("stop", language)
    return not any(word.ends_clause or word.folded in stop for word in words_before)


def find_runs(words: Sequence[Token], keys: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each sequence of words that have one of certain keys."""
    start = 0
    for has_key, group in groupby(words, key=lambda word: word.key in keys):
        end = start + sum(1 for _ in group)
        if has_key:
            yield start, end
        start = end


def find_name_between(
    words: Sequence[Token],
    name_start: int,
    name_end: int,
    others: Sequence[Token],
    names: frozenset[str],
) -> str:
    """Find the name that another text has between the same words. Return an empty text if there is none.

    Enough of the words beside the name must be equal to show that both texts make one statement: Berg in "The bridge was built by
    Berg in 1902", for the words beside Holm in "the bridge was built by Holm in 1902".

    Args:
        words: The words of the first text.
        name_start: The position of its name.
        name_end: The position behind its name.
        others: The words of the other text.
        names: The keys of the names of the other text.
    """
    ends_statement = name_end == len(words)
    for start in range(1, len(others)):
        count_before = _count_equal_before(words, name_start, others, start)
        if not count_before:
            continue
        name_length = _count_names(others[start : start + _MAX_NAME_WORDS], names)
        name_ends = [*range(start + 1, start + name_length + 1)]
        if ends_statement:  # all its words belong to it
            name_ends = name_ends[-1:]
        for end in name_ends:
            name = others[start:end]
            count_after = _count_equal_after(words, name_end, others, end)
            if not ends_statement and count_after == 0:
                continue
            if ends_statement and name[-1].ends_clause:
                count_after = 1  # that both statements end there counts as an equal word
            if count_before + count_after >= _MIN_EQUAL_WORDS_BESIDE_NAME:
                return " ".join(word.spelling for word in name)
    return ""


def find_name_beside(
    words: Sequence[Token], end: int, others: Sequence[Token], names: frozenset[str]
) -> str:
    """Find the name that another text has beside the same name: Manuel in "Manuel Ortega", instead of Miguel.

    Args:
        words: The words of the text.
        end: The position behind its last word.
        others: The words of the other text.
        names: The keys of the names of the other text.

    Returns:
        The name in the other text. Empty if the name does not stand before a name of both texts, or has no other name in its place.
    """
    if end == len(words) or words[end - 1].ends_clause or words[end].key not in names:
        return ""
    rivals: dict[str, str] = {}
    for before, name in pairwise(others):
        if name.key == words[end].key and before.key in names and not before.ends_clause:
            rivals[before.key] = before.spelling
    if len(rivals) != 1:  # "VA" of several clinics is no name of a person
        return ""
    ((key, spelling),) = rivals.items()
    return "" if any(word.key == key for word in words) else spelling


def _count_names(words: Iterable[Token], names: frozenset[str]) -> int:
    """Count the words at the beginning of a text that are names."""
    return sum(1 for _ in takewhile(lambda word: word.key in names, words))


# --- characters of scripts without blanks ---


@cache
def _read_denying_pattern() -> re.Pattern[str]:
    """Read the pattern of a Chinese character that denies. It is no part of another word (不仅, 不同)."""
    characters = LISTS["denying_characters"]["zh"]
    other_words = [pair for pair in LISTS["harmless_pairs"] if pair[0] in characters]
    return re.compile(f"(?!{'|'.join(other_words)})[{''.join(characters)}]")


def denies(part: str, other: str) -> bool:
    """Tell whether a part of a Chinese sentence has another one without one denying character."""
    undenied, count = _read_denying_pattern().subn("", part, count=1)
    return count == 1 and other in undenied and other not in part


def have_other_name(part: str, gold_part: str, gold: str) -> bool:
    """Tell whether two parts of Chinese sentences are equal but for the name of a person.

    Args:
        part: The part of the sentence.
        gold_part: The part of the gold.
        gold: All parts of the gold. The name of the sentence must not be among them.
    """
    before = _count_equal_characters(part, gold_part)
    after = _count_equal_characters(part[before:][::-1], gold_part[before:][::-1])
    if before + after < MIN_EQUAL_CHARACTERS:
        return False
    (surnames,) = read_data("evaluation.gold", "words.json")["surnames"]
    if min(len(part), len(gold_part)) == before + after:
        return False  # one part only has more characters
    if part[before] not in surnames or gold_part[before] not in surnames:
        return False
    # The end of the given name may be equal in both.
    for length in _LENGTHS_OF_CHINESE_NAMES:
        shared = max(0, length - (len(part) - after - before))
        name = part[before : len(part) - after + shared]
        gold_name = gold_part[before : len(gold_part) - after + shared]
        have_lengths = {len(name), len(gold_name)} <= {*_LENGTHS_OF_CHINESE_NAMES}
        if shared <= after and have_lengths and name not in gold:
            return True
    return False


def _count_equal_characters(text: str, other: str) -> int:
    """Count how many first characters of two texts are equal."""
    pairs = zip(text, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
