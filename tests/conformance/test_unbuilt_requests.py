"""A request that cannot be built is no sample's fault: each framework's run says so, as far as it lets an evaluator raise."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextRecall, LLMJudge, Sample
from ctxmetrics.errors import RequestError

SAMPLES = [
    Sample(
        user_input=f"What is {number}?",
        response="Red.",
        reference=f"Number {number} is red.",
        retrieved_contexts=[f"Number {number} is red."],
    )
    for number in range(3)
]


class Broken:
    identity = "own/broken"

    async def generate(self, prompt, schema):
        raise KeyError("title")


@pytest.fixture
def metric():
    return ContextRecall(judge=LLMJudge(Broken()))


def fields(sample):
    return {name: value for name, value in sample.to_dict().items() if value}


def test_ragas(metric):
    pytest.importorskip("ragas")
    from ragas import EvaluationDataset
    from ragas import evaluate as run

    from ctxmetrics_ragas import ContextRecall as OfRagas

    own = OfRagas(judge=metric.judge)
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        own.score(**fields(SAMPLES[0]))
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        own.batch_score([fields(sample) for sample in SAMPLES])
    rows = EvaluationDataset.from_list([fields(sample) for sample in SAMPLES])
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        run(rows, metrics=[own], show_progress=False, raise_exceptions=True)


def test_deepeval(metric, monkeypatch):
    pytest.importorskip("deepeval")
    import ctxmetrics_deepeval.runners as deepeval

    runner = next(item for item in deepeval.RUNNERS if item.name == "deepeval.evaluate")
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        runner.score(metric, SAMPLES)
    case = deepeval._to_test_case(SAMPLES[0])
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        deepeval._to_deepeval(metric).measure(case)


def test_langchain(metric):
    pytest.importorskip("langsmith")
    import ctxmetrics_langchain.runners as langchain
    from ctxmetrics_langchain import ContextRecallEvaluator

    with pytest.raises(RequestError, match="KeyError: 'title'"):
        ContextRecallEvaluator(judge=metric.judge).as_runnable().invoke(fields(SAMPLES[0]))
    (score,) = (item.score for item in langchain.RUNNERS if item.name == "langsmith.evaluate")
    assert score(metric, SAMPLES) == [None] * 3  # it logs what an evaluator raises, and goes on


@pytest.mark.slow
def test_mlflow_and_pydantic_evals_note_it_at_each_row(metric):
    pytest.importorskip("mlflow")
    pytest.importorskip("pydantic_evals")
    from pydantic_evals import Case, Dataset

    from ctxmetrics_mlflow import ContextRecallScorer
    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    given = fields(SAMPLES[0])
    sides = {"outputs": {"retrieved_contexts": given["retrieved_contexts"]}, "expectations": given}
    feedback = ContextRecallScorer(judge=metric.judge)(inputs={"question": "?"}, **sides)
    assert "RequestError" in str(feedback.error)
    assert "KeyError: 'title'" in str(feedback.error)
    cases = [Case(name="a", inputs={"question": "?"}, expected_output=given["reference"])]
    evaluator = ContextRecallEvaluator(judge=metric.judge)
    report = Dataset(name="samples", cases=cases, evaluators=[evaluator]).evaluate_sync(
        lambda inputs: {"documents": given["retrieved_contexts"]}, progress=False
    )
    (failure,) = report.cases[0].evaluator_failures
    assert "KeyError: 'title'" in failure.error_message
    assert "no request could be built" in failure.error_message
