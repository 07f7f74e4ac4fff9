"""Replies that betray themselves: no number is wrong without a flag, and no honest form of a reply is accused."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

MEASURE = load_benchmark("reply_contradictions")
NAMES = ["reply_contradictions", "reply_slips", "reply_remarks", "reply_spellings", "reply_habits"]
# One of each group.
QUICK = {
    "reply_contradictions": [
        "supported, and its last words are missing",
        "supported by one part, twice",
        "sentence 4 under 3, the rest moved up",
        "context 2 under 1, nothing under 2",
        "cut off at sentence 2, filled with defaults",
        "failed to, called supported",
    ],
    "reply_slips": [
        "numbers and names of a quote corrected",
        "sentence 4 copied from 3",
        "supported, and verdict: not supported",
        "useful, and relevant: false",
        "false sentences: partially",
        "half of the reply, closed",
    ],
    "reply_remarks": [
        "a list of the unsupported sentences",
        "a count of the supported",
        "a correction behind the object",
        "supported, and errors: a list",
        "supported, and a quote with nli: contradiction",
        "useful, and relevance: low",
        "sentences 3 and 4 under s3-s4",
    ],
    "reply_spellings": [
        "supported, and a reason against it: Polish",
        "supported, and a reason against it: Swahili",
        "recall: 0.43 beside seven yeses",
        "a map behind the object",
        "denied under Sentence 4",
        "cut at sentence 3, filled: error",
        "a stream begun again near its end",
    ],
    "reply_habits": [
        "supported, and entails: false",
        "the reply has an object of counts",
        "a text behind: guesses",
        "80 characters lost at 35%",
        "from 30% on the stream of another sample",
        "sentence 4 by the evidence of 2",
        "verdicts of the contexts down by one",
        "a text behind: not rely",
        "the reply has the disputed",
    ],
}
FRAMEWORKS = {"ragas": "ragas", "deepeval": "deepeval", "langsmith": "langchain_openai"}


@pytest.mark.slow
def test_quick_kinds_are_never_wrong_without_a_flag():
    assert MEASURE.count_outcomes("core", QUICK["reply_contradictions"], 2)["silent"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_honest_forms_are_right_and_not_doubted(name):
    benchmark = load_benchmark(name)
    found = MEASURE.count_outcomes("core", [*benchmark.HONEST], 1, benchmark.ALL)
    assert found == {"right": found["right"], "flagged": 0, "no value": 0, "silent": 0, "doubted": 0}
    assert found["right"] == 2 * 3 * len(benchmark.HONEST)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rates", "samples"),
    [
        ("reply_contradictions", MEASURE.base.RATES, 4),
        ("reply_slips", (1.0,), 2),
        ("reply_remarks", (1.0,), 2),
        ("reply_spellings", (1.0,), 2),
        ("reply_habits", (1.0,), 2),
    ],
)
def test_no_kind_is_wrong_without_a_flag(name, rates, samples):
    benchmark = load_benchmark(name)
    found = MEASURE.measure("core", [*benchmark.ALL], rates, samples, benchmark.ALL)
    silent = {kind for (kind, *_), counted in found.items() if counted["silent"]}
    assert silent <= set(benchmark.LEFT)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("path", FRAMEWORKS)
def test_the_numbers_are_the_same_through_a_framework(path, name):
    pytest.importorskip(FRAMEWORKS[path])
    replies = load_benchmark(name).ALL
    expected = MEASURE.count_outcomes("core", QUICK[name], 1, replies)
    assert MEASURE.count_outcomes(path, QUICK[name], 1, replies) == expected
