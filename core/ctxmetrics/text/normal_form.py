"""A text without differences that carry no meaning for a quote."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
_EQUAL = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
# A sign before the power of a letter.
_POWER = re.compile(r"(?<=[^\W\d_])\^(?=\d)")
_RAISED = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")


def normalise(text: str) -> str:
    """Return a text without differences that carry no meaning for a quote.

    Compatibility forms are decomposed (NFKD), case folded, quotes and dashes made alike, invisible characters
    dropped, white space collapsed. A power is written one way: ``m^2`` and ``m²`` are ``m2``, ``10⁶`` is ``10^6``.

    >>> normalise("Cafe\u0301 – “OPEN”") == normalise('Café  -  "open"')
    True
    """
    if text.isascii():
        if "^" in text:
            text = _POWER.sub("", text)
        return collapse_space(text.lower().replace("`", "'"))
    return "".join(normalise_with_origin(text)[0]).strip()


def collapse_space(text: str) -> str:
    r"""Return a text with one blank for each stretch of white space, and none around it.

    >>> collapse_space(" a \n b")
    'a b'
    """
    if text.isprintable() and "  " not in text:  # the usual case: no list of words
        return text.strip()
    return " ".join(text.split())


def normalise_with_origin(text: str) -> tuple[list[str], list[int]]:
    """Return the normalised characters and, for each, the index it comes from."""
    characters: list[str] = []
    origin: list[int] = []
    space = True
    for index, character in enumerate(text):
        if character in _DROPPED or (space and character.isspace()):
            continue
        if character == "^" and _POWER.match(text, index):
            continue
        space = character.isspace()
        if character in _RAISED and text[index - 1 : index].isdecimal():
            characters.append("^")
            origin.append(index)
        for piece in " " if space else _fold(character):
            characters.append(piece)
            origin.append(index)
    return characters, origin


@lru_cache(maxsize=1 << 16)
def _fold(character: str) -> str:
    """Return what a character becomes: one or several."""
    folded = _EQUAL.get(character) or unicodedata.normalize("NFKD", character).casefold()
    return "".join(_EQUAL.get(piece, piece) for piece in folded)
