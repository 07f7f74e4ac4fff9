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
        start: Its first character.
        end: One past its last.
        kind: What it measures: ``time``, ``date``, ``ratio``, ``money``, ``code``, or the base of its unit. Two quantities
            of one kind can contradict each other.
        key: Its value; equal for equal values.
        parts: The keys of coarser quantities that it holds.
    """

    start: int
    end: int
    kind: str
    key: str
    parts: tuple[str, ...] = ()


class Unit(NamedTuple):
    """A unit: the base that it is counted in, and how many of them it is."""

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
    unit: Unit | None = None


LISTS: Mapping[str, Any] = read_data("text.quantities", "forms.json")
# The first characters of the digits of other scripts: Arabic, Persian, Devanagari, Bengali, full width.
_ZEROS = "٠۰०০０"
# Characters that are read as another one; each stays one character, so that places stay the same.
FORMS: Mapping[int, str] = {
    **{ord(zero) + digit: str(digit) for zero in _ZEROS for digit in range(10)},
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


# Letters of a symbol whose capitals count: MB, kW and Hz differ from mb, kw and hz.
_LONGEST_SYMBOL = 2


def _by_form(words: Iterable[str], entry: Any) -> dict[str, Any]:
    """Return an entry by each of its forms; a long word also in small letters."""
    table = {}
    for word in words:
        table[word] = entry
        if len(word) > _LONGEST_SYMBOL:
            table[word.lower()] = entry
    return table


UNITS: dict[str, Unit] = {}
MONEY: dict[str, Unit] = {}
SCALES: dict[str, Decimal] = {}
MONTHS: dict[str, int] = {}
for _row in LISTS["units"]:
    UNITS |= _by_form(_row["words"], Unit(_row["base"], Decimal(_row["factor"]), _row["base"]))
for _row in LISTS["money"]:
    MONEY |= _by_form(_row["words"], Unit(_row["base"], Decimal(_row.get("factor", "1")), "money"))
for _row in LISTS["scales"]:
    SCALES |= _by_form(_row["words"], Decimal(_row["factor"]))
for _number, _row in enumerate(LISTS["months"], 1):
    MONTHS |= dict.fromkeys(_row, _number)
MEASURES = {**UNITS, **MONEY}
SCALES_AND_MEASURES: dict[str, Unit | Decimal] = {**MEASURES, **SCALES}
SHORT_SCALES = {word: Decimal(factor) for word, factor in LISTS["short_scales"].items()}
FRACTIONS = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
DAY_PARTS_BEFORE = frozenset([*LISTS["morning_before"], *LISTS["evening_before"]])
# Names of numbers that no other language reads as a common word: quantities apart from a unit are found by these alone.
NUMBER_NAMES: Mapping[str, str] = {
    **{name: str(number) for number, names in enumerate(LISTS["number_names"]) for name in names},
    **{name: number for number, names in LISTS["single_word_numbers"].items() for name in names},
}
NUMBER_WORDS: Mapping[str, str] = {**NUMBER_NAMES, **LISTS["numbers"]}
_CAPITALISED_MONTHS = frozenset(LISTS["case_sensitive_months"])


# The first letter of the scripts without blanks between words: those of Thai stand before Chinese and Japanese.
_FIRST_UNSPACED = "\u0e00"
_NO_LETTER_FOLLOWS = r"(?![^\W_])"


def alternatives(*names: str) -> str:
    """Return the pattern of the words of lists, the longest first; a word with letters at its end ends there."""
    words = sorted({word for name in names for word in LISTS[name]}, key=len, reverse=True)
    patterns = []
    for word in words:
        pattern = re.escape(word)
        if word[-1].isalpha() and word[-1] < _FIRST_UNSPACED:
            pattern += _NO_LETTER_FOLLOWS
        patterns.append(pattern)
    return "|".join(patterns)


def skip_mark(text: str, place: int, mark: str) -> int:
    """Return the next place of a text where a mark stands at a place; else the same place."""
    return place + 1 if text.startswith(mark, place) else place


def is_month(word: str) -> bool:
    """Whether a word is the name of a month; some must begin with a capital: May, March."""
    name = word.rstrip(".").lower()
    return name in MONTHS and (word[:1].isupper() or name not in _CAPITALISED_MONTHS)


_NAME = re.compile(
    r"""
    °[ ]?[CFcf](?![^\W_])
    |[A-Z]{0,3}[$€£¥₽₹₩₴₺¢]
    |[\u2e80-\U0010ffff]{1,8}
    |[\u0904-\u0939\u0958-\u0961][\u0900-\u0963]{0,24}  # Devanagari, with its marks
    |[^\W\d_\u2e80-\U0010ffff][^\W_\u2e80-\U0010ffff]{0,24}[²³]?(?:/[^\W\d_\u2e80-\U0010ffff]{1,9})?
    |[%٪‰°℃℉]
    """,
    re.VERBOSE,
)


_NAMES = [*MEASURES, *SCALES, *SHORT_SCALES]
_FIRST_WORDS = frozenset(name.split()[0] for name in _NAMES)
_FIRST_OF_SEVERAL = frozenset(name.split()[0].rstrip(".") for name in _NAMES if " " in name)


def name_at(text: str, start: int, table: Mapping[str, Any]) -> tuple[Any, int] | None:
    """Return the entry of the words at a place, behind one blank or hyphen or none, and where they end."""
    if text[start : start + 1] in {" ", "-"}:
        start += 1
    match = _NAME.match(text, start)
    if match is None:
        return None
    word = match[0]
    end = match.end()
    if word[0] >= "\u2e80":
        for size in range(min(len(word), 7), 0, -1):
            if word[:size] in table:
                return table[word[:size]], start + size
        return None
    folded = word.lower()
    if word in _FIRST_OF_SEVERAL or folded in _FIRST_OF_SEVERAL:
        return _several_at(text, start, end, table)
    if word not in _FIRST_WORDS and folded not in _FIRST_WORDS:
        return None  # the usual case
    entry = _get(table, word)
    return None if entry is None else (entry, end)


def _several_at(text: str, start: int, end: int, table: Mapping[str, Any]) -> tuple[Any, int] | None:
    """Return the entry of up to three words, the most of them that have one."""
    ends = [end]
    while len(ends) < 3:  # noqa: PLR2004 - "kilometres per hour" is the longest
        place = end + 1 if text.startswith(".", end) else end
        match = _NAME.match(text, place + 1) if text.startswith(" ", place) else None
        if match is None:
            break
        end = match.end()
        ends.append(end)
    for last in reversed(ends):
        entry = _get(table, text[start:last])
        if entry is not None:
            return entry, last
    return None


def _get(table: Mapping[str, Any], name: str) -> Any:
    entry = table.get(name)
    return table.get(name.lower()) if entry is None and len(name) > _LONGEST_SYMBOL else entry
