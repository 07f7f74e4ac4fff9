"""The metrics: judged, by string similarity, over ids and over spans; and the way from a name to a metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.metrics.base import Metric, registered_metrics
from ctxmetrics.metrics.ids import (
    IDBasedAveragePrecision,
    IDBasedCompleteness,
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

# Every metric by its name, and those that run where none is named.
ALL_METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {metric.base_name: metric for metric in registered_metrics()}
)
METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {name: metric for name, metric in ALL_METRICS.items() if metric.runs_by_default}
)

_NAME = re.compile(r"(\w+)(?:\((.*)\))?\Z", re.DOTALL)

__all__ = [
    "ALL_METRICS", "METRICS", "ContextPrecision", "ContextRecall", "ContextUtilization", "IDBasedAveragePrecision",
    "IDBasedCompleteness", "IDBasedContextPrecision", "IDBasedContextRecall", "IDBasedHitRate", "IDBasedNDCG",
    "IDBasedPrecisionAtK", "IDBasedRecallAtK", "IDBasedReciprocalRank", "Metric", "NonLLMContextPrecision",
    "NonLLMContextRecall", "SpanBasedContextPrecision", "SpanBasedContextRecall", "metric_named", "parsed",
]  # fmt: skip


def metric_named(name: str, convention: str = "default") -> Metric | None:
    """Return the metric of a name; None where the library has none of it, or a parameter is a function."""
    base, parameters = parsed(name)
    if base not in ALL_METRICS:
        return None
    try:
        return ALL_METRICS[base](**{"convention": convention, **parameters})
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
    parameters: dict[str, Any] = {}
    for part in (match.group(2) or "").split(","):
        pair = part.strip()
        if not pair:
            continue
        key, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"metric {text!r}: {pair!r} is no parameter=value.")
        parameters[key.strip()] = _value(value.strip())
    return match.group(1), parameters


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
