"""A unit or an answer, read: its content words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxmetrics.judges.evidence.words import LISTS, Token, base_language, listed, tokens
from ctxmetrics.judges.lexical.index import sentences

_NOUNS_ARE_CAPITALISED = frozenset(("de", "lb"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A unit or an answer, read.

    Attributes:
        text: The text.
        tokens: All its words, stop words included; without those of a lead-in ("According to the retrieved text, ..").
        content: Its content words by key, each with its first position among all words.
        sequence: The keys of its content words as they follow each other.
        numbers: The keys that are numbers.
        names: The keys that are names: capitalised words of two letters or more that begin no sentence.
        sentences: How many sentences it has.
    """

    text: str
    tokens: Sequence[Token]
    content: Mapping[str, int]
    sequence: tuple[str, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    sentences: int

    @classmethod
    def of(cls, text: str, language: str) -> Phrase:
        """Read a text; the language chooses the stop words."""
        stop = listed("stop", language)
        has_names = not text.isupper() and base_language(language) not in _NOUNS_ARE_CAPITALISED
        lead_in = re.match(LISTS["lead_in"].get(base_language(language), ""), text, re.IGNORECASE)
        body = text[lead_in.end() :] if lead_in else text
        spans = sentences(body)
        words: list[Token] = []
        content: dict[str, int] = {}
        sequence: list[str] = []
        names: dict[str, None] = {}
        for span in spans:
            first = len(words)
            words += tokens(body[span.start : span.end])
            for position, token in enumerate(words[first:], first):
                written, long = token.spelling, len(token.folded) > 1
                named = has_names and position > first and token.kind == "word" and written[0].isupper()
                if token.kind in {"number", "characters", "character"}:
                    counts = token.kind != "character"
                elif token.folded in stop:  # US, WHO, IT
                    counts = named and long and written.isupper()
                else:
                    counts = named or long or not token.folded.isascii()
                if counts:
                    content.setdefault(token.key, position)
                    sequence.append(token.key)
                if counts and named and long:  # one letter is an initial or a unit's symbol
                    names[token.key] = None
        numbers = tuple(key for key, position in content.items() if words[position].kind == "number")
        return cls(text, words, content, tuple(sequence), numbers, tuple(names), len(spans))

    def spelled(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the words of these keys as the text writes them; overlapping pairs of characters are joined."""
        words: list[str] = []
        before = -1
        for position in sorted(self.content[key] for key in keys):
            spelling, shared = self.tokens[position].spelling, 0
            if self.tokens[position].kind == "characters" and before == position - 1 and words:
                shared = _overlap(words[-1], spelling)
            if shared:
                words[-1] += spelling[shared:]
            else:
                words.append(spelling)
            before = position
        return tuple(words)


def _overlap(left: str, right: str) -> int:
    """Count the characters that one text begins with and the other ends with."""
    for size in range(len(right), 0, -1):
        if left.endswith(right[:size]):
            return size
    return 0
