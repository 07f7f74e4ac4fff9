"""One sample, one metric: what goes wrong stays in that score."""

from __future__ import annotations

from ctxmetrics._secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score


async def score_sample(metric: Metric, sample: Sample) -> Score:
    """Score one sample with one metric; what goes wrong is recorded in this score alone.

    Raises:
        ParameterError: Misuse, which is no sample's fault.
    """
    try:
        return await metric.ascore(sample)
    except Exception as error:  # noqa: BLE001 - a callable or judge of the user's may fail in any way
        return _failed(metric, sample, error)


def score_now(metric: Metric, sample: Sample) -> Score:
    """Do the same with a metric that waits for nothing (`Metric.waits`). Raises as `score_sample` does."""
    try:
        return metric.score(sample)
    except Exception as error:  # noqa: BLE001 - a metric may fail in any way; its score says so
        return _failed(metric, sample, error)


def _failed(metric: Metric, sample: Sample, error: Exception) -> Score:
    if isinstance(error, ParameterError):
        raise error
    code, message = "metric_error", f"{type(error).__name__}: {safe_text(error)}"
    if isinstance(error, MissingFieldError):
        code, message = "missing_field", str(error)
    return metric.build(sample, None, reason_code=code, message=message)
