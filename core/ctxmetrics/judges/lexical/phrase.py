"""The parsed words of a unit or an answer: its content words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import find_equal_key, get_word_list, split_date, tokenize
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.text.list_marks import skip_list_marks
from ctxmetrics.text.visible import see

# Every token of these kinds is a content word.
_CONTENT_KINDS = frozenset(("number", "characters"))
# Longer texts are not remembered: the bits of their words take much memory.
_MAX_CHARACTERS_REMEMBERED = 10_000
_LANGUAGES_WITH_CAPITALISED_NOUNS = frozenset(("de", "lb"))
# How an answer names the retrieved text: "the retrieved text", "this document".
_SOURCE = r"""
    (?:the[ ]|this[ ]|these[ ])?
    (?:(?:retrieved|provided|given|above|following|available)[ ])?
    (?:text|context|passage|document|source|article|information)s?
"""
# By language: the beginning of a sentence that names its source before it states anything.
LEAD_INS: dict[str, re.Pattern[str]] = {
    "en": re.compile(
        rf"""
        (?:according[ ]to|based[ ]on|as[ ](?:stated|described|mentioned|noted|shown)[ ](?:in|by))[ ]
        {_SOURCE},?[ ]
        |
        {_SOURCE}[ ](?:says?|states?|shows?|mentions?|notes?|suggests?|indicates?)[ ]that[ ]
        """,
        re.IGNORECASE | re.VERBOSE,
    )
}


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The words of a unit or an answer.

    Attributes:
        text: The text as it was given.
        visible_text: What a reader sees of the text, without markup. The words are read from it.
        tokens: All words, stop words included, but without the words of a lead-in ("According to the retrieved text, ..") and
            without list marks ("Step 1.").
        content_positions: The key of each content word, with its first position in `tokens`. The year of a date also
            counts as a content word.
        bits: A bit mask for each content word, by its key. A word has one bit; a quantity has as many bits as words.
        content_sequence: The keys of the content words in the order of the text, with repetitions.
        numbers: The keys that are numbers.
        names: The keys that are names: capitalised words of at least two letters that do not begin a sentence.
        sentence_count: The number of sentences.
        content_word_count: The number of content words; a quantity counts as many words as it has.
    """

    text: str
    visible_text: str
    tokens: Sequence[Token]
    content_positions: Mapping[str, int]
    bits: Mapping[str, int]
    content_sequence: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    sentence_count: int
    content_word_count: int

    @classmethod
    def of(cls, text: str, language: str) -> ParsedText:
        """Read a text; the language chooses the stop words."""
        if len(text) > _MAX_CHARACTERS_REMEMBERED:
            return cls.read(text, language)
        return read_or_remember(text, language)

    @classmethod
    def read(cls, text: str, language: str) -> ParsedText:
        """Read a text, although it may have been read before."""
        visible_text = see(text).text
        stop_words = get_word_list("stop", language)
        has_capitalised_nouns = base_language(language) in _LANGUAGES_WITH_CAPITALISED_NOUNS
        capitals_mark_names = not text.isupper() and not has_capitalised_nouns
        lead_in_pattern = LEAD_INS.get(base_language(language))
        lead_in = lead_in_pattern.match(visible_text) if lead_in_pattern else None
        body = visible_text[lead_in.end() :] if lead_in else visible_text
        sentence_spans = sentences(body)
        tokens: list[Token] = []
        content_positions: dict[str, int] = {}
        content_sequence: list[str] = []
        names: dict[str, None] = {}  # an ordered set
        for start, end in sentence_spans:
            first_of_sentence = len(tokens)
            sentence = body[start:end]
            tokens += tokenize(sentence[skip_list_marks(sentence, language) :])
            for position, token in enumerate(tokens[first_of_sentence:], first_of_sentence):
                begins_sentence = position == first_of_sentence
                is_name = capitals_mark_names and not begins_sentence and _is_capitalised(token)
                if not _is_content(token, stop_words, is_name=is_name):
                    continue
                keys: Sequence[str] = (token.key,)
                if token.parts:  # a quantity holds others: "12 May 2024" holds 2024
                    # "Die 3. Auflage": within a sentence a full stop belongs to an ordinal.
                    ends_clause = token.ends_clause and f"{token.spelling}. " not in sentence
                    is_last = position + 1 == len(tokens)
                    keys = _find_keys(token, no_noun_follows=is_last or ends_clause)
                for key in keys:
                    content_positions.setdefault(key, position)
                    content_sequence.append(key)
                if is_name and len(token.folded) > 1:  # one letter is an initial or a unit's symbol
                    names[keys[-1]] = None
        numbers = tuple(
            key for key, position in content_positions.items() if tokens[position].kind == "number"
        )
        # Each key gets a mask with one bit for each of its words. No two masks share a bit, so `|` of the masks of several
        # sentences gives all words that these sentences hold together.
        bits: dict[str, int] = {}
        used_bits = 0
        for key, position in content_positions.items():
            token = tokens[position]
            width = _count_words(token, key) if token.measures else token.size
            all_ones = (1 << width) - 1
            bits[key] = all_ones << used_bits
            used_bits += width
        return cls(
            text,
            visible_text,
            tokens,
            content_positions,
            bits,
            tuple(content_sequence),
            numbers,
            tuple(names),
            len(sentence_spans),
            used_bits,
        )

    def find_forms(self) -> set[str]:
        """Return the keys to look for in contexts: the keys of the content words, and other forms of dates and numbers."""
        forms = set(self.content_positions)
        for key in self.numbers:
            _, forms_without_year, excluded_key = split_date(key)
            forms.update(forms_without_year)
            forms.add(excluded_key)
            forms.add(find_equal_key(key))
        return forms

    def spelled(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the words of these keys as the text writes them; overlapping pairs of characters are joined."""
        words: list[str] = []
        last_position = -1
        positions = {self.content_positions[key] for key in keys}
        for position in sorted(positions):
            token = self.tokens[position]
            spelling = token.spelling
            overlap_length = 0
            follows_last_word = position == last_position + 1
            if follows_last_word and words and token.kind == "characters":
                overlap_length = _measure_overlap(words[-1], spelling)
            if overlap_length:
                words[-1] += spelling[overlap_length:]
            else:
                words.append(spelling)
            last_position = position
        return tuple(words)


@lru_cache(maxsize=64)  # metrics that judge one reference against several contexts ask for it again
def read_or_remember(text: str, language: str) -> ParsedText:
    """Read a text, and remember its words."""
    return ParsedText.read(text, language)


def _is_capitalised(token: Token) -> bool:
    """Whether a token is a word (not a number) that begins with a capital letter."""
    return token.kind == "word" and token.spelling[0].isupper()


def _is_content(token: Token, stop_words: frozenset[str], *, is_name: bool) -> bool:
    """Whether a word is a content word.

    A stop word is not, unless it is a name in capitals (US, WHO). A single ASCII letter is not, unless it is a name.
    """
    if token.kind == "character":
        return False
    if token.kind in _CONTENT_KINDS:
        return True
    folded = token.folded
    is_long = len(folded) > 1
    if folded in stop_words:
        return is_name and is_long and token.spelling.isupper()  # US, WHO, IT
    return is_name or is_long or not folded.isascii()


def _count_words(quantity: Token, key: str) -> int:
    """Return how many words a key of a quantity counts for. The year of a date has a key of its own, which is one word."""
    is_year_of_date = quantity.measures == "date" and key.isdecimal()
    if is_year_of_date:
        return 1
    year, _, _ = split_date(key)
    if year:  # the year is counted under its own key
        return max(1, quantity.size - 1)
    return quantity.size


def _find_keys(token: Token, *, no_noun_follows: bool) -> tuple[str, ...]:
    """Return the keys of a content word.

    A date has a second key, its year. "2 out of 3" has the keys 2 and 3, because a context may have other words between them.
    A number that counts no noun has the keys of its parts, which any amount with this number shares.

    Args:
        token: The word.
        no_noun_follows: Whether the word ends its clause or the text.
    """
    is_one_in_many = " in " in token.spelling
    if token.measures == "fraction" and " " in token.spelling and not is_one_in_many:  # 2 out of 3
        numbers = tuple(part for part in token.parts if part.replace(".", "").isdecimal())
        return numbers or (token.key,)
    if token.measures:
        year, _, _ = split_date(token.key)
        return (token.key, year) if year else (token.key,)
    if token.kind == "number" and no_noun_follows and token.parts:
        return token.parts
    return (token.key,)


def _measure_overlap(left: str, right: str) -> int:
    """Return the length of the longest beginning of `right` with which `left` ends."""
    for length in range(len(right), 0, -1):
        if left.endswith(right[:length]):
            return length
    return 0
