"""From a text to comparable words.

A word's *key* is what its spellings share: case folded, accents off, a light stem, number words as digits. Keys follow
from the text alone; the language only chooses the stop words. The decisions:

* Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese; Korean too, whose particles are
  written together with the word) give overlapping pairs of characters, a character being a letter with
  its marks.
* Marks belong to their letter, so Devanagari words stay whole. Accents of Latin, Greek and Cyrillic letters and Hebrew
  and Arabic points are dropped; ``й`` stays.
* A quantity is one word, whatever stands in it: a time, a date, a range, an amount with its unit (`text.quantities`).
* Of plain numbers ``1,000`` and ``1'000`` are 1000; ``1.000.000`` is a million, ``1.000`` a thousand, ``1.234`` alone a decimal; ``3,5`` is 3.5;
  ``5.0`` is 5, but ``3.10`` is not 3.1 (versions). ``21st`` and ``twenty-one`` are 21; ``1990s`` is not 1990. ``3.11.2`` is
  one number. Roman numerals of I, V and X, and Chinese ones before what they count, are
  numbers.

Quantities are read from the whole text, since they hold blanks. The rest is read by chunks, the pieces between white space, and what a chunk
holds does not depend on its neighbours: each is read once and remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import chain
from typing import Any

from ctxmetrics.judges.evidence.chunks import (
    DECADES,
    LONGEST_CHUNK,
    MARKS_AROUND_CHUNK,
    MAX_CHUNKS_REMEMBERED,
    ClockWords,
    Decades,
    Digits,
    NumberWords,
    Numerals,
    PlainDigits,
    Token,
    find_plain_chunk,
    find_plain_keys,
    get_key,
    get_parts,
    may_end_clause,
    read_chunk,
    read_phrase,
)
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language, fold
from ctxmetrics.text.quantities import (
    EACH_WORDS,
    HALVES,
    MONTHS,
    ONE_WORDS,
    QUARTERS,
    RESULT_JOINTS,
    SHARES,
    TENS_JOINTS,
    THOUSANDS_BEFORE_UNIT,
    Quantity,
    continues_quantity,
    find_spoken_time,
    find_stretch,
    is_zero_word,
    join_number_words,
    read_quantities,
    write_numerals,
)

# --- the words of a text ----------------------------------------------------------------------------------------------

# The words of short texts that may hold numbers; emptied when there are too many. A sentence is read for the index, to
# find contradictions, and in other samples with the same context.
_texts_with_numbers: dict[str, Sequence[Token]] = {}
# The words of the other short texts. They are read faster, and are apart so that they drive out none of those with numbers.
_texts_without_numbers: dict[str, Sequence[Token]] = {}
_MAX_CHARACTERS_REMEMBERED = 1_000
_MAX_TEXTS_REMEMBERED = 2_048
_CELL_END = re.compile(r"[\t\n]")
# A line end over which no quantity continues.
_LINE_END = re.compile(
    r"""
    \n[ \r]*\n                  # the end of a paragraph
    | (?<=\d)[ \r]*\n(?=\s*\d)  # between two numbers
    # Behind a line of less than 25 characters, as lists of values have; but "20\neuros" is one quantity.
    | (?<!.{25})\n(?![ \r]*[a-zß-öø-ÿа-яёіїєґα-ω])
    """,
    re.VERBOSE,
)


def tokenize(text: str) -> Sequence[Token]:
    """Return the words of a text in order, stop words included.

    >>> [token.key for token in tokenize("The 2.10 cities' cafés, in twenty-one states")]
    ['the', '2.10', 'city', 'caf', 'in', '21', 'stat']
    >>> [token.key for token in tokenize("HC2, COVID-19, mid-1990")]  # a number that is a part of a name
    ['hc', 'hc2', 'covid', 'covid19', 'mid', '1990']
    >>> [token.key for token in tokenize("on May 12, 2024 at 6 pm")]
    ['on', '2024-05-12', 'at', '18:00']
    """
    remembered = _texts_with_numbers.get(text) or _texts_without_numbers.get(text)
    if remembered is not None:
        return remembered
    chunks = text.split()
    words_by_chunk = [*map(find_plain_chunk, chunks)]
    if None not in words_by_chunk:
        plain_words = [*chain.from_iterable(words_by_chunk)]
        _remember(text, plain_words, _texts_without_numbers)
        return plain_words
    has_several_lines = "\n" in text or "\t" in text
    lines = _split_lines(text) if has_several_lines else [text]
    words: Sequence[Token]
    if len(lines) > 1:
        words = [*chain.from_iterable(map(tokenize, lines))]
    else:
        other_words, number_kinds = _read_other_chunks(chunks, words_by_chunk)
        for index, words_of_chunk in other_words.items():
            words_by_chunk[index] = words_of_chunk
        in_digits = _write_number_words(chunks, number_kinds)
        if in_digits != chunks:
            words = tokenize(" ".join(in_digits))
        else:
            if ClockWords in number_kinds.values():
                _replace_spoken_times(chunks, words_by_chunk, number_kinds)
            if number_kinds:
                _replace_stretches(chunks, words_by_chunk, number_kinds)
            words = [*chain.from_iterable(words_by_chunk)]
    _remember(text, words, _texts_with_numbers)
    return words


def _remember(text: str, words: Sequence[Token], memory: dict[str, Sequence[Token]]) -> None:
    """Remember the words of a short text."""
    if len(text) <= _MAX_CHARACTERS_REMEMBERED:
        if len(memory) >= _MAX_TEXTS_REMEMBERED:
            memory.clear()
        memory[text] = words


def read_keys(text: str) -> tuple[tuple[str, ...], int]:
    """Return the keys that a text holds, in no certain order, and the number of its words.

    The keys are those of `list_keys`. It takes half the time of `tokenize`: only the words with numbers are read.

    >>> read_keys("It weighs 40 kg.")
    (('it', 'weigh', '40000 g', '40~', 'kg'), 3)
    """
    chunks = text.split()
    keys_by_chunk = [*map(find_plain_keys, chunks)]
    if None not in keys_by_chunk:
        keys = (*chain.from_iterable(keys_by_chunk),)
        return keys, len(keys)
    words_by_chunk, number_kinds = _read_other_chunks(chunks, keys_by_chunk)
    has_several_lines = "\n" in text or "\t" in text
    if has_several_lines or not _KINDS_IN_DIGITS.issuperset(number_kinds.values()):
        all_words = tokenize(text)
        return (*list_keys(all_words),), len(all_words)
    _replace_stretches(chunks, words_by_chunk, number_kinds)
    extra_keys = 0
    for index, words in words_by_chunk.items():
        keys_of_number = list_keys(words)
        extra_keys += len(keys_of_number) - len(words)
        keys_by_chunk[index] = keys_of_number
    keys = (*chain.from_iterable(keys_by_chunk),)
    return keys, len(keys) - extra_keys


# The kinds of chunks whose numbers have digits. Such a chunk is read without the words of the other chunks.
_KINDS_IN_DIGITS = frozenset((PlainDigits, Digits))


def _split_lines(text: str) -> Sequence[str]:
    """Split a text at the ends of lines and cells, which no quantity crosses."""
    return _CELL_END.split(text) if "\t" in text else _LINE_END.split(text)


def _read_other_chunks(
    chunks: Sequence[str], read_chunks: Sequence[Any]
) -> tuple[dict[int, tuple[Token, ...]], dict[int, type]]:
    """Read the chunks of a line that may hold a number, each alone.

    Args:
        chunks: The parts of the line between white space.
        read_chunks: For each chunk, None if it may hold a number.

    Returns:
        The words of these chunks, and the kinds of their numbers, by the index of the chunk.
    """
    words_by_chunk: dict[int, tuple[Token, ...]] = {}
    number_kinds: dict[int, type] = {}
    index = -1
    for _ in range(read_chunks.count(None)):  # faster than to look at each
        index = read_chunks.index(None, index + 1)
        words = read_chunk(chunks[index])
        words_by_chunk[index] = words
        kind = type(words)
        if kind is not tuple:
            number_kinds[index] = kind
    return words_by_chunk, number_kinds


# --- quantities: numbers with their neighbours ------------------------------------------------------------------------

# The words of each short stretch of chunks with a number; emptied when there are too many.
_stretches: dict[str, tuple[Token, ...]] = {}


def _replace_stretches(
    chunks: Sequence[str],
    words_by_chunk: list[tuple[Token, ...]] | dict[int, tuple[Token, ...]],
    number_kinds: Mapping[int, type],
) -> None:
    """Read each stretch of chunks around a number as a whole, so that a quantity becomes one word.

    The words of a stretch are stored at its first chunk; its other chunks get no words.
    """
    next_free = 0  # the first chunk behind the last stretch
    for index, kind in number_kinds.items():
        if index < next_free:
            continue  # this chunk is a part of the stretch before
        if kind is NumberWords and not _is_measured(chunks, index):
            continue
        start, end = find_stretch(chunks, number_kinds, index, next_free)
        next_free = end
        if end - start == 1:
            if kind is PlainDigits:
                if index and len(chunks[index - 1]) == _CODE_LETTERS:
                    _join_code(chunks, words_by_chunk, index)
                continue
            stretch = chunks[index]
        else:
            stretch = " ".join(chunks[start:end])
        words = _stretches.get(stretch)
        if words is None:
            has_number_words = NumberWords in map(number_kinds.get, range(start, end))
            quantities = read_quantities(stretch, number_words=has_number_words)
            words = _replace_quantities(stretch, quantities)
        words_by_chunk[start] = words
        for other_index in range(start + 1, end):
            words_by_chunk[other_index] = ()


# The number of letters of a code whose digits stand apart: BA 286 is BA286.
_CODE_LETTERS = 2
_CODE_NUMBER = re.compile(r"\d{2,3}|[03-9]\d{3}")  # a year is no part of a code
_NO_CODES = frozenset(
    ("ad", "bc", "ce", "am", "pm", "us", "eu", "uk", "un", "no", "nr", "st", "ca", "kg", "km", "vs")
).union(*LISTS["stop"].values())


def _join_code(
    chunks: Sequence[str],
    words_by_chunk: list[tuple[Token, ...]] | dict[int, tuple[Token, ...]],
    index: int,
) -> None:
    """Make a number a part of a code, if the letters before the number are those of a code. Letters that are a word are no code."""
    letters = chunks[index - 1]
    if not letters.isupper() or letters.lower() in _NO_CODES:
        return  # the usual case
    token = words_by_chunk[index][0]
    if letters.isalpha() and _CODE_NUMBER.fullmatch(token.key):
        code = letters.lower() + token.key
        words_by_chunk[index] = (token._replace(key=code, parts=(token.key, *token.parts)),)


# --- numbers in words -------------------------------------------------------------------------------------------------

# Words that begin a number or a share if a number word follows: "a hundred", "every fifth guest", "un client sur cinq".
_WORDS_BEFORE_NUMBER = ONE_WORDS | {"a", "sur"} | EACH_WORDS
# The kinds of chunks that may be one of several words of a number.
_JOINING_KINDS = frozenset((NumberWords, ClockWords))
# The kinds of chunks that may be written in digits.
_KINDS_IN_WORDS = _JOINING_KINDS | {Numerals, Decades}
# A time in words counts as two words: its hour and its minutes.
_WORDS_OF_SPOKEN_TIME = 2


def _write_number_words(chunks: Sequence[str], number_kinds: Mapping[int, type]) -> Sequence[str]:
    """Write the numbers in words of a line in digits. A line without such words is returned as it is.

    Args:
        chunks: The parts of the line between white space.
        number_kinds: The kind of each number, by the index of its chunk, as `read_chunk` gives it.
    """
    kinds = frozenset(number_kinds.values())
    if kinds.isdisjoint(_KINDS_IN_WORDS):
        return chunks
    if Numerals in kinds:
        return write_numerals(" ".join(chunks)).split()
    if Decades in kinds:
        written_chunks = [*chunks]
        for index, kind in number_kinds.items():
            if kind is Decades:
                written_chunks[index] = _write_decade(chunks[index], previous=chunks[index - 1])
        return written_chunks
    return join_number_words(chunks) if _may_join(chunks, number_kinds) else chunks


_WORDS_BEHIND_FRACTION = frozenset(("of", "off", "in"))
_WORDS_BEFORE_DECADE = frozenset(("the", "early", "late", "mid"))
# Behind one of these words, 30s is a number of seconds.
_WORDS_BEFORE_SECONDS = frozenset(
    (
        "is",
        "every",
        "after",
        "for",
        "takes",
        "took",
        "lasts",
        "within",
        "exactly",
        "least",
        "most",
        "about",
        "than",
    )
)


def _write_decade(chunk: str, *, previous: str) -> str:
    """Write a decade with its century if the previous chunk is a word such as "the": the 90s, but not "in her 90s"."""
    if previous.lower() in _WORDS_BEFORE_SECONDS and chunk[0].isdecimal():
        return chunk.replace("s", " seconds", 1)
    if previous.lower() not in _WORDS_BEFORE_DECADE:
        return chunk
    word = chunk.strip(MARKS_AROUND_CHUNK)
    return chunk.replace(word, f"19{DECADES.get(word.lower(), word)}")


# The number of characters of the longest word for a half or a quarter, with a mark behind it.
_MAX_HALF_LETTERS = max(map(len, (*HALVES, *QUARTERS))) + 1


def _may_join(chunks: Sequence[str], number_kinds: Mapping[int, type]) -> bool:
    """Whether two number words stand side by side, or with a word between them that joins tens and ones."""
    last_index = len(chunks) - 1
    for index, kind in number_kinds.items():
        if kind not in _JOINING_KINDS:
            continue
        # three-quarters, three of
        if "-" in chunks[index] or (index < last_index and chunks[index + 1] in _WORDS_BEHIND_FRACTION):
            return True
        if kind is ClockWords or len(chunks[index]) <= _MAX_HALF_LETTERS:
            word = chunks[index].strip(MARKS_AROUND_CHUNK).lower()
            if word in HALVES or word in QUARTERS:
                return True
        if index and chunks[index - 1].lower() in _WORDS_BEFORE_NUMBER:
            return True
        if chunks[index].lower() in THOUSANDS_BEFORE_UNIT:
            return True
        if index < last_index and _is_joined(chunks, number_kinds, index + 1):
            return True
    return False


def _is_joined(chunks: Sequence[str], number_kinds: Mapping[int, type], index: int) -> bool:
    """Whether a number word and the chunk behind it, which has the index, are one number: that chunk is a number word, or stands before one."""
    if number_kinds.get(index) in _JOINING_KINDS or chunks[index] in TENS_JOINTS:
        return True
    is_result = chunks[index] in RESULT_JOINTS and index + 1 < len(chunks)
    return is_result and is_zero_word(chunks[index + 1])


def _replace_spoken_times(
    chunks: Sequence[str], words_by_chunk: list[tuple[Token, ...]], number_kinds: dict[int, type]
) -> None:
    """Replace each time in words by one word. Its chunks are removed from ``number_kinds``: they are no other number."""
    indexes = [index for index, kind in number_kinds.items() if kind is ClockWords]
    next_free = 0
    for index in indexes:
        time = find_spoken_time(chunks, index) if index in number_kinds else None
        if time is None or time.begin < next_free:
            if any(word.kind == "number" for word in words_by_chunk[index]):
                number_kinds[index] = NumberWords
            else:
                number_kinds.pop(index, None)
            continue
        next_free = time.end
        spelling = " ".join(chunks[time.begin : time.end]).rstrip(MARKS_AROUND_CHUNK)
        ends_clause = may_end_clause(chunks[time.end - 1])
        for chunk_index in range(time.begin, time.end):
            words_by_chunk[chunk_index] = ()
            number_kinds.pop(chunk_index, None)
        words_by_chunk[time.begin] = (
            Token(
                time.key, time.key, "number", spelling, ends_clause, "time", (), _WORDS_OF_SPOKEN_TIME
            ),
        )


def _is_measured(chunks: Sequence[str], index: int) -> bool:
    """Whether a unit of measure follows a number word, so that both are a quantity: three years, five-year."""
    if "-" in chunks[index]:
        return True
    return index + 1 < len(chunks) and continues_quantity(chunks[index + 1])


def _replace_quantities(stretch: str, quantities: Sequence[Quantity]) -> tuple[Token, ...]:
    """Return the words of a stretch, each quantity as one word."""
    words: list[Token] = []
    position = 0
    for quantity in quantities:
        words.extend(chain.from_iterable(map(read_chunk, stretch[position : quantity.start].split())))
        words.append(_build_token(stretch, quantity))
        position = quantity.end
    words.extend(chain.from_iterable(map(read_chunk, stretch[position:].split())))
    if len(stretch) <= LONGEST_CHUNK:
        if len(_stretches) >= MAX_CHUNKS_REMEMBERED:
            _stretches.clear()
        _stretches[stretch] = tuple(words)
    return tuple(words)


def _build_token(text: str, quantity: Quantity) -> Token:
    """Build a quantity as a word; the names of months and units are parts of it."""
    spelling = text[quantity.start : quantity.end]
    parts = [*quantity.parts]
    counted_keys: set[str] = set()
    for word in chain.from_iterable(map(read_chunk, spelling.split())):
        if word.kind == "word":
            parts.append(word.key)
        if word.kind == "number" or len(word.folded) > 1:
            counted_keys.add(word.key)
    parts += [f"{part}~" for part in quantity.parts if _is_plain_number(part)]
    ends_clause = may_end_clause(text[quantity.end : quantity.end + 1])
    return Token(
        quantity.key,
        quantity.key,
        "number",
        spelling,
        ends_clause,
        quantity.kind,
        tuple(parts),
        max(1, len(counted_keys)),
    )


def read_number_words(words: Sequence[Token], language: str) -> Sequence[Token]:
    """Return the words of a text in a known language: some are numbers there, and something else in other ones (dos, due)."""
    numbers = _get_numbers(language)
    if not numbers or numbers.keys().isdisjoint([word.folded for word in words]):
        return words  # the usual case
    read_words: list[Token] = []
    for word in words:
        if word.kind == "word" and word.folded in numbers:
            read_words.append(word._replace(key=numbers[word.folded], kind="number", measures=""))
        else:
            read_words.append(word)
    return read_words


@lru_cache(maxsize=64)
def _get_numbers(language: str) -> Mapping[str, str]:
    """Return the words that are numbers in a language only."""
    numbers: Mapping[str, str] = LISTS["numbers_of_languages"].get(base_language(language), {})
    return numbers


def _is_plain_number(key: str) -> bool:
    """Whether a key is a number without a unit."""
    return key.replace(".", "").isdecimal()


# --- what a key stands for --------------------------------------------------------------------------------------------

_TIMES_SUFFIX = " times"
_FRACTIONS_OF_DECIMALS: Mapping[str, str] = {
    "0.5": "1/2",
    "0.25": "1/4",
    "0.75": "3/4",
    "0.2": "1/5",
    "0.125": "1/8",
    "0.1": "1/10",
}
# The decimal numbers of fractions, and the reverse.
DECIMALS: Mapping[str, str] = {
    **_FRACTIONS_OF_DECIMALS,
    **{fraction: decimal for decimal, fraction in _FRACTIONS_OF_DECIMALS.items()},
}
_DURATION = re.compile(r"(\d{1,9}) (s|day)")
_MEGABYTES = re.compile(r"([1-9]\d{3,8}) mb")
_SECONDS_OF_DAY = 86_400
_DATED = re.compile(r"\d{4}-\d\d(?:-\d\d)?")


def list_keys(words: Sequence[Token]) -> list[str]:
    """Return the keys that a text holds: the keys of its words, and the keys that its quantities hold."""
    keys = [*map(get_key, words)]
    for parts in filter(None, map(get_parts, words)):
        keys += parts
    return keys


def split_date(key: str) -> tuple[str, Sequence[str], str]:
    """Split the key of a date with a year, because a text may have the year in another place than the day and month.

    Returns:
        The year; keys of which one stands for the day and month, or for the month alone; and the key of the month with another
        year, which sentences with the month must not have. All are empty if the key is no date with a year.
    """
    if key[4:5] != "-" or _DATED.fullmatch(key) is None:
        return "", (), ""  # the usual case
    year, _, month_and_day = key.partition("-")
    has_day = "-" in month_and_day
    # `build_date` of `text.quantities` gives these keys.
    if has_day:
        day_without_year = f"?{month_and_day}"
        return year, (day_without_year,), ""
    month_with_other_year = f"={month_and_day}"
    return year, _list_month_keys()[int(month_and_day)], month_with_other_year


def find_equal_key(key: str) -> str:
    """Return another key of the same value; an empty text if there is none.

    Of "3 times" it is the number, of "75 %" the fraction, of "3/4" the decimal number, of whole days in seconds the days. Of gigabytes (2000 MB) it is what
    others call as many: 2048 MB.
    """
    if key.endswith(_TIMES_SUFFIX):
        return key[: -len(_TIMES_SUFFIX)]
    size = _MEGABYTES.fullmatch(key)
    if size is not None:
        megabytes = int(size[1])
        if megabytes % 1000 == 0:
            return f"{megabytes // 1000 * 1024} mb"
        return "" if megabytes % 1024 else f"{megabytes // 1024 * 1000} mb"
    duration = _DURATION.fullmatch(key)
    if duration is not None:
        number = int(duration[1])
        if duration[2] == "day":
            return f"{number * _SECONDS_OF_DAY} s"
        return "" if number % _SECONDS_OF_DAY else f"{number // _SECONDS_OF_DAY} day"
    return SHARES.get(key, "") or DECIMALS.get(key, "")


@lru_cache(maxsize=1)
def _list_month_keys() -> dict[int, tuple[str, ...]]:
    """List the keys of the names of each month."""
    keys_by_month: dict[int, set[str]] = {}
    for name, month in MONTHS.items():
        keys = [word.key for word in read_chunk(name) if word.kind == "word"]
        keys_by_month.setdefault(month, set()).update(keys)
    return {month: tuple(sorted(keys)) for month, keys in keys_by_month.items()}


# --- lists of words by language ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def get_word_list(purpose: str, language: str) -> frozenset[str]:
    """Return the folded words of a list for a language.

    The words of ``stop`` carry no meaning by themselves; a language without such a list uses the
    English one. For other lists, a language without a list has no words.
    """
    lists = LISTS[purpose]
    default_words = lists["en"] if purpose == "stop" else ()
    words = lists.get(base_language(language), default_words)
    return frozenset(map(fold, words))


@lru_cache(maxsize=64)
def get_negations(language: str) -> frozenset[str]:
    """Return the words that deny in a language, and the words of other languages that can be nothing else than a denial.

    The language of a short text is a guess: without the words of other languages, "Hunde dürfen nicht mit", taken for English, would
    deny nothing.
    """
    own_words = get_word_list("negations", language)
    if not own_words:
        return own_words  # a language that denies by characters
    other_words: set[str] = set()
    for name, words in LISTS["negations"].items():
        if name != "en":
            other_words.update(map(fold, words))
    return own_words | other_words.difference(map(fold, LISTS["negations_only_in_their_language"]))


# The keys of all forms of an irregular verb, by the key of each form: "went" -> go, went, gone.
IRREGULAR_FORMS: dict[str, Sequence[str]] = {}
for _verb, _other_forms in LISTS["irregular_verbs"].items():
    _form_keys = [token.key for word in (_verb, *_other_forms) for token in read_phrase(word)]
    IRREGULAR_FORMS.update(dict.fromkeys(_form_keys, _form_keys))

# The share of words without content up to which a text that is taken for English may have another language.
_MAX_STOP_WORD_SHARE = 0.2


def may_have_other_language(
    folded_words: AbstractSet[str], language: str, *, common_words: int = 0
) -> bool:
    """Whether a text that is taken for English may have another language: it has hardly any English word without content.

    Args:
        folded_words: The different words of the text, folded.
        language: The language that the text is taken for.
        common_words: The number of such words that are ignored, because other languages have them as well: a, be, her.
    """
    if base_language(language) != "en":
        return False
    stop_words = folded_words & get_word_list("stop", "en")
    return len(stop_words) <= max(common_words, _MAX_STOP_WORD_SHARE * len(folded_words))


# Words that may deny in a text whose language is open.
OPEN_NEGATIONS = frozenset(LISTS["negations_of_open_language"])
# Parts of English words that deny the other part: sugar-free, non-refundable.
_DENYING_PARTS = frozenset(("free", "non"))


@lru_cache(maxsize=64)
def get_negation_keys(language: str) -> frozenset[str]:
    """Return keys of which every text that denies something has at least one."""
    words = get_negations(language)
    if base_language(language) == "en":
        words |= OPEN_NEGATIONS | _DENYING_PARTS
    return frozenset(token.key for word in words for token in tokenize(word))


@lru_cache(maxsize=64)
def get_stem_keys(purpose: str, language: str) -> frozenset[str]:
    """Return the keys of the words of a list: also their inflections are found."""
    keys: set[str] = set()
    for word in get_word_list(purpose, language):
        keys.update(token.key for token in tokenize(word))
    return frozenset(keys)
