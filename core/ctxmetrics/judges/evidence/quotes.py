"""What a quote proves about a unit: a quote that stands in its context may still say nothing about it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TypeAlias

from ctxmetrics.judges.evidence.contradiction import Contradiction, contradiction
from ctxmetrics.judges.evidence.words import LISTS, base_language, keys, listed, tokens
from ctxmetrics.text import Effort, Span, find_quote, has_content, sentence_spans
from ctxmetrics.verdicts import Evidence

# The sentences that hold the quotes deny the unit.
DENIED = "denied"
# Why evidence may prove little: what `Unit.doubt` says; the quote names another context; its ellipsis hides a denial; what
# `Unit.shares_little` and `Unit.denial` say.
DOUBTS = frozenset(
    {
        "fragment",
        "whole_context",
        "unrelated",
        "heading",
        "another_context",
        "broken_quote",
        "few_words",
    }
) | {DENIED}
# Characters of a span, and of a unit, that are searched for telling words.
_LONGEST_COMPARED = 1_000
_SHORTEST_WORD = 3
# Telling words of a unit of which more than one must stand in its evidence; measured by `benchmarks/validity/doubts.py`.
_MANY_WORDS = 8
# The share of a context that is nearly all of it, and the sentences up to which a context may be quoted whole.
_NEARLY_ALL, _FEW_SENTENCES = 0.9, 3
# The most words of a line that may be a heading.
_LONGEST_HEADING = 8
_SENTENCE_END = tuple(".!?;…。！？।")
_ENDED = re.compile(r"[.!?;。！？।](?=\s|$)")
_AROUND_HEADING = "#*=-_:| \t"
# A line of a table or list: a number, or a name and a value.
_DATA_LINE = re.compile(r"\d|:")
_PLAIN_WORD = re.compile(r"[a-z]{4,}")
# Letters and digits of scripts with spaces; from Thai on there are none.
_LETTER = r"[^\W_\u0e00-\U0010ffff]"
_TWO_LETTERS, _FIRST_LETTERS = re.compile(_LETTER * 2), re.compile(rf"\A{_LETTER}+")
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})


@dataclass(frozen=True)
class Unit:
    """A unit of the reference, or the whole answer, with which quotes are compared.

    Attributes:
        text: Its text.
        answer: The whole answer.
        contexts: The contexts that were shown.
        language: ISO 639 code of the answer; it chooses the stop words.
    """

    text: str
    answer: str
    contexts: Collection[str]
    language: str

    def doubt(self, context: str, spans: Sequence[Evidence]) -> str | None:
        """Return why quotes from one context prove little about the unit, or None.

        ``fragment``: stop words, or a part of a word. ``whole_context``: nearly all of a context of more than three
        sentences. ``unrelated``: no telling word of the unit, although both are written in one script, or the quote's
        script is that of the whole answer, or the unit's is that of most contexts. ``heading``: a line of up to eight words that is no sentence and does not hold all telling words of the unit.
        """
        covered = sum(end - start for start, end in {(span.start, span.end) for span in spans})
        if covered >= _NEARLY_ALL * len(context) and len(split_context(context)) > _FEW_SENTENCES:
            return "whole_context"
        plain = {*_PLAIN_WORD.findall(self.text[:_LONGEST_COMPARED].casefold())}
        plain -= listed("stop", self.language)
        pieces: list[str] = []
        headings, usual = 0, False
        for span in spans:
            # The quote without the parts of words at its ends.
            piece = context[span.start : span.end]
            if _TWO_LETTERS.fullmatch(context, max(span.start - 1, 0), span.start + 1):
                piece = _FIRST_LETTERS.sub("", piece)
            if _TWO_LETTERS.fullmatch(context, span.end - 1, span.end + 1):
                piece = _FIRST_LETTERS.sub("", piece[::-1])[::-1]
            pieces.append(piece)
            # The quote is a line of a few words that does not end as a sentence does, and more text
            # follows.
            begin, end = context.rfind("\n", 0, span.start) + 1, context.find("\n", span.end)
            line = context[begin:end].strip(_AROUND_HEADING)
            headings += (
                end >= 0
                and "\n" not in span.quote
                and has_content(context[end:])
                and len(line.split()) <= _LONGEST_HEADING
                and not line.endswith(_SENTENCE_END)
                and not _DATA_LINE.search(line)
                and span.quote.strip(_AROUND_HEADING) in line
            )
            usual |= not plain.isdisjoint(_PLAIN_WORD.findall(piece[:_LONGEST_COMPARED].casefold()))
        if usual and not headings:
            return None  # the usual case: a word in common that needs no analysis
        telling, quoted = self._telling_words(self.text), set().union(*map(self._telling_words, pieces))
        if not quoted:
            return "fragment"
        if not telling & quoted and self._comparable(" ".join(pieces)):
            return "unrelated"
        return "heading" if headings == len(spans) and not telling <= quoted else None

    def denial(self, sentences: Sequence[str]) -> Contradiction | None:
        """Return how the sentences that hold the quotes deny the unit, or None.

        Numbers are not looked at: in what people chose for true claims another number stands as often as for false ones.
        """
        denying, texts = listed("negations", self.language), (self.text, *sentences)
        if not any(word.folded in denying for text in texts for word in tokens(text)):
            return None  # the usual case
        if [*sentences] == [self.text]:
            return None
        match = contradiction(self.text, sentences, self.language)
        return match if match and match.kind == "negation" else None

    def shares_little(self, sentences: Sequence[str]) -> bool:
        """Whether the sentences that hold the quotes share one word with a unit that has many.

        One telling word at most, of eight or more; only where both are written in one script and language.
        """
        telling = self._telling_words(self.text)
        if len(telling) < _MANY_WORDS:
            return False
        held = telling & frozenset[str]().union(*map(self._telling_words, sentences))
        text = " ".join(sentences)
        if len(held) > 1 or not self._comparable(text):
            return False
        return _tongue(text, self.language) == _tongue(self.answer, self.language)

    def _comparable(self, text: str) -> bool:
        """Whether a quote should share words with the unit: it need not across scripts."""
        if _script(text) in {self._script, _script(self.answer)}:
            return True
        alike = sum(_script(context) == self._script for context in self.contexts)
        return 2 * alike > len(self.contexts)

    @cached_property
    def _script(self) -> str | None:
        return _script(self.text)

    def _telling_words(self, text: str) -> frozenset[str]:
        """Return the keys of the words that say something: numbers, words of three letters, pairs of characters."""
        return frozenset(
            word.key
            for word in tokens(text[:_LONGEST_COMPARED])
            if word.kind in {"number", "characters"}
            or (
                word.kind == "word"
                and len(word.folded) >= _SHORTEST_WORD
                and word.folded not in listed("stop", self.language)
            )
        )


split_context: Callable[[str], tuple[Span, ...]] = lru_cache(maxsize=64)(sentence_spans)


# The first and last character of a quote in a context, and whether its ellipsis hides what matters.
Place: TypeAlias = tuple[int, int, bool]


def find_place(effort: Effort, language: str, quote: str, context: str) -> Place | None:
    """Find a quote in a context.

    An ellipsis hides what matters where it hides a word that denies, or the end of a sentence. None where the quote is not there, or does not deny as often as
    the text that was found for it: an alignment may pass over a "not".

    Raises:
        EffortExceededError: Finding it takes more work than is left.
    """
    pieces = find_quote(quote, context, effort)
    if not pieces:
        return None
    start, end = pieces[0].start, pieces[-1].end
    for before, after in pairwise(pieces):
        gap = context[before.end : after.start]
        if _ENDED.search(gap) or _denials(gap, language) or _denied(gap, language):
            return start, end, True
    text = context[start:end]
    if quote == text or _denials(quote, language) == _denials(text, language):
        return start, end, False
    return None


def _denials(text: str, language: str) -> Counter[str]:
    denying = listed("negations", language) | listed("negations", "en")
    return Counter(word.folded for word in tokens(text) if word.folded in denying)


def _denied(text: str, language: str) -> bool:
    denying = keys("denials", language) | keys("denials", "en")
    return any(word.key in denying for word in tokens(text))


def _script(text: str) -> str | None:
    """Return the script of most letters of a text; None where it has no letter."""
    counts = Counter(_script_of(letter) for letter in text[:200] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    name = unicodedata.name(letter, "?").partition(" ")[0]
    return "CJK" if name in _EAST_ASIAN else name


def _tongue(text: str, language: str) -> str:
    """Return the language whose stop words stand most often in a text; the one that is given where none has more."""
    words = [word.folded for word in tokens(text[:_LONGEST_COMPARED])]
    best, most = base_language(language), -1
    for other in (best, *LISTS["stop"]):
        stop = listed("stop", other) if other in LISTS["stop"] else frozenset()
        count = sum(word in stop for word in words)
        if count > most:
            best, most = other, count
    return best
