"""The three runners that parity and the conformance suite use."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from ctxmetrics import ContextPrecision, ContextRecall
from ctxmetrics.evaluation.frameworks.parity import CORE
from ctxmetrics.metrics.catalog import METRICS
from ctxmetrics.samples.sample import Sample
from support.later import later
from support.runners import runner_of

ours = later("ctxmetrics_langchain")


@pytest.fixture(params=["langsmith.evaluate", "langchain.lcel", "langchain.StringEvaluator"])
def runner(request):
    return runner_of(request.param)


@pytest.fixture
def samples(case):
    whole = Sample(
        user_input=case.question,
        response="Gustave Eiffel's company built the tower.",
        reference=case.reference,
        retrieved_contexts=case.contexts,
        retrieved_context_ids=["d1", "d2", "d3"],
        reference_contexts=[case.contexts[1]],
        reference_context_ids=["d2", "d9"],
    )
    nothing = Sample(
        reference="",
        response="",
        retrieved_contexts=[],
        reference_contexts=[],
        retrieved_context_ids=[],
        reference_context_ids=[],
    )
    return [whole, nothing, Sample(user_input=case.question)]


def test_there_are_three_and_without_langchain_classic_two():
    classic = ["langchain.StringEvaluator"] if find_spec("langchain_classic") else []
    assert [runner.name for runner in ours.runners.RUNNERS] == [
        "langsmith.evaluate",
        "langchain.lcel",
        *classic,
    ]


@pytest.mark.parametrize("name", METRICS)
def test_each_gives_the_numbers_of_the_core_or_none(runner, name, samples, capsys):
    metric = METRICS[name]()
    values = list(runner.score(metric, samples))
    assert values == list(CORE.score(metric, samples))
    assert values[0] is not None
    assert values[1:] == [None, None]
    assert capsys.readouterr().out == ""


def test_each_judges_with_the_metric_s_judge(runner, case, samples):
    assert runner.score(ContextRecall(judge=case.judge), samples[:1]) == [0.5]
    assert runner.score(ContextPrecision(judge=case.judge, convention="aegis"), samples[:1]) == [50.0]
