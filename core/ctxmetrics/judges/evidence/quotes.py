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
# `Unit.shares_little` and its like, and `Unit.denial` say.
_DOUBTS_OF_QUOTES = frozenset({"fragment", "whole_context", "unrelated", "heading"})
DOUBTS = _DOUBTS_OF_QUOTES | {"another_context", "broken_quote", "few_words", DENIED}
# Characters of a span, and of a unit or a context, that are searched for telling words.
_LONGEST_COMPARED, _LONGEST_READ = 1_000, 10_000
_SHORTEST_WORD = 3
# Measured by `benchmarks/validity/doubts.py`: the telling words of a unit of which more than one must stand in the sentences
# that hold its quotes, and in the contexts that hold them; the share of them that a context quoted as a whole must hold.
_MANY_WORDS, _SEVERAL_WORDS, _LEAST_SHARE = 8, 6, 0.25
# The fewest contexts that have a topic, the shares of them that hold its words, and the other telling words of a unit of which
# one must stand in its evidence.
_FEW_CONTEXTS, _IN_ALL, _IN_MOST, _OTHER_WORDS = 3, 1.0, 0.7, 3
# The share of a context that is nearly all of it, and the sentences up to which a context may be quoted whole.
_NEARLY_ALL, _FEW_SENTENCES = 0.9, 3
# The most words of a line that may be a heading.
_LONGEST_HEADING = 8
_SENTENCE_END = tuple(".!?;…。！？।")
_ENDED = re.compile(r"[.!?;。！？।](?=\s|$)")
_AROUND_HEADING = "#*=-_:| \t"
# A line of a table or list: a number, or a name and a value.
_DATA_LINE = re.compile(r"\d|:")
_YEAR = re.compile(r"(?<![\w.,])(?:1[5-9]|20)\d\d(?![^\W_]|[.,]\d)")
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
        if covers(context, spans) and len(split_context(context)) > _FEW_SENTENCES:
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
        telling, quoted = self._words, set[str]()
        for piece in pieces:
            quoted |= _read_telling_words(piece[:_LONGEST_COMPARED], self.language)
        if not quoted:
            return "fragment"
        if not telling & quoted and self._comparable(" ".join(pieces)):
            return "unrelated"
        return "heading" if headings == len(spans) and not telling <= quoted else None

    def denial(self, sentences: Sequence[str], contexts: Sequence[str]) -> Contradiction | None:
        """Return how the sentences that hold the quotes deny the unit, or None.

        They have years and none of the unit's, of which no context has one; or one side has a negation. Other numbers are not
        looked at: in what people chose for true claims they stand as often as for false ones.

        Args:
            sentences: The sentences.
            contexts: All contexts of the request.
        """
        own, others = set(_YEAR.findall(self.text)), set(_YEAR.findall(" ".join(sentences)))
        if others and own.isdisjoint(others):
            for year in sorted(own):
                if not any(year in context for context in contexts):
                    return Contradiction("number", year, min(others))
        denying, texts = listed("negations", self.language), (self.text, *sentences)
        if not any(word.folded in denying for text in texts for word in tokens(text)):
            return None  # the usual case
        if [*sentences] == [self.text]:
            return None
        match = contradiction(self.text, sentences, self.language)
        return match if match and match.kind == "negation" else None

    def shares_little(
        self, sentences: Sequence[str], contexts: Sequence[str], *, common: bool = False
    ) -> bool:
        """Whether quotes share one telling word at most with a unit that has many, or only the words of the topic.

        One of eight or more words in the sentences that hold the quotes, or one of six or more in the contexts that hold
        them. Only where both are written in one script and language.

        Args:
            sentences: The sentences that hold the quotes.
            contexts: The contexts that hold them; none if the sentences are enough.
            common: The topic's words are those that most contexts have, and one word beside those of all contexts is not
                enough.
        """
        if self._shares_plain_words(sentences, 2 if common else 1):
            return False
        total, shared = len(self._words), self._shared(sentences)
        few = total >= _SEVERAL_WORDS and len(shared) <= 1
        if few and total < _MANY_WORDS:
            few = len(self._shared(contexts)) <= 1
        if shared and not few:
            topic = self._find_topic(_IN_MOST if common else _IN_ALL)
            few = shared <= topic and total - len(topic) >= _OTHER_WORDS
        if common and not few:
            topic = self._find_topic(_IN_ALL)
            few = len(topic) > 0 and len(shared - topic) <= 1 and total - len(topic) >= _OTHER_WORDS
        return few and self._same_language(sentences)

    def shares_little_as_whole(self, context: str) -> bool:
        """Whether a context of several sentences, quoted as a whole, shares a quarter of the unit's words at most."""
        total = len(self._words)
        little = total >= _SEVERAL_WORDS and len(self._shared([context])) <= _LEAST_SHARE * total
        return little and len(split_context(context)) > 1 and self._same_language([context])

    def find_closest(self, sentences: Sequence[str]) -> Sequence[str]:
        """Return the three sentences that share most words with the unit, the closest first."""
        ranked = sorted(sentences, key=lambda text: len(self._shared([text])), reverse=True)
        return ranked[:_FEW_SENTENCES]

    def _shares_plain_words(self, sentences: Sequence[str], least: int) -> bool:
        """Whether sentences share several words with the unit, some of them not the topic: the usual case, seen at once."""
        text = " ".join(sentences)[:_LONGEST_COMPARED].casefold()
        plain = frozenset(_PLAIN_WORD.findall(self.text[:_LONGEST_COMPARED].casefold()))
        common = plain.intersection(_PLAIN_WORD.findall(text)) - listed("stop", self.language)
        contexts = [context.casefold() for context in self.contexts]
        most = _IN_MOST * len(contexts)
        rare = [word for word in common if sum(word in context for context in contexts) < most]
        return len(common) > 1 and len(rare) >= least

    def _shared(self, texts: Sequence[str]) -> frozenset[str]:
        """Return the telling words of the unit that stand in texts; all of them where a text is too long to read."""
        if any(len(text) > _LONGEST_READ for text in texts):
            return self._words
        keys = frozenset[str]()
        for text in texts:
            keys |= _read_telling_words(text, self.language)
        return self._words & keys

    def _find_topic(self, share: float) -> frozenset[str]:
        """Return the telling words of the unit that such a share of the contexts hold."""
        counts = Counter(word for context in self.contexts for word in self._shared([context]))
        least = max(_FEW_CONTEXTS, share * len(self.contexts))
        return frozenset(word for word, count in counts.items() if count >= least)

    def _same_language(self, texts: Sequence[str]) -> bool:
        """Whether texts are written in the script and the language of the answer, so that words can be shared."""
        text = " ".join(texts)
        tongue = _tongue(self.answer, self.language)
        return self._comparable(text) and _tongue(text, self.language) == tongue

    def _comparable(self, text: str) -> bool:
        """Whether a quote should share words with the unit: it need not across scripts."""
        if _script(text) in {self._script, _script(self.answer)}:
            return True
        alike = sum(_script(context) == self._script for context in self.contexts)
        return 2 * alike > len(self.contexts)

    @cached_property
    def _script(self) -> str | None:
        return _script(self.text)

    @cached_property
    def _words(self) -> frozenset[str]:
        """The telling words of the unit."""
        return _read_telling_words(self.text[:_LONGEST_READ], self.language)


@lru_cache(maxsize=512)
def _read_telling_words(text: str, language: str) -> frozenset[str]:
    """Return the keys of the words that say something: numbers, words of three letters, pairs of characters."""
    stop = listed("stop", language)
    keys = set()
    for word in tokens(text):
        long = word.kind == "word" and len(word.folded) >= _SHORTEST_WORD
        if word.kind in {"number", "characters"} or (long and word.folded not in stop):
            keys.add(word.key)
    return frozenset(keys)


def covers(context: str, spans: Sequence[Evidence]) -> bool:
    """Whether quotes are nearly all of a context."""
    covered = sum(end - start for start, end in {(span.start, span.end) for span in spans})
    return covered >= _NEARLY_ALL * len(context)


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

    def count_stop_words(tongue: str) -> int:
        stop = listed("stop", tongue) if tongue in LISTS["stop"] else frozenset()
        return sum(word in stop for word in words)

    languages: list[str] = [base_language(language), *LISTS["stop"]]
    return max(languages, key=count_stop_words)  # the first of equals
