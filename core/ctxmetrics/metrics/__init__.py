"""The metrics: judged, by string similarity, over ids and over spans; and the way from a name to a metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.ids import (
    IDBasedAveragePrecision,
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
# Every metric by its name: the metrics above, and those that are used on request.
ALL_METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {
        **METRICS,
        **{
            metric.base_name: metric
            for metric in (
                IDBasedNDCG,
                IDBasedAveragePrecision,
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

_NAME = re.compile(r"(\w+)(?:\((.*)\))?\Z", re.DOTALL)

__all__ = [
    "ALL_METRICS",
    "METRICS",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "IDBasedAveragePrecision",
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
    "metric_named",
    "parsed",
]


def metric_named(name: str, convention: str = "default") -> Metric | None:
    """Return the metric of a name; None where the library has none of it, or a parameter is a function."""
    base, given = parsed(name)
    try:
        return ALL_METRICS[base](**{"convention": convention, **given}) if base in ALL_METRICS else None
    except CtxMetricsError:
        return None


def parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name(parameter=value, ..)`` into the name and the parameters.

    Raises:
        ParameterError: A parameter is not written so.
    """
    match = _NAME.match(text.strip())
    if match is None:
        return text, {}
    given: dict[str, Any] = {}
    for pair in filter(None, (part.strip() for part in (match.group(2) or "").split(","))):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"metric {text!r}: {pair!r} is no parameter=value.")
        given[key.strip()] = _value(value.strip())
    return match.group(1), given


def _value(text: str) -> Any:
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text.strip("'\"")
