"""The metrics: judged, by string similarity, over ids and over spans."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.ids import (
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedHitRate,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
)
from ctxmetrics.metrics.judged import ContextPrecision, ContextRecall, ContextUtilization
from ctxmetrics.metrics.spans import SpanBasedContextPrecision, SpanBasedContextRecall
from ctxmetrics.metrics.strings import NonLLMContextPrecision, NonLLMContextRecall

# The metrics that are used where none is named, by name.
METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {
        metric.base_name: metric
        for metric in (
            ContextRecall,
            ContextPrecision,
            ContextUtilization,
            NonLLMContextRecall,
            NonLLMContextPrecision,
            IDBasedContextRecall,
            IDBasedContextPrecision,
        )
    }
)
# Every metric by its name: those, and the ones that are used on request.
ALL_METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {
        **METRICS,
        **{
            metric.base_name: metric
            for metric in (
                IDBasedNDCG,
                IDBasedReciprocalRank,
                IDBasedHitRate,
                IDBasedPrecisionAtK,
                IDBasedRecallAtK,
                SpanBasedContextRecall,
                SpanBasedContextPrecision,
            )
        },
    }
)

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "IDBasedContextPrecision",
    "IDBasedContextRecall",
    "IDBasedHitRate",
    "IDBasedNDCG",
    "IDBasedPrecisionAtK",
    "IDBasedRecallAtK",
    "IDBasedReciprocalRank",
    "Metric",
    "NonLLMContextPrecision",
    "NonLLMContextRecall",
    "SpanBasedContextPrecision",
    "SpanBasedContextRecall",
]
