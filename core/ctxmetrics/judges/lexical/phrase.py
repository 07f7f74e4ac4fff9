"""A unit or an answer, read: its content words, numbers and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics.judges.lexical.sentences import sentences
from ctxmetrics.judges.lexical.words import Word, base_language, stop_words, words
from ctxmetrics.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

_NOUNS_ARE_CAPITALISED = frozenset(("de", "lb"))
_ALSO_NAMES = frozenset(("may", "will"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """A unit or an answer, read.

    Attributes:
        text: The text.
        words: All its words, stop words included.
        content: Its content words by key, each where it first stands.
        sequence: Its content words as they follow each other.
        numbers: The keys that are numbers.
        names: The keys that are names.
        sentences: How many sentences it has.
    """

    text: str
    words: tuple[Word, ...]
    content: Mapping[str, Word]
    sequence: tuple[Word, ...]
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    sentences: int

    @classmethod
    def of(cls, text: str, language: str) -> Phrase:
        """Read a text; the language chooses the stop words."""
        stop = stop_words(language)
        has_names = not text.isupper() and base_language(language) not in _NOUNS_ARE_CAPITALISED
        found, spans = tuple(words(text)), tuple(sentences(text))
        beginnings = _beginnings(found, spans)
        content: dict[str, Word] = {}
        sequence: list[Word] = []
        names: dict[str, None] = {}
        for word in found:
            capitalised = (
                has_names
                and word.kind == "word"
                and text[word.start].isupper()
                and word.start not in beginnings
            )
            plain = word.kind == "word" and len(word.folded) > 1 and word.folded not in stop
            if not plain and not is_content(word, text, stop, capitalised=capitalised):
                continue
            content.setdefault(word.key, word)
            sequence.append(word)
            if capitalised and len(word.folded) > 1:  # one letter is an initial or a unit's symbol
                names[word.key] = None
        numbers = tuple(key for key, word in content.items() if word.kind == "number")
        return cls(text, found, content, tuple(sequence), numbers, tuple(names), len(spans))

    def spelled(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Return the words of these keys as the text writes them; overlapping pairs of characters are joined."""
        found = sorted((self.content[key].start, self.content[key].end) for key in keys)
        spans: list[Span] = []
        for start, end in found:
            if spans and start < spans[-1].end:
                spans[-1] = Span(spans[-1].start, end)
            else:
                spans.append(Span(start, end))
        return tuple(self.text[span.start : span.end] for span in spans)


def _beginnings(found: Iterable[Word], spans: Iterable[Span]) -> frozenset[int]:
    """Return where the first word of each sentence begins."""
    remaining = list(spans)[::-1]
    firsts: set[int] = set()
    for word in found:
        begins = False
        while remaining and remaining[-1].start <= word.start:
            begins = remaining.pop().end > word.start
        if begins:
            firsts.add(word.start)
    return frozenset(firsts)


def is_content(word: Word, text: str, stop: AbstractSet[str], *, capitalised: bool) -> bool:
    """Whether a word counts: it is no stop word, or spelled as a name."""
    if word.kind == "character":
        return False
    if word.kind in {"number", "characters"}:
        return True
    if len(word.folded) == 1 and word.folded.isascii():
        return capitalised and word.folded not in stop
    if word.folded not in stop:
        return True
    # US, WHO, IT; May, Will
    shouted = len(word.folded) > 1 and text[word.start : word.end].isupper()
    return capitalised and (shouted or word.folded in _ALSO_NAMES)
