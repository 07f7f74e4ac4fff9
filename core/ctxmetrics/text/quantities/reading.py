"""Reads the quantities of a text."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from functools import lru_cache

from ctxmetrics.text.quantities.amounts import (
    TELEPHONE,
    WORDED,
    ZONE,
    read_number,
    read_number_word,
)
from ctxmetrics.text.quantities.dates_and_times import read_date, read_time
from ctxmetrics.text.quantities.forms import (
    DAY_PARTS_BEFORE,
    FORMS,
    FRACTIONS,
    LISTS,
    MEASURES,
    MONEY,
    MONTHS,
    SCALES,
    Quantity,
    Value,
    is_month,
    list_words,
)
from ctxmetrics.text.quantities.ranges import read_composed, read_range, read_share

# Words behind a number that may be a part of its quantity: units, months, words of ranges.
_WORDS_BEHIND_NUMBER = frozenset(
    word.split()[0].rstrip(".").lower()
    for word in [
        *MEASURES,
        *SCALES,
        *MONTHS,
        *list_words("ranges", "by", "clock", "clock_behind_lead", "morning", "evening", "night"),
        *("n", "e"),  # 41.73 N
        *(phrase.split()[0] for phrase in LISTS["out_of"]),
    ]
)
# Words before a number that may be a part of its quantity.
_WORDS_BEFORE_NUMBER = frozenset(
    [
        *MONTHS,
        *(word.lower() for word in MONEY),
        *list_words("minus", "between", "range_leads"),
        *list_words("hour_leads", "clock_leads", "sure_clock_leads", "military_leads"),
        *("de", "of", "del", "±"),
    ]
)


# Words that may stand between the parts of a quantity, but never at its end.
_LINK_WORDS = frozenset(
    [
        *list_words("ranges", "and", "by", "range_leads", "between"),
        *" ".join(LISTS["out_of"]).split(),
        *("in", "the", "of", "de", "del", "la", "du", "da", "po", "per", "at", "à", "a"),
    ]
)
# Words that may stand inside a quantity, behind its first number.
_WORDS_WITHIN_QUANTITY = frozenset(
    [
        *_WORDS_BEHIND_NUMBER,
        *_WORDS_BEFORE_NUMBER,
        *_LINK_WORDS,
        *(word.rstrip(".").lower() for word in " ".join([*MEASURES, *SCALES]).split()),
        *(word.rstrip(".") for word in " ".join(list_words("morning", "evening", "night")).split()),
        *(word.partition("-")[0] for word in " ".join(LISTS["below_zero"]).split()),
    ]
)
# Marks before and behind a word.
_MARKS_AROUND_WORD = ".,;:!?()[]{}<>*_\"'“”„‘’«»‹›…"
# The maximum number of chunks of a quantity before and behind its first number.
_MAX_WORDS_AHEAD = 3
_MAX_WORDS_WITHIN = 16
# The first character of the scripts of Chinese, Japanese and Korean.
_FIRST_EAST_ASIAN = "\u2e80"
_FEET = frozenset(("ft", "ft.", "feet", "foot"))
# In a stretch that ends as "ft 2 in", the word for feet is the third chunk from the end.
_CHUNKS_FROM_FEET_TO_END = 3


_DIGITS = re.compile(rf"[0-9]+|[{FRACTIONS}]")
_DIGITS_OR_WORDED = re.compile(rf"[0-9]+|[{FRACTIONS}]|{WORDED.pattern}", re.IGNORECASE)
# A plain number, marks, and the word behind a blank.
_PLAIN_NUMBER = re.compile(
    r"\d+(?:,\d{3})*(?:\.\d+)?(?:st|nd|rd|th|s)?([.,;:!?)\]\"']*)(?:\s+|\Z)(\S*)"
)
# Characters that may stand before the sign of a number.
_OPENING_CHARACTERS = frozenset(" \n\t(\"'[")
# Chinese and Japanese write no blank before a sign: 气温为-5度
_CHARACTERS_BEFORE_SIGN = _OPENING_CHARACTERS | frozenset("为為是约約到至达達は")
# A number behind one of these characters is not a part of a word.
_CHARACTERS_BEFORE_PLAIN_NUMBER = frozenset(" \n\t(\"'[#*|>=:,;")
# A chunk that begins with one of these characters may continue a quantity.
_CONTINUING_CHARACTERS = frozenset("0123456789-:/%‰٪°℃℉~^×x¼½¾$€£¥₽₹₩₴₺¢")
# A letter or digit of a script with spaces.
_SPACED_LETTER = r"(?:(?=[\0-\u2e7f])\w)"
# A word with digits, to its end: B12-a.
_CODE_END = re.compile(rf"{_SPACED_LETTER}*(?:[-.]{_SPACED_LETTER}+)*")


def read_quantities(text: str, *, number_words: bool = False) -> list[Quantity]:
    """Read the quantities of a text in order; they do not overlap.

    Args:
        text: The text.
        number_words: Whether number words are looked for beside digits ("three years").

    >>> [(one.kind, one.key) for one in read_quantities("On May 12, 2024 it opens from 11:00 to 6 pm for $5.")]
    [('date', '2024-05-12'), ('time', '11:00..18:00'), ('money', '5 usd')]
    """
    if not text.isascii():
        text = text.translate(FORMS)
    pattern = _DIGITS_OR_WORDED if number_words else _DIGITS
    quantities: list[Quantity] = []
    earliest = 0  # the first character that may belong to the next quantity
    search_start = 0
    while match := pattern.search(text, max(earliest, search_start)):
        start, end = match.span()
        if match.lastgroup is not None:
            number_word = read_number_word(match)
            if number_word is None:
                search_start = match.end("word")
                continue
            _, end = number_word
        if _is_plain(text, earliest, start):
            earliest = end
            continue
        begin, word_before = _find_begin(text, earliest, start)
        first = (
            read_date(text, begin) or read_time(text, begin, word_before) or read_number(text, begin)
        )
        quantity = None
        if first is not None:
            share = read_share(text, first) if first.kind == "" else None
            value = share or read_range(text, begin, first, word_before) or read_composed(text, first)
            quantity = _name_kind(text, begin, value, word_before if value == first else "")
        if quantity is None:
            before = text[start - 1 : start]
            # A number in a word, such as B12, is read with the word.
            is_code = start > earliest and before.isalpha() and before < _FIRST_EAST_ASIAN
            earliest = _skip_code(text, end) if is_code else end
            continue
        quantities.append(quantity)
        earliest = quantity.end
    return quantities


def find_stretch(
    chunks: Sequence[str], numbers: Container[int], index: int, earliest: int
) -> tuple[int, int]:
    """Return the start and the end of the chunks that may be one quantity together with a number.

    Args:
        chunks: The parts of a text between white space.
        numbers: The indexes of the chunks with a digit or a number word.
        index: The index of the chunk with the number.
        earliest: The index of the first chunk that may belong to the quantity.
    """
    begin = index
    lowest = max(earliest, index - _MAX_WORDS_AHEAD)
    while begin > lowest and _may_lead(chunks[begin - 1]):
        begin -= 1
    chunk_count = len(chunks)
    end = index + 1
    while end < chunk_count and (end in numbers or _may_follow(chunks[end])):
        if end - index > _MAX_WORDS_WITHIN:
            break
        end += 1
    # A quantity does not end with a link word. But "in" is a unit behind feet: 6 ft 2 in.
    while end - 1 > index and chunks[end - 1].lower() in _LINK_WORDS:
        index_of_feet = end - _CHUNKS_FROM_FEET_TO_END
        if index_of_feet > index and chunks[index_of_feet] in _FEET:
            break
        end -= 1
    return begin, end


@lru_cache(maxsize=1 << 14)
def _may_lead(chunk: str) -> bool:
    """Whether a chunk may stand before the number of a quantity."""
    word = chunk.strip(_MARKS_AROUND_WORD).lower()
    return word in _WORDS_BEFORE_NUMBER or chunk in DAY_PARTS_BEFORE or chunk[-1] in MONEY


@lru_cache(maxsize=1 << 14)
def _may_follow(chunk: str) -> bool:
    """Whether a chunk may stand inside a quantity, behind its number."""
    if chunk[0] in _CONTINUING_CHARACTERS or chunk[0] >= _FIRST_EAST_ASIAN:
        return True
    word = chunk.strip(_MARKS_AROUND_WORD).lower()
    first_part = word.partition("-")[0]
    return first_part in _WORDS_WITHIN_QUANTITY or word.startswith(("d'", "d’"))


@lru_cache(maxsize=1 << 14)
def continues_quantity(word: str) -> bool:
    """Whether a word after a number may be part of its quantity: a unit, a month, a word of ranges."""
    return word.rstrip(_MARKS_AROUND_WORD).lower() in _WORDS_BEHIND_NUMBER or word[:1] >= "\u2000"


def _skip_code(text: str, end: int) -> int:
    """Return the end of the word that a number is a part of, such as B12."""
    match = _CODE_END.match(text, end)
    return match.end() if match else end


def _is_plain(text: str, earliest: int, start: int) -> bool:
    """Whether a number certainly stands alone, without a unit, a currency or a date. A quick check for the usual case."""
    if start > earliest and text[start - 1] not in _CHARACTERS_BEFORE_PLAIN_NUMBER:
        return False
    match = _PLAIN_NUMBER.match(text, start)
    if match is None or (match[1] == ")" and TELEPHONE.match(text, start - 1)):
        return False
    if match[2] and match[1] in {"", ".", ","} and _may_continue(text, match):
        return False
    if start - 1 <= earliest:
        return True
    word_start = text.rfind(" ", earliest, start - 1) + 1
    word = text[max(word_start, earliest) : start - 1]
    return word.strip(_MARKS_AROUND_WORD).lower() not in _WORDS_BEFORE_NUMBER and word[-1:] not in MONEY


def _may_continue(text: str, match: re.Match[str]) -> bool:
    """Whether the word after a number may be part of its quantity: "5 km", "5 of May". "De" always may."""
    word = match[2]
    if word == "of":
        next_words = text[match.end() : match.end() + _MAX_WORD_CHARACTERS].split()
        return bool(next_words) and continues_quantity(next_words[0])
    if word == "in":  # 1 in 5
        return text[match.end() + 1 : match.end() + 2].isdecimal()
    return (
        word[0] in _CONTINUING_CHARACTERS or word == "de" or continues_quantity(word.partition("-")[0])
    )


def _name_kind(text: str, begin: int, value: Value, word_before: str) -> Quantity | None:
    """Return a value as a quantity; None for a plain number in one word."""
    kind = value.kind
    if kind == "s" and word_before in _HOUR_LEADS:  # до 21 часа: a time, if it is no duration
        time = read_time(text, begin, "um")
        if time is not None:
            value = value._replace(parts=(*value.parts, time.key))
    if not kind:
        if text[begin] != "." and _IN_ONE_WORD.fullmatch(text, begin, value.end):
            return None
        kind = "number"
    return Quantity(begin, value.end, kind, value.key, value.parts)


_HOUR_LEADS = frozenset(LISTS["hour_leads"])
# What is a plain number, to be read as a word.
_IN_ONE_WORD = re.compile(r"[\d.,']+|[^\W\d_]+(?:-[^\W\d_]+)?")


def _has_point(text: str, earliest: int, begin: int) -> bool:
    """Whether a point before digits belongs to them (.5), and does not end a sentence."""
    if begin == earliest or text[begin - 1] != ".":
        return False
    before_point = text[begin - 2] if begin > 1 else ""
    ends_sentence = before_point.isalnum() or (before_point and before_point in ".)]}\"'”’»")
    return not ends_sentence


def _find_begin(text: str, earliest: int, start: int) -> tuple[int, str]:
    """Return where the quantity of a number begins, and the word before it in small letters.

    A sign, a currency, a month and a part of the day may stand before a number.
    """
    begin = start
    if begin > earliest and text[begin - 1] == "(" and TELEPHONE.match(text, begin - 1):
        return begin - 1, ""
    if _has_point(text, earliest, begin):
        begin -= 1
    if begin - 4 >= earliest and text[begin - 1] in "+-" and ZONE.match(text, begin - 4):
        return begin - 4, ""
    if begin > earliest and _is_sign(text, earliest, begin - 1):
        begin -= 1
    elif begin - 1 > earliest and text.startswith("± ", begin - 2):
        begin -= 2
    return _take_words_before(text, earliest, begin)


def _take_words_before(text: str, earliest: int, begin: int) -> tuple[int, str]:
    """Take a currency, a month or a part of the day before a number into its quantity.

    Returns:
        The new start of the quantity, and the word before it in small letters.
    """
    word_start, word = _find_word_before(text, earliest, begin)
    is_spaced = word[-1:].isalpha() and word[-1:] < _FIRST_EAST_ASIAN
    if not word or (is_spaced and word.lower() not in _WORDS_BEFORE_NUMBER):
        return begin, ""
    name = word.rstrip(".")
    if name in MONEY or name.lower() in MONEY:
        begin = word_start
        if begin > earliest and _is_minus_of_money(text, earliest, begin - 1):
            begin -= 1
        word_start, word = _find_word_before(text, earliest, begin)
    elif word.lower() in {"de", "of", "del"}:
        month_start, month = _find_word_before(text, earliest, word_start)
        if is_month(month):
            return month_start, ""
    elif is_month(word) or word.lower() in LISTS["minus"] or word in DAY_PARTS_BEFORE:
        begin = word_start
        word_start, word = _find_word_before(text, earliest, begin)
    return begin, word.lower().strip(".")


def _is_sign(text: str, earliest: int, position: int) -> bool:
    """Whether a character before a number is its sign, and not a hyphen behind a word."""
    if text[position] not in "+-±":
        return False
    before = text[position - 1] if position > earliest else ""
    if not before or before in _CHARACTERS_BEFORE_SIGN:
        return True
    return not before.isalnum() and before in MONEY


def _is_minus_of_money(text: str, earliest: int, position: int) -> bool:
    """Whether a character before a currency is the minus of its amount."""
    if text[position] != "-":
        return False
    return position == earliest or text[position - 1] in _OPENING_CHARACTERS


_MAX_WORD_CHARACTERS = 16
_LAST_WORD = re.compile(
    r"(?:[A-Z]{0,3}[$€£¥₽₹₩₺₴₿]|[^\W\d_]+(?:[\u0900-\u0963\u0e31-\u0e4e]+[^\W\d_]*)*\.?)\Z"
)


def _find_word_before(text: str, earliest: int, end: int) -> tuple[int, str]:
    """Return the start of the word before a place, and the word. One blank may stand between them."""
    if end > earliest and text[end - 1] == " ":
        end -= 1
    lowest = max(earliest, end - _MAX_WORD_CHARACTERS)
    match = _LAST_WORD.search(text, lowest, end)
    if match is None:
        return end, ""
    word = match[0]
    if word[-1] >= _FIRST_EAST_ASIAN:
        for length in (2, 3, 4):
            ending = word[-length:]
            if ending in DAY_PARTS_BEFORE or ending in LISTS["minus"]:
                return end - length, ending
    return match.start(), word
