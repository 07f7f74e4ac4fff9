"""Many records of a framework scored at once by the core's own run."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from ctxmetrics.adapting.framework_run import FrameworkRun
from ctxmetrics.adapting.wrapper import SampleWrapper, Wrapper
from ctxmetrics.errors import CtxMetricsError, SampleError
from ctxmetrics.evaluation.report.summary import Summary
from ctxmetrics.evaluation.runs.evaluate import aevaluate, evaluate
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.sources import check_id
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import Score

_log = logging.getLogger("ctxmetrics")


def summarize(wrapper: Wrapper, records: Iterable[Any]) -> Summary:
    """Score records and return the means. A record that cannot be read counts as a sample without fields."""
    samples = (_read_leniently(wrapper, record) for record in records)
    results = evaluate(samples, [wrapper.metric], progress=False, telemetry=wrapper.telemetry)
    return results.summary()


def _read_leniently(wrapper: Wrapper, record: Any) -> Sample:
    """Read a record as a sample without an id. A record that cannot be read becomes a sample without fields."""
    field_names = (*wrapper.metric.requires, *wrapper.metric.uses)
    try:
        fields = wrapper.schema.read(record, wrapper.keys, (), field_names)
        fields["id"] = None  # one example may be run several times
        return Sample(**fields)
    except CtxMetricsError:
        return Sample()


async def score_all(
    wrapper: SampleWrapper, records: Iterable[Mapping[str, Any]], **options: Unpack[RunOptions]
) -> list[Score]:
    """Score samples, given by their fields, a bounded number at once. Return one score for each sample, in order.

    A sample that cannot be read gets a score without a value. The embedded judge's warning comes once.

    Args:
        wrapper: The metric, and how a sample is read.
        records: The samples.
        **options: As for `ctxmetrics.evaluate`; the timeout is that of the run under way, and no progress is shown.

    Raises:
        CtxMetricsError: Every sample is wrong: the error of the first. Or the run itself cannot go on, for example because no
            sample has a field that the metric needs (`MissingFieldError`); see `ctxmetrics.evaluate`.
    """
    options.setdefault("progress", False)
    options.setdefault("timeout", current_run().timeout)
    options.setdefault("telemetry", wrapper.telemetry)
    numbers_by_id: dict[str, int] = {}
    errors: dict[int, SampleError] = {}  # by the number of the sample
    samples: list[Sample] = []
    for number, record in enumerate(records, 1):
        try:
            sample = wrapper.build_sample(record, f"Sample {number}")
            check_id(sample, number, numbers_by_id)
            samples.append(sample)
        except SampleError as problem:
            errors[number] = problem
    if errors and not samples:
        raise errors[1]  # the samples are numbered from 1
    results = await aevaluate(samples, [wrapper.metric], **options)
    for note in results.summary().notes:
        _log.warning("labels, %s: %s", wrapper.metric.name, note)
    # The results have a row for each sample that was read, in order. The others get their scores from their errors.
    rows = iter(results)
    run = FrameworkRun()
    scores = []
    record_count = len(samples) + len(errors)
    for number in range(1, record_count + 1):
        if number in errors:
            score = wrapper.score_failure(errors[number])
        else:
            row = next(rows)
            score = row[wrapper.metric.name]
        run.warn_of_embedded_judge(wrapper.metric, wrapper.schema, score)
        scores.append(score)
    return scores
