"""The table of docs/why-different.md is what the frameworks give, and one row of it is 0.6, NaN and 1.0."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "why-different.md").read_text(encoding="utf-8")


def test_one_row_has_0_6_1_0_and_nan() -> None:
    assert re.search(r"\| \*\*0\.6\*\* \| \*\*NaN\*\* \| \*\*1\.0\*\* \|", PAGE)


@pytest.mark.slow
def test_the_table_is_what_the_frameworks_give() -> None:
    for name in ("ragas", "deepeval"):
        pytest.importorskip(name, reason=f"the {name} extra is not installed")
    benchmark = load_benchmark("why_different")
    shown = benchmark.docs.table_of("why-different", benchmark.PAGE).strip()
    found = benchmark.measure()
    assert benchmark.table(found).split("\n\n")[0] == shown.split("\n\n")[0]
    # By hand: three of five are stated, two yeses have no evidence, one precision is 1/2.
    by_says = {row["says"]: row for row in found}
    assert by_says['the same, in the word "yes"']["ctxmetrics"] == 0.6
    assert by_says['the same, in the word "yes"']["deepeval"] == 1.0
    assert by_says['the same, in the word "yes"']["ragas"] is None
    assert by_says["the second of three contexts is useful"]["ctxmetrics"] == 0.5


_MODE = """
import os
from support.decisions import DecisionServer
with DecisionServer(answer=lambda state, question: 0.5) as server:
    os.environ |= {"TYPESAFE_BASE_URL": server.url, "TYPESAFE_API_KEY": "sk-0123abcd-xyz999"}
    os.environ |= {"DEEPEVAL_EVAL_MODE": "system_one", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric
    from deepeval.test_case import LLMTestCase
    from ctxmetrics import LexicalJudge
    from ctxmetrics_deepeval import ContextPrecisionMetric, ContextRecallMetric
    case = LLMTestCase(
        input="Where is the tower?",
        actual_output="In Paris.",
        expected_output="The tower stands in Paris. It was painted blue.",
        retrieval_context=["The tower stands in Paris, on the left bank.", "Bananas are yellow."],
    )
    theirs = [metric(async_mode=False, include_reason=False) for metric in (ContextualRecallMetric, ContextualPrecisionMetric)]
    ours = [metric(judge=LexicalJudge(), async_mode=False) for metric in (ContextRecallMetric, ContextPrecisionMetric)]
    for metrics in (theirs, ours):
        print("VALUES", *(f"{metric.measure(case):.4f}" for metric in metrics))
"""


@pytest.mark.slow
def test_what_the_mode_of_deepeval_makes_of_its_metrics() -> None:
    for name in ("deepeval", "typesafe_sdk"):
        pytest.importorskip(name)
    done = subprocess.run(
        [sys.executable, "-c", _MODE],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("VALUES")]
    rows = re.findall(
        r"\| (?:DeepEval, `system_one`|ctxmetrics in DeepEval.*?) \| (\S+) \| (\S+) \|", PAGE
    )
    # By hand: two answers of .5 and a level of 2/3, weighted 2:1:1: (1.5 + 2/3) / 4 = .5417.
    assert [[float(value) for value in row] for row in rows] == [[0.5417, 0.5417], [0.5, 1.0]]
    assert [[float(value) for value in line] for line in lines] == [
        [float(value) for value in row] for row in rows
    ]
