"""All metrics of the library by their names."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import get_args

from ctxmetrics._internal.call_text import parse_call
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.metrics import METRIC_MODULES
from ctxmetrics.metrics.base import Metric
from ctxmetrics.scores.conventions import Family


def _load_metrics() -> list[type[Metric]]:
    """Load the classes of all metrics: first those that run if the user names no metric, then the others, by family."""
    metrics: list[type[Metric]] = [
        getattr(import_module(module), name) for name, module in METRIC_MODULES.items()
    ]
    families = get_args(Family)
    metrics.sort(key=lambda metric: families.index(metric.family))
    metrics.sort(key=lambda metric: metric.runs_by_default, reverse=True)
    return metrics


# Every metric by its name, and those that run if the user names no metric.
ALL_METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {metric.base_name: metric for metric in _load_metrics()}
)
METRICS: Mapping[str, type[Metric]] = MappingProxyType(
    {name: metric for name, metric in ALL_METRICS.items() if metric.runs_by_default}
)


def find_metric(name: str, convention: str = "default") -> Metric | None:
    """Find the metric of a name such as ``context_recall(top_k=5)``.

    Returns:
        The metric; None if the library has no such metric, or a parameter of it is a function, which no name can hold.
    """
    base, parameters = parse_call(name)
    if base not in ALL_METRICS:
        return None
    try:
        return ALL_METRICS[base](**{"convention": convention, **parameters})
    except CtxMetricsError:
        return None
