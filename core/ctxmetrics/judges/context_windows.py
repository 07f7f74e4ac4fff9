"""Cuts contexts into windows of neighbouring sentences, and chooses the windows with most words of a unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.evidence.words import list_keys, tokenize
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.judges.lexical.phrase import ParsedText
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# Approximates the tokens of language models: a character of Chinese, Japanese, Thai, Lao, Khmer or Burmese, a word, or a mark.
_TOKEN = re.compile(
    r"""
    [\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]
    | [^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+
    | [^\w\s]
    """,
    re.VERBOSE,
)


class Window(NamedTuple):
    """Neighbouring sentences of one context.

    Attributes:
        span: The sentences as evidence.
        words: The keys of the sentences' words. After the choice for a unit, only the keys that the unit has, too.
        text: The visible text of the sentences.
    """

    span: Evidence
    words: frozenset[str]
    text: str


def choose_windows(
    request: JudgeRequest, units: Sequence[str], size: int, most_windows: int
) -> list[tuple[str, list[list[Window]]]]:
    """Choose for each unit the windows of each context that are compared with it.

    A window has ``size`` sentences. Each window begins with the last sentence of the window before it, so that any two neighbouring
    sentences stand in one window. The choice depends only on the unit and the context.

    Args:
        request: The request with the contexts.
        units: The units.
        size: The number of sentences of a window.
        most_windows: The maximum number of windows of one context. The windows with most words of the unit are chosen.

    Returns:
        Each unit with the windows of each context, in the order of the text.
    """
    windows_by_context = [
        list(_cut_to_windows(index, text, size)) for index, text in enumerate(request.contexts)
    ]
    units_with_windows = []
    for unit in units:
        phrase = ParsedText.of(unit, request.language)
        chosen = [_choose(windows, phrase, most_windows) for windows in windows_by_context]
        units_with_windows.append((unit, chosen))
    return units_with_windows


def cut_pieces(context_index: int, text: str, size: int) -> list[Window]:
    """Cut a context into pieces of whole sentences, without gaps and overlaps.

    Args:
        context_index: The index of the context.
        text: The text of the context.
        size: The maximum number of words and punctuation marks in a piece. A sentence with more is a piece of its own.
    """
    view = see(text)
    groups: list[list[Span]] = []
    free_tokens = 0  # the number of tokens that still fit into the last group
    for start, end in sentences(text):
        sentence = Span(start, end)
        token_count = len(_TOKEN.findall(view.cut(sentence)))
        if not groups or token_count > free_tokens:
            groups.append([])
            free_tokens = size
        groups[-1].append(sentence)
        free_tokens -= token_count
    pieces = []
    for group in groups:
        start = group[0].start
        end = group[-1].end
        evidence = Evidence(context_index, start, end, text[start:end])
        pieces.append(Window(evidence, frozenset(), view.cut(Span(start, end))))
    return pieces


def choose_complementary(
    windows_by_context: Sequence[Sequence[Window]], most_windows: int = 3
) -> tuple[Evidence, ...]:
    """Choose windows of different contexts that together hold most words of a unit. Return them in the order of the contexts.

    Each step chooses the window that adds most words; of two equal windows, the earlier one. If one context alone holds as many
    words, nothing is returned.
    """
    chosen: list[Evidence] = []
    combined_words: frozenset[str] = frozenset()
    candidates = [window for windows in windows_by_context for window in windows]
    while candidates and len(chosen) < most_windows:
        best = max(candidates, key=lambda window: len(window.words - combined_words))
        if best.words <= combined_words:  # no window adds a word
            break
        combined_words |= best.words
        chosen.append(replace(best.span, whole=False))
        candidates = [window for window in candidates if window.span.context != best.span.context]
    if len(chosen) < 2:  # noqa: PLR2004 - one context is not several together
        return ()
    return tuple(sorted(chosen, key=lambda span: span.context))


def _choose(windows: Iterable[Window], unit: ParsedText, most_windows: int) -> list[Window]:
    """Choose the windows of a context that hold most words of a unit; a number counts as two words."""
    unit_words = frozenset(unit.content_positions)
    unit_numbers = frozenset(unit.numbers)
    candidates = [window._replace(words=window.words & unit_words) for window in windows]

    def weigh(window: Window) -> int:
        """Count the words of the unit that a window holds; a number counts twice."""
        return len(window.words) + len(window.words & unit_numbers)

    candidates.sort(key=weigh, reverse=True)
    return sorted(candidates[:most_windows], key=lambda window: window.span.start)


def _cut_to_windows(context_index: int, text: str, size: int) -> Iterator[Window]:
    """Cut a context into windows of ``size`` sentences; the last window ends with the last sentence."""
    view = see(text)
    sentence_spans = [Span(start, end) for start, end in sentences(text)]
    words_by_sentence = [frozenset(list_keys(tokenize(view.cut(span)))) for span in sentence_spans]
    # A window begins with the last sentence of the one before it.
    step = max(1, size - 1)
    first = 0
    while first < len(sentence_spans):
        last = min(first + size, len(sentence_spans)) - 1
        start = sentence_spans[first].start
        end = sentence_spans[last].end
        words = frozenset[str]().union(*words_by_sentence[first : last + 1])
        evidence = Evidence(context_index, start, end, text[start:end])
        yield Window(evidence, words, view.cut(Span(start, end)))
        if last == len(sentence_spans) - 1:
            return
        first += step
