"""Retrieval tests for DeepEval: `deepeval test run test_deepeval.py`, or `pytest test_deepeval.py`.

Each line of `samples.jsonl` is a question with what your retriever returned for it; copy examples/handbook.jsonl to try it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deepeval import assert_test
from deepeval.test_case import LLMTestCase

from ctxmetrics_deepeval import ContextRecallMetric, IDBasedContextRecallMetric

SAMPLES = [json.loads(line) for line in Path("samples.jsonl").read_text(encoding="utf-8").splitlines()]
METRICS = [ContextRecallMetric(threshold=0.5), IDBasedContextRecallMetric(threshold=0.5)]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["id"])
def test_retrieval(sample):
    case = LLMTestCase(
        input=sample["user_input"],
        actual_output=sample["response"],
        expected_output=sample["reference"],
        retrieval_context=sample["retrieved_contexts"],
        metadata={
            "retrieved_context_ids": sample["retrieved_context_ids"],
            "reference_context_ids": sample["reference_context_ids"],
        },
    )
    assert_test(case, METRICS)
