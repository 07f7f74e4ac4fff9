"""Remarks in a reply: no number is wrong without a flag, and no honest remark is accused."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("reply_remarks")
# One of each group.
QUICK = [
    "a list of the unsupported sentences",
    "a count of the supported",
    "a correction behind the object",
    "supported, and errors: a list",
    "supported, and a quote with nli: contradiction",
    "useful, and relevance: low",
    "sentences 3 and 4 under s3-s4",
]
FRAMEWORKS = {"ragas": "ragas", "deepeval": "deepeval", "langsmith": "langchain_openai"}


def test_honest_remarks_are_right_and_not_doubted():
    found = BENCHMARK.count("core", [*BENCHMARK.HONEST], 1)
    assert found == {"right": found["right"], "flagged": 0, "no value": 0, "silent": 0, "doubted": 0}
    assert found["right"] == 2 * 3 * len(BENCHMARK.HONEST)


@pytest.mark.slow
def test_no_remark_is_wrong_without_a_flag():
    found = BENCHMARK.measure("core", [*BENCHMARK.KINDS], (1.0,), 2)
    assert {kind for (kind, *_), counted in found.items() if counted["silent"]} <= set(BENCHMARK.LEFT)


@pytest.mark.slow
@pytest.mark.parametrize("path", FRAMEWORKS)
def test_the_numbers_are_the_same_through_a_framework(path):
    pytest.importorskip(FRAMEWORKS[path])
    assert BENCHMARK.count("core", QUICK, 1) == BENCHMARK.count(path, QUICK, 1)
