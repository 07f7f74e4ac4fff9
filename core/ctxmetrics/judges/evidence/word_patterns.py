"""Finding the words of a piece of text: numbers, words of letters, and runs in scripts without spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from ctxmetrics.judges.evidence.stems import INVISIBLE

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
def word_pattern(ascii: bool) -> re.Pattern[str]:  # noqa: A002 - the flag's own name
    """Return the pattern of a word, made on first use: the marks of all scripts take some milliseconds."""
    marks = ""
    unspaced = "(?!)"
    letter = "[A-Za-z]"
    if not ascii:
        marks = _marks()
        letter = rf"[^\W\d_{_UNSPACED}]"
        unspaced = rf"[{_UNSPACED}][{_UNSPACED}{marks}]*"
    inside = rf"(?:[{marks}]{{1,8}}{letter}{{0,{LONGEST}}}){{0,{LONGEST}}}" if marks else ""
    clitic = r"(?:'(?:s|t|re|ve|ll|d|m)(?![^\W_]))?"
    return re.compile(
        rf"(?P<number>{_NUMBER})|(?P<unspaced>{unspaced})"
        rf"|{letter}{{1,{LONGEST}}}{inside}{clitic}",
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
    return "".join(marks) + INVISIBLE


def split_characters(run: str) -> Sequence[str]:
    """Return the characters of a run in a script without spaces, each with its marks."""
    if run.isalnum():
        return run
    return re.findall(rf"[^{_marks()}][{_marks()}]*|[{_marks()}]+", run)
