"""What a quote proves about a unit: a quote that stands in its context may still say nothing about it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.judges.evidence.contradiction import (
    Contradiction,
    find_contradiction,
    find_other_name,
    find_other_value,
)
from ctxmetrics.judges.evidence.gaps import hides_statement
from ctxmetrics.judges.evidence.quote_marks import take_off_marks
from ctxmetrics.judges.evidence.replaced_words import find_replaced_word
from ctxmetrics.judges.evidence.reservations import find_reservation
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_stem_keys, get_word_list, list_keys, tokenize
from ctxmetrics.text.character_spans import Span, has_content
from ctxmetrics.text.list_marks import skip_list_marks
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.quote_search import Effort, find_quote, stands_in
from ctxmetrics.text.sentences import sentence_spans
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# The sentences that hold the quotes deny the unit.
DENIED = "denied"
# Why evidence may prove little: what `QuotedUnit.doubt` says; the quote names another context; its ellipsis hides a denial;
# what `QuotedUnit.shares_little` and its like, and `QuotedUnit.denial` say.
_DOUBTS_OF_QUOTES = frozenset({"fragment", "whole_context", "unrelated", "heading"})
DOUBTS = _DOUBTS_OF_QUOTES | {"another_context", "broken_quote", "few_words", DENIED}
# Characters of a span, and of a unit or a context, that are searched for telling words.
_LONGEST_COMPARED = 1_000
_LONGEST_READ = 10_000
_SHORTEST_WORD = 3
# Measured by `benchmarks/validity/doubts.py`: the telling words of a unit of which more than one must stand in the sentences
# that hold its quotes, and in the contexts that hold them; the share of them that a context quoted as a whole must hold.
_MANY_WORDS = 8
_SEVERAL_WORDS = 6
_LEAST_SHARE = 0.25
# The fewest contexts that have a topic, the shares of them that hold its words, and the other telling words of a unit of which
# one must stand in its evidence.
_FEW_CONTEXTS = 3
_IN_ALL = 1.0
_IN_MOST = 0.7
_OTHER_WORDS = 3
# The same of which more than one must stand there.
_MANY_OTHER_WORDS = 4
# Words that stand one after the other in a unit and in its evidence.
_PHRASE = 3
# The share of a context that is nearly all of it, and the sentences up to which a context may be quoted whole.
_NEARLY_ALL = 0.9
_FEW_SENTENCES = 3
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
_TWO_LETTERS = re.compile(_LETTER * 2)
_FIRST_LETTERS = re.compile(rf"\A{_LETTER}+")
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})


@dataclass(frozen=True)
class QuotedUnit:
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

    def __post_init__(self) -> None:
        """Keep what a reader sees of the texts."""
        object.__setattr__(self, "text", see(self.text).text)
        object.__setattr__(self, "answer", see(self.answer).text)
        object.__setattr__(self, "contexts", tuple(see(context).text for context in self.contexts))

    def doubt(self, context: str, spans: Sequence[Evidence]) -> str | None:
        """Return why quotes from one context prove little about the unit, or None.

        ``fragment``: stop words, or a part of a word. ``whole_context``: nearly all of a context of more than three
        sentences. ``unrelated``: no telling word of the unit, although both are written in one script, or the quote's
        script is that of the whole answer, or the unit's is that of most contexts. ``heading``: a line of up to eight words that is no sentence and does not hold all telling words of the unit.
        """
        if covers(context, spans) and len(split_context(context)) > _FEW_SENTENCES:
            return "whole_context"
        context, spans = see_spans(context, spans)
        plain = {*_PLAIN_WORD.findall(self.text[:_LONGEST_COMPARED].casefold())}
        plain -= get_word_list("stop", self.language)
        quoted_texts: list[str] = []
        headings = [span for span in spans if _is_heading(span, context)]
        shares_word = False
        for span in spans:
            # The quote without the parts of words at its ends.
            quoted_text = context[span.start : span.end]
            if _TWO_LETTERS.fullmatch(context, max(span.start - 1, 0), span.start + 1):
                quoted_text = _FIRST_LETTERS.sub("", quoted_text)
            if _TWO_LETTERS.fullmatch(context, span.end - 1, span.end + 1):
                quoted_text = _FIRST_LETTERS.sub("", quoted_text[::-1])[::-1]
            quoted_texts.append(quoted_text)
            if not plain.isdisjoint(_PLAIN_WORD.findall(quoted_text[:_LONGEST_COMPARED].casefold())):
                shares_word = True
        if shares_word and not headings:
            return None  # the usual case: a word in common that needs no analysis
        telling = self._words
        quoted = set[str]()
        for quoted_text in quoted_texts:
            quoted |= read_telling_words(quoted_text[:_LONGEST_COMPARED], self.language)
        if not quoted:
            return "fragment"
        if not telling & quoted and self._comparable(" ".join(quoted_texts)):
            return "unrelated"
        return "heading" if len(headings) == len(spans) and not telling <= quoted else None

    def denial(
        self, sentences: Sequence[str], contexts: Sequence[str], *, facts_only: bool = False
    ) -> Contradiction | None:
        """Return how the sentences that hold the quotes deny the unit, or None.

        They have another year; they have another value of what a quantity of the unit measures, and not the unit's; they name
        X210 for X200, or have another name or number between the same words (`find_replaced_word`); one side has a negation;
        or they take back what they say (`find_reservation`). Other plain numbers are not looked at: in what people chose for
        true claims they stand as often as for false ones.

        Args:
            sentences: The sentences.
            contexts: All contexts of the request.
            facts_only: Look only for another year, value or name.
        """
        other = (
            self.other_year(sentences, contexts)
            or find_other_value(self.text, sentences, self.language)
            or find_other_name(self.text, sentences)
            or find_replaced_word(self.text, sentences, self.contexts, self.language)
        )
        if other is not None or facts_only:
            return other
        if len(sentences) == 1 and _has_same_words(sentences[0], self.text):
            return None
        denying = get_word_list("negations", self.language)
        texts = (self.text, *sentences)
        if any(word.folded in denying for text in texts for word in tokenize(text)):
            match = find_contradiction(self.text, sentences, self.language)
            if match and match.kind == "negation":
                return match
        return find_reservation(self.text, sentences, self.language)

    def other_year(self, sentences: Sequence[str], contexts: Sequence[str]) -> Contradiction | None:
        """Return the year that sentences have and the one of the unit, if they have none of its years and no context has it."""
        years: list[set[str]] = []
        for text in (self.text, " ".join(sentences)):
            dates = [word for word in tokenize(text) if word.measures == "date"]
            parts = [part for date in dates for part in date.parts if _YEAR.fullmatch(part)]
            years.append({*_YEAR.findall(text), *parts})
            if not years[-1]:
                return None
        years_of_unit, quoted_years = years
        if not years_of_unit.isdisjoint(quoted_years):
            return None
        for year in sorted(years_of_unit):
            if not any(year in context for context in contexts):
                return Contradiction("number", year, min(quoted_years))
        return None

    def shares_little(
        self, sentences: Sequence[str], contexts: Sequence[str], *, common: bool = False
    ) -> bool:
        """Whether quotes share one telling word at most with a unit that has many, or hardly more than the words of the topic.

        One of eight or more words in the sentences that hold the quotes, or one of six or more in the contexts that hold
        them. Words of the topic are those of all contexts: beside them, no word of three, or one word of four. Only where both
        are written in one script and language.

        Args:
            sentences: The sentences that hold the quotes.
            contexts: The contexts that hold them; none if the sentences are enough.
            common: The topic's words are also those that most contexts have, and beside the words of all contexts one word
                of three is not enough.
        """
        if self._shares_plain_words(sentences) or self._shares_phrase(sentences):
            return False
        total = len(self._words)
        shared = self._shared(sentences)
        few = total >= _SEVERAL_WORDS and len(shared) <= 1
        if few and total < _MANY_WORDS:
            few = len(self._shared(contexts)) <= 1
        if shared and not few:
            topic = self._find_topic(_IN_MOST if common else _IN_ALL)
            few = shared <= topic and total - len(topic) >= _OTHER_WORDS
        if not few:
            topic = self._find_topic(_IN_ALL)
            least = _OTHER_WORDS if common else _MANY_OTHER_WORDS
            few = len(topic) > 0 and len(shared - topic) <= 1 and total - len(topic) >= least
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

    def _shares_plain_words(self, sentences: Sequence[str]) -> bool:
        """Whether sentences share two words with the unit that are not the topic: the usual case, seen at once."""
        text = " ".join(sentences)[:_LONGEST_COMPARED].casefold()
        plain = frozenset(_PLAIN_WORD.findall(self.text[:_LONGEST_COMPARED].casefold()))
        common = plain.intersection(_PLAIN_WORD.findall(text)) - get_word_list("stop", self.language)
        contexts = [context.casefold() for context in self.contexts]
        most = _IN_MOST * len(contexts)
        rare = [word for word in common if sum(word in context for context in contexts) < most]
        return len(rare) > 1

    def _shares_phrase(self, sentences: Sequence[str]) -> bool:
        """Whether a sentence has words of the unit one after the other, one of them telling: "to go out and murder".

        Words that stand so in most contexts name the topic.
        """
        own = _phrases(self.text[:_LONGEST_COMPARED])
        stop = get_word_list("stop", self.language)
        shared = {
            phrase
            for text in sentences
            for phrase in own & _phrases(text[:_LONGEST_COMPARED])
            if not stop.issuperset(phrase)
        }
        if not shared:
            return False
        contexts = [_phrases(text[:_LONGEST_COMPARED]) for text in self.contexts]
        most = max(_FEW_CONTEXTS, _IN_MOST * len(contexts))
        return any(sum(phrase in context for context in contexts) < most for phrase in shared)

    def _shared(self, texts: Sequence[str]) -> frozenset[str]:
        """Return the telling words of the unit that stand in texts; all of them where a text is too long to read."""
        if any(len(text) > _LONGEST_READ for text in texts):
            return self._words
        stem_keys = frozenset[str]()
        for text in texts:
            stem_keys |= read_telling_words(text, self.language)
        return self._words & stem_keys

    def _find_topic(self, share: float) -> frozenset[str]:
        """Return the telling words of the unit that such a share of the contexts hold."""
        counts = Counter(word for context in self.contexts for word in self._shared([context]))
        least = max(_FEW_CONTEXTS, share * len(self.contexts))
        return frozenset(word for word, count in counts.items() if count >= least)

    def _same_language(self, texts: Sequence[str]) -> bool:
        """Whether texts are written in the script and the language of the answer, so that words can be shared."""
        text = " ".join(texts)
        tongue = _guess_language(self.answer, self.language)
        return self._comparable(text) and _guess_language(text, self.language) == tongue

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
        return read_telling_words(self.text[:_LONGEST_READ], self.language, with_parts=False)


@lru_cache(maxsize=512)
def read_telling_words(text: str, language: str, *, with_parts: bool = True) -> frozenset[str]:
    """Return the keys of the words that say something: numbers, words of three letters, pairs of characters.

    Args:
        text: The text.
        language: ISO 639 code; it chooses the stop words.
        with_parts: Whether the parts of quantities are among them: of 12 May 2024 also 2024.
    """
    stop = get_word_list("stop", language)
    stem_keys = set()
    for word in tokenize(text):
        long = word.kind == "word" and len(word.folded) >= _SHORTEST_WORD
        if word.kind in {"number", "characters"} or (long and word.folded not in stop):
            stem_keys.update(list_keys([word]) if with_parts else [word.key])
    return frozenset(stem_keys)


@lru_cache(maxsize=512)
def _phrases(text: str) -> frozenset[tuple[str, ...]]:
    """Return the runs of words of a text."""
    words: list[str] = []
    for word in tokenize(text):
        if word.folded == "nt" and words:  # "are n't", as some texts are cut into words
            words[-1] += word.folded
        else:
            words.append(word.folded)
    return frozenset(zip(*(words[start:] for start in range(_PHRASE)), strict=False))


def _is_heading(span: Evidence, context: str) -> bool:
    """Whether a quote is a line of a few words that does not end as a sentence does, and more text follows."""
    begin = context.rfind("\n", 0, span.start) + 1
    end = context.find("\n", span.end)
    line = context[begin:end].strip(_AROUND_HEADING)
    return (
        end >= 0
        and "\n" not in span.quote
        and has_content(context[end:])
        and len(line.split()) <= _LONGEST_HEADING
        and not line.endswith(_SENTENCE_END)
        and not _DATA_LINE.search(line)
        and span.quote.strip(_AROUND_HEADING) in line
    )


def covers(context: str, spans: Sequence[Evidence]) -> bool:
    """Whether quotes are nearly all of a context."""
    context, spans = see_spans(context, spans)
    covered = sum(end - start for start, end in {(span.start, span.end) for span in spans})
    return covered >= _NEARLY_ALL * len(context)


def see_spans(context: str, spans: Sequence[Evidence]) -> tuple[str, Sequence[Evidence]]:
    """Return what a reader sees of a context, and where the quotes stand in that."""
    view = see(context)
    if view.is_plain:
        return context, spans
    visible = []
    for span in spans:
        start, end = view.to_visible(span.start), view.to_visible(span.end)
        visible.append(replace(span, start=start, end=end, quote=view.text[start:end]))
    return view.text, visible


split_context: Callable[[str], tuple[Span, ...]] = lru_cache(maxsize=64)(sentence_spans)


def stands_as_sentence(text: str, context: str) -> bool:
    """Whether a context has a text's sentences as whole sentences of its own, one after the other.

    A sentence that stands inside another one may be denied there ("the claim that ..."), and a question states nothing.
    """
    if not stands_in(text, context):
        return False
    sentences = _list_sentences(text)
    context_sentences = _list_sentences(context)
    size = len(sentences)
    starts = range(len(context_sentences) - size + 1)
    return any(context_sentences[start : start + size] == sentences for start in starts)


@lru_cache(maxsize=128)
def _list_sentences(text: str) -> Sequence[str]:
    """List the sentences of a text in their normal form, without marks of lists and the last full stop."""
    view = see(text)
    sentences = []
    for span in split_context(text):
        sentence = view.cut(span)
        sentence = sentence[skip_list_marks(sentence, "en") :]
        sentences.append(normalise(sentence).strip().rstrip(".!。！ "))
    return sentences


class QuoteMatch(NamedTuple):
    """Where a quote stands in a context.

    Attributes:
        start: Its first character.
        end: One past its last character.
        is_broken: Whether an ellipsis in the quote hides what matters.
    """

    start: int
    end: int
    is_broken: bool


def match_quote(effort: Effort, language: str, quote: str, context: str) -> QuoteMatch | None:
    """Find a quote in a context.

    A quote that is not found is looked for again without the marks that models write around a quote
    (`take_off_marks`). An ellipsis hides what matters if it hides a word that denies, the end of a sentence, or what
    `hides_statement` says. None if the quote is not found, or if the quote and the text that was found for it do not
    have the same negations: an alignment may pass over a "not".

    Raises:
        EffortExceededError: Finding it takes more work than is left.
    """
    pieces = find_quote(quote, context, effort)
    bare = quote if pieces else take_off_marks(quote)
    if bare != quote:
        quote = bare
        pieces = find_quote(quote, context, effort)
    if not pieces:
        return None
    start, end = pieces[0].start, pieces[-1].end
    view = see(context)
    for before, after in pairwise(pieces):
        gap = view.cut(Span(before.end, after.start))
        if not has_content(gap):
            continue  # the dots are the text's own
        if (
            _ENDED.search(gap)
            or _count_negations(gap, language)
            or _has_denial(gap, language)
            or _ends_sentence(context, before.end, after.start)
            or hides_statement(view.cut(before), gap, view.cut(after), language)
        ):
            return QuoteMatch(start, end, is_broken=True)
    text = view.cut(Span(start, end))
    if quote != text:
        quoted_negations = _count_negations(see(quote).text, language)
        if quoted_negations != _count_negations(text, language):
            return None
    return QuoteMatch(start, end, is_broken=False)


def _ends_sentence(context: str, start: int, end: int) -> bool:
    """Whether the sentence that reaches one position of a context ends before another position."""
    sentence_ends = [span.end for span in split_context(context)]
    index = bisect_left(sentence_ends, start)
    return index < len(sentence_ends) and sentence_ends[index] <= end


def _has_same_words(text: str, other: str) -> bool:
    """Whether two texts hold the same words in the same order: also where white space stands before the marks of one."""
    return text == other or [word.key for word in tokenize(text)] == [
        word.key for word in tokenize(other)
    ]


def _count_negations(text: str, language: str) -> Counter[str]:
    """Count each negation of a text, such as "not", in its language and in English."""
    negations = get_word_list("negations", language) | get_word_list("negations", "en")
    return Counter(word.folded for word in tokenize(text) if word.folded in negations)


def _has_denial(text: str, language: str) -> bool:
    """Whether a text has a word that may deny, such as "refused", in its language or in English."""
    denials = get_stem_keys("denials", language) | get_stem_keys("denials", "en")
    return any(word.key in denials for word in tokenize(text))


def share_script(text: str, other: str) -> bool:
    """Whether two texts are written in one script, or the first one has no letter."""
    return _script(text) in (None, _script(other))


def _script(text: str) -> str | None:
    """Return the script of most letters of a text; None where it has no letter."""
    counts = Counter(_script_of(letter) for letter in text[:200] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


@lru_cache(maxsize=4096)
def _script_of(letter: str) -> str:
    name = unicodedata.name(letter, "?").partition(" ")[0]
    return "CJK" if name in _EAST_ASIAN else name


def _guess_language(text: str, language: str) -> str:
    """Return the language whose stop words are most frequent in a text; the given language if none has more."""
    words = [word.folded for word in tokenize(text[:_LONGEST_COMPARED])]

    def count_stop_words(candidate: str) -> int:
        if candidate not in LISTS["stop"]:
            return 0
        stop_words = get_word_list("stop", candidate)
        return len([word for word in words if word in stop_words])

    languages: list[str] = [base_language(language), *LISTS["stop"]]
    return max(languages, key=count_stop_words)  # the first of equals
