"""Dates, with or without their year or day."""

from __future__ import annotations

import re

from ctxmetrics.text.quantities.forms import MONTHS, UNITS, Value, is_month, name_at

# The name of a month: letters, with the marks of Devanagari and Thai.
_NAME = r"[^\W\d_](?:[^\W\d_]|[\u0900-\u0963\u0e31-\u0e4e]){0,24}"
_YEAR_FIRST = re.compile(r"(\d{4})(?P<mark>[-/.])[ ]?(\d{1,2})(?P=mark)[ ]?(\d{1,2})(?!\d|[-/.:]\d)")
_YEAR_LAST = re.compile(
    r"(\d{1,2})(?P<mark>[-/.])[ ]?(\d{1,2})(?P=mark)[ ]?(\d{4}|\d\d)(?!\d|[-/.:]\d)"
)
_DAY_FIRST = re.compile(
    rf"""
    (\d{{1,2}})(?:st|nd|rd|th|er|º|ª|\.)?[ -]?      # 12, 12th, 1er, 12.
    (?:(?:day\ of|of|de|del)[ ])?                 # 12 de mayo
    ({_NAME})\.?                                  # the month
    (?:(?:,?[ ](?:de[ ]|del[ ]|of[ ])?|-)(\d{{4}})(?!\d|[-:.,]\d))?
    """,
    re.VERBOSE,
)
_MONTH_FIRST = re.compile(
    r"""
    ([^\W\d_]{1,24})\.?[ ](?:(?:de|del|of|the)[ ])?
    (?:(\d{4})(?!\d|[.,:]\d)                                    # May 2024
    |(\d{1,2})(?:st|nd|rd|th)?(?!\d|[.,:]\d|[^\W\d_])(?:,?[ ](\d{4})(?!\d|[.,:]\d))?)  # May 12, 2024
    """,
    re.VERBOSE,
)
_EAST_ASIAN = re.compile(
    r"(?:(\d{4})[ ]?[年년][ ]?)?(?:(\d{1,2})[ ]?[月월][ ]?(?:(\d{1,2})[ ]?[日号號일])?)?"
)
_INTEGER = re.compile(r"\d+")
LAST_MONTH = 12
_LAST_DAY = 31
_DAY_DIGITS = 2


def read_date(text: str, start: int) -> Value | None:
    """Read a date, with or without its year or its day."""
    if text[start].isalpha():
        return _read_month_first(text, start)
    digits = _INTEGER.match(text, start)
    if digits is None:
        return None
    mark = text[digits.end() : digits.end() + 1]
    if mark and mark in "-/.":
        date = _read_digits(text, start)
        if date is not None:
            return date
    if not text.isascii():
        date = _read_east_asian(text, start)
        if date is not None:
            return date
    return _read_day_first(text, start) if len(digits[0]) <= _DAY_DIGITS else None


def _read_day_first(text: str, start: int) -> Value | None:
    """Read a date whose day stands before the name of its month."""
    match = _DAY_FIRST.match(text, start)
    if match is None:
        return None
    name = match[2].lower()
    # With a year behind it a small letter is no other word: 12 maj 2024.
    if is_month(match[2]) or (match[3] and name in MONTHS):
        return build_date(match.end(), match[3], MONTHS[name], int(match[1]))
    return None


def _read_digits(text: str, start: int) -> Value | None:
    """Read a date of digits and marks."""
    match = _YEAR_FIRST.match(text, start)
    if match is not None:
        year, _, month, day = match.groups()
        return build_date(match.end(), year, int(month), int(day))
    match = _YEAR_LAST.match(text, start)
    return None if match is None else _read_year_last(match)


def _read_month_first(text: str, start: int) -> Value | None:
    """Read a date that begins with the name of its month."""
    match = _MONTH_FIRST.match(text, start)
    if match is None or not is_month(match[1]):
        return None
    month = MONTHS[match[1].lower()]
    if match[2]:
        return build_date(match.end(), match[2], month, 0)
    if not match[4] and name_at(text, match.end(), UNITS):  # In May 12 degrees
        return None
    return build_date(match.end(), match[4], month, int(match[3]))


def _read_east_asian(text: str, start: int) -> Value | None:
    """Read a date whose parts have a sign behind them; a year alone is one as well."""
    match = _EAST_ASIAN.match(text, start)
    if match is None or match.end() == start:
        return None
    year, month, day = match.groups()
    if month is None:
        return Value(match.end(), "year", year)
    return build_date(match.end(), year, int(month), int(day or 0))


def _read_year_last(match: re.Match[str]) -> Value | None:
    """Read a date of digits whose year stands last; which of the others is the month may not be known."""
    first, mark, second, year = match.groups()
    day = int(first)
    month = int(second)
    if len(year) < len("2024"):  # which century is not known; with points it may be a version
        if mark != "/":
            return None
        return Value(match.end(), "date", f"{day}/{month}/{year}")
    if mark != "." and day <= LAST_MONTH and month <= LAST_MONTH and day != month:
        return Value(match.end(), "date", f"{day}/{month}/{year}", (year,))
    if mark != "." and month > LAST_MONTH:
        day, month = month, day
    return build_date(match.end(), year, month, day)


def build_date(end: int, year: str | None, month: int, day: int) -> Value | None:
    """Build a date, with the keys of the coarser dates that it holds. A part that is absent is None or 0.

    The key ``?05-12`` is a day whose year is not known; the key ``=05`` is a month with a known year.
    """
    if not 1 <= month <= LAST_MONTH or day > _LAST_DAY:
        return None
    name = f"-{month:02}" + (f"-{day:02}" if day else "")
    if year is None:
        return Value(end, "date", f"-{name}", (f"--{month:02}", f"?{month:02}-{day:02}") if day else ())
    parts = [year, f"--{month:02}", f"={month:02}"]
    if day:
        parts += [f"{year}-{month:02}", f"-{name}"]
    return Value(end, "date", year + name, tuple(parts))
