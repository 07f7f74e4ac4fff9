"""Numbers with what belongs to them: sign, currency, scale and unit; and digits that are no amount."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from math import gcd
from typing import Any

from ctxmetrics.text.quantities.forms import (
    FRACTIONS,
    LISTS,
    MEASURES,
    MONEY,
    NUMBER_WORDS,
    SCALES_AND_MEASURES,
    SHORT_SCALES,
    UNITS,
    MeasureUnit,
    Value,
    alternatives,
    name_at,
    skip_mark,
)

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
# A word that may be a number, with the words that are joined to it: twenty-one, vingt-et-un, three-year.
WORDED = re.compile(
    rf"(?<![^\W_])(?:(?P<tens>{_TENS})[- ](?=one|two|three|four|five|six|seven|eight|nine))?"
    r"(?P<word>[^\W\d_](?:[^\W\d_]|[\u0900-\u0963]){1,31})(?P<joined>(?:-[^\W\d_]{2,32}){0,3})(?![^\W_])",
    re.IGNORECASE,
)
# A number with its digits in groups. The lengths are limited, so that a long row of numbers is read only once.
_GROUPED = re.compile(
    r"""
    (?:\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,20})?               # 1,234.56
    |\d{1,2}(?:,\d\d){1,5},\d{3}(?:\.\d{1,20})?            # 12,34,567.5
    |\d{1,3}(?:'\d{3}){1,6}(?:[.,]\d{1,20})?               # 1'234,56
    |\d{1,3}(?:[ ]\d{3}){1,6}(?:[.,]\d{1,20})?(?![ ]\d{3}) # 1 234,56
    |\d{1,3}(?:\.\d{3}){1,6},\d{1,20}                      # 1.234,56
    |\d{1,3}(?:\.\d{3}){1,6}(?=,-)                         # 1.234,-
    |\d{1,3}(?:\.\d{3}){2,6}                               # 1.234.567
    )(?![.,']?\d)
    """,
    re.VERBOSE,
)
# Marks behind a price without cents: 99,- and 99.--
_NO_CENTS = re.compile(r",-{1,2}(?![\w-])|\.--(?![\w-])")
# Cents behind the sign of a currency: 12€50
_CENTS = re.compile(r"[ ]?(?P<sign>€)(?P<cents>\d\d)(?!\d|[.,]\d)")
# Cents behind the word of a currency, at the end of a clause: 12 euros 50.
_CENTS_BEHIND_WORD = re.compile(r"[ ](\d\d)(?=[.,;:!?)]?(?:\s|\Z))(?![ ][^\W_])")
# Feet and inches: 6'2"
_FEET = re.compile(r"""(?P<feet>\d{1,2})'[ ]?(?P<inches>\d{1,2})(?:"|'')(?![^\W_])""")
_INCHES_OF_FOOT = 12
# A plain number: 12, 3.5, 3,5, 2.1.0
_SIMPLE = re.compile(r"(?:\d{1,20}(?:\.\d{1,20}){0,4}|\d{1,20},\d{1,20})(?!\d|,\d)")
# A number without a whole part: .5
_PART_OF_ONE = re.compile(r"\.\d{1,20}(?![\d.,])|\.\d{1,20}(?=[.,](?!\d))")
_FRACTION = re.compile(
    rf"(?P<vulgar>[{FRACTIONS}])|(?P<top>\d{{1,9}})/(?P<bottom>[1-9]\d{{0,8}})(?![/\d])"
)
# A fraction behind a whole number.
_MIXED = re.compile(
    rf"[ ]?(?P<vulgar>[{FRACTIONS}])|[ ](?P<top>\d{{1,2}})/(?P<bottom>[1-9]\d?)(?![/\d])"
)
# Characters behind the first digits of a number that may continue it.
_MAY_GO_ON = re.compile(
    rf"[,.'/]\d|[,.]-|[ ]?[{FRACTIONS}]|[ ]\d|[⁰¹²³⁴⁵⁶⁷⁸⁹⁻^]|[eE][-+]?\d|[ ]?[×x·][ ]?10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻^]"
)
_MAX_DIGITS = 20
# A power: ², ^-3
_POWER = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]{1,9}|\^-?\d{1,9}")
# The power of ten of a number: 6.0e24, 6.0 × 10^24
_POWER_OF_TEN = re.compile(
    r"(?:[eE](?P<e>[-+]?\d{1,3})(?!\w|\.\d)|[ ]?[×x·][ ]?10(?:\^(?P<power>-?\d{1,3})(?!\d)|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})))"
)
# Numbers up to this power of ten are written in full.
_MAX_POWER_IN_FULL = 15
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
# A number with one value. In 1.200 the point may separate thousands or a fraction; 3.11.2 is a version.
_CERTAIN = re.compile(r"(?![1-9]\d{0,2}\.\d{3}\Z)-?\d{1,20}(?:\.\d{1,20})?")
# An amount of money in which the point separates thousands, because money has no thousandths.
_THOUSANDS_OF_MONEY = re.compile(r"-?(?:[1-9]\d{1,2}\.\d{3}|[1-9]\.\d00)")
# An amount in which the point separates thousands, since a decimal part does not end in two zeros: 1.200 km.
_THOUSANDS_OF_AMOUNT = re.compile(r"-?[1-9]\d{0,2}\.\d00")
_BASES_WITHOUT_THOUSANDTHS = frozenset(
    ("m", "m2", "m3", "g", "w", "wh", "km/h", "acre", "day", "month")
)
# An age: "old" behind 12 months
_OLD = re.compile(r"[ -]old(?![^\W_])")
_WORD = re.compile(r"([^\W\d_]{1,24})[ ]?")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_YEAR_AS_UNIT = UNITS["year"]


def read_number(text: str, start: int) -> Value | None:
    """Read a number with its sign, currency, scale and unit; None if no number begins here. A plain number has no kind."""
    feet = _FEET.match(text, start)
    if feet is not None:
        inches = int(feet["feet"]) * _INCHES_OF_FOOT + int(feet["inches"])
        return build_amount(feet.end(), str(inches), UNITS["inch"])
    integer = INTEGER.match(text, start)
    is_plain_amount = integer is not None and (
        _ENDS_AMOUNT.match(text, integer.end()) is not None
        or _THOUSANDS.match(text, integer.end()) is not None
    )
    # Otherwise it may be a code, a date or a ratio.
    if not is_plain_amount or text.startswith(("°", "º"), integer.end() if integer else start):
        code = _read_code(text, start) or _read_terms(text, start)
        if code is not None:
            return code
    sign, place = _read_sign(text, start)
    currency = None
    currency_and_end = None
    if not text[place : place + 1].isdecimal():
        currency_and_end = name_at(text, place, MONEY) or _find_attached_currency(text, place)
    if currency_and_end is not None:
        currency, place = currency_and_end
        place = skip_mark(text, place, ".")  # Rs. 500
        place = skip_mark(text, place, " ")
    digits = None if text.isascii() else _read_east_asian(text, place)
    if digits is None:
        digits = _read_digits(text, place)
    if digits is None:
        return None
    number, place = digits
    no_cents = _NO_CENTS.match(text, place)
    if no_cents is not None:
        place = no_cents.end()
    cents = _CENTS.match(text, place) if number.isdecimal() else None
    if cents is not None:
        amount = _shorten(f"{sign}{number}.{cents['cents']}")
        return build_amount(cents.end(), amount, MONEY[cents["sign"]])
    number = sign + _shorten(number)
    names = SCALES_AND_MEASURES if currency is None else _SCALES_BEHIND_CURRENCY
    unit_and_end = _find_attached_unit(text, place, number, currency) or name_at(text, place, names)
    return _read_unit(text, place, number, currency, unit_and_end)


# The letters of a currency right before a number: EUR50, Rp2.500
_ATTACHED_CURRENCY = re.compile(r"[A-Z][A-Za-z]{1,2}(?=\d)")


def _find_attached_currency(text: str, place: int) -> tuple[Any, int] | None:
    """Return the currency whose letters stand right before a number, and where they end."""
    letters = _ATTACHED_CURRENCY.match(text, place)
    if letters is None or letters[0] not in MONEY:
        return None
    return MONEY[letters[0]], letters.end()


def _read_sign(text: str, start: int) -> tuple[str, int]:
    """Return the sign of a number (``-``, ``±`` or nothing), and where its digits or its currency begin."""
    if text[start] == "±":
        return "±", skip_mark(text, start + 1, " ")
    if text[start] in "+-":
        return ("-" if text[start] == "-" else ""), start + 1
    if text[start].isalpha():
        word = _WORD.match(text, start)
        if word is not None and word[1].lower() in LISTS["minus"]:
            return "-", word.end()
    return "", start


def _read_unit(
    text: str,
    place: int,
    number: str,
    currency: MeasureUnit | None,
    unit_and_end: tuple[Any, int] | None,
) -> Value:
    """Read a number with its scale and its unit.

    Args:
        text: The text.
        place: The position at which the digits end.
        number: The number.
        currency: The currency before the number, if there is one.
        unit_and_end: The scale (a `Decimal`) or the unit behind the number, and the position at which it ends (`read_number`).
    """
    digits_end = place
    is_scaled = False
    if unit_and_end is not None and isinstance(unit_and_end[0], Decimal):
        is_scaled = True
        factor, place = unit_and_end
        number = _write_scaled(number)
        place = skip_mark(text, place, ". ")  # 5 Mio. Euro
        joint = _OF_MONEY.match(text, place)
        if joint is not None and name_at(text, joint.end(), MONEY) is not None:
            place = joint.end()
        if _CERTAIN.fullmatch(number):
            number = write_number(Decimal(number) * factor)
        unit_and_end = name_at(text, place, MEASURES)
    elif unit_and_end is None and _CERTAIN.fullmatch(number) and _THOUSANDS.match(text, place):
        is_scaled = True
        number = write_number(Decimal(number) * _FACTORS_OF_LETTERS[text[place]])
        place, unit_and_end = _find_money_behind(text, place + 1)
    unit = currency
    if unit_and_end is not None:
        named_unit, unit_end = unit_and_end
        is_unit = _is_unit_of(text, place, unit_end) and currency in {None, named_unit}
        if is_unit and named_unit.kind == _TIMES_KIND:
            is_unit = _is_occasion(text, place, unit_end)
        if is_unit:
            unit = named_unit
            place = unit_end
    if unit == _YEAR_AS_UNIT and _YEAR.fullmatch(number):
        return build_amount(digits_end, number, None)  # в 1890 году
    if unit == _YEAR_AS_UNIT and _OLD.match(text, place):
        # An age is also written without its unit; it is no duration.
        return build_amount(place, number, unit)._replace(kind="age", parts=(number,))
    place, number = _read_ending(text, place, number, unit)
    amount = build_amount(place, number, unit)
    return _count_nothing(amount) if is_scaled and unit is None else amount


def _count_nothing(amount: Value) -> Value:
    """Return a number with a scale and no unit. Another text may have the number alone: the population is 1,200,000."""
    return amount._replace(kind="number", parts=(*amount.parts, f"{amount.number}~"))


def _find_money_behind(text: str, place: int) -> tuple[int, tuple[Any, int] | None]:
    """Return where a currency behind a place and a blank begins, and the currency with its end; the place if there is none."""
    start = skip_mark(text, place, " ")
    currency_and_end = name_at(text, start, MONEY)
    return (place, None) if currency_and_end is None else (start, currency_and_end)


# Units that are words of their own unless they are joined to a number: 8in, 50p, 2.5x. From 100 on a p is a kind of picture: 720p.
_ATTACHED_UNITS = {"in": UNITS["inch"], "p": MONEY["pence"], "x": UNITS["times"]}
_ATTACHED = re.compile(r"(?<=\d)(?:in|(?<!\d\d\d)p|(?<!\d\d\d)x)(?![^\W_])")


# Behind an amount of money, an m is a million: $5m.
_SCALES_BEHIND_CURRENCY: Mapping[str, Any] = {**SCALES_AND_MEASURES, **SHORT_SCALES}


def _find_attached_unit(
    text: str, place: int, number: str, currency: MeasureUnit | None
) -> tuple[Any, int] | None:
    """Return the unit that is joined to a number, and the position at which it ends. An amount of money has none."""
    attached = _ATTACHED.match(text, place) if currency is None else None
    if attached is None or not (number.isdecimal() or attached[0] == "x"):
        return None
    return _ATTACHED_UNITS[attached[0]], attached.end()


def _read_ending(text: str, place: int, number: str, unit: MeasureUnit | None) -> tuple[int, str]:
    """Read words behind a unit that change the number: "below zero", or cents.

    Returns:
        The end of the amount, and its number.
    """
    if unit is None or number.startswith("-"):
        return place, number
    if unit.base in _TEMPERATURES:
        below = _BELOW_ZERO.match(text, place)
        if below is not None:
            return below.end(), f"-{number}"
    if unit.kind == "money" and number.isdecimal():
        cents = _CENTS_BEHIND_WORD.match(text, place)
        if cents is not None:
            return cents.end(), _shorten(f"{number}.{cents[1]}")
    return place, number


def _is_unit_of(text: str, start: int, end: int) -> bool:
    """Whether a unit belongs to the number before it.

    It does not if it is the "s" of a decade (1990s), or the currency of the next number.
    """
    return not text.startswith("s", start) and not text[end : end + 1].isdecimal()


_TEMPERATURES = frozenset(("c", "f", "degree"))
_BELOW_ZERO = re.compile(rf"[ ](?:{alternatives('below_zero')})(?![^\W_])", re.IGNORECASE)
# 12k, 1.3k, 1.2M. A whole number before an M or a B is no amount: a 100M run, a flat 12B.
_THOUSANDS = re.compile(r"(?:[kK]|(?<=\.\d)[MB]|(?<=\.\d\d)[MB])(?![^\W_])")
_FACTORS_OF_LETTERS: Mapping[str, int] = {"k": 10**3, "K": 10**3, "M": 10**6, "B": 10**9}
# Between a scale and a currency: 2 milliards d'euros.
_OF_MONEY = re.compile(r"[ ](?:d'|de[ ]|di[ ])")
_TIMES_KIND = "times"
_NEXT_FACTOR = re.compile(r"[ ]\d")


def _is_occasion(text: str, start: int, end: int) -> bool:
    """Whether a word for times counts occasions.

    It does not if it multiplies (3 times 4), or is a part of a name (2019 Times Square).
    """
    return _NEXT_FACTOR.match(text, end) is None and "Times" not in text[start:end]


# The keys of percentages that are also written as fractions, with the fractions.
SHARES: Mapping[str, str] = {
    f"{100 * top // bottom} %": f"{top}/{bottom}"
    for bottom in (2, 4, 5, 10, 20)
    for top in range(1, bottom)
    if gcd(top, bottom) == 1
}
# The same fractions, with the percentages.
PERCENTAGES: Mapping[str, str] = {fraction: share for share, fraction in SHARES.items()}


def build_amount(end: int, number: str, unit: MeasureUnit | None) -> Value:
    """Return the value of a number and its unit."""
    if unit is None:
        is_plain = number.replace(".", "").isdecimal()
        share = PERCENTAGES.get(number)
        return Value(
            end, "" if is_plain else "number", number, () if share is None else (share,), number
        )
    number = _write_as_decimal(number) if "/" in number else number
    if unit.kind == "money" and _THOUSANDS_OF_MONEY.fullmatch(number):
        number = number.replace(".", "")
    if unit.base in _BASES_WITHOUT_THOUSANDTHS and _THOUSANDS_OF_AMOUNT.fullmatch(number):
        number = number.replace(".", "")
    amount = f"{number} {unit.factor}"
    if _CERTAIN.fullmatch(number):
        amount = write_number(Decimal(number) * unit.factor)
    parts: tuple[str, ...] = (f"{number}~",)
    if unit.kind == _TIMES_KIND:
        parts = (number, *parts)  # a text may write "three" for "three times"
    elif unit.kind == "%" and f"{amount} %" in SHARES:
        parts = (SHARES[f"{amount} %"], *parts)
    return Value(end, unit.kind, f"{amount} {unit.base}", parts, number, unit)


def _write_scaled(number: str) -> str:
    """Write the number before a scale as a decimal number: 3/4, and 3.200 Mio., which is in thousands."""
    if _THOUSANDS_OF_AMOUNT.fullmatch(number):
        return number.replace(".", "")
    return _write_as_decimal(number)


def _write_as_decimal(number: str) -> str:
    """Write a fraction as a decimal number if it has few decimals; return any other number unchanged."""
    top, _, bottom = number.partition("/")
    is_plain = top.isdecimal() and bottom.isdecimal()
    if is_plain and int(top) < int(bottom) and int(bottom) in _EVEN_PARTS:
        return write_number(Decimal(top) / Decimal(bottom))
    return number


# The denominators of fractions that have few decimals.
_EVEN_PARTS = frozenset((2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100))


def write_number(number: Decimal) -> str:
    """Write a number without an exponent and without zeros at its end."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text or "0"


# --- digits -------------------------------------------------------------------------------------------------------


def _read_digits(text: str, start: int) -> tuple[str, int] | None:
    """Return a number with a decimal point and without groups, and where it ends."""
    digits = INTEGER.match(text, start)
    if digits is None:
        part = _PART_OF_ONE.match(text, start)
        return _read_worded(text, start) if part is None else (f"0{part[0]}", part.end())
    if not _MAY_GO_ON.match(text, digits.end()) and digits.end() - start <= _MAX_DIGITS:
        return digits[0], digits.end()  # the usual case
    fraction = _FRACTION.match(text, start)
    if fraction is not None:
        return "/".join(_terms(fraction)), fraction.end()
    match = _GROUPED.match(text, start)
    if match is not None:
        return _ungroup(match[0]), match.end()
    match = _SIMPLE.match(text, start)
    if match is None:
        return None
    return _read_end(text, match[0].replace(",", "."), match.end())


# The values of the signs of Chinese, Japanese and Korean numbers: of a sign inside a group (千 is 1,000), and of one that ends
# a group (万 is 10,000). 1億2千3百万 is 123,000,000.
_PART_SCALES = {"": 1, "十": 10, "십": 10, "百": 100, "백": 100, "千": 1_000, "천": 1_000}
_GROUP_SCALES = {
    "": 1,
    **dict.fromkeys("万萬만", 10**4),
    **dict.fromkeys("億亿억", 10**8),
    **dict.fromkeys("兆조", 10**12),
}
_SCALES = "".join((*_PART_SCALES, *_GROUP_SCALES))
# More than any scale.
_ABOVE_ALL_SCALES = 10**16
# A part of a number: 3千. Behind a blank, a part must have a scale or three digits, and must not be a year.
_PART = re.compile(
    rf"""
    (?:[ ](?=[\d,]{{1,5}}[{_SCALES}]|\d,?\d\d\d?(?![\d,.]|[年년])))?
    (?P<digits>\d,\d{{3}}|\d{{1,4}})(?!\d|[,.:/]\d)
    (?P<part>[{"".join(_PART_SCALES)}]?)(?P<group>[{"".join(_GROUP_SCALES)}]?)
    """,
    re.VERBOSE,
)


def _read_east_asian(text: str, start: int) -> tuple[str, int] | None:
    """Return a number of several parts, such as 1亿2千3百万, and where it ends; None for one part with one scale.

    Each part must have a smaller scale than the part before it.
    """
    number = 0  # the groups before the current one
    group = 0
    part_count = 0
    place = start
    last_part_scale = _ABOVE_ALL_SCALES
    last_group_scale = _ABOVE_ALL_SCALES
    while match := _PART.match(text, place):
        part_scale = _PART_SCALES[match["part"]]
        group_scale = _GROUP_SCALES[match["group"]]
        if part_scale >= last_part_scale or group_scale >= last_group_scale:
            break
        group += int(match["digits"].replace(",", "")) * part_scale
        last_part_scale = part_scale
        if group_scale > 1:
            number += group * group_scale
            group = 0
            last_group_scale = group_scale
            last_part_scale = _ABOVE_ALL_SCALES
        part_count += 2 if part_scale > 1 and group_scale > 1 else 1  # 5千万 has two scales
        place = match.end()
    return (str(number + group), place) if part_count > 1 else None


def _read_worded(text: str, start: int) -> tuple[str, int] | None:
    """Return the number of a number word or of the sign of a fraction, and where it ends."""
    fraction = _FRACTION.match(text, start)
    if fraction is not None:
        return "/".join(_terms(fraction)), fraction.end()
    worded = WORDED.match(text, start)
    return None if worded is None else read_number_word(worded)


def read_number_word(match: re.Match[str]) -> tuple[str, int] | None:
    """Return the number that a match of `WORDED` names, and where it ends; None for another word."""
    word = match["word"].lower()
    if match["joined"]:
        number = NUMBER_WORDS.get(word + match["joined"].lower())
        if number is not None:
            return number, match.end()
    number = NUMBER_WORDS.get(word)
    if number is None:
        return None
    if match["tens"]:
        number = NUMBER_WORDS[match["tens"].lower()][0] + number
    return number, match.end("word")


def _read_end(text: str, digits: str, end: int) -> tuple[str, int]:
    """Read the fraction or the power behind a number."""
    power_of_ten = _POWER_OF_TEN.match(text, end) if digits.count(".") <= 1 else None
    if power_of_ten is not None:
        raised = (power_of_ten["raised"] or "").translate(_RAISED)
        power = int(power_of_ten["e"] or power_of_ten["power"] or raised)
        number = Decimal(digits).scaleb(power)
        in_full = abs(power) <= _MAX_POWER_IN_FULL
        return write_number(number) if in_full else f"{number.normalize():e}", power_of_ten.end()
    mixed = _MIXED.match(text, end) if digits.isdecimal() else None
    if mixed is not None:
        top, bottom = _terms(mixed)
        return write_number(Decimal(digits) + Decimal(top) / Decimal(bottom)), mixed.end()
    exponent = _POWER.match(text, end)
    if exponent is not None:
        return f"{digits}^{exponent[0].lstrip('^').translate(_RAISED)}", exponent.end()
    return digits, end


def _terms(fraction: re.Match[str]) -> tuple[str, str]:
    """Return what stands above and below the line of a fraction."""
    if fraction["vulgar"]:
        top, _, bottom = unicodedata.normalize("NFKD", fraction["vulgar"]).partition("⁄")
        return top, bottom
    return str(int(fraction["top"])), str(int(fraction["bottom"]))


def _ungroup(number: str) -> str:
    """Return a number without the marks of its thousands. If the last mark differs from the others, it begins the fraction."""
    marks = [character for character in number if not character.isdecimal()]
    whole = number
    fraction = ""
    if len(set(marks)) > 1:
        whole, _, fraction = number.rpartition(marks[-1])
    digits = "".join(filter(str.isdecimal, whole))
    return f"{digits}.{fraction}" if fraction else digits


# Zeros before another digit.
_LEADING_ZEROS = re.compile(r"\A0+(?=\d)")


def _shorten(digits: str) -> str:
    """Return a number without zeros at its beginning, and without a fraction of zeros; a version stays."""
    if digits[0] != "0" and "." not in digits:
        return digits  # the usual case
    if digits.count(".") > 1:
        return digits
    whole, _, fraction = digits.partition(".")
    if fraction == "000" and whole[0] != "0" and len(whole) <= len("999"):
        return whole + fraction  # 12.000 inhabitants
    return _LEADING_ZEROS.sub("", whole) + (f".{fraction}" if fraction.strip("0") else "")


# --- digits that are no amount --------------------------------------------------------------------------------------

INTEGER = re.compile(r"\d+")
# What stands behind the digits of an amount.
_ENDS_AMOUNT = re.compile(r"\Z|[^-/:\w. ]|\.(?!\d)|[ ](?!:)|[^\W\d_A-Za-z]")
# A time zone: UTC+2, GMT-5:30
ZONE = re.compile(r"(?:UTC|GMT)[+-]\d{1,2}(?::\d\d)?(?!\d)")
# A telephone number: (555) 123-4567
TELEPHONE = re.compile(r"\(\d{3}\)[ ]?\d{3}-\d{4}(?!\d)")
# A telephone number or code: 555-123-4567, +44 20 7946
_DASHED = re.compile(
    r"""
    \d{1,15}(?:-\d{1,15}){2,7}(?!\d)
    |\+\d{1,3}(?:[ -]\(?\d{1,12}\)?){2,7}(?!\d)
    """,
    re.VERBOSE,
)
# Two numbers with a slash: 12/50
_SLASHED = re.compile(r"(\d{1,9}(?:\.\d{1,2})?)/(\d{1,9})(?![/\d]|\.\d)")
# Of 3:1, 1:25,000 and 1.5:1.
_TERM = r"(?:\d{1,3}(?:,\d{3}){1,3}(?!\d)|\d{1,9}(?:\.\d{1,9})?)"
_RATIO = re.compile(rf"{_TERM}(?:[ ]?:[ ]?{_TERM}){{1,7}}(?![\d:])")
# A number with letters right behind it: 12B, 7-A
_LETTERED = re.compile(r"(\d{1,15})-?([A-Z]{1,3}|[a-z]{1,2})(?!(?=[\0-\u2e7f])[^\W_])")
_ORDINALS = frozenset(("st", "nd", "rd", "th", "s", "er", "e", "o", "a"))


_COORDINATE = re.compile(
    r"""
    (\d{1,3}(?:\.\d{1,9})?)
    (?:[ ]?[°º][ ]?(?:(\d{1,2}(?:\.\d{1,9})?)[ ]?['′][ ]?(?:(\d{1,2}(?:\.\d{1,9})?)[ ]?["″][ ]?)?)?  # 52°31′
    |(?<=\.\d\d)[ ]?|(?<=\.\d\d\d)[ ]?|(?<=\.\d\d\d\d)[ ]?)                                     # 41.73
    ([NSEW])(?![^\W_])
    """,
    re.VERBOSE,
)


# What scores are counted in: 7/10 is 7 out of 10.
_SCALES_OF_SCORES = frozenset(("10", "20", "100"))


def _read_fraction(slashed: re.Match[str]) -> Value:
    """Read a fraction or a score."""
    top = _shorten(slashed[1])
    bottom = str(int(slashed[2]))
    parts: tuple[str, ...] = ()
    if bottom in _SCALES_OF_SCORES:
        parts = (top, bottom)
    share = PERCENTAGES.get(f"{top}/{bottom}")
    if share is not None:
        parts = (*parts, share)
    return Value(slashed.end(), "fraction", f"{top}/{bottom}", parts)


# Two years: 2019/20
_YEARS = re.compile(r"(?:1[5-9]|20)\d\d/\d\d")


def _read_years(slashed: re.Match[str]) -> Value:
    """Read two years, as 2019-20 is read where the second follows the first."""
    first = int(slashed[1])
    second = first + 1
    if second % 100 != int(slashed[2]):
        return Value(slashed.end(), "fraction", f"{first}/{int(slashed[2])}")
    return Value(slashed.end(), "range", f"{first}..{second}", (str(first), str(second)))


def _read_code(text: str, start: int) -> Value | None:
    """Read digits that count nothing: a telephone number, a time zone, a place on the globe."""
    coordinate = _COORDINATE.match(text, start)
    if coordinate is not None:
        parts = [part for part in coordinate.groups() if part]
        return Value(coordinate.end(), "coordinate", " ".join(parts))
    zone = ZONE.match(text, start)
    if zone is not None:
        return Value(zone.end(), "zone", zone[0].lower())
    code = TELEPHONE.match(text, start) or _DASHED.match(text, start)
    if code is not None:
        return Value(code.end(), "code", "".join(filter(str.isdecimal, code[0])).lstrip("0") or "0")
    return None


def _read_terms(text: str, start: int) -> Value | None:
    """Read numbers with a mark between them (a fraction, a ratio), or a number with letters such as 3D."""
    slashed = _SLASHED.match(text, start)
    if slashed is not None:
        if name_at(text, slashed.end(), SCALES_AND_MEASURES) is not None:
            return None
        if _YEARS.fullmatch(slashed[0]):
            return _read_years(slashed)
        return _read_fraction(slashed)
    ratio = _RATIO.match(text, start)
    if ratio is not None:
        digits = ratio[0].replace(",", "")
        terms = [term.strip().lstrip("0") or "0" for term in digits.split(":")]
        return Value(ratio.end(), "ratio", ":".join(terms))
    match = _LETTERED.match(text, start)
    if (
        match is None
        or match[2] in _ORDINALS
        or match[2] in MEASURES
        or _ATTACHED.match(text, match.end(1))
    ):
        return None
    letters = match[2].lower()
    return Value(match.end(), f"code {letters}", f"{match[1].lstrip('0') or '0'}{letters}")
