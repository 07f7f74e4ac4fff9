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
# Why evidence may prove little: what `QuotedUnit.find_doubt` says; the quote names another context; its ellipsis hides a denial;
# what `QuotedUnit.shares_little` and its like, and `QuotedUnit.find_denial` say.
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
_WORDS_OF_PHRASE = 3
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
_LAST_LETTERS = re.compile(rf"{_LETTER}+\Z")
# Characters of a text whose script is looked at.
_LONGEST_LOOKED_AT = 200
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
        object.__setattr__(self, "contexts", _see_all(tuple(self.contexts)))

    def find_doubt(self, context: str, spans: Sequence[Evidence]) -> str | None:
        """Return why quotes from one context prove little about the unit, or None.

        ``fragment``: stop words, or a part of a word. ``whole_context``: nearly all of a context of more than three
        sentences. ``unrelated``: no telling word of the unit, although both are written in one script, or the quote's
        script is that of the whole answer, or the unit's is that of most contexts. ``heading``: a line of up to eight words
        that is no sentence and does not hold all telling words of the unit.
        """
        if covers(context, spans) and len(split_context(context)) > _FEW_SENTENCES:
            return "whole_context"
        context, spans = see_spans(context, spans)
        quoted_texts: list[str] = []
        headings = [span for span in spans if _is_heading(span, context)]
        shares_word = False
        for span in spans:
            quoted_text = _drop_cut_words(context, span)[:_LONGEST_COMPARED]
            quoted_texts.append(quoted_text)
            if not self._plain_words.isdisjoint(_PLAIN_WORD.findall(quoted_text.casefold())):
                shares_word = True
        if shares_word and not headings:
            return None  # the usual case: a word in common that needs no analysis
        quoted_words = set[str]()
        for quoted_text in quoted_texts:
            quoted_words |= read_telling_words(quoted_text, self.language)
        if not quoted_words:
            return "fragment"
        shares_no_word = quoted_words.isdisjoint(self._telling_words)
        if shares_no_word and self._is_in_comparable_script(" ".join(quoted_texts)):
            return "unrelated"
        has_only_headings = len(headings) == len(spans)
        if has_only_headings and not quoted_words.issuperset(self._telling_words):
            return "heading"
        return None

    def find_denial(
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
        contradiction = (
            self.find_other_year(sentences, contexts)
            or find_other_value(self.text, sentences, self.language)
            or find_other_name(self.text, sentences)
            or find_replaced_word(self.text, sentences, self.contexts, self.language)
        )
        if contradiction is not None or facts_only:
            return contradiction
        if len(sentences) == 1 and _has_same_words(sentences[0], self.text):
            return None
        if any(_has_negation(text, self.language) for text in (self.text, *sentences)):
            contradiction = find_contradiction(self.text, sentences, self.language)
            if contradiction is not None and contradiction.kind == "negation":
                return contradiction
        return find_reservation(self.text, sentences, self.language)

    def find_other_year(
        self, sentences: Sequence[str], contexts: Sequence[str]
    ) -> Contradiction | None:
        """Return the year that sentences have and the one of the unit, if they have none of its years and no context has it."""
        years_of_unit = _list_years(self.text)
        if not years_of_unit:
            return None
        quoted_years = _list_years(" ".join(sentences))
        if not quoted_years or not years_of_unit.isdisjoint(quoted_years):
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
        total = len(self._telling_words)
        shared_words = self._list_shared_words(sentences)
        shares_few = total >= _SEVERAL_WORDS and len(shared_words) <= 1
        if shares_few and total < _MANY_WORDS:
            shares_few = len(self._list_shared_words(contexts)) <= 1
        if shared_words and not shares_few:
            topic_words = self._find_topic_words(_IN_MOST if common else _IN_ALL)
            other_words = total - len(topic_words)
            shares_few = shared_words <= topic_words and other_words >= _OTHER_WORDS
        if not shares_few:
            topic_words = self._find_topic_words(_IN_ALL)
            other_words = total - len(topic_words)
            least = _OTHER_WORDS if common else _MANY_OTHER_WORDS
            shares_one_other_word = len(shared_words - topic_words) <= 1
            shares_few = bool(topic_words) and shares_one_other_word and other_words >= least
        return shares_few and self._is_in_language_of_answer(sentences)

    def shares_little_as_whole(self, context: str) -> bool:
        """Whether a context of several sentences, quoted as a whole, shares a quarter of the unit's words at most."""
        total = len(self._telling_words)
        if total < _SEVERAL_WORDS or len(split_context(context)) == 1:
            return False
        shares_little = len(self._list_shared_words([context])) <= _LEAST_SHARE * total
        return shares_little and self._is_in_language_of_answer([context])

    def find_closest(self, sentences: Sequence[str]) -> Sequence[str]:
        """Return the three sentences that share most words with the unit, the closest first."""
        shared_counts = {sentence: len(self._list_shared_words([sentence])) for sentence in sentences}
        ranked = sorted(sentences, key=shared_counts.__getitem__, reverse=True)
        return ranked[:_FEW_SENTENCES]

    def _shares_plain_words(self, sentences: Sequence[str]) -> bool:
        """Whether sentences share two words with the unit that are not the topic: the usual case, seen at once."""
        text = " ".join(sentences)[:_LONGEST_COMPARED].casefold()
        shared_words = self._plain_words.intersection(_PLAIN_WORD.findall(text))
        contexts = [context.casefold() for context in self.contexts]
        most_contexts = _IN_MOST * len(contexts)
        words_beside_topic = 0
        for word in shared_words:
            holding_contexts = [context for context in contexts if word in context]
            if len(holding_contexts) < most_contexts:
                words_beside_topic += 1
        return words_beside_topic > 1

    def _shares_phrase(self, sentences: Sequence[str]) -> bool:
        """Whether a sentence has words of the unit one after the other, one of them telling: "to go out and murder".

        Words that stand so in most contexts name the topic.
        """
        unit_phrases = _list_phrases(self.text[:_LONGEST_COMPARED])
        quoted_phrases = set[tuple[str, ...]]()
        for sentence in sentences:
            quoted_phrases |= _list_phrases(sentence[:_LONGEST_COMPARED])
        stop_words = get_word_list("stop", self.language)
        shared_phrases = unit_phrases & quoted_phrases
        telling_phrases = [phrase for phrase in shared_phrases if not stop_words.issuperset(phrase)]
        if not telling_phrases:
            return False
        phrases_by_context = [_list_phrases(text[:_LONGEST_COMPARED]) for text in self.contexts]
        most_contexts = max(_FEW_CONTEXTS, _IN_MOST * len(phrases_by_context))
        for phrase in telling_phrases:
            holding_contexts = [phrases for phrases in phrases_by_context if phrase in phrases]
            if len(holding_contexts) < most_contexts:
                return True
        return False

    def _list_shared_words(self, texts: Sequence[str]) -> frozenset[str]:
        """Return the telling words of the unit that stand in texts; all of them where a text is too long to read."""
        if any(len(text) > _LONGEST_READ for text in texts):
            return self._telling_words
        words_of_texts = frozenset[str]()
        for text in texts:
            words_of_texts |= read_telling_words(text, self.language)
        return self._telling_words & words_of_texts

    def _find_topic_words(self, share: float) -> frozenset[str]:
        """Return the telling words of the unit that such a share of the contexts hold."""
        counts: Counter[str] = Counter()
        for context in self.contexts:
            counts.update(self._list_shared_words([context]))
        fewest_contexts = max(_FEW_CONTEXTS, share * len(self.contexts))
        return frozenset(word for word, count in counts.items() if count >= fewest_contexts)

    def _is_in_language_of_answer(self, texts: Sequence[str]) -> bool:
        """Whether texts are written in the script and the language of the answer, so that words can be shared."""
        text = " ".join(texts)
        if not self._is_in_comparable_script(text):
            return False
        answer_language = _guess_language(self.answer, self.language)
        return _guess_language(text, self.language) == answer_language

    def _is_in_comparable_script(self, text: str) -> bool:
        """Whether a quote should share words with the unit: it need not across scripts."""
        if _find_script(text) in {self._script, _find_script(self.answer)}:
            return True
        contexts_in_script = [
            context for context in self.contexts if _find_script(context) == self._script
        ]
        return 2 * len(contexts_in_script) > len(self.contexts)

    @cached_property
    def _script(self) -> str | None:
        return _find_script(self.text)

    @cached_property
    def _telling_words(self) -> frozenset[str]:
        """The telling words of the unit."""
        return read_telling_words(self.text[:_LONGEST_READ], self.language, with_parts=False)

    @cached_property
    def _plain_words(self) -> frozenset[str]:
        """The words of the unit that are compared as they are written: of four letters from a to z or more, no stop words."""
        words = frozenset(_PLAIN_WORD.findall(self.text[:_LONGEST_COMPARED].casefold()))
        return words - get_word_list("stop", self.language)


@lru_cache(maxsize=16)  # the units of a request are compared with the same contexts
def _see_all(contexts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a reader sees of some contexts."""
    return tuple(see(context).text for context in contexts)


def _drop_cut_words(context: str, span: Evidence) -> str:
    """Return a quote without the parts of words at its ends."""
    quoted_text = context[span.start : span.end]
    begins_inside_word = _TWO_LETTERS.fullmatch(context, max(span.start - 1, 0), span.start + 1)
    if begins_inside_word:
        quoted_text = _FIRST_LETTERS.sub("", quoted_text)
    ends_inside_word = _TWO_LETTERS.fullmatch(context, span.end - 1, span.end + 1)
    if ends_inside_word:
        quoted_text = _LAST_LETTERS.sub("", quoted_text)
    return quoted_text


def _list_years(text: str) -> set[str]:
    """List the years of a text, also those of its dates."""
    years = {*_YEAR.findall(text)}
    for word in tokenize(text):
        if word.measures == "date":
            years.update(part for part in word.parts if _YEAR.fullmatch(part))
    return years


@lru_cache(maxsize=512)
def read_telling_words(text: str, language: str, *, with_parts: bool = True) -> frozenset[str]:
    """Return the keys of the words that say something: numbers, words of three letters, pairs of characters.

    Args:
        text: The text.
        language: ISO 639 code; it chooses the stop words.
        with_parts: Whether the parts of quantities are among them: of 12 May 2024 also 2024.
    """
    stop_words = get_word_list("stop", language)
    keys = set()
    for word in tokenize(text):
        is_telling = word.kind in {"number", "characters"}
        if word.kind == "word":
            is_telling = len(word.folded) >= _SHORTEST_WORD and word.folded not in stop_words
        if is_telling:
            keys.update(list_keys([word]) if with_parts else [word.key])
    return frozenset(keys)


@lru_cache(maxsize=512)
def _list_phrases(text: str) -> frozenset[tuple[str, ...]]:
    """Return each run of three words of a text."""
    words: list[str] = []
    for word in tokenize(text):
        if word.folded == "nt" and words:  # "are n't", as some texts are cut into words
            words[-1] += word.folded
        else:
            words.append(word.folded)
    starts = range(len(words) - _WORDS_OF_PHRASE + 1)
    return frozenset(tuple(words[start : start + _WORDS_OF_PHRASE]) for start in starts)


def _is_heading(span: Evidence, context: str) -> bool:
    """Whether a quote is a line of a few words that does not end as a sentence does, and more text follows."""
    line_start = context.rfind("\n", 0, span.start) + 1
    line_end = context.find("\n", span.end)
    is_last_line = line_end < 0 or not has_content(context[line_end:])
    if is_last_line or "\n" in span.quote:
        return False
    line = context[line_start:line_end].strip(_AROUND_HEADING)
    if len(line.split()) > _LONGEST_HEADING or line.endswith(_SENTENCE_END):
        return False
    return not _DATA_LINE.search(line) and span.quote.strip(_AROUND_HEADING) in line


def covers(context: str, spans: Sequence[Evidence]) -> bool:
    """Whether quotes are nearly all of a context."""
    context, spans = see_spans(context, spans)
    places = {(span.start, span.end) for span in spans}
    covered_characters = sum(end - start for start, end in places)
    return covered_characters >= _NEARLY_ALL * len(context)


def see_spans(context: str, spans: Sequence[Evidence]) -> tuple[str, Sequence[Evidence]]:
    """Return what a reader sees of a context, and where the quotes stand in that."""
    view = see(context)
    if view.is_plain:
        return context, spans
    visible = []
    for span in spans:
        start = view.to_visible(span.start)
        end = view.to_visible(span.end)
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
    if not pieces:
        bare_quote = take_off_marks(quote)
        if bare_quote == quote:
            return None
        quote = bare_quote
        pieces = find_quote(quote, context, effort)
    if not pieces:
        return None
    start = pieces[0].start
    end = pieces[-1].end
    view = see(context)
    for before, after in pairwise(pieces):
        gap = view.cut(Span(before.end, after.start))
        if not has_content(gap):
            continue  # the dots are the text's own
        hides_negation = _count_negations(gap, language) or _has_denial(gap, language)
        hides_end = _ENDED.search(gap) or _ends_sentence(context, before.end, after.start)
        if (
            hides_negation
            or hides_end
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


def _has_negation(text: str, language: str) -> bool:
    """Whether a text has a negation, such as "not", of a language."""
    negations = get_word_list("negations", language)
    return any(word.folded in negations for word in tokenize(text))


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
    return _find_script(text) in (None, _find_script(other))


def _find_script(text: str) -> str | None:
    """Return the script of most letters of a text; None where it has no letter."""
    counts = Counter(_get_script(letter) for letter in text[:_LONGEST_LOOKED_AT] if letter.isalpha())
    return counts.most_common(1)[0][0] if counts else None


@lru_cache(maxsize=4096)
def _get_script(letter: str) -> str:
    """Return the script of a letter by the first word of its name, such as LATIN or CYRILLIC."""
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
