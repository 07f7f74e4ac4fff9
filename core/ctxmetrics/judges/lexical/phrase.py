"""A unit or an answer, read: its content words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.word_forms import base_language
from ctxmetrics.judges.evidence.words import find_equal_key, get_word_list, split_date, tokenize
from ctxmetrics.judges.lexical.index import sentences
from ctxmetrics.text.list_marks import skip_list_marks
from ctxmetrics.text.visible import see

# Kinds of words that are content words, whatever they are.
_ALWAYS_COUNTED = frozenset(("number", "characters"))
_NOUNS_ARE_CAPITALISED = frozenset(("de", "lb"))
# What an answer is called that was retrieved: the retrieved text, this document.
_SOURCE = r"""
    (?:the[ ]|this[ ]|these[ ])?
    (?:(?:retrieved|provided|given|above|following|available)[ ])?
    (?:text|context|passage|document|source|article|information)s?
"""
# How a sentence begins that names its source before it states anything, by language.
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
class Phrase:
    """A unit or an answer, read.

    Attributes:
        text: The text.
        visible: What a reader sees of it: the words come from there.
        tokens: All its words, stop words included; without those of a lead-in ("According to the retrieved text, ..")
            and the marks of lists ("Step 1.").
        content: Its content words by key, each with its first position among all words. The year of a date is one more.
        bits: The bits that stand for each of them in a number: one, of a quantity as many as it has words.
        sequence: The keys of its content words as they follow each other.
        numbers: The keys that are numbers.
        names: The keys that are names: capitalised words of two letters or more that begin no sentence.
        sentences: How many sentences it has.
        size: As how many words the content words count.
    """

    text: str
    visible: str
    tokens: Sequence[Token]
    content: Mapping[str, int]
    bits: Mapping[str, int]
    sequence: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    sentences: int
    size: int

    @classmethod
    def of(cls, text: str, language: str) -> Phrase:
        """Read a text; the language chooses the stop words."""
        visible = see(text).text
        stop_words = get_word_list("stop", language)
        has_names = not text.isupper() and base_language(language) not in _NOUNS_ARE_CAPITALISED
        pattern = LEAD_INS.get(base_language(language))
        lead_in = pattern.match(visible) if pattern else None
        body = visible[lead_in.end() :] if lead_in else visible
        spans = sentences(body)
        words: list[Token] = []
        content: dict[str, int] = {}
        sequence: list[str] = []
        names: dict[str, None] = {}
        for start, end in spans:
            first_of_sentence = len(words)
            sentence = body[start:end]
            words += tokenize(sentence[skip_list_marks(sentence, language) :])
            for position, token in enumerate(words[first_of_sentence:], first_of_sentence):
                begins_sentence = position == first_of_sentence
                is_name = has_names and not begins_sentence and _is_capitalised(token)
                if not _is_content(token, stop_words, is_name=is_name):
                    continue
                keys: Sequence[str] = (token.key,)
                if token.parts:
                    keys = _find_keys(token, is_last=position + 1 == len(words))
                for key in keys:
                    content.setdefault(key, position)
                    sequence.append(key)
                if is_name and len(token.folded) > 1:  # one letter is an initial or a unit's symbol
                    names[keys[-1]] = None
        numbers = tuple(key for key, position in content.items() if words[position].kind == "number")
        bits: dict[str, int] = {}
        used_bits = 0
        for key, position in content.items():
            token = words[position]
            width = _count_words(token, key) if token.measures else token.size
            # As many bits as the key counts as words, above the bits of the keys before: what several sentences hold together
            # is then one `|`.
            all_ones = (1 << width) - 1
            bits[key] = all_ones << used_bits
            used_bits += width
        return cls(
            text,
            visible,
            words,
            content,
            bits,
            tuple(sequence),
            numbers,
            tuple(names),
            len(spans),
            used_bits,
        )

    def find_forms(self) -> set[str]:
        """Return the keys that are looked for in contexts: those of the content words, and other forms of dates and numbers."""
        forms = set(self.content)
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
        content = self.content
        for position in sorted({content[key] for key in keys}):
            token = self.tokens[position]
            spelling = token.spelling
            overlap = 0  # in characters
            follows_last_word = position == last_position + 1
            if follows_last_word and words and token.kind == "characters":
                overlap = _overlap(words[-1], spelling)
            if overlap:
                words[-1] += spelling[overlap:]
            else:
                words.append(spelling)
            last_position = position
        return tuple(words)


def _is_capitalised(token: Token) -> bool:
    """Whether a word, no number, begins with a capital letter."""
    return token.kind == "word" and token.spelling[0].isupper()


def _is_content(token: Token, stop_words: frozenset[str], *, is_name: bool) -> bool:
    """Whether a word is a content word: no stop word, and no single letter that is neither a name nor outside of ASCII."""
    if token.kind == "character":
        return False
    if token.kind in _ALWAYS_COUNTED:
        return True
    folded = token.folded
    is_long = len(folded) > 1
    if folded in stop_words:
        return is_name and is_long and token.spelling.isupper()  # US, WHO, IT
    return is_name or is_long or not folded.isascii()


def _count_words(quantity: Token, key: str) -> int:
    """Return as how many words a key of a quantity counts: of a date its year is a word of its own."""
    is_year_of_date = quantity.measures == "date" and key.isdecimal()
    if is_year_of_date:
        return 1
    year, _, _ = split_date(key)
    if year:  # a date with a year, which is counted as another key
        return max(1, quantity.size - 1)
    return quantity.size


def _find_keys(token: Token, *, is_last: bool) -> tuple[str, ...]:
    """Return the keys of a content word: of a date also its year, of a number that counts nothing that of any amount.

    Of "2 out of 3" they are both numbers: a text may have other words between them.
    """
    if token.measures == "fraction" and " " in token.spelling:  # 2 out of 3
        numbers = tuple(part for part in token.parts if part.replace(".", "").isdecimal())
        return numbers or (token.key,)
    if token.measures:
        year, _, _ = split_date(token.key)
        return (token.key, year) if year else (token.key,)
    no_noun_follows = is_last or token.ends_clause
    if token.kind == "number" and no_noun_follows and token.parts:
        return token.parts
    return (token.key,)


def _overlap(left: str, right: str) -> int:
    """Count the characters that one text begins with and the other ends with."""
    for size in range(len(right), 0, -1):
        if left.endswith(right[:size]):
            return size
    return 0
