"""Finds the quotes of a reply in the contexts, and groups the quotes about a unit by context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from ctxmetrics.judges.evidence.quote_matches import QuoteMatch
from ctxmetrics.judges.evidence.quotes import QuotedUnit, covers, split_context
from ctxmetrics.judges.llm.entries import Quote
from ctxmetrics.judges.llm.splitting import RequestPart
from ctxmetrics.text.character_spans import Span
from ctxmetrics.text.quote_search import EffortExceededError
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# The maximum number of quotes about one unit that are looked for: three for each of the contexts of one request.
MOST_QUOTES = 200
# The number of characters of a long sentence that are read before and after a quote.
_CHARACTERS_AROUND_QUOTE = 500
# The maximum number of characters of one context that are read about one unit.
_MAX_CHARACTERS_READ = 8_000


class LocatedQuote(NamedTuple):
    """A quote that was found in a context.

    Attributes:
        span: The place of the quote.
        doubt: A code that says why the quote proves little, or None.
    """

    span: Evidence
    doubt: str | None = None


class LookedUpQuotes(NamedTuple):
    """The result of looking for the quotes of one entry.

    Attributes:
        found: The quotes that stand in a context.
        absent_count: The number of quotes that stand in no context.
        skipped_count: The number of quotes that were not looked for, because there are too many or the search would take too
            long.
    """

    found: list[LocatedQuote]
    absent_count: int
    skipped_count: int


@dataclass(slots=True)
class QuoteFinder:
    """Finds the quotes of one reply, and counts how many stand in the context that they name.

    Attributes:
        part: The units and contexts that the request shows.
        find: Finds a quote in a context (`match_quote`), and remembers the result.
        total: The number of quotes that were looked up.
        in_place: The number of these that stand in the context that they name.
    """

    part: RequestPart
    find: Callable[[str, str], QuoteMatch | None]
    total: int = 0
    in_place: int = 0
    _units: dict[str, QuotedUnit] = field(default_factory=dict)

    def read_unit(self, text: str) -> QuotedUnit:
        """Return a unit, or the answer, with which quotes are compared. It is read once for a reply."""
        unit = self._units.get(text)
        if unit is None:
            request = self.part.request
            contexts = self.part.contexts.values()
            question = request.user_input or ""
            unit = QuotedUnit(text, request.answer, contexts, request.language, question)
            self._units[text] = unit
        return unit

    def look_up(self, quotes: Iterable[Quote], *, elsewhere: bool) -> LookedUpQuotes:
        """Find each quote in the context that it names.

        Args:
            quotes: The quotes.
            elsewhere: Whether a quote that does not stand there may stand in exactly one other context.
        """
        distinct_quotes = list(dict.fromkeys(quotes))
        self.total += len(distinct_quotes)
        skipped_count = max(0, len(distinct_quotes) - MOST_QUOTES)
        absent_count = 0
        contexts = self.part.contexts
        located_quotes: list[LocatedQuote] = []
        for quote in distinct_quotes[:MOST_QUOTES]:
            context_id = quote.context
            doubt = None
            match = None
            try:
                if context_id in contexts:
                    match = self.find(quote.text, contexts[context_id])
                if match is not None:
                    self.in_place += 1
                elif elsewhere:
                    matches = self._find_in_other_contexts(quote)
                    if len(matches) == 1:
                        context_id, match = matches[0]
                        doubt = "another_context"
            except EffortExceededError:
                skipped_count += 1
                continue
            if match is None:
                absent_count += 1
                continue
            if match.is_broken and doubt is None:
                doubt = "broken_quote"
            context_index = int(context_id[1:]) - 1
            text = contexts[context_id][match.start : match.end]
            span = Evidence(context_index, match.start, match.end, text, quote.whole)
            located_quotes.append(LocatedQuote(span, doubt))
        return LookedUpQuotes(located_quotes, absent_count, skipped_count)

    def _find_in_other_contexts(self, quote: Quote) -> list[tuple[str, QuoteMatch]]:
        """Find a quote in the contexts that it does not name."""
        matches = []
        for context_id, context in self.part.contexts.items():
            if context_id == quote.context:
                continue
            match = self.find(quote.text, context)
            if match is not None:
                matches.append((context_id, match))
        return matches


@dataclass(slots=True)
class ContextQuotes:
    """The quotes from one context about a unit.

    Attributes:
        context: The visible text of the context.
        spans: The places of the quotes in the context.
        sentences: The sentences that hold the quotes; of a long sentence, the text near the quotes. If the whole context is
            quoted, the sentences closest to the unit.
        doubt: A code that says why the quotes prove little, or None.
        is_whole: Whether the quotes are nearly all of the context.
    """

    context: str
    spans: Sequence[Evidence]
    sentences: Sequence[str]
    doubt: str | None
    is_whole: bool


def group_by_context(
    unit: QuotedUnit, quotes: Iterable[LocatedQuote], request_part: RequestPart
) -> dict[int, ContextQuotes]:
    """Group the quotes about a unit by the index of their context."""
    quotes_by_index: dict[int, list[LocatedQuote]] = {}
    for quote in quotes:
        quotes_by_index.setdefault(quote.span.context, []).append(quote)
    groups = {}
    for index, quotes_in_context in quotes_by_index.items():
        context = request_part.contexts[f"c{index + 1}"]
        spans = [quote.span for quote in quotes_in_context]
        sentences = _read_quoted_sentences(context, spans)
        is_whole = covers(context, spans)
        if is_whole:
            sentences = unit.find_closest(sentences)
        doubt = unit.find_doubt(context, spans)
        if doubt is None:
            doubt = next((quote.doubt for quote in quotes_in_context if quote.doubt), None)
        groups[index] = ContextQuotes(see(context).text, spans, sentences, doubt, is_whole)
    return groups


def _read_quoted_sentences(context: str, spans: Sequence[Evidence]) -> Sequence[str]:
    """Return the sentences of a context that hold quotes; of a long sentence, the text near the quotes."""
    view = see(context)
    sentences: list[str] = []
    characters_read = 0
    for sentence_start, sentence_end in split_context(context):
        if characters_read >= _MAX_CHARACTERS_READ:
            break
        quotes_inside = [
            span for span in spans if span.start < sentence_end and sentence_start < span.end
        ]
        if not quotes_inside:
            continue
        quotes_start = min(span.start for span in quotes_inside)
        quotes_end = max(span.end for span in quotes_inside)
        start = max(sentence_start, quotes_start - _CHARACTERS_AROUND_QUOTE)
        end = min(sentence_end, quotes_end + _CHARACTERS_AROUND_QUOTE)
        sentences.append(view.cut(Span(start, end)))
        characters_read += end - start
    return sentences


def build_evidence(
    quotes: Iterable[LocatedQuote], whole_contexts: Collection[int]
) -> tuple[Evidence, ...]:
    """Build the evidence of a verdict.

    Args:
        quotes: The quotes.
        whole_contexts: The indexes of the contexts that state the unit alone.
    """
    spans = set()
    for quote in quotes:
        is_whole = quote.span.context in whole_contexts
        has_right_mark = quote.span.whole is is_whole
        spans.add(quote.span if has_right_mark else replace(quote.span, whole=is_whole))
    return tuple(sorted(spans, key=attrgetter("context", "start", "end")))
