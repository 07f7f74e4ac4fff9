"""What a reader sees of a text that holds markup, with the place of each visible character in the text.

`ctxmetrics.text.markup` says what is markup. A text without it is its own visible text.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.markup import Edit, find_markup, may_hold_markup

# Of longer texts few are remembered: their edits take much memory.
_MAX_CHARACTERS_AT_ONCE = 200_000


class VisibleText:
    """What a reader sees of a text.

    Attributes:
        source: The text.
        text: The text that a reader sees; equal to the source if this holds no markup.
    """

    __slots__ = ("_edits", "_ends", "_places", "_starts", "source", "text")

    def __init__(self, source: str, edits: Sequence[Edit] = ()) -> None:
        self.source: str = source
        self.text: str = source
        self._edits = edits
        # For each edit, its start and end in the source, and the start of its replacement in the visible text.
        self._starts: Sequence[int] = ()
        self._ends: Sequence[int] = ()
        self._places: Sequence[int] = ()
        if edits:
            self._apply(edits)

    def _apply(self, edits: Sequence[Edit]) -> None:
        """Write the visible text."""
        places: list[int] = []
        pieces: list[str] = []
        position = length = 0
        for edit in edits:
            pieces += (self.source[position : edit.start], edit.text)
            length += edit.start - position
            places.append(length)
            length += len(edit.text)
            position = edit.end
        self.text = "".join((*pieces, self.source[position:]))
        self._starts = [edit.start for edit in edits]
        self._ends = [edit.end for edit in edits]
        self._places = places

    @property
    def is_plain(self) -> bool:
        """Whether the text holds no markup."""
        return not self._edits

    def hides(self, span: Span) -> bool:
        """Whether a stretch of the source stands in what states nothing: a comment, a script, struck text."""
        index = bisect_right(self._starts, span.start) - 1
        return index >= 0 and self._edits[index].is_hidden and span.end <= self._ends[index]

    def to_source(self, span: Span) -> Span:
        """Return where a stretch of the visible text stands in the source.

        Marks around the whole stretch, or around a part at its end, belong to it: ``**fee**``, not ``fee**``.
        """
        if not self._edits or span.start >= span.end:
            return span
        start = self._find_source(span.start, last=False)
        end = self._find_source(span.end - 1, last=True)
        start = self._include_opening_marks(start, end)
        end = self._include_closing_marks(start, end)
        return Span(start, end)

    def _include_opening_marks(self, start: int, end: int) -> int:
        """Move the start of a stretch of the source before the marks that open there and close inside the stretch."""
        index = bisect_left(self._ends, start)
        while index >= 0 and self._is_at(index, self._ends, start):
            closing_mark = self._edits[index].partner
            if not start < closing_mark <= end:
                break
            start = self._starts[index]
            index -= 1
        return start

    def _include_closing_marks(self, start: int, end: int) -> int:
        """Move the end of a stretch of the source behind the marks that close there and open inside the stretch."""
        index = bisect_left(self._starts, end)
        while self._is_at(index, self._starts, end):
            opening_mark = self._edits[index].partner
            if not start <= opening_mark < end:
                break
            end = self._ends[index]
            index += 1
        return end

    def to_visible(self, position: int) -> int:
        """Return the position in the visible text of a position in the source; inside an edit, that of the end of its replacement."""
        index = bisect_right(self._starts, position) - 1
        if index < 0:  # no edit stands before the position
            return position
        if position == self._starts[index]:
            return self._places[index]
        characters_behind = max(0, position - self._ends[index])
        return self._places[index] + len(self._edits[index].text) + characters_behind

    def cut(self, span: Span) -> str:
        """Return what is seen of a stretch of the source."""
        if not self._edits:
            return self.source[span.start : span.end]
        return self.text[self.to_visible(span.start) : self.to_visible(span.end)]

    def _find_source(self, position: int, *, last: bool) -> int:
        """Return the position in the source at which a visible character begins; for the last character, the position of its end."""
        index = bisect_right(self._places, position) - 1
        if index < 0:  # no edit stands before the position
            return position + 1 if last else position
        characters_behind = position - self._places[index] - len(self._edits[index].text)
        if characters_behind >= 0:
            source = self._ends[index] + characters_behind
            return source + 1 if last else source
        return self._ends[index] if last else self._starts[index]

    @staticmethod
    def _is_at(index: int, borders: Sequence[int], position: int) -> bool:
        """Whether the edit at an index has its border at a position; ``borders`` are the starts of all edits, or their ends."""
        return index < len(borders) and borders[index] == position


def see(text: str) -> VisibleText:
    """Return what a reader sees of a text.

    >>> see("The **fee** is 20&nbsp;euros.[1]").text
    'The fee is 20 euros.'
    """
    return _read(text) if len(text) <= _MAX_CHARACTERS_AT_ONCE else _read_long(text)


@lru_cache(maxsize=256)
def _read(text: str) -> VisibleText:
    return VisibleText(text, find_markup(text) if may_hold_markup(text) else ())


_read_long = lru_cache(maxsize=2)(_read.__wrapped__)
