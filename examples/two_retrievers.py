"""Two retrievers on the same questions: which is better, by how much, and what did the other one lose?

The corpus is every chunk of the handbook data set; both retrievers rank it by words. Put yours in their place.

Run it: python examples/two_retrievers.py
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    compare,
    evaluate,
    read_samples,
)

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
SAMPLES = [sample for sample in read_samples(HANDBOOK) if sample.metadata["language"] == "en"]
CORPUS = {
    id_: text
    for sample in SAMPLES
    for id_, text in zip(
        sample.retrieved_context_ids or (), sample.retrieved_contexts or (), strict=True
    )
}
METRICS = [ContextRecall(), ContextPrecision(), IDBasedContextRecall()]
K = 5


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


HOLDING = Counter(word for text in CORPUS.values() for word in words(text))


def by_shared_words(question: str, text: str) -> float:
    return len(words(question) & words(text))


def by_rare_words(question: str, text: str) -> float:
    return sum(math.log(len(CORPUS) / HOLDING[word]) for word in words(question) & words(text))


def retrieved(rank):
    """Return the samples with what a retriever found: the k texts that ``rank`` puts first."""
    for sample in SAMPLES:
        best = sorted(CORPUS, key=lambda id_: -rank(sample.user_input, CORPUS[id_]))[:K]
        yield replace(
            sample, retrieved_contexts=[CORPUS[id_] for id_ in best], retrieved_context_ids=best
        )


def main() -> None:
    first = evaluate(retrieved(by_shared_words), METRICS, progress=False)
    second = evaluate(retrieved(by_rare_words), METRICS, progress=False)
    comparison = compare(first, second)
    print(comparison)
    recall = comparison["context_recall"]
    print(f"\nrare words against shared words: recall {recall.difference:+.3f}, {recall.verdict}")


if __name__ == "__main__":
    main()
