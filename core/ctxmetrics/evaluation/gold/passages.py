"""The passages among which gold is looked for: a corpus, or what was retrieved where there is none.

Words lead to passages by an inverted index: what a search reads does not grow with the corpus.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from math import log

import numpy as np
from numpy.typing import NDArray

from ctxmetrics._internal.forks import cached_property
from ctxmetrics.evaluation.retrievers.corpus import Chunk, Corpus
from ctxmetrics.judges.evidence.chunks import Token
from ctxmetrics.judges.evidence.compared_text import ComparedText
from ctxmetrics.judges.evidence.words import tokenize
from ctxmetrics.samples.sample import Sample
from ctxmetrics.text.normal_form import normalise
from ctxmetrics.text.visible import see

# The maximum number of entries of the index that one search reads. It begins with rare words.
_MAX_INDEX_ENTRIES = 6_000
# A word counts at most so often in a passage: an entry has two bytes.
_MAX_COUNT = 65_535
# The parameters of BM25.
_BM25_K1 = 1.5
_BM25_B = 0.75


def read_words(text: str) -> Sequence[Token]:
    """Read the words of a text that are visible to a reader."""
    return tokenize(see(text).text)


def read_compared(text: str, language: str) -> ComparedText:
    """Read the visible words of a text for a comparison: their negations, and words that have a contrary."""
    return ComparedText(see(text).text, language)


class _Postings:
    """The passages that contain a word, in order, and how often each contains it."""

    __slots__ = ("counts", "places")

    def __init__(self) -> None:
        self.places: array[int] = array("I")
        self.counts: array[int] = array("H")

    def count(self, place: int) -> int:
        """Count how often a passage contains the word."""
        number = bisect_left(self.places, place)
        if number == len(self.places) or self.places[number] != place:
            return 0
        return self.counts[number]


class Passages:
    """The passages among which gold is looked for.

    Args:
        corpus: The corpus; None if there is none.
        samples: The samples, and the samples of runs. Without a corpus, their contexts are the passages.

    Attributes:
        is_corpus: Whether the passages are all that there are: then what is not among them is nowhere.
        chunks: The passages.
        places_by_id: The indexes of the passages of each id.
    """

    def __init__(self, corpus: Corpus | None, samples: Iterable[Sample]) -> None:
        self.is_corpus: bool = corpus is not None
        chunks = collect_chunks(samples) if corpus is None else corpus.chunks
        self.chunks: Sequence[Chunk] = chunks
        # The indexes of the passages with each id.
        self.places_by_id: dict[str, list[int]] = {}
        for place, chunk in enumerate(chunks):
            if chunk.id is not None:
                self.places_by_id.setdefault(chunk.id, []).append(place)

    def __len__(self) -> int:
        return len(self.chunks)

    @cached_property
    def _places_by_text(self) -> dict[int, int]:
        """The index of the first passage with each text, by the hash of the normalised text. Hashes take less memory."""
        places: dict[int, int] = {}
        for place, chunk in enumerate(self.chunks):
            places.setdefault(hash(normalise(chunk.text)), place)
        return places

    def find_text(self, text: str) -> int | None:
        """Find the passage with a text. Return None if there is none."""
        normalised = normalise(text)
        place = self._places_by_text.get(hash(normalised))
        if place is None or normalise(self.chunks[place].text) != normalised:
            return None
        return place

    def name(self, place: int) -> str:
        """Return the id of a passage, else the beginning of its text."""
        chunk = self.chunks[place]
        return shorten(chunk.text) if chunk.id is None else chunk.id

    @cached_property
    def _index(self) -> tuple[dict[str, _Postings], array[int]]:
        """The inverted index, and the number of words of each passage."""
        index: dict[str, _Postings] = {}
        lengths = array("I")
        for place, chunk in enumerate(self.chunks):
            keys = [token.key for token in read_words(chunk.text)]
            lengths.append(len(keys))
            for key, count in Counter(keys).items():
                postings = index.get(key)
                if postings is None:
                    postings = index[key] = _Postings()
                postings.places.append(place)
                postings.counts.append(min(_MAX_COUNT, count))
        return index, lengths

    @cached_property
    def _length_terms(self) -> NDArray[np.float64]:
        """The part of BM25's denominator that grows with the length of a passage, for each passage."""
        _, lengths = self._index
        mean = max(1.0, sum(lengths) / max(1, len(lengths)))
        shares = np.frombuffer(lengths, np.uint32).astype(np.float64) / mean
        return _BM25_K1 * (1 - _BM25_B + _BM25_B * shares)

    def find_words(self, place: int, keys: Iterable[str]) -> frozenset[str]:
        """Find the words that a passage or its title has, among some words.

        The text is not read again: the index has its words.

        Args:
            place: The index of the passage.
            keys: The keys of the words.
        """
        index, _ = self._index
        title = self.chunks[place].title
        title_keys = {word.key for word in read_words(title)} if title else frozenset[str]()
        return frozenset(
            key for key in keys if key in title_keys or (key in index and index[key].count(place))
        )

    def find_known(self, keys: Iterable[str]) -> frozenset[str]:
        """Find the words that at least one passage has, among some words."""
        index, _ = self._index
        return frozenset(key for key in keys if key in index)

    def count_words(self, place: int) -> int:
        """Return the number of words of a passage."""
        _, lengths = self._index
        return lengths[place]

    def count_common(self, place: int, word_counts: Mapping[str, int]) -> int:
        """Count the words that a passage has in common with a text. The passage is not read again: the index has its words.

        Args:
            place: The index of the passage.
            word_counts: How often the text has each word, by its key.
        """
        index, _ = self._index
        return sum(
            min(count, index[key].count(place)) for key, count in word_counts.items() if key in index
        )

    def search(
        self,
        keys: Iterable[str],
        most: int,
        *,
        without: Iterable[int] = (),
        most_words: int | None = None,
    ) -> list[int]:
        """Search the passages by words: BM25, with the rarest words where there are too many entries to read.

        Args:
            keys: The keys of the words.
            most: The maximum number of passages to return, the best first.
            without: Passages that are not returned.
            most_words: The maximum number of words to look for, the rarest first; None: all words.
        """
        index, _ = self._index
        length_terms = self._length_terms
        found_words = [index[key] for key in set(keys) if key in index]
        rare_first = sorted(found_words, key=lambda postings: len(postings.places))[:most_words]
        if not rare_first:
            return []
        # For each word: the places of the passages that have the word, and what the word adds to the score of each passage.
        places_by_word: list[NDArray[np.uint32]] = []
        scores_by_word: list[NDArray[np.float64]] = []
        entries_read = 0
        for postings in rare_first:
            passage_count = len(postings.places)
            if entries_read and entries_read + passage_count > _MAX_INDEX_ENTRIES:
                break
            entries_read += passage_count
            places = np.frombuffer(postings.places, np.uint32)
            counts = np.frombuffer(postings.counts, np.uint16)
            places_by_word.append(places)
            word_weight = self._weigh_count(passage_count)
            scores_by_word.append(word_weight * counts / (counts + length_terms[places]))
        matches, scores = _add_scores(np.concatenate(places_by_word), np.concatenate(scores_by_word))
        excluded = set(without)
        best_count = most + len(excluded)
        if len(matches) > best_count:
            # Sort only the best passages, and all that are as good as the last one of them.
            lowest_score = np.partition(scores, -best_count)[-best_count]
            best = np.flatnonzero(scores >= lowest_score)
            matches, scores = matches[best], scores[best]
        order = np.argsort(-scores, kind="stable")  # equal scores stay in the order of the passages
        best_places = matches[order[:best_count]].tolist()
        return [place for place in best_places if place not in excluded][:most]

    def weigh(self, key: str) -> float:
        """Weigh a word by how rare it is among the passages: its inverse document frequency, as BM25 has it."""
        index, _ = self._index
        return self._weigh_count(len(index[key].places) if key in index else 0)

    def _weigh_count(self, count: int) -> float:
        """Return the inverse document frequency of a word."""
        return log(1 + (len(self) - count + 0.5) / (count + 0.5))


def _add_scores(
    places: NDArray[np.uint32], scores: NDArray[np.float64]
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Add the scores of each passage.

    Args:
        places: The indexes of passages, with repetitions.
        scores: A score for each of them.

    Returns:
        The index of each passage once, in order, and the sum of its scores.
    """
    order = np.argsort(places, kind="stable")  # fast: the places of each word are sorted already
    sorted_places = places[order]
    is_first = np.ones(len(places), np.bool_)
    is_first[1:] = sorted_places[1:] != sorted_places[:-1]
    starts = np.flatnonzero(is_first)
    return sorted_places[starts], np.add.reduceat(scores[order], starts)


def collect_chunks(samples: Iterable[Sample]) -> list[Chunk]:
    """Collect the retrieved and the expected contexts of samples. Equal contexts are collected once."""
    # The key: the id of a context and its text.
    chunks: dict[tuple[str | None, str], Chunk] = {}
    for sample in samples:
        for texts, ids in (
            (sample.retrieved_contexts or (), sample.retrieved_context_ids or ()),
            (sample.reference_contexts or (), sample.reference_context_ids or ()),
        ):
            ids_of_texts = ids if len(ids) == len(texts) else ()
            for text, id_ in zip_longest(texts, ids_of_texts):
                chunks.setdefault((id_ or None, text), Chunk(text, id_ or None, ""))
    return list(chunks.values())


def shorten(text: str, most: int = 80) -> str:
    """Shorten a text to one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
