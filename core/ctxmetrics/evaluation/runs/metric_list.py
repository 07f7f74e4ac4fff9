"""The metrics of a run: each is checked, and gets its judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.metrics.judging import JudgedMetric, get_default_judge
from ctxmetrics.metrics.metric_names import read_metric
from ctxmetrics.samples.field_keys import FIELDS
from ctxmetrics.samples.sample import Sample


def check_metrics(metrics: Sequence[Metric | str], judge: Judge | str | None) -> tuple[Metric, ...]:
    """Return the metrics with their judges. A text names a metric or a judge as on the command line.

    Raises:
        ParameterError: An item is no metric, two metrics have one name, a name cannot be used, or the list is empty.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """
    if isinstance(metrics, (str, Metric, type)) or not isinstance(metrics, Iterable):
        raise ParameterError(
            f"evaluate: metrics must be a list of metrics. Write {_suggest_list(metrics)} for a single one."
        )
    judge = coerce_text(judge)
    checked: list[Metric] = []
    for item in metrics:
        metric: Any = read_metric(item) if isinstance(item, str) else item
        if isinstance(metric, type) and issubclass(metric, Metric):
            raise ParameterError(f"evaluate: {metric.__name__} is a class. Write {metric.__name__}().")
        if not isinstance(metric, Metric):
            advice = "An adapter's metric belongs into its framework."
            if isinstance(metric, (Sample, Mapping)):
                advice = "Write the samples first: evaluate(samples, metrics)."
            raise ParameterError(
                f"evaluate: {type(metric).__name__} is no metric of ctxmetrics. {advice}"
            )
        _check_name(metric)
        if isinstance(metric, JudgedMetric) and metric.judge is None:
            metric = replace(metric, judge=judge or get_default_judge())
        checked.append(metric)
    if not checked:
        raise ParameterError("evaluate: metrics is empty. Write [ContextRecall()], for example.")
    names = [metric.name for metric in checked]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(
                f"evaluate: two metrics are named {name!r}: each name can be there once. Leave one out, or change a parameter."
            )
    return tuple(checked)


def _check_name(metric: Metric) -> None:
    """Check that files, tables and terminals can hold the name of a metric, which may be the user's own.

    Raises:
        ParameterError: They cannot, or the name belongs to another metric or to a field of samples.
    """
    library_class = ALL_METRICS.get(metric.base_name)
    if library_class is not None and not isinstance(metric, library_class):
        problem = f"is the name of {library_class.__name__}"
    elif metric.name in FIELDS:
        problem = "is a field of a sample, which has a column of this name in a table"
    elif not metric.name or not metric.name.isprintable():
        problem = "is no text that can be shown"
    else:
        return
    raise ParameterError(
        f"evaluate: the name {metric.name!r} of {type(metric).__name__} {problem}. Give it another base_name."
    )


def _suggest_list(metrics: object) -> str:
    """Suggest to write a list, if a single metric was given instead."""
    if isinstance(metrics, str):
        return f"[{metrics!r}]"
    return f"[{type(metrics).__name__}()]" if isinstance(metrics, Metric) else "[ContextRecall()]"
