"""Words that change a statement if they are replaced: numbers, names, negations and opposites."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.judges.evidence.chunks import OPPOSITES, Token
from ctxmetrics.judges.evidence.compared_text import ComparedText
from ctxmetrics.judges.evidence.contrasts import PhraseValue, find_values
from ctxmetrics.judges.evidence.word_forms import fold
from ctxmetrics.judges.evidence.words import get_word_list, tokenize

# The kinds of words that are numbers.
NUMBER_KINDS = frozenset({"number", "count"})
# The groups of names of months and of days, as keys of words have them: "month 3".
_CALENDAR_GROUPS = frozenset({"month", "weekday"})
# The groups of contraries of which a thing has one only: what is red is not blue. The names are those of ``contrasts.json``.
_ALTERNATIVE_GROUPS = _CALENDAR_GROUPS | {
    "adults and children",
    "brother and sister",
    "colour",
    "direction",
    "father and mother",
    "first and last",
    "material",
    "season",
    "side",
    "son and daughter",
}
# The languages whose prefixes negate the rest of a word, in a text of any language: unpaid, impossible. Those of other languages
# begin too many other words.
_LANGUAGES_OF_PREFIXES = ("en", "es", "pl", "ru")
# A prefix of one letter begins too many other words, too.
_MIN_LETTERS_OF_PREFIX = 2
# Endings of words, each with the ending of a word of the contrary meaning: gebührenfrei and gebührenpflichtig.
_CONTRARY_ENDINGS = (
    ("frei", "pflichtig"),
    ("freie", "pflichtige"),
    ("freien", "pflichtigen"),
    ("pflichtig", "frei"),
    ("pflichtige", "freie"),
    ("pflichtigen", "freien"),
    ("haltig", "frei"),
    ("frei", "haltig"),
    ("los", "voll"),
    ("voll", "los"),
    ("ful", "less"),
    ("less", "ful"),
)
# The minimum number of letters of a word that another word is formed from.
_MIN_LETTERS_OF_FORMED = 4
# The maximum number of names in a sentence that is an answer. More names are a list.
MAX_NAMES = 3
# The minimum ratio of a rounded number and the exact number: they differ by a third at most.
_MIN_ROUNDED_RATIO = 0.67
# The count at the beginning of the key of a number.
_LEADING_NUMBER = re.compile(r"\d+(?:\.\d+)?(?=\s|$)")
# The units of numbers that hold years and days.
_DATE_UNITS = frozenset({"date", "range"})
_YEAR = re.compile(r"1\d{3}|20\d{2}")
# The units of temperatures, as keys of numbers have them: of "300 degrees", and of 300 °C and 300 °F.
_DEGREE = "degree"
_TEMPERATURE_SCALES = frozenset({"c", "f"})
# A day of a month, as the parts of a date name it.
_DAY_KEY = re.compile(r"--\d\d-\d\d")
# A month of a year, as a date names it.
_MONTH_KEY = re.compile(r"\d{4}-\d\d")


def list_values(words: Iterable[Token]) -> frozenset[str]:
    """List the keys of the numbers among some words, and of what they hold: a date holds its year, and its day and month."""
    values: set[str] = set()
    for word in words:
        if word.kind == "number":
            values.add(word.key)
            values.update(part for part in word.parts if part.isdecimal() or _is_day_or_month(part))
            values.update(_list_other_spellings(word))
    return frozenset(values)


def list_missing(number: Token, values: frozenset[str]) -> frozenset[str]:
    """List the parts of a number that are not among some values.

    The parts of a date or a range are its years and its days; of a month without a day, also the month. Another number is its only
    part.

    Args:
        number: The number.
        values: The keys of numbers and of their parts, as `list_values` returns them.
    """
    own_values = list_values([number])
    if number.key in values:
        return frozenset()
    if number.measures in _DATE_UNITS:
        missing_values = own_values - values
        days_and_years = {
            value for value in missing_values if _DAY_KEY.fullmatch(value) or _is_year(value)
        }
        if _MONTH_KEY.fullmatch(number.key):
            days_and_years.add(number.key)
        return frozenset(days_and_years)
    return frozenset([number.key]) if own_values.isdisjoint(values) else frozenset()


def find_rival(number: Token, words: Iterable[Token], excluded: Container[str]) -> Token | None:
    """Find a number that may stand in the place of a number: of the same measure, or the same count of another unit.

    A year has no rival but another year.

    Args:
        number: The number.
        words: The words among which the other one is looked for.
        excluded: The keys of numbers that are no rivals.
    """
    for word in words:
        if word.kind != "number" or word.key in excluded or word.key == number.key:
            continue
        has_same_measure = _have_same_measure(word, number)
        if has_same_measure and _is_year(word.key) == _is_year(number.key):
            return word
        if _has_other_unit(word, number):
            return word
    return None


def list_counts(words: Iterable[Token]) -> frozenset[str]:
    """List the numbers of two or more digits among some words, as they are written, without their units: 70 of 70 km/h."""
    counts: set[str] = set()
    for word in words:
        if word.kind in NUMBER_KINDS:
            counts.add(word.key)
            counts.update(part.removesuffix("~") for part in word.parts)
    return frozenset(count for count in counts if len(count) > 1 and count[0].isdigit())


def _list_other_spellings(number: Token) -> Iterator[str]:
    """Yield the keys of a number that another text may write for the same value.

    0.2 eur and 0.2 usd for 20 cents, 300 c and 300 f for 300 degrees, and the time after noon for "half past four".
    """
    count, _, unit = number.key.partition(" ")
    if number.key.endswith(" cent") and _LEADING_NUMBER.match(number.key):
        for currency in ("eur", "usd"):
            yield f"{float(count) / 100:g} {currency}"
    elif unit == _DEGREE:
        for scale in _TEMPERATURE_SCALES:
            yield f"{count} {scale}"
    elif number.measures == "time":
        yield from _find_time_after_noon(number)


def _find_time_after_noon(time: Token) -> Iterator[str]:
    """Yield the key of a time after noon if the time does not say which half of the day it means: 16:30 for "half past four"."""
    has_24_hours = time.spelling.startswith("0") or "uhr" in time.parts
    if has_24_hours:
        return
    later = tokenize(f"{time.spelling} pm")
    if len(later) == 1 and later[0].key != time.key:
        yield later[0].key


def _have_same_measure(number: Token, other: Token) -> bool:
    """Tell whether two numbers measure the same. A degree may be a degree of any scale."""
    measures = {number.measures, other.measures}
    return len(measures) == 1 or (_DEGREE in measures and not measures.isdisjoint(_TEMPERATURE_SCALES))


def _has_other_unit(number: Token, other: Token) -> bool:
    """Tell whether two numbers have the same count and another unit; 150 km is a spelling of 150 km², too."""
    if _have_same_measure(number, other):
        return False
    has_same_count = _count(number) != "" and _count(number) == _count(other)
    shorter, longer = sorted((number.measures, other.measures), key=len)
    return has_same_count and not longer.startswith(shorter)


def _count(number: Token) -> str:
    """Return the count of a number with a unit, as its parts have it: 35~ of 35 metres and of 35 feet. The result is empty if there is no unit."""
    counts = [part for part in number.parts if part.endswith("~")]
    return counts[0] if number.measures and len(counts) == 1 else ""


def find_rival_of_missing(
    number: Token, missing: frozenset[str], words: Iterable[Token], excluded: frozenset[str]
) -> Token | None:
    """Find what stands in the place of what is missing of a number: of a date another day, month or year.

    Args:
        number: The number.
        missing: The missing values, as `list_missing` returns them; not empty.
        words: The words among which it is looked for.
        excluded: The keys of numbers that are no rivals.
    """
    if number.measures not in _DATE_UNITS and not _is_year(number.key):
        return find_rival(number, words, excluded)
    for word in words:
        for value in list_values([word]) - excluded:
            is_other_day = _DAY_KEY.fullmatch(value) and any(map(_DAY_KEY.fullmatch, missing))
            is_other_year = _is_year(value) and any(map(_is_year, missing))
            is_other_month = _MONTH_KEY.fullmatch(value) and any(
                _MONTH_KEY.fullmatch(month) and month[:4] == value[:4] for month in missing
            )
            if is_other_day or is_other_month or is_other_year:
                return word
    return None


def has_other_number(words: Sequence[Token], others: Sequence[Token]) -> bool:
    """Tell whether a text has a number that another text lacks, and the other text has a different number of the same kind in its place."""
    own_values = list_values(words)
    other_values = list_values(others)
    missing_numbers = [word for word in words if word.kind == "number" and word.key not in other_values]
    return any(find_rival(word, others, own_values) is not None for word in missing_numbers)


def has_more_numbers(words: Sequence[Token], others: Sequence[Token]) -> bool:
    """Tell whether one of two texts has a number that the other text lacks."""
    return list_values(words) != list_values(others)


def find_names(words: Iterable[Token]) -> frozenset[str]:
    """Find the keys of the names: capitalised words within a sentence that the text has nowhere in small letters. Titles do not count."""
    titles = _read_words("titles")
    names: set[str] = set()
    in_small_letters: set[str] = set()
    begins_sentence = True
    for word in words:
        if word.kind in NUMBER_KINDS or any(map(str.isdigit, word.spelling)):
            pass
        elif not word.spelling[:1].isupper():
            in_small_letters.add(word.key)
        elif not begins_sentence and word.folded not in titles:
            names.add(word.key)
        begins_sentence = word.ends_clause
    return frozenset(names - in_small_letters)


def find_names_in(words: Sequence[Token], language: str) -> frozenset[str]:
    """Find the keys of the names in a text of a language.

    German writes all nouns with a capital letter: there, a name stands after a preposition without an article, as in
    "nach Lindau", or beside another noun, as in "die Firma Strobel" and "seit 2019 Anna Strobel". Which of two nouns is the name
    cannot be told, so that both are returned: see `find_unknown_names`.
    """
    if language != "de":
        return find_names(words)
    prepositions = _read_words("prepositions")
    names: set[str] = set()
    is_after_name = False
    begins_sentence = True
    is_after_number = False
    for before, word in pairwise(words):
        may_be_name = word.spelling[:1].isupper() and word.kind not in NUMBER_KINDS
        is_noun_before = before.spelling[:1].isupper() and not before.ends_clause
        # `begins_sentence` and `is_after_number` are still about the word before.
        is_unit = is_noun_before and is_after_number  # "fünf Euro Eintritt"
        is_beside_noun = is_noun_before and not begins_sentence and not is_unit
        begins_sentence = before.ends_clause
        is_after_number = before.kind in NUMBER_KINDS and not _is_year(before.spelling)
        is_after_name = may_be_name and (
            before.folded in prepositions
            or (is_after_name and not before.ends_clause)
            or is_beside_noun
        )
        if is_after_name:
            names.add(word.key)
            if is_beside_noun and before.kind not in NUMBER_KINDS:
                names.add(before.key)
    return frozenset(names)


def find_unknown_names(
    words: Sequence[Token], language: str, known_keys: frozenset[str]
) -> frozenset[str]:
    """Find the keys of the names in a text that are not among some words. Months and days are no names here: they are alternatives.

    In German, a noun before a known name only says what it is a name of: "die Stadt Lesum", "das Dorf Lesum", "Frau Strobel".

    Args:
        words: The words of the text.
        language: The language of the text.
        known_keys: The keys of the words that are known.
    """
    names = find_names_in(words, language)
    unknown_names = frozenset(name for name in names - known_keys if not _is_calendar_word(name))
    if language != "de":
        return unknown_names
    nouns_before_names: set[str] = set()
    # From the end: in "Frau Doktor Strobel", a known name makes the unknown words before it nouns.
    for word, before in pairwise(reversed(words)):
        is_known = word.key in known_keys or word.key in nouns_before_names
        if word.key in names and is_known and before.key in unknown_names and not before.ends_clause:
            nouns_before_names.add(before.key)
    return unknown_names - nouns_before_names


@cache
def _read_words(name: str) -> frozenset[str]:
    """Read a list of words, folded."""
    return frozenset(map(fold, read_data("evaluation.gold", "words.json")[name]))


def may_be_rounded(words: Sequence[Token], place: int, other: Token) -> bool:
    """Tell whether a number is rounded from another number: a word such as "about" stands before it, and both numbers are near."""
    before = {word.folded for word in words[max(0, place - 2) : place]}
    if before.isdisjoint(_read_words("rounding")):
        return False
    number_match = _LEADING_NUMBER.match(words[place].key)
    other_match = _LEADING_NUMBER.match(other.key)
    if number_match is None or other_match is None:
        return False
    smaller, larger = sorted((float(number_match[0]), float(other_match[0])))
    is_rounder = _count_digits(number_match[0]) < _count_digits(other_match[0])
    return is_rounder and smaller >= _MIN_ROUNDED_RATIO * larger


def _count_digits(number: str) -> int:
    """Count the significant digits of a number: 1,200 has two."""
    digits = number.replace(".", "").lstrip("0")
    return len(digits.rstrip("0"))


def find_negations(text: ComparedText) -> Sequence[int]:
    """Find the positions of the words of a text that deny. A leading "no" with a mark after it is an answer, and denies nothing."""
    positions = text.denying_positions
    begins_with_negation = positions[:1] == [0]
    if begins_with_negation and text.tokens[0].ends_clause:  # "No, ..."
        return positions[1:]
    return positions


def find_distinguishing_words(words: Sequence[Token], language: str) -> frozenset[str]:
    """Find the keys of the words that change what a text states: numbers, words with a digit, names, and negations."""
    negations = get_word_list("negations", language)
    keys: set[str] = set()
    for word in words:
        is_number = word.kind in NUMBER_KINDS or any(map(str.isdigit, word.spelling))
        if is_number or word.folded in negations:
            keys.add(word.key)
    return find_names(words) | keys


def spell(words: Iterable[Token], keys: frozenset[str]) -> str:
    """Spell the words of a text that have certain keys."""
    return " ".join(word.spelling for word in words if word.key in keys)


def have_opposites(words: Iterable[Token], others: Iterable[Token]) -> bool:
    """Tell whether a word of one text is the opposite of a word of another text."""
    other_names = {word.measures for word in others}
    return any(OPPOSITES.get(word.measures) in other_names for word in words)


class Phrase(NamedTuple):
    """A word or phrase of a text that has a contrary, such as "open" or "last".

    Attributes:
        value: The group of its contraries, and its value among them. The words that it stands beside are left out.
        keys: The keys of its words.
    """

    value: PhraseValue
    keys: frozenset[str]

    @property
    def spelling(self) -> str:
        """The phrase as the text writes it."""
        return self.value.spelling

    @property
    def meaning(self) -> tuple[str, str]:
        """The group and the value, which all spellings share: red, rot and rouge."""
        return self.value.group, self.value.value

    @property
    def excludes_others(self) -> bool:
        """Whether a thing has only one of these values: a colour, a month, a material."""
        return self.value.group in _ALTERNATIVE_GROUPS


def find_phrases(words: Sequence[Token], negations: Sequence[int] = ()) -> Sequence[Phrase]:
    """Find the phrases of a text that have a contrary, whatever they stand beside.

    The name of a month or a day has all other names as contraries.

    Args:
        words: The words of the text.
        negations: The positions of words that deny. A phrase shortly behind a negation is left out.
    """
    phrases = [
        _build_phrase(value.group, value.value, value.spelling)
        for value in find_values(words, [True] * len(words), negations)
    ]
    for word in words:
        if _is_calendar_word(word.key):
            group, _, number = word.key.partition(" ")
            phrases.append(_build_phrase(group, number, word.spelling))
    return phrases


def _is_calendar_word(key: str) -> bool:
    """Tell whether the key of a word is that of a month or a day of the week: "month 3"."""
    return key.partition(" ")[0] in _CALENDAR_GROUPS


def _build_phrase(group: str, value: str, spelling: str) -> Phrase:
    """Build a phrase from its group, its value in the group, and its spelling."""
    keys = frozenset(word.key for word in tokenize(spelling))
    return Phrase(PhraseValue(group, value, frozenset(), spelling), keys)


def find_contraries(
    phrases: Iterable[Phrase], others: Iterable[Phrase]
) -> Sequence[tuple[Phrase, Phrase]]:
    """Find the pairs of contrary phrases of two texts, such as "open" and "closed". A phrase of both texts is no difference.

    Args:
        phrases: The phrases of the text.
        others: The phrases of the other text.
    """
    phrases_by_meaning = {phrase.meaning: phrase for phrase in phrases}
    others_by_meaning = {phrase.meaning: phrase for phrase in others}
    pairs: list[tuple[Phrase, Phrase]] = []
    for meaning, phrase in phrases_by_meaning.items():
        if meaning in others_by_meaning:
            continue
        for other_meaning, other in others_by_meaning.items():
            if other_meaning not in phrases_by_meaning and phrase.value.contradicts(other.value):
                pairs.append((phrase, other))
    return pairs


def find_formed_contraries(
    words: Sequence[Token], others: Sequence[Token]
) -> Sequence[tuple[Phrase, Phrase]]:
    """Find the pairs of words of two texts of which one is formed from the other: paid and unpaid, careful and careless.

    A word of both texts is no difference.
    """
    spellings = {word.folded: word for word in words}
    other_spellings = {word.folded: word for word in others}
    pairs: list[tuple[Phrase, Phrase]] = []
    for spelling in spellings.keys() - other_spellings.keys():
        for contrary in _list_formed_contraries(spelling):
            if contrary in other_spellings and contrary not in spellings:
                phrases = [
                    _build_phrase("formed", each.folded, each.spelling)
                    for each in (spellings[spelling], other_spellings[contrary])
                ]
                pairs.append((phrases[0], phrases[1]))
    return pairs


def _list_formed_contraries(spelling: str) -> Iterator[str]:
    """Yield the words that would be contrary to a word by their form: unpaid and nonpaid of paid, careless of careful."""
    if len(spelling) < _MIN_LETTERS_OF_FORMED:
        return
    for prefix in _read_negating_prefixes():
        yield prefix + spelling
        if spelling.startswith(prefix):
            yield spelling.removeprefix(prefix)
    for ending, contrary in _CONTRARY_ENDINGS:
        if spelling.endswith(ending):
            yield spelling.removesuffix(ending) + contrary


@cache
def _read_negating_prefixes() -> Sequence[str]:
    """Read the prefixes that negate the rest of a word, in alphabetical order."""
    prefixes: set[str] = set()
    for language in _LANGUAGES_OF_PREFIXES:
        for prefix in get_word_list("denying_prefixes", language):
            if len(prefix) >= _MIN_LETTERS_OF_PREFIX:
                prefixes.add(prefix)
    return sorted(prefixes)


def have_contraries(words: Sequence[Token], others: Sequence[Token]) -> bool:
    """Tell whether a word of one text is contrary to a word of another text."""
    return bool(find_contraries(find_phrases(words), find_phrases(others)))


def has_initials(name: str, other: str) -> bool:
    """Tell whether one of two names is made of the first letters of the other name, as USA of United States, or is the same name in other words."""
    if name.replace(" ", "").casefold() == other.replace(" ", "").casefold():
        return True
    if min(len(name), len(other)) == 1 and name[0] == other[0]:
        return True
    for short, long in ((name, other), (other, name)):
        initials = "".join(word[0] for word in long.split() if word[:1].isupper())
        is_short = short.isupper() and " " not in short and len(initials) > 1
        if is_short and (short.startswith(initials) or initials.startswith(short)):
            return True
    return False


def _is_day_or_month(value: str) -> bool:
    """Tell whether a value is a day of a month, or a month of a year."""
    return _DAY_KEY.fullmatch(value) is not None or _MONTH_KEY.fullmatch(value) is not None


def _is_year(number: str) -> bool:
    """Tell whether a number may be a year."""
    return _YEAR.fullmatch(number) is not None
