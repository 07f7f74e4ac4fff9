"""The forms of words: the pattern of a word in a text, its folded form and its stem, and the lists of words by language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ctxmetrics._internal.data_files import read_data

# The word lists, by what they are for and by language.
LISTS: Mapping[str, Any] = read_data("judges.evidence", "words.json")
# "And" in the languages of the lists.
JOINING_WORDS = frozenset(
    ("and", "und", "et", "y", "e", "ed", "en", "i", "oraz", "и", "та", "och", "og")
)
# Invisible characters that may stand inside a word.
INVISIBLE = "\u00ad\u200c\u200d"
# Characters of a run of letters: a longer run is cut.
LONGEST = 64
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
    |(?:1\d|20)?\d0(?:er|-(?:х|е|ые|ых|ті|их))(?![^\W_]) # 1980er, 80-х
    |\d+(?:st|nd|rd|th|\.?[ºª])(?![^\W_])                # 1st, 22nd, 2.º
    |\d+\+(?![\w+])                                      # 18+
    |\d{1,3}(?:[,']\d{3}){1,6}(?:\.\d+)?(?![.,]?\d)     # 1,234,567.8
    |\d{1,2}(?:,\d\d){1,5},\d{3}(?:\.\d+)?(?![.,]?\d)    # 12,34,567.8
    |\d{1,3}(?:\.\d{3}){1,6},\d+(?![.,]?\d)             # 1.234,56
    |\d+(?:\.\d+)+                                      # 3.14, 1.234.567
    |(?<![\d,])\d+,\d+(?!,?\d)                          # 3,14, but not a list 1,2,3
    |\d+                                                # 1990
"""
# All marks stand there: the signs of Han, hangul, cuneiform and Tangut between these blocks have none.
_BLOCKS_WITH_MARKS = (
    (0x300, 0x3400),
    (0xA000, 0xAC00),
    (0xF900, 0x12000),
    (0x13400, 0x13500),
    (0x16100, 0x17000),
    (0x1BC00, 0x1F000),
)
_BREVE = "\u0306"
# Canonical combining classes: Hebrew and Arabic points, and the accents that stand above, below or across.
_FIRST_POINT = 10
_LAST_POINT = 35
_FIRST_ACCENT = 200


@lru_cache(maxsize=64)
def base_language(language: str) -> str:
    """Return the language of a tag: ``en`` for ``en-GB``, ``EN_us``."""
    return language.lower().replace("_", "-").partition("-")[0]


@lru_cache(maxsize=2)
def word_pattern(is_ascii: bool) -> re.Pattern[str]:
    """Return the pattern of a word, made on first use: the marks of all scripts take some milliseconds."""
    marks = ""
    unspaced = "(?!)"
    letter = "[A-Za-z]"
    if not is_ascii:
        marks = _marks()
        letter = rf"[^\W\d_{_UNSPACED}]"
        unspaced = rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"
    inside = rf"(?:[{marks}]{{1,8}}{letter}{{0,{LONGEST}}}){{0,{LONGEST}}}" if marks else ""
    clitic = r"(?:'(?:s|t|re|ve|ll|d|m)(?![^\W_]))?"
    if not is_ascii:  # Ukrainian сім'я is one word
        clitic = rf"(?:(?<=[\u0400-\u04ff])'(?=[\u0400-\u04ff]){letter}{{1,{LONGEST}}}|{clitic})"
    return re.compile(
        rf"(?P<number>{_NUMBER})|(?P<unspaced>{unspaced})"
        rf"|{letter}{{1,{LONGEST}}}{inside}{clitic}",
        re.VERBOSE,
    )


@lru_cache(maxsize=1)
def _marks() -> str:
    """Return the marks that belong to the letter before them, as the inside of a character class: ``"a-cx-z"``.

    A soft hyphen and joiners stand inside words too. The marks are written as ranges, because a pattern with two thousand single
    marks takes long to compile.
    """
    ranges: list[list[int]] = []
    for block_start, block_end in _BLOCKS_WITH_MARKS:
        for code in range(block_start, block_end):
            if unicodedata.category(chr(code))[0] != "M":
                continue
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges) + INVISIBLE


def split_characters(run: str) -> Sequence[str]:
    """Return the characters of a run in a script without spaces, each with its marks."""
    if run.isalnum():
        return run
    return re.findall(rf"[^{_marks()}][{_marks()}]*|[{_marks()}]+", run)


def fold(word: str) -> str:
    """Return the word without case, accents and invisible characters; what is left is composed again."""
    if word.isascii():
        return word.lower()
    letters: list[str] = []
    for character in unicodedata.normalize("NFKD", word).casefold():
        combining_class = unicodedata.combining(character)
        is_accent = combining_class >= _FIRST_ACCENT or _FIRST_POINT <= combining_class <= _LAST_POINT
        is_short_i = character == _BREVE and letters and letters[-1] == "и"
        if (not is_accent or is_short_i) and character not in INVISIBLE:
            letters.append(character)
    return unicodedata.normalize("NFC", "".join(letters)) or word


_SIBILANT_PLURALS = ("sses", "shes", "ches", "xes", "zes")
_VOWELS = frozenset("aeiouy")
_MIN_STEM_LETTERS = 3
_MIN_LETTERS_WITH_IES = 5  # ties, but cities
# By their last letter. Longer endings come first.
_CYRILLIC_ENDINGS: dict[str, list[str]] = {}
for _ending in LISTS["cyrillic_endings"]:
    _CYRILLIC_ENDINGS.setdefault(_ending[-1], []).append(_ending)


def stem(word: str) -> str:
    """Drop the endings of English words; other languages lose little by it."""
    if len(word) <= _MIN_STEM_LETTERS or not word[-1].isascii():
        return word
    if word.endswith("s"):
        if word.endswith("ies") and len(word) >= _MIN_LETTERS_WITH_IES:
            word = word[:-3] + "y"
        elif word.endswith(_SIBILANT_PLURALS):
            word = word[:-2]
        elif not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    suffix = "ing" if word.endswith("ing") else "ed"
    if word.endswith(suffix):
        stem = word[: -len(suffix)]
        if len(stem) >= _MIN_STEM_LETTERS and not _VOWELS.isdisjoint(stem):
            double = stem[-1] == stem[-2] and stem[-1] not in "lsz"
            word = stem[:-1] if double else stem
    return word[:-1] if word.endswith("e") and len(word) > _MIN_STEM_LETTERS else word


def stem_cyrillic(word: str) -> str:
    """Drop one ending (Russian; Ukrainian and Bulgarian share most of them) and the reflexive particle."""
    if word.endswith(("ся", "сь")) and len(word) > _MIN_STEM_LETTERS + 2:
        word = word[:-2]
    for ending in _CYRILLIC_ENDINGS.get(word[-1:], ()):
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM_LETTERS:
            return word[: -len(ending)]
    return word


# --- Turkish verbs ----------------------------------------------------------------------------------------------------

# A Turkish verb denies by a syllable behind its stem: gel-me-di, gel-mi-yor. The words are folded: ş is s, ğ is g, ü is u.
_DENYING_SYLLABLE = re.compile(
    r"""
    (?<=[a-zı]{2})
    m(?:
        [ae](?:z|m\Z|y[ıi]z\Z|d[ıi]|m[ıi]s|y[ae]c[ae][gk]|m[ae]l[ıi]|y[ae]n|s[ıi]n)
        |[ıiu]yor
    )
    """,
    re.VERBOSE,
)
# What stands behind the stem of a verb that states: gir-ebilir, gel-di, gel-ecek.
_STATING_ENDING = re.compile(
    r"""
    (?:y?[ae]bil)?
    (?:[ıiuae]?r|[dt][ıiu]|m[ıiu]s|y?[ae]c[ae][gk]|[ıiu]?yor|m[ae]l[ıi]|y?[ae]n|s[ıiu]n)
    [a-zı]{0,8}
    """,
    re.VERBOSE,
)
# The last consonant of a stem before a vowel: git-mez, gid-er.
_SOFT_CONSONANTS = {"t": "d", "k": "g", "p": "b"}


@lru_cache(maxsize=4096)
def list_denied_stems(word: str) -> Sequence[str]:
    """Return the possible stems of a folded word that may be a Turkish verb with a denial in it; empty for other words.

    >>> list_denied_stems("giremez")
    ('gire', 'gir')
    """
    stems: list[str] = []
    for syllable in _DENYING_SYLLABLE.finditer(word):
        stem = word[: syllable.start()]
        stems.append(stem)
        if stem[-1] in "ae" and len(stem) > _MIN_STEM_LETTERS:
            stems.append(stem[:-1].removesuffix("y"))  # gir-e-mez: "cannot enter"
    return tuple(stems)


def states_verb(word: str, stem: str) -> bool:
    """Whether a folded word is a form of a Turkish verb that denies nothing.

    >>> states_verb("girebilir", "gir"), states_verb("giremez", "gir"), states_verb("gider", "git")
    (True, False, True)
    """
    softened_stem = stem[:-1] + _SOFT_CONSONANTS.get(stem[-1], stem[-1])
    for beginning in {stem, softened_stem}:
        if word.startswith(beginning) and _STATING_ENDING.fullmatch(word, len(beginning)):
            return True
    # The last vowel of a stem changes: iste-mez, isti-yor.
    return (
        stem[-1] in "ae"
        and re.fullmatch(rf"{re.escape(stem[:-1])}[ıiu]yor[a-zı]{{0,8}}", word) is not None
    )
