"""One sample, one metric: the score, whatever goes wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Real

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import JudgeError, MissingFieldError, ParameterError
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.score_checks import ROUNDING_ERROR
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.score import FAILURES, Score
from ctxmetrics.verdicts import PENDING


def has_pending(scores: Iterable[Score]) -> bool:
    """Tell whether a score waits for the answer of a batch."""
    return any(score.reason_code == PENDING for score in scores)


def is_failure(score: object) -> bool:
    """Tell whether a score failed, or an error stands in its place."""
    return isinstance(score, BaseException) or getattr(score, "reason_code", None) in FAILURES


async def score_sample(metric: Metric, sample: Sample) -> Score:
    """Score one sample with one metric. A failure is recorded only in this score.

    Raises:
        ParameterError: Misuse, which is no sample's fault.
    """
    try:
        return _check_score(metric, await metric.ascore(sample))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a callable or judge of the user's may fail in any way
        return _build_failed_score(metric, sample, error)


def score_now(metric: Metric, sample: Sample) -> Score:
    """Do the same with a metric that waits for nothing (`Metric.waits`). Raises as `score_sample` does."""
    try:
        return _check_score(metric, metric.score(sample))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a metric may fail in any way; its score says so
        return _build_failed_score(metric, sample, error)


def _check_score(metric: Metric, score: object) -> Score:
    """Check the result of a metric, and convert its value to a float. A metric of the user's own may return anything.

    Raises:
        TypeError: It is no score.
        ValueError: Its value is no number of the scale. No mean and no file could hold it.
    """
    if not isinstance(score, Score):
        raise TypeError(
            f"score() returned {type(score).__name__}, no Score. Write return self.make_score(sample, value)."
        )
    value: object = score.value
    scale = metric.convention_data.scale
    if value is None or (type(value) is float and 0.0 <= value <= scale):
        return score
    number = float(value) if isinstance(value, Real) else math.nan
    if not 0.0 <= number <= scale * (1 + ROUNDING_ERROR):
        raise ValueError(f"the value {value!r} is no number from 0 to {scale:g}.")
    return replace(score, value=number)


def _build_failed_score(metric: Metric, sample: Sample, error: BaseException) -> Score:
    """Return the score of a sample that a metric could not score."""
    if isinstance(error, ParameterError):
        raise error
    code = "metric_error"
    message = f"{type(error).__name__}: {safe_text(error)}"
    if isinstance(error, MissingFieldError):
        code = "missing_field"
        message = str(error)
    return metric.make_score(sample, None, reason_code=code, message=message)


def raise_failure(row: Row) -> None:
    """Raise the first failure of a row, for ``on_error="raise"``."""
    for score in row.scores:
        if score.reason_code in FAILURES:
            codes = [verdict.code for verdict in score.verdicts if verdict.code]
            sample_name = f"sample {score.sample_id!r}"
            if score.sample_id is None:
                sample_name = f"sample {row.index + 1}"
            raise JudgeError(
                f"{sample_name}: {score.metric}: {score.message}",
                reason_code=codes[0] if codes else str(score.reason_code),
            )
