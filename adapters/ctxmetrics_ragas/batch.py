"""Samples as they come, scored with one metric: what is wrong with one is in its own score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxmetrics._secrets import safe_text
from ctxmetrics.errors import CtxMetricsError, NotTextError, SampleError
from ctxmetrics.evaluation.engine import aevaluate
from ctxmetrics.evaluation.sources import check_id
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.scores import Score


async def score_each(
    metric: Metric, inputs: Sequence[Mapping[str, Any]], **options: Unpack[RunOptions]
) -> list[Score]:
    """Score samples given by their fields; one score a sample, in order.

    Unlike `aevaluate` it does not refuse them all for a malformed one.

    Args:
        metric: The metric.
        inputs: The samples.
        **options: Those of `aevaluate`.

    Raises:
        CtxMetricsError: Something is wrong with every sample; this is the first one's.
    """
    places: dict[str, int] = {}
    found = [_read(fields, number, places) for number, fields in enumerate(inputs, 1)]
    samples = [item for item in found if isinstance(item, Sample)]
    if found and not samples:
        raise next(item for item in found if isinstance(item, CtxMetricsError))
    results = iter(await aevaluate(samples, [metric], **options))
    return [
        next(results)[metric.name]
        if isinstance(item, Sample)
        else metric.build(
            Sample(),
            None,
            reason_code=item.code if isinstance(item, NotTextError) else "metric_error",
            message=safe_text(item),
        )
        for item in found
    ]


def _read(fields: Mapping[str, Any], number: int, places: dict[str, int]) -> Sample | CtxMetricsError:
    try:
        sample = Sample.from_dict(fields, where=f"Sample {number}")
        check_id(sample, number, places)
    except SampleError as error:
        return error
    return sample
