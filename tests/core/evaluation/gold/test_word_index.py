"""The index of words in flat arrays: which texts have a word, how often, and in how much memory."""

from __future__ import annotations

import tracemalloc
from itertools import chain

import pytest

from ctxmetrics.evaluation.gold import word_index
from ctxmetrics.evaluation.gold.word_index import WordIndex

TEXTS = [["red", "pump", "red"], [], ["blue", "pump"], ["red"], ["pump", "pump", "pump"]]


@pytest.mark.parametrize("block_size", [1, 2, 4_096])
def test_word_has_its_texts_and_counts(block_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "_BLOCK_SIZE", block_size)
    index = WordIndex(TEXTS)
    postings = {key: index.find(key) for key in ("red", "pump", "blue", "oven")}
    assert {key: [*map(int, found.places)] for key, found in postings.items()} == {
        "red": [0, 3],
        "pump": [0, 2, 4],
        "blue": [2],
        "oven": [],
    }
    assert {key: [*map(int, found.counts)] for key, found in postings.items()} == {
        "red": [2, 1],
        "pump": [1, 1, 3],
        "blue": [1],
        "oven": [],
    }
    assert [*index.lengths] == [3, 0, 2, 1, 3]
    assert ("red" in index, "oven" in index) == (True, False)
    assert [index.has(place, "pump") for place in range(5)] == [True, False, True, False, True]


def test_index_of_no_text_finds_nothing() -> None:
    index = WordIndex([])
    assert len(index.find("red").places) == 0
    assert not index.has(0, "red")


@pytest.mark.slow
def test_word_of_one_text_takes_little_memory() -> None:
    texts = [[f"w{number}-{word}" for word in range(10)] for number in range(2_000)]
    tracemalloc.start()
    index = WordIndex(texts)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    words = len({*chain.from_iterable(texts)})
    # A word's number and its entry in a dict, its start, one place and one count: 150 bytes. Two arrays a word take 250.
    assert held < 150 * words
    assert len(index.lengths) == 2_000
