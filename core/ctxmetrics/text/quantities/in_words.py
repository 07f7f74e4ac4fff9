"""Numbers of several words, written in digits: treinta y uno, двадцать один, two thirds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import gcd

from ctxmetrics.text.quantities.forms import (
    LISTS,
    NUMBER_WORDS,
    SCALES_AND_MEASURES,
    name_at,
    name_lists,
)
from ctxmetrics.text.quantities.numerals import SPACED_WORDS, read_spaced_number

MARKS_AROUND_WORD = ".,;:!?()[]\"'“”„‘’«»…"


def strip_marks(chunk: str) -> str:
    """Return a chunk in small letters, without the marks around it."""
    return chunk.strip(MARKS_AROUND_WORD).lower()


def stand_at(chunks: Sequence[str], start: int, words: Sequence[str]) -> bool:
    """Whether the chunks from an index on are these words."""
    if start < 0 or start + len(words) > len(chunks):
        return False
    return all(strip_marks(chunks[start + offset]) == word for offset, word in enumerate(words))


_ONES: dict[str, str] = {
    **{word: one for word, one in NUMBER_WORDS.items() if one in set("123456789")},
    **LISTS["counted"],
    **dict.fromkeys(LISTS["ones"], "1"),
}
# Words that are numbers only before what they count.
_COUNTED_NUMBERS = frozenset(LISTS["counted"])
_DIGITS_OF_TENS = frozenset(("20", "30", "40", "50", "60", "70", "80", "90"))
_TENS = {word: number for word, number in NUMBER_WORDS.items() if number in _DIGITS_OF_TENS}
# Words that are numbers only before a fraction or an occasion.
ONE_WORDS = frozenset((*LISTS["ones"], *LISTS["counted"]))
# Words between tens and ones: treinta y uno.
TENS_JOINTS = frozenset(LISTS["tens_and_ones"])
# The number of parts that a word for a part divides one into: "third" is 3.
_FRACTION_PARTS: Mapping[str, str] = name_lists(LISTS["parts"])
# Words for parts that mean something else behind the numbers of other languages: "two quarts" are no fourths.
_PARTS_BEHIND: Mapping[str, frozenset[str]] = {
    part: frozenset(numbers) for part, numbers in LISTS["parts_behind"].items()
}
# Words for an occasion: "una vez" is once. "Times" is not in the list, because it follows a number word.
_OCCASIONS = frozenset(LISTS["occasions"])
HALVES = frozenset(LISTS["halves"])
# "a", between "half" and its unit.
_HALF_JOINTS = frozenset(("a", "an"))
# The phrases for "and a half" and "and a quarter" with what they add, by their first word.
_AND_A_FRACTION: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _name, _fraction in (("and_a_half", ".5"), ("and_a_quarter", ".25")):
    for _phrase in LISTS[_name]:
        _words = tuple(_phrase.split())
        _AND_A_FRACTION.setdefault(_words[0], []).append((_words, _fraction))
# Words for 100, each with the number words that may stand before it: five hundred, but "five cents" is money.
_WORDS_BEFORE_HUNDRED: Mapping[str, frozenset[str]] = {
    word: frozenset(numbers) for word, numbers in LISTS["hundreds"].items()
}
_HUNDRED_ALONE = frozenset(LISTS["hundred_alone"])
_SUM_JOINTS = frozenset(LISTS["sum_joints"])
# Words for 1,000 before which no "one" stands: mil doscientas.
_THOUSAND_ALONE = frozenset(("mil", "mille", "tisíc", "tysiąc", "tusen", "тысяча", "тисяча"))
# Words that say how many thousands are meant: also words that are numbers in one language only, or name no sure number.
_WORDS_BEFORE_THOUSAND = frozenset(
    (
        *_ONES,
        *NUMBER_WORDS,
        *LISTS["hundred_alone"],
        *LISTS["hundreds"],
        *("dos", "tres", "siete", "douze", "sept", "to", "fire", "dues", "sis"),
        *("varios", "unos", "plusieurs", "quelques", "vários", "alcuni", "mehrere", "einige", "per"),
    )
)
# Words for 1,000 that are a number right before a unit: mille euros, tausend Euro.
THOUSANDS_BEFORE_UNIT = _THOUSAND_ALONE | {"tausend", "duizend", "bin", "тысячу", "тисячу", "ألف"}
_FIRST_OF_SUM = frozenset((*NUMBER_WORDS, *LISTS["hundred_alone"], *_THOUSAND_ALONE, "a"))
_THOUSANDS = frozenset(
    word for row in LISTS["scales"] if row["factor"] == "1000" for word in row["words"]
)


def _list_counted_by_one() -> Iterator[str]:
    """Yield the words for many before which "a" or "one" is a number: a million, ein Jahrzehnt, a fortnight."""
    large_scales = [
        row for row in LISTS["scales"] if row["factor"] in {"1000", "1000000", "1000000000"}
    ]
    decades_and_fortnights = [
        row
        for row in LISTS["units"]
        if (row["base"], row["factor"]) in {("month", "120"), ("day", "14")}
    ]
    for row in (*large_scales, *decades_and_fortnights):
        yield from (word for word in row["words"] if len(word) > len("mio"))


_COUNTED_BY_ONE = frozenset(_list_counted_by_one())
# The words for a quarter and a half of a year, and the words that say which of them it is.
_QUARTERS_OF_YEAR = frozenset(LISTS["quarters"])
_HALVES_OF_YEAR = frozenset(LISTS["halves_of_year"])
_HALVES_IN_YEAR = 2
QUARTERS = _QUARTERS_OF_YEAR | _HALVES_OF_YEAR
_ORDINALS_OF_QUARTERS: Mapping[str, str] = {
    name: str(number) for number, names in enumerate(LISTS["ordinals_of_quarters"], 1) for name in names
}
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
EACH_WORDS = frozenset(LISTS["each"]["words"])
# The number of a share by its ordinal: the fifth, of every fifth guest, is 5.
_SHARES_BY_ORDINAL: Mapping[str, str] = name_lists(LISTS["each"]["ordinals"])
# Arabic tens behind the ones that they are added to: خمسة وعشرون is 25.
_ARABIC_TENS: Mapping[str, str] = {
    **{f"و{word}": number for word, number in _TENS.items() if "\u0600" <= word[0] <= "\u06ff"},
    **dict.fromkeys(("عشر", "عشرة"), "10"),
}
# Words of one number in several words that are no number words.
JOINED_WORDS = frozenset(
    (
        *_FRACTION_PARTS,
        *_OCCASIONS,
        *HALVES,
        *_WORDS_BEFORE_HUNDRED,
        *_HUNDRED_ALONE,
        *THOUSANDS_BEFORE_UNIT,
        *_COUNTED_BY_ONE,
        *QUARTERS,
        *SPACED_WORDS,
        *("score", "foot", "feet"),
        *_ARABIC_TENS,
        *_SHARES_BY_ORDINAL,
    )
)
# Words between the two numbers of a result: drei zu null.
RESULT_JOINTS = frozenset(LISTS["ranges"])
_ZERO_NAMES = frozenset(
    ("null", "nul", *(name for name, number in NUMBER_WORDS.items() if number == "0"))
)


def is_zero_word(chunk: str) -> bool:
    """Whether a word is a zero, as in the result "drei zu null"."""
    return chunk.rstrip(MARKS_AROUND_WORD).lower() in _ZERO_NAMES


def join_number_words(chunks: Sequence[str]) -> list[str]:
    """Return the chunks of a text with each number of several words written in digits, as one chunk.

    >>> join_number_words("El comité tiene treinta y uno miembros, dos tercios son mujeres.".split())
    ['El', 'comité', 'tiene', '31', 'miembros,', '2/3', 'son', 'mujeres.']
    >>> join_number_words("half a percent, an hour and a half, two and a half years".split())
    ['0.5', 'percent,', '1.5', 'hour,', '2.5', 'years']
    """
    joined_chunks: list[str] = []
    index = 0
    while index < len(chunks):
        if not _may_begin_number(chunks[index]):  # the usual case
            joined_chunks.append(chunks[index])
            index += 1
            continue
        end, number_chunks = _read_number(chunks, index)
        joined_chunks += number_chunks or chunks[index:end]
        index = end
    return joined_chunks


def _read_number(chunks: Sequence[str], index: int) -> tuple[int, Sequence[str]]:
    """Read a number of several words that begins at an index.

    Returns:
        The index behind the number, and the chunks to write in its place. Without a number: the next index, and no chunks.
    """
    first = chunks[index].lstrip(MARKS_AROUND_WORD).lower()
    for read in _READERS_OF_RARE_FORMS:
        number = read(chunks, index, first)
        if number is not None:
            return number
    if first in _TENS:
        return _read_tens(chunks, index, first)
    if first in _ONES or first in _HALF_JOINTS or "-" in first or first.startswith(_ELIDED_ONE):
        return _read_parts(chunks, index, first)
    if first in HALVES:
        return _read_half(chunks, index)
    if first.isdecimal():
        return _read_one_and_a_half(chunks, index, first)
    return index + 1, ()


def _may_begin_number(chunk: str) -> bool:
    """Whether a number may begin with a chunk. Most chunks begin none, so that no reader is asked about them."""
    word = chunk.lstrip(MARKS_AROUND_WORD).lower()
    if word in _FIRST_WORDS or "-" in word or word.isdecimal() or word.startswith(_ELIDED_ONE):
        return True
    # Behind a word such as "floor", a number may end its clause: "tầng ba."
    return word[-1:] in MARKS_AROUND_WORD and word.rstrip(MARKS_AROUND_WORD) in SPACED_WORDS


def _read_part_of_year(
    chunks: Sequence[str], index: int, first: str
) -> tuple[int, Sequence[str]] | None:
    """Read a quarter or a half of a year: the first quarter, 1. Quartal, the first half of 2023, 1. Halbjahr.

    A half of anything else is none: "the first half of the game".
    """
    ordinal, _, joined_word = first.partition("-")
    joined_word = joined_word.rstrip(MARKS_AROUND_WORD)
    number = _ORDINALS_OF_QUARTERS.get(ordinal)
    if number is None or (not joined_word and index + 1 == len(chunks)):
        return None
    last = index if joined_word else index + 1
    word = joined_word or strip_marks(chunks[last])
    if word in _QUARTERS_OF_YEAR:
        return last + 1, [_write_number(chunks, index, last, f"q{number}")]
    is_half = word in _HALVES_OF_YEAR
    if word == "half":
        words_behind = [*map(strip_marks, chunks[last + 1 : last + 4]), "", ""]  # the text may end here
        is_the_year = words_behind[1:3] == ["the", "year"]
        names_year = is_the_year or _YEAR.fullmatch(words_behind[1]) is not None
        is_half = words_behind[0] == "of" and names_year
        if is_half:
            last += 1  # the word "of"
    if not is_half or int(number) > _HALVES_IN_YEAR:
        return None
    return last + 1, [_write_number(chunks, index, last, f"h{number}")]


def _read_spaced(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read a number of Indonesian or Vietnamese: dua puluh lima."""
    is_known = first.rstrip(MARKS_AROUND_WORD) in SPACED_WORDS
    number = read_spaced_number(chunks, index) if is_known else None
    if number is None:
        return None
    end, digits = number
    return end, [_write_number(chunks, index, end - 1, digits)]


def _read_score(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read scores that count twenty each: a score of years, three score years and ten, four score and seven years."""
    end = index + 2
    count = 1 if first == "a" else int(_ONES.get(first, "0"))
    if not count or end >= len(chunks) or chunks[index + 1] != "score":
        return None
    number = 20 * count
    if chunks[end] == "of":
        noun = strip_marks(chunks[end + 1]) if end + 1 < len(chunks) else ""
        is_plural = noun.endswith("s") or noun in _PLURALS_WITHOUT_S
        return (end + 1, [str(number)]) if is_plural and noun not in NUMBER_WORDS else None
    if first == "a":
        return None
    ones = _look_up(chunks, end + 1, NUMBER_WORDS) if chunks[end] == "and" else ""
    if ones:
        return end + 2, [_write_number(chunks, index, end + 1, str(number + int(ones)))]
    if [*map(strip_marks, chunks[end + 1 : end + 3])] == ["and", "ten"]:
        last = chunks[end + 2]
        marks_behind = last[len(last.rstrip(MARKS_AROUND_WORD)) :]
        return end + 3, [str(number + 10), chunks[end] + marks_behind]
    return end, [str(number)]


_PLURALS_WITHOUT_S = frozenset(("people", "men", "women", "children"))


def _read_each(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read a share with an ordinal: every fifth person, jeder fünfte Gast. "Every fifth year" is a frequency, and no share."""
    counted = index + 2
    share = _look_up(chunks, index + 1, _SHARES_BY_ORDINAL) if first in EACH_WORDS else ""
    if not share or counted >= len(chunks):
        return None
    if is_unit(chunks, counted) or strip_marks(chunks[counted]) in _OCCASIONS:
        return None
    return counted, [_write_number(chunks, index, index + 1, f"1/{share}")]


def _read_one_of_many(
    chunks: Sequence[str], index: int, first: str
) -> tuple[int, Sequence[str]] | None:
    """Read a share of two numbers: one in five, un client sur cinq."""
    number = _ONES.get(first)
    if number is None or index + 2 >= len(chunks):
        return None
    if chunks[index + 1] == "in":  # one in five; but not "one in five minutes"
        total = _look_up(chunks, index + 2, _TOTALS)
        if not total or int(total) <= int(number) or is_unit(chunks, index + 3):
            return None
        share = write_share(int(number), int(total))
        return index + 3, [_write_number(chunks, index, index + 2, share)]
    # The word that is counted stands within the share: un client sur cinq.
    total = _look_up(chunks, index + 3, _TOTALS)
    if number != "1" or chunks[index + 2] != "sur" or not total:
        return None
    return index + 4, [_write_number(chunks, index, index, f"1/{total}"), chunks[index + 1]]


def write_share(part: int, total: int) -> str:
    """Write a share as a fraction in its lowest terms: four in ten is 2/5."""
    divisor = gcd(part, total)
    return f"{part // divisor}/{total // divisor}"


# Words for all numbers that a share may be one of: one in ten.
_TOTALS: Mapping[str, str] = {
    **NUMBER_WORDS,
    **{str(number): str(number) for number in (*range(2, 11), 20, 100)},
}


def _read_thousand(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read a thousand without a number before it: mille euros, but not vingt-cinq mille euros."""
    if first not in THOUSANDS_BEFORE_UNIT or not is_unit(chunks, index + 1):
        return None
    last_part = strip_marks(chunks[index - 1]).rpartition("-")[2] if index else ""
    if last_part[-1:].isdecimal() or last_part in _WORDS_BEFORE_THOUSAND:
        return None
    return index + 1, [_write_number(chunks, index, index, "1000")]


def _read_feet(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read feet and inches: six foot two."""
    feet = NUMBER_WORDS.get(first, "")
    if not feet.isdecimal() or index + 2 >= len(chunks) or chunks[index + 1] not in _FEET:
        return None
    inches = _look_up(chunks, index + 2, NUMBER_WORDS)
    if not inches.isdecimal() or int(inches) >= _INCHES_OF_FOOT:
        return None
    end = index + 3
    if end < len(chunks) and strip_marks(chunks[end]) in _INCHES:
        end += 1
    elif is_unit(chunks, end):
        return None
    return end, [_write_number(chunks, index, end - 1, f"{feet}'{inches}\"")]


_FEET = frozenset(("foot", "feet"))
_INCHES = frozenset(("inch", "inches"))
_INCHES_OF_FOOT = 12


def _read_ones_and_tens(
    chunks: Sequence[str], index: int, first: str
) -> tuple[int, Sequence[str]] | None:
    """Read ones with tens behind them: خمسة وعشرون, خمسة عشر."""
    tens = _look_up(chunks, index + 1, _ARABIC_TENS)
    if first not in _ONES or not tens:
        return None
    return index + 2, [_write_number(chunks, index, index + 1, tens[0] + _ONES[first])]


def _read_elided(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]]:
    """Read one and a half of a unit that is joined to its "one": un'ora e mezza."""
    unit = first[len(_ELIDED_ONE) :]
    split_chunks = ["un", unit, *chunks[index + 1 : index + 4]]
    end, words = _read_one_and_a_half(split_chunks, 0, "1")
    # "Un" and the unit are one chunk of the text.
    return index + max(1, end - 1), words


def _read_sum(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]] | None:
    """Read a number with hundreds: two hundred and five, ciento veinte, two thousand five hundred."""
    if first not in _FIRST_OF_SUM:
        return None
    thousands = 0
    group = 0  # the part of the number below a thousand
    has_hundreds = False
    end = index
    previous = ""
    for position, word in _iterate_words(chunks, index):
        value = _read_value(word)
        if previous in _WORDS_BEFORE_HUNDRED.get(word, ()):
            group = max(group, 1) * _HUNDRED  # "a hundred" is 100
            has_hundreds = True
        elif word in _THOUSANDS and not thousands and (group or word in _THOUSAND_ALONE):
            thousands = max(group, 1)
            group = 0
        elif value and _may_add(group, value):
            group += value
        elif word == "a" and position == index:
            previous = word
            continue
        elif word in _SUM_JOINTS and position > index and group % _HUNDRED == 0:
            continue
        else:
            break
        end = position + 1
        previous = word
    is_sum = has_hundreds or group > _HUNDRED or (thousands and group)
    has_several_words = end > index + 1
    if not has_several_words or not is_sum:
        return None
    return end, [_write_number(chunks, index, end - 1, str(thousands * 1000 + group))]


def _iterate_words(chunks: Sequence[str], index: int) -> Iterator[tuple[int, str]]:
    """Yield the words from an index on, each with its index, up to the first word with a mark behind it."""
    for position in range(index, len(chunks)):
        chunk = chunks[position]
        word = chunk.lstrip(MARKS_AROUND_WORD) if position == index else chunk
        yield position, word.rstrip(MARKS_AROUND_WORD).lower()
        if chunk[-1] in MARKS_AROUND_WORD:
            return


_ELIDED_ONE = "un'"
_HUNDRED = 100
_TWENTY = 20
_TEN = 10


def _read_value(word: str) -> int:
    """Return the value of a number word below 1,000, such as "twenty-five"; 0 for any other word."""
    if word in _HUNDRED_ALONE:
        return _HUNDRED
    number = NUMBER_WORDS.get(word, "")
    if not number and "-" in word:
        ten, _, one = word.partition("-")
        if ten in _TENS and one in _ONES:
            tens_digit = _TENS[ten][0]
            number = f"{tens_digit}{_ONES[one]}"
    return int(number) if number.isdecimal() and len(number) <= len("999") else 0


def _may_add(group: int, value: int) -> bool:
    """Whether a number word may be added to the number before it: 5 or 25 to 100, 5 to 120."""
    if group == 0:
        return True
    if group % _HUNDRED == 0:
        return value < _HUNDRED
    ends_with_tens = group % _HUNDRED >= _TWENTY and group % _TEN == 0
    return group > _HUNDRED and ends_with_tens and value < _TEN


# French tens that eleven to nineteen are added to: soixante et onze.
_TENS_BEFORE_TEENS = frozenset(("soixante", "quatre-vingt"))
_FRENCH_TEENS = {**NUMBER_WORDS, "onze": "11"}  # the Dutch "onze" is "our"


def _read_tens(chunks: Sequence[str], index: int, ten: str) -> tuple[int, Sequence[str]]:
    """Read tens and ones: treinta y uno."""
    second = index + 1
    if second < len(chunks) and chunks[second].lower() in TENS_JOINTS:
        second += 1
    if ten in _TENS_BEFORE_TEENS:
        teen = _look_up(chunks, second, _FRENCH_TEENS)
        if len(teen) == len("11") and teen[0] == "1":
            return second + 1, [_write_number(chunks, index, second, str(int(_TENS[ten]) + int(teen)))]
    one = _look_up(chunks, second, _ONES)
    if not one:
        return index + 1, ()
    return second + 1, [_write_number(chunks, index, second, _TENS[ten][0] + one)]


def _read_parts(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]]:
    """Read a small number and a fraction (two thirds), an occasion (una vez) or a half (an hour and a half) behind it."""
    if first.startswith(_ELIDED_ONE):  # un'ora e mezza
        return _read_elided(chunks, index, first)
    if "-" in first:
        return index + 1, _read_joined_parts(chunks, index, first)
    number = _ONES.get(first, "1")
    end, words = _read_result(chunks, index, first)
    if not words:
        end, words = _read_fraction(chunks, index, first, number)
    if words:
        return end, words
    next_word = strip_marks(chunks[index + 1]) if index + 1 < len(chunks) else ""
    is_counted = first in _COUNTED_NUMBERS and next_word in _THOUSANDS  # dois mil reais
    if next_word in _COUNTED_BY_ONE or is_counted:
        return index + 1, [_write_number(chunks, index, index, number)]
    # The Spanish "en vez" is not a number.
    if next_word in _OCCASIONS and (first != "en" or next_word == "gång"):
        return index + 2, [_write_number(chunks, index, index, number), chunks[index + 1]]
    return _read_one_and_a_half(chunks, index, number)


def _read_joined_parts(chunks: Sequence[str], index: int, first: str) -> Sequence[str]:
    """Read two number words with a hyphen between them: three-quarters, three-nil."""
    first_word, _, second_word = first.rstrip(MARKS_AROUND_WORD).partition("-")
    if first_word not in _ONES:
        return ()
    number = _ONES[first_word]
    if second_word == "all":  # two-all
        in_digits = f"{number}-{number}"
    elif second_word in _ZERO_NAMES:  # three-nil
        in_digits = f"{number}-0"
    elif second_word in _FRACTION_PARTS:  # three-quarters
        in_digits = f"{number}/{_FRACTION_PARTS[second_word]}"
    else:
        return ()
    return [_write_number(chunks, index, index, in_digits)]


def _read_result(chunks: Sequence[str], index: int, first: str) -> tuple[int, Sequence[str]]:
    """Read a result whose second number is nothing: drei zu null."""
    end = index + 3
    if end > len(chunks) or first not in _ONES or chunks[index + 1] not in RESULT_JOINTS:
        return index + 1, ()
    if not is_zero_word(chunks[index + 2]):
        return index + 1, ()
    return end, [_write_number(chunks, index, index + 2, f"{_ONES[first]}-0")]


def _read_fraction(
    chunks: Sequence[str], index: int, first: str, number: str
) -> tuple[int, Sequence[str]]:
    """Read a fraction: "two thirds". "A third" is a fraction only in "a third of" and "a third off"."""
    word = ""
    if index + 1 < len(chunks):
        word = chunks[index + 1].rstrip(MARKS_AROUND_WORD).lower()
    part = _FRACTION_PARTS.get(word)
    has_other_meaning = word in _PARTS_BEHIND and first not in _PARTS_BEHIND[word]
    words_behind = chunks[index + 2 : index + 4]
    is_fraction = first in _ONES or words_behind[:1] in (["of"], ["off"])
    if part is None or has_other_meaning or not is_fraction:
        return index + 1, ()
    end = index + 2
    is_before_article = words_behind in (["of", "a"], ["of", "an"])
    if is_before_article and is_unit(chunks, index + 4):  # a quarter of an inch
        end = index + 4
    return end, [_write_number(chunks, index, index + 1, f"{number}/{part}")]


def _read_half(chunks: Sequence[str], index: int) -> tuple[int, Sequence[str]]:
    """Read half of a unit: half a percent, eine halbe Stunde."""
    unit = index + 1
    if unit < len(chunks) and chunks[unit] in _HALF_JOINTS:
        unit += 1
    if not is_unit(chunks, unit):
        return index + 1, ()
    return unit, [_write_number(chunks, index, index, "0.5")]


def _read_one_and_a_half(chunks: Sequence[str], index: int, number: str) -> tuple[int, Sequence[str]]:
    """Read a number and a half of a unit: two and a half years, an hour and a half.

    Returns:
        As for `_read_number`.
    """
    for behind_unit in (False, True):  # "two and a half hours", "two hours and a half"
        start = index + 2 if behind_unit else index + 1
        phrases = _AND_A_FRACTION.get(chunks[start], ()) if start < len(chunks) else ()
        for words, fraction in phrases:
            if not stand_at(chunks, start, words):
                continue
            end = start + len(words)
            unit_index = index + 1 if behind_unit else end
            # "Las dos y media" is a time; "two and a half" of anything is a number.
            is_number = not behind_unit and len(words) > len(("y", "media"))
            if not ((is_number and end < len(chunks)) or is_unit(chunks, unit_index)):
                break
            sum_in_digits = _write_number(chunks, index, index, number + fraction)
            if not behind_unit:
                return end, [sum_in_digits]
            last_chunk = chunks[end - 1]
            marks_behind = last_chunk[len(last_chunk.rstrip(MARKS_AROUND_WORD)) :]
            return end, [sum_in_digits, chunks[unit_index] + marks_behind]
    return index + 1, ()


def is_unit(chunks: Sequence[str], index: int) -> bool:
    """Whether a unit or a scale of two letters or more stands at an index."""
    if index >= len(chunks) or len(chunks[index]) == 1:
        return False
    return name_at(" ".join(chunks[index : index + 2]), 0, SCALES_AND_MEASURES) is not None


def _look_up(chunks: Sequence[str], index: int, table: Mapping[str, str]) -> str:
    """Return the table's entry of the word at an index; an empty text if there is none."""
    if index >= len(chunks):
        return ""
    return table.get(chunks[index].rstrip(MARKS_AROUND_WORD).lower(), "")


def _write_number(chunks: Sequence[str], first: int, last: int, number: str) -> str:
    """Write a number in digits, with the marks before its first chunk and behind its last chunk."""
    first_chunk = chunks[first]
    last_chunk = chunks[last]
    marks_before = first_chunk[: len(first_chunk) - len(first_chunk.lstrip(MARKS_AROUND_WORD))]
    marks_behind = last_chunk[len(last_chunk.rstrip(MARKS_AROUND_WORD)) :]
    return marks_before + number + marks_behind


# The words with which a number of several words may begin, beside digits, words with a hyphen and elided words.
_FIRST_WORDS = frozenset(
    (
        *_FIRST_OF_SUM,
        *THOUSANDS_BEFORE_UNIT,
        *_ONES,
        *_TENS,
        *HALVES,
        *_HALF_JOINTS,
        *EACH_WORDS,
        *SPACED_WORDS,
        *_ORDINALS_OF_QUARTERS,
    )
)
# The readers of forms of which most texts have none. Each returns None if its form does not begin at the index.
_READERS_OF_RARE_FORMS = (
    _read_part_of_year,
    _read_spaced,
    _read_score,
    _read_each,
    _read_one_of_many,
    _read_feet,
    _read_ones_and_tens,
    _read_thousand,
    _read_sum,
)
