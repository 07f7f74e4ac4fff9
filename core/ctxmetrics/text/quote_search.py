"""Finding a quote in a context."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from ctxmetrics.text.character_spans import (
    INSIDE_NUMBER_PATTERN,
    NUMBER,
    Span,
    has_content,
    is_inside_number_or_word,
)
from ctxmetrics.text.markup import count_marks, may_hold_markup
from ctxmetrics.text.normal_form import normalise, normalise_with_origin
from ctxmetrics.text.visible import VisibleText, see

# The minimum share of a quote, after normalising, that the alignment must find.
FUZZY_BAR = 0.9
# Shorter quotes are not aligned: they must be found to the letter, after normalising.
FUZZY_MIN_CHARACTERS = 16
# The maximum number of characters by which one end of a span is widened to a whole word.
_MAX_CHARACTERS_ADDED = 20
# The maximum number of characters of a context, and of a quote, that are aligned: alignment of longer texts would take seconds.
FUZZY_MAX_CONTEXT = 200_000
FUZZY_MAX_QUOTE = 2_000
# The maximum number of steps of work for the quotes of one reply. A step takes about a nanosecond, so all take a fifth of a
# second, and at most about twice that with texts that are made to be slow.
MOST_STEPS = 200_000_000
# The work of normalising a text, in steps: for each character of the text ..
_STEPS_PER_CHARACTER = 600
# .. and for each character of its normal form, which may be longer: one ligature may become eighteen characters.
_STEPS_PER_NORMAL_CHARACTER = 250
# The work of reading the visible text, in steps: for each character ..
_STEPS_TO_SEE = 100
# .. and for each character that may be a mark of markup.
_STEPS_PER_MARK = 3_500
# The minimum number of letters of a piece of a quote that says enough to be evidence.
_MIN_LETTERS = 3
# The scripts from Thai on have no spaces between words.
_FIRST_WITHOUT_SPACES = "\u0e00"
# An ellipsis: ..., […], . . .
_ELLIPSIS = re.compile(r"(?:\[\s*)?(?:\.(?:\s?\.){2,}|…)(?:\s*\])?")


@dataclass(slots=True)
class Effort:
    """Limits the work of finding quotes. It counts steps, not time, so that equal replies get equal verdicts.

    Attributes:
        left: The number of steps that are left.
    """

    left: float = MOST_STEPS
    # The texts whose steps are already counted.
    _normalised_contexts: set[str] = field(init=False, default_factory=set)
    _seen_texts: set[str] = field(init=False, default_factory=set)

    def spend(self, steps: float) -> None:
        """Count steps of work.

        Raises:
            EffortExceededError: Fewer steps are left.
        """
        if steps > self.left:
            raise EffortExceededError
        self.left -= steps

    def see(self, text: str) -> VisibleText:
        """Return the visible text. Its steps count once for each reply, also if an earlier reply needed the same text.

        Raises:
            EffortExceededError: Fewer steps are left.
        """
        if text not in self._seen_texts:
            self._seen_texts.add(text)
            self.spend(len(text))
            if may_hold_markup(text):
                self.spend(_STEPS_TO_SEE * len(text) + _STEPS_PER_MARK * count_marks(text))
        return see(text)

    def normalise(self, context: str) -> tuple[str, list[int]]:
        """Normalise a context. Its steps count once for each reply, also if an earlier reply needed the same context.

        Returns:
            The normal form, and for each of its characters the position in the context that it comes from.

        Raises:
            EffortExceededError: Fewer steps are left.
        """
        is_new = context not in self._normalised_contexts
        self._normalised_contexts.add(context)
        if is_new:
            self.spend(_STEPS_PER_CHARACTER * len(context))
        if len(context) <= FUZZY_MAX_CONTEXT:
            normal_form, origins = _normalised_context(context)
        else:
            normal_form, origins = _normalised_long_context(context)
        if is_new:
            self.spend(_STEPS_PER_NORMAL_CHARACTER * len(normal_form))
        return normal_form, origins


class EffortExceededError(Exception):
    """Finding a quote takes more work than is left. It is not known whether the quote stands in the context."""


@lru_cache(maxsize=256)
def _normalised_context(context: str) -> tuple[str, list[int]]:
    """Return the normal form of a context, and for each of its characters the position that it comes from."""
    characters, origins = normalise_with_origin(context)
    return "".join(characters), origins


# As `_normalised_context`. It remembers only two contexts, because their normal forms take much memory.
_normalised_long_context = lru_cache(maxsize=2)(_normalised_context.__wrapped__)


def find_quote(quote: str, context: str, effort: Effort | None = None) -> tuple[Span, ...]:
    """Find the spans of a context that a quote was copied from. Text that states nothing (comments, struck text) has none.

    These are tried in order:

    1. the exact text;
    2. the normalised text (`normalise`);
    3. the normalised text of what a reader sees of both (`see`);
    4. the best alignment, for quotes of at least `FUZZY_MIN_CHARACTERS`. It must cover at least `FUZZY_BAR` of the quote, and
       every number of the quote must stand in the span.

    A quote with an ellipsis is first looked for as it stands. If it is not found, all its parts must be found in order. A
    number is found only as a whole: 19 is not found in 1932, and 3 not in 3.5.

    Args:
        quote: The text that the judge says it copied. Untrusted.
        context: The retrieved text.
        effort: Limits the work; None: as much as for one reply.

    Returns:
        One span for each part, in order. Empty if the quote is not found, or if it says too little to be evidence: it has fewer
        than three letters, no digit, and no letter of a script without spaces.

    Raises:
        EffortExceededError: Finding the quote takes more work than is left.
    """
    effort = effort or Effort()
    effort.spend(1000 + 50 * len(quote))
    pieces = [piece.strip() for piece in _ELLIPSIS.split(quote) if has_content(piece)]
    if not pieces or (len(pieces) == 1 and not _says_enough(pieces[0])):
        return ()
    search = _QuoteSearch(context, effort.see(context), effort)
    if len(pieces) > 1 and _says_enough(quote):
        whole = search.find_literally(quote.strip(), 0)
        if whole is not None:
            return (whole,)
    spans: list[Span] = []
    position = 0
    for piece in pieces:
        span = search.find_literally(piece, position) or search.align(piece, position)
        if span is None:
            return ()
        spans.append(span)
        position = span.end
    # For each pair of neighbouring pieces, whether the quote leaves out words between them.
    gaps = [has_content(context[before.end : after.start]) for before, after in pairwise(spans)]
    for index, piece in enumerate(pieces):
        # A short piece proves nothing if the quote leaves out words beside it.
        is_beside_gap = any(gaps[max(index - 1, 0) : index + 1])
        if is_beside_gap and not _says_enough(piece):
            return ()
    return tuple(spans)


def _says_enough(piece: str) -> bool:
    """Whether a piece of a quote has at least three letters, a digit, or a letter of a script without spaces."""
    for count, character in enumerate(filter(str.isalnum, piece), 1):
        is_enough = character.isdigit() or character >= _FIRST_WITHOUT_SPACES
        if is_enough or count == _MIN_LETTERS:
            return True
    return False


@dataclass(slots=True)
class _QuoteSearch:
    """Looks for the pieces of one quote in a context.

    Attributes:
        context: The context.
        view: The visible text of the context.
        effort: Limits the work.
    """

    context: str
    view: VisibleText
    effort: Effort

    def find_literally(self, piece: str, position: int) -> Span | None:
        """Find a piece behind a position: exactly, in the normalised text, or in the visible text."""
        start = _find(piece, self.context, position, self.effort)
        if start >= 0:
            span: Span | None = Span(start, start + len(piece))
        else:
            span = self._find_normalised(piece, self.context, position)
        if span is not None and not self.view.hides(span):
            return span
        visible_piece = _read_quote(piece, self.effort)
        if self.view.is_plain and visible_piece == piece:
            return None
        visible_position = self.view.to_visible(position)
        span = self._find_normalised(visible_piece, self.view.text, visible_position)
        return None if span is None else self.view.to_source(span)

    def align(self, piece: str, position: int) -> Span | None:
        """Find text behind a position that is nearly equal to a piece: in the visible text, or else in the context."""
        if not self.view.is_plain:
            visible_piece = _read_quote(piece, self.effort)
            visible_position = self.view.to_visible(position)
            span = self._find_normalised(visible_piece, self.view.text, visible_position, nearly=True)
            if span is not None:
                return self.view.to_source(span)
        span = self._find_normalised(piece, self.context, position, nearly=True)
        return None if span is None or self.view.hides(span) else span

    def _find_normalised(
        self, piece: str, text: str, position: int, *, nearly: bool = False
    ) -> Span | None:
        """Find the normal form of a piece in the normal form of a text. With `nearly`, nearly equal text is enough."""
        self.effort.spend(_STEPS_PER_CHARACTER * len(piece))
        needle = normalise(piece).strip("\"'")
        self.effort.spend(_STEPS_PER_NORMAL_CHARACTER * len(needle))
        if not needle:
            return None
        # `origins` holds, for each character of the haystack, the position in the text that it comes from.
        haystack, origins = self.effort.normalise(text)
        # The search begins with the first character of the haystack that comes from `position` or behind it.
        first_index = bisect_left(origins, position) if position else 0
        if nearly:
            aligned = None
            if len(text) <= FUZZY_MAX_CONTEXT:
                aligned = _align(needle, haystack[first_index:], self.effort)
            if aligned is None:
                return None
            start = aligned.start + first_index
            end = aligned.end + first_index
        else:
            start = _find(needle, haystack, first_index, self.effort)
            if start < 0:
                return None
            end = start + len(needle)
        source_start = origins[start]
        source_end = origins[end - 1] + 1
        # The combining marks of the last character belong to it.
        while source_end < len(text) and unicodedata.combining(text[source_end]):
            source_end += 1
        # White space at both ends is left out of the span.
        source_start = source_end - len(text[source_start:source_end].lstrip())
        return Span(source_start, source_start + len(text[source_start:source_end].rstrip()))


# The bars between cells that a quote repeats.
_CELL_MARK = re.compile(r"(?:(?<=\s)|^)\|(?=\s|$)")


def _read_quote(quote: str, effort: Effort) -> str:
    """Return what a reader sees of a quote, without the bars between the cells of a table."""
    return _CELL_MARK.sub(" ", effort.see(quote).text).strip()


# The sentences and contexts of one sample are compared with each other.
_normalise_and_remember = lru_cache(maxsize=128)(normalise)


def stands_in(sentence: str, context: str) -> bool:
    """Whether a context, or its visible text, holds a sentence. Both are normalised, and the last full stop is ignored.

    Sentences of fewer than `FUZZY_MIN_CHARACTERS` are not looked for: they say too little.
    """
    if _holds(sentence, context):
        return True
    view = see(context)
    visible_sentence = see(sentence).text
    if view.is_plain and visible_sentence == sentence:
        return False
    return _holds(visible_sentence, view.text)


def _holds(sentence: str, context: str) -> bool:
    """Whether the normal form of a sentence stands in the normal form of a context."""
    needle = _normalise_and_remember(sentence).rstrip(".!?。！？ ")
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= len(context) * 2:
        return False
    haystack = _normalise_and_remember(context)
    if needle not in haystack:
        return False
    for match in re.finditer(re.escape(needle), haystack):
        if not any(is_inside_number_or_word(haystack, place) for place in match.span()):
            return True
    return False


def _find(needle: str, haystack: str, position: int, effort: Effort) -> int:
    """Return the position of a text that does not begin or end inside a number; -1 if there is none."""
    effort.spend(len(haystack) + 1000)
    start = haystack.find(needle, position)
    while start >= 0:
        end = start + len(needle)
        begins_in_number = INSIDE_NUMBER_PATTERN.match(haystack, start)
        if not begins_in_number and not INSIDE_NUMBER_PATTERN.match(haystack, end):
            break
        effort.spend(len(needle) + 1500)
        start = haystack.find(needle, start + 1)
    return start


def _align(needle: str, haystack: str, effort: Effort) -> Span | None:
    """Find the span of a text that is most similar to a quote. It must be nearly equal and have all numbers of the quote."""
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= min(FUZZY_MAX_QUOTE, 2 * len(haystack)):
        return None
    # Every window of the needle's length is compared, also those that overlap an end. 64 characters are compared at a time.
    window_count = len(haystack) + 2 * len(needle)
    blocks_in_needle = -(-len(needle) // 64)  # rounded up
    effort.spend(window_count * (250 + len(needle) * blocks_in_needle // 2))
    from rapidfuzz import fuzz

    match = fuzz.partial_ratio_alignment(needle, haystack, score_cutoff=100 * FUZZY_BAR)
    if match is None or match.dest_end - match.dest_start < FUZZY_BAR * len(needle):
        return None
    span = _whole_words(haystack, Span(match.dest_start, match.dest_end))
    numbers = set(NUMBER.findall(haystack[span.start : span.end]))
    return span if numbers.issuperset(NUMBER.findall(needle)) else None


def _whole_words(text: str, span: Span) -> Span:
    """Widen a span to whole words. An alignment is as long as the quote, so that it may start or end inside a word."""
    start, end = span
    while (
        start > 0
        and span.start - start < _MAX_CHARACTERS_ADDED
        and is_inside_number_or_word(text, start)
    ):
        start -= 1
    while (
        end < len(text)
        and end - span.end < _MAX_CHARACTERS_ADDED
        and is_inside_number_or_word(text, end)
    ):
        end += 1
    return Span(start, end)
