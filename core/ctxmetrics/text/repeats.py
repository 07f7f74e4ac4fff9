"""Texts that repeat others: whole texts, and the share of a text that overlaps with texts above it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence

from ctxmetrics.text.normal_form import collapse_space

# Invisible characters: a text is the same without them.
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]+")
# The number of first words that are compared first: most texts differ in them.
_BEGINNING_WORDS = 4
# The minimum number of characters of an overlap. Shorter runs of equal characters are idioms, names and headings.
SHORTEST_OVERLAP = 40
# Two texts are compared if they share this many characters at the beginning of a word.
_ANCHOR_CHARACTERS = 20
_WORD_START = re.compile(r"(?<!\w)\w")
# A text with longer words on average has no blanks between words, such as Chinese. There, each character may begin a word.
_MAX_AVERAGE_WORD_CHARACTERS = 16


def find_repeats(texts: Sequence[str]) -> dict[int, int]:
    """Find the texts that repeat an earlier one.

    Two texts are equal if they differ only in white space, invisible characters and Unicode's normal form (NFC). A text without
    visible characters repeats nothing.

    Returns:
        For each repeating text: its index, and the index of the first equal text.

    >>> find_repeats(["a b", "c", "a  b ", "c"])
    {2: 0, 3: 1}
    """
    texts = [text if text.isascii() else _clean(text) for text in texts]
    beginnings = {tuple(text.split(None, _BEGINNING_WORDS)[:_BEGINNING_WORDS]) for text in texts}
    if len(beginnings) == len(texts):  # the usual case
        return {}
    first_indexes: dict[str, int] = {}
    repeats: dict[int, int] = {}
    for index, text in enumerate(texts):
        key = collapse_space(text)
        first_index = first_indexes.setdefault(key, index)
        if key and first_index != index:
            repeats[index] = first_index
    return repeats


def _clean(text: str) -> str:
    """Return a text without invisible characters, in NFC."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def measure_overlaps(texts: Sequence[str]) -> tuple[float, ...]:
    """Measure for each text the share of its characters that also stand in an earlier text, from 0 to 1.

    A character counts if it belongs to a run of at least 40 characters that an earlier text has, too. White space counts as a
    character. Texts that share no 20 characters from the beginning of a word are not compared.

    So overlapping windows of one source count, in any order, and a text within a larger one. Shared names and headings do not.
    The time is in proportion to the number of characters.

    Args:
        texts: In rank order.

    >>> one = "The pump was repaired in May by Hale, and it costs 20 euros."
    >>> measure_overlaps([one, "Bread.", one])
    (0.0, 0.0, 1.0)
    """
    # A window is a run of `SHORTEST_OVERLAP` characters. An anchor is the first part of a window that begins with a word. Texts
    # without a common anchor need no comparison by windows.
    earlier_anchors: set[str] = set()
    earlier_windows: set[int] = set()  # the hashes of the windows
    # The earlier texts whose windows are not in `earlier_windows` yet.
    texts_without_windows: list[str] = []
    shares: list[float] = []
    for text in texts:
        anchors = _find_anchors(text)
        share = 0.0
        if not earlier_anchors.isdisjoint(anchors):
            for earlier_text in texts_without_windows:
                earlier_windows.update(_hash_windows(earlier_text))
            texts_without_windows = []
            share = _count_covered(text, earlier_windows) / len(text)
        shares.append(share)
        texts_without_windows.append(text)
        earlier_anchors.update(anchors)
    return tuple(shares)


def _find_anchors(text: str) -> Sequence[str]:
    """Return the anchor at the beginning of each word, if the text is long enough behind it."""
    last = len(text) - _ANCHOR_CHARACTERS
    starts: Sequence[int] = [match.start() for match in _WORD_START.finditer(text)]
    if len(starts) * _MAX_AVERAGE_WORD_CHARACTERS < len(text):
        starts = range(last + 1)
    return [text[start : start + _ANCHOR_CHARACTERS] for start in starts if start <= last]


def _hash_windows(text: str) -> Iterator[int]:
    """Yield the hash of each window of a text. A hash takes less memory than the characters of a window."""
    for start in range(len(text) - SHORTEST_OVERLAP + 1):
        yield hash(text[start : start + SHORTEST_OVERLAP])


def _count_covered(text: str, window_hashes: Container[int]) -> int:
    """Count the characters of a text that stand in one of some windows, which are given as hashes."""
    covered_count = 0
    covered_end = 0  # the end of the last window that was found
    for start, window_hash in enumerate(_hash_windows(text)):
        if window_hash in window_hashes:
            end = start + SHORTEST_OVERLAP
            covered_count += end - max(start, covered_end)
            covered_end = end
    return covered_count
