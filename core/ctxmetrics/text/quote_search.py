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

# Lowest share of a quote that the alignment must find, after normalising, for it to count as found.
FUZZY_BAR = 0.9
# Shorter quotes must be found to the letter (after normalising).
FUZZY_MIN_CHARACTERS = 16
# Characters by which a span is widened to whole words.
_MAX_CHARACTERS_ADDED = 20
# In longer contexts only exact and normalised matches are searched: alignment would take seconds.
FUZZY_MAX_CONTEXT = 200_000
# The same for longer quotes.
FUZZY_MAX_QUOTE = 2_000
# Steps of work that the quotes of one reply may take: each about a nanosecond, so a fifth of a second, and up to about
# twice that with texts made to be slow.
MOST_STEPS = 200_000_000
# What it takes to normalise a character, and each character that it becomes: one ligature may become eighteen.
_STEPS_A_CHARACTER = 600
_STEPS_A_PIECE = 250
# What it takes to read what is seen: for each character, and for each that may be a mark.
_STEPS_TO_SEE = 100
_STEPS_A_MARK = 3_500
# Letters of a piece that says enough to be evidence.
_MIN_LETTERS = 3
# The scripts from Thai on have no spaces between words.
_FIRST_WITHOUT_SPACES = "\u0e00"
_ELLIPSIS = re.compile(r"(?:\[\s*)?(?:\.(?:\s?\.){2,}|…)(?:\s*\])?")


@dataclass(slots=True)
class Effort:
    """Bounds the work of finding quotes. It counts steps, not time, so that equal replies get equal verdicts.

    Attributes:
        left: Steps of work that are left.
    """

    left: float = MOST_STEPS
    _normalised: set[str] = field(init=False, default_factory=set)
    _seen: set[str] = field(init=False, default_factory=set)

    def spend(self, steps: float) -> None:
        """Take steps.

        Raises:
            EffortExceededError: So many are not left.
        """
        if steps > self.left:
            raise EffortExceededError
        self.left -= steps

    def see(self, text: str) -> VisibleText:
        """Read what is seen of a text, and count the steps for it once, whether it is remembered or not.

        Raises:
            EffortExceededError: So many steps are not left.
        """
        if text not in self._seen:
            self._seen.add(text)
            self.spend(len(text))
            if may_hold_markup(text):
                self.spend(_STEPS_TO_SEE * len(text) + _STEPS_A_MARK * count_marks(text))
        return see(text)

    def normalise(self, context: str) -> tuple[str, list[int]]:
        """Normalise a context, and count the steps for it once, whether it is remembered or not.

        Raises:
            EffortExceededError: So many steps are not left.
        """
        is_new = context not in self._normalised
        self._normalised.add(context)
        if is_new:
            self.spend(_STEPS_A_CHARACTER * len(context))
        if len(context) <= FUZZY_MAX_CONTEXT:
            characters, origin = _normalised_context(context)
        else:
            characters, origin = _normalised_long_context(context)
        if is_new:
            self.spend(_STEPS_A_PIECE * len(origin))
        return characters, origin


class EffortExceededError(Exception):
    """Finding a quote takes more work than is left; whether it is there is not known."""


@lru_cache(maxsize=256)
def _normalised_context(context: str) -> tuple[str, list[int]]:
    characters, origin = normalise_with_origin(context)
    return "".join(characters), origin


# The same for contexts whose normalised form takes much memory.
_normalised_long_context = lru_cache(maxsize=2)(_normalised_context.__wrapped__)


def find_quote(quote: str, context: str, effort: Effort | None = None) -> tuple[Span, ...]:
    """Find the spans of a context that a quote claims to be copied from: none in what states nothing (comments, struck text).

    Tried in order: the exact text; the normalised text (`normalise`); the normalised text of what a reader sees of
    both (`see`); the best alignment of at least `FUZZY_BAR` of the quote, for quotes of `FUZZY_MIN_CHARACTERS` or more
    and only where every number of the quote stands in the span. A quote with an ellipsis is looked for as it stands;
    else it is there when all its parts are, in order. A number is found only as a whole: 19 is not found in 1932, 3
    not in 3.5.

    Args:
        quote: What the judge says it copied. Untrusted.
        context: The retrieved text.
        effort: Bounds the work; None: as much as for one reply.

    Returns:
        One span a part, in order; empty when the quote is not there or says too little to be evidence (fewer
        than three letters or digits, unless it is a number or written without spaces).

    Raises:
        EffortExceededError: Finding it takes more work than is left.
    """
    effort = effort or Effort()
    effort.spend(1000 + 50 * len(quote))
    pieces = [piece.strip() for piece in _ELLIPSIS.split(quote) if has_content(piece)]
    if not pieces or (len(pieces) == 1 and not _says_enough(pieces[0])):
        return ()
    search = _Search(context, effort.see(context), effort)
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
    # Between which pieces the context has words that the quote leaves out. A short piece beside such a gap proves nothing.
    gaps = [has_content(context[before.end : after.start]) for before, after in pairwise(spans)]
    for index, piece in enumerate(pieces):
        is_beside_gap = any(gaps[max(index - 1, 0) : index + 1])
        if is_beside_gap and not _says_enough(piece):
            return ()
    return tuple(spans)


def _says_enough(piece: str) -> bool:
    """Whether a piece of a quote has three letters, or one digit or letter of a script without spaces."""
    characters = [character for character in piece if character.isalnum()]
    if len(characters) >= _MIN_LETTERS:
        return True
    return any(character.isdigit() or character >= _FIRST_WITHOUT_SPACES for character in characters)


@dataclass(slots=True)
class _Search:
    """Looks for the pieces of one quote in a context.

    Attributes:
        context: The context.
        view: What is seen of the context.
        effort: Bounds the work.
    """

    context: str
    view: VisibleText
    effort: Effort

    def find_literally(self, piece: str, position: int) -> Span | None:
        """Find a piece behind a place: to the letter, normalised, or in what is seen."""
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
        """Find what is nearly a piece behind a place: in what is seen, else in the context."""
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
        """Find the normal form of a piece in that of a text; or what is nearly it."""
        self.effort.spend(_STEPS_A_CHARACTER * len(piece))
        needle = normalise(piece).strip("\"'")
        self.effort.spend(_STEPS_A_PIECE * len(needle))
        if not needle:
            return None
        # The position in the text of each character of its normal form.
        haystack, origin = self.effort.normalise(text)
        first = bisect_left(origin, position) if position else 0
        if nearly:
            aligned = None
            if len(text) <= FUZZY_MAX_CONTEXT:
                aligned = _align(needle, haystack[first:], self.effort)
            if aligned is None:
                return None
            start = aligned.start + first
            end = aligned.end + first
        else:
            start = _find(needle, haystack, first, self.effort)
            if start < 0:
                return None
            end = start + len(needle)
        source_start = origin[start]
        source_end = origin[end - 1] + 1
        # The combining marks of the last character belong to it.
        while source_end < len(text) and unicodedata.combining(text[source_end]):
            source_end += 1
        # White space at both ends is dropped.
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
    """Whether a context holds a sentence as it is, or as it is seen, apart from its form (`normalise`) and its last full stop.

    Sentences of fewer than `FUZZY_MIN_CHARACTERS` are not looked for: they say too little.
    """
    view = see(context)
    if _holds(sentence, context):
        return True
    visible_sentence = see(sentence).text
    if view.is_plain and visible_sentence == sentence:
        return False
    return _holds(visible_sentence, view.text)


def _holds(sentence: str, context: str) -> bool:
    """Whether the normal form of a sentence stands in that of a context."""
    needle = _normalise_and_remember(sentence).rstrip(".!?。！？ ")
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= len(context) * 2:
        return False
    if context.isascii():
        haystack = _normalise_and_remember(context)
    else:
        haystack, _ = _normalised_context(context)
    if needle not in haystack:
        return False
    for match in re.finditer(re.escape(needle), haystack):
        if not any(is_inside_number_or_word(haystack, place) for place in match.span()):
            return True
    return False


def _find(needle: str, haystack: str, position: int, effort: Effort) -> int:
    """Find a text where it does not begin or end inside a number."""
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
    """Find the stretch of a text that is most like a quote; it must be nearly the quote and have its numbers."""
    if not FUZZY_MIN_CHARACTERS <= len(needle) <= min(FUZZY_MAX_QUOTE, 2 * len(haystack)):
        return None
    # Every window of the needle's length, also those that overlap an end, compared 64 characters at a time.
    windows = len(haystack) + 2 * len(needle)
    effort.spend(windows * (250 + len(needle) * -(-len(needle) // 64) // 2))
    from rapidfuzz import fuzz

    match = fuzz.partial_ratio_alignment(needle, haystack, score_cutoff=100 * FUZZY_BAR)
    if match is None or match.dest_end - match.dest_start < FUZZY_BAR * len(needle):
        return None
    span = _whole_words(haystack, Span(match.dest_start, match.dest_end))
    numbers = set(NUMBER.findall(haystack[span.start : span.end]))
    return span if numbers.issuperset(NUMBER.findall(needle)) else None


def _whole_words(text: str, span: Span) -> Span:
    """Widen a span that starts or ends inside a word; an alignment is as long as the quote, not as the words."""
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
