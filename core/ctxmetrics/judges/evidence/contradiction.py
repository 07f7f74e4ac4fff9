"""Whether the evidence for a unit contradicts the unit.

A word count cannot tell "was signed" from "was not signed". This check compares a unit with the sentences that are its
evidence: what one side denies and the other does not, and numbers beside the same word. It knows the
words of its lists only; where they have none for a language, it finds no denial.
The check finds reasons to doubt a yes, and never turns a no into a yes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise

from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token, is_named
from ctxmetrics.judges.evidence.compared_text import (
    WORDS_AROUND,
    ComparedText,
    denies_by_characters,
    list_exception_keys,
    read_unit,
)
from ctxmetrics.judges.evidence.contrasts import (
    Contradiction,
    Value,
    find_contrary_keys,
    is_amount,
    read_bound_phrases,
)
from ctxmetrics.judges.evidence.replaced_words import exchanges_endings, find_swap
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import (
    find_equal_key,
    get_stem_keys,
    get_word_list,
    list_keys,
    split_date,
    tokenize,
)

# Words before a word of the unit within which something may deny it.
_DENIAL_WORDS_BEFORE = 4
# The share of the unit's content words that a sentence must hold to deny the unit by a negation of its own.
_MIN_SHARE_TO_DENY = 0.35
# The share that it must hold to give another number.
_MIN_SHARE_FOR_NUMBER = 0.5
# Languages in which a negation may stand after the verb that it denies.
_NEGATION_FOLLOWS_VERB = frozenset(("da", "de", "fr", "nl", "no", "sv", "tr"))
# Languages whose nouns have another form behind a word such as without.
_INFLECTED_LANGUAGES = frozenset(("bg", "cs", "et", "fi", "hr", "pl", "ru", "sk", "sr", "uk"))
# Languages in which a denial is looked for on one side only, beside those without spaces.
_DENYING_ON_ONE_SIDE = frozenset(("ca", "el", "et", "fa", "he", "hu", "vi"))
_NUMBER_KINDS = frozenset(("number", "count"))
# The share that a sentence must hold to make an exception to the unit.
_MIN_SHARE_FOR_EXCEPTION = 0.65
# The number of words of the longest unit whose words may all stand in the evidence, two of them exchanged.
MAX_WORDS_OF_SWAP = 12


def find_contradiction(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for words of the evidence that contradict the unit.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence.
        language: ISO 639 code; it chooses the lists.

    Returns:
        The first contradiction found, or None.

    >>> str(find_contradiction("It was built by Maud.", ["It was not built by Queen Maud."], "en"))
    "negation: 'built' against 'not built'"
    >>> str(find_contradiction("You are covered for 2 years.", ["You are covered for 1 year."], "en"))
    "number: '2 years' against '1 year'"
    """
    claim = read_unit(unit, language)
    sentences = [ComparedText(text, language, claim) for text in evidence]
    checks = (
        _find_denials_of_unit,
        _find_denials_of_evidence,
        _find_inflected_denials,
        _find_denials_on_one_side,
        _find_added_negations,
        _find_denying_prefixes,
        _find_other_numbers,
        _find_opposite_bounds,
        _find_contrary_values,
        _find_exceptions,
        _find_lost_limits,
        _find_exchanged_words,
        _find_exchanged_values,
    )
    for check in checks:
        for match in check(claim, sentences):
            return match
    return None


@lru_cache(maxsize=16)  # a unit is compared with one candidate after the other
def list_contradicting_keys(unit: str, language: str) -> frozenset[str] | None:
    """Return keys (`Token.key`) of which every text that contradicts the unit has at least one; None if any word may do so."""
    claim = read_unit(unit, language)
    # A text without a negation may contradict a unit that has one. Any other value may contradict a value.
    exception_keys = list_exception_keys(language)
    makes_exception = not exception_keys.isdisjoint(claim.keys)
    if claim.negations or makes_exception or denies_by_characters(language):
        return None
    if not get_word_list("limits", language).isdisjoint(token.folded for token in claim.tokens):
        return None
    # A text that exchanges words has no other words than the unit.
    if claim.pairs or len(claim.tokens) <= MAX_WORDS_OF_SWAP:
        return None
    if any(token.measures or token.kind in _NUMBER_KINDS for token in claim.tokens):
        return None
    keys = list_denying_keys(language) | exception_keys
    for key in claim.content_keys:
        keys |= _list_prefixed_contraries(key, language)
    for value in claim.values:
        contrary = find_contrary_keys(value.group, value.value)
        if contrary is None:
            return None
        keys |= contrary
    return keys


def list_denying_keys(language: str) -> frozenset[str]:
    """Return keys of which every text that denies something has at least one."""
    return get_stem_keys("negations", language)


def _find_denials_of_unit(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that the unit denies and the evidence does not."""
    checked_keys = set()
    for position in unit.negations:
        for denied_position in _find_denied(unit, position):
            key = unit.tokens[denied_position].key
            if key in checked_keys:
                continue
            checked_keys.add(key)
            texts_with_word = [text for text in evidence if text.find_key(key)]
            most_shared = max((text.shared_count for text in texts_with_word), default=0)
            if most_shared < _MIN_SHARE_TO_DENY * len(unit.content_keys):
                continue
            if not any(text.denies_somewhere(key) for text in texts_with_word):
                yield Contradiction("negation", unit.spell(position, denied_position), "")


def _find_denied(unit: ComparedText, negation: int) -> Iterator[int]:
    """Yield the positions of the words that a negation of the unit may deny: the next word, in some languages also the one before."""
    if unit.denies_comparative(negation):
        yield negation + 1
        return
    yield from islice(unit.words_in_scope(negation), 1)
    if base_language(unit.language) in _NEGATION_FOLLOWS_VERB:
        yield from islice(unit.words_in_scope(negation, -1), 1)


def _find_denials_of_evidence(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that the evidence denies and the unit does not."""
    words_after = WORDS_AROUND if base_language(unit.language) in _NEGATION_FOLLOWS_VERB else 0
    for text in evidence:
        if not text.negations or text.shared_count < _MIN_SHARE_TO_DENY * len(unit.content_keys):
            continue
        checked_keys = set()
        for position in text.negations:
            denied_position = _find_denied_in_evidence(text, position)
            if denied_position is None:
                continue
            key = text.tokens[denied_position].key
            if key not in unit.content_keys or key in checked_keys:
                continue
            checked_keys.add(key)
            unit_positions = unit.find_key(key)
            if any(
                unit.is_denied(place, _DENIAL_WORDS_BEFORE, words_after) for place in unit_positions
            ):
                continue
            if not _stands_undenied(key, evidence, text.shared_count):
                stated_word = unit.spell(unit_positions[0], unit_positions[0])
                denied_word = text.spell(position, denied_position)
                yield Contradiction("negation", stated_word, denied_word)


def _find_denied_in_evidence(text: ComparedText, negation: int) -> int | None:
    """Find the position of the word that a negation of the evidence denies."""
    if text.denies_comparative(negation):
        return negation + 1
    skipped_words = get_word_list("skipped_after_negation", text.language)
    for position in chain(text.words_in_scope(negation), text.words_after_insertion(negation)):
        if text.tokens[position].folded not in skipped_words:
            return position
    return None


def _find_inflected_denials(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that one side denies and the other side has undenied, in another form: Polish "bez soli", "z solą"."""
    if base_language(unit.language) not in _INFLECTED_LANGUAGES:
        return
    for text in evidence:
        # The word that is denied is not shared.
        if text.shared_count < _MIN_SHARE_TO_DENY * (len(unit.content_keys) - 1):
            continue
        for spelling, other_spelling in _list_inflected_denials(unit, text):
            yield Contradiction("negation", spelling, other_spelling)
        for spelling, other_spelling in _list_inflected_denials(text, unit):
            yield Contradiction("negation", other_spelling, spelling)


def _list_inflected_denials(denying: ComparedText, stating: ComparedText) -> Iterator[tuple[str, str]]:
    """Yield each denial of one text together with an undenied form of the denied word in the other text."""
    for position in denying.negations:
        denied_position = next(denying.words_in_scope(position), None)
        if denied_position is None:
            continue
        denied_word = denying.tokens[denied_position]
        if denied_word.key in stating.keys:
            continue
        form_position = stating.find_other_form(denied_word)
        if form_position is not None and not stating.is_denied(form_position):
            denial = denying.spell(position, denied_position)
            yield denial, stating.spell(form_position, form_position)


def _find_denials_on_one_side(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield a denial of one side if the other side denies nothing.

    This is for languages whose verbs change so much that the denied word cannot be found on the other side.
    """
    if base_language(unit.language) not in _DENYING_ON_ONE_SIDE and not denies_by_characters(
        unit.language
    ):
        return
    least_shared = _MIN_SHARE_FOR_NUMBER * (len(unit.content_keys) - len(unit.denying))
    texts = [text for text in evidence if text.shared_count >= least_shared]
    if not unit.denying:
        for text in texts:
            for position in text.denying:
                if any(key in unit.keys for key in text.list_denied_keys(position)):
                    yield Contradiction("negation", "", text.spell(position, position))
    elif texts and not any(text.denying for text in texts):
        position = unit.denying[0]
        yield Contradiction("negation", unit.spell(position, position), "")


def _find_added_negations(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the negations by which alone a sentence differs from the unit: "Hunde dürfen mit", "Hunde dürfen nicht mit"."""
    for text in evidence:
        if bool(text.negations) == bool(unit.negations):
            continue
        if _list_keys_without_negations(text) != _list_keys_without_negations(unit):
            continue
        denying = text if text.negations else unit
        position = denying.negations[0]
        if denying.tokens[position].ends_clause:
            continue  # "No. He left" denies a question
        negation = denying.spell(position, position)
        unit_words = negation if denying is unit else ""
        text_words = negation if denying is text else ""
        yield Contradiction("negation", unit_words, text_words)


def _list_keys_without_negations(text: ComparedText) -> list[str]:
    """Return the keys of the words of a text that are no negations."""
    return [token.key for position, token in enumerate(text.tokens) if position not in text.negations]


# The fewest characters of a word that a prefix denies: "able" in "unable".
_MIN_CHARACTERS_BEHIND_PREFIX = 4


def _find_denying_prefixes(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the words that differ from a word of the unit by a prefix that denies: passable, impassable."""
    for position, token in enumerate(unit.tokens):
        if token.kind != "word" or not unit.is_content[position]:
            continue
        contraries = _list_prefixed_contraries(token.key, unit.language)
        if not contraries:
            continue
        for text in evidence:
            if token.key in text.keys:
                break
            match = next((key for key in contraries if key in text.keys), None)
            if match is not None and text.shared_count >= _MIN_SHARE_TO_DENY * len(unit.content_keys):
                yield Contradiction(
                    "negation", token.spelling, text.tokens[text.find_key(match)[0]].spelling
                )


@lru_cache(maxsize=4096)
def _list_prefixed_contraries(key: str, language: str) -> frozenset[str]:
    """Return the keys of the words that a prefix makes the contrary of a word: "impassabl" for "passabl", and the reverse."""
    contraries: set[str] = set()
    for prefix in get_word_list("denying_prefixes", language):
        if len(key) >= _MIN_CHARACTERS_BEHIND_PREFIX:
            contraries.add(prefix + key)
        stem = key.removeprefix(prefix)
        if _MIN_CHARACTERS_BEHIND_PREFIX <= len(stem) < len(key):
            contraries.add(stem)
    return frozenset(contraries)


def _stands_undenied(key: str, evidence: Sequence[ComparedText], least_shared: int) -> bool:
    """Whether a word stands undenied in a sentence that shares at least `least_shared` words with the unit."""
    texts = [text for text in evidence if text.shared_count >= least_shared]
    return any(_states_undenied(key, text) for text in texts)


def _states_undenied(key: str, text: ComparedText) -> bool:
    """Whether a word stands at some place of a text with no denial near it."""
    positions = text.find_key(key)
    if not all(text.is_denied(position) for position in positions):
        return True
    # "... and to civilians, although no civilian has received it": what stands before the denial is stated.
    denials_of_word = [
        negation for negation in text.negations if _find_denied_in_evidence(text, negation) in positions
    ]
    if not denials_of_word:
        return False
    positions_before = [position for position in positions if position < denials_of_word[0]]
    return not all(text.is_denied(position, but=denials_of_word) for position in positions_before)


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
    least_shared = _MIN_SHARE_FOR_NUMBER * (len(unit.content_keys) - 1)
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
# The measure of "twice" is "times", the measure of "half" is "fraction". Both say how many times.
_MULTIPLE_KINDS = frozenset(("times", "fraction"))


def _is_rival(token: Token, quantity: Token) -> bool:
    """Whether a word is another value of the same measure as a quantity, in the same form."""
    if token.key == quantity.key:
        return False
    opposite = OPPOSITES.get(quantity.measures)
    if opposite is not None:
        return token.measures == opposite
    if token.measures != quantity.measures:
        return token.measures in _MULTIPLE_KINDS and quantity.measures in _MULTIPLE_KINDS
    if (".." in token.key) != (".." in quantity.key):  # one token is a range, the other is not
        return False
    return quantity.measures != "date" or _is_rival_date(token, quantity)


def _is_rival_date(token: Token, date: Token) -> bool:
    """Whether a date, or a part of it, has the form of another date: both are days, months or years."""
    shape = _ANY_DIGIT.sub("0", date.key)
    is_day_instead_of_month = len(token.key) == len("2024-05-12") and shape == "0000-00"
    if is_day_instead_of_month:
        return False
    return any(_ANY_DIGIT.sub("0", key) == shape for key in (token.key, *token.parts))


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
    least_shared = _MIN_SHARE_FOR_NUMBER * len(unit.content_keys)
    for text in texts_without_number:
        if text.shared_count <= most_shared_with_number or text.shared_count < least_shared:
            continue
        for noun_position in text.find_key(noun.key):
            number = text.tokens[noun_position - 1]
            is_other = number.kind == "number" or number.measures == "several"
            if noun_position and is_other and not number.ends_clause:
                against = text.spell(noun_position - 1, noun_position)
                yield Contradiction("number", unit.spell(position, position + 1), against)


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
        positions_by_number = text.numbers_before.get(noun.key, {})
        is_close = text.shared_count >= _MIN_SHARE_FOR_NUMBER * len(unit.content_keys)
        if (
            not is_close
            or len(positions_by_number) > _MAX_NUMBERS_BEFORE_WORD
            or token.key not in text.keys
        ):
            continue
        for number, place in positions_by_number.items():
            if number in unit.counting_numbers and text.tokens[place].measures == token.measures:
                against = text.spell(place, place + 1)
                yield Contradiction("number", unit.spell(position, position + 1), against)


def _find_other_labels(
    unit: ComparedText, position: int, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the other numbers that the evidence has behind the same word, if they count nothing: port 80, chapter 3."""
    token = unit.tokens[position]
    if token.kind != "number" or not position or unit.counts_next_word(position):
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
        if text.shared_count < _MIN_SHARE_FOR_NUMBER * len(unit.content_keys):
            continue
        for place in text.numbers_behind.get(noun.key, {}).values():
            if text.is_uncounted_whole(place):
                against = text.spell(place - 1, place)
                yield Contradiction("number", unit.spell(position - 1, position), against)


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


_NAME_WITH_NUMBER = re.compile(r"([^\W\d_]+)\d+")


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


def _find_opposite_bounds(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the numbers that are a minimum in the unit and a maximum in all evidence, or a maximum and a minimum."""
    for position, token in enumerate(unit.tokens):
        if not is_amount(token) or not any(token.key in text.keys for text in evidence):
            continue
        phrases = read_bound_phrases()
        bound = phrases.find(unit.tokens, position)
        if bound is None:
            continue  # the usual case
        evidence_bounds = []
        for text in evidence:
            for position_in_text in text.find_key(token.key):
                evidence_bound = phrases.find(text.tokens, position_in_text)
                if evidence_bound is not None:
                    evidence_bounds.append(evidence_bound)
        if not evidence_bounds:
            continue
        if all(evidence_bound.is_least != bound.is_least for evidence_bound in evidence_bounds):
            yield Contradiction("number", bound.spelling, evidence_bounds[0].spelling)


def _find_exchanged_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield two values of the unit that the evidence exchanges: "born in 1975, died in 2003", "born in 2003, died in 1975".

    The other words keep their order. If they are in another order as well, as in "died in 2003, born in 1975", nothing is exchanged.
    """
    positions_by_kind: dict[str, list[int]] = {}
    for position, token in enumerate(unit.tokens):
        if token.measures or token.kind == "number":
            positions_by_kind.setdefault(token.measures, []).append(position)
    for positions in positions_by_kind.values():
        for first, second in pairwise(positions):
            keys = (unit.tokens[first].key, unit.tokens[second].key)
            if any(_have_order(text, keys) for text in evidence):
                continue
            for text in evidence:
                if _are_values_exchanged(unit, text, keys):
                    places = text.single_places
                    against = text.spell(places[keys[1]], places[keys[0]])
                    yield Contradiction("number", unit.spell(first, second), against)


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
    if any(key not in places for key in keys for places in (unit_places, text_places)):
        return False
    if text.shared_count < _MIN_SHARE_FOR_NUMBER * len(unit.content_keys):
        return False
    shared = [key for key in unit_places if key in text_places and key not in keys]
    keeps_order = shared == sorted(shared, key=text_places.__getitem__)
    stands_between = any(
        unit_places[first] < unit_places[key] < unit_places[second]
        and text_places[second] < text_places[key] < text_places[first]
        for key in shared
    )
    return keeps_order and stands_between


def _find_contrary_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the phrases for which the evidence has a contrary phrase about the same word: all seats, some seats.

    If the unit says both ("the left heart and the right heart"), neither counts: the evidence may be about one of them.
    """
    if not unit.values:
        return
    # Only a text that holds most of the unit contradicts one of its phrases.
    least_shared = _MIN_SHARE_FOR_NUMBER * len(unit.content_keys)
    close_texts = [text for text in evidence if text.shared_count >= least_shared]
    stated = {(value.group, value.value, word) for value in unit.values for word in value.beside}
    for value in dict.fromkeys(unit.values):
        keys = find_contrary_keys(value.group, value.value)
        if keys is not None and all(keys.isdisjoint(text.keys) for text in close_texts):
            continue  # the usual case
        words = value.beside or ("",)
        contrary_values: list[Value] = []
        for text in close_texts:
            for word in words:
                values_about_word = text.values_by_word.get((value.group, word), {})
                for other in values_about_word.values():
                    is_stated = (other.group, other.value, word) in stated
                    if other.contradicts(value) and not is_stated:
                        contrary_values.append(other)
                        break  # one contradiction for each word is enough
        if contrary_values and not any(_has_value(text, value, words) for text in evidence):
            yield Contradiction("number", value.spelling, contrary_values[0].spelling)


def _find_exceptions(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield an exception that only one side makes: every day, every day except in winter."""
    least_shared = _MIN_SHARE_FOR_EXCEPTION * len(unit.content_keys)
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
    position = next((place for place, token in enumerate(unit.tokens) if token.folded in limits), None)
    if position is None or position - 1 in unit.negations:  # "not only" limits nothing
        return
    all_limits = limits | get_word_list("other_limits", unit.language)
    for text in evidence:
        # "No one but members" is a limit, too.
        if text.negations or any(token.folded in all_limits for token in text.tokens):
            return
    yield Contradiction("reservation", unit.spell(position, position), "")


def _find_exchanged_words(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield two words of the unit that the evidence has in the other order: Anna beat Bernd, Bernd beat Anna."""
    for pair, spelling in unit.pairs.items():
        if any(pair in text.pairs for text in evidence):
            continue
        exchanged_pair = pair.exchange()
        for text in evidence:
            if exchanged_pair in text.pairs:
                yield Contradiction("name", spelling, text.pairs[exchanged_pair])
    if len(unit.tokens) > MAX_WORDS_OF_SWAP:
        return
    for text in evidence:
        swap = find_swap(unit.tokens, text.tokens, unit.language)
        if swap is not None:
            yield Contradiction("name", unit.spell(*swap), text.spell(*swap))
        elif exchanges_endings(unit.tokens, text.tokens, unit.language):
            last = len(unit.tokens) - 1
            yield Contradiction("name", unit.spell(0, last), text.spell(0, len(text.tokens) - 1))


def _has_value(text: ComparedText, value: Value, words: Iterable[str]) -> bool:
    """Whether a text has a value about one of some words."""
    return any(value.value in text.values_by_word.get((value.group, word), {}) for word in words)


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
    sentences = [ComparedText(text, language, claim) for text in evidence]
    checks = (_find_other_named_values, _find_opposite_bounds, _find_contrary_values)
    for check in checks:
        for match in check(claim, sentences):
            return match
    return _find_other_quantity(unit, evidence)


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
    for quantity in quantities:
        if quantity.measures in stated_measures:
            continue
        for token in evidence_tokens:
            if _is_rival(token, quantity):
                return Contradiction("number", quantity.spelling, token.spelling)
    return None
