"""Replies that betray themselves: no number is wrong without a flag, and no honest form of a reply is accused."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("reply_contradictions")
# One of each group.
QUICK = [
    "supported, and its last words are missing",
    "supported by one part, twice",
    "sentence 4 under 3, the rest moved up",
    "context 2 under 1, nothing under 2",
    "cut off at sentence 2, filled with defaults",
    "failed to, called supported",
]
FRAMEWORKS = {"ragas": "ragas", "deepeval": "deepeval", "langsmith": "langchain_openai"}


def count(path: str, kinds: list[str], samples: int) -> dict[str, int]:
    found = BENCHMARK.measure(path, kinds, (1.0,), samples)
    keys = ("right", "flagged", "no value", "silent", "doubted")
    return {key: sum(counted[key] for counted in found.values()) for key in keys}


@pytest.mark.slow
def test_quick_kinds_are_never_wrong_without_a_flag():
    assert count("core", QUICK, 2)["silent"] == 0


def test_honest_forms_are_right_and_not_doubted():
    found = count("core", [*BENCHMARK.HONEST], 1)
    assert found == {"right": found["right"], "flagged": 0, "no value": 0, "silent": 0, "doubted": 0}
    assert found["right"] == 2 * 3 * len(BENCHMARK.HONEST)


@pytest.mark.slow
def test_no_kind_is_wrong_without_a_flag():
    found = BENCHMARK.measure("core", [*BENCHMARK.ALL], BENCHMARK.base.RATES, 4)
    assert {kind for (kind, *_), counted in found.items() if counted["silent"]} <= set(BENCHMARK.LEFT)


@pytest.mark.slow
@pytest.mark.parametrize("path", FRAMEWORKS)
def test_the_numbers_are_the_same_through_a_framework(path):
    pytest.importorskip(FRAMEWORKS[path])
    assert count("core", QUICK, 1) == count(path, QUICK, 1)
