"""Texts that repeat others: whole texts, and the share of a text that overlaps with texts above it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence

from ctxmetrics.text.normal_form import collapse_space

# Invisible characters: a text is the same without them.
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]+")
# The words at the beginning by which most texts differ.
_BEGINNING_WORDS = 4
# The characters of the shortest run that counts as overlap. Shorter ones are idioms, names and headings.
SHORTEST_OVERLAP = 40
# Two texts are compared if so many characters at the beginning of a word are equal.
_ANCHOR_CHARACTERS = 20
_WORD = re.compile(r"(?<!\w)\w")
# A text with longer words on average has no blanks between words, such as Chinese: each character may begin one.
_MAX_AVERAGE_WORD_CHARACTERS = 16


def find_repeats(texts: Sequence[str]) -> dict[int, int]:
    """Find the texts that repeat one above: from the place of each to the place of the first one.

    Two texts are equal if they differ in white space, invisible characters and Unicode's form (NFC) only. A text
    without a character that is visible repeats nothing.

    >>> find_repeats(["a b", "c", "a  b ", "c"])
    {2: 0, 3: 1}
    """
    texts = [text if text.isascii() else _clean(text) for text in texts]
    beginnings = {tuple(text.split(None, _BEGINNING_WORDS)[:_BEGINNING_WORDS]) for text in texts}
    if len(beginnings) == len(texts):  # as nearly always
        return {}
    firsts: dict[str, int] = {}
    repeats: dict[int, int] = {}
    for place, text in enumerate(texts):
        key = collapse_space(text)
        first = firsts.setdefault(key, place)
        if key and first != place:
            repeats[place] = first
    return repeats


def _clean(text: str) -> str:
    """Return a text without invisible characters, in NFC."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def measure_overlaps(texts: Sequence[str]) -> tuple[float, ...]:
    """Measure for each text the share of its characters that stand in a text above it, from 0 to 1.

    A character counts if it stands in a run of at least 40 characters that is in a text above, character by character.
    A text without the beginning of a word that begins one above too, with the 20 characters behind it, has no such run.
    So windows that overlap count, in whatever order they were retrieved, and a text within a larger one; shared names and
    headings do not. White space counts as a character. The time is in proportion to the characters of the texts.

    Args:
        texts: In rank order.

    >>> one = "The pump was repaired in May by Hale, and it costs 20 euros."
    >>> measure_overlaps([one, "Bread.", one])
    (0.0, 0.0, 1.0)
    """
    # A window is a run of `SHORTEST_OVERLAP` characters. An anchor is the beginning of one that begins with a word; texts without
    # an anchor in common need no comparison by windows.
    anchors_above: set[str] = set()
    windows_above: set[int] = set()
    unread: list[str] = []  # the texts above whose windows were not needed yet
    shares: list[float] = []
    for text in texts:
        anchors = _find_anchors(text)
        share = 0.0
        if not anchors_above.isdisjoint(anchors):
            for above in unread:
                windows_above.update(_list_windows(above))
            unread = []
            share = _count_covered(text, windows_above) / len(text)
        shares.append(share)
        unread.append(text)
        anchors_above.update(anchors)
    return tuple(shares)


def _find_anchors(text: str) -> Sequence[str]:
    """Find the characters with which each word begins, as far as a whole anchor follows."""
    last = len(text) - _ANCHOR_CHARACTERS
    starts: Sequence[int] = [match.start() for match in _WORD.finditer(text)]
    if len(starts) * _MAX_AVERAGE_WORD_CHARACTERS < len(text):
        starts = range(last + 1)
    return [text[start : start + _ANCHOR_CHARACTERS] for start in starts if start <= last]


def _list_windows(text: str) -> Iterator[int]:
    """Yield the hash of each shortest run that may overlap: a hash takes less memory than its characters."""
    for start in range(len(text) - SHORTEST_OVERLAP + 1):
        yield hash(text[start : start + SHORTEST_OVERLAP])


def _count_covered(text: str, windows: Container[int]) -> int:
    """Count the characters of a text that stand in one of some windows."""
    covered = 0
    end = 0  # of the last window
    for start, window in enumerate(_list_windows(text)):
        if window in windows:
            covered += start + SHORTEST_OVERLAP - max(start, end)
            end = start + SHORTEST_OVERLAP
    return covered
