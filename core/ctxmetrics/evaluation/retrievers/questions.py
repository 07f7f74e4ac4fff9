"""The questions that retrievers are asked, each with the expected items."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.evaluation.runs.sources import check_present, list_samples
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.unanswerable import LABEL
from ctxmetrics.text.character_spans import has_content

Questions: TypeAlias = Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str]
# What the calls of a retriever fill in.
_FIELDS_OF_RETRIEVAL = frozenset({"retrieved_contexts", "retrieved_context_ids", "stages", "searches"})
# Names of labels that are about a question, whatever was retrieved for it.
_LABEL_NAMES_OF_QUESTION = frozenset({LABEL, "relevance"})


def read_questions(questions: Questions, metrics: Sequence[Metric]) -> list[Sample]:
    """Read the questions and check that they have what the metrics need, before a retriever is asked.

    Raises:
        ParameterError: The questions are no samples.
        MissingFieldError: A question has no text, or no question has a field that a metric needs.
        SampleError: A question is malformed, or two questions have one id.
    """
    samples: list[Sample] = []
    for number, sample in enumerate(list_samples(questions, "compare_retrievers", "questions"), 1):
        if not has_content(sample.user_input or ""):
            raise MissingFieldError(
                f"{sample.called(f'Question {number}')} has no user_input: there is nothing to ask a retriever."
            )
        samples.append(_to_question(sample))
    if not samples:
        raise ParameterError("compare_retrievers: there is no question.")
    required_fields = {name for metric in metrics for name in metric.requires} - _FIELDS_OF_RETRIEVAL
    missing_fields = {
        name for name in required_fields if not any(sample.has(name) for sample in samples)
    }
    if missing_fields:
        check_present(metrics, missing_fields)
    return samples


def _to_question(sample: Sample) -> Sample:
    """Return a sample without what was retrieved for it before, and without the labels about that."""
    labels = {name: value for name, value in sample.labels.items() if name in _LABEL_NAMES_OF_QUESTION}
    return replace(
        sample,
        retrieved_contexts=None,
        retrieved_context_ids=None,
        stages=None,
        searches=None,
        labels=labels,
    )
