"""Reads quantities of several values: a range, a dimension, a duration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from ctxmetrics.text.quantities.amounts import build_amount, read_number, write_number
from ctxmetrics.text.quantities.dates_and_times import (
    LAST_HOUR,
    LAST_MONTH,
    NOON,
    build_date,
    read_date,
    read_time,
)
from ctxmetrics.text.quantities.forms import FRACTIONS, LISTS, Value, alternatives, list_words
from ctxmetrics.text.quantities.in_words import write_share

# What stands between the ends of a range: 5-7, 5 to 7, 5から7
_TO = re.compile(
    rf"[ ]?-[ ]?(?=[\d(+$€£¥{FRACTIONS}]|[^\W\d_])|[ ](?:{alternatives('ranges')})[ ]|[ ]?[至到~][ ]?|から[ ]?|부터[ ]?",
    re.IGNORECASE,
)
_JOINTS = list_words("ranges", "and", "by")
_MAY_JOIN = re.compile(r"[ ]?[-x×X~至到か부]|[ ]([^\W\d_]{1,9})[ ]")
_DASHES = ("-", "~")
_AND = re.compile(rf"[ ](?:{alternatives('and')})[ ]", re.IGNORECASE)
# What stands between the lengths of a dimension: 3 x 4, 3 by 4
_BY = re.compile(r"[ ]?[x×X][ ]?(?=\d)|[ ](?:by|mal|на)[ ](?=\d)")
_OUT_OF = re.compile(rf"[ ](?:{alternatives('out_of')})[ ](?=[^\W_])", re.IGNORECASE)
_RANGE_LEADS = frozenset(LISTS["range_leads"])
_BETWEEN = frozenset(LISTS["between"])
_ANY_CLOCK_LEAD = "um"


def read_range(text: str, begin: int, first: Value, word_before: str) -> Value | None:
    """Read the range or the dimension that a value is the first part of."""
    if first.kind in {"ratio", "fraction", "code"} or first.key.count(".") > 1:
        return None
    mark = _MAY_JOIN.match(text, first.end)
    if mark is None or (mark[1] and mark[1].lower() not in _JOINTS):
        return None  # the usual case
    if first.kind != "time" and first.number is not None:
        dimension = _read_dimension(text, first)
        if dimension is not None:
            return dimension
    start = _skip_joint(text, first.end, word_before)
    if start == len(text):
        return None
    second = read_date(text, start) or read_time(text, start, "") or read_number(text, start)
    if second is None:
        return None
    if word_before in _RANGE_LEADS and second.kind == "s":  # de 9h à 18h
        opening = first if first.kind == "" else read_time(text, begin, _ANY_CLOCK_LEAD)
        closing = read_time(text, start, _ANY_CLOCK_LEAD)
        if opening is not None and closing is not None:
            first = opening
            second = closing
    behind_dash = text[first.end : start].strip() in _DASHES
    return _join(text, first, second, behind_dash=behind_dash)


def read_share(text: str, first: Value) -> Value | None:
    """Read a share of a total: 2 out of 3. The value holds both numbers."""
    joint = _OUT_OF.match(text, first.end)
    if joint is None or not _SHARE.fullmatch(first.key):
        return None
    second = read_number(text, joint.end())
    if second is None or second.kind != "" or not second.key.isdecimal():
        return None
    if float(first.key) > int(second.key):
        return None
    if "in" in joint[0].lower().split():  # the same as "one in five"
        is_in_totals = int(second.key) in _TOTALS
        if not is_in_totals or not first.key.isdecimal() or int(first.key) >= int(second.key):
            return None
        share = write_share(int(first.key), int(second.key))
        return build_amount(second.end, share, None)._replace(kind="fraction")
    return Value(second.end, "fraction", f"{first.key}/{second.key}", (first.key, second.key))


# Totals behind "in": 1 in 5, but not 5 in 2020.
_TOTALS = frozenset((*range(2, 13), 20, 100, 1_000, 10_000, 100_000, 1_000_000))
_SHARE = re.compile(r"\d{1,9}(?:\.\d{1,2})?")


def _skip_joint(text: str, end: int, word_before: str) -> int:
    """Return the position of the second value of a range; the end of the text if there is no second value."""
    joint = _TO.match(text, end)
    if joint is None and word_before in _BETWEEN:
        joint = _AND.match(text, end)
    return len(text) if joint is None else joint.end()


def _read_dimension(text: str, first: Value) -> Value | None:
    """Read a dimension, such as 3 x 4 m; None if the units measure different things."""
    values = [first]
    while joint := _BY.match(text, values[-1].end):
        value = read_number(text, joint.end())
        if value is None or value.number is None or "/" in value.number:
            break
        values.append(value)
    if len(values) == 1:
        return None
    unit = values[-1].unit
    measured = [build_amount(value.end, value.number or "", value.unit or unit) for value in values]
    if len({value.unit and value.unit.base for value in measured}) > 1:
        return None
    parts = tuple(value.key for value in measured) if unit else ()
    return Value(values[-1].end, "dimension", " x ".join(value.key for value in measured), parts)


# A number that may be a year
_YEAR = re.compile(r"1\d{3}|20\d\d")


def _join(text: str, first: Value, second: Value, *, behind_dash: bool) -> Value | None:
    """Build the range of two values; None if they are no range.

    Args:
        text: The text.
        first: The value at which the range begins.
        second: The value at which it ends.
        behind_dash: Whether a dash stands between the values. Behind a word two digits are no year: "fell from 2000 to 50".
    """
    opening: Value | None = first
    closing: Value | None = second
    if second.kind == "time":
        opening = _as_time(first, second)
    elif second.kind == "date":
        opening = _as_date(first, second)
    elif first.kind == "date":
        opening, closing = _complete_dates(text, first, second)
    elif first.unit is None and second.unit is not None and first.number is not None:
        opening = build_amount(first.end, first.number, second.unit)
    elif second.unit is None and first.kind == "money" and second.number is not None:
        closing = build_amount(second.end, second.number, first.unit)
    elif second.kind == "" and _YEAR.fullmatch(first.key) and behind_dash:
        closing = _complete_year(first, second)
    if opening is None or closing is None or opening.kind != closing.kind:
        return None
    if closing.kind in {"ratio", "fraction", "code", "dimension"}:
        return None
    parts = (opening.key, *opening.parts, closing.key, *closing.parts)
    return Value(closing.end, opening.kind or "range", _write_range(opening, closing), parts)


def _write_range(first: Value, second: Value) -> str:
    """Return the key of a range. Plain numbers of which the second is smaller are a result or a ratio: 3-1."""
    is_plain = first.kind == "" and first.key.isdigit() and second.key.isdigit()
    if is_plain and int(first.key) > int(second.key):
        return f"{first.key}:{second.key}"
    return f"{first.key}..{second.key}"


def _as_time(first: Value, second: Value) -> Value | None:
    """Read the number before a time as the time at which a range begins: 6 to 8 pm."""
    digits = first.number or ""
    if not digits.isdigit() or int(digits) > LAST_HOUR:
        return first if first.kind == "time" else None
    if first.kind not in {"", "time"}:
        return None
    hour = int(digits)
    minutes = first.key[2:] if first.kind == "time" else ":00"
    half_of_day = (second.number or "")[-2:]
    if half_of_day in {"am", "pm"} and hour <= NOON:
        hour = hour % NOON + (NOON if half_of_day == "pm" else 0)
        if f"{hour:02}{minutes}" >= second.key:  # 11 to 2 pm
            hour = (hour + NOON) % LAST_HOUR
    return Value(first.end, "time", f"{hour:02}{minutes}")


# The key of a date: 2024-05-12; without a year --05-12.
_DATE_KEY = re.compile(r"(?P<year>\d{4}|-)-(?P<month>\d\d)-(?P<day>\d\d)")


def _as_date(first: Value, second: Value) -> Value | None:
    """Read what stands before a date as the date at which a range begins: 12 to 14 May 2024, 12 May to 3 June 2024."""
    second_date = _DATE_KEY.fullmatch(second.key)
    if second_date is None:
        return first if first.kind == "date" else None
    year = None if second_date["year"] == "-" else second_date["year"]
    if first.kind == "" and first.key.isdigit():
        return build_date(first.end, year, int(second_date["month"]), int(first.key))
    first_date = _DATE_KEY.fullmatch(first.key)
    if first_date is not None and first_date["year"] == "-":
        return build_date(first.end, year, int(first_date["month"]), int(first_date["day"]))
    return first if first.kind == "date" else None


# The year behind the day of a range: May 3 to May 5, 2024
_YEAR_BEHIND = re.compile(r",?[ ](\d{4})(?!\d|[.,:]\d)")


def _complete_dates(text: str, first: Value, second: Value) -> tuple[Value | None, Value | None]:
    """Read the day behind a date as the date at which a range ends: May 12 to 14, 2024."""
    first_date = _DATE_KEY.fullmatch(first.key)
    if first_date is None or first_date["year"] != "-":
        return None, None
    if second.kind != "" or not second.key.isdigit():
        return None, None
    year_behind = _YEAR_BEHIND.match(text, second.end)
    year = year_behind[1] if year_behind else None
    end = year_behind.end() if year_behind else second.end
    month = int(first_date["month"])
    opening = build_date(first.end, year, month, int(first_date["day"]))
    return opening, build_date(end, year, month, int(second.key))


def _complete_year(first: Value, second: Value) -> Value:
    """Read two digits behind a year and a dash as a year of the same century: 1914-18.

    Args:
        first: The year at which the range begins.
        second: The number behind the dash.

    Returns:
        The second year; the number itself if it has not two digits, is not later, or may be a month (1914-12).
    """
    year_of_century = int(first.key) % 100
    is_year = len(second.key) == 2 and int(second.key) > max(LAST_MONTH, year_of_century)  # noqa: PLR2004 - digits
    if not is_year:
        return second
    century = first.key[:2]
    year = century + second.key
    return second._replace(key=year, number=year)


# "m" and "in" are short for minutes and inches only behind a larger unit: 2h 15m, 5 ft 11 in.
_SHORT_MINUTES = re.compile(r"[ ]?(?P<number>\d{1,2})[ ]?m(?![^\W_])")
# The inches of a length in feet: 6 ft 2 in
_SHORT_INCHES = re.compile(r"[ ]?(?P<number>\d{1,2})[ ]?in(?![^\W_]|[ ]\d|[ ](?:the|a)[ ])")
# The key of an amount with a clear number. "1/4" and "1.200" are not clear.
_AMOUNT = re.compile(r"\d+(?:\.\d+)? \w+")
# What stands before the minutes of a duration: 2 hours and 5 minutes
_AND_MINUTES = re.compile(r"[ ]?(?:and[ ]|und[ ]|et[ ]|y[ ])?(?=\d)")


# The base units of amounts that may have a larger and a smaller unit: hours and minutes, feet and inches, years and months.
_UNITS_OF_COMPOSED_AMOUNTS = frozenset(("s", "in", "month", "oz"))
# By the base and the factor of the larger unit: the pattern of the short form of the smaller unit, and its factor.
_SMALLER_UNITS: Mapping[tuple[str, int], tuple[re.Pattern[str], int]] = {
    ("s", 3600): (_SHORT_MINUTES, 60),
    ("in", 12): (_SHORT_INCHES, 1),
}


def read_composed(text: str, value: Value) -> Value:
    """Read hours, minutes and seconds, or feet and inches, as one amount."""
    unit = value.unit
    smaller = _SMALLER_UNITS.get((unit.base, int(unit.factor))) if unit else None
    if smaller is not None and _AMOUNT.fullmatch(value.key):
        pattern, factor = smaller
        match = pattern.match(text, value.end)
        if match is not None:
            amount, base = value.key.split()
            total = Decimal(amount) + int(match["number"]) * factor
            return value._replace(end=match.end(), key=f"{write_number(total)} {base}")
    while (
        value.unit is not None
        and value.unit.base in _UNITS_OF_COMPOSED_AMOUNTS
        and value.unit.factor > 1
    ):
        joint = _AND_MINUTES.match(text, value.end)
        smaller_value = read_number(text, joint.end()) if joint else None
        if smaller_value is None or not _is_smaller_part(smaller_value, value):
            break
        total = Decimal(value.key.split()[0]) + Decimal(smaller_value.key.split()[0])
        value = smaller_value._replace(key=f"{write_number(total)} {value.unit.base}")
    return value


def _is_smaller_part(value: Value, larger: Value) -> bool:
    """Whether an amount is in a smaller unit of the same measure as another amount, and both numbers are clear."""
    if value.unit is None or larger.unit is None or value.unit.base != larger.unit.base:
        return False
    if value.unit.factor >= larger.unit.factor:
        return False
    return _AMOUNT.fullmatch(larger.key) is not None and _AMOUNT.fullmatch(value.key) is not None
