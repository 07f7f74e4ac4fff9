"""All seven metrics in DeepEval: ``deepeval.evaluate`` over the handbook data set, no model and no key.

Run it: python examples/deepeval_example.py
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections import defaultdict
from pathlib import Path

os.environ.setdefault(
    "DEEPEVAL_TELEMETRY_OPT_OUT", "YES"
)  # DeepEval reports each run unless told not to

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.test_case import LLMTestCase

from ctxmetrics_deepeval import (
    ContextPrecisionMetric,
    ContextRecallMetric,
    ContextUtilizationMetric,
    IDBasedContextPrecisionMetric,
    IDBasedContextRecallMetric,
    NonLLMContextPrecisionMetric,
    NonLLMContextRecallMetric,
)

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
METRICS = [
    ContextRecallMetric(threshold=0.8),
    ContextRecallMetric(top_k=1),  # its name is context_recall(top_k=1)
    ContextPrecisionMetric(),
    ContextUtilizationMetric(),
    NonLLMContextRecallMetric(),
    NonLLMContextPrecisionMetric(),
    IDBasedContextRecallMetric(),
    IDBasedContextPrecisionMetric(),
]


def test_cases() -> list[LLMTestCase]:
    """Ids live in the metadata; reference contexts are DeepEval's ``context``."""
    return [
        LLMTestCase(
            name=sample["id"],
            input=sample["user_input"],
            actual_output=sample["response"],
            expected_output=sample["reference"],
            retrieval_context=sample["retrieved_contexts"],
            context=sample["reference_contexts"],
            metadata={
                "retrieved_context_ids": sample["retrieved_context_ids"],
                "reference_context_ids": sample["reference_context_ids"],
            },
        )
        for sample in map(json.loads, HANDBOOK.open(encoding="utf-8"))
    ]


def main() -> None:
    """Evaluate and print a table.

    DeepEval keeps its last run in a folder ``.deepeval`` of the working directory, and prints a banner: both go where
    they disturb nobody.
    """
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            run = evaluate(
                test_cases(),
                METRICS,
                async_config=AsyncConfig(run_async=True),
                cache_config=CacheConfig(write_cache=False),  # writing it takes longer than all metrics
                display_config=DisplayConfig(show_indicator=False, print_results=False),
            )
        finally:
            os.chdir(here)

    scores, passed = defaultdict(list), defaultdict(int)
    for (
        result
    ) in run.test_results:  # in the order in which they were finished; result.index is the input's
        for data in result.metrics_data or ():
            scores[data.name].append(data.score)
            passed[data.name] += bool(data.success)
    print(f"{'metric':28}{'mean':>8}{'scored':>12}{'passed':>8}")
    for name, values in scores.items():
        known = [value for value in values if value is not None]
        print(
            f"{name:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(values)}{passed[name]:8d}"
        )

    # One metric by hand: the value, and why.
    metric = ContextRecallMetric()
    case = test_cases()[3]
    metric.measure(case)
    print(
        f"\n{case.name}: {metric.__name__} {metric.score:.4f}, passed: {metric.is_successful()}\n{metric.reason}"
    )


if __name__ == "__main__":
    main()
