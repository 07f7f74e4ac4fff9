"""Checks of whether quotes prove a unit: a quote that stands in its context may still say nothing about the unit."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.contradiction import (
    find_contradiction,
    find_other_name,
    find_other_value,
)
from ctxmetrics.judges.evidence.contrasts import Contradiction
from ctxmetrics.judges.evidence.replaced_words import find_replaced_word
from ctxmetrics.judges.evidence.reservations import find_reservation
from ctxmetrics.judges.evidence.word_forms import LISTS, base_language
from ctxmetrics.judges.evidence.words import get_word_list, tokenize
from ctxmetrics.text.character_spans import Span, has_content
from ctxmetrics.text.sentences import sentence_spans
from ctxmetrics.text.visible import see
from ctxmetrics.verdicts import Evidence

# The doubt that the sentences that hold the quotes deny the unit.
DENIED = "denied"
# The doubts of `QuotedUnit.find_doubt`, which describes them.
_DOUBTS_OF_QUOTES = frozenset({"fragment", "whole_context", "unrelated", "heading"})
# All reasons why evidence may prove little. ``another_context``: the quote stands in a context that the reply did not name.
# ``broken_quote``: the ellipsis of a quote hides a denial. ``few_words``: see `QuotedUnit.shares_little`.
DOUBTS = _DOUBTS_OF_QUOTES | {"another_context", "broken_quote", "few_words", DENIED}

# In this module:
# distinctive words, which the pages call telling words, are numbers and words that are no stop words (`read_distinctive_words`);
# topic words are the distinctive words that stand in all or most contexts;
# plain words are words of a to z, compared letter by letter, which is fast.

# --- limits -----------------------------------------------------------------------------------------------------------

# The maximum number of characters that are read of a quote or a sentence ..
_MAX_QUOTE_CHARACTERS = 1_000
# .. and of a unit or a context.
_MAX_TEXT_CHARACTERS = 10_000
_MIN_DISTINCTIVE_LETTERS = 3
# The next three numbers were measured by `benchmarks/validity/doubts.py`.
# With this many distinctive words in a unit, more than one must stand in the sentences that hold the quotes ..
_MIN_WORDS_FOR_SENTENCES = 8
# .. and with this many, more than one must stand in the contexts that hold them.
_MIN_WORDS_FOR_CONTEXTS = 6
# The minimum share of the distinctive words in a context that is quoted as a whole.
_MIN_SHARE_IN_WHOLE_CONTEXT = 0.25
# The minimum number of contexts that have a common topic.
_MIN_CONTEXTS_WITH_TOPIC = 3
# The share of the contexts that hold a word of the topic: all of them, or most.
_SHARE_ALL = 1.0
_SHARE_MOST = 0.7
# With this many distinctive words besides the topic words, one of them must stand in the sentences ..
_MIN_OTHER_WORDS_FOR_ONE = 3
# .. and with this many, two of them.
_MIN_OTHER_WORDS_FOR_TWO = 4
# The number of words of a phrase: words that follow each other.
_PHRASE_WORDS = 3
# Quotes that hold at least this share of a context quote it as a whole.
_MIN_SHARE_OF_WHOLE = 0.9
# The maximum number of sentences of a context that may be quoted as a whole.
_MAX_SENTENCES_QUOTED_WHOLE = 3
_CLOSEST_SENTENCES = 3
# The maximum number of words of a line that may be a heading.
_MAX_HEADING_WORDS = 8

# --- patterns ---------------------------------------------------------------------------------------------------------

_SENTENCE_ENDS = tuple(".!?;…。！？।")
_AROUND_HEADING = "#*=-_:| \t"
# A line of a table or list: a number, or a name and a value.
_DATA_LINE = re.compile(r"\d|:")
# A year from 1500 to 2099, that is no part of another number
_YEAR = re.compile(r"(?<![\w.,])(?:1[5-9]|20)\d\d(?![^\W_]|[.,]\d)")
_PLAIN_WORD = re.compile(r"[a-z]{4,}")
# A letter or digit of a script with spaces between words. The scripts from Thai (U+0E00) on have none.
_LETTER = r"[^\W_\u0e00-\U0010ffff]"
_TWO_LETTERS = re.compile(_LETTER * 2)
_FIRST_LETTERS = re.compile(rf"\A{_LETTER}+")
_LAST_LETTERS = re.compile(rf"{_LETTER}+\Z")
# The maximum number of characters that are read to find the script of a text.
_MAX_SCRIPT_CHARACTERS = 200
_EAST_ASIAN = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"})


# --- a unit and its quotes --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuotedUnit:
    """A unit of the reference, or the whole answer, with which quotes are compared.

    Attributes:
        text: The text of the unit.
        answer: The whole answer.
        contexts: The contexts that were shown.
        language: ISO 639 code of the answer; it chooses the stop words.
        question: The question; empty without one. What it asks about is no condition of the unit.
    """

    text: str
    answer: str
    contexts: Collection[str]
    language: str
    question: str = ""

    def __post_init__(self) -> None:
        """Keep what a reader sees of the texts."""
        object.__setattr__(self, "text", see(self.text).text)
        object.__setattr__(self, "answer", see(self.answer).text)
        object.__setattr__(self, "contexts", _see_all(tuple(self.contexts)))

    def find_doubt(self, context: str, spans: Sequence[Evidence]) -> str | None:
        """Return why quotes from one context prove little about the unit, or None.

        - ``fragment``: the quotes are only stop words or parts of words.
        - ``whole_context``: the quotes are nearly all of a context of more than three sentences.
        - ``unrelated``: the quotes hold no distinctive word of the unit, although their scripts can be compared
          (`_is_in_comparable_script`).
        - ``heading``: every quote is a line of at most eight words that is not a sentence, and the quotes do not hold all
          distinctive words of the unit.
        """
        if covers(context, spans) and len(split_context(context)) > _MAX_SENTENCES_QUOTED_WHOLE:
            return "whole_context"
        context, spans = see_spans(context, spans)
        headings = [span for span in spans if _is_heading(span, context)]
        quoted_texts = [_drop_cut_words(context, span)[:_MAX_QUOTE_CHARACTERS] for span in spans]
        if not headings and any(map(self._shares_plain_word, quoted_texts)):
            return None  # the usual case
        quoted_words = set[str]()
        for quoted_text in quoted_texts:
            quoted_words |= read_distinctive_words(quoted_text, self.language)
        if not quoted_words:
            return "fragment"
        shares_no_word = quoted_words.isdisjoint(self._distinctive_words)
        if shares_no_word and self._is_in_comparable_script(" ".join(quoted_texts)):
            return "unrelated"
        has_only_headings = len(headings) == len(spans)
        if has_only_headings and not quoted_words.issuperset(self._distinctive_words):
            return "heading"
        return None

    def has_all_words(self, sentences: Sequence[str]) -> bool:
        """Whether sentences hold all distinctive words of the unit."""
        return read_distinctive_words(" ".join(sentences), self.language) >= self._distinctive_words

    def find_denial(
        self, sentences: Sequence[str], contexts: Sequence[str], *, facts_only: bool = False
    ) -> Contradiction | None:
        """Return how the sentences that hold the quotes deny the unit, or None.

        - They have another year (`find_other_year`).
        - They have another value for a quantity of the unit, and nowhere the unit's own value: 5 km for 3 km.
        - They have another product name, such as X210 for X200.
        - They have another name or number between the same words (`find_replaced_word`).
        - They contradict it in another way that `find_contradiction` knows: a negation, another number before the same word, exchanged
          names or values.
        - They take back what they say (`find_reservation`).

        Other plain numbers are compared only before or behind the same word: else people quoted other numbers as often for true
        claims as for false ones.

        Args:
            sentences: The sentences that hold the quotes.
            contexts: All contexts of the request.
            facts_only: Look only for another year, value or name.
        """
        if [*sentences] == [self.text]:
            return None  # the usual case: the unit stands in the context word for word
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
        return find_contradiction(
            self.text, sentences, self.language, is_quoted=True
        ) or find_reservation(self.text, sentences, self.language, self.question)

    def find_other_year(
        self, sentences: Sequence[str], contexts: Sequence[str]
    ) -> Contradiction | None:
        """Return a year of the unit and another year of the sentences, or None.

        The sentences must have a year, but none of the unit's years, and no context may have the unit's year.
        """
        years_of_unit = _list_years(self.text, tokenize(self.text))
        if not years_of_unit:
            return None
        quoted_text = " ".join(sentences)
        quoted_years = _list_years(quoted_text, tokenize(quoted_text))
        if not quoted_years or not years_of_unit.isdisjoint(quoted_years):
            return None
        for year in sorted(years_of_unit):
            if not any(year in context for context in contexts):
                return Contradiction("number", year, min(quoted_years))
        return None

    def shares_little(
        self, sentences: Sequence[str], contexts: Sequence[str], *, common: bool = False
    ) -> bool:
        """Whether the quotes share too few distinctive words with the unit to be evidence for it.

        They do in each of these cases, if sentences and answer are written in one script and language, and share no phrase. Topic
        words stand in all contexts.

        - The unit has at least eight distinctive words, and the sentences hold at most one of them.
        - The unit has at least six distinctive words, and the sentences and the contexts each hold at most one of them.
        - Besides the topic words the unit has at least three distinctive words, and the sentences hold none of these.
        - Besides the topic words the unit has at least four distinctive words, and the sentences hold at most one of these.

        Args:
            sentences: The sentences that hold the quotes.
            contexts: The contexts that hold the quotes; empty if only the sentences count.
            common: Be stricter. In the third case, words of most contexts are topic words. In the fourth case, three
                distinctive words are enough.
        """
        if [*sentences] == [self.text] or self._shares_plain_words(sentences):
            return False  # the usual cases
        shared_words = self._list_shared_words(sentences)
        # Each case needs words of the unit that the sentences lack.
        lacking_count = len(self._distinctive_words) - len(shared_words)
        if len(shared_words) > 1 and lacking_count < _MIN_OTHER_WORDS_FOR_ONE - 1:
            return False
        share_of_topic = _SHARE_MOST if common else _SHARE_ALL
        shares_few = (
            self._shares_one_of_many(shared_words, contexts)
            or self._shares_one_beside_topic(shared_words, common=common)
            or self._shares_only_topic(shared_words, share_of_topic)
        )
        # The phrases come last: to list those of all contexts takes longest.
        return (
            shares_few
            and self._is_in_language_of_answer(sentences)
            and not self._shares_phrase(sentences)
        )

    def _shares_one_of_many(self, shared_words: frozenset[str], contexts: Sequence[str]) -> bool:
        """Whether the sentences hold at most one word of a long unit: the first two cases of `shares_little`."""
        word_count = len(self._distinctive_words)
        if len(shared_words) > 1 or word_count < _MIN_WORDS_FOR_CONTEXTS:
            return False
        # One word of six or seven is enough if the contexts hold more of them.
        is_long = word_count >= _MIN_WORDS_FOR_SENTENCES
        return is_long or len(self._list_shared_words(contexts)) <= 1

    def _shares_only_topic(self, shared_words: frozenset[str], min_share: float) -> bool:
        """Whether the sentences hold nothing but topic words of the unit: the third case of `shares_little`."""
        if not shared_words or not self._are_topic_words(shared_words, min_share):
            return False
        other_words = self._distinctive_words - self._find_topic_words(min_share)
        return len(other_words) >= _MIN_OTHER_WORDS_FOR_ONE

    def _shares_one_beside_topic(self, shared_words: frozenset[str], *, common: bool) -> bool:
        """Whether the sentences hold at most one word that is no topic word: the fourth case of `shares_little`."""
        if not self._are_topic_words(shared_words, _SHARE_ALL, max_others=1):
            return False
        topic_words = self._find_topic_words(_SHARE_ALL)
        if not topic_words:
            return False
        other_words = self._distinctive_words - topic_words
        min_other_words = _MIN_OTHER_WORDS_FOR_ONE if common else _MIN_OTHER_WORDS_FOR_TWO
        return len(other_words) >= min_other_words

    def shares_little_as_whole(self, context: str) -> bool:
        """Whether a context of several sentences, quoted as a whole, holds at most a quarter of the distinctive words."""
        if len(split_context(context)) == 1:
            return False
        word_count = len(self._distinctive_words)
        if word_count < _MIN_WORDS_FOR_CONTEXTS:
            return False
        shared_count = len(self._list_shared_words([context]))
        shares_little = shared_count <= _MIN_SHARE_IN_WHOLE_CONTEXT * word_count
        return shares_little and self._is_in_language_of_answer([context])

    def find_closest(self, sentences: Sequence[str]) -> Sequence[str]:
        """Return the three sentences that share most words with the unit, the closest first."""
        if len(sentences) == 1:
            return sentences
        shared_counts = {sentence: len(self._list_shared_words([sentence])) for sentence in sentences}
        ranked = sorted(sentences, key=shared_counts.__getitem__, reverse=True)
        return ranked[:_CLOSEST_SENTENCES]

    def _shares_plain_word(self, text: str) -> bool:
        """Whether a text shares a plain word with the unit."""
        return not self._plain_words.isdisjoint(_PLAIN_WORD.findall(text.casefold()))

    def _shares_plain_words(self, sentences: Sequence[str]) -> bool:
        """Whether the sentences share at least two plain words with the unit that are not in most contexts.

        This is the usual case. It needs no analysis of the texts.
        """
        text = " ".join(sentences)[:_MAX_QUOTE_CHARACTERS].casefold()
        shared_words = self._plain_words.intersection(_PLAIN_WORD.findall(text))
        if len(shared_words) <= 1:
            return False
        if len(self.contexts) < _MIN_CONTEXTS_WITH_TOPIC:
            return True  # no word is a topic word
        contexts = _fold_all(tuple(self.contexts))
        min_contexts_of_topic = _SHARE_MOST * len(contexts)
        shared_beside_topic = 0
        for word in shared_words:
            holding_contexts = [context for context in contexts if word in context]
            if len(holding_contexts) < min_contexts_of_topic:
                shared_beside_topic += 1
                if shared_beside_topic > 1:
                    return True
        return False

    def _shares_phrase(self, sentences: Sequence[str]) -> bool:
        """Whether a sentence shares a phrase with the unit that is not only stop words: "to go out and murder".

        A phrase that stands in most contexts names the topic and does not count.
        """
        unit_phrases = _list_phrases(self.text[:_MAX_QUOTE_CHARACTERS])
        quoted_phrases = set[tuple[str, ...]]()
        for sentence in sentences:
            quoted_phrases |= _list_phrases(sentence[:_MAX_QUOTE_CHARACTERS])
        stop_words = get_word_list("stop", self.language)
        shared_phrases = [
            phrase for phrase in unit_phrases & quoted_phrases if not stop_words.issuperset(phrase)
        ]
        if not shared_phrases:
            return False
        phrases_by_context = [_list_phrases(text[:_MAX_QUOTE_CHARACTERS]) for text in self.contexts]
        min_contexts_of_topic = max(_MIN_CONTEXTS_WITH_TOPIC, _SHARE_MOST * len(phrases_by_context))
        for phrase in shared_phrases:
            holding_contexts = [phrases for phrases in phrases_by_context if phrase in phrases]
            if len(holding_contexts) < min_contexts_of_topic:
                return True
        return False

    def _list_shared_words(self, texts: Sequence[str]) -> frozenset[str]:
        """Return the distinctive words of the unit that stand in texts. If a text is too long to read, return all these words."""
        if any(len(text) > _MAX_TEXT_CHARACTERS for text in texts):
            return self._distinctive_words
        words_of_texts = frozenset[str]()
        for text in texts:
            words_of_texts |= read_distinctive_words(text, self.language)
        return self._distinctive_words & words_of_texts

    def _are_topic_words(self, words: frozenset[str], min_share: float, *, max_others: int = 0) -> bool:
        """Whether words of the unit are topic words.

        In most cases a few contexts show that they are not. To find all topic words of the unit, more contexts must be read.

        Args:
            words: The words.
            min_share: The share of the contexts that hold a topic word.
            max_others: How many of the words may be no topic words.
        """
        min_count = len(words) - max_others
        if min_count <= 0:
            return True
        return len(self._find_topic_words(min_share, words, min_count=min_count)) >= min_count

    def _find_topic_words(
        self, min_share: float, words: frozenset[str] | None = None, *, min_count: int = 1
    ) -> frozenset[str]:
        """Return the distinctive words of the unit that stand in at least this share of the contexts.

        No more contexts are read as soon as each word lacks in too many of them.

        Args:
            min_share: The share of the contexts.
            words: The words of the unit that are looked for; None: all distinctive words.
            min_count: The number of topic words below which no more contexts are read.
        """
        min_contexts = max(_MIN_CONTEXTS_WITH_TOPIC, min_share * len(self.contexts))
        max_contexts_without = len(self.contexts) - min_contexts
        if max_contexts_without < 0:
            return frozenset()
        topic_words = self._distinctive_words if words is None else words
        contexts_without: Counter[str] = Counter()  # the number of contexts that lack a word
        for context in self.contexts:
            if len(topic_words) < min_count:
                break
            if len(context) > _MAX_TEXT_CHARACTERS:
                continue  # too long to read: it may hold any word
            lacking_words = topic_words - read_distinctive_words(context, self.language)
            contexts_without.update(lacking_words)
            topic_words -= {
                word for word in lacking_words if contexts_without[word] > max_contexts_without
            }
        return topic_words

    def _is_in_language_of_answer(self, texts: Sequence[str]) -> bool:
        """Whether texts are in the script and the language of the answer, so that they can share words with the answer."""
        text = " ".join(texts)
        if not self._is_in_comparable_script(text):
            return False
        answer_language = _guess_language(self.answer, self.language)
        return _guess_language(text, self.language) == answer_language

    def _is_in_comparable_script(self, text: str) -> bool:
        """Whether a text should share words with the unit. A text in another script cannot.

        It should if its script is that of the unit or the answer, or if most contexts are in the unit's script.
        """
        if _find_script(text) in {self._script, _find_script(self.answer)}:
            return True
        contexts_in_script = [
            context for context in self.contexts if _find_script(context) == self._script
        ]
        half_of_contexts = len(self.contexts) / 2
        return len(contexts_in_script) > half_of_contexts

    @cached_property
    def _script(self) -> str | None:
        return _find_script(self.text)

    @cached_property
    def _distinctive_words(self) -> frozenset[str]:
        """The distinctive words of the unit."""
        return read_distinctive_words(self.text[:_MAX_TEXT_CHARACTERS], self.language, with_parts=False)

    @cached_property
    def _plain_words(self) -> frozenset[str]:
        """The words of the unit that are no stop words and have at least four letters from a to z."""
        words = frozenset(_PLAIN_WORD.findall(self.text[:_MAX_QUOTE_CHARACTERS].casefold()))
        return words - get_word_list("stop", self.language)


# --- words, phrases and years of a text -------------------------------------------------------------------------------


@lru_cache(maxsize=16)  # the units of a request are compared with the same contexts
def _see_all(contexts: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a reader sees of some contexts."""
    return tuple(see(context).text for context in contexts)


@lru_cache(maxsize=16)
def _fold_all(contexts: tuple[str, ...]) -> Sequence[str]:
    """Return some contexts without their case."""
    return [context.casefold() for context in contexts]


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


def _list_years(text: str, words: Sequence[Token]) -> frozenset[str]:
    """List the years of a text, also the years of its dates; ``words`` are the words of the text."""
    years = {*_YEAR.findall(text)}
    for word in words:
        if word.measures == "date":
            years.update(part for part in word.parts if _YEAR.fullmatch(part))
    return frozenset(years)


@lru_cache(maxsize=512)
def read_distinctive_words(text: str, language: str, *, with_parts: bool = True) -> frozenset[str]:
    """Return the keys of the distinctive words of a text.

    These are numbers, words of at least three letters that are no stop words, and pairs of characters in scripts without
    spaces.

    Args:
        text: The text.
        language: ISO 639 code; it chooses the stop words.
        with_parts: Whether the parts of a quantity are included, such as 2024 of "12 May 2024".
    """
    stop_words = get_word_list("stop", language)
    keys = set()
    for word in tokenize(text):
        folded = word.folded
        is_distinctive = word.kind in {"number", "characters"}
        if word.kind == "word":
            is_distinctive = folded not in stop_words and len(folded) >= _MIN_DISTINCTIVE_LETTERS
        if not is_distinctive:
            continue
        keys.add(word.key)
        if with_parts and word.parts:
            keys.update(word.parts)
    return frozenset(keys)


@lru_cache(maxsize=512)
def _list_phrases(text: str) -> frozenset[tuple[str, ...]]:
    """Return each phrase of a text: three words that follow each other."""
    words: list[str] = []
    for word in tokenize(text):
        if word.folded == "nt" and words:  # "are n't", as some texts are cut into words
            words[-1] += word.folded
        else:
            words.append(word.folded)
    words_from_each_place = [words[place:] for place in range(_PHRASE_WORDS)]
    return frozenset(zip(*words_from_each_place, strict=False))


# --- what a quote covers of its context -------------------------------------------------------------------------------


def _is_heading(span: Evidence, context: str) -> bool:
    """Whether a quote is, or stands in, a line of a few words that does not end like a sentence. More text must follow."""
    line_start = context.rfind("\n", 0, span.start) + 1
    line_end = context.find("\n", span.end)
    is_last_line = line_end < 0 or not has_content(context[line_end:])
    if is_last_line or "\n" in span.quote:
        return False
    line = context[line_start:line_end].strip(_AROUND_HEADING)
    if len(line.split()) > _MAX_HEADING_WORDS or line.endswith(_SENTENCE_ENDS):
        return False
    return not _DATA_LINE.search(line) and span.quote.strip(_AROUND_HEADING) in line


def covers(context: str, spans: Sequence[Evidence]) -> bool:
    """Whether quotes are nearly all of a context."""
    context, spans = see_spans(context, spans)
    places = {(span.start, span.end) for span in spans}
    covered_characters = sum(end - start for start, end in places)
    return covered_characters >= _MIN_SHARE_OF_WHOLE * len(context)


def see_spans(context: str, spans: Sequence[Evidence]) -> tuple[str, Sequence[Evidence]]:
    """Return the visible text of a context, and the quotes with their positions in the visible text."""
    view = see(context)
    if view.is_plain:
        return context, spans
    visible_spans = []
    for span in spans:
        start = view.to_visible(span.start)
        end = view.to_visible(span.end)
        visible_spans.append(replace(span, start=start, end=end, quote=view.text[start:end]))
    return view.text, visible_spans


split_context: Callable[[str], tuple[Span, ...]] = lru_cache(maxsize=64)(sentence_spans)


def _has_same_words(text: str, other: str) -> bool:
    """Whether two texts hold the same words in the same order. White space and punctuation may differ."""
    return text == other or [word.key for word in tokenize(text)] == [
        word.key for word in tokenize(other)
    ]


# --- scripts and languages --------------------------------------------------------------------------------------------


def share_script(text: str, other: str) -> bool:
    """Whether two texts are written in one script. A first text without letters shares any script."""
    return _find_script(text) in (None, _find_script(other))


def _find_script(text: str) -> str | None:
    """Return the script of most letters of a text; None if the text has no letter."""
    letters = filter(str.isalpha, text[:_MAX_SCRIPT_CHARACTERS])
    counts = Counter(map(_get_script, letters))
    return counts.most_common(1)[0][0] if counts else None


@lru_cache(maxsize=4096)
def _get_script(letter: str) -> str:
    """Return the script of a letter by the first word of its name, such as LATIN or CYRILLIC."""
    name = unicodedata.name(letter, "?").partition(" ")[0]
    return "CJK" if name in _EAST_ASIAN else name


def _guess_language(text: str, language: str) -> str:
    """Return the language whose stop words are most frequent in a text; the given language unless another has more of them."""
    words = [word.folded for word in tokenize(text[:_MAX_QUOTE_CHARACTERS])]

    def count_stop_words(candidate: str) -> int:
        """Count the words of the text that are stop words of a language."""
        if candidate not in LISTS["stop"]:
            return 0
        stop_words = get_word_list("stop", candidate)
        return len([word for word in words if word in stop_words])

    languages: list[str] = [base_language(language), *LISTS["stop"]]
    return max(languages, key=count_stop_words)  # the first of equals
