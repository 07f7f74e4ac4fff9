"""The search among the passages: what it finds, and what it reads."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from ctxmetrics.evaluation.gold.passages import Passages
from ctxmetrics.evaluation.retrievers.corpus import Chunk, Corpus


def make_passages(*texts: str) -> Passages:
    chunks = tuple(Chunk(text, str(place), "") for place, text in enumerate(texts))
    return Passages(Corpus(chunks, ""), [])


def test_search_ranks_by_bm25_without_some() -> None:
    passages = make_passages(
        "red pump",
        "red pump of the long hall beside the river",
        "blue oven",
        "red pump",
        "red red pump",
    )
    assert passages.search(["pump", "red"], 9) == [4, 0, 3, 1]
    assert passages.search(["pump", "red"], 2, without=(4, 0, 2)) == [3, 1]
    assert passages.search(["oven", "red"], 1) == [2]
    assert passages.search(["cellar"], 3) == []


@pytest.mark.slow
def test_search_of_a_rare_word_reads_no_other_passage() -> None:
    source = random.Random(1)
    texts = [" ".join(f"w{source.randrange(500)}" for _ in range(3)) for _ in range(8_000)]
    passages = make_passages(*texts, "a ring in the hay")
    passages.search(["ring"], 3)  # builds the index
    peaks: list[int] = []
    for _ in range(5):  # another thread may allocate during one of them
        tracemalloc.start()
        found = passages.search(["ring"], 3)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found == [8_000]
    assert min(peaks) < 8 * len(passages) / 2  # half of one number for each passage
