"""A text without differences that carry no meaning for a quote."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from ctxmetrics._internal.patterns import compile_on_use

_DROPPED = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufe0e\ufe0f\ufeff")
_EQUAL = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
}
# A sign before the power of a letter.
_POWER = compile_on_use(r"(?<=[^\W\d_])\^(?=\d)")
_RAISED = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹")
# What a text is read for character by character: powers, and characters that become a blank and a mark, such as an accent
# without a letter.
_NEEDS_CHARACTERS = compile_on_use(
    r"[\^⁰¹²³⁴⁵⁶⁷⁸⁹¨¯¸\u02d8-\u02dd\u037a\u0384\u0385\u1fbd-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed\u1fee\u1ffd\u1ffe"
    r"\u2017\u203e\u309b\u309c\ufc5e-\ufc63\ufdfa\ufdfb\ufe49-\ufe4c\ufe70-\ufe7e\uffe3]"
)


def normalise(text: str) -> str:
    """Return a text without differences that carry no meaning for a quote.

    Compatibility forms are decomposed (NFKD), case folded, quotes and dashes made alike, invisible characters
    dropped, white space collapsed. A power has no mark behind a letter, and ``^`` behind a digit: ``m^2`` and ``m²`` are
    ``m2``, ``10⁶`` is ``10^6``.

    >>> normalise("Cafe\u0301 – “OPEN”") == normalise('Café  -  "open"')
    True
    """
    if text.isascii():
        if "^" in text:
            text = _POWER.sub("", text)
        return collapse_space(text.lower().replace("`", "'"))
    if _NEEDS_CHARACTERS.search(text):
        return "".join(normalise_with_origin(text)[0]).strip()
    return collapse_space(text.translate(_FOLDED_CHARACTERS))


def collapse_space(text: str) -> str:
    r"""Return a text with one blank for each stretch of white space, and none around it.

    >>> collapse_space(" a \n b")
    'a b'
    """
    if text.isprintable() and "  " not in text:  # the usual case: no list of words
        return text.strip()
    return " ".join(text.split())


def normalise_with_origin(text: str) -> tuple[list[str], list[int]]:
    """Return the normalised characters and, for each of them, the index in the text that it comes from."""
    characters: list[str] = []
    origins: list[int] = []
    is_space = True  # white space at the beginning is dropped
    for index, character in enumerate(text):
        if character in _DROPPED or (is_space and character.isspace()):
            continue
        if character == "^" and _POWER.match(text, index):
            continue
        is_space = character.isspace()
        if character in _RAISED and text[index - 1 : index].isdecimal():
            characters.append("^")
            origins.append(index)
        folded = " " if is_space else _fold(character)
        for piece in folded:
            characters.append(piece)
            origins.append(index)
    return characters, origins


@lru_cache(maxsize=1 << 16)
def _fold(character: str) -> str:
    """Return the characters that a character becomes: one or several."""
    folded = _EQUAL.get(character) or unicodedata.normalize("NFKD", character).casefold()
    return "".join(_EQUAL.get(piece, piece) for piece in folded)


class _FoldedCharacters(dict[int, str]):
    """What each character becomes, as `str.translate` reads it; filled when a character is met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _DROPPED:
            folded = ""
        elif character.isspace():
            folded = " "
        else:
            folded = _fold(character)
        self[code] = folded
        return folded


_FOLDED_CHARACTERS = _FoldedCharacters()
