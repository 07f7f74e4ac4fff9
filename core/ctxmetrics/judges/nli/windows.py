"""What is compared with a unit: windows of neighbouring sentences, those first that hold most of its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical.index import shared_index
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.verdicts import Evidence


class Window(NamedTuple):
    """Neighbouring sentences of one context.

    Attributes:
        context: The context.
        start: First character.
        end: One past the last.
        text: What stands there.
        held: The bits of the unit's words that stand in it.
    """

    context: int
    start: int
    end: int
    text: str
    held: int

    def evidence(self, *, whole: bool = True) -> Evidence:
        """Return the window as evidence."""
        return Evidence(self.context, self.start, self.end, self.text, whole)


class Windows:
    """The windows of a request's contexts.

    Windows of ``size`` sentences follow each other in each context, each beginning with the last sentence of the one
    before, so that two neighbouring sentences stand in one window.

    Args:
        request: The request.
        size: Sentences of a window.
        most: Windows of one context that are compared with a unit.
    """

    def __init__(self, request: JudgeRequest, size: int, most: int) -> None:
        self._request, self._most = request, most
        self._index = shared_index(request)
        first = self._index.first
        self._windows = [
            _cut(first[context], first[context + 1], size) for context in range(len(request.contexts))
        ]

    def of(self, unit: str) -> list[list[Window]]:
        """Return for each context the windows that are compared with a unit, in order of place.

        Which these are depends on that context and the unit alone.
        """
        held = self._index.masks(Phrase.of(unit, self._request.language).content)
        return [self._fullest(context, windows, held) for context, windows in enumerate(self._windows)]

    def _fullest(self, context: int, windows: Sequence[range], held: dict[int, int]) -> list[Window]:
        masks = []
        for window in windows:
            mask = 0
            for sentence in window:
                mask |= held.get(sentence, 0)
            masks.append(mask)
        chosen = sorted(range(len(windows)), key=lambda place: -masks[place].bit_count())[: self._most]
        found = []
        for place in sorted(chosen):
            start, end = self._index.starts[windows[place][0]], self._index.ends[windows[place][-1]]
            text = self._request.contexts[context][start:end]
            found.append(Window(context, start, end, text, masks[place]))
        return found


def _cut(first: int, last: int, size: int) -> list[range]:
    """Cut the sentences of a context into windows; the last one ends with the last sentence."""
    windows = []
    for start in range(first, last, max(1, size - 1)):
        windows.append(range(start, min(start + size, last)))
        if start + size >= last:
            break
    return windows


def joined(rows: Sequence[Sequence[Window]], most: int) -> tuple[Window, ...]:
    """Choose windows of different contexts that hold a unit's words together, in order of rank.

    They are chosen one by one, each the one that adds most words; the earlier one where two add as many. Nothing is
    returned where one context holds all that any hold.
    """
    picks: list[Window] = []
    held = 0
    left = [window for windows in rows for window in windows]
    while left and len(picks) < most:
        best = max(left, key=lambda window: (window.held & ~held).bit_count())
        if not best.held & ~held:
            break
        picks.append(best)
        held |= best.held
        left = [window for window in left if window.context != best.context]
    return tuple(sorted(picks)) if len(picks) > 1 else ()
