"""Where chunks stand in their sources: found in the text, never guessed.

A chunk is looked for without its white space and in folded case, which an exact copy passes too. Every 12th piece of 12
characters of a source is looked up among all such pieces of the chunks' beginnings, so that the time grows with the
length of the sources and not with the number of chunks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from pathlib import Path

from ctxmetrics.errors import InputFileError
from ctxmetrics.formulas import Span

_PIECE = 12
_BLOCK = 4096
# Exact places of a chunk in one source: two say that it stands there several times.
_ENOUGH = 2


@dataclass(slots=True)
class Places:
    """Where one chunk stands.

    Attributes:
        exact: The spans that hold the chunk to the letter; of one source the first two.
        loose: Further spans, which hold it with other white space or case.
    """

    exact: list[Span] = field(default_factory=list)
    loose: list[Span] = field(default_factory=list)

    def within(self, source: str | None) -> list[Span]:
        """Return the spans that count: the exact ones, else the loose ones; of a source where it is named."""
        kept = [
            [span for span in spans if source is None or span[0] == source]
            for spans in (self.exact, self.loose)
        ]
        return kept[0] or kept[1]


def locate(chunks: Sequence[str], sources: Iterable[tuple[str, str]]) -> list[Places]:
    """Find the places of chunks in sources.

    Args:
        chunks: The texts. One without any character but white space is found nowhere.
        sources: Names and texts; one text is in memory at a time.

    Returns:
        The places of each chunk, in the order of the chunks.
    """
    folded = [_folded(chunk) for chunk in chunks]
    long = [number for number, text in enumerate(folded) if len(text) >= 2 * _PIECE - 1]
    short = [number for number, text in enumerate(folded) if 0 < len(text) < 2 * _PIECE - 1]
    pieces: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number in long:
        for offset in range(_PIECE):
            pieces[folded[number][offset : offset + _PIECE]].append((number, offset))
    places = [Places() for _ in chunks]
    for name, text in sources:
        source, exact = _Source(name, text), Counter[int]()
        hits = chain(_long_hits(source, folded, pieces), _short_hits(source, folded, short, exact))
        for number, begin in hits:
            if exact[number] < _ENOUGH:
                span, same = source.span(chunks[number], begin, len(folded[number]))
                exact[number] += same
                (places[number].exact if same else places[number].loose).append(span)
    return places


def read_sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the text files under a folder: the path from there, with slashes, and the text.

    A file is read as UTF-8, and an end of line is one character, as Python's ``open`` reads it. Files and folders whose
    names begin with a dot are left out.

    Raises:
        InputFileError: The folder is not there, or a file cannot be read as text.
    """
    if not folder.is_dir():
        raise InputFileError(f"{folder}: no such folder. Give the folder of the sources.")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in name.parts):
            try:
                yield name.as_posix(), path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise InputFileError(
                    f"{path}: not UTF-8 at byte {error.start}. Save it as UTF-8, or give a folder of texts only."
                ) from None
            except OSError as error:
                raise InputFileError(
                    f"{path}: cannot be read: {error.strerror}. Check the file."
                ) from None


class _Source:
    """A source, its folded text, and the way from a place in the folded text to the one in the text."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        blocks = [_folded(text[at : at + _BLOCK]) for at in range(0, len(text), _BLOCK)]
        self.folded = "".join(blocks)
        self._ends = list(accumulate(map(len, blocks)))

    def span(self, chunk: str, begin: int, length: int) -> tuple[Span, bool]:
        """Return the span of a chunk whose folded text begins at a place, and whether it is there to the letter."""
        first = self._place(begin)
        start = first - (len(chunk) - len(chunk.lstrip()))
        if start >= 0 and self.text.startswith(chunk, start):
            return (self.name, start, start + len(chunk)), True
        return (self.name, first, self._place(begin + length - 1) + 1), False

    def _place(self, at: int) -> int:
        """Return which character of the text gave a character of the folded text."""
        block = bisect_right(self._ends, at)
        count, place = self._ends[block - 1] if block else 0, block * _BLOCK
        while True:
            count += len(_folded(self.text[place]))
            if count > at:
                return place
            place += 1


def _folded(text: str) -> str:
    return "".join(text.casefold().split())


def _long_hits(
    source: _Source, folded: Sequence[str], pieces: dict[str, list[tuple[int, int]]]
) -> Iterator[tuple[int, int]]:
    text = source.folded
    for at in range(0, len(text) - _PIECE + 1, _PIECE):
        for number, offset in pieces.get(text[at : at + _PIECE], ()):
            if at >= offset and text.startswith(folded[number], at - offset):
                yield number, at - offset


def _short_hits(
    source: _Source, folded: Sequence[str], short: Sequence[int], exact: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    for number in short:
        begin = source.folded.find(folded[number])
        while begin >= 0 and exact[number] < _ENOUGH:
            yield number, begin
            begin = source.folded.find(folded[number], begin + 1)
