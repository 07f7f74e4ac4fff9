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
    except MissingFieldError as error:
        return metric.build(sample, None, reason_code="missing_field", message=str(error))
    except ParameterError:
        raise
    except Exception as error:  # noqa: BLE001 - a callable or judge of the user's may fail in any way
        message = f"{type(error).__name__}: {safe_text(error)}"
        return metric.build(sample, None, reason_code="metric_error", message=message)
