"""DeepEval's two ways to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

import os
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from deepeval.evaluate.configs import CacheConfig, DisplayConfig
from deepeval.evaluate.evaluate import assert_test, evaluate
from deepeval.test_case import LLMTestCase

import ctxmetrics_deepeval
from ctxmetrics.testing.runners import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepeval.metrics import BaseMetric

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples import Sample


def _evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    with _aside():
        found = evaluate(
            [_test_case(sample, str(index)) for index, sample in enumerate(samples)],
            [_wrapped(metric)],
            cache_config=CacheConfig(write_cache=False),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )
    rows = {
        result.name: result.metrics_data or [] for result in found.test_results
    }  # they come as they finish
    return [rows[str(index)][0].score for index in range(len(samples))]


def _assert_test(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    values: list[float | None] = []
    for sample in samples:
        wrapped = _wrapped(metric)
        with _aside(), suppress(AssertionError):  # a low score, or none
            assert_test(
                _test_case(sample), [wrapped], run_async=False
            )  # only then the object itself is filled
        values.append(wrapped.score)
    return values


def _test_case(sample: Sample, name: str | None = None) -> LLMTestCase:
    return LLMTestCase(
        name=name,
        input=sample.user_input or "",
        actual_output=sample.response,
        expected_output=sample.reference,
        retrieval_context=None if sample.retrieved_contexts is None else [*sample.retrieved_contexts],
        context=None if sample.reference_contexts is None else [*sample.reference_contexts],
        metadata={
            "retrieved_context_ids": sample.retrieved_context_ids,
            "reference_context_ids": sample.reference_context_ids,
        },
    )


def _wrapped(metric: Metric) -> BaseMetric:
    wrapped: BaseMetric = getattr(ctxmetrics_deepeval, f"{type(metric).__name__}Metric")(core=metric)
    return wrapped


@contextmanager
def _aside() -> Iterator[None]:
    """Work elsewhere and in silence: DeepEval prints, calls home, and writes and deletes files where it is."""
    os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    here = Path.cwd()
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)


RUNNERS = [Runner("deepeval.evaluate", _evaluate), Runner("deepeval.assert_test", _assert_test)]
