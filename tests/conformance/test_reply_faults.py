"""The same reply, one outcome on every path: recorded faulty replies over the real clients of each framework."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("reply_faults")
CASES = BENCHMARK.cases()
FRAMEWORK = {
    "ragas": "ragas",
    "deepeval": "deepeval",
    "langsmith": "langchain_openai",
    "lcel": "langchain_openai",
}
SERVER = {
    "html-first": (0.5, set()),
    "no_content-first": (0.5, set()),
    "no_choices-first": (0.5, set()),
    "two_choices-first": (0.5, set()),
    "two_choices-every": (None, {"invalid_reply"}),
    "null-first": (0.5, set()),
    "null-every": (None, {"invalid_reply"}),
    "refusal_field-first": (0.5, set()),
    "refusal_field-every": (None, {"refused"}),
    "length-first": (0.5, set()),
    "length-every": (None, {"truncated"}),
}
"""What the server's own faults come to, by hand: the good reply supports one of two sentences."""


@pytest.fixture(scope="module")
def core():
    pytest.importorskip("openai")
    return BENCHMARK.outcomes("core", CASES)


def test_the_core_gives_what_the_cases_expect(core):
    for case in CASES:
        outcome = core[case.id]
        if case.id.startswith("server-"):
            value, codes = SERVER[case.id.removeprefix("server-").removesuffix("-reply")]
            assert (outcome.value, {code for _, _, code in outcome.verdicts if code}) == (
                value,
                codes,
            ), case.id
        else:
            assert outcome.value == pytest.approx(case.score, abs=1e-12), case.id
    assert {
        case.id.removeprefix("server-").removesuffix("-reply") for case in CASES if "server-" in case.id
    } == set(SERVER)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in BENCHMARK.REQUIRED if path != "core"])
def test_every_path_gives_the_outcomes_of_the_core(path, core):
    if path != "cli":
        pytest.importorskip(FRAMEWORK[path.partition(",")[0]])
    found = BENCHMARK.differences(path, BENCHMARK.outcomes(path, CASES), core)
    hidden = {case for hiding, case in BENCHMARK.HIDDEN if hiding == path}
    assert {line.partition(":")[0] for line in found} == hidden, found


@pytest.mark.slow
def test_a_path_that_hides_a_fault_is_seen(core):
    (case,) = (case for case in CASES if case.id == "recall-reply-repeated-verdict-key")
    coerced = BENCHMARK.Outcome(1.0, (("s1", True, None), ("s2", True, None)))
    assert BENCHMARK.differences("deepeval", {case.id: coerced}, core) != []


def test_what_is_hidden_has_a_file_and_a_line():
    assert all(".py:" in reason for reason in BENCHMARK.HIDDEN.values())
