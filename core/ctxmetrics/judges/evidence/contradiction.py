"""Whether the evidence for a unit contradicts the unit.

A word count cannot tell "was signed" from "was not signed". This check compares a unit with the sentences that are its
evidence: what one side denies and the other does not, and numbers beside the same word. It knows the
words of its lists only; where they have none for a language, it finds no denial.
The check finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise

from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token, is_named
from ctxmetrics.judges.evidence.compared_text import (
    ComparedText,
    denies_by_characters,
    list_exception_keys,
    read_evidence,
    read_unit,
)
from ctxmetrics.judges.evidence.contrasts import (
    Bound,
    Contradiction,
    Value,
    find_contrary_keys,
    has_converse,
    is_amount,
    read_bound_phrases,
)
from ctxmetrics.judges.evidence.denials import (
    DENIAL_CHECKS,
    list_all_prefixed_contraries,
)
from ctxmetrics.judges.evidence.replaced_words import exchanges_endings, find_other_setting, find_swap
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import (
    find_equal_key,
    get_negation_keys,
    get_word_list,
    list_keys,
    split_date,
    tokenize,
)

# The share of the unit's content words that a sentence must hold to give another number.
_MIN_SHARE_FOR_NUMBER = 0.5
# The kinds of words that are numbers.
_NUMBER_KINDS = frozenset(("number", "count"))
# The share that a sentence must hold to make an exception to the unit.
_MIN_SHARE_FOR_EXCEPTION = 0.65
# The share of the unit's other content words that a quoted sentence must hold, to contradict it without a negation.
_MIN_SHARE_OF_QUOTED = 0.7
# The number of letters of a word that may be a preposition, in a text whose language is open.
_MAX_LETTERS_OF_PREPOSITION = 3
# The number of words of the longest unit whose words may all stand in the evidence, two of them exchanged.
MAX_WORDS_OF_SWAP = 12


def find_contradiction(
    unit: str, evidence: Sequence[str], language: str, *, is_quoted: bool = False
) -> Contradiction | None:
    """Look for words of the evidence that contradict the unit.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence.
        language: ISO 639 code; it chooses the lists.
        is_quoted: Whether a judge quoted the evidence. People quote sentences about a part of a true unit, and without a word such
            as "only". So such a word does not count, and besides negations only a sentence with most of the unit contradicts it.

    Returns:
        The first contradiction found, or None.

    >>> str(find_contradiction("It was built by Maud.", ["It was not built by Queen Maud."], "en"))
    "negation: 'built' against 'not built'"
    >>> str(find_contradiction("You are covered for 2 years.", ["You are covered for 1 year."], "en"))
    "number: '2 years' against '1 year'"
    """
    claim = read_unit(unit, language)
    sentences = read_evidence(evidence, unit, language)
    checks = _ALL_CHECKS
    if is_quoted:
        least_shared = _MIN_SHARE_OF_QUOTED * (claim.content_count - 1)
        is_close = any(text.shared_count >= least_shared for text in sentences)
        checks = _CHECKS_WITHOUT_LIMITS if is_close else DENIAL_CHECKS
    for check in checks:
        for match in check(claim, sentences):
            return match
    return find_other_setting(unit, evidence) if "=" in unit else None


def find_other_value(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for a quantity of a unit for which the evidence has another value, and not the unit's value.

    A day, a month or an ordinal counts only in a sentence that holds most of the unit: a text has many of them.

    >>> str(find_other_value("It opens at 8 am.", ["It opens at 9:30."], "en"))
    "number: '8 am' against '9:30'"
    """
    claim = read_unit(unit, language)
    has_value = any(token.measures or token.kind == "number" for token in claim.tokens)
    if not (claim.values or has_value):
        return None  # the usual case
    sentences = read_evidence(evidence, unit, language)
    checks = (
        _find_other_named_values,
        _find_opposite_bounds,
        _find_contrary_values,
        _find_open_points,
    )
    for check in checks:
        for match in check(claim, sentences):
            return match
    return _find_other_quantity(unit, evidence)


def find_other_name(unit: str, evidence: Sequence[str]) -> Contradiction | None:
    """Look for a name with a number, such as X200, that the evidence has only with another number.

    >>> str(find_other_name("The X200 costs 310 euros.", ["The X210 costs 310 euros."]))
    "name: 'X200' against 'X210'"
    """
    names_of_unit = _find_names(unit)
    if not names_of_unit:
        return None  # the usual case
    names_of_evidence: dict[str, dict[str, str]] = {}
    for text in evidence:
        for name, spellings in _find_names(text).items():
            names_of_evidence.setdefault(name, {}).update(spellings)
    for name, spellings in names_of_unit.items():
        other_spellings = names_of_evidence.get(name)
        if other_spellings and spellings.keys().isdisjoint(other_spellings):
            first_spelling = next(iter(spellings.values()))
            return Contradiction("name", first_spelling, next(iter(other_spellings.values())))
    return None


@lru_cache(maxsize=16)  # a unit is compared with one candidate after the other
def list_contradicting_keys(unit: str, language: str) -> frozenset[str] | None:
    """Return keys (`Token.key`) of which every text that contradicts the unit has at least one; None if any word may do so."""
    claim = read_unit(unit, language)
    # A text without a negation may contradict a unit that has one. Any other value may contradict a value.
    exception_keys = list_exception_keys(language)
    makes_exception = not exception_keys.isdisjoint(claim.keys)
    if claim.negations or makes_exception or denies_by_characters(language) or claim.may_be_turkish:
        return None
    if not get_word_list("limits", language).isdisjoint(token.folded for token in claim.tokens):
        return None
    has_value = any(token.measures or token.kind in _NUMBER_KINDS for token in claim.tokens)
    if has_value or "=" in unit:
        return None
    # A text that exchanges words has no other words than the unit.
    if len(claim.tokens) <= MAX_WORDS_OF_SWAP or claim.pairs or claim.initials:
        return None
    keys = {*get_negation_keys(language), *exception_keys}
    keys |= list_all_prefixed_contraries(claim.content_keys, language)
    for value in claim.values:
        contrary = find_contrary_keys(value.group, value.value)
        if contrary is None:
            return None
        keys |= contrary
    return frozenset(keys)


# Numbers and quantities: another value stands in the same place.


def _find_other_numbers(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers and quantities of the unit that differ in the sentence that shares most words with the unit."""
    for position, token in enumerate(unit.tokens):
        if token.measures:
            yield from _find_other_values(unit, position, evidence)
            yield from _find_exchanged_numbers(unit, position, evidence)
        elif token.kind in _NUMBER_KINDS:
            yield from _find_other_counts(unit, position, evidence)
            yield from _find_exchanged_numbers(unit, position, evidence)
            yield from _find_other_labels(unit, position, evidence)


def _find_other_values(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the values that the evidence has in the place of a quantity of the unit.

    A sentence counts only if it shares more of the unit's other words than any sentence with the unit's value.
    """
    quantity = unit.tokens[position]
    forms = _find_forms(quantity)
    texts_without_value: list[ComparedText] = []
    # Of the texts with the unit's value: the highest number of other words that a text shares with the unit.
    most_shared_with_value = 0
    least_shared = _MIN_SHARE_FOR_NUMBER * (unit.content_count - 1)
    for text in evidence:
        has_value = not forms.isdisjoint(text.keys) or quantity.measures in text.opposites
        if has_value:
            most_shared_with_value = max(most_shared_with_value, text.shared_count - 1)
        else:
            texts_without_value.append(text)
    for text in texts_without_value:
        if text.shared_count <= most_shared_with_value or text.shared_count < least_shared:
            continue
        for token in text.tokens:
            if _is_rival(token, quantity) and token.key not in unit.keys:
                yield Contradiction("number", quantity.spelling, token.spelling)


def _find_other_named_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the values that the evidence has instead of a day, a month or an ordinal of the unit."""
    for position, token in enumerate(unit.tokens):
        if is_named(token):
            yield from _find_other_values(unit, position, evidence)


def _find_other_quantity(unit: str, evidence: Sequence[str]) -> Contradiction | None:
    """Look for a quantity of a unit for which all evidence has only another value."""
    quantities = [token for token in tokenize(unit) if token.measures and not is_named(token)]
    evidence_tokens: list[Token] = []
    for text in evidence:
        evidence_tokens += tokenize(text)
    evidence_keys = frozenset(list_keys(evidence_tokens))
    # The measures of the unit's quantities that the evidence also has.
    stated_measures = set()
    for quantity in quantities:
        if not evidence_keys.isdisjoint(_find_forms(quantity)):
            stated_measures.add(quantity.measures)
    keys_of_unit = {quantity.key for quantity in quantities}
    for quantity in quantities:
        if quantity.measures in stated_measures:
            continue
        for token in evidence_tokens:
            if token.key not in keys_of_unit and _is_rival(token, quantity):
                return Contradiction("number", quantity.spelling, token.spelling)
    return None


def _find_forms(quantity: Token) -> frozenset[str]:
    """Return all keys of a quantity under which a text may have it.

    A text may write a date without its year, three times as three, half as 50 %, and 48 hours as two days.
    """
    equal_key = find_equal_key(quantity.key)
    if equal_key:
        return frozenset((quantity.key, equal_key))
    year, forms, _ = split_date(quantity.key)
    return frozenset((quantity.key, *forms)) if year else frozenset((quantity.key,))


_ANY_DIGIT = re.compile(r"\d")
_HALF_DAY = 12  # hours
# The measure of "twice" is "times", the measure of "half" is "fraction". Both say how many times.
_MULTIPLE_KINDS = frozenset(("times", "fraction"))
# A number with one letter: 17q
_NUMBER_WITH_LETTER = re.compile(r"(\d+)[a-z]")


def _have_other_letter(token: Token, quantity: Token) -> bool:
    """Whether two numbers with a letter differ in the letter only: 17q, 17p."""
    match = _NUMBER_WITH_LETTER.fullmatch(token.key)
    other = _NUMBER_WITH_LETTER.fullmatch(quantity.key)
    return match is not None and other is not None and match[1] == other[1]


# Bases of units that measure the same and do not convert: months and days, metres and feet.
_BASES_OF_ONE_MEASURE = (
    frozenset(("s", "day", "month")),
    frozenset(("m", "in")),
    frozenset(("g", "oz", "ton")),
    frozenset(("m2", "sq ft", "sq mi", "acre")),
)


def _have_other_unit(token: Token, quantity: Token) -> bool:
    """Whether two amounts have the same number, with units of the same measure that do not convert: 3 months, 3 weeks."""
    bases = {token.measures, quantity.measures}
    if not any(bases <= group for group in _BASES_OF_ONE_MEASURE):
        return False
    numbers = [part for part in token.parts if part.endswith("~")]
    return any(number in quantity.parts for number in numbers)


# 1:10 may be a ratio, and is read as a time; 10:1 is a ratio.
_RATIO_OR_TIME = frozenset(("ratio", "time"))
_COLON_FORM = re.compile(r"\d{1,2}:\d{1,2}")


def _is_rival(token: Token, quantity: Token) -> bool:
    """Whether a word is another value of the same measure as a quantity, in the same form."""
    if token.key == quantity.key:
        return False
    opposite = OPPOSITES.get(quantity.measures)
    if opposite is not None:
        return token.measures == opposite
    if token.measures != quantity.measures:
        kinds = {token.measures, quantity.measures}
        are_ratios = kinds == _RATIO_OR_TIME and all(
            _COLON_FORM.fullmatch(word.spelling) for word in (token, quantity)
        )
        has_other_form = _have_other_letter(token, quantity) or _have_other_unit(token, quantity)
        return are_ratios or kinds <= _MULTIPLE_KINDS or has_other_form
    is_range = ".." in token.key or token.measures == "range"
    is_range_in_unit = ".." in quantity.key or quantity.measures == "range"
    if is_range != is_range_in_unit:
        return False
    if quantity.measures == "time":
        return not _may_be_same_time(token, quantity)
    return quantity.measures != "date" or _is_rival_date(token, quantity)


def _may_be_same_time(token: Token, time: Token) -> bool:
    """Whether one of two times is in words, which may mean either half of the day, and the other one is 12 hours away."""
    if _ANY_DIGIT.search(token.spelling) and _ANY_DIGIT.search(time.spelling):
        return False
    hours = (token.key[:2], time.key[:2])
    if not all(hour.isdecimal() for hour in hours) or token.key[2:] != time.key[2:]:
        return False
    hour, other_hour = sorted(map(int, hours))
    return hour > 0 and other_hour == hour + _HALF_DAY  # noon is not midnight


def _is_rival_date(token: Token, date: Token) -> bool:
    """Whether a date, or a part of it, has the form of another date: both are days, months or years."""
    shape = _ANY_DIGIT.sub("0", date.key)
    is_day_instead_of_month = len(token.key) == len("2024-05-12") and shape == "0000-00"
    if is_day_instead_of_month:
        return False
    return any(_ANY_DIGIT.sub("0", key) == shape for key in (token.key, *token.parts))


# Numbers that count a word or stand behind it: 3 cats, port 80.


def _find_other_counts(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the other numbers that the evidence has before the same word: 3 cats, 4 cats."""
    token = unit.tokens[position]
    if not unit.counts_next_word(position):
        return
    noun = unit.tokens[position + 1]
    # Of the texts with the same number and noun: the highest number of other words that a text shares with the unit.
    most_shared_with_number = 0
    texts_without_number: list[ComparedText] = []
    for text in evidence:
        if token.key not in text.keys:
            texts_without_number.append(text)
        elif noun.key in text.keys:
            most_shared_with_number = max(most_shared_with_number, text.shared_count - 1)
    least_shared = _MIN_SHARE_FOR_NUMBER * unit.content_count
    for text in texts_without_number:
        if text.shared_count <= most_shared_with_number or text.shared_count < least_shared:
            continue
        for noun_position in text.find_key(noun.key):
            if noun_position == 0:
                continue  # no word stands before it
            number = text.tokens[noun_position - 1]
            is_one = number.kind == "count" and not number.measures
            is_other = number.kind == "number" or is_one or number.measures == "several"
            if is_other and not number.ends_clause and number.key not in unit.keys:
                number_and_noun = text.spell(noun_position - 1, noun_position)
                yield Contradiction("number", unit.spell(position, position + 1), number_and_noun)


# The maximum number of different numbers before one word. A text with more is a table or a list, which exchanges none.
_MAX_NUMBERS_BEFORE_WORD = 8


def _find_exchanged_numbers(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers that the evidence exchanged with another number of the unit: 3 cats and 2 dogs, 2 cats and 3 dogs."""
    token = unit.tokens[position]
    if token.kind != "number" or len(unit.counting_numbers) == 1 or not unit.counts_next_word(position):
        return  # the usual case
    noun = unit.tokens[position + 1]
    if any(token.key in text.numbers_before.get(noun.key, {}) for text in evidence):
        return
    for text in evidence:
        if text.shared_count < _MIN_SHARE_FOR_NUMBER * unit.content_count:
            continue
        positions_by_number = text.numbers_before.get(noun.key, {})
        is_list = len(positions_by_number) > _MAX_NUMBERS_BEFORE_WORD
        if is_list or token.key not in text.keys:
            continue
        for number, text_position in positions_by_number.items():
            has_same_measure = text.tokens[text_position].measures == token.measures
            if has_same_measure and number in unit.counting_numbers:
                number_and_noun = text.spell(text_position, text_position + 1)
                yield Contradiction("number", unit.spell(position, position + 1), number_and_noun)


def _find_other_labels(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the other numbers that the evidence has behind the same word, if they count nothing: port 80, chapter 3."""
    token = unit.tokens[position]
    is_first_word = position == 0
    if token.kind != "number" or is_first_word or unit.counts_next_word(position):
        return
    noun = unit.tokens[position - 1]
    if noun.ends_clause or noun.kind != "word" or not unit.is_content[position - 1]:
        return
    if any(token.key in text.numbers_behind.get(noun.key, {}) for text in evidence):
        return
    # The number may stand apart from its word ("2 in the first game and 3 in the final"), unless two numbers are exchanged.
    is_apart = any(token.key in text.uncounted_numbers for text in evidence)
    if is_apart and not any(_are_exchanged(unit, position, text) for text in evidence):
        return
    for text in evidence:
        if text.shared_count < _MIN_SHARE_FOR_NUMBER * unit.content_count:
            continue
        for number, text_position in text.numbers_behind.get(noun.key, {}).items():
            is_in_unit = number in unit.numbers_behind.get(noun.key, {})
            if text.is_uncounted_whole(text_position) and not is_in_unit:
                noun_and_number = text.spell(text_position - 1, text_position)
                yield Contradiction("number", unit.spell(position - 1, position), noun_and_number)


def _are_exchanged(unit: ComparedText, position: int, text: ComparedText) -> bool:
    """Whether a text exchanges the numbers of two words of the unit: it has each number behind the other word."""
    number = unit.tokens[position].key
    noun = unit.tokens[position - 1].key
    numbers_in_text = text.numbers_behind.get(noun, {})
    for other_noun, other_numbers in unit.numbers_behind.items():
        is_behind_other_noun = number in text.numbers_behind.get(other_noun, {})
        if is_behind_other_noun and not other_numbers.keys().isdisjoint(numbers_in_text):
            return True
    return False


# Names with a number: X200, COVID-19.


_NAME_WITH_NUMBER = re.compile(r"([^\W\d_]+)\d+")


def _find_names(text: str) -> Mapping[str, Mapping[str, str]]:
    """Return the spellings of the names with numbers of a text (X200, COVID-19), by the key of the word and of the whole name."""
    names: dict[str, dict[str, str]] = {}
    words = tokenize(text)
    for word, number in pairwise(words):
        if number.kind != "number" or word.ends_clause:
            continue
        match = _NAME_WITH_NUMBER.fullmatch(number.key)
        is_version = word.folded == "v"  # the number behind the v has a key of its own: V60, v2.3
        if is_version or (match and match[1] == word.key):
            spelling = word.spelling + number.spelling
            names.setdefault(word.key, {}).setdefault(number.key, spelling)
    return names


# Contrary phrases: at least and at most, all and some.


# The beginnings of bounds that do not include their number: "more than 50" is not 50. They count if all other words are shared.
_EXCLUDING_BOUNDS = (
    *("more than", "fewer than", "less than", "mehr als", "weniger als", "plus de", "moins de"),
    *("más de", "menos de", "più di", "meno di", "mais de", "meer dan", "minder dan"),
    *("więcej niż", "mniej niż", "более", "менее"),
)


def _find_opposite_bounds(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers that are a minimum in the unit and a maximum in all evidence, or a maximum and a minimum."""
    for position, token in enumerate(unit.tokens):
        is_number = token.kind == "number" and is_amount(token)
        if not is_number or not any(token.key in text.keys for text in evidence):
            continue
        phrases = read_bound_phrases()
        bound = phrases.find(unit.tokens, position)
        if bound is None:
            continue  # the usual case
        places = [(text, place) for text in evidence for place in text.find_key(token.key)]
        evidence_bounds: list[Bound] = []
        for text, place in places:
            evidence_bound = phrases.find(text.tokens, place)
            if evidence_bound is not None:
                evidence_bounds.append(evidence_bound)
        if not evidence_bounds:
            is_excluding = bound.spelling.lower().startswith(_EXCLUDING_BOUNDS)
            if is_excluding and _have_plain_number(places, evidence, unit):
                yield Contradiction("number", bound.spelling, token.spelling)
            continue
        if all(evidence_bound.is_least != bound.is_least for evidence_bound in evidence_bounds):
            yield Contradiction("number", bound.spelling, evidence_bounds[0].spelling)


def _have_plain_number(
    places: Sequence[tuple[ComparedText, int]], evidence: Sequence[ComparedText], unit: ComparedText
) -> bool:
    """Whether the evidence has all words of the unit but one, and no word of its own beside the number.

    Such evidence is "50 people came" where the unit says "more than 50 people came".
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


def _find_contrary_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the phrases for which the evidence has a contrary phrase about the same word: all seats, some seats.

    If the unit says both ("the left heart and the right heart"), neither counts: the evidence may be about one of them.
    """
    # Only a text that holds most of the unit contradicts one of its phrases.
    least_shared = _MIN_SHARE_FOR_NUMBER * unit.content_count
    close_texts = [text for text in evidence if text.shared_count >= least_shared]
    if not close_texts or not unit.values:
        return
    for value in dict.fromkeys(unit.values):
        contrary_keys = find_contrary_keys(value.group, value.value)
        if contrary_keys is not None:
            texts = [text for text in close_texts if not contrary_keys.isdisjoint(text.keys)]
            if not texts:
                continue  # the usual case
        contrary = _find_contrary_value(unit, value, close_texts)
        if contrary is None:
            continue
        if not any(_has_value(text, value) for text in evidence):
            yield Contradiction("number", value.spelling, contrary.spelling)


def _find_contrary_value(
    unit: ComparedText, value: Value, texts: Sequence[ComparedText]
) -> Value | None:
    """Find a value in some texts that is contrary to a value of the unit, is about the same word, and is not in the unit, too."""
    for text in texts:
        for word in _list_words_of_value(value):
            for other in text.values_by_word.get((value.group, word), {}).values():
                is_contrary = other.contradicts(value) and not _states_about(unit, other, word)
                if is_contrary and not _is_converse(unit, value, text, other):
                    return other
    return None


def _is_converse(unit: ComparedText, value: Value, text: ComparedText, contrary: Value) -> bool:
    """Whether a text says what the unit says with the contrary word and exchanged names: Ann is older than Ben, Ben is younger than Ann.

    Two words of the clause are exchanged, and one of them has another role: another preposition before it or another ending. A
    phrase that only moves keeps its preposition: "In the final Graz won", "Graz lost in the final".
    """
    is_comparison = unit.compares and text.compares
    has_places = value.position >= 0 and contrary.position >= 0
    if not has_places or not (is_comparison or has_converse(value.group)):
        return False
    unit_places = unit.list_single_places_in_clause(value.position)
    text_places = text.list_single_places_in_clause(contrary.position)
    shared_keys = [key for key in unit_places if key in text_places]
    if unit.has_open_language:
        shared_keys = [
            key for key in shared_keys if not _may_be_preposition(unit.tokens[unit_places[key]])
        ]
    unit_roles = [unit_places[key] for key in shared_keys] + value.list_positions()
    text_roles = [text_places[key] for key in shared_keys] + contrary.list_positions()
    for first, second in combinations(shared_keys, 2):
        if text_places[first] < text_places[second]:
            continue
        for key in (first, second):
            role_in_unit = unit.find_role(unit_places[key], unit_roles)
            if role_in_unit != text.find_role(text_places[key], text_roles):
                return True
    return False


def _may_be_preposition(word: Token) -> bool:
    """Whether a word may be a preposition of an unknown language: it is short and in small letters."""
    return len(word.spelling) <= _MAX_LETTERS_OF_PREPOSITION and word.spelling.islower()


def _states_converse(unit: ComparedText, text: ComparedText) -> bool:
    """Whether a text has a contrary word and exchanged names, which together say the same as the unit."""
    for value in unit.values:
        for word in _list_words_of_value(value):
            for other in text.values_by_word.get((value.group, word), {}).values():
                if other.contradicts(value) and _is_converse(unit, value, text, other):
                    return True
    return False


def _states_about(unit: ComparedText, value: Value, word: str) -> bool:
    """Whether the unit has the same value about a word."""
    return any(
        own_value.group == value.group and own_value.value == value.value and word in own_value.beside
        for own_value in unit.values
    )


def _list_words_of_value(value: Value) -> Collection[str]:
    """List the words that a value is about, as `ComparedText.values_by_word` has them: an empty text if there are none."""
    return value.beside or ("",)


def _has_value(text: ComparedText, value: Value) -> bool:
    """Whether a text has the same value about one of the same words."""
    return any(
        value.value in text.values_by_word.get((value.group, word), {})
        for word in _list_words_of_value(value)
    )


# Exceptions and limits that one side lacks: except in winter, only members.


def _find_exceptions(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield an exception that only one side makes: every day, every day except in winter."""
    least_shared = _MIN_SHARE_FOR_EXCEPTION * unit.content_count
    close_texts = [text for text in evidence if text.shared_count >= least_shared]
    exceptions = [text.exception for text in close_texts if text.exception is not None]
    if unit.exception is not None:
        if close_texts and not exceptions:
            yield Contradiction("reservation", unit.exception.phrase, "")
        return
    is_in_each_text = len(exceptions) == len(close_texts)
    if exceptions and is_in_each_text and not exceptions[0].leaves(unit.tokens):
        yield Contradiction("reservation", unit.tokens[0].spelling, exceptions[0].phrase)


def _find_lost_limits(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield a word such as "only" that no sentence of the evidence has: only members may vote, members and guests may vote."""
    limits = get_word_list("limits", unit.language)
    limit_positions = [position for position, token in enumerate(unit.tokens) if token.folded in limits]
    if not limit_positions:
        return
    position = limit_positions[0]
    if position - 1 in unit.negations:  # "not only" limits nothing
        return
    all_limits = limits | get_word_list("other_limits", unit.language)
    for text in evidence:
        # "No one but members" is a limit, too.
        if text.negations or any(token.folded in all_limits for token in text.tokens):
            return
    yield Contradiction("reservation", unit.spell(position, position), "")


# Two words or values in exchanged places: Anna beat Bernd, Bernd beat Anna.


def _find_exchanged_words(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield two words of the unit that the evidence has in the other order: Anna beat Bernd, Bernd beat Anna."""
    for pair, spelling in unit.pairs.items():
        texts = [text for text in evidence if pair.first in text.keys and pair.second in text.keys]
        if not texts or any(pair in text.pairs for text in texts):
            continue
        exchanged_pair = pair.exchange()
        for text in texts:
            if exchanged_pair in text.pairs and not _states_converse(unit, text):
                yield Contradiction("name", spelling, text.pairs[exchanged_pair])
    if len(unit.tokens) > MAX_WORDS_OF_SWAP:
        return
    for text in evidence:
        has_all_words = text.shared_count == len(unit.content_keys)
        swap = find_swap(unit.tokens, text.tokens, unit.language) if has_all_words else None
        if swap is not None:
            yield Contradiction("name", unit.spell(*swap), text.spell(*swap))
        elif exchanges_endings(unit.tokens, text.tokens, unit.language):
            last = len(unit.tokens) - 1
            yield Contradiction("name", unit.spell(0, last), text.spell(0, len(text.tokens) - 1))


def _find_other_initials(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the initials that the evidence has otherwise between the same names: George W. Bush, George H. W. Bush."""
    for names, initials in unit.initials.items():
        others = [text.initials[names] for text in evidence if names in text.initials]
        if others and initials not in others:
            yield Contradiction("name", " ".join(initials).upper(), " ".join(others[0]).upper())


def _find_exchanged_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield two values of the unit that the evidence exchanges: "born in 1975, died in 2003", "born in 2003, died in 1975".

    The other words keep their order. If they are in another order as well, as in "died in 2003, born in 1975", nothing is exchanged.
    """
    value_positions = [
        position
        for position, token in enumerate(unit.tokens)
        if token.measures or token.kind == "number"
    ]
    if len(value_positions) == 1:
        return
    positions_by_kind: dict[str, list[int]] = {}
    for position in value_positions:
        positions_by_kind.setdefault(unit.tokens[position].measures, []).append(position)
    for positions in positions_by_kind.values():
        for first, second in pairwise(positions):
            keys = (unit.tokens[first].key, unit.tokens[second].key)
            if any(_have_order(text, keys) for text in evidence):
                continue
            for text in evidence:
                if _are_values_exchanged(unit, text, keys):
                    positions_in_text = [text.single_places[key] for key in keys]
                    exchanged_values = text.spell(*positions_in_text)
                    yield Contradiction("number", unit.spell(first, second), exchanged_values)


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
        numbers = [place for place, token in enumerate(text.tokens) if token.key in keys]
        if numbers:
            last = len(unit.tokens) - 1
            yield Contradiction("number", unit.spell(0, last), text.spell(numbers[0], numbers[-1]))


# An English number with a point and three digits behind it: 12.400 may be 12.4 or 12,400.
_POINT_AND_THREE_DIGITS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}\.\d{3}(?![\d.,])")


def _find_open_points(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield an amount that one side writes with a point of thousands, which English has not, and the other without: 12.400 mg, 12400 mg."""
    if not unit.measured_tokens or base_language(unit.language) != "en" or unit.has_open_language:
        return
    for token in unit.measured_tokens:
        is_open = _POINT_AND_THREE_DIGITS.search(token.spelling) is not None
        spellings = [
            text.tokens[place].spelling for text in evidence for place in text.find_key(token.key)
        ]
        other_spellings = [
            spelling
            for spelling in spellings
            if (_POINT_AND_THREE_DIGITS.search(spelling) is not None) is not is_open
        ]
        if spellings and len(other_spellings) == len(spellings):
            yield Contradiction("number", token.spelling, spellings[0])


def _have_order(text: ComparedText, keys: tuple[str, str]) -> bool:
    """Whether a text has the first of two values before the second."""
    first_places = text.find_key(keys[0])
    second_places = text.find_key(keys[1])
    return bool(first_places and second_places) and first_places[0] < second_places[-1]


def _are_values_exchanged(unit: ComparedText, text: ComparedText, keys: tuple[str, str]) -> bool:
    """Whether a text has two values of the unit in the other order, and all words that it shares with the unit in the same order.

    At least one of these words stands between the values, on both sides: "in 2019 and 2020" is a list, whose order means nothing.
    """
    unit_places = unit.single_places
    text_places = text.single_places
    first, second = keys
    stand_once_in_unit = first in unit_places and second in unit_places
    stand_once_in_text = first in text_places and second in text_places
    if not (stand_once_in_unit and stand_once_in_text):
        return False
    if text.shared_count < _MIN_SHARE_FOR_NUMBER * unit.content_count:
        return False
    shared = [key for key in unit_places if key in text_places and key not in keys]
    keeps_order = shared == sorted(shared, key=text_places.__getitem__)
    if not keeps_order:
        return False
    for key in shared:
        is_between_in_unit = unit_places[first] < unit_places[key] < unit_places[second]
        is_between_in_text = text_places[second] < text_places[key] < text_places[first]
        if is_between_in_unit and is_between_in_text:
            return True
    return False


_Check = Callable[[ComparedText, Sequence[ComparedText]], Iterator[Contradiction]]
# The checks of `find_contradiction`, in their order: the first contradiction found is the one that is shown.
_CHECKS_WITHOUT_LIMITS: Sequence[_Check] = (
    *DENIAL_CHECKS,
    _find_other_numbers,
    _find_opposite_bounds,
    _find_contrary_values,
    _find_exceptions,
    _find_exchanged_words,
    _find_other_initials,
    _find_exchanged_values,
    _find_other_order,
    _find_open_points,
)
_ALL_CHECKS: Sequence[_Check] = (*_CHECKS_WITHOUT_LIMITS, _find_lost_limits)
