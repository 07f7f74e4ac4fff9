"""The forms in which quantities are written: the lists, and finding one of their names in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data


class Quantity(NamedTuple):
    """A quantity of a text.

    Attributes:
        start: The position of the quantity's first character.
        end: The position behind its last character.
        kind: What the quantity measures: ``time``, ``date``, ``ratio``, ``money``, ``code``, or the base of its unit. Two quantities
            of one kind can contradict each other.
        key: The value of the quantity; equal for equal values.
        parts: The keys of coarser quantities that it holds.
    """

    start: int
    end: int
    kind: str
    key: str
    parts: tuple[str, ...] = ()


class MeasureUnit(NamedTuple):
    """A unit: its base, and the number of bases in one unit. An hour is 3,600 seconds."""

    base: str
    factor: Decimal
    kind: str


class Value(NamedTuple):
    """One value, before it is joined with another one to a range or a dimension.

    Attributes:
        end: One past its last character.
        kind: As in `Quantity`; empty for a plain number.
        key: As in `Quantity`.
        parts: As in `Quantity`.
        number: The number as it is written, with a decimal point; None for dates and times.
        unit: The unit, of a number.
    """

    end: int
    kind: str
    key: str
    parts: tuple[str, ...] = ()
    number: str | None = None
    unit: MeasureUnit | None = None


LISTS: Mapping[str, Any] = read_data("text.quantities", "forms.json")


def list_words(*names: str) -> frozenset[str]:
    """Return the words of some lists of `LISTS`."""
    return frozenset(word for name in names for word in LISTS[name])


def name_lists(lists: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the name of its list for each word."""
    return {word: name for name, words in lists.items() for word in words}


# The first characters of the digits of other scripts: Arabic, Persian, Devanagari, Bengali, Gurmukhi, Gujarati, Tamil, Telugu,
# Kannada, Malayalam, Thai, Lao, Burmese, Khmer, full width.
_ZEROS_OF_SCRIPTS = "٠۰०০੦૦௦౦೦൦๐໐၀០０"
# Characters that are read as another character. Each is replaced by one character, so that positions stay the same.
FORMS: Mapping[int, str] = {
    **{ord(zero) + digit: str(digit) for zero in _ZEROS_OF_SCRIPTS for digit in range(10)},
    **dict.fromkeys(map(ord, "‐‑‒–−－"), "-"),
    **dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f\u3000"), " "),
    **dict.fromkeys(map(ord, "’‘"), "'"),
    **dict.fromkeys(map(ord, "〜～"), "~"),
    ord("′"): "'",
    ord("″"): '"',
    ord("”"): '"',
    ord("："): ":",
    ord("％"): "%",
    ord("＄"): "$",
    ord("￥"): "¥",
    ord("＋"): "+",
    ord("٫"): ".",
    ord("٬"): ",",
}


# The length up to which a name is a symbol, whose case matters: MB, kW and Hz differ from mb, kw and hz.
_MAX_SYMBOL_LETTERS = 2


def _by_form(words: Iterable[str], entry: Any) -> dict[str, Any]:
    """Map each form of a word to one entry. A word that is longer than a symbol is also listed in lower case."""
    table = {}
    for word in words:
        table[word] = entry
        if len(word) > _MAX_SYMBOL_LETTERS:
            table[word.lower()] = entry
    return table


UNITS: dict[str, MeasureUnit] = {}
MONEY: dict[str, MeasureUnit] = {}
SCALES: dict[str, Decimal] = {}
MONTHS: dict[str, int] = {}
for _row in LISTS["units"]:
    UNITS |= _by_form(_row["words"], MeasureUnit(_row["base"], Decimal(_row["factor"]), _row["base"]))
for _row in LISTS["money"]:
    MONEY |= _by_form(
        _row["words"], MeasureUnit(_row["base"], Decimal(_row.get("factor", "1")), "money")
    )
for _row in LISTS["scales"]:
    SCALES |= _by_form(_row["words"], Decimal(_row["factor"]))
for _number, _row in enumerate(LISTS["months"], 1):
    MONTHS |= dict.fromkeys(_row, _number)
MEASURES = {**UNITS, **MONEY}
SCALES_AND_MEASURES: dict[str, MeasureUnit | Decimal] = {**MEASURES, **SCALES}
SHORT_SCALES = {word: Decimal(factor) for word, factor in LISTS["short_scales"].items()}
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
DAY_PARTS_BEFORE = list_words("morning_before", "evening_before")
# Names of numbers that no other language reads as a common word: quantities apart from a unit are found by these alone.
NUMBER_NAMES: Mapping[str, str] = {
    **{name: str(number) for number, names in enumerate(LISTS["number_names"]) for name in names},
    **name_lists(LISTS["single_word_numbers"]),
}
NUMBER_WORDS: Mapping[str, str] = {**NUMBER_NAMES, **LISTS["numbers"]}
_CAPITALISED_MONTHS = frozenset(LISTS["case_sensitive_months"])


# The first letter of the scripts without blanks between words: those of Thai stand before Chinese and Japanese.
_FIRST_UNSPACED = "\u0e00"
_NO_LETTER_FOLLOWS = r"(?![^\W_])"


def alternatives(*names: str) -> str:
    """Return a pattern that finds any word of some lists, the longest first.

    No letter may follow a word that ends in a letter, so that "min" is not found in "mint".
    """
    words = sorted(list_words(*names), key=len, reverse=True)
    patterns = []
    for word in words:
        pattern = re.escape(word)
        if word[-1].isalpha() and word[-1] < _FIRST_UNSPACED:
            pattern += _NO_LETTER_FOLLOWS
        patterns.append(pattern)
    return "|".join(patterns)


def skip_mark(text: str, place: int, mark: str) -> int:
    """Return the place behind a mark if the mark stands at this place of a text; else the place itself."""
    return place + 1 if text.startswith(mark, place) else place


def is_month(word: str) -> bool:
    """Whether a word is the name of a month; some must begin with a capital: May, March."""
    name = word.rstrip(".").lower()
    return name in MONTHS and (word[:1].isupper() or name not in _CAPITALISED_MONTHS)


# One word of the name of a unit, a currency or a scale. Characters from U+2E80 on are those of Chinese, Japanese and Korean; the
# pattern names those before them, since a large range takes milliseconds to compile.
_NAME_WORD = re.compile(
    r"""
    °[ ]?[CFcf](?![^\W_])                               # °C, ° F
    |[A-Z]{0,3}[$€£¥₽₹₩₴₺¢]                             # US$, €
    |[^\0-\u2e7f]{1,8}                                  # 公里
    |[\u0904-\u0939\u0958-\u0961][\u0900-\u0963]{0,24}  # Devanagari, with its marks
    |[^\W\d_](?:(?=[\0-\u2e7f])[^\W_]){0,24}[²³]?(?:/(?:(?=[\0-\u2e7f])[^\W\d_]){1,9})?  # metres, m², km/h
    |[%٪‰°℃℉]                                           # 5 %
    """,
    re.VERBOSE,
)
_FIRST_EAST_ASIAN = "\u2e80"
_MAX_EAST_ASIAN_NAME = 7
# "kilometres per hour" is the longest name.
_MAX_NAME_WORDS = 3


_NAMES = [*MEASURES, *SCALES, *SHORT_SCALES]
_FIRST_WORDS_OF_ALL_NAMES = frozenset(name.split()[0] for name in _NAMES)
_FIRST_WORDS_OF_LONG_NAMES = frozenset(name.split()[0].rstrip(".") for name in _NAMES if " " in name)


def name_at(text: str, start: int, table: Mapping[str, Any]) -> tuple[Any, int] | None:
    """Return the table's entry of the name that begins at a place, and where the name ends.

    One blank or one hyphen may stand before the name.
    """
    if text[start : start + 1] in {" ", "-"}:
        start += 1
    match = _NAME_WORD.match(text, start)
    if match is None:
        return None
    word = match[0]
    end = match.end()
    if word[0] >= _FIRST_EAST_ASIAN:
        # No blank ends the name: try the longest beginning first.
        for length in range(min(len(word), _MAX_EAST_ASIAN_NAME), 0, -1):
            if word[:length] in table:
                return table[word[:length]], start + length
        return None
    lower_word = word.lower()
    if word in _FIRST_WORDS_OF_LONG_NAMES or lower_word in _FIRST_WORDS_OF_LONG_NAMES:
        return _find_longest_name(text, start, end, table)
    if word not in _FIRST_WORDS_OF_ALL_NAMES and lower_word not in _FIRST_WORDS_OF_ALL_NAMES:
        return None  # the usual case
    entry = _get_entry(table, word)
    return None if entry is None else (entry, end)


def _find_longest_name(
    text: str, start: int, first_word_end: int, table: Mapping[str, Any]
) -> tuple[Any, int] | None:
    """Return the entry of the longest name, of at most three words, that starts here, and where the name ends."""
    end = first_word_end
    word_ends = [end]
    while len(word_ends) < _MAX_NAME_WORDS:
        joint_position = skip_mark(text, end, ".")
        has_joint = text.startswith((" ", "-"), joint_position)
        match = _NAME_WORD.match(text, joint_position + 1) if has_joint else None
        if match is None:
            break
        end = match.end()
        word_ends.append(end)
    for name_end in reversed(word_ends):
        entry = _get_entry(table, text[start:name_end])
        if entry is not None:
            return entry, name_end
    return None


def _get_entry(table: Mapping[str, Any], name: str) -> Any:
    """Return the entry of a name, or of the name in lower case if it is longer than a symbol; else None."""
    entry = table.get(name)
    if entry is None and len(name) > _MAX_SYMBOL_LETTERS:
        return table.get(name.lower())
    return entry
