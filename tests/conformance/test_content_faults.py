"""Replies that are wrong in what they say: no number comes out wrong without a flag, but for what is explained."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("content_faults")
# Faults that must count although something is missing: their quotes are all in place.
COUNT = [
    "honest",
    "near: honest",
    "no code, otherwise honest",
    "the example's code, otherwise honest",
    "another code, otherwise honest",
]
FRAMEWORKS = {"ragas": "ragas", "deepeval": "deepeval", "langsmith": "langchain_openai"}
# What a framework could hide: the code, evidence, the message around the reply, a flag.
THROUGH = [
    "the reply about the next sample",
    "no code, otherwise honest",
    'all yes, quote "the"',
    "all useful, no quote",
    "each verdict twice, the second a yes",
    "several choices, the first the opposite",
]


def test_enough_faults_exist_and_explained_ones_are_faults():
    assert len(BENCHMARK.FAULTS) >= 40
    assert BENCHMARK.EXPLAINED.keys() <= BENCHMARK.FAULTS.keys()


@pytest.mark.parametrize("fault", COUNT)
def test_an_honest_reply_counts_and_is_not_doubted(fault):
    found = BENCHMARK.measure("core", fault, 1.0, 3)
    assert (found["right"], found["requests"]) == (6, 3)
    assert found["flagged verdicts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("fault", BENCHMARK.FAULTS)
def test_the_core_gives_no_wrong_number_without_a_flag(fault):
    for rate in BENCHMARK.RATES:
        found = BENCHMARK.measure("core", fault, rate, 4)
        assert found["silent"] == 0 or fault in BENCHMARK.EXPLAINED


@pytest.mark.slow
@pytest.mark.parametrize("fault", THROUGH)
@pytest.mark.parametrize("path", FRAMEWORKS)
def test_a_framework_hides_nothing_of_it(path, fault):
    pytest.importorskip(FRAMEWORKS[path])
    kinds = ("right", "flagged", "no value", "silent", "flagged verdicts")
    here, there = (BENCHMARK.measure(name, fault, 1.0, 2) for name in ("core", path))
    assert {kind: here[kind] for kind in kinds} == {kind: there[kind] for kind in kinds}


def test_docs_table_has_every_fault_and_explains_each_number():
    lines = [
        line for line in BENCHMARK.docs.table_of("content_faults").splitlines() if line.startswith("|")
    ]
    _, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(row[0] for row in rows) == BENCHMARK.HONEST_FIRST
    for fault, *cells, told in rows:
        assert fault in BENCHMARK.EXPLAINED or set(cells) == {"0 / 0"}
        assert ("**wrong**" in told) <= (fault in BENCHMARK.EXPLAINED)
