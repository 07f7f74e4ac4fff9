"""The parameters of metrics by keyword, for wrappers that take them through ``**params``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

from ctxmetrics.metrics.base import check_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxmetrics.conventions import Unit
    from ctxmetrics.metrics.base import Formula, Metric
    from ctxmetrics.metrics.similarity import Measure

MetricT = TypeVar("MetricT", bound="Metric")


class MetricParams(TypedDict, total=False):
    """Parameters of the metrics that no framework has a word of its own for.

    A wrapper names ``judge``, ``threshold`` and ``strict`` itself, under its framework's names, and takes these as
    ``**params: Unpack[MetricParams]``. Which of them a metric has, `build_metric` knows.
    """

    convention: str
    top_k: int | None
    unit: Unit | None
    language: str | None
    relevance: Literal["useful", "supports"]
    formula: Formula
    min_similarity: float
    similarity: Measure


def build_metric(
    metric: type[MetricT], params: MetricParams, *, also: Iterable[str] = (), **settings: Any
) -> MetricT:
    """Make a metric from keywords.

    Args:
        metric: Its class.
        params: What the caller gave.
        also: Names the caller's own signature has, to suggest where a keyword is misspelt.
        **settings: Further parameters; those that are None are left to the metric.

    Raises:
        ParameterError: The metric has no such parameter; the message names the nearest one. Or a value is wrong.
    """
    given = {**params, **{name: value for name, value in settings.items() if value is not None}}
    check_parameters(metric, given, also=also)
    return metric(**given)
