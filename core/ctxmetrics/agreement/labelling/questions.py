"""What a person is asked about a sample: each sentence of the reference, as the metric cuts it, and each context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics.comparison.labelled import CONTEXTS, UNITS
from ctxmetrics.text import detect_language, sentence_spans

if TYPE_CHECKING:
    from collections.abc import Collection

    from ctxmetrics.agreement.labelling.draw import Key
    from ctxmetrics.samples import Sample
    from ctxmetrics.text import Span

# The labels that a person is asked for, in this order.
ASKED = (UNITS, CONTEXTS)


@dataclass(frozen=True, slots=True)
class Question:
    """One question about one sample.

    Attributes:
        key: The sample; see `ctxmetrics.agreement.labelling.draw.key_of`.
        label: ``unit_supported``: is this sentence stated by the contexts? ``context_useful``: is this context useful?
        item: ``s1``, ``s2`` .. for sentences, ``c1``, ``c2`` .. for contexts, as in verdicts.
        text: The sentence; empty for a context.
    """

    key: Key
    label: str
    item: str
    text: str = ""


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
