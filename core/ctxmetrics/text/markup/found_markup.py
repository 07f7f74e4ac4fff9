"""A text, and the markup that was found in it so far."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxmetrics._internal.data_files import read_data

# The word lists, by their purpose.
LISTS: Mapping[str, Any] = read_data("text.markup", "markup.json")

# The maximum number of characters of a note's mark or of a raised text.
LONGEST_NOTE = 300
SUPERSCRIPTS = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
# The word that a text ends with.
LAST_WORD = re.compile(r"[^\W\d_]+\Z")
# The blank before a dropped mark is dropped, too, if one of these follows the mark: "word [1]." becomes "word."
_PUNCTUATION_OR_BLANK = frozenset(".,;:!?) \n")
BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


class Edit(NamedTuple):
    """A part of a text that a reader does not see as it is written.

    Attributes:
        start: The position of the first character.
        end: The position behind the last character.
        text: The text that a reader sees in its place.
        partner: For the mark of a pair, such as an opening mark, the position of the other mark; -1 if there is none.
        is_hidden: Whether the part states nothing: a comment, a script, struck text.
    """

    start: int
    end: int
    text: str = ""
    partner: int = -1
    is_hidden: bool = False


class FoundMarkup:
    """A text, and the markup that was found in it so far. Stretches are stored by the position of their first character.

    Attributes:
        text: The text.
        taken: One byte for each character: 1 if the character is known to be markup or code, and is not read again.
        edits: The stretches that a reader does not see as they are written, by their start: the end, and the text that is seen
            instead.
        covered: The stretches that are dropped with all edits in them, by their start: the end, and whether the stretch states
            nothing.
        partners: For each mark of a pair, the position of the other mark.
        blank_lines: The positions of blank lines. No pair of marks crosses a blank line.
    """

    __slots__ = ("_absent", "blank_lines", "covered", "edits", "partners", "taken", "text")

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.taken: bytearray = bytearray(len(text))
        self.edits: dict[int, tuple[int, str]] = {}
        self.covered: dict[int, tuple[int, bool]] = {}
        self.partners: dict[int, int] = {}
        self.blank_lines: list[int] = []
        if "\n" in text:
            self.blank_lines = [match.start() for match in BLANK_LINE.finditer(text)]
        self._absent: set[str] = set()

    def is_free(self, start: int, end: int) -> bool:
        """Whether no character of a stretch is taken."""
        return self.taken.find(1, start, end) < 0

    def protect(self, start: int, end: int) -> None:
        """Mark a part of the text as read, without a change."""
        self.taken[start:end] = b"\1" * (end - start)

    def drop(self, start: int, end: int) -> None:
        """Mark a part of the text as read that a reader does not see."""
        self.replace(start, end, "")

    def replace(self, start: int, end: int, text: str) -> None:
        """Mark a part of the text as read, and store the text that a reader sees in its place."""
        if start < end and self.taken.find(1, start, end) < 0:
            self.edits[start] = (end, text)
            self.taken[start:end] = b"\1" * (end - start)

    def drop_with_blank(self, start: int, end: int) -> None:
        """Drop a stretch that a reader does not see. The blank before it is dropped too, if a blank or a punctuation mark follows."""
        self.drop(self._with_blank(start, end), end)

    def hide(self, start: int, end: int) -> None:
        """Drop a stretch that states nothing, with all edits inside."""
        states_nothing = True
        self.covered[self._with_blank(start, end)] = (end, states_nothing)

    def cover(self, start: int, end: int) -> None:
        """Drop a stretch that a reader does not see in its place, such as a note, with all edits inside."""
        states_nothing = False
        self.covered[start] = (end, states_nothing)

    def _with_blank(self, start: int, end: int) -> int:
        """Return the start of a stretch, one earlier if a blank stands before it and a blank or a punctuation mark follows."""
        is_apart = (
            self.character_before(start) == " " and self.text[end : end + 1] in _PUNCTUATION_OR_BLANK
        )
        return start - 1 if is_apart else start

    def drop_pair(self, opening: tuple[int, int], closing: tuple[int, int]) -> None:
        """Drop an opening and a closing mark; drop neither if one of the two is taken."""
        if self.is_free(*opening) and self.is_free(*closing):
            self.drop(*opening)
            self.drop(*closing)
            self.pair(opening[0], closing[0])

    def pair(self, opening: int, closing: int) -> None:
        """Remember that two marks are a pair."""
        self.partners[opening] = closing
        self.partners[closing] = opening

    def crosses_blank_line(self, start: int, end: int) -> bool:
        """Whether a blank line stands in a stretch."""
        return bisect_left(self.blank_lines, start) != bisect_left(self.blank_lines, end)

    def find_mark(self, mark: str, start: int) -> int:
        """Return the next position of a mark, or -1.

        A mark that was not found once is not looked for again, because the search would read the rest of the text each time.
        """
        if mark in self._absent:
            return -1
        place = self.text.find(mark, start)
        if place < 0:
            self._absent.add(mark)
        return place

    def list_edits(self) -> tuple[Edit, ...]:
        """Return all edits, in order."""
        edits: list[Edit] = []
        for start, (end, text) in sorted(self.edits.items()):
            edits.append(Edit(start, end, text, self.partners.get(start, -1)))
        return self._merge_covered(edits) if self.covered else tuple(edits)

    def _merge_covered(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Merge edits with the covered stretches. An edit inside a covered stretch is dropped."""
        covering_edits = [
            Edit(start, end, is_hidden=is_hidden) for start, (end, is_hidden) in self.covered.items()
        ]
        merged_edits: list[Edit] = []
        covered_until = 0
        for edit in sorted([*edits, *covering_edits]):
            if edit.start >= covered_until:
                merged_edits.append(edit)
            elif edit.end > covered_until:  # the edit overlaps the one before: its rest is kept
                merged_edits.append(edit._replace(start=covered_until))
            covered_until = max(covered_until, edit.end)
        return tuple(merged_edits)

    def character_before(self, place: int) -> str:
        """Return the character before a place; empty at the beginning."""
        return self.text[place - 1] if place else ""


def is_word(character: str) -> bool:
    """Whether a character is a letter or digit of a script with spaces, or an underscore; an empty text is none."""
    return character < "\u0e00" and (character.isalnum() or character == "_")


# The two functions below are for patterns that begin with one character, or at the beginning of a line: `finditer` would try
# them at every character.


def match_marks(pattern: re.Pattern[str], text: str, mark: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begins with a mark."""
    place = text.find(mark)
    while place >= 0:
        match = pattern.match(text, place)
        if match is not None:
            yield match
        place = text.find(mark, place + 1 if match is None else match.end())


def match_lines(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern at the beginnings of lines."""
    place = 0
    while place >= 0:
        match = pattern.match(text, place)
        if match is not None:
            yield match
        place = text.find("\n", place) + 1 or -1
