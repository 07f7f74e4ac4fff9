"""Texts that repeat others: whole texts, and the share of a text that overlaps with texts above it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from ctxmetrics.text.normal_form import collapse_space

# Invisible characters: a text is the same without them.
_INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\u2060\ufeff]+")
# The words at the beginning by which most texts differ.
_BEGINNING = 4
# The characters of the shortest run that counts as overlap. Shorter ones are idioms, names and headings.
SHORTEST_OVERLAP = 40
# A common run is looked for by so many characters at the beginning of a word in it.
_ANCHOR = 20
_WORD = re.compile(r"(?<!\w)\w")
# A text with longer words on average has no blanks between words, such as Chinese: each character may begin one.
_LONGEST_WORD = 16
# Places of one anchor that are compared: a text that repeats one phrase all over stays linear.
_MOST_PLACES = 4


def find_repeats(texts: Sequence[str]) -> dict[int, int]:
    """Find the texts that repeat one above: from the place of each to the place of the first one.

    Two texts are equal if they differ in white space, invisible characters and Unicode's form (NFC) only. A text
    without a character that is visible repeats nothing.

    >>> find_repeats(["a b", "c", "a  b ", "c"])
    {2: 0, 3: 1}
    """
    texts = [text if text.isascii() else _clean(text) for text in texts]
    beginnings = {tuple(text.split(None, _BEGINNING)[:_BEGINNING]) for text in texts}
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

    A character counts if it stands in a run of at least 40 characters that is in a text above, character by character;
    the run holds the beginning of a word that is at least 20 characters before its end. So windows that overlap count,
    in whatever order they were retrieved, and a text within a larger one; shared names and headings do not. White space
    counts as a character. Each text is read once, and each character of it compared with at most four places above.

    Args:
        texts: In rank order.

    >>> one = "The pump was repaired in May by Hale, and it costs 20 euros."
    >>> measure_overlaps([one, "Bread.", one])
    (0.0, 0.0, 1.0)
    """
    places: dict[str, list[tuple[int, int]]] = {}
    shares: list[float] = []
    for number, text in enumerate(texts):
        anchors = _find_anchors(text)
        covered = 0
        end = 0  # of the last run
        for start in anchors:
            if start < end:
                continue
            low, high = _find_run(
                text, start, end, texts, places.get(text[start : start + _ANCHOR], ())
            )
            covered += high - low
            end = max(end, high)
        shares.append(covered / len(text) if text else 0.0)
        for start in anchors:
            known = places.setdefault(text[start : start + _ANCHOR], [])
            if len(known) < _MOST_PLACES:
                known.append((number, start))
    return tuple(shares)


def _find_anchors(text: str) -> Sequence[int]:
    """Find where words begin, as far as a whole anchor follows."""
    last = len(text) - _ANCHOR
    anchors = [match.start() for match in _WORD.finditer(text)]
    if len(anchors) * _LONGEST_WORD < len(text):
        return range(last + 1)
    return [start for start in anchors if start <= last]


def _find_run(
    text: str, start: int, floor: int, texts: Sequence[str], places: Sequence[tuple[int, int]]
) -> tuple[int, int]:
    """Find the longest common run around an anchor, not before a floor; an empty one where all are too short."""
    best = (start, start)
    for number, place in places:
        other = texts[number]
        before = 0
        most = min(start - floor, place)
        while before < most and text[start - before - 1] == other[place - before - 1]:
            before += 1
        after = _ANCHOR
        most = min(len(text) - start, len(other) - place)
        while after < most and text[start + after] == other[place + after]:
            after += 1
        if before + after >= SHORTEST_OVERLAP and before + after > best[1] - best[0]:
            best = (start - before, start + after)
    return best
