"""An index of words in flat arrays: the texts that have a word, and how often each has it.

An object for each word would take more memory than the texts: most words stand in one text only.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# A word counts at most so often in a text: a count has two bytes.
_MAX_COUNT = 65_535
# The number of texts whose words are sorted together. The place of a text within its block has two bytes.
_BLOCK_SIZE = 4_096


class Postings(NamedTuple):
    """The texts that have a word.

    Attributes:
        places: The indexes of the texts, in order.
        counts: How often each of these texts has the word.
    """

    places: NDArray[np.uint32]
    counts: NDArray[np.uint16]


class _Block(NamedTuple):
    """The words of some consecutive texts, each word of a text once, in the order of the texts.

    Attributes:
        words: The numbers of the words.
        places: For each word, the index of its text within the block.
        counts: How often the text has the word.
    """

    words: array[int]
    places: array[int]
    counts: array[int]

    @classmethod
    def start(cls) -> _Block:
        """Start a block without words."""
        return cls(array("I"), array("H"), array("H"))


class WordIndex:
    """The words of some texts.

    Args:
        texts: The keys of the words of each text.

    Attributes:
        lengths: The number of words of each text.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        self.lengths: array[int] = array("I")
        # A number for each word, in the order in which the words are met.
        self._numbers: dict[str, int] = {}
        blocks = self._read(texts)
        text_counts = np.zeros(len(self._numbers), np.int64)
        for block in blocks:
            text_counts += np.bincount(block.words, minlength=len(self._numbers))
        # The texts of a word are those from its start to the start of the next word.
        self._starts: NDArray[np.uint32] = np.concatenate([[0], np.cumsum(text_counts)]).astype(
            np.uint32
        )
        self._places: NDArray[np.uint32] = np.empty(self._starts[-1], np.uint32)
        self._counts: NDArray[np.uint16] = np.empty(self._starts[-1], np.uint16)
        self._sort(blocks)

    def __contains__(self, key: str) -> bool:
        return key in self._numbers

    def find(self, key: str) -> Postings:
        """Find the texts that have a word."""
        number = self._numbers.get(key)
        if number is None:
            return Postings(self._places[:0], self._counts[:0])
        texts = slice(self._starts[number], self._starts[number + 1])
        return Postings(self._places[texts], self._counts[texts])

    def has(self, place: int, key: str) -> bool:
        """Tell whether a text has a word."""
        places = self.find(key).places
        position = int(np.searchsorted(places, place))
        return position < len(places) and int(places[position]) == place

    def _read(self, texts: Iterable[Sequence[str]]) -> list[_Block]:
        """Read the words of all texts."""
        blocks: list[_Block] = []
        for place, keys in enumerate(texts):
            if place % _BLOCK_SIZE == 0:
                blocks.append(_Block.start())
            block = blocks[-1]
            self.lengths.append(len(keys))
            for key, count in Counter(keys).items():
                block.words.append(self._numbers.setdefault(key, len(self._numbers)))
                block.places.append(place % _BLOCK_SIZE)
                block.counts.append(min(_MAX_COUNT, count))
        return blocks

    def _sort(self, blocks: list[_Block]) -> None:
        """Write the texts of each word one after another. The list of blocks is empty afterwards."""
        # Where the next text of each word is written.
        ends = self._starts[:-1].astype(np.int64)
        first_place = 0
        blocks.reverse()
        while blocks:
            block = blocks.pop()  # its memory is free for the next one
            words = np.frombuffer(block.words, np.uint32)
            order = np.argsort(words, kind="stable")  # the texts of a word stay in order
            words = words[order]
            distinct_words, firsts, sizes = np.unique(words, return_index=True, return_counts=True)
            rank_in_word = np.arange(len(words)) - np.repeat(firsts, sizes)
            positions = ends[words] + rank_in_word
            self._places[positions] = np.frombuffer(block.places, np.uint16)[order] + np.uint32(
                first_place
            )
            self._counts[positions] = np.frombuffer(block.counts, np.uint16)[order]
            ends[distinct_words] += sizes
            first_place += _BLOCK_SIZE
