"""Dates and clock times: in digits, and times in words.

A date may lack its year or its day. A time has 24 hours, or 12 with what says which half of the day is meant. A time in words (half
past nine, halb zehn, wpół do dziesiątej) is an hour and a phrase. The phrases stand in ``forms.json``, by the minutes that they add
to the hour.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxmetrics.text.quantities.forms import (
    DAY_PARTS_BEFORE,
    LISTS,
    MEASURES,
    MONTHS,
    NUMBER_WORDS,
    UNITS,
    Value,
    alternatives,
    is_month,
    list_words,
    name_at,
    skip_mark,
)
from ctxmetrics.text.quantities.in_words import (
    MARKS_AROUND_WORD,
    TENS_JOINTS,
    is_unit,
    stand_at,
    strip_marks,
)

# The name of a month: letters, with the marks of Devanagari and Thai.
_NAME = r"[^\W\d_](?:[^\W\d_]|[\u0900-\u0963\u0e31-\u0e4e]){0,24}"
# A date with the year first: 2024-05-12
_YEAR_FIRST = re.compile(r"(\d{4})(?P<mark>[-/.])[ ]?(\d{1,2})(?P=mark)[ ]?(\d{1,2})(?!\d|[-/.:]\d)")
# A date with the year last: 12.05.2024
_YEAR_LAST = re.compile(
    r"(\d{1,2})(?P<mark>[-/.])[ ]?(\d{1,2})(?P=mark)[ ]?(\d{4}|\d\d)(?!\d|[-/.:]\d)"
)
_DAY_FIRST = re.compile(
    rf"""
    (\d{{1,2}})(?:st|nd|rd|th|er|[ºª°]|\.)?[ -]?      # 12, 12th, 1er, 1°, 12.
    (?:(?:day\ of|of|de|del)[ ])?                 # 12 de mayo
    ({_NAME})\.?                                  # the month
    (?:(?:,?[ ](?:de[ ]|del[ ]|of[ ])?|-)(\d{{4}})(?!\d|[-:.,]\d))?  # the year, if there is one
    """,
    re.VERBOSE,
)
_MONTH_FIRST = re.compile(
    rf"""
    ({_NAME})\.?[ ](?:(?:de|del|of|the)[ ])?
    (?:(\d{{4}})(?!\d|[.,:]\d)                                    # May 2024
    |(\d{{1,2}})(?:st|nd|rd|th)?(?!\d|[.,:]\d|[^\W\d_])(?:,?[ ](\d{{4}})(?!\d|[.,:]\d))?)  # May 12, 2024
    """,
    re.VERBOSE,
)
# A date in Chinese, Japanese or Korean: 2024年5月12日
_EAST_ASIAN = re.compile(
    r"(?:(\d{4})[ ]?[年년][ ]?)?(?:(\d{1,2})[ ]?[月월][ ]?(?:(\d{1,2})[ ]?[日号號일])?)?"
)
_INTEGER = re.compile(r"\d+")
LAST_MONTH = 12
_LAST_DAY = 31
_DAY_DIGITS = 2


def read_date(text: str, start: int) -> Value | None:
    """Read the date that begins at a position, with or without its year or its day; None if no date begins there."""
    if text[start].isalpha():
        return _read_month_first(text, start)
    digits = _INTEGER.match(text, start)
    if digits is None:
        return None
    if text.startswith(("-", "/", "."), digits.end()):
        date = _read_digits(text, start)
        if date is not None:
            return date
    # The signs behind the parts of a date, such as 年, are not ASCII.
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
    day, written_name, year = match.groups()
    name = written_name.lower()
    # In small letters a name may be another word: "12 may apply". With a year behind it, it is a month: 12 maj 2024.
    is_month_before_year = bool(year) and name in MONTHS
    if not is_month(written_name) and not is_month_before_year:
        return None
    return build_date(match.end(), year, MONTHS[name], int(day))


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
        return build_date(match.end(), match[2], month, day=0)  # no day
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


# --- Clock times ------------------------------------------------------------------------------------------------------

_TIME = re.compile(
    r"""
    (?P<hour>\d{1,2})
    (?:(?P<mark>[:.])(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?(?!\d|[:.,]\d)  # 18:00, 18.00, 18:00:05
    |[ ]?(?:h|H|u)[ ]?(?P<minute_behind>\d\d)(?!\d|[ ]?(?:m|м)|[.,:]\d)              # 18h30
    |[ ]?[Uu]hr[ ](?P<minute_of_clock>\d\d)(?!\d|[.,:]\d)                            # 18 Uhr 30
    |[ ]?(?P<east_asian>[时時点點시])(?![间間간])[ ]?(?:(?P<half>[半반])|(?P<minute_east>\d{1,2})[ ]?[分분])?
    |(?!\d|[:.,/]\d))
    """,
    re.VERBOSE,
)
# The maximum number of digits of an hour. A time without a mark has more: 0700 hours.
_MAX_HOUR_DIGITS = 2
# A time without a mark: 0700 hours
_MILITARY = re.compile(r"(?P<hour>0\d|1\d|2[0-3])(?P<minute>[0-5]\d)[ ](?:hours|hrs|hr|h|Z)(?![^\W_])")
_DAY_PART = re.compile(
    rf"[ ]?(?:(?P<clock>{alternatives('clock')})|(?P<clock_behind>{alternatives('clock_behind_lead')}))?"
    rf"(?P<part>[ -]?(?:(?P<morning>{alternatives('morning')})|(?P<evening>{alternatives('evening')})|(?P<night>{alternatives('night')})))?",
    re.IGNORECASE,
)
# The first word of what may stand behind a time.
_MARK = re.compile(r"[ -]?('?[^\W\d_]{1,24})")
_MARKS = frozenset(
    re.split("(?<!^)[ .'-]", word)[0]
    for word in list_words("clock", "clock_behind_lead", "morning", "evening", "night")
)
_EVENING = frozenset(LISTS["evening_before"])
_CLOCK_LEADS = frozenset(LISTS["clock_leads"])
_SURE_CLOCK_LEADS = frozenset(word.strip(".") for word in LISTS["sure_clock_leads"])
_MILITARY_LEADS = frozenset(LISTS["military_leads"])
_DOTTED_LEADS = frozenset(word.strip(".") for word in LISTS["dotted_leads"])
NOON = 12
LAST_HOUR = 24
_LAST_MINUTE = 59
# At night, the hours up to this one are those of the morning.
_LAST_EARLY_HOUR = 5


def read_time(text: str, start: int, word_before: str) -> Value | None:
    """Read a clock time.

    Args:
        text: The text.
        start: The position at which the time begins.
        word_before: The word before it, which may say that an hour is meant: at, um, à.
    """
    first_characters = text[start : start + _MAX_HOUR_DIGITS + 1]
    if len(first_characters) > _MAX_HOUR_DIGITS and first_characters.isdecimal():
        return _read_military(text, start, word_before)
    # In Chinese, Japanese and Korean the half of the day stands before the time: 下午3时. It is None if it is not known.
    is_after_noon, start = _read_half_before(text, start)
    match = _TIME.match(text, start)
    if match is None:
        return None
    end = match.end()
    hour = int(match["hour"])
    minute = _read_minute(match)
    if hour > LAST_HOUR or minute > _LAST_MINUTE:
        return None

    # A number is a time only if its form, or a word before or behind it, says so.
    is_clock = is_after_noon is not None or _is_clock(text, match, word_before)
    day_part = _match_day_part(text, end)
    if day_part is not None:
        is_led = is_clock or word_before in _CLOCK_LEADS
        if day_part["clock"] or day_part["part"] or (day_part["clock_behind"] and is_led):
            end = day_part.end()
            is_clock = True
        if day_part["part"]:
            # At night, 11 is before midnight, and 3 is in the morning.
            is_late_night = day_part["night"] and _LAST_EARLY_HOUR < hour < NOON
            is_after_noon = bool(day_part["evening"] or is_late_night)
    if not is_clock:
        return None

    number = match["hour"]
    if is_after_noon is not None and hour <= NOON:
        number += "pm" if is_after_noon else "am"
        hour = hour % NOON + (NOON if is_after_noon else 0)  # 12 am is 0, 12 pm is 12
    time = _build_time(match, end, hour, minute, word_before)
    return time._replace(number=number)


def _match_day_part(text: str, start: int) -> re.Match[str] | None:
    """Match what may stand behind a time: "o'clock", "pm", "in the evening".

    Its first word is looked up before, which is faster than the long pattern.
    """
    first_word = _MARK.match(text, start)
    if first_word is None or first_word[1].lower() not in _MARKS:
        return None
    return _DAY_PART.match(text, start)


# Italian "alle 9" is at nine, German "alle 9 Gäste" is all nine guests. So it is a time only before a mark or an Italian word.
_ITALIAN_LEADS = frozenset(("alle", "dalle"))
_BEHIND_ITALIAN_HOUR = re.compile(r"[.,;:!?)]|[ ](?:e|di|del|della|in|alle|a|per)\b")


def _build_time(match: re.Match[str], end: int, hour: int, minute: int, word_before: str) -> Value:
    """Build a time or a duration: 1h30 is a duration, unless it is long or a word such as "at" stands before it. It holds both keys."""
    seconds = f":{match['second']}" if match["second"] not in {None, "00"} else ""
    key = f"{hour % LAST_HOUR:02}:{minute:02}{seconds}"  # 24:00 is midnight
    if not match["minute_behind"]:
        return Value(end, "time", key)
    duration = f"{(hour * 60 + minute) * 60} s"
    if hour <= _MAX_DURATION_HOURS and word_before not in _LEADS:
        return Value(end, "s", duration, (key,))
    return Value(end, "time", key, (duration,))


_LEADS = list_words("clock_leads", "sure_clock_leads", "hour_leads", "range_leads", "military_leads")
# The maximum number of hours of 6h30 as a duration: most films, trips and opening times divide there.
_MAX_DURATION_HOURS = 6


def _read_military(text: str, start: int, word_before: str) -> Value | None:
    """Read a time without a mark: 0700 hours; an hour of two digits may be a duration, unless "at" stands before it."""
    match = _MILITARY.match(text, start)
    if match is None or not (match["hour"][0] == "0" or word_before in _MILITARY_LEADS):
        return None
    return Value(match.end(), "time", f"{match['hour']}:{match['minute']}")


def _read_half_before(text: str, start: int) -> tuple[bool | None, int]:
    """Return whether the words before a time say that it is after noon, and the position at which the time begins."""
    if text[start] < "\u2e80":
        return None, start
    for name in DAY_PARTS_BEFORE:
        if text.startswith(name, start):
            return name in _EVENING, skip_mark(text, start + len(name), " ")
    return None, start


def _read_minute(match: re.Match[str]) -> int:
    """Return the minute of a time; 0 if it has none: 18时."""
    if match["half"]:  # 3点半 is half past three
        return 30
    for name in ("minute", "minute_behind", "minute_of_clock", "minute_east"):
        minute = match[name]
        if minute:
            return int(minute)
    return 0


def _is_clock(text: str, match: re.Match[str], word_before: str) -> bool:
    """Whether the form of a time, or the word before it, says that it is one."""
    is_hour_alone = match.lastgroup == "hour"
    if is_hour_alone and word_before in _ITALIAN_LEADS:
        return _BEHIND_ITALIAN_HOUR.match(text, match.end()) is not None
    if is_hour_alone:
        return word_before in _SURE_CLOCK_LEADS
    if match["mark"] == ".":
        is_turkish = text.startswith(("'d", "'t"), match.end())  # 9.30'da
        is_led = word_before in _DOTTED_LEADS or is_turkish
        return is_led and name_at(text, match.end(), MEASURES) is None
    marks = ("mark", "east_asian", "minute_behind", "minute_of_clock")
    return word_before in _SURE_CLOCK_LEADS or any(map(match.__getitem__, marks))


# --- Times in words ---------------------------------------------------------------------------------------------------

_MINUTES_OF_HOUR = 60


class SpokenTime(NamedTuple):
    """A time in words.

    Attributes:
        begin: The index of its first word.
        end: The index behind its last word.
        key: The hours and minutes of the time in digits, such as ``09:30``.
    """

    begin: int
    end: int
    key: str


class _MinutesPhrase(NamedTuple):
    """Words before or behind an hour that add minutes to it: "half past", "y media".

    Attributes:
        words: The words.
        mark: The index of the rarest word: the phrase is looked for where this word stands.
        minutes: The minutes that the phrase adds to the hour.
        hours: The numbers of the hours by their names, in the language of the phrase.
    """

    words: tuple[str, ...]
    mark: int
    minutes: int
    hours: Mapping[str, int]


def _rate_rarity(word: str) -> int:
    """Return a number that is higher for a rarer word.

    Number words are the rarest. Of other words, such as those that join minutes to an hour, longer ones are rarer.
    """
    return _RARITY_OF_NUMBERS if word.partition("-")[0] in NUMBER_WORDS else len(word)


# More than the length of any word that joins minutes to an hour.
_RARITY_OF_NUMBERS = 16


def _read_phrases(side: str) -> dict[str, list[_MinutesPhrase]]:
    """Read the phrases before or behind an hour, by the rarest word of each.

    Args:
        side: ``"before"`` or ``"behind"``.
    """
    phrases_by_mark: dict[str, list[_MinutesPhrase]] = {}
    times_of_language: dict[str, Any]
    for times_of_language in LISTS["spoken_times"]:
        hours: dict[str, int] = {}
        for number, names in enumerate(times_of_language["hours"], 1):
            hours.update(dict.fromkeys(names, number))
        for minutes, phrases in times_of_language.get(side, {}).items():
            for phrase in phrases:
                words = tuple(phrase.split())
                rarest_word = max(words, key=_rate_rarity)
                entry = _MinutesPhrase(words, words.index(rarest_word), int(minutes), hours)
                phrases_by_mark.setdefault(rarest_word, []).append(entry)
    return phrases_by_mark


_PHRASES_BEFORE_HOUR = _read_phrases("before")
_PHRASES_BEHIND_HOUR = _read_phrases("behind")
# The words of a text are compared without marks around them: Dutch "'s avonds" is "s avonds".
_EVENING_PHRASES = frozenset(part.strip("'") for part in LISTS["evening"])
_MORNING_PHRASES = frozenset(part.strip("'") for part in LISTS["morning"])
_NIGHT_PHRASES = frozenset(part.strip("'") for part in LISTS["night"])
_DAY_PARTS = _EVENING_PHRASES | _MORNING_PHRASES | _NIGHT_PHRASES
# Phrases that say "24/7", by one word of each.
_ALWAYS: Mapping[str, Sequence[Sequence[str]]] = {
    mark: [phrase.split() for phrase in phrases] for mark, phrases in LISTS["always"].items()
}
# A time in words has one of these words.
SPOKEN_MARKS = frozenset((*_PHRASES_BEFORE_HOUR, *_PHRASES_BEHIND_HOUR, *_ALWAYS))


def find_spoken_time(chunks: Sequence[str], index: int) -> SpokenTime | None:
    """Find the time in words that has its mark at an index.

    Args:
        chunks: The pieces of a text between white space.
        index: The index of a word of `SPOKEN_MARKS`.

    >>> find_spoken_time(["at", "half", "past", "nine."], 1)
    SpokenTime(begin=1, end=4, key='09:30')
    """
    mark = strip_marks(chunks[index])
    for words in _ALWAYS.get(mark, ()):
        begin = index - words.index(mark)
        if stand_at(chunks, begin, words):
            return SpokenTime(begin, begin + len(words), "24/7")
    # The mark may stand inside its phrase: `phrase.mark` is its position there.
    for phrase in _PHRASES_BEFORE_HOUR.get(mark, ()):
        begin = index - phrase.mark
        hour_index = begin + len(phrase.words)
        if hour_index >= len(chunks) or not stand_at(chunks, begin, phrase.words):
            continue
        hour = _read_hour(chunks[hour_index], phrase.hours)
        if hour is not None and not _counts_unit(chunks, hour_index):
            minutes = hour * _MINUTES_OF_HOUR + phrase.minutes
            return _write_time(chunks, begin, hour_index + 1, minutes)
    for phrase in _PHRASES_BEHIND_HOUR.get(mark, ()):
        hour_index = index - phrase.mark - 1
        if hour_index < 0 or not stand_at(chunks, hour_index + 1, phrase.words):
            continue
        hour = _read_hour(chunks[hour_index], phrase.hours)
        if hour is None or (_is_sum(phrase) and not _is_led(chunks, hour_index)):
            continue
        is_in_words = not chunks[hour_index][0].isdecimal()
        if phrase.minutes or is_in_words:
            end = hour_index + 1 + len(phrase.words)
            return _write_time(chunks, hour_index, end, hour * _MINUTES_OF_HOUR + phrase.minutes)
    return None


def _counts_unit(chunks: Sequence[str], index: int) -> bool:
    """Whether a unit follows a number: "at five to ten percent" is not a time."""
    return chunks[index][-1] not in MARKS_AROUND_WORD and is_unit(chunks, index + 1)


def _is_sum(phrase: _MinutesPhrase) -> bool:
    """Whether a phrase adds a number to the hour, as in "las seis y diez": without "las" it may be a list of numbers."""
    return phrase.words[0] in TENS_JOINTS and phrase.words[-1] in NUMBER_WORDS


def _is_led(chunks: Sequence[str], index: int) -> bool:
    """Whether a word such as "at" stands before an index."""
    return index > 0 and chunks[index - 1].lower() in LISTS["clock_leads"]


def _read_hour(chunk: str, hours: Mapping[str, int]) -> int | None:
    """Return the hour of a chunk, which is a number or the name of an hour; None for any other chunk."""
    word = strip_marks(chunk)
    is_short_number = word.isascii() and word.isdecimal() and len(word) <= len("12")
    if is_short_number and 0 < int(word) <= LAST_HOUR:
        return int(word)
    return hours.get(word)


def _write_time(chunks: Sequence[str], begin: int, end: int, minutes: int) -> SpokenTime:
    """Build the time of a phrase. A part of the day behind the phrase belongs to it: "half past nine in the evening".

    Args:
        chunks: The chunks of the text.
        begin: The index of the phrase's first chunk.
        end: The index behind its last chunk.
        minutes: The time, in minutes since midnight, if it is in the first half of the day.
    """
    noon = NOON * _MINUTES_OF_HOUR
    for word_count in (1, 2, 3):
        day_part_end = end + word_count
        day_part = " ".join(map(strip_marks, chunks[end:day_part_end]))
        if day_part_end <= len(chunks) and day_part in _DAY_PARTS:
            end = day_part_end
            is_after_early_hours = minutes % noon > _LAST_EARLY_HOUR * _MINUTES_OF_HOUR
            is_late = day_part in _EVENING_PHRASES or (
                day_part in _NIGHT_PHRASES and is_after_early_hours
            )
            minutes = minutes % noon + (noon if is_late else 0)
            break
    if minutes < _MINUTES_OF_HOUR:  # "half past twelve" is after noon
        minutes += noon
    hour, minute = divmod(minutes, _MINUTES_OF_HOUR)
    return SpokenTime(begin, end, f"{hour:02}:{minute:02}")
