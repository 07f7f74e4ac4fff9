"""Reads the words of one chunk, a part of a text between white space.

The words do not depend on the neighbours of the chunk: each chunk is read once and remembered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from sys import intern
from typing import Any, Literal, NamedTuple, TypeAlias

from ctxmetrics.judges.evidence.word_forms import (
    LISTS,
    fold,
    split_characters,
    stem,
    stem_cyrillic,
    word_pattern,
)
from ctxmetrics.text.quantities import (
    JOINED_WORDS,
    NUMBER_NAMES,
    NUMBER_WORDS,
    SPOKEN_MARKS,
    may_hold_numerals,
    read_compound_number,
)

# ``count`` is a number word that often counts nothing: one, first, second. ``characters`` is a pair of characters of a script
# without spaces, ``character`` a single one.
Kind = Literal["word", "number", "count", "characters", "character"]


class Token(NamedTuple):
    """A word of a text.

    Attributes:
        key: The form in which words are compared: a stem, or a quantity in a normal form. Equal words have equal keys.
        folded: The word without case and accents, not stemmed.
        kind: See `Kind`.
        spelling: The word as it is written. White space in a quantity is one blank.
        ends_clause: Whether a mark that may end a clause follows the word.
        measures: What a quantity measures (`Quantity.kind`), or the name of a pair of opposites that the word belongs to
            (`OPPOSITES`). Empty for other words.
        parts: The keys of coarser quantities and of words that a quantity holds: 12 May 2024 holds 2024. A number that may
            count anything is ``5~``.
        size: The number of words that it counts for: a quantity counts for the words that it is written with.
    """

    key: str
    folded: str
    kind: Kind
    spelling: str
    ends_clause: bool
    measures: str = ""
    parts: tuple[str, ...] = ()
    size: int = 1


# Getters of the fields of a word. They are faster than an access by name.
get_key: Callable[[Token], str] = itemgetter(Token._fields.index("key"))
get_folded: Callable[[Token], str] = itemgetter(Token._fields.index("folded"))
get_kind: Callable[[Token], Kind] = itemgetter(Token._fields.index("kind"))
get_spelling: Callable[[Token], str] = itemgetter(Token._fields.index("spelling"))
get_parts: Callable[[Token], tuple[str, ...]] = itemgetter(Token._fields.index("parts"))


def join_spellings(words: Sequence[Token]) -> str:
    """Return words as the text writes them, one blank between them."""
    return " ".join([word.spelling for word in words])


# How a word was read: its key, folded form, kind and measure, as in `Token`.
_Reading: TypeAlias = tuple[str, str, Kind, str]


class Digits(tuple[Token, ...]):
    """The words of a chunk with digits."""

    __slots__ = ()


class PlainDigits(Digits):
    """The word of a chunk of digits and perhaps a mark: 5, 12. Only with the next chunk may it be a quantity: 5 km."""

    __slots__ = ()


class NumberWords(tuple[Token, ...]):
    """The words of a chunk with a number word and without digits."""

    __slots__ = ()


class ClockWords(tuple[Token, ...]):
    """A word of a time in words: half, quarter. Each time in words has at least one of them."""

    __slots__ = ()


class Decades(Digits):
    """A decade without its century: 90s, nineties."""

    __slots__ = ()


class Numerals(tuple[Token, ...]):
    """The words of a chunk with a number in numerals, such as Chinese or Korean ones. It is read again with the number in digits."""

    __slots__ = ()


# --- words with a value: numbers, ordinals, days, opposites -----------------------------------------------------------

_DIGIT = re.compile(r"[\d¼-¾⅐-⅞]")  # also ½


def _write_roman(number: int) -> str:
    """Write a number below 40 in Roman numerals."""
    return "X" * (number // 10) + _ROMAN_ONES[number % 10]


_ROMAN_ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
_MAX_ROMAN_NUMBER = 39
# Roman numerals of at least two letters: "II" to "XXXIX". Numerals with L, C, D or M may be words or abbreviations.
ROMAN_NUMERALS: Mapping[str, str] = {
    _write_roman(number): str(number)
    for number in range(1, _MAX_ROMAN_NUMBER + 1)
    if len(_write_roman(number)) > 1
}
# The same as ordinals of French: le XIXe siècle.
_ROMAN_NUMBERS: Mapping[str, str] = {
    **ROMAN_NUMERALS,
    **{f"{numeral}e": number for numeral, number in ROMAN_NUMERALS.items()},
}
# Abbreviations of the days of the week in one language, by language.
_SHORT_DAYS: Sequence[Mapping[str, int]] = [
    {name.lower(): number for number, name in enumerate(names, 1)} for names in LISTS["short_days"]
]
_DAYS_JOINED = re.compile(r"\W*([^\W\d_]{2,3})\.?[-–/]([^\W\d_]{2,3})[.,;:!?)]*")


# Numbers whose name without its accents is another word: três, pět.
_ACCENTED_NUMBERS: Mapping[str, str] = {
    name: number
    for name, number in NUMBER_WORDS.items()
    if not name.isascii() and name not in NUMBER_NAMES and name not in LISTS["counts"]
}

# The decades of the last century that can be named without the century: the thirties to the nineties. "The twenties" may also mean
# the 2020s.
DECADES: Mapping[str, str] = {
    **{f"{ten}0s": f"{ten}0s" for ten in "3456789"},
    **{
        name: key
        for key, names in LISTS["values"]["decade"].items()
        for name in names
        if name.endswith("ties")
    },
}
# The quantities that have one key in words and in digits: "twice" is "2 times".
_QUANTITIES = frozenset(("time", "s", "%"))
_KEYED_BY_VALUE = _QUANTITIES | {"ordinal", "times", "fraction"}


def _find_values(
    lists: Mapping[str, Mapping[str, Sequence[str]]],
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the words that name a value, each with what the word measures and its key."""
    for measures, values in lists.items():
        for value, names in values.items():
            has_century = measures == "decade" and len(value) > len("90s")
            key = value if measures in _KEYED_BY_VALUE or has_century else f"{measures} {value}"
            for name in names:
                yield name, (measures, key)


def _find_inflected_ordinals() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the forms of ordinals of languages with many endings, each with what it measures and its key."""
    for ordinals in LISTS["inflected_ordinals"]:
        for value, stem_of_ordinal in ordinals["stems"].items():
            for ending in ordinals["endings"]:
                yield stem_of_ordinal + ending, ("ordinal", value)


# For each name of a pair of opposites, the other name: single and several.
OPPOSITES: Mapping[str, str] = {
    name: opposite for pair in LISTS["opposites"] for name, opposite in (tuple(pair), tuple(pair)[::-1])
}
_NAMES_OF_OPPOSITES: Mapping[str, str] = {
    word: name for pair in LISTS["opposites"] for name, words in pair.items() for word in words
}
_KINDS_WITH_NAME = (frozenset(LISTS["values"]) - _QUANTITIES) | OPPOSITES.keys()
# The numbers by their names.
_NUMBERS: Mapping[str, str] = {fold(name): number for name, number in NUMBER_NAMES.items()}
# What each other word with a value measures, and its key.
_VALUES: Mapping[str, tuple[str, str]] = {
    fold(name): value for name, value in (*_find_inflected_ordinals(), *_find_values(LISTS["values"]))
}
# The same for words that have a value only in exactly this spelling.
_EXACT_VALUES: Mapping[str, tuple[str, str]] = dict(_find_values(LISTS["exact_values"]))
# Numbers and days whose name has a hyphen or an apostrophe.
_HYPHENATED = frozenset(
    name for name in (*_NUMBERS, *_VALUES, *_ACCENTED_NUMBERS) if not name.isalpha()
)


def may_end_clause(marks: str) -> bool:
    """Whether one of the marks behind a word may end a clause."""
    return not _CLAUSE_END.isdisjoint(marks)


def is_named(token: Token) -> bool:
    """Whether a word names one of a few values: a day, a month, an ordinal."""
    if token.measures == "fraction":
        return token.kind == "word"
    return token.measures in _KINDS_WITH_NAME or token.measures.startswith("numeral")


# --- the words of each chunk, remembered ------------------------------------------------------------------------------

# The maximum number of characters of a chunk that is remembered.
LONGEST_CHUNK = 64
# The maximum number of chunks that are remembered: they take about 40 MB. A corpus of 6,000 passages has half as many.
MAX_CHUNKS_REMEMBERED = 1 << 17

# The words of the remembered chunks that hold no number.
_plain_chunks: dict[str, tuple[Token, ...]] = {}
# The keys of the words of each of these chunks, if none of them has other keys besides (`Token.parts`).
_plain_keys: dict[str, tuple[str, ...]] = {}


class _Chunks(dict[str, tuple[Token, ...]]):
    """The words of each short chunk that was read. The dict is emptied when it holds too many chunks."""

    def __missing__(self, chunk: str) -> tuple[Token, ...]:
        """Read the words of a chunk."""
        if "--" in chunk[:3] or "@" in chunk:
            option_or_address = self._read_option_or_address(chunk)
            if option_or_address:
                self._keep(chunk, option_or_address)
                return option_or_address
        word = chunk.strip(MARKS_AROUND_CHUNK).replace("’", "'")  # Ukrainian п’ятий is п'ятий
        if len(chunk) > LONGEST_CHUNK or not (_is_one_word(word) or fold(word) in _HYPHENATED):
            return self._read(chunk)
        words = self.get(word)
        if words is None:
            words = _build_words(word, _read_number(word) if word.isdecimal() else _read_letters(word))
            chunk_type = _find_type(word.lower())
            if chunk_type is not None:
                words = chunk_type(words)
            self._keep(word, words)
        if word != chunk:
            words = _add_marks(words, chunk, word)
            self._keep(chunk, words)
        return words

    def _keep(self, chunk: str, words: tuple[Token, ...]) -> None:
        """Remember the words of a short chunk."""
        if len(chunk) <= LONGEST_CHUNK:
            if len(self) >= MAX_CHUNKS_REMEMBERED:
                self.clear()
                _plain_chunks.clear()
                _plain_keys.clear()
            self[chunk] = words
            if type(words) is tuple:
                _plain_chunks[chunk] = words
                if not any(word.parts for word in words):
                    _plain_keys[chunk] = tuple(word.key for word in words)

    def _read_option_or_address(self, chunk: str) -> tuple[Token, ...]:
        """Read a chunk that is an option, with the words of its value, or an address; return an empty tuple for any other chunk."""
        match = _OPTION_OR_ADDRESS.fullmatch(chunk) if len(chunk) <= LONGEST_CHUNK else None
        if match is None:
            return ()
        if not match["value"]:
            return (_build_name(match, marks_behind=match["marks"]),)
        words = (_build_name(match, marks_behind=""), *self[match["value"]])
        return _classify(chunk, words)

    def _read(self, chunk: str) -> tuple[Token, ...]:
        """Read the words of a chunk that may hold several, or digits."""
        values = _read_days(chunk) or _read_quarter(chunk) or _read_grade(chunk)
        if values:
            self._keep(chunk, values)
            return values
        text = chunk if chunk.isascii() else chunk.replace("’", "'").replace("‘", "'")
        words: list[Token] = []
        is_numeric = False
        gap_before = ""
        matches = [*word_pattern(text.isascii()).finditer(text)]
        next_starts = [*(match.start() for match in matches[1:]), len(text)]
        for match, next_start in zip(matches, next_starts, strict=False):
            gap = text[match.end() : next_start]
            ends_clause = may_end_clause(gap)
            if match.lastgroup == "unspaced":
                words += _split_into_pairs(match[0], ends_clause=ends_clause)
            else:
                if match.lastgroup == "number":
                    reading = _read_number(_write_century(text, match))
                else:
                    reading = _read_letters(match[0])
                _, folded, kind, _ = reading
                if kind != "word" or folded in NUMBER_WORDS:
                    is_numeric = True
                words.append(_join_word(words, gap_before, match, reading, ends_clause=ends_clause))
            gap_before = gap
        result = tuple(words)
        if chunk.lower().rstrip(MARKS_AROUND_CHUNK) in SPOKEN_MARKS:  # o'clock
            result = ClockWords(words)
        elif is_numeric or not chunk.isascii():
            result = _classify(chunk, words)
        self._keep(chunk, result)
        return result


def _add_marks(words: tuple[Token, ...], chunk: str, word: str) -> tuple[Token, ...]:
    """Return the word of a chunk of one word, changed by the marks around it. A mark behind the word may end a clause.

    Args:
        words: The word as it was read without the marks. The type of the tuple is the kind of the chunk: see `_build_words`.
        chunk: The chunk.
        word: The text of the word: the chunk without the marks.
    """
    marks_behind = chunk[len(chunk.rstrip(MARKS_AROUND_CHUNK)) :]
    has_plain_end = word + marks_behind == chunk and _PLAIN_END.issuperset(marks_behind)
    if type(words) is PlainDigits and not has_plain_end:
        words = Digits(words)  # "$5" is a quantity without a neighbour
    if not may_end_clause(marks_behind):
        return words
    # Faster than `_replace`.
    key, folded, kind, spelling, _, measures, parts, size = words[0]
    return type(words)((Token(key, folded, kind, spelling, True, measures, parts, size),))


def _join_word(
    words: list[Token],
    gap: str,
    match: re.Match[str],
    reading: _Reading,
    *,
    ends_clause: bool,
) -> Token:
    """Build the next word of a chunk. A word before it that belongs to it, such as twenty in twenty-one, is removed from the list.

    Args:
        words: The words before this word. The last of them may be removed.
        gap: The characters between the last of these words and this word.
        match: The match of the pattern that found this word.
        reading: How this word was read.
        ends_clause: Whether a mark that may end a clause follows this word.
    """
    key, folded, kind, measures = reading
    spelling = match[0]
    if gap == "-" and key in _ONES and words[-1].key in _TENS:  # twenty-one
        tens = words.pop()
        key = tens.key[0] + key
        kind = "number"
        spelling = f"{tens.spelling}-{spelling}"
    elif match.lastgroup == "number" and words:
        word_before = words[-1]
        is_name = word_before.kind == "word" and word_before.folded != "v"  # v2.3.1 has no name
        is_joined = not gap or (gap == "-" and word_before.spelling.isupper())
        if is_name and is_joined:  # HC2, COVID-19: the number is a part of the name, with its zeros
            key = word_before.key + (spelling if spelling.isdecimal() else key)
    parts = (f"{key}~",) if kind == "number" else ()
    return Token(intern(key), intern(folded), kind, intern(spelling), ends_clause, measures, parts)


# --- chunks with a form of their own: Mon-Fri, --dry-run, a@b.org, Q1, B+ ---------------------------------------------


def _read_days(chunk: str) -> tuple[Token, ...]:
    """Read a chunk of two abbreviated days, such as Mon-Fri; return an empty tuple for any other chunk."""
    match = _DAYS_JOINED.fullmatch(chunk)
    if match is None:
        return ()
    for names in _SHORT_DAYS:
        days = [names.get(name.lower()) for name in match.groups()]
        if None not in days and days[0] != days[1]:
            ends_clause = may_end_clause(chunk[match.end(2) :])
            return tuple(
                Token(f"weekday {day}", name.lower(), "word", name, ends_clause, "weekday")
                for day, name in zip(days, match.groups(), strict=True)
            )
    return ()


# An option of a command (--dry-run, --output=report.html), or an address of mail.
_OPTION_OR_ADDRESS = re.compile(
    r"""
    ["'(\[<]?
    (?:
        (?P<option> --[a-z][A-Za-z\d]{0,30}(?:-[A-Za-z\d]{1,30}){0,5} ) (?: =(?P<value>\S*) )?
        | (?P<address> [A-Za-z\d_.+-]{1,64}@(?:[A-Za-z\d-]{1,64}\.){1,4}[A-Za-z]{2,24} )
    )
    (?P<marks> [^\w+-]* )
    """,
    re.VERBOSE,
)


def _build_name(match: re.Match[str], *, marks_behind: str) -> Token:
    """Build one word from an option or an address, so that two of them are equal only as a whole. `Token.parts` has its words.

    Args:
        match: The match of `_OPTION_OR_ADDRESS`.
        marks_behind: The marks that follow it.
    """
    measures = "option" if match["option"] else "address"
    spelling = match[measures]
    key = spelling.lower()
    parts = tuple(_read_letters(word)[0] for word in re.findall(r"[a-z]+", key))
    ends_clause = may_end_clause(marks_behind)
    return Token(key, key, "word", spelling, ends_clause, measures, parts)


# The quarter or half of a year: Q1, H2. `join_number_words` writes "the third quarter" as q3, with a small letter.
_QUARTER = re.compile(r"\W*([Qq][1-4]|[Hh][12])\W*")


def _read_quarter(chunk: str) -> tuple[Token, ...]:
    """Read a chunk that is the quarter or the half of a year, such as Q1; return an empty tuple for any other chunk."""
    match = _QUARTER.fullmatch(chunk)
    if match is None:
        return ()
    key = match[1].lower()
    ends_clause = may_end_clause(chunk[match.end(1) :])
    kind: Kind = "number" if match[1].isupper() else "count"
    measures = "quarter of a year" if key[0] == "q" else "half of a year"
    return (Token(key, key, kind, match[1], ends_clause, measures),)


# A grade or a blood type with its sign: B+, AA-; but not C++.
_GRADE = re.compile(r"[^\w+-]*([A-F]{1,3}[+-]|O[+-]|[A-F]{1,3}\N{MINUS SIGN})[^\w+-]*")


def _read_grade(chunk: str) -> tuple[Token, ...]:
    """Read a chunk that is a grade with a sign, such as B+; return an empty tuple for any other chunk."""
    match = _GRADE.fullmatch(chunk)
    if match is None:
        return ()
    key = match[1].lower().replace("\N{MINUS SIGN}", "-")
    ends_clause = may_end_clause(chunk[match.end(1) :])
    grade_without_sign = match[1][:-1].lower()
    return (Token(key, key, "word", match[1], ends_clause, "grade", (grade_without_sign,)),)


def _write_century(text: str, number: re.Match[str]) -> str:
    """Return the text of a number. A decade behind an apostrophe gets its century: '90s becomes 1990s."""
    has_apostrophe = text[: number.start()] == "'"
    return f"19{number[0]}" if has_apostrophe and number[0] in DECADES else number[0]


def _is_one_word(chunk: str) -> bool:
    """Whether a chunk holds only letters, of scripts with spaces, or only the digits of ASCII: most chunks do."""
    if chunk.isascii():
        return chunk.isalpha() or chunk.isdecimal()
    return chunk.isalpha() and max(chunk) < _FIRST_UNSPACED


# The length of the shortest number above a hundred in one word. Most words are shorter.
_MIN_COMPOUND_LETTERS = len("centouno")


def _find_type(lower_word: str) -> type[tuple[Token, ...]] | None:
    """Return the kind of a chunk of one word that must be read together with its neighbours; None for any other word."""
    if lower_word in SPOKEN_MARKS:
        return ClockWords
    if lower_word in DECADES:
        return Decades
    is_number = (
        len(lower_word) >= _MIN_COMPOUND_LETTERS and read_compound_number(lower_word) is not None
    )
    return Numerals if is_number else None


def _build_words(word: str, reading: _Reading) -> tuple[Token, ...]:
    """Build the words of a chunk that is one word.

    Args:
        word: The word, as it is spelled.
        reading: What was read of the word.

    Returns:
        A tuple of one word. Its type says how the next chunk may continue the word: `PlainDigits` ("5") with a unit of measure,
        `NumberWords` ("five") with another number word, a plain tuple not at all.
    """
    key, folded, kind, measures = reading
    parts: tuple[str, ...] = ()
    if kind == "number":
        parts = (f"{key}~",)  # a number that may count anything (`Token.parts`)
    token = Token(
        intern(key),
        intern(folded),
        kind,
        spelling=intern(word),
        ends_clause=False,
        measures=measures,
        parts=parts,
    )
    lower_word = word.lower()
    is_number_word = lower_word in NUMBER_WORDS or lower_word in JOINED_WORDS
    if kind == "word" and not is_number_word:
        return (token,)
    return PlainDigits((token,)) if word.isdecimal() else NumberWords((token,))


def _classify(chunk: str, words: Sequence[Token]) -> tuple[Token, ...]:
    """Return the words of a chunk as a tuple whose type says whether it has digits or number words."""
    if len(words) == 1 and words[0].key in DECADES:
        return Decades(words)
    if max(chunk) >= _FIRST_UNSPACED and may_hold_numerals(chunk.strip(MARKS_AROUND_CHUNK)):
        return Numerals(words)
    if _DIGIT.search(chunk):
        return Digits(words)
    if any(word.kind in {"number", "count"} or word.folded in NUMBER_WORDS for word in words):
        return NumberWords(words)
    if len(words) == 1 and words[0].spelling.lower() in JOINED_WORDS:
        return NumberWords(words)
    return tuple(words)


# Returns the words of a chunk.
read_chunk: Callable[[str], tuple[Token, ...]] = _Chunks().__getitem__
# Returns the words of a chunk that was read before and holds no number; None for another one.
find_plain_chunk: Callable[[str], Any] = _plain_chunks.get
# Returns the keys of a chunk that was read before and holds no number; None for another one.
find_plain_keys: Callable[[str], Any] = _plain_keys.get

_ONES = frozenset("123456789")
_TENS = frozenset(f"{ten}0" for ten in "23456789")
_CLAUSE_END = frozenset(".,;:!?，。；：！？、")
# Digits with only these marks behind them are a plain number: "5," but not "5%".
_PLAIN_END = frozenset(".,;:!?")
# Marks that may stand before and behind a word without being a part of it. The underscore is one of them.
MARKS_AROUND_CHUNK = "!\"#$%&'()*,-./:;<=>?@[\\]^_`{|}~“”„‘’«»‹›…–—，。；：！？、"
# Letters before this one belong to scripts with spaces.
_FIRST_UNSPACED = "\u0e00"


# --- one word or number -----------------------------------------------------------------------------------------------


def _read_number(text: str) -> _Reading:
    """Return the key, the folded form, the kind and the measure of a number.

    The key is its digits, with a point before the fraction: 1234.5 for "1,234.50".
    """
    measures = "ordinal" if _ORDINAL.search(text) else ""
    text = text.rstrip("+")
    decade = _DECADE.fullmatch(text)
    if decade is not None:
        key = (decade[1] or "19") + decade[2] + "s"
        return key, key, "number", measures
    digits = text
    if not (text.isascii() and text.isdecimal()):
        digits = "".join(
            str(unicodedata.decimal(character, character)) for character in _ORDINAL.sub("", text)
        )
    if _GROUPED_DIGITS.fullmatch(digits):
        group_separator = next(character for character in digits if not character.isdigit())
        digits = digits.replace(group_separator, "")
    integer, point, fraction = digits.replace(",", ".").partition(".")
    if _POINT_BEFORE_THOUSANDS.fullmatch(digits):
        key = integer + fraction  # 12.400 inhabitants
        return key, key, "number", measures
    key = integer.lstrip("0") or "0"
    key += point + fraction if fraction.strip("0") else ""
    return key, key, "number", measures


def _read_letters(word: str) -> _Reading:
    """Read a word of letters."""
    folded = word.lower()
    if not word.isascii():
        number = _ACCENTED_NUMBERS.get(folded)
        folded = fold(word)
        if number is not None:
            return number, folded, "number", ""
    exact_value = _EXACT_VALUES.get(word)
    if exact_value is not None:
        measures, key = exact_value
        return key, folded, "word", measures
    value = _VALUES.get(folded)
    if "'" in folded:
        folded = _CLITIC.sub("", folded).replace("'", "")
        value = value or _VALUES.get(folded)
    number = _ROMAN_NUMBERS.get(word) or _NUMBERS.get(folded)
    if number is not None:
        return number, folded, "number", ""
    if folded in LISTS["counts"]:
        return LISTS["counts"][folded], folded, "count", ""
    if value is None:
        find_stem = stem_cyrillic if "\u0400" <= folded[-1:] <= "\u052f" else stem
        return find_stem(folded), folded, "word", _NAMES_OF_OPPOSITES.get(word.lower(), "")
    measures, key = value
    return key, folded, _KINDS_OF_VALUES.get(measures, "word"), measures


_KINDS_OF_VALUES: Mapping[str, Kind] = {"ordinal": "count", "s": "number", "%": "number"}


_CLITIC = re.compile(r"'(?:s|re|ve|ll|d|m)\Z")  # it's, we're
# A number whose digits are in groups.
_GROUPED_DIGITS = re.compile(
    r"""
    \d{1,3}(?:[,']\d{3})+(?:\.\d+)?        # 1,234,567.8
    |\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?     # 12,34,567.8
    |\d{1,3}(?:\.\d{3}){2,}                # 1.234.567
    |\d{1,3}(?:\.\d{3})+,\d+               # 1.234,56
    """,
    re.VERBOSE,
)
# The point probably separates thousands: 12.500, 5.000.
_POINT_BEFORE_THOUSANDS = re.compile(r"[1-9]\d{1,2}\.\d{3}|[1-9]\.000")
# Decades of German and Russian: 1980er, 80-х
_DECADE = re.compile(r"(1\d|20)?([3-9]0|(?<=\d\d)[012]0)(?:er|-(?:х|е|ые|ых|ті|их))")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|\.?[ºª])\Z")


def read_phrase(phrase: str) -> list[Token]:
    """Return the words of a phrase without digits. Number words are not joined to larger numbers."""
    words: list[Token] = []
    spellings = phrase.split()
    if max(phrase) < _FIRST_UNSPACED and "".join(spellings).isalpha():
        for spelling in spellings:  # without a pattern, which takes longer
            key, folded, kind, measures = _read_letters(spelling)
            words.append(Token(key, folded, kind, spelling, False, measures))
        return words
    for match in word_pattern(phrase.isascii()).finditer(phrase):
        if match.lastgroup == "unspaced":
            words += _split_into_pairs(match[0], ends_clause=False)
        else:
            key, folded, kind, measures = _read_letters(match[0])
            words.append(Token(key, folded, kind, match[0], ends_clause=False, measures=measures))
    return words


def _split_into_pairs(text: str, *, ends_clause: bool) -> list[Token]:
    """Return the overlapping pairs of characters of a text as words. One character alone is one word.

    Args:
        text: Characters of a script without blanks between words.
        ends_clause: Whether a mark that may end a clause follows the text.
    """
    characters = split_characters(text)
    kind: Kind = "characters" if len(characters) > 1 else "character"
    pairs = [first + second for first, second in pairwise(characters)] or [text]
    words: list[Token] = []
    for pair in pairs:
        key = intern(unicodedata.normalize("NFKC", pair))
        is_last = len(words) + 1 == len(pairs)
        words.append(
            Token(
                key, key, kind, pair, ends_clause=ends_clause and is_last, measures=_measure_pair(key)
            )
        )
    return words


# Chinese and Japanese numerals, without 一, which also means "a".
_NUMERALS = frozenset("二三四五六七八九十百千两")


def _measure_pair(pair: str) -> str:
    """Return what two characters measure; an empty text if they measure nothing.

    Named values stand in a list. Behind a numeral, the second character says what is counted: "numeral 年" for 三年 (three years).
    """
    value = _VALUES.get(pair)
    if value is not None:
        return str(value[0])
    return f"numeral {pair[1:]}" if pair[0] in _NUMERALS else ""
