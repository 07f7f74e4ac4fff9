"""The langsmith pytest plugin, in a pytest of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.deadlines import LONGEST_PROCESS

ROOT = Path(__file__).parents[3]
TESTS = """
import pytest
from langsmith import testing as t

from ctxmetrics import IDBasedContextRecall, NonLLMContextRecall
from ctxmetrics_langchain import IDBasedContextRecallEvaluator, RetrievalEvaluator

recall = IDBasedContextRecallEvaluator(threshold=0.5)
several = RetrievalEvaluator([IDBasedContextRecall(), NonLLMContextRecall()])


@pytest.mark.langsmith
@pytest.mark.parametrize("ids", [["d1"], ["d1", "d2"]])
def test_retriever(ids):
    inputs, reference_outputs = {"question": "who?"}, {"reference_context_ids": ["d1", "d3"]}
    outputs = {"retrieved_context_ids": ids}
    t.log_inputs(inputs)
    t.log_reference_outputs(reference_outputs)
    t.log_outputs(outputs)
    row = recall(inputs=inputs, outputs=outputs, reference_outputs=reference_outputs)
    t.log_feedback(key=row["key"], score=row["score"])
    assert row["score"] == 0.5
    assert row["value"] == "passed"


@pytest.mark.langsmith(output_keys=["documents"])
def test_fixture_arguments_and_several_metrics():
    rows = several(outputs={"documents": ["a"], "retrieved_ids": [1]}, reference_outputs={"documents": ["a"], "reference_ids": [1]})
    with t.trace_feedback():
        assert [row["score"] for row in rows["results"]] == [1.0, 1.0]
"""


@pytest.mark.slow
def test_evaluators_in_tests_marked_langsmith(tmp_path):
    (tmp_path / "test_rag.py").write_text(TESTS, encoding="utf-8")
    environment = {
        **os.environ,
        "LANGSMITH_TEST_TRACKING": "false",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "core"), str(ROOT / "adapters"))),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
