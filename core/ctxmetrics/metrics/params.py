"""The parameters of all metrics under one type, for wrappers that pass them on."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from ctxmetrics.errors import ParameterError
from ctxmetrics.metrics.base import Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ctxmetrics.conventions import Unit
    from ctxmetrics.metrics.precision import Formula
    from ctxmetrics.similarity import Measure

M = TypeVar("M", bound=Metric)


class MetricParams(TypedDict, total=False):
    """Every parameter of every metric but ``judge``, which each wrapper takes in its own way.

    A metric refuses those it does not have; the metric classes document them.
    """

    convention: str
    threshold: float | None
    strict: bool
    top_k: int | None
    unit: Unit | None
    language: str | None
    relevance: Literal["useful", "supports"]
    formula: Formula
    min_similarity: float
    similarity: Measure


def make_metric(metric: type[M], params: Mapping[str, Any], *, caller: str, others: Iterable[str] = ()) -> M:
    """Build a metric from the parameters a wrapper was given.

    Args:
        metric: Class of the metric.
        params: Its parameters.
        caller: Name of the wrapper, for messages.
        others: Parameters of the wrapper itself, which a misspelt one may have meant.

    Raises:
        ParameterError: The metric has no such parameter (the message names the nearest one), or cannot use it.
    """
    known = {item.name for item in fields(metric) if item.init}
    for name in params:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known.union(others)), n=1, cutoff=0.3)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise ParameterError(f"{caller}: unknown parameter '{name}'.{hint}")
    return metric(**params)
