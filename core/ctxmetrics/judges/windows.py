"""Windows of neighbouring sentences: those of a context that hold most of a unit's words, and those that hold them together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import tokens
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.judges.lexical.phrase import Phrase
from ctxmetrics.verdicts import Evidence


class Window(NamedTuple):
    """Neighbouring sentences of one context, as evidence, and the words that they hold; beside a unit, those of the unit."""

    span: Evidence
    held: frozenset[str]


def windows(
    request: JudgeRequest, units: Sequence[str], size: int, most: int
) -> list[tuple[str, list[list[Window]]]]:
    """Choose the windows to compare, for each unit and context, in order of place.

    Windows of ``size`` sentences follow each other in each context, each beginning with the last sentence of the one
    before, so that two neighbouring sentences stand in one window. Which are compared depends on that context and the
    unit alone.

    Args:
        request: The request with the contexts.
        units: The units.
        size: Sentences of a window.
        most: Windows of one context that are compared with a unit: those that hold most of its words.
    """
    contexts = [list(_cut(index, text, size)) for index, text in enumerate(request.contexts)]
    chosen = []
    for unit in units:
        words = frozenset(Phrase.of(unit, request.language).content)
        chosen.append((unit, [_fullest(row, words, most) for row in contexts]))
    return chosen


def joined(rows: Sequence[Sequence[Window]], most: int = 3) -> tuple[Evidence, ...]:
    """Choose windows of different contexts that hold a unit's words together, in order of rank.

    They are chosen one by one, each the one that adds most words; the earlier one where two add as many. Nothing is
    returned where one context holds all that any hold.
    """
    picks: list[Evidence] = []
    held: frozenset[str] = frozenset()
    candidates = [window for row in rows for window in row]
    while candidates and len(picks) < most:
        best = max(candidates, key=lambda window: len(window.held - held))
        if best.held <= held:
            break
        held |= best.held
        picks.append(replace(best.span, whole=False))
        candidates = [window for window in candidates if window.span.context != best.span.context]
    if len(picks) < 2:  # noqa: PLR2004 - one context is no parts
        return ()
    return tuple(sorted(picks, key=lambda span: span.context))


def _fullest(row: Iterable[Window], words: frozenset[str], most: int) -> list[Window]:
    """Choose the windows of a context that hold most of these words, with the words that they hold, in order of place."""
    compared = [Window(window.span, window.held & words) for window in row]
    fullest = sorted(compared, key=lambda window: -len(window.held))[:most]
    return sorted(fullest, key=lambda window: window.span.start)


def _cut(context: int, text: str, size: int) -> Iterator[Window]:
    """Cut a context into windows; the last one ends with the last sentence."""
    spans = sentences(text)
    words = [{token.key for token in tokens(text[start:end])} for start, end in spans]
    step = max(1, size - 1)
    for first in range(0, max(len(spans) - size + step, min(1, len(spans))), step):
        inside = slice(first, first + size)
        start, end = spans[inside][0][0], spans[inside][-1][1]
        yield Window(Evidence(context, start, end, text[start:end]), frozenset().union(*words[inside]))
