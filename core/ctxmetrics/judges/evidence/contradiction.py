"""Checks whether the evidence for a unit contradicts the unit.

A count of equal words cannot distinguish "was signed" from "was not signed". The checks compare a unit with the sentences that are its
evidence. `denials` finds words that only one side denies, `number_contradictions` finds other numbers and values, and this module
finds contrary phrases, exceptions of only one side, and exchanged names. The checks know only the words of their lists; for a
language without lists they find nothing. They find reasons to doubt a yes, and never change a no to a yes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import TypeAlias

from ctxmetrics.judges.evidence.chunks import Token, get_folded
from ctxmetrics.judges.evidence.compared_text import (
    ComparedText,
    denies_by_characters,
    list_close,
    list_exception_keys,
    read_evidence,
    read_unit,
)
from ctxmetrics.judges.evidence.contrasts import (
    Contradiction,
    PhraseValue,
    find_contrary_keys,
    has_converse,
)
from ctxmetrics.judges.evidence.denials import DENIAL_CHECKS, list_all_prefixed_contraries
from ctxmetrics.judges.evidence.number_contradictions import (
    MIN_SHARE_FOR_NUMBER,
    NUMBER_CHECKS,
    NUMBER_KINDS,
    find_open_points,
    find_opposite_bounds,
    find_other_named_values,
    find_other_quantity,
)
from ctxmetrics.judges.evidence.replaced_words import exchanges_endings, find_other_setting, find_swap
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_negation_keys, get_word_list, tokenize

# The share of the unit's content words that a sentence must hold to make an exception to the unit.
_MIN_SHARE_FOR_EXCEPTION = 0.65
# The share of the unit's other content words that a quoted sentence must hold, to contradict the unit without a negation.
_MIN_SHARE_OF_QUOTED = 0.7
# The maximum number of letters of a word that may be a preposition, in a text whose language is open.
_MAX_LETTERS_OF_PREPOSITION = 3
# The maximum number of words of a unit whose words may all stand in the evidence, two of them exchanged.
MAX_WORDS_OF_SWAP = 12
# A word with a number: X200
_NAME_WITH_NUMBER = re.compile(r"([^\W\d_]+)\d+")

# A check takes the unit and the sentences of its evidence.
_Check: TypeAlias = Callable[[ComparedText, Sequence[ComparedText]], Iterator[Contradiction]]


def find_contradiction(
    unit: str, evidence: Sequence[str], language: str, *, is_quoted: bool = False
) -> Contradiction | None:
    """Look for words of the evidence that contradict the unit.

    Args:
        unit: The unit.
        evidence: The sentences that hold its evidence.
        language: ISO 639 code; it chooses the lists.
        is_quoted: Whether a judge quoted the evidence. A quote for a true unit may be about a part of it, and may lack a word such as
            "only". So a missing "only" is no contradiction then, and only negations or a sentence with most words of the unit count.

    Returns:
        The first contradiction found, or None.

    >>> str(find_contradiction("It was built by Maud.", ["It was not built by Queen Maud."], "en"))
    "negation: 'built' against 'not built'"
    >>> str(find_contradiction("You are covered for 2 years.", ["You are covered for 1 year."], "en"))
    "number: '2 years' against '1 year'"
    """
    compared_unit = read_unit(unit, language)
    sentences = read_evidence(evidence, unit, language)
    checks = _ALL_CHECKS
    if is_quoted:
        is_close = bool(list_close(compared_unit, sentences, _MIN_SHARE_OF_QUOTED, uncounted_words=1))
        checks = _CHECKS_WITHOUT_LIMITS if is_close else DENIAL_CHECKS
    contradictions = chain.from_iterable(check(compared_unit, sentences) for check in checks)
    contradiction = next(contradictions, None)
    if contradiction is None and "=" in unit:
        return find_other_setting(unit, evidence)
    return contradiction


def find_other_value(unit: str, evidence: Sequence[str], language: str) -> Contradiction | None:
    """Look for a quantity of a unit for which the evidence has another value, and not the unit's value.

    A day, a month or an ordinal counts only in a sentence that holds most of the unit: a text has many of them.

    >>> str(find_other_value("It opens at 8 am.", ["It opens at 9:30."], "en"))
    "number: '8 am' against '9:30'"
    """
    compared_unit = read_unit(unit, language)
    has_value = any(token.measures or token.kind == "number" for token in compared_unit.tokens)
    if not (compared_unit.values or has_value):
        return None  # the usual case
    sentences = read_evidence(evidence, unit, language)
    contradictions = chain.from_iterable(check(compared_unit, sentences) for check in _VALUE_CHECKS)
    return next(contradictions, None) or find_other_quantity(unit, evidence)


@lru_cache(maxsize=16)  # a unit is compared with one candidate after the other
def list_contradicting_keys(unit: str, language: str) -> frozenset[str] | None:
    """Return keys (`Token.key`): a text without any of them cannot contradict the unit. None if any text may contradict it."""
    compared_unit = read_unit(unit, language)
    has_setting = "=" in unit  # any other value of the setting contradicts the unit
    if (
        has_setting
        or _may_be_exchanged(compared_unit)
        or _has_number(compared_unit)
        or _may_lack_denial(compared_unit)
    ):
        return None
    keys = {*get_negation_keys(language), *list_exception_keys(language)}
    keys |= list_all_prefixed_contraries(compared_unit.content_keys, language)
    for value in compared_unit.values:
        contrary_keys = find_contrary_keys(value.group, value.value)
        if contrary_keys is None:
            return None
        keys |= contrary_keys
    return frozenset(keys)


def _may_lack_denial(unit: ComparedText) -> bool:
    """Tell whether a text without a denying word may contradict a unit: it may lack a "not" or "only", or deny inside of a word."""
    language = unit.language
    if unit.negations or unit.exception is not None:
        return True
    limits = get_word_list("limits", language)
    if not limits.isdisjoint(map(get_folded, unit.tokens)):
        return True
    return denies_by_characters(language) or unit.may_be_turkish


def _has_number(text: ComparedText) -> bool:
    """Whether a text has a number or a quantity, which any other number may contradict."""
    return any(token.measures or token.kind in NUMBER_KINDS for token in text.tokens)


def _may_be_exchanged(unit: ComparedText) -> bool:
    """Tell whether a text with the same words in another order may contradict the unit."""
    return bool(len(unit.tokens) <= MAX_WORDS_OF_SWAP or unit.pairs or unit.initials)


# --- names with a number: X200 ----------------------------------------------------------------------------------------


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


# --- contrary phrases: all seats, some seats --------------------------------------------------------------------------


def _find_contrary_values(
    unit: ComparedText, evidence: Sequence[ComparedText]
) -> Iterator[Contradiction]:
    """Yield the phrases for which the evidence has a contrary phrase about the same word: all seats, some seats.

    If one side says both ("the left heart and the right heart"), neither counts: the other side may be about one of them.
    """
    if not unit.values:
        return  # the usual case
    close_texts = list_close(unit, evidence, MIN_SHARE_FOR_NUMBER)
    for value in dict.fromkeys(unit.values):
        contrary_keys = find_contrary_keys(value.group, value.value)
        for text in close_texts:
            if contrary_keys is not None and contrary_keys.isdisjoint(text.keys):
                continue  # the usual case
            contrary = _find_contrary_value(unit, value, text)
            if contrary is None:
                continue
            if not any(_has_value(text, value) for text in evidence):
                yield Contradiction("number", value.spelling, contrary.spelling)


def _find_contrary_value(
    unit: ComparedText, value: PhraseValue, text: ComparedText
) -> PhraseValue | None:
    """Find a phrase of a text that is contrary to a phrase of the unit.

    A phrase that the unit has, too, does not count, nor one that says the same with exchanged names: "A sold it to B" and
    "B bought it from A".
    """
    for other in text.list_values_about_same_words(value):
        is_contrary = other.contradicts(value) and not _has_value(unit, other)
        if is_contrary and not _is_converse(unit, value, text, other):
            return other
    return None


def _has_value(text: ComparedText, value: PhraseValue) -> bool:
    """Whether a text has a phrase with the same value about one of the same words."""
    return any(other.value == value.value for other in text.list_values_about_same_words(value))


# --- converses: Ann is older than Ben, Ben is younger than Ann --------------------------------------------------------


def _states_converse(unit: ComparedText, text: ComparedText) -> bool:
    """Whether a text has a contrary phrase and exchanged names, which together say the same as the unit."""
    for value in unit.values:
        for other in text.list_values_about_same_words(value):
            if other.contradicts(value) and _is_converse(unit, value, text, other):
                return True
    return False


def _is_converse(
    unit: ComparedText, value: PhraseValue, text: ComparedText, contrary: PhraseValue
) -> bool:
    """Whether a text says what the unit says with a contrary phrase and exchanged names.

    Two words of the clause are exchanged, and one of them has another role (`_find_role`). A word that only moves keeps its role:
    "In the final Graz won", "Graz lost in the final".

    Args:
        unit: The unit.
        value: A phrase of the unit: older.
        text: A sentence of the evidence.
        contrary: The contrary phrase of the sentence: younger.
    """
    is_comparison = _compares(unit) and _compares(text)
    has_positions = value.position >= 0 and contrary.position >= 0
    if not has_positions or not (is_comparison or has_converse(value.group)):
        return False
    unit_positions = _list_positions_in_clause(unit, value.position)
    text_positions = _list_positions_in_clause(text, contrary.position)
    shared_keys = [key for key in unit_positions if key in text_positions]
    if unit.lacks_stop_words:
        shared_keys = [
            key for key in shared_keys if not _may_be_preposition(unit.tokens[unit_positions[key]])
        ]
    # A role ends before the next of these words.
    unit_stops = [unit_positions[key] for key in shared_keys] + value.list_positions()
    text_stops = [text_positions[key] for key in shared_keys] + contrary.list_positions()
    for first, second in combinations(shared_keys, 2):
        if text_positions[first] < text_positions[second]:
            continue  # not exchanged
        for key in (first, second):
            role_in_unit = _find_role(unit, unit_positions[key], unit_stops)
            if role_in_unit != _find_role(text, text_positions[key], text_stops):
                return True
    return False


def _compares(text: ComparedText) -> bool:
    """Whether a text has a word such as "than"."""
    words = LISTS["comparatives"].get(base_language(text.language), ())
    return any(token.spelling.lower() in words for token in text.tokens)


def _list_positions_in_clause(text: ComparedText, position: int) -> Mapping[str, int]:
    """Return the positions of the content words that stand once in a text, and in one clause with the word at a position, by key."""
    start = position
    while start > 0 and not text.tokens[start - 1].ends_clause:
        start -= 1
    end = position
    while end < len(text.tokens) - 1 and not text.tokens[end].ends_clause:
        end += 1
    return {
        key: key_position
        for key, key_position in text.single_positions.items()
        if start <= key_position <= end
    }


def _may_be_preposition(word: Token) -> bool:
    """Whether a word may be a preposition of an unknown language: it is short and in small letters."""
    return len(word.spelling) <= _MAX_LETTERS_OF_PREPOSITION and word.spelling.islower()


def _find_role(text: ComparedText, position: int, stops: Collection[int]) -> Sequence[str]:
    """Return the signs of a word's role in its clause: the word with its ending, and the words before it without articles.

    Args:
        text: The text.
        position: The position of the word.
        stops: The positions of words that do not belong to the role, and before which it ends.
    """
    articles = LISTS["articles"].get(base_language(text.language), ())
    role = [text.tokens[position].folded]
    for position_before in range(position - 1, -1, -1):
        token = text.tokens[position_before]
        if position_before in stops or token.ends_clause:
            break
        if token.spelling.lower() not in articles:
            role.append(token.folded)
    return role


# --- exceptions and limits that one side lacks: except in winter, only members ----------------------------------------


def _find_exceptions(unit: ComparedText, evidence: Sequence[ComparedText]) -> Iterator[Contradiction]:
    """Yield an exception that only one side makes: every day, every day except in winter."""
    close_texts = list_close(unit, evidence, _MIN_SHARE_FOR_EXCEPTION)
    exceptions = [text.exception for text in close_texts if text.exception is not None]
    if unit.exception is not None:
        if close_texts and not exceptions:
            yield Contradiction("reservation", unit.exception.phrase, "")
        return
    is_in_each_text = len(exceptions) == len(close_texts)
    if exceptions and is_in_each_text and not exceptions[0].allows_value_of(unit.tokens):
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


# --- exchanged names: Anna beat Bernd, Bernd beat Anna ----------------------------------------------------------------


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
    """Yield the initials that differ in the evidence although the names around them are the same: George W. Bush, George H. W. Bush."""
    for names, initials in unit.initials.items():
        others = [text.initials[names] for text in evidence if names in text.initials]
        if others and initials not in others:
            yield Contradiction("name", " ".join(initials).upper(), " ".join(others[0]).upper())


# The checks of `find_contradiction`, in the order in which they are made: the first contradiction found is the one that is shown.
_CHECKS_WITHOUT_LIMITS: Sequence[_Check] = (
    *DENIAL_CHECKS,
    *NUMBER_CHECKS,
    _find_contrary_values,
    _find_exceptions,
    _find_exchanged_words,
    _find_other_initials,
)
_ALL_CHECKS: Sequence[_Check] = (*_CHECKS_WITHOUT_LIMITS, _find_lost_limits)
# The checks of `find_other_value`.
_VALUE_CHECKS: Sequence[_Check] = (
    find_other_named_values,
    find_opposite_bounds,
    _find_contrary_values,
    find_open_points,
)
