"""From a text to comparable words.

A word's *key* is what its spellings share: case folded, accents off, a light stem, number words as digits. Keys follow
from the text alone; the language only chooses the stop words. The decisions:

* Scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese; Korean too, whose particles are
  written together with the word) give overlapping pairs of characters, a character being a letter with
  its marks.
* Marks belong to their letter, so Devanagari words stay whole. Accents of Latin, Greek and Cyrillic letters and Hebrew
  and Arabic points are dropped; ``й`` stays.
* ``1,000`` and ``1'000`` are 1000; ``1.000.000`` is a million, ``1.000`` alone a decimal; ``3,5`` is 3.5; ``5.0`` is 5,
  but ``3.10`` is not 3.1 (versions). ``21st`` and ``twenty-one`` are 21; ``1990s`` is not 1990. ``3.11.2`` is one number;
  dates, times, ranges and fractions are their parts.
* Signs (also of currencies) and per cent are ignored. Roman and Chinese numerals are not read.

A text is read by chunks, the pieces between white space, and what a chunk holds does not depend on its neighbours: each
is read once and remembered.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain, pairwise
from sys import intern
from typing import Any, Literal, NamedTuple

from ctxmetrics._internal.data_files import read_data

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
        spelling: The word as it is written.
        ends: Whether a mark that may end a clause follows it.
    """

    key: str
    folded: str
    kind: Kind
    spelling: str
    ends: bool


def tokens(text: str) -> list[Token]:
    """Return the words of a text in order, stop words included.

    >>> [token.key for token in tokens("The 2.10 cities' cafés, in twenty-one states")]
    ['the', '2.10', 'city', 'caf', 'in', '21', 'stat']
    >>> [token.key for token in tokens("HC2, COVID-19, mid-1990")]  # a number that is a part of a name
    ['hc', 'hc2', 'covid', 'covid19', 'mid', '1990']
    """
    return [*chain.from_iterable(map(_chunk, text.split()))]


def base_language(language: str) -> str:
    """Return the language of a tag: ``en`` for ``en-GB``, ``EN_us``."""
    return language.lower().replace("_", "-").partition("-")[0]


@lru_cache(maxsize=64)
def listed(purpose: str, language: str) -> frozenset[str]:
    """Return the folded words of a list for a language.

    The words of ``stop`` carry no meaning by themselves; a language without such a list uses the
    English one. For other lists, a language without a list has no words.
    """
    lists = LISTS[purpose]
    otherwise = lists["en"] if purpose == "stop" else ""
    return frozenset(map(_fold, lists.get(base_language(language), otherwise).split()))


@lru_cache(maxsize=64)
def keys(purpose: str, language: str) -> frozenset[str]:
    """Return the keys of the words of a list: also their inflections are found."""
    return frozenset(token.key for token in tokens(" ".join(listed(purpose, language))))


# Characters of a chunk that is remembered, and of a run of letters: a longer run is cut. Chunks that are remembered: about
# 20 MB.
_LONGEST, _MOST_KEPT = 64, 1 << 16


class _Chunks(dict[str, tuple[Token, ...]]):
    """The words of each short chunk met so far; emptied when there are too many."""

    def __missing__(self, chunk: str) -> tuple[Token, ...]:
        """Read the words of a chunk."""
        text = chunk if chunk.isascii() else chunk.replace("’", "'").replace("‘", "'")
        matches = list(_pattern(text.isascii()).finditer(text))
        words: list[Token] = []
        joint = ""  # what stands between a word and the one before it
        for match, after in zip(
            matches, [*(match.start() for match in matches[1:]), len(text)], strict=False
        ):
            gap = text[match.end() : after]
            ends = not _CLAUSE_END.isdisjoint(gap)
            if match["unspaced"]:
                words += _pairs(match.group(), ends=ends)
            else:
                (key, folded, kind), spelling = _key(match), match.group()
                if joint == "-" and key in _ONES and words[-1].key in _TENS:  # twenty-one
                    before = words.pop()
                    key, kind = before.key[0] + key, "number"
                    spelling = f"{before.spelling}-{spelling}"
                elif (
                    match["number"]
                    and words
                    and words[-1].kind == "word"
                    and (not joint or (joint == "-" and words[-1].spelling.isupper()))
                ):
                    key = words[-1].key + key  # HC2, COVID-19: the number is a part of the name
                words.append(Token(intern(key), intern(folded), kind, intern(spelling), ends))
            joint = gap
        if len(chunk) <= _LONGEST:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[chunk] = tuple(words)
        return tuple(words)


_chunk = _Chunks().__getitem__

_ONES = frozenset("123456789")
_TENS = frozenset(f"{ten}0" for ten in "23456789")
_CLAUSE_END = frozenset(".,;:!?，。；：！？、")


def _key(match: re.Match[str]) -> tuple[str, str, Kind]:
    """Return key, folded form and kind of a match; the key of a number is its digits, with a point before its fraction."""
    text = match.group()
    if match["number"]:
        digits = "".join(str(unicodedata.decimal(one, one)) for one in _ORDINAL.sub("", text))
        if _GROUPED.fullmatch(digits):
            digits = digits.replace(next(one for one in digits if not one.isdigit()), "")
        whole, point, fraction = digits.replace(",", ".").partition(".")
        key = whole.lstrip("0") or "0"
        key += point + fraction if fraction.strip("0") else ""
        return key, key, "number"
    folded = _CLITIC.sub("", _fold(text)).replace("'", "")
    if folded in LISTS["numbers"]:
        return LISTS["numbers"][folded], folded, "number"
    if folded in LISTS["counts"]:
        return LISTS["counts"][folded], folded, "count"
    return _stem(folded), folded, "word"


_CLITIC = re.compile(r"'(?:s|re|ve|ll|d|m)\Z")
_GROUPED = re.compile(r"\d{1,3}(?:[,']\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+,\d+")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\Z")


# --- words ----------------------------------------------------------------------------------------------------

_BREVE = "\u0306"
# Canonical combining classes: Hebrew and Arabic points, and the accents that stand above, below or across.
_FIRST_POINT, _LAST_POINT, _FIRST_ACCENT = 10, 35, 200


def _fold(word: str) -> str:
    """Return the word without case, accents and invisible characters; what is left is composed again."""
    if word.isascii():
        return word.lower()
    letters: list[str] = []
    for character in unicodedata.normalize("NFKD", word).casefold():
        place = unicodedata.combining(character)
        accent = place >= _FIRST_ACCENT or _FIRST_POINT <= place <= _LAST_POINT
        short_i = character == _BREVE and letters and letters[-1] == "и"
        if (not accent or short_i) and character not in _INVISIBLE:
            letters.append(character)
    return unicodedata.normalize("NFC", "".join(letters)) or word


_INVISIBLE = "\u00ad\u200c\u200d"
_HISSED = ("sses", "shes", "ches", "xes", "zes")
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM, _SHORTEST_IES = 3, 5  # ties, but cities
# Longer endings come first.
_CYRILLIC_ENDINGS = tuple(LISTS["cyrillic_endings"].split())


def _stem(word: str) -> str:
    """Drop the endings of English and Russian words; other languages lose little by it."""
    if "\u0400" <= word[-1:] <= "\u052f":
        return _stem_cyrillic(word)
    if len(word) <= _SHORTEST_STEM or not word[-1].isascii():
        return word
    if word.endswith("ies") and len(word) >= _SHORTEST_IES:
        word = word[:-3] + "y"
    elif word.endswith(_HISSED):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        stem = word[: -len(suffix)]
        if word.endswith(suffix) and len(stem) >= _SHORTEST_STEM and not _VOWELS.isdisjoint(stem):
            double = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if double else stem
            break
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEM else word


def _stem_cyrillic(word: str) -> str:
    """Drop one ending (Russian; Ukrainian and Bulgarian share most of them) and the reflexive particle."""
    if word.endswith(("ся", "сь")) and len(word) > _SHORTEST_STEM + 2:
        word = word[:-2]
    fitting = (one for one in _CYRILLIC_ENDINGS if len(word) - len(one) >= _SHORTEST_STEM)
    return word.removesuffix(next(filter(word.endswith, fitting), ""))


# --- finding words --------------------------------------------------------------------------------------------

# Han, kana, hangul, Thai, Lao, Burmese, Khmer: their letters and marks, without digits and punctuation.
_UNSPACED: str = LISTS["unspaced"]
_NUMBER = r"""
    (?:1\d|20)?\d0s(?![^\W_])                           # 1990s, 60s
    |\d+(?:st|nd|rd|th)(?![^\W_])
    |\d{1,3}(?:[,']\d{3}){1,6}(?:\.\d+)?(?![.,]?\d)     # 1,234,567.8
    |\d{1,3}(?:\.\d{3}){1,6},\d+(?![.,]?\d)             # 1.234,56
    |\d+(?:\.\d+)+                                      # 3.14, 1.234.567
    |(?<![\d,])\d+,\d+(?!,?\d)                          # 3,14, but not a list 1,2,3
    |\d+
"""


@lru_cache(maxsize=2)
def _pattern(ascii: bool) -> re.Pattern[str]:  # noqa: A002 - the flag's own name
    """Return the pattern of a word, made on first use: the marks of all scripts take some milliseconds."""
    marks, unspaced = "", "(?!)"
    letter = "[A-Za-z]"
    if not ascii:
        marks = _marks()
        letter, unspaced = rf"[^\W\d_{_UNSPACED}]", rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"
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
    marks = (one for one in map(chr, range(0x300, 0x1F000)) if unicodedata.category(one)[0] == "M")
    return "".join(marks) + _INVISIBLE


def _pairs(run: str, *, ends: bool) -> list[Token]:
    """Return the overlapping pairs of characters of a run; the one character of a run of one."""
    characters = (
        re.findall(rf"[^{_marks()}][{_marks()}]*|[{_marks()}]+", run) if not run.isalnum() else run
    )
    kind: Kind = "characters" if len(characters) > 1 else "character"
    spelled = [first + second for first, second in pairwise(characters)] or [run]
    keyed = ((intern(unicodedata.normalize("NFKC", pair)), pair) for pair in spelled)
    words = [Token(key, key, kind, pair, False) for key, pair in keyed]
    return [*words[:-1], words[-1]._replace(ends=ends)]
