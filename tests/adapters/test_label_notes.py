"""Labels that meet no retrieved id, or repeat what was retrieved: each framework that shows its runs has a line in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, LexicalJudge, NonLLMContextRecall, Sample
from ctxmetrics.adapting.runners import Runner
from support.runners import RUNNERS, runner_of

# The others hand over one record after another, and say nowhere which of them are one run.
SHOWS_ITS_RUNS = {
    "ragas.evaluate", "ragas.collections", "deepeval.evaluate", "langsmith.evaluate", "mlflow.evaluate",
}  # fmt: skip
NEVER = "no reference id was ever retrieved, in 20 samples; with the end of the reference ids cut they would match: "
CIRCLE = (
    "the reference contexts are the retrieved contexts, in all 20 samples: such labels prove nothing"
)
SLOW = ("mlflow.evaluate", "inspect_ai.eval")
EVERY = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in RUNNERS
    if name != "deepeval.assert_test"  # its run is all that a process tests
]


def sample(number: int, wanted: str, text: str) -> Sample:
    return Sample(
        id=str(number),
        user_input=f"Question {number}?",
        reference=f"Pump {number} was built in 1889.",
        retrieved_contexts=[f"Pump {number} was built in 1889, they say."],
        reference_contexts=[text.format(number)],
        retrieved_context_ids=[f"doc_{number}"],
        reference_context_ids=[wanted.format(number)],
    )


def told(runner: Runner, metric: Any, caplog: Any, wanted: str, text: str, many: int = 20) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="ctxmetrics"):
        runner.score(metric, [sample(number, wanted, text) for number in range(many)])
    return [record.getMessage() for record in caplog.records if "labels" in record.getMessage()]


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_a_run_of_a_framework_says_what_its_labels_are_worth(name: str, caplog: Any) -> None:
    runner = runner_of(name)
    shown = runner.name in SHOWS_ITS_RUNS
    for _ in range(2):  # each run by itself
        lines = told(runner, IDBasedContextRecall(), caplog, "doc_{}#c0", "Another text {}.")
        assert [NEVER in line for line in lines] == [True] * shown
    same = "Pump {} was built in 1889, they say."
    lines = told(runner, NonLLMContextRecall(), caplog, "doc_{}", same)
    assert [line.endswith(CIRCLE) for line in lines] == [True] * shown
    judged = ContextRecall(judge=LexicalJudge())
    assert told(runner, judged, caplog, "doc_{}", "Another text {}.") == []
    assert told(runner, IDBasedContextRecall(), caplog, "doc_{}", "Another text {}.", many=40) == []
    if runner.name != "ragas.collections":  # it knows where a run ends
        assert told(runner, IDBasedContextRecall(), caplog, "x_{}", same, many=19) == []


def test_run_is_notified_once_a_metric_after_first_samples(caplog: Any) -> None:
    runner = runner_of("ragas.evaluate")
    assert len(told(runner, IDBasedContextRecall(), caplog, "x_{}", "y", many=90)) == 1


@pytest.mark.parametrize(
    ("missing", "said"), [(range(60), 1), (range(20), 1), (range(25, 400), 1), (range(161, 400), 0)]
)
def test_the_samples_so_far_are_looked_at_again(missing: range, said: int, caplog: Any) -> None:
    runner = runner_of("ragas.evaluate")
    samples = [sample(n, "x_{}" if n in missing else "doc_{}", "y") for n in range(400)]
    with caplog.at_level(logging.WARNING, logger="ctxmetrics"):
        runner.score(IDBasedContextRecall(), samples)
    assert len([record for record in caplog.records if "labels" in record.getMessage()]) == said
