"""Four ways to cut a text into chunks, compared by one set of labels: places in the text that a judge quoted.

The retriever counts common words. Put yours, and your splitter, in their place.

Run it: python examples/two_chunkings.py
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ctxmetrics import (
    ContextRecall,
    SpanBasedContextPrecision,
    SpanBasedContextRecall,
    evaluate,
    read_samples,
)

SAMPLES = list(read_samples(Path(__file__).with_name("handbook.jsonl")))
HANDBOOK = "\n\n".join(dict.fromkeys(text for sample in SAMPLES for text in sample.retrieved_contexts))
LONGEST = 800
"""Characters that are retrieved for each question, so that all ways are compared at the same size."""


def span(start, end):
    return f"handbook.md#char={start},{end}"


def span_of(text):
    start = HANDBOOK.index(text)
    return span(start, start + len(text))


def find_labels():
    """Return the places that a judge quotes, by question."""
    judged = [
        replace(
            sample,
            retrieved_context_ids=[span_of(text) for text in sample.retrieved_contexts],
            reference_context_ids=None,
            labels={},
        )
        for sample in SAMPLES
    ]
    labelled = evaluate(judged, [ContextRecall()], progress=False).reference_spans()
    return {item.id: item.reference_context_ids for item in labelled if item.reference_context_ids}


def cut(size):
    return [(start, min(start + size, len(HANDBOOK))) for start in range(0, len(HANDBOOK), size)]


CHUNKINGS = {
    "150 characters": cut(150),
    "400 characters": cut(400),
    "paragraphs": [match.span() for match in re.finditer(r"\S(?:.|\n(?!\n))*", HANDBOOK)],
    "the whole text": [(0, len(HANDBOOK))],
}


def retrieve(question, chunking):
    words = set(re.findall(r"\w{4,}", question.lower()))

    def count_common(chunk):
        return len(words & set(re.findall(r"\w{4,}", HANDBOOK[slice(*chunk)].lower())))

    taken = []
    for chunk in sorted(chunking, key=count_common, reverse=True):
        if taken and sum(end - start for start, end in taken) >= LONGEST:
            break
        taken.append(chunk)
    return taken


def score(chunking, labels):
    samples = [
        replace(
            sample,
            retrieved_contexts=None,
            retrieved_context_ids=[span(*chunk) for chunk in retrieve(sample.user_input, chunking)],
            reference_context_ids=labels[sample.id],
            labels={},
        )
        for sample in SAMPLES
        if sample.id in labels
    ]
    return evaluate(samples, [SpanBasedContextRecall(), SpanBasedContextPrecision()], progress=False)


def main():
    labels = find_labels()
    runs = {name: score(chunking, labels) for name, chunking in CHUNKINGS.items()}
    for name, run in runs.items():
        recall, precision = (
            run.summary()[f"span_based_context_{kind}"].mean for kind in ("recall", "precision")
        )
        print(f"{name:15} recall {recall:.2f}  precision {precision:.2f}")
    print(runs["150 characters"].compare(runs["400 characters"]))  # with an interval, sample by sample


if __name__ == "__main__":
    main()
