"""What a person is asked about a sample: each sentence of the reference, as the metric cuts it, and each context."""

from __future__ import annotations

from collections.abc import Collection

from ctxmetrics.comparison.answers import ASKED, Key, Question
from ctxmetrics.comparison.labelled import CONTEXTS, UNITS
from ctxmetrics.samples import Sample
from ctxmetrics.text import Span, detect_language, sentence_spans


def units_of(sample: Sample) -> tuple[Span, ...]:
    """Return where the sentences stand that the metric counts, in the reference."""
    reference = sample.reference or ""
    return sentence_spans(reference, detect_language(reference))


def questions_of(key: Key, sample: Sample, labels: Collection[str] = ASKED) -> list[Question]:
    """Return the questions about a sample: those about the sentences first."""
    reference = sample.reference or ""
    asked = [
        Question(key, UNITS, f"s{number}", reference[start:end])
        for number, (start, end) in enumerate(units_of(sample), 1)
    ]
    asked += [
        Question(key, CONTEXTS, f"c{number}") for number in range(1, len(sample.retrieved_contexts or ()) + 1)
    ]
    return [question for question in asked if question.label in labels]
