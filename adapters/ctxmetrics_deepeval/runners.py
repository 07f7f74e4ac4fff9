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
from ctxmetrics.adapting import Runner, aside

# With a key, DeepEval uploads the test cases.
QUIET: dict[str, str | None] = {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "CONFIDENT_API_KEY": None}


def _evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    cases = [_test_case(sample, str(index)) for index, sample in enumerate(samples)]
    cache = CacheConfig(write_cache=False)
    display = DisplayConfig(show_indicator=False, print_results=False)
    with aside(QUIET):
        run = evaluate(cases, [_wrapped(metric)], cache_config=cache, display_config=display)
    # DeepEval returns the results in the order in which they finish.
    rows = {result.name: result.metrics_data or [] for result in run.test_results}
    return [rows[str(index)][0].score for index in range(len(samples))]


def _assert_test(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    metrics = [_wrapped(metric) for _ in samples]
    for sample, wrapped in zip(samples, metrics, strict=True):
        with aside(QUIET), suppress(AssertionError):  # a low score, or none
            assert_test(_test_case(sample), [wrapped], run_async=False)  # else it fills a copy
    return [wrapped.score for wrapped in metrics]


def _test_case(sample: Sample, name: str | None = None) -> LLMTestCase:
    fields = sample.to_dict()
    places = ctxmetrics_deepeval.FIELDS.items()
    values: dict[str, Any] = {key: fields.pop(own, None) for key, own in places}
    # What has no field of its own goes into the metadata.
    return LLMTestCase(**{**values, "input": sample.user_input or "", "metadata": fields, "name": name})


def _wrapped(metric: Metric) -> Any:
    return getattr(ctxmetrics_deepeval, f"{type(metric).__name__}Metric")(core=metric)


RUNNERS = [Runner("deepeval.evaluate", _evaluate), Runner("deepeval.assert_test", _assert_test)]
