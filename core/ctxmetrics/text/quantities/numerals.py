"""Numbers in words, one word for each digit and each scale: 三千元, สามชั่วโมง, 세 시간, tiga jam, ba giờ.

Such words mean something else elsewhere, so a number is written in digits only before a word that it may count. In Indonesian and
Vietnamese blanks stand between the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ctxmetrics._internal.patterns import compile_on_use
from ctxmetrics.text.quantities.forms import LISTS, NUMBER_WORDS

_TEN = 10
_TWENTY = 20
_HUNDRED = 100


class NumeralsOfLanguage(NamedTuple):
    """The number words of a language.

    Attributes:
        digits: The words that add their value: three, twenty.
        scales: The words that multiply the digit before them: hundred.
        groups: The words that multiply all that stands before them: thousand.
        teens: The words that add ten to the digit before them: Indonesian "lima belas" is 15.
        joints: The words of a zero before the last digit, of a language that needs one: 一百零五 is 105, 一百五 may be 150.
    """

    digits: Mapping[str, int]
    scales: Mapping[str, int]
    groups: Mapping[str, int]
    teens: frozenset[str] = frozenset()
    joints: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """All words."""
        return frozenset((*self.digits, *self.scales, *self.groups, *self.teens))

    def read(self, words: Sequence[str]) -> int | None:
        """Return the value of some number words: 一亿二千三百万 is 123,000,000. None if they have no sure value."""
        if self._is_unsure(words):
            return None
        total = 0
        group = 0
        digit = 0
        largest = 1  # the largest multiplier of the group words so far
        for word in words:
            value = self.digits.get(word, 0)
            if value >= _HUNDRED:  # Indonesian seratus
                group += value
            elif word in self.digits:
                digit += value
            elif word in self.scales:
                group += (digit or 1) * self.scales[word]
                digit = 0
            elif word in self.teens:  # dua belas: 2 + 10
                group += digit + 10
                digit = 0
            elif word in self.groups:
                multiplier = self.groups[word]
                if multiplier < largest:  # a smaller group behind a larger one: 一亿 | 二千三百万
                    total += (group + digit or 1) * multiplier
                else:  # one group counts the other: 三万 | 亿
                    total = (total + group + digit or 1) * multiplier
                    largest = multiplier
                group = 0
                digit = 0
        return total + group + digit

    def _is_unsure(self, words: Sequence[str]) -> bool:
        """Whether a digit stands behind a digit (三五万 is 3 to 5), or the last one behind a hundred without a joint (一百二)."""
        for previous, word in pairwise(words):
            if self.is_one(previous) and word in self.digits and word not in self.joints:
                return True
        if not self.joints or len(words) == 1:
            return False
        is_behind_hundred = words[-2] in self.groups or self.scales.get(words[-2], 0) >= _HUNDRED
        return is_behind_hundred and self.is_one(words[-1])

    def is_one(self, word: str) -> bool:
        """Whether a word is a digit of 1 to 9."""
        return 0 < self.digits.get(word, 0) < _TEN


def _join_words(words: Iterable[str]) -> str:
    """Return a pattern of one of some words; of two words with one beginning the longer one is found."""
    return "|".join(sorted(words, key=len, reverse=True))


# --- German, Dutch, Italian, Swedish, Danish, Norwegian and Finnish: dreihundertfünfzig, duecentocinquanta ------------------

_HUNDREDS = ("hundert", "honderd", "hundra", "hundrede", "hundre", "cento", "sataa", "sata")
_THOUSANDS = ("tausend", "duizend", "tusen", "tusind", "mila", "mille", "tuhatta", "tuhat")
# Words that may stand between the parts of such a number: hundertundfünf.
_JOINTS_OF_PARTS = ("und", "en", "och", "og", "e")
# It is tried at the beginning of a Latin word only: each word is read once.
_COMPOUND = re.compile(
    rf"""
    (?<![^\W\d_])[a-zà-ÿ]{{0,40}}?
    (?:{_join_words((*_HUNDREDS, *_THOUSANDS))})[a-zà-ÿ]{{0,40}}(?![^\W\d_])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MIN_COMPOUND_LETTERS = len("centouno")
_MAX_COMPOUND_LETTERS = 64
# Other words for one are also endings: Hunderten.
_ONES_AT_END = ("ein", "eins", "een", "één", "uno", "un", "ett")
_NAMES_OF_SMALL_NUMBERS: Mapping[str, int] = {
    **dict.fromkeys(_ONES_AT_END, 1),
    **{
        name: int(number)
        for name, number in (*LISTS["counted"].items(), *NUMBER_WORDS.items())
        if number.isdecimal() and 1 < int(number) < _HUNDRED
    },
}


@lru_cache(maxsize=1024)
def read_compound_number(word: str) -> int | None:
    """Return the value of a number above a hundred in one word; None for any other word, and for one that a list has.

    >>> read_compound_number("dreihundertfünfzig"), read_compound_number("jahrhundert")
    (350, None)
    """
    has_usual_length = _MIN_COMPOUND_LETTERS <= len(word) <= _MAX_COMPOUND_LETTERS
    is_compound = has_usual_length and _COMPOUND.fullmatch(word) is not None
    if not is_compound or word in NUMBER_WORDS or word in (*_HUNDREDS, *_THOUSANDS):
        return None
    for thousand in _THOUSANDS:
        before, mark, behind = word.partition(thousand)
        if mark:
            count = _read_hundreds(before) if before else 1
            rest = _read_hundreds(_drop_joint(behind)) if behind else 0
            return None if count is None or rest is None else count * 1_000 + rest
    return _read_hundreds(word)


def _read_hundreds(word: str) -> int | None:
    """Return the value of a number in one word that counts hundreds or less; None for any other word."""
    for hundred in _HUNDREDS:
        before, mark, behind = word.partition(hundred)
        if not mark:
            continue
        count = _NAMES_OF_SMALL_NUMBERS.get(before) if before else 1
        rest = _NAMES_OF_SMALL_NUMBERS.get(_drop_joint(behind)) if behind else 0
        # neunzehnhundertachtzig is 1980
        if count is not None and rest is not None and count < _TWENTY:
            return count * _HUNDRED + rest
    return _NAMES_OF_SMALL_NUMBERS.get(word)


def _drop_joint(word: str) -> str:
    """Return a part of a number without the word that joins it to the part before: "fünf" for "undfünf"."""
    for joint in _JOINTS_OF_PARTS:
        number = word.removeprefix(joint)
        if number != word and (number in _NAMES_OF_SMALL_NUMBERS or _read_hundreds(number) is not None):
            return number
    return word


def _write_compound(match: re.Match[str]) -> str:
    """Write a number in one word in digits; any other word stays."""
    value = read_compound_number(match[0].lower())
    return match[0] if value is None else str(value)


# --- Chinese and Japanese: 六点, 三千元, 百分之五, 三分の一 --------------------------------------------------------------

_HAN = NumeralsOfLanguage(
    digits={
        **{digit: number for number, digit in enumerate("〇一二三四五六七八九")},
        "零": 0,
        "两": 2,
        "兩": 2,
    },
    scales={"十": 10, "百": 100, "千": 1_000},
    groups={**dict.fromkeys("万萬", 10**4), **dict.fromkeys("亿億", 10**8)},
    joints=frozenset("零〇"),
)
_HAN_SIGNS = "".join(_HAN.words)
_HAN_DECIMALS = "[〇零一二三四五六七八九]+"
# Words that a number with decimals may count. 六点五人 may be "five people at six".
_HAN_MEASURES = "元|円|圆|圓|美元|欧元|度|天|年|秒|分钟|分鐘|小时|小時|个小时|個小時|个月|個月|公里|公斤|米|倍|[万萬亿億]"
# Words that Chinese numerals may count. 分 alone is left out, because 十分 means "very".
_HAN_COUNTED = "点|點|时|時|月|日|号|號|年|元|円|圆|圓|美元|欧元|度|岁|歲|歳|人|名|位|个|個|天|周|週|秒|分钟|分鐘|小时|小時|公里|米|席|枚|冊|册|台|匹|头|張|张|座|层|層|階|楼|樓|割|回|倍|件|辆|輛|軒|页|頁|票"
# A number in Chinese numerals. 几十 (some tens) and 第三 (third) are not read. A number without 十 needs a digit, because 百 alone
# may mean "many", or be a part of a name (百度).
_HAN_NUMBER = re.compile(
    rf"""
    (?=[第{_HAN_SIGNS}])(?:  # most characters begin no number
    (?<![几幾数數{_HAN_SIGNS}])百分[之の](?P<percent>[{_HAN_SIGNS}]+(?:[点點]{_HAN_DECIMALS})?)   # 百分之五, 百分之三点五
    (?:[到至](?P<last_percent>[{_HAN_SIGNS}]+)(?![点點分{_HAN_SIGNS}]|{_HAN_COUNTED}))?   # 百分之二十到三十
    # 三分之一, 二十分之一; but not 三又二分之一
    |(?<![几幾数數{_HAN_SIGNS}])(?<![{_HAN_SIGNS}]又)(?P<bottom>[{_HAN_SIGNS}]+)分[之の](?P<top>[{_HAN_SIGNS}]+)
    # 三点五公里; but not 下午三点
    |(?<![几幾数數日号號{_HAN_SIGNS}])(?<!上午|下午|晚上|早上|凌晨|清晨|中午|傍晚|今早|今晚|半夜|午前|午後)
    (?P<decimal>[{_HAN_SIGNS}]+[点點]{_HAN_DECIMALS})(?=(?:{_HAN_MEASURES}))
    # 三比一, a result or a ratio
    |(?<![{_HAN_SIGNS}])(?P<left>[零〇一二两三四五六七八九十]{{1,3}})比(?P<right>[零〇一二两三四五六七八九十]{{1,3}})(?![{_HAN_SIGNS}])
    # 二〇五房间: digits one by one, with a zero among them
    |(?<![{_HAN_SIGNS}])(?P<serial>(?=[一二三四五六七八九]*[〇零][一二三四五六七八九〇零])[一二三四五六七八九〇零]{{3,15}})(?![{_HAN_SIGNS}点點])
    |第(?P<ordinal>[一二三四五六七八九十]{{1,3}})(?=[层層階楼樓章节節条條页頁届屆期])   # 第三层
    |(?<=[点點时時])(?P<minutes>[{_HAN_SIGNS}]+)(?=分)          # 六点十分
    # 歩いて五分で; 十分 alone is "enough"
    |(?<![几幾数數好第初{_HAN_SIGNS}])(?P<japanese>[二三四五六七八九]十?[一二三四五六七八九]?|十[一二三四五六七八九])
    (?=分(?:で|間|ほど|後|前|くらい|ぐらい|以内))
    # 一亿二千万, with what it counts left out
    |(?<![几幾数數好第初{_HAN_SIGNS}])(?P<large>(?=[{_HAN_SIGNS}]*[一二两三四五六七八九十百]千?[万萬亿億])[{_HAN_SIGNS}]{{2,16}})
    (?=[。，,；！？）)]|\Z|以上|左右|多)
    |(?<![几幾数數好第初{_HAN_SIGNS}])                          # 三千元
    (?P<number>(?=[十]|[{_HAN_SIGNS}]*[{"".join(_HAN.digits)}])[{_HAN_SIGNS}]+)
    (?=(?:{_HAN_COUNTED}))
    )
    """,
    re.VERBOSE,
)
# 全天候开放 is open around the clock; 全天候 alone may be "in all weathers".
_ALL_DAY = re.compile(
    r"全天候?(?=开放|開放|营业|營業|服务|服務|值班|运营|運營|供应|供應|待命|监控|監控|在线|在線|客服)"
)
# The year before the first one of each Japanese era: 令和4年 is 2022.
_ERAS: Mapping[str, int] = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_ERA_YEAR = re.compile(
    rf"(?P<era>{_join_words(_ERAS)})[ ]?(?P<year>元|\d{{1,2}}|[{_HAN_SIGNS}]{{1,4}})(?=年(?!代))"
)
# Japanese tenths with hundredths behind them: 2割5分 is 25 %. The tenths may already be in digits.
_TENTHS = re.compile(r"(?P<tenths>\d)割(?P<hundredths>[1-9一二三四五六七八九])分")
_HAN_ONE = "一"
_HAN_COUNTED_BY_ONE = ("月", "号", "號", "楼", "樓", "割")


def _write_han(match: re.Match[str]) -> str:
    """Write a number in Chinese numerals in digits. It stays as it is if it has no sure value, or if 一 may mean "a"."""
    next_character = match.string[match.end() : match.end() + 1]
    if match["bottom"] is not None:
        top = _read_han(match["top"])
        bottom = _read_han(match["bottom"])
        return f"{top}/{bottom}" if top and bottom else match[0]
    if match["percent"] is not None:
        return _write_percent(match["percent"], match["last_percent"]) or match[0]
    if match["left"] is not None:
        left = _read_han(match["left"])
        right = _read_han(match["right"])
        return f"{left}:{right}" if left and right else match[0]
    numerals = (
        match["serial"] or match["large"] or match["decimal"] or match["minutes"] or match["japanese"]
    )
    numerals = numerals or match["ordinal"] or match["number"]
    may_be_article = numerals == _HAN_ONE and next_character not in _HAN_COUNTED_BY_ONE
    if may_be_article and match["ordinal"] is None:
        return match[0]
    number = _read_han(numerals, is_year=next_character == "年")
    if not number:
        return match[0]
    return number if match["ordinal"] is None else f"第{number}"


def _write_era_year(match: re.Match[str]) -> str:
    """Write a year of a Japanese era as a year; it stays as it is if its number has no sure value."""
    number = match["year"].replace("元", "1")  # the first year of an era
    if not number.isdecimal():
        number = _read_han(number)
    return str(_ERAS[match["era"]] + int(number)) if number else match[0]


def _write_tenths(match: re.Match[str]) -> str:
    """Write Japanese tenths and hundredths as a percentage."""
    hundredths = match["hundredths"]
    digit = int(hundredths) if hundredths.isdecimal() else _HAN.digits[hundredths]
    return f"{int(match['tenths']) * _TEN + digit}%"


def _write_percent(numerals: str, last_numerals: str | None) -> str:
    """Write a percentage, or two as a range, in digits; an empty text if one has no sure value."""
    number = _read_han(numerals)
    if not number or last_numerals is None:
        return f"{number}%" if number else ""
    last_number = _read_han(last_numerals)
    return f"{number}%-{last_number}%" if last_number else ""


def _read_han(numerals: str, *, is_year: bool = False) -> str:
    """Return Chinese numerals in digits; an empty text if they have no sure value."""
    whole, point, decimals = numerals.replace("點", "点").partition("点")
    if all(numeral in _HAN.digits for numeral in whole):  # 二〇二四
        number = _read_digits(whole, is_year=is_year)
    else:
        value = _HAN.read(whole)
        number = "" if value is None else str(value)
    if not number or len(decimals) == len("500"):  # 1.500 may be 1,500
        return ""
    return number + ("." if point else "") + "".join(str(_HAN.digits[digit]) for digit in decimals)


def _read_digits(numerals: str, *, is_year: bool) -> str:
    """Return digits in Chinese numerals; an empty text for two that may be a range: 三四 is 3 or 4, 三五 is 3 to 5."""
    values = [_HAN.digits[numeral] for numeral in numerals]
    may_be_range = len(values) == len("三四") and 0 not in values
    if may_be_range and (not is_year or values[1] - values[0] == 1):  # 九八年
        return ""
    return "".join(map(str, values))


# --- Thai and Korean --------------------------------------------------------------------------------------------------


def _read_language(language: str) -> NumeralsOfLanguage:
    """Read the number words of a language."""
    lists: Mapping[str, Any] = LISTS["numerals"][language]
    return NumeralsOfLanguage(
        lists["digits"],
        lists["scales"],
        lists["groups"],
        teens=frozenset(lists.get("teens", ())),
        joints=frozenset(lists.get("joints", ())),
    )


_THAI_LETTER = re.compile(r"[\u0e00-\u0e7f]")
_THAI = _read_language("th")
_THAI_WORD = compile_on_use(_join_words(_THAI.words))
_THAI_ONE = compile_on_use(_join_words(word for word in _THAI.words if _THAI.is_one(word)))
_THAI_MULTIPLIERS: Mapping[str, int] = {**_THAI.scales, **_THAI.groups}
_THAI_MULTIPLIER = compile_on_use(
    _join_words(word for word, value in _THAI_MULTIPLIERS.items() if value > _HUNDRED)
)
_THAI_COUNTED = _join_words(LISTS["numerals"]["th"]["counted"])
_NOT_BEHIND_THAI_NUMBER = "".join(f"(?<!{word})" for word in sorted((*_THAI.words, "จุด")))
_BEHIND_THAI_LABEL = "|".join(f"(?<={word})" for word in LISTS["numerals"]["th"]["numbered"])
_FIRST_THAI_LETTERS = "".join({word[0] for word in _THAI.words})
_THAI_NUMBER = compile_on_use(
    rf"""
    (?=[ \d{_FIRST_THAI_LETTERS}])(?:  # most characters begin no number
    # 3 ล้านบาท
    (?<![\d.,])(?P<digits>\d+(?:,\d{{3}})*(?:\.\d+)?)[ ]?(?P<multipliers>(?:{_THAI_MULTIPLIER.pattern}){{1,16}})
    [ ]?(?={_THAI_COUNTED})
    # สามชั่วโมง, สามจุดห้าชั่วโมง; one alone (หนึ่ง) is also "a".
    |[ ]?(?!หนึ่ง[ ]?(?:{_THAI_COUNTED}))
    # Neither ล้าน behind digits nor a word behind จุด or another number word begins a number.
    (?={_THAI_WORD.pattern})(?:(?<!\d)(?<!\d[ ])|(?={_THAI_ONE.pattern})){_NOT_BEHIND_THAI_NUMBER}
    (?P<number>(?:{_THAI_WORD.pattern}){{1,16}})
    (?:[ ]?จุด[ ]?(?P<decimals>(?:{_THAI_ONE.pattern}){{1,16}})(?P<multipliers_behind>(?:{_THAI_MULTIPLIER.pattern}){{0,16}}))?
    [ ]?(?={_THAI_COUNTED})
    # ชั้นสาม, the third floor
    |(?:{_BEHIND_THAI_LABEL})[ ]?(?P<label>(?:{_THAI_WORD.pattern}){{1,16}})
    )
    """,
    re.VERBOSE,
)
_KOREAN_LETTER = re.compile(r"[\uac00-\ud7af]")
_KOREAN = NumeralsOfLanguage(
    digits={
        **{digit: number for number, digit in enumerate("일이삼사오육칠팔구", 1)},
        **dict.fromkeys(("한", "하나"), 1),
        **dict.fromkeys(("두", "둘"), 2),
        **dict.fromkeys(("세", "셋"), 3),
        **dict.fromkeys(("네", "넷"), 4),
        **{
            word: number
            for number, word in enumerate(["다섯", "여섯", "일곱", "여덟", "아홉", "열"], 5)
        },
        **dict.fromkeys(("스물", "스무"), 20),
        **{
            word: 10 * ten
            for ten, word in enumerate(["서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"], 3)
        },
    },
    scales={"십": 10, "백": 100, "천": 1_000},
    groups={"만": 10**4, "억": 10**8},
)
_KOREAN_WORD = compile_on_use(_join_words(_KOREAN.words))
_KOREAN_ONES = "한|두|세|네|다섯|여섯|일곱|여덟|아홉"
_KOREAN_TENS = "열|스물|스무|서른|마흔|쉰|예순|일흔|여든|아흔"
# 세 시간, 스물다섯 명, 오만 원, 삼 년, 이층; 이 (this), 일 (day) and 한 (a) alone are no numbers elsewhere.
_KOREAN_NUMBER = compile_on_use(
    rf"""
    (?<![\uac00-\ud7af\d])(?<!점[ ])  # not behind a decimal point: 삼 점 오
    (?:
        (?!한[ ]?[\uac00-\ud7af])
        (?P<native>(?:{_KOREAN_TENS})?(?:{_KOREAN_ONES})|{_KOREAN_TENS})[ ]?
        (?=시간|시(?![\uac00-\ud7af])|시(?:에|부터|까지)|명|개|살|마리|번|권|달|가지|사람|곳)
        |
        (?P<number>(?:[일이삼사오육칠팔구]?[십백천]?만[ ])?(?:[일이삼사오육칠팔구]?[십백천만억]){{1,12}}[일이삼사오육칠팔구]?|[삼사오육칠팔구]|[일이](?=층))[ ]?
        (?=년|월|분|초|원|킬로|미터|퍼센트|층|명|개월|주|도(?![\uac00-\ud7af])|달러|유로|세(?![\uac00-\ud7af]))
    )
    """,
    re.VERBOSE,
)
# A chunk that is a number if the next chunk is a word that it counts.
_KOREAN_CHUNK = compile_on_use(rf"(?:{_KOREAN_WORD.pattern}){{1,12}}")


def write_numerals(text: str) -> str:
    """Replace number words by digits: those of Chinese, Japanese, Thai and Korean, and single words such as "dreihundertfünfzig".

    >>> write_numerals("晚上八点关门，门票三千二百元，打百分之五折。")
    '晚上8点关门，门票3200元，打5%折。'
    >>> write_numerals("직원은 스물다섯 명입니다. 가격은 오만 원입니다.")
    '직원은 25명입니다. 가격은 50000원입니다.'
    """
    text = _COMPOUND.sub(_write_compound, text)
    text = _ALL_DAY.sub("24小时", text)
    text = _ERA_YEAR.sub(_write_era_year, text)
    text = _HAN_NUMBER.sub(_write_han, text)
    text = _TENTHS.sub(_write_tenths, text)
    if _THAI_LETTER.search(text):
        text = _THAI_NUMBER.sub(_write_thai, text)
    if _KOREAN_LETTER.search(text):
        text = _KOREAN_NUMBER.sub(_write_korean, text)
    return text


def _write_thai(match: re.Match[str]) -> str:
    """Write a Thai number in digits, with blanks around it. It stays as it is if it has no sure value."""
    if match["digits"]:
        digits = match["digits"].replace(",", "")
        multipliers = match["multipliers"]
    else:
        value = _THAI.read(_THAI_WORD.findall(match["number"] or match["label"]))
        if value is None:
            return match[0]
        decimals = "".join(
            str(_THAI.digits[word]) for word in _THAI_ONE.findall(match["decimals"] or "")
        )
        digits = f"{value}.{decimals or 0}"
        multipliers = match["multipliers_behind"] or ""
    number = Decimal(digits)
    for word in _THAI_MULTIPLIER.findall(multipliers):
        number *= _THAI_MULTIPLIERS[word]
    if number == number.to_integral_value():
        return f" {int(number)} "
    has_three_decimals = -len("500") == number.as_tuple().exponent  # 1.500 may be 1,500
    return match[0] if has_three_decimals else f" {number} "


def _write_korean(match: re.Match[str]) -> str:
    """Write a Korean number in digits. It stays as it is if it has no sure value."""
    value = _KOREAN.read(_KOREAN_WORD.findall(match["native"] or match["number"]))
    return match[0] if value is None else str(value)


def may_hold_numerals(chunk: str) -> bool:
    """Whether a chunk holds a number that `write_numerals` writes in digits, perhaps only together with the next chunk."""
    if _KOREAN_LETTER.search(chunk) and _KOREAN_CHUNK.fullmatch(chunk):
        return True
    return write_numerals(chunk) != chunk


# --- Indonesian and Vietnamese ----------------------------------------------------------------------------------------

_SPACED_LANGUAGES = {language: _read_language(language) for language in ("id", "vi")}
# Words of these languages that a number has or counts, or that stand before what is numbered.
SPACED_WORDS: frozenset[str] = frozenset(
    word
    for language, numerals in _SPACED_LANGUAGES.items()
    for word in (
        *numerals.words,
        *LISTS["numerals"][language]["counted"],
        *LISTS["numerals"][language]["numbered"],
    )
)
# The maximum number of words of a number with blanks.
_MAX_SPACED_WORDS = 12
_MARKS_BEHIND_WORD = ".,;:!?)]\"'”’»"


def read_spaced_number(chunks: Sequence[str], index: int) -> tuple[int, str] | None:
    """Read a number of Indonesian or Vietnamese: dua puluh lima, năm mươi nghìn.

    Args:
        chunks: The pieces of a text between white space.
        index: The index of the first word of the number.

    Returns:
        The index behind its last word, and the number in digits. None if no number begins here.

    >>> read_spaced_number("Ada dua puluh lima orang.".split(), 1)
    (4, '25')
    """
    first = _strip_marks_behind(chunks, index)
    previous = chunks[index - 1].lower() if index > 0 else ""
    for language, numerals in _SPACED_LANGUAGES.items():
        lists = LISTS["numerals"][language]
        if _may_begin(first, previous, numerals, lists):
            number = _read_spaced(chunks, index, numerals, lists)
            if number is not None:
                return number
    return None


def _may_begin(
    first: str, previous: str, numerals: NumeralsOfLanguage, lists: Mapping[str, Any]
) -> bool:
    """Whether a word may be the first one of a number, by the word before it."""
    if previous in lists["points"]:  # năm in "ba phẩy năm"
        return False
    if first in numerals.groups:
        return not previous[-1:].isdecimal() and previous not in numerals.words  # 50 nghìn, 3 nghìn tỷ
    # Vietnamese tư is 4 in "hai mươi tư", and not in "đầu tư" (invest).
    only_behind = lists.get("only_behind", ())
    may_be_no_number = previous in only_behind or previous in lists.get("only_first", ())
    is_inside_number = previous in numerals.words and not may_be_no_number  # ba in "hai ba", 2 or 3
    return first in numerals.digits and first not in only_behind and not is_inside_number


def _read_spaced(
    chunks: Sequence[str], index: int, numerals: NumeralsOfLanguage, lists: Mapping[str, Any]
) -> tuple[int, str] | None:
    """Read a number of one language. One word is a number only before a word that it counts, and a one is none by itself."""
    words: list[str] = []
    end = index
    while end < min(len(chunks), index + _MAX_SPACED_WORDS):
        word = _strip_marks_behind(chunks, end)
        if not _goes_on(words, word, _strip_marks_behind(chunks, end + 1), numerals, lists):
            break
        words.append(word)
        end += 1
        if chunks[end - 1].lower() != word:  # a mark ends the number
            break
    value = numerals.read(words) if words else None
    is_label = _stands_behind_label(chunks, index, lists)
    ends_clause = end > index and chunks[end - 1][-1] in _MARKS_BEHIND_WORD
    next_word = "" if ends_clause else _strip_marks_behind(chunks, end)
    if len(words) == len(("hai", "ba")) and next_word in lists["counted"]:  # hai ba ngày is 2 to 3 days
        first, second = (numerals.digits.get(word, 0) for word in words)
        if numerals.is_one(words[0]) and second == first + 1 < _TEN:
            return end, f"{first}-{second}"
    if value is None or next_word in lists.get("halves", ()):  # hai trăm rưỡi is 250
        return None
    if next_word in lists["points"]:
        return _read_decimals(chunks, end, value, numerals, lists)
    if is_label:
        return end, str(value)
    multiplies = any(word not in numerals.digits for word in words)
    if next_word not in lists["counted"] and not (multiplies and len(words) > 1):
        return None
    return None if value == 1 else (end, str(value))


def _stands_behind_label(chunks: Sequence[str], index: int, lists: Mapping[str, Any]) -> bool:
    """Whether a number stands behind a word for what is numbered: tầng ba, lantai tiga (floor three).

    Vietnamese "số năm" is also "the number of years", unless it stands behind another such word: phòng số năm (room number five).
    """
    labels = lists["numbered"]
    label = chunks[index - 1].lower() if index > 0 else ""
    if label not in labels:
        return False
    may_be_unit = _strip_marks_behind(chunks, index) in lists.get("only_first", ())
    if label != _VIETNAMESE_NUMBER_OF or not may_be_unit:
        return True
    return index > 1 and chunks[index - 2].lower() in labels


_VIETNAMESE_NUMBER_OF = "số"


def _strip_marks_behind(chunks: Sequence[str], index: int) -> str:
    """Return a word in small letters, without the marks behind it; an empty text behind the last one."""
    return chunks[index].rstrip(_MARKS_BEHIND_WORD).lower() if index < len(chunks) else ""


def _goes_on(
    words: Sequence[str],
    word: str,
    next_word: str,
    numerals: NumeralsOfLanguage,
    lists: Mapping[str, Any],
) -> bool:
    """Whether a word is the next one of a number. Vietnamese năm is 5, and "year" behind a number."""
    if not words:
        return word in numerals.words
    if word in lists.get("only_first", ()):  # 105: một trăm linh năm; 150: một trăm năm mươi
        return words[-1] in numerals.joints or next_word in numerals.scales
    return word in numerals.words or word in numerals.joints


def _read_decimals(
    chunks: Sequence[str],
    point: int,
    whole: int,
    numerals: NumeralsOfLanguage,
    lists: Mapping[str, Any],
) -> tuple[int, str] | None:
    """Read the digits behind a decimal point, which a noun or a scale follows: ba phẩy năm giờ (hours), dua koma lima juta (million)."""
    end = point + 1
    decimals = ""
    while numerals.is_one(word := _strip_marks_behind(chunks, end)):
        if decimals and word in lists.get("only_first", ()):  # 3.5 years: ba phẩy năm năm
            break
        decimals += str(numerals.digits[word])
        end += 1
    next_word = _strip_marks_behind(chunks, end)
    is_number = next_word in lists["counted"] or next_word in numerals.groups
    if not decimals or not is_number or len(decimals) == len("500"):  # 1.500 may be 1,500
        return None
    return end, f"{whole}.{decimals}"
