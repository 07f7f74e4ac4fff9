"""Numbers in Chinese numerals, before a word that they count or measure: 六点, 三千元, 百分之五."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DIGITS: Mapping[str, int] = {
    **{digit: number for number, digit in enumerate("〇一二三四五六七八九")},
    "零": 0,
    "两": 2,
    "兩": 2,
}
_SCALES: Mapping[str, int] = {"十": 10, "百": 100, "千": 1_000}
_GROUPS: Mapping[str, int] = {
    **dict.fromkeys("万萬", 10**4),
    **dict.fromkeys("亿億", 10**8),
}
_NUMERALS = "".join((*_DIGITS, *_SCALES, *_GROUPS))
# A text without one of them holds no number in Chinese numerals.
HAN_NUMERALS = frozenset(_NUMERALS)
# What is counted, of which no word begins with a numeral: 百度 has none of one to nine, 十分 means "very".
_COUNTED = "点|點|时|時|月|日|号|號|年|元|円|圆|圓|美元|欧元|度|岁|歲|歳|人|名|位|个|個|天|周|週|秒|分钟|分鐘|小时|小時|公里|米"
# 几十 (some tens) and 第三 (third) are no numbers here; 一 alone also means "a", 百 alone also "many".
_NUMBER = re.compile(
    rf"""
    百分之(?P<percent>[{_NUMERALS}]+)
    |(?<![几幾数數好第初{_NUMERALS}])
    (?P<number>(?=[十]|[{_NUMERALS}]*[{"".join(_DIGITS)}])[{_NUMERALS}]+)
    (?=(?:{_COUNTED}))
    """,
    re.VERBOSE,
)
_ONE = "一"
_COUNTED_BY_ONE = ("月", "号", "號")


def write_han_numbers(text: str) -> str:
    """Write the numbers in Chinese numerals in digits.

    >>> write_han_numbers("晚上八点关门，门票三千二百元，打百分之五折。")
    '晚上8点关门，门票3200元，打5%折。'
    """
    return _NUMBER.sub(_write_number, text)


def _write_number(match: re.Match[str]) -> str:
    numerals = match["percent"] or match["number"]
    if match["percent"] is None and numerals == _ONE:
        next_character = match.string[match.end() : match.end() + 1]
        if next_character not in _COUNTED_BY_ONE:
            return numerals
    if len(numerals) > 1 and all(numeral in _DIGITS for numeral in numerals):  # 二〇二四
        number = "".join(str(_DIGITS[numeral]) for numeral in numerals)
    else:
        number = str(_read_numerals(numerals))
    return number + ("%" if match["percent"] else "")


def _read_numerals(numerals: str) -> int:
    """Return the value of numerals with scales: 一亿二千三百万 is 123,000,000."""
    total = 0
    group = 0
    digit = 0
    for numeral in numerals:
        if numeral in _DIGITS:
            digit = _DIGITS[numeral]
        elif numeral in _SCALES:
            group += (digit or 1) * _SCALES[numeral]
            digit = 0
        else:
            total += (group + digit or 1) * _GROUPS[numeral]
            group = 0
            digit = 0
    return total + group + digit
