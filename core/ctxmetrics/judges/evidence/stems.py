"""What the spellings of a word share: its folded form and its stem."""

from __future__ import annotations

import unicodedata

from ctxmetrics.judges.evidence.word_data import LISTS

_BREVE = "\u0306"
# Canonical combining classes: Hebrew and Arabic points, and the accents that stand above, below or across.
_FIRST_POINT = 10
_LAST_POINT = 35
_FIRST_ACCENT = 200


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


INVISIBLE = "\u00ad\u200c\u200d"


_HISSED = ("sses", "shes", "ches", "xes", "zes")
_VOWELS = frozenset("aeiouy")
_SHORTEST_STEM = 3
_SHORTEST_IES = 5  # ties, but cities
# Longer endings come first.
_CYRILLIC_ENDINGS = tuple(LISTS["cyrillic_endings"])


def stem(word: str) -> str:
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


def stem_cyrillic(word: str) -> str:
    """Drop one ending (Russian; Ukrainian and Bulgarian share most of them) and the reflexive particle."""
    if word.endswith(("ся", "сь")) and len(word) > _SHORTEST_STEM + 2:
        word = word[:-2]
    possible_endings = (
        ending for ending in _CYRILLIC_ENDINGS if len(word) - len(ending) >= _SHORTEST_STEM
    )
    return word.removesuffix(next(filter(word.endswith, possible_endings), ""))
