"""The seven metrics: recall and precision, each judged, by string similarity and by id; and utilization."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.precision import (
    ContextPrecision,
    ContextUtilization,
    IDBasedContextPrecision,
    NonLLMContextPrecision,
)
from ctxmetrics.metrics.recall import ContextRecall, IDBasedContextRecall, NonLLMContextRecall

if TYPE_CHECKING:
    from collections.abc import Mapping

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
"""Every metric by its name."""

__all__ = [
    "METRICS",
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "IDBasedContextPrecision",
    "IDBasedContextRecall",
    "Metric",
    "NonLLMContextPrecision",
    "NonLLMContextRecall",
]
