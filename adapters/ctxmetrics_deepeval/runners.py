"""DeepEval's two ways to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from deepeval.evaluate.configs import CacheConfig, DisplayConfig
from deepeval.evaluate.evaluate import assert_test, evaluate
from deepeval.test_case import LLMTestCase

import ctxmetrics_deepeval
from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, isolated_process

# With a key, DeepEval uploads the test cases.
QUIET: dict[str, str | None] = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "CONFIDENT_API_KEY": None}


def _run_evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by ``deepeval.evaluate``."""
    cases = [_to_test_case(sample, str(index)) for index, sample in enumerate(samples)]
    cache = CacheConfig(write_cache=False)
    display = DisplayConfig(show_indicator=False, print_results=False)
    with isolated_process(QUIET):
        run = evaluate(cases, [_to_deepeval(metric)], cache_config=cache, display_config=display)
    # DeepEval returns the results in the order in which they finish.
    rows = {result.name: result.metrics_data or [] for result in run.test_results}
    return [rows[str(index)][0].score for index in range(len(samples))]


def _run_assert_test(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by ``deepeval.assert_test``, each with a metric object of its own."""
    metrics = [_to_deepeval(metric) for _ in samples]
    for sample, own_metric in zip(samples, metrics, strict=True):
        with isolated_process(QUIET), suppress(AssertionError):  # raised for a low score, or none
            # With run_async=True DeepEval would measure with a copy of the metric.
            assert_test(_to_test_case(sample), [own_metric], run_async=False)
    return [own_metric.score for own_metric in metrics]


def _to_test_case(sample: Sample, name: str | None = None) -> LLMTestCase:
    """Make the test case of a sample; fields for which a test case has none go into the metadata."""
    fields = sample.to_dict()
    values: dict[str, Any] = {}
    for case_field, sample_field in ctxmetrics_deepeval.FIELDS.items():
        values[case_field] = fields.pop(sample_field, None)
    return LLMTestCase(**{**values, "input": sample.user_input or "", "metadata": fields, "name": name})


def _to_deepeval(metric: Metric) -> Any:
    """Return the metric of DeepEval for a metric of the core."""
    return getattr(ctxmetrics_deepeval, f"{type(metric).__name__}Metric")(core=metric)


RUNNERS = [
    Runner("deepeval.evaluate", _run_evaluate),
    Runner("deepeval.assert_test", _run_assert_test),
]
