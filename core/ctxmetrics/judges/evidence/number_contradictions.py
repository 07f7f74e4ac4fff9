"""Finds numbers and values of a unit for which the evidence has another number or value.

Each check takes the unit and the sentences of its evidence, and yields the numbers of the unit that the evidence contradicts.
`NUMBER_CHECKS` lists the checks in the order in which they are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token, is_named
from ctxmetrics.judges.evidence.compared_text import ComparedText, list_close
from ctxmetrics.judges.evidence.contrasts import Contradiction, is_amount, read_bound_phrases
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import (
    find_equal_key,
    get_word_list,
    list_keys,
    split_date,
    tokenize,
)

# The kinds of words that are numbers (`Token.kind`).
NUMBER_KINDS = frozenset(("number", "count"))
# The share of the unit's content words that a sentence must hold to contradict a number.
MIN_SHARE_FOR_NUMBER = 0.5
_HALF_DAY = 12  # hours

_ANY_DIGIT = re.compile(r"\d")
# A number with one letter: 17q
_NUMBER_WITH_LETTER = re.compile(r"(\d+)[a-z]")
# A ratio such as 1:10 may be read as a time, but 10:1 is read as a ratio.
_COLON_FORM = re.compile(r"\d{1,2}:\d{1,2}")
_RATIO_OR_TIME = frozenset(("ratio", "time"))
# The measure of "twice" is "times", the measure of "half" is "fraction". Both say how many times.
_MULTIPLE_KINDS = frozenset(("times", "fraction"))
# Groups of measures (`Token.measures`) of the same thing whose units are not converted: months and days, metres and feet.
_MEASURES_OF_ONE_THING = (
    frozenset(("s", "day", "month")),
    frozenset(("m", "in")),
    frozenset(("g", "oz", "ton")),
    frozenset(("m2", "sq ft", "sq mi", "acre")),
)
# An English number with a point and three digits behind it: 12.400 may be 12.4 or 12,400.
_POINT_AND_THREE_DIGITS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")
# The beginnings of bounds that exclude their number: "more than 50" is not 50.
_EXCLUDING_BOUNDS = (
    *("more than", "fewer than", "less than", "mehr als", "weniger als", "plus de", "moins de"),
    *("más de", "menos de", "più di", "meno di", "mais de", "meer dan", "minder dan"),
    *("więcej niż", "mniej niż", "более", "менее"),
)


# --- another value of a quantity: 2 years, 1 year ---------------------------------------------------------------------


def find_other_values(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield the values that the evidence has in the place of a quantity of the unit: 2 years, 1 year."""
    for position, token in enumerate(unit.tokens):
        if token.measures:
            yield from _find_other_value(unit, position, evidence)


def find_other_named_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the values that the evidence has in the place of a day, a month or an ordinal of the unit."""
    for position, token in enumerate(unit.tokens):
        if is_named(token):
            yield from _find_other_value(unit, position, evidence)


def find_other_quantity(unit: str, evidence: Sequence[str]) -> Contradiction | None:
    """Look for a quantity in the judged unit, such as 5 kg, for which the evidence has another value and not this one.

    The other words of the sentences do not matter.

    Days, months and ordinals do not count: a text has many of them. The texts are read without the corrections of
    `ComparedText`.
    """
    quantities = [token for token in tokenize(unit) if token.measures and not is_named(token)]
    if not quantities:
        return None
    evidence_tokens = [token for text in evidence for token in tokenize(text)]
    evidence_keys = frozenset(list_keys(evidence_tokens))
    keys_of_unit = {quantity.key for quantity in quantities}
    stated_measures = {
        quantity.measures for quantity in quantities if _holds_value(evidence_keys, quantity)
    }
    for quantity in quantities:
        if quantity.measures in stated_measures:
            continue
        for token in evidence_tokens:
            if token.key not in keys_of_unit and _is_other_value(token, quantity):
                return Contradiction("number", quantity.spelling, token.spelling)
    return None


def _find_other_value(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the values that the evidence has in the place of the quantity at a position of the unit."""
    quantity = unit.tokens[position]
    texts_with_value = [
        text
        for text in evidence
        if _holds_value(text.keys, quantity) or quantity.measures in text.opposites
    ]
    close_texts = list_close(unit, evidence, MIN_SHARE_FOR_NUMBER, uncounted_words=1)
    for text in _list_closer(close_texts, texts_with_value):
        for token in text.tokens:
            if token.key not in unit.keys and _is_other_value(token, quantity):
                yield Contradiction("number", quantity.spelling, token.spelling)


def _list_closer(
    close_texts: Sequence[ComparedText], texts_with_value: Sequence[ComparedText]
) -> list[ComparedText]:
    """List the close texts that share more of the unit's other words than any text with the unit's value."""
    most_shared = max((text.shared_count - 1 for text in texts_with_value), default=0)
    return [
        text for text in close_texts if text.shared_count > most_shared and text not in texts_with_value
    ]


def _holds_value(keys: frozenset[str], quantity: Token) -> bool:
    """Tell whether a text with these keys has the value of a quantity, perhaps in another form.

    A text may write a date without its year, three times as three, half as 50 %, and 48 hours as two days.
    """
    if quantity.key in keys:
        return True
    equal_key = find_equal_key(quantity.key)
    if equal_key:
        return equal_key in keys
    _, keys_without_year, _ = split_date(quantity.key)
    return not keys.isdisjoint(keys_without_year)


def _is_other_value(token: Token, quantity: Token) -> bool:
    """Whether a word has another value than a quantity for the same measure, in the same form."""
    if token.key == quantity.key:
        return False
    opposite = OPPOSITES.get(quantity.measures)
    if opposite is not None:
        return token.measures == opposite
    if token.measures != quantity.measures:
        return _have_comparable_measures(token, quantity)
    if _is_range(token) != _is_range(quantity):
        return False
    if quantity.measures == "time":
        return not _may_be_same_time(token, quantity)
    return quantity.measures != "date" or _is_date_of_same_form(token, quantity)


def _is_range(token: Token) -> bool:
    """Whether a quantity is a range: 5 to 10."""
    return ".." in token.key or token.measures == "range"


def _have_comparable_measures(token: Token, quantity: Token) -> bool:
    """Whether two quantities with different measures say different things: 3:1 and 1:3, twice and half, 3 months and 3 weeks."""
    measures = {token.measures, quantity.measures}
    if measures == _RATIO_OR_TIME:
        return all(_COLON_FORM.fullmatch(word.spelling) for word in (token, quantity))
    if measures <= _MULTIPLE_KINDS:
        return True
    match = _NUMBER_WITH_LETTER.fullmatch(token.key)
    match_of_quantity = _NUMBER_WITH_LETTER.fullmatch(quantity.key)
    if match and match_of_quantity:  # 17q, 17p
        return match[1] == match_of_quantity[1]
    if not any(measures <= measures_of_thing for measures_of_thing in _MEASURES_OF_ONE_THING):
        return False
    # Without a conversion, two units certainly differ only behind the same number.
    return any(part in quantity.parts for part in token.parts if part.endswith("~"))


def _may_be_same_time(token: Token, time: Token) -> bool:
    """Whether one of two times is in words, which may mean either half of the day, and the other one is 12 hours away."""
    if _ANY_DIGIT.search(token.spelling) and _ANY_DIGIT.search(time.spelling):
        return False
    hours = (token.key[:2], time.key[:2])
    if not all(hour.isdecimal() for hour in hours) or token.key[2:] != time.key[2:]:
        return False
    hour, other_hour = sorted(map(int, hours))
    return hour > 0 and other_hour == hour + _HALF_DAY  # noon is not midnight


def _is_date_of_same_form(token: Token, date: Token) -> bool:
    """Whether a date, or a part of it, has the form of another date: both are days, months or years."""
    form = _ANY_DIGIT.sub("0", date.key)
    is_day_instead_of_month = len(token.key) == len("2024-05-12") and form == "0000-00"
    if is_day_instead_of_month:
        return False
    return any(_ANY_DIGIT.sub("0", key) == form for key in (token.key, *token.parts))


# --- another number before a word (3 cats, 4 cats) or behind it (port 80) ---------------------------------------------


def _find_other_counts(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield the other numbers that the evidence has before the same word: 3 cats, 4 cats."""
    for position, number in enumerate(unit.tokens):
        is_plain_number = number.kind in NUMBER_KINDS and not number.measures
        if not is_plain_number or not unit.counts_next_word(position):
            continue
        noun = unit.tokens[position + 1]
        texts_with_number = [text for text in evidence if {number.key, noun.key} <= text.keys]
        close_texts = list_close(unit, evidence, MIN_SHARE_FOR_NUMBER)
        for text in _list_closer(close_texts, texts_with_number):
            for noun_position in text.find_key(noun.key):
                if noun_position == 0:
                    continue  # no word stands before the noun
                other_number = text.tokens[noun_position - 1]
                if _may_be_count(other_number) and other_number.key not in unit.keys:
                    spelling = text.spell(noun_position - 1, noun_position)
                    yield Contradiction("number", unit.spell(position, position + 1), spelling)


def _may_be_count(word: Token) -> bool:
    """Whether a word may say how many there are of the word behind it: 4, one, several."""
    if word.ends_clause:
        return False
    is_one = word.kind == "count" and not word.measures
    return is_one or word.kind == "number" or word.measures == "several"


def _find_exchanged_counts(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers that the evidence exchanges with another number of the unit: 3 cats and 2 dogs, 2 cats and 3 dogs."""
    if len(unit.counting_numbers) <= 1:
        return  # the usual case
    close_texts = list_close(unit, evidence, MIN_SHARE_FOR_NUMBER)
    for position in filter(unit.counts_next_word, unit.number_positions):
        number, noun = unit.tokens[position : position + 2]
        if any(number.key in text.numbers_before.get(noun.key, {}) for text in evidence):
            continue
        for text in close_texts:
            positions_by_number = text.numbers_before.get(noun.key, {})
            if number.key not in text.keys:
                continue
            # The number stands in the text too, but before another word.
            for other_number, text_position in positions_by_number.items():
                has_same_measure = text.tokens[text_position].measures == number.measures
                if has_same_measure and other_number in unit.counting_numbers:
                    spelling = text.spell(text_position, text_position + 1)
                    yield Contradiction("number", unit.spell(position, position + 1), spelling)


def _find_other_labels(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield the other numbers that the evidence has behind the same word, if they count nothing: port 80, chapter 3."""
    for position in unit.number_positions:
        is_first_word = position == 0
        if is_first_word or unit.tokens[position].measures or unit.counts_next_word(position):
            continue
        noun, number = unit.tokens[position - 1 : position + 1]
        if noun.ends_clause or noun.kind != "word" or not unit.is_content[position - 1]:
            continue
        if any(number.key in text.numbers_behind.get(noun.key, {}) for text in evidence):
            continue
        # The number may stand apart from its word: "2 in the first game and 3 in the final".
        if any(number.key in text.uncounted_numbers for text in evidence):
            continue
        for text in list_close(unit, evidence, MIN_SHARE_FOR_NUMBER):
            for other_number, text_position in text.numbers_behind.get(noun.key, {}).items():
                is_in_unit = other_number in unit.numbers_behind.get(noun.key, {})
                if text.stands_alone(text_position) and not is_in_unit:
                    spelling = text.spell(text_position - 1, text_position)
                    yield Contradiction("number", unit.spell(position - 1, position), spelling)


# --- another bound: at least 5, at most 5 -----------------------------------------------------------------------------


def find_opposite_bounds(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers that are a minimum in the unit and a maximum in all evidence, or a maximum and a minimum."""
    for position, number in enumerate(unit.tokens):
        if not is_amount(number):
            continue
        phrases = read_bound_phrases()
        bound = phrases.find(unit.tokens, position)
        if bound is None:
            continue  # the usual case
        places = [(text, place) for text in evidence for place in text.find_key(number.key)]
        bounds_of_places = [phrases.find(text.tokens, place) for text, place in places]
        evidence_bounds = [other for other in bounds_of_places if other is not None]
        if not evidence_bounds:
            is_excluding = bound.spelling.lower().startswith(_EXCLUDING_BOUNDS)
            if is_excluding and places and _have_plain_number(places, evidence, unit):
                yield Contradiction("number", bound.spelling, number.spelling)
        elif all(other.is_least != bound.is_least for other in evidence_bounds):
            yield Contradiction("number", bound.spelling, evidence_bounds[0].spelling)


def _have_plain_number(
    places: Sequence[tuple[ComparedText, int]], evidence: Sequence[ComparedText], unit: ComparedText
) -> bool:
    """Whether the evidence has all words of the unit but one, and no word of its own beside the number.

    Such evidence is "50 people came" where the unit says "more than 50 people came".

    Args:
        places: The places of the number: a text of the evidence, and a position in it.
        evidence: The sentences of the evidence.
        unit: The unit.
    """
    most_shared = max(text.shared_count for text in evidence)
    if most_shared < len(unit.content_keys) - 1:
        return False
    return not any(_has_own_word_beside(text, place, unit) for text, place in places)


def _has_own_word_beside(text: ComparedText, position: int, unit: ComparedText) -> bool:
    """Whether one of the two words before a number, or the word behind it, is not in the unit.

    Such a word may make the number inexact: in excess of 50, a good 50, 50-odd.
    """
    limits = get_word_list("limits", text.language)
    for neighbour in range(max(0, position - 2), min(position + 2, len(text.tokens))):
        word = text.tokens[neighbour]
        is_known = word.key in unit.keys or word.folded in limits
        if word.kind == "word" and text.is_content[neighbour] and not is_known:
            return True
    return False


# --- another order of the same values ---------------------------------------------------------------------------------


def find_exchanged_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield two values of the unit that the evidence exchanges: "born in 1975, died in 2003", "born in 2003, died in 1975".

    The other words keep their order. If they are in another order as well, as in "died in 2003, born in 1975", nothing is exchanged.
    """
    positions_by_measure: dict[str, list[int]] = {}
    for position, token in enumerate(unit.tokens):
        if token.measures or token.kind in NUMBER_KINDS:
            positions_by_measure.setdefault(token.measures, []).append(position)
    for positions in positions_by_measure.values():
        for first, second in pairwise(positions):
            keys = (unit.tokens[first].key, unit.tokens[second].key)
            if any(_have_order(text, keys) for text in evidence):
                continue
            for text in list_close(unit, evidence, MIN_SHARE_FOR_NUMBER):
                if _are_values_exchanged(unit, text, keys):
                    exchanged_values = text.spell(*(text.single_positions[key] for key in keys))
                    yield Contradiction("number", unit.spell(first, second), exchanged_values)


def _have_order(text: ComparedText, keys: tuple[str, str]) -> bool:
    """Whether a text has the first of two values before the second."""
    first_positions = text.find_key(keys[0])
    second_positions = text.find_key(keys[1])
    return bool(first_positions and second_positions) and first_positions[0] < second_positions[-1]


def _are_values_exchanged(unit: ComparedText, text: ComparedText, keys: tuple[str, str]) -> bool:
    """Whether a text has two values of the unit in the other order, and all words that it shares with the unit in the same order.

    At least one of these words stands between the values, on both sides: "in 2019 and 2020" is a list, whose order means nothing.
    """
    unit_positions = unit.single_positions
    text_positions = text.single_positions
    if not (unit_positions.keys() >= {*keys} and text_positions.keys() >= {*keys}):
        return False
    first, second = keys
    shared = [key for key in unit_positions if key in text_positions and key not in keys]
    keeps_order = shared == sorted(shared, key=text_positions.__getitem__)
    if not keeps_order:
        return False
    for key in shared:
        is_between_in_unit = unit_positions[first] < unit_positions[key] < unit_positions[second]
        is_between_in_text = text_positions[second] < text_positions[key] < text_positions[first]
        if is_between_in_unit and is_between_in_text:
            return True
    return False


def _find_other_order(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield the numbers of a unit that is nothing but numbers, if the evidence has them in another order: [1, 2, 3], [3, 2, 1]."""
    if not unit.holds_only_numbers:
        return  # the usual case
    keys = [token.key for token in unit.tokens]
    texts = [text for text in evidence if text.keys.issuperset(keys)]
    for text in texts:
        remaining_keys = iter([token.key for token in text.tokens])
        if all(key in remaining_keys for key in keys):  # each key stands behind the one before it
            return
    for text in texts:
        places = [place for place, token in enumerate(text.tokens) if token.key in keys]
        if places:
            last = len(unit.tokens) - 1
            yield Contradiction("number", unit.spell(0, last), text.spell(places[0], places[-1]))


# --- a point that one side has only -----------------------------------------------------------------------------------


def find_open_points(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield an amount that only one side writes with a point before three digits: 12.400 mg, 12400 mg.

    In an English text it is unclear whether such a point separates thousands.
    """
    if not unit.measured_tokens or base_language(unit.language) != "en" or unit.lacks_stop_words:
        return
    for token in unit.measured_tokens:
        has_point = _has_open_point(token.spelling)
        spellings = [
            text.tokens[place].spelling for text in evidence for place in text.find_key(token.key)
        ]
        if spellings and all(_has_open_point(spelling) is not has_point for spelling in spellings):
            yield Contradiction("number", token.spelling, spellings[0])


def _has_open_point(spelling: str) -> bool:
    """Whether a number is written with a point that may separate thousands."""
    return _POINT_AND_THREE_DIGITS.search(spelling) is not None


NUMBER_CHECKS: Sequence[Callable[[ComparedText, Sequence[ComparedText]], Iterator[Contradiction]]] = (
    find_other_values,
    _find_other_counts,
    _find_exchanged_counts,
    _find_other_labels,
    find_opposite_bounds,
    find_exchanged_values,
    _find_other_order,
    find_open_points,
)
