"""Contexts that hold several passages in one text: which metrics say nothing about them, and what a run says instead."""

from __future__ import annotations

import shlex

from ctxmetrics.metrics.base import Metric

# Families of metrics over the texts of contexts whose value depends on how many contexts there are.
_RANKED_FAMILIES = frozenset({"precision", "string_precision"})


def reads_joined(metric: Metric, field: str) -> bool:
    """Whether the value of a metric says nothing where the texts of a list are joined into one."""
    compares_texts = "reference_contexts" in metric.requires
    return compares_texts or (field == "retrieved_contexts" and metric.family in _RANKED_FAMILIES)


def describe_joined(field: str, separator: str) -> str:
    """Say why a metric says nothing, and what to write."""
    noun = "context" if field == "retrieved_contexts" else "expected context"
    effect = "precision says nothing" if field == "retrieved_contexts" else "a comparison says nothing"
    return (
        f"the one {noun} of each sample holds several passages (separator {separator!r}), so that {effect}. "
        f"Write --split {shlex.quote(separator)} (in Python split=), or --one-context (one_context=True) if each is one passage"
    )
