"""Two texts that are equal around one place: what stands there in the other text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxmetrics.evaluation.gold.equal_surroundings import (
    find_name_between,
    find_number_between,
    find_words_without_negation,
)
from ctxmetrics.evaluation.gold.passages import read_compared, read_words
from ctxmetrics.judges.evidence.chunks import Token

NUMBERS = [
    ("It has 12 seats on deck.", "It has 14 seats on deck.", "14"),
    ("It has 12 seats on deck.", "It has 12 seats on deck.", None),
    ("It has 12 seats on deck.", "A crew of 14 sleeps in it.", None),
    ("It has about 10 seats on deck.", "It has 12 seats on deck.", None),
    ("It opens on 9 April 2011 at noon.", "It opens on 9 April at noon.", None),
    ("It opens on 9 April 2011 at noon.", "It opens on 10 April at noon.", "10 April"),
    ("Tickets cost 12 and more for groups.", "Cars cost 14. And more for groups.", None),
]


@pytest.mark.parametrize(("text", "gold", "rival"), NUMBERS)
def test_number_between_the_same_words(text: str, gold: str, rival: str | None) -> None:
    words = read_words(text)
    (place,) = [place for place, word in enumerate(words) if word.kind == "number"]
    found = find_number_between(words, place, read_words(gold), 3, "en")
    assert (None if found is None else found.spelling) == rival


@pytest.mark.parametrize(
    ("gold", "rival"),
    [
        ("The sauna costs 15 euros and has ten seats.", None),
        ("Today the hall costs 15 euros and a smile.", "15 euros"),
        ("It costs 15 euros and a smile.", "15 euros"),
    ],
)
def test_number_between_few_words_of_another_subject(gold: str, rival: str | None) -> None:
    words = read_words("The hall costs 40 euros and more on Sundays.")
    (place,) = [place for place, word in enumerate(words) if word.kind == "number"]
    found = find_number_between(words, place, read_words(gold), 2, "en")
    assert (None if found is None else found.spelling) == rival


class Uncopied(Sequence[Token]):
    """Words of which no part can be taken as a copy."""

    def __init__(self, words: Sequence[Token]) -> None:
        self._words = words

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, place: int) -> Token:  # type: ignore[override]  # a slice would be a copy, which fails the test
        assert isinstance(place, int)
        return self._words[place]


def test_long_gold_is_not_copied_for_each_number() -> None:
    """A table has thousands of numbers of the same measure."""
    words = read_words("The total is 12 of all rows.")
    (place,) = [place for place, word in enumerate(words) if word.kind == "number"]
    table = Uncopied(read_words(" ".join(f"row value {number}" for number in range(100, 200))))
    assert find_number_between(words, place, table, 3, "en") is None


def test_name_between_the_same_words() -> None:
    words = read_words("The bridge was built by Holm in 1902.")
    gold = read_words("In short, the bridge was built by Berg in 1902.")
    start = [word.spelling for word in words].index("Holm")
    names = frozenset(word.key for word in gold if word.spelling == "Berg")
    assert find_name_between(words, start, start + 1, gold, names) == "Berg"


NEGATIONS = [
    ("Visitors may not enter the hall.", "Visitors may enter the hall.", True),
    ("Guests may not enter the hall.", "Staff may enter the hall.", False),
]


@pytest.mark.parametrize(("text", "gold", "denies"), NEGATIONS)
def test_negation_between_the_same_words(text: str, gold: str, denies: bool) -> None:
    found = find_words_without_negation(read_compared(text, "en"), read_compared(gold, "en"), 4)
    assert (found is not None) == denies
