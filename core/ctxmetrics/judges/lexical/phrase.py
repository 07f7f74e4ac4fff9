"""A unit or an answer, read: its content words, numbers and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.judges.lexical.words import (
    Token,
    base_language,
    has_typography,
    stop_words,
    tokens,
    words,
)
from ctxmetrics.text import Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

_NOUNS_ARE_CAPITALISED = frozenset(("de", "lb"))
_ALSO_NAMES = frozenset(("may", "will"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A unit or an answer, read.

    Attributes:
        text: The text.
        tokens: All its words, stop words included.
        content: Its content words by key, each with its first position among all words.
        sequence: The keys of its content words as they follow each other.
        numbers: The keys that are numbers.
        names: The keys that are names.
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
        stop = stop_words(language)
        has_names = not text.isupper() and base_language(language) not in _NOUNS_ARE_CAPITALISED
        found, spans = tokens(text), sentences(text)
        beginnings = _beginnings(text, spans) if has_names else frozenset()
        content: dict[str, int] = {}
        sequence: list[str] = []
        numbers: dict[str, None] = {}
        names: dict[str, None] = {}
        for position, token in enumerate(found):
            folded, is_word = token.folded, token.kind == "word"
            capitalised = token.capital and is_word and has_names and position not in beginnings
            if is_word and not capitalised and folded in stop:
                continue
            plain = is_word and not capitalised and len(folded) > 1
            if not plain and not _is_content(token, stop, capitalised=capitalised):
                continue
            key = token.key
            if key not in content:
                content[key] = position
                if token.kind == "number":
                    numbers[key] = None
            sequence.append(key)
            if capitalised and len(folded) > 1:  # one letter is an initial or a unit's symbol
                names[key] = None
        return cls(text, found, content, tuple(sequence), tuple(numbers), tuple(names), len(spans))

    def spelled(self, keys: Sequence[str]) -> tuple[str, ...]:
        """Return the words of these keys as the text writes them; overlapping pairs of characters are joined."""
        if not keys:
            return ()
        positions = sorted([self.content[key] for key in keys])
        chosen = [self.tokens[position] for position in positions]
        if "characters" not in [token.kind for token in chosen] and not has_typography(self.text):
            return tuple([token.spelling for token in chosen])
        places = words(self.text)
        spans: list[Span] = []
        for position in positions:
            *_, start, end = places[position]
            if spans and start < spans[-1].end:
                spans[-1] = Span(spans[-1].start, end)
            else:
                spans.append(Span(start, end))
        return tuple(self.text[span.start : span.end] for span in spans)


def _beginnings(text: str, spans: Sequence[Span]) -> frozenset[int]:
    """Return the positions of the words that begin a sentence."""
    if len(spans) == 1 and not text[: spans[0].start].strip():
        return frozenset((0,))
    remaining = list(spans)[::-1]
    firsts: set[int] = set()
    for position, word in enumerate(words(text)):
        begins = False
        while remaining and remaining[-1].start <= word.start:
            begins = remaining.pop().end > word.start
        if begins:
            firsts.add(position)
    return frozenset(firsts)


def _is_content(token: Token, stop: AbstractSet[str], *, capitalised: bool) -> bool:
    """Whether a word counts: it is no stop word, or spelled as a name."""
    if token.kind == "character":
        return False
    if token.kind in {"number", "characters"}:
        return True
    if len(token.folded) == 1 and token.folded.isascii():
        return capitalised and token.folded not in stop
    if token.folded not in stop:
        return True
    # US, WHO, IT; May, Will
    shouted = len(token.folded) > 1 and token.spelling.isupper()
    return capitalised and (shouted or token.folded in _ALSO_NAMES)
