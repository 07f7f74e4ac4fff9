"""Contexts that hold several passages in one text: the metrics that cannot score them, and a note about it."""

from __future__ import annotations

import shlex

from ctxmetrics.metrics.base import Metric

# The families of metrics over texts whose value depends on the number of contexts.
_RANKED_FAMILIES = frozenset({"precision", "string_precision"})


def reads_unsplit_passages(metric: Metric, field: str) -> bool:
    """Tell whether the value of a metric is meaningless if all passages of a field are joined in one text."""
    compares_texts = "reference_contexts" in metric.requires
    return compares_texts or (field == "retrieved_contexts" and metric.family in _RANKED_FAMILIES)


def describe_unsplit_passages(field: str, separator: str) -> str:
    """Explain why a metric is meaningless for joined passages, and which option helps."""
    noun = "context" if field == "retrieved_contexts" else "expected context"
    effect = "precision says nothing" if field == "retrieved_contexts" else "a comparison says nothing"
    return (
        f"the one {noun} of each sample holds several passages (separator {separator!r}), so that {effect}. "
        f"Write --split {shlex.quote(separator)} (in Python split=), or --one-context (one_context=True) if each is one passage"
    )
