"""What is compared with a unit: windows of neighbouring sentences, those first that hold most of its words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.verdicts import Evidence


class Window(NamedTuple):
    """Neighbouring sentences of one context.

    Attributes:
        context: The context.
        start: First character.
        end: One past the last.
        text: What stands there.
        held: The words that stand in it; beside a unit, those of the unit.
    """

    context: int
    start: int
    end: int
    text: str
    held: frozenset[str]

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
        self._language, self._most = request.language, most
        self._windows = [list(_cut(*item, size)) for item in enumerate(request.contexts)]

    def of(self, unit: str) -> list[list[Window]]:
        """Return for each context the windows that are compared with a unit, in order of place.

        Which these are depends on that context and the unit alone.
        """
        wanted = Phrase.of(unit, self._language).content.keys()
        found = []
        for windows in self._windows:
            held = [window._replace(held=window.held & wanted) for window in windows]
            fullest = sorted(held, key=lambda window: -len(window.held))[: self._most]
            found.append(sorted(fullest, key=lambda window: window.start))
        return found


def _cut(context: int, text: str, size: int) -> Iterator[Window]:
    """Cut a context into windows; the last one ends with the last sentence."""
    spans = sentences(text)
    words = [{token.key for token in tokens(text[start:end])} for start, end in spans]
    step = max(1, size - 1)
    for first in range(0, max(len(spans) - size + step, min(1, len(spans))), step):
        inside = slice(first, first + size)
        start, end = spans[inside][0][0], spans[inside][-1][1]
        yield Window(context, start, end, text[start:end], frozenset().union(*words[inside]))


def joined(rows: Sequence[Sequence[Window]], most: int) -> tuple[Window, ...]:
    """Choose windows of different contexts that hold a unit's words together, in order of rank.

    They are chosen one by one, each the one that adds most words; the earlier one where two add as many. Nothing is
    returned where one context holds all that any hold.
    """
    picks: list[Window] = []
    left = [window for windows in rows for window in windows]
    while left and len(picks) < most:
        held = frozenset[str]().union(*(window.held for window in picks))
        best = max(left, key=lambda window: len(window.held - held))
        if best.held <= held:
            break
        picks.append(best)
        left = [window for window in left if window.context != best.context]
    return tuple(sorted(picks)) if len(picks) > 1 else ()
