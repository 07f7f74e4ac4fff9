"""From a text to comparable words.

A word's *key* is what its spellings share: case folded, accents off, a light stem, number words as digits. Keys follow
from the text alone; the language only chooses the stop words. The decisions:

* Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese; Korean too, whose particles are
  written together with the word) give overlapping pairs of characters, a character being a letter with
  its marks.
* Marks belong to their letter, so Devanagari words stay whole. Accents of Latin, Greek and Cyrillic letters and Hebrew
  and Arabic points are dropped; ``й`` stays.
* A quantity is one word, whatever stands in it: a time, a date, a range, an amount with its unit (`text.quantities`).
* Of plain numbers ``1,000`` and ``1'000`` are 1000; ``1.000.000`` is a million, ``1.000`` alone a decimal; ``3,5`` is 3.5;
  ``5.0`` is 5, but ``3.10`` is not 3.1 (versions). ``21st`` and ``twenty-one`` are 21; ``1990s`` is not 1990. ``3.11.2`` is
  one number. Roman and Chinese numerals are not read.

Quantities are read from the whole text, since they hold blanks. The rest is read by chunks, the pieces between white space, and what a chunk
holds does not depend on its neighbours: each is read once and remembered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from operator import itemgetter
from sys import intern
from typing import Any, Literal, NamedTuple

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.text.quantities import (
    HALVES,
    JOINED_WORDS,
    MONTHS,
    NUMBER_NAMES,
    NUMBER_WORDS,
    ONE_WORDS,
    SPOKEN_MARKS,
    TENS_JOINTS,
    Quantity,
    find_spoken_time,
    find_stretch,
    is_continued,
    join_number_words,
    read_quantities,
)

# ``count`` is a number word that often counts nothing: one, first, second. ``characters`` is a pair of them in a script
# without spaces, ``character`` one that stands alone.
Kind = Literal["word", "number", "count", "characters", "character"]

# The word lists, by what they are for.
LISTS: dict[str, Any] = read_data("judges.evidence", "words.json")


class Token(NamedTuple):
    """A word of a text.

    Attributes:
        key: What makes it comparable.
        folded: The word without case and accents, not stemmed.
        kind: See `Kind`.
        spelling: The word as it is written; white space in a quantity is one blank.
        ends: Whether a mark that may end a clause follows it.
        measures: What a quantity measures (`Quantity.kind`); of a word with an opposite its name (`OPPOSITES`); empty for
            other words.
        parts: The keys of coarser quantities and of words that a quantity holds: 12 May 2024 holds 2024. A number that
            may count anything is ``5~``.
        size: As how many words it counts: a quantity as many as it is written with.
    """

    key: str
    folded: str
    kind: Kind
    spelling: str
    ends: bool
    measures: str = ""
    parts: tuple[str, ...] = ()
    size: int = 1


def tokens(text: str) -> list[Token]:
    """Return the words of a text in order, stop words included.

    >>> [token.key for token in tokens("The 2.10 cities' cafés, in twenty-one states")]
    ['the', '2.10', 'city', 'caf', 'in', '21', 'stat']
    >>> [token.key for token in tokens("HC2, COVID-19, mid-1990")]  # a number that is a part of a name
    ['hc', 'hc2', 'covid', 'covid19', 'mid', '1990']
    >>> [token.key for token in tokens("on May 12, 2024 at 6 pm")]
    ['on', '2024-05-12', 'at', '18:00']
    """
    chunks = text.split()
    pieces = [*map(_plain_chunk, chunks)]
    if None not in pieces:
        return [*chain.from_iterable(pieces)]  # the usual case
    return _read_numbers(text, chunks, [*map(_chunk, chunks)])


def read_phrase(phrase: str) -> list[Token]:
    """Return the words of a phrase without digits; a number word in it is a word like another."""
    words: list[Token] = []
    for match in _pattern(phrase.isascii()).finditer(phrase):
        if match.lastgroup == "unspaced":
            words += _pairs(match[0], ends=False)
        else:
            key, folded, kind, measures = _read_letters(match[0])
            words.append(Token(key, folded, kind, match[0], False, measures))
    return words


def read_words_and_keys(text: str) -> tuple[Sequence[Token], Sequence[str]]:
    """Return the words of a text (`tokens`), and the keys that it holds (`held_keys`)."""
    chunks = text.split()
    pieces = [*map(_plain_chunk, chunks)]
    if None not in pieces:
        words = [*chain.from_iterable(pieces)]
        return words, [*map(_get_key, words)]  # a word without a number holds no other key
    words = _read_numbers(text, chunks, [*map(_chunk, chunks)])
    return words, held_keys(words)


def _read_numbers(text: str, chunks: Sequence[str], pieces: list[tuple[Token, ...]]) -> list[Token]:
    """Return the words of a text that may hold numbers.

    Args:
        text: The text.
        chunks: Its pieces between white space.
        pieces: The words of each.
    """
    if "\n" in text or "\t" in text:  # a quantity does not go on in another line or cell
        return [*chain.from_iterable(map(tokens, text.replace("\t", "\n").split("\n")))]
    numbers = {index: type(words) for index, words in enumerate(pieces) if type(words) is not tuple}
    if not numbers:
        return [*chain.from_iterable(pieces)]
    kinds = numbers.values()
    may_join = not _MAY_JOIN.isdisjoint(kinds) and _may_join(chunks, numbers)
    joined = join_number_words(chunks) if may_join else chunks
    if joined != chunks:
        return tokens(" ".join(joined))
    if _ClockWords in kinds:
        _replace_spoken_times(chunks, pieces, numbers)
    next_free = 0
    for index, kind in numbers.items():
        if index < next_free or (kind is _NumberWords and not _is_measured(chunks, index)):
            continue
        start, end = find_stretch(chunks, numbers, index, next_free)
        if kind is _PlainDigits and end - start == 1:
            next_free = end
            continue
        stretch = chunks[index] if end - start == 1 else " ".join(chunks[start:end])
        words = _stretches.get(stretch)
        if words is None:
            number_words = _NumberWords in map(numbers.get, range(start, end))
            words = _replace_quantities(stretch, read_quantities(stretch, number_words=number_words))
        pieces[start:end] = (words, *[()] * (end - start - 1))
        next_free = end
    return [*chain.from_iterable(pieces)]


# Characters of the longest word for half, with a mark behind it.
_LONGEST_HALF = max(map(len, HALVES)) + 1


def _may_join(chunks: Sequence[str], numbers: Mapping[int, type]) -> bool:
    """Whether a number word stands beside another one, or with what joins tens and ones between them."""
    last = len(chunks) - 1
    for index, kind in numbers.items():
        if kind not in _MAY_JOIN:
            continue
        if index < last and chunks[index + 1] == "of":
            return True
        if kind is _ClockWords or len(chunks[index]) <= _LONGEST_HALF:
            word = chunks[index].strip(_MARKS_AROUND).lower()
            if word in HALVES:
                return True
        if index and chunks[index - 1].lower() in ONE_WORDS:
            return True
        if index < last and (numbers.get(index + 1) in _MAY_JOIN or chunks[index + 1] in TENS_JOINTS):
            return True
    return False


def _replace_spoken_times(
    chunks: Sequence[str], pieces: list[tuple[Token, ...]], numbers: dict[int, type]
) -> None:
    """Put a word in the place of each time in words, and drop its places from those that may be numbers."""
    indexes = [index for index, kind in numbers.items() if kind is _ClockWords]
    next_free = 0
    for index in indexes:
        numbers.pop(index, None)
        time = find_spoken_time(chunks, index)
        if time is None or time.begin < next_free:
            continue
        next_free = time.end
        chunk_range = range(time.begin, time.end)
        spelling = " ".join(chunks[time.begin : time.end]).rstrip(_MARKS_AROUND)
        ends = not _CLAUSE_END.isdisjoint(chunks[time.end - 1])
        for chunk_index in chunk_range:
            pieces[chunk_index] = ()
            numbers.pop(chunk_index, None)
        pieces[time.begin] = (
            Token(time.key, time.key, "number", spelling, ends, "time", (), _SPOKEN_SIZE),
        )


# As how many words a time in words counts: its hour and its minutes.
_SPOKEN_SIZE = 2


def _is_measured(chunks: Sequence[str], index: int) -> bool:
    """Whether a number word is followed by what makes a quantity of it: three years, five-year."""
    if "-" in chunks[index]:
        return True
    return index + 1 < len(chunks) and is_continued(chunks[index + 1])


class _Digits(tuple[Token, ...]):
    """The words of a chunk with digits."""

    __slots__ = ()


class _PlainDigits(_Digits):
    """The word of a chunk of digits and the end of a clause: without its neighbours it is no quantity."""

    __slots__ = ()


class _NumberWords(tuple[Token, ...]):
    """The words of a chunk with a number word and without digits."""

    __slots__ = ()


class _ClockWords(tuple[Token, ...]):
    """A word that a time in words may have: half, quarter."""

    __slots__ = ()


# What may be one of several words of a number.
_MAY_JOIN = frozenset((_NumberWords, _ClockWords))
_DIGIT = re.compile(r"[\d¼-¾⅐-⅞]")


# The words of each short stretch of chunks with a number; emptied when there are too many.
_stretches: dict[str, tuple[Token, ...]] = {}


def _replace_quantities(stretch: str, quantities: Sequence[Quantity]) -> tuple[Token, ...]:
    """Return the words of a stretch, each quantity as one word, and remember them."""
    words: list[Token] = []
    position = 0
    for quantity in quantities:
        words.extend(chain.from_iterable(map(_chunk, stretch[position : quantity.start].split())))
        words.append(_token(stretch, quantity))
        position = quantity.end
    words.extend(chain.from_iterable(map(_chunk, stretch[position:].split())))
    if len(stretch) <= _LONGEST:
        if len(_stretches) >= _MOST_KEPT:
            _stretches.clear()
        _stretches[stretch] = tuple(words)
    return tuple(words)


def _token(text: str, quantity: Quantity) -> Token:
    """Return a quantity as a word; the names of months and units are parts of it."""
    spelling = text[quantity.start : quantity.end]
    parts = [*quantity.parts]
    counted: set[str] = set()
    for word in chain.from_iterable(map(_chunk, spelling.split())):
        if word.kind == "word":
            parts.append(word.key)
        if word.kind == "number" or len(word.folded) > 1:
            counted.add(word.key)
    plain = filter(_is_plain_number, quantity.parts)
    parts.extend(f"{part}~" for part in plain)
    ends = not _CLAUSE_END.isdisjoint(text[quantity.end : quantity.end + 1])
    return Token(
        quantity.key,
        quantity.key,
        "number",
        spelling,
        ends,
        quantity.kind,
        tuple(parts),
        max(1, len(counted)),
    )


def read_number_words(words: list[Token], language: str) -> list[Token]:
    """Return the words of a text in a known language: some are numbers there, and something else in other ones (dos, due)."""
    numbers = _get_numbers(language)
    if not numbers or numbers.keys().isdisjoint([word.folded for word in words]):
        return words  # the usual case
    return [
        word._replace(key=numbers[word.folded], kind="number", measures="")
        if word.kind == "word" and word.folded in numbers
        else word
        for word in words
    ]


@lru_cache(maxsize=64)
def _get_numbers(language: str) -> Mapping[str, str]:
    """Return the words that are numbers in a language only."""
    numbers: Mapping[str, str] = LISTS["numbers_of_languages"].get(base_language(language), {})
    return numbers


def is_named(token: Token) -> bool:
    """Whether a word names one of a few values: a day, a month, an ordinal."""
    if token.measures == "fraction":
        return token.kind == "word"
    return token.measures in _NAMED or token.measures.startswith("numeral")


def _is_plain_number(key: str) -> bool:
    return key.replace(".", "").isdecimal()


def held_keys(words: Sequence[Token]) -> list[str]:
    """Return the keys that a text holds: those of its words, and what its quantities hold."""
    keys = [*map(_get_key, words)]
    for parts in filter(None, map(_get_parts, words)):
        keys += parts
    return keys


def split_date(key: str) -> tuple[str, Sequence[str], str]:
    """Return how a date with a year may stand apart from its year: the day and month here, the year elsewhere.

    Returns:
        The year; the keys of which one stands for the day and month, or for the month; a key that the sentences with
        it do not have, since the date there has a year of its own. Empty texts for what is no date with a year.
    """
    if key[4:5] != "-" or _DATED.fullmatch(key) is None:
        return "", (), ""  # the usual case
    year, _, rest = key.partition("-")
    if "-" in rest:
        return year, (f"?{rest}",), ""
    return year, _month_keys()[int(rest)], f"={rest}"


def split_times(key: str) -> str:
    """Return the number of a key such as "3 times"; an empty text for another one."""
    return key[: -len(_TIMES)] if key.endswith(_TIMES) else ""


_TIMES = " times"
_DATED = re.compile(r"\d{4}-\d\d(?:-\d\d)?")


@lru_cache(maxsize=1)
def _month_keys() -> dict[int, tuple[str, ...]]:
    stem_keys: dict[int, set[str]] = {}
    for name, month in MONTHS.items():
        words = _chunk(name)
        stem_keys.setdefault(month, set()).update(word.key for word in words if word.kind == "word")
    return {month: tuple(sorted(forms)) for month, forms in stem_keys.items()}


# Faster than by name.
_get_key = itemgetter(Token._fields.index("key"))
_get_parts = itemgetter(Token._fields.index("parts"))


def base_language(language: str) -> str:
    """Return the language of a tag: ``en`` for ``en-GB``, ``EN_us``."""
    return language.lower().replace("_", "-").partition("-")[0]


@lru_cache(maxsize=64)
def word_list(purpose: str, language: str) -> frozenset[str]:
    """Return the folded words of a list for a language.

    The words of ``stop`` carry no meaning by themselves; a language without such a list uses the
    English one. For other lists, a language without a list has no words.
    """
    lists = LISTS[purpose]
    otherwise = lists["en"] if purpose == "stop" else ()
    return frozenset(map(_fold, lists.get(base_language(language), otherwise)))


@lru_cache(maxsize=64)
def stem_keys(purpose: str, language: str) -> frozenset[str]:
    """Return the keys of the words of a list: also their inflections are found."""
    return frozenset(token.key for word in word_list(purpose, language) for token in tokens(word))


# Characters of a chunk that is remembered, and of a run of letters: a longer run is cut. Chunks that are remembered: about
# 20 MB.
_LONGEST = 64
_MOST_KEPT = 1 << 16


# Those of them that hold no number.
_plain_chunks: dict[str, tuple[Token, ...]] = {}


class _Chunks(dict[str, tuple[Token, ...]]):
    """The words of each short chunk met so far; emptied when there are too many."""

    def __missing__(self, chunk: str) -> tuple[Token, ...]:
        """Read the words of a chunk."""
        word = chunk.strip(_MARKS_AROUND)
        if len(chunk) > _LONGEST or not (_is_one_word(word) or _fold(word) in _HYPHENATED):
            return self._read(chunk)
        words = self.get(word)
        if words is None:
            words = _build_words(word, _read_number(word) if word.isdecimal() else _read_letters(word))
            if word.lower() in SPOKEN_MARKS:
                words = _ClockWords(words)
            self._keep(word, words)
        if word != chunk:
            tail = chunk[len(chunk.rstrip(_MARKS_AROUND)) :]
            if type(words) is _PlainDigits and not (
                word + tail == chunk and _PLAIN_END.issuperset(tail)
            ):
                words = _Digits(words)
            if not _CLAUSE_END.isdisjoint(tail):
                key, folded, kind, spelling, _, measures, parts, size = words[0]
                ending = Token(key, folded, kind, spelling, True, measures, parts, size)
                words = type(words)((ending,))
            self._keep(chunk, words)
        return words

    def _keep(self, chunk: str, words: tuple[Token, ...]) -> None:
        """Remember the words of a short chunk."""
        if len(chunk) <= _LONGEST:
            if len(self) >= _MOST_KEPT:
                self.clear()
                _plain_chunks.clear()
            self[chunk] = words
            if type(words) is tuple:
                _plain_chunks[chunk] = words

    def _read(self, chunk: str) -> tuple[Token, ...]:
        """Read the words of a chunk that may hold several, or digits."""
        text = chunk if chunk.isascii() else chunk.replace("’", "'").replace("‘", "'")
        words: list[Token] = []
        is_numeric = False
        joint = ""  # what stands between a word and the one before it
        matches = [*_pattern(text.isascii()).finditer(text)]
        ends_of_gaps = [*(match.start() for match in matches[1:]), len(text)]
        for match, after in zip(matches, ends_of_gaps, strict=False):
            gap = text[match.end() : after]
            ends = not _CLAUSE_END.isdisjoint(gap)
            spelling = match.group()
            is_number = match.lastgroup == "number"
            if match.lastgroup == "unspaced":
                words += _pairs(spelling, ends=ends)
            else:
                if is_number:
                    key, folded, kind, measures = _read_number(spelling)
                else:
                    key, folded, kind, measures = _read_letters(spelling)
                if kind != "word" or folded in NUMBER_WORDS:
                    is_numeric = True
                if joint == "-" and key in _ONES and words[-1].key in _TENS:  # twenty-one
                    before = words.pop()
                    key = before.key[0] + key
                    kind = "number"
                    spelling = f"{before.spelling}-{spelling}"
                elif (
                    is_number
                    and words
                    and words[-1].kind == "word"
                    and words[-1].folded != "v"  # v2.3.1 is version 2.3.1
                    and (not joint or (joint == "-" and words[-1].spelling.isupper()))
                ):
                    # HC2, COVID-19: the number is a part of the name, with its zeros.
                    key = words[-1].key + (spelling if spelling.isdecimal() else key)
                parts = (f"{key}~",) if kind == "number" else ()
                words.append(
                    Token(intern(key), intern(folded), kind, intern(spelling), ends, measures, parts)
                )
            joint = gap
        if chunk.lower().rstrip(_MARKS_AROUND) in SPOKEN_MARKS:  # o'clock
            result: tuple[Token, ...] = _ClockWords(words)
            self._keep(chunk, result)
            return result
        result = _classify(chunk, words) if is_numeric or not chunk.isascii() else tuple(words)
        self._keep(chunk, result)
        return result


def _is_one_word(chunk: str) -> bool:
    """Whether a chunk holds only letters, of scripts with spaces, or only the digits of ASCII: most chunks do."""
    if chunk.isascii():
        return chunk.isalpha() or chunk.isdecimal()
    return chunk.isalpha() and max(chunk) < _FIRST_UNSPACED


def _build_words(word: str, reading: tuple[str, str, Kind, str]) -> tuple[Token, ...]:
    """Build the words of a chunk that is one word, from its key, folded form, kind and measure."""
    key, folded, kind, measures = reading
    parts = (f"{key}~",) if kind == "number" else ()
    words = (Token(intern(key), intern(folded), kind, intern(word), False, measures, parts),)
    spelling = word.lower()
    if kind == "word" and spelling not in NUMBER_WORDS and spelling not in JOINED_WORDS:
        return words
    return _PlainDigits(words) if word.isdecimal() else _NumberWords(words)


def _classify(chunk: str, words: Sequence[Token]) -> tuple[Token, ...]:
    """Return the words of a chunk as a tuple whose type says whether it has digits or number words."""
    if _DIGIT.search(chunk):
        return _Digits(words)
    if any(word.kind in {"number", "count"} or word.folded in NUMBER_WORDS for word in words):
        return _NumberWords(words)
    return tuple(words)


_chunk = _Chunks().__getitem__


_plain_chunk: Callable[[str], Any] = _plain_chunks.get

_ONES = frozenset("123456789")
_TENS = frozenset(f"{ten}0" for ten in "23456789")
_CLAUSE_END = frozenset(".,;:!?，。；：！？、")
# Those behind which digits are nothing but a number.
_PLAIN_END = frozenset(".,;:!?")
# Marks before and behind a word that are no part of it; with an underscore, which is no letter.
_MARKS_AROUND = "!\"#$%&'()*,-./:;<=>?@[\\]^_`{|}~“”„‘’«»‹›…–—，。；：！？、"
# Letters before this one belong to scripts with spaces.
_FIRST_UNSPACED = "\u0e00"


def _read_number(text: str) -> tuple[str, str, Kind, str]:
    """Return key, folded form, kind and measure of a number; its key is its digits, with a point before its fraction."""
    measures = "ordinal" if _ORDINAL.search(text) else ""
    text = text.rstrip("+")
    digits = text
    if not (text.isascii() and text.isdecimal()):
        digits = "".join(
            str(unicodedata.decimal(character, character)) for character in _ORDINAL.sub("", text)
        )
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(next(character for character in digits if not character.isdigit()), "")
    integer, point, fraction = digits.replace(",", ".").partition(".")
    key = integer.lstrip("0") or "0"
    key += point + fraction if fraction.strip("0") else ""
    return key, key, "number", measures


def _read_letters(word: str) -> tuple[str, str, Kind, str]:
    """Return key, folded form, kind and measure of a word."""
    folded = word.lower()
    if not word.isascii():
        number = _ACCENTED_NUMBERS.get(folded)
        folded = _fold(word)
        if number is not None:
            return number, folded, "number", ""
    exact = LISTS["exact_values"].get(word)
    if exact is not None:
        measures, key = exact
        return key, folded, "word", measures
    if "'" in folded:
        folded = _CLITIC.sub("", folded).replace("'", "")
    if folded in LISTS["numbers"]:
        return LISTS["numbers"][folded], folded, "number", ""
    if folded in LISTS["counts"]:
        return LISTS["counts"][folded], folded, "count", ""
    value = LISTS["values"].get(folded)
    if value is None:
        stem = _stem_cyrillic if "\u0400" <= folded[-1:] <= "\u052f" else _stem
        return stem(folded), folded, "word", _NAMES_OF_OPPOSITES.get(word.lower(), "")
    measures, key = value
    return key, folded, _KINDS_OF_VALUES.get(measures, "word"), measures


# Numbers whose name without its accents is another word: três, pět.
_ACCENTED_NUMBERS: Mapping[str, str] = {
    name: number
    for name, number in NUMBER_WORDS.items()
    if not name.isascii() and name not in NUMBER_NAMES and name not in LISTS["counts"]
}
_KINDS_OF_VALUES: Mapping[str, Kind] = {"ordinal": "count", "s": "number", "%": "number"}


_CLITIC = re.compile(r"'(?:s|re|ve|ll|d|m)\Z")
_GROUPED = re.compile(
    r"""
    \d{1,3}(?:[,']\d{3})+(?:\.\d+)?
    |\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?
    |\d{1,3}(?:\.\d{3}){2,}
    |\d{1,3}(?:\.\d{3})+,\d+
    """,
    re.VERBOSE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\Z")


# --- words ----------------------------------------------------------------------------------------------------

_BREVE = "\u0306"
# Canonical combining classes: Hebrew and Arabic points, and the accents that stand above, below or across.
_FIRST_POINT = 10
_LAST_POINT = 35
_FIRST_ACCENT = 200


def _fold(word: str) -> str:
    """Return the word without case, accents and invisible characters; what is left is composed again."""
    if word.isascii():
        return word.lower()
    letters: list[str] = []
    for character in unicodedata.normalize("NFKD", word).casefold():
        combining_class = unicodedata.combining(character)
        is_accent = combining_class >= _FIRST_ACCENT or _FIRST_POINT <= combining_class <= _LAST_POINT
        is_short_i = character == _BREVE and letters and letters[-1] == "и"
        if (not is_accent or is_short_i) and character not in _INVISIBLE:
            letters.append(character)
    return unicodedata.normalize("NFC", "".join(letters)) or word


_INVISIBLE = "\u00ad\u200c\u200d"


# What a name and digits measure alike: "twice" is "2 times".
_QUANTITIES = frozenset(("time", "s", "%"))
_KEYED_BY_VALUE = _QUANTITIES | {"ordinal", "times", "fraction"}


def _find_values(
    lists: Mapping[str, Mapping[str, Sequence[str]]],
) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the words that name a value, each with what it measures and its key: a number, a time, or the name of both."""
    for measures, values in lists.items():
        for value, names in values.items():
            key = value if measures in _KEYED_BY_VALUE else f"{measures} {value}"
            for name in names:
                yield name, (measures, key)


# From each name of a pair to the other one: early and late.
OPPOSITES: Mapping[str, str] = {
    name: opposite for pair in LISTS["opposites"] for name, opposite in (tuple(pair), tuple(pair)[::-1])
}
_NAMES_OF_OPPOSITES: Mapping[str, str] = {
    word: name for pair in LISTS["opposites"] for name, words in pair.items() for word in words
}
_NAMED = (frozenset(LISTS["values"]) - _QUANTITIES) | OPPOSITES.keys()
LISTS["numbers"] = {_fold(name): number for name, number in NUMBER_NAMES.items()}
LISTS["values"] = {_fold(name): value for name, value in _find_values(LISTS["values"])}
LISTS["exact_values"] = dict(_find_values(LISTS["exact_values"]))
# Numbers and days whose name has a hyphen or an apostrophe.
_HYPHENATED = frozenset(
    name for name in (*LISTS["numbers"], *LISTS["values"], *_ACCENTED_NUMBERS) if not name.isalpha()
)
_HISSED = ("sses", "shes", "ches", "xes", "zes")
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM = 3
_SHORTEST_IES = 5  # ties, but cities
# Longer endings come first.
_CYRILLIC_ENDINGS = tuple(LISTS["cyrillic_endings"])


def _stem(word: str) -> str:
    """Drop the endings of English words; other languages lose little by it."""
    if len(word) <= _SHORTEST_STEM or not word[-1].isascii():
        return word
    if word.endswith("s"):
        if word.endswith("ies") and len(word) >= _SHORTEST_IES:
            word = word[:-3] + "y"
        elif word.endswith(_HISSED):
            word = word[:-2]
        elif not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    suffix = "ing" if word.endswith("ing") else "ed"
    if word.endswith(suffix):
        stem = word[: -len(suffix)]
        if len(stem) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(stem):
            double = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if double else stem
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


def _stem_cyrillic(word: str) -> str:
    """Drop one ending (Russian; Ukrainian and Bulgarian share most of them) and the reflexive particle."""
    if word.endswith(("ся", "сь")) and len(word) > _SHORTEST_STEM + 2:
        word = word[:-2]
    possible_endings = (
        ending for ending in _CYRILLIC_ENDINGS if len(word) - len(ending) >= _SHORTEST_STEM
    )
    return word.removesuffix(next(filter(word.endswith, possible_endings), ""))


# --- finding words --------------------------------------------------------------------------------------------

# Han, kana, hangul, Thai, Lao, Burmese, Khmer: their letters and marks, without digits and punctuation.
_UNSPACED = (
    "\u3005-\u3007"  # Han: repetition and zero
    "\u3040-\u30ff"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uff66-\uff9f"  # kana of half the width
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # hangul
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f"  # Burmese
    "\u1780-\u17d3"  # Khmer
)
_NUMBER = r"""
    (?:1\d|20)?\d0s(?![^\W_])                           # 1990s, 60s
    |\d+(?:st|nd|rd|th)(?![^\W_])
    |\d+\+(?![\w+])                                      # 18+
    |\d{1,3}(?:[,']\d{3}){1,6}(?:\.\d+)?(?![.,]?\d)     # 1,234,567.8
    |\d{1,2}(?:,\d\d){1,5},\d{3}(?:\.\d+)?(?![.,]?\d)    # 12,34,567.8
    |\d{1,3}(?:\.\d{3}){1,6},\d+(?![.,]?\d)             # 1.234,56
    |\d+(?:\.\d+)+                                      # 3.14, 1.234.567
    |(?<![\d,])\d+,\d+(?!,?\d)                          # 3,14, but not a list 1,2,3
    |\d+
"""


@lru_cache(maxsize=2)
def _pattern(ascii: bool) -> re.Pattern[str]:  # noqa: A002 - the flag's own name
    """Return the pattern of a word, made on first use: the marks of all scripts take some milliseconds."""
    marks = ""
    unspaced = "(?!)"
    letter = "[A-Za-z]"
    if not ascii:
        marks = _marks()
        letter = rf"[^\W\d_{_UNSPACED}]"
        unspaced = rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"
    inside = rf"(?:[{marks}]{{1,8}}{letter}{{0,{_LONGEST}}}){{0,{_LONGEST}}}" if marks else ""
    clitic = r"(?:'(?:s|t|re|ve|ll|d|m)(?![^\W_]))?"
    return re.compile(
        rf"(?P<number>{_NUMBER})|(?P<unspaced>{unspaced})"
        rf"|{letter}{{1,{_LONGEST}}}{inside}{clitic}",
        re.VERBOSE,
    )


@lru_cache(maxsize=1)
def _marks() -> str:
    """Return the marks that belong to the letter before them; a soft hyphen and joiners stand inside words too."""
    marks = (
        character
        for character in map(chr, range(0x300, 0x1F000))
        if unicodedata.category(character)[0] == "M"
    )
    return "".join(marks) + _INVISIBLE


def _pairs(run: str, *, ends: bool) -> list[Token]:
    """Return the overlapping pairs of characters of a run; the one character of a run of one."""
    characters = (
        re.findall(rf"[^{_marks()}][{_marks()}]*|[{_marks()}]+", run) if not run.isalnum() else run
    )
    kind: Kind = "characters" if len(characters) > 1 else "character"
    pairs = [first + second for first, second in pairwise(characters)] or [run]
    words: list[Token] = []
    for pair in pairs:
        key = intern(unicodedata.normalize("NFKC", pair))
        words.append(Token(key, key, kind, pair, False, _measure_pair(key)))
    return [*words[:-1], words[-1]._replace(ends=ends)]


# Chinese and Japanese numerals; one also stands for "a".
_NUMERALS = frozenset("二三四五六七八九十百千两")


def _measure_pair(pair: str) -> str:
    """Return what two characters measure: a named value, or a numeral what is counted by the character behind it."""
    value = LISTS["values"].get(pair)
    if value is not None:
        return str(value[0])
    return f"numeral {pair[1:]}" if pair[0] in _NUMERALS else ""
