"""The metrics: judged, by string similarity, over ids and over spans."""

from __future__ import annotations

from collections.abc import Mapping

# Each metric's class with its module: `ctxmetrics`, the command line, the adapters and the docs read this table.
METRIC_MODULES: Mapping[str, str] = {
    "ContextRecall": "ctxmetrics.metrics.judged",
    "ContextPrecision": "ctxmetrics.metrics.judged",
    "ContextUtilization": "ctxmetrics.metrics.judged",
    "NonLLMContextRecall": "ctxmetrics.metrics.strings",
    "NonLLMContextPrecision": "ctxmetrics.metrics.strings",
    "IDBasedContextRecall": "ctxmetrics.metrics.ids",
    "IDBasedContextPrecision": "ctxmetrics.metrics.ids",
    "IDBasedAveragePrecision": "ctxmetrics.metrics.ids",
    "IDBasedNDCG": "ctxmetrics.metrics.ids",
    "IDBasedReciprocalRank": "ctxmetrics.metrics.ids",
    "IDBasedHitRate": "ctxmetrics.metrics.ids",
    "IDBasedCompleteness": "ctxmetrics.metrics.ids",
    "IDBasedPrecisionAtK": "ctxmetrics.metrics.ids",
    "IDBasedRecallAtK": "ctxmetrics.metrics.ids",
    "SpanBasedContextRecall": "ctxmetrics.metrics.spans",
    "SpanBasedContextPrecision": "ctxmetrics.metrics.spans",
}
