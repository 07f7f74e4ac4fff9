"""Where no judge was given, each framework's real runner warns once a run, and says how to change it."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, LexicalJudge, Sample
from ctxmetrics.adapting.runners import Runner
from ctxmetrics.errors import EmbeddedJudgeWarning
from support.runners import RUNNERS, runner_of

SHOWS_ITS_RUNS = {
    "ragas.evaluate", "ragas.collections", "deepeval.evaluate", "langsmith.evaluate", "mlflow.evaluate"
}  # fmt: skip
ADVICE = {
    "ragas": 'llm=, or judge="framework"', "deepeval": "model=", "langsmith": "judge=chat_model",
    "langchain": "judge=chat_model", "mlflow": "judge=LLMJudge(model)", "pydantic_evals": "judge= (a model",
    "inspect_ai": "give judge=;",
}  # fmt: skip
SAMPLES = [
    Sample(
        user_input=f"Question {number}?",
        reference="The tower is in Paris. It was built in 1889.",
        retrieved_contexts=["The tower is in Paris, France."],
        retrieved_context_ids=["a"],
        reference_context_ids=["a", "b"],
    )
    for number in range(3)
]


def _run(runner: Runner, metric: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = runner.score(metric, SAMPLES)
    return values, [str(item.message) for item in caught if item.category is EmbeddedJudgeWarning]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] if name.startswith(("mlflow", "inspect_ai")) else []
        )
        for name in RUNNERS
    ],
)
def test_embedded_judge_warns_once_a_run_unless_named(name: str) -> None:
    runner = runner_of(name)
    values, told = _run(runner, ContextRecall())
    assert values == [0.5] * 3
    (message,) = told
    assert ADVICE[runner.name.partition(".")[0]] in message
    assert "judge=LexicalJudge()" in message
    again = _run(runner, ContextRecall())[1]
    assert again == ([message] if runner.name in SHOWS_ITS_RUNS else [])
    assert _run(runner, ContextRecall(judge=LexicalJudge())) == ([0.5] * 3, [])
    assert _run(runner, IDBasedContextRecall()) == ([0.5] * 3, [])


def test_python_shows_it_again_in_the_next_run(recwarn: pytest.WarningsRecorder) -> None:
    """Python's own filter shows a warning of one place and text once a process."""
    runner = runner_of("ragas.collections")
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            runner.score(ContextRecall(), SAMPLES)
        # Garbage of other tests may be collected meanwhile, with warnings of its own.
        assert sum(item.category is EmbeddedJudgeWarning for item in caught) == 1


def test_a_copied_evaluator_warns_no_second_time() -> None:
    from ctxmetrics_langchain import ContextRecallEvaluator

    evaluator = ContextRecallEvaluator()
    fields = {"documents": ["The tower is in Paris."], "reference": "The tower is in Paris."}
    copies = (evaluator, copy.deepcopy(evaluator), pickle.loads(pickle.dumps(evaluator)))  # noqa: S301 - our own
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [one.as_runnable().invoke(fields)["score"] for one in copies] == [1.0] * 3
    assert sum(item.category is EmbeddedJudgeWarning for item in caught) == 1


def test_several_metrics_and_evaluators_warn_once() -> None:
    from pydantic_evals import Case, Dataset
    from ragas import EvaluationDataset, evaluate

    from ctxmetrics_pydantic_evals import ContextPrecisionEvaluator, ContextRecallEvaluator
    from ctxmetrics_ragas import ContextPrecision
    from ctxmetrics_ragas import ContextRecall as RagasRecall

    rows = [sample.to_dict() for sample in SAMPLES]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metrics = [RagasRecall(), ContextPrecision()]
        evaluate(EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False)
        cases = [
            Case(name=str(number), inputs=row["user_input"], expected_output=row["reference"])
            for number, row in enumerate(rows)
        ]
        evaluators = [ContextRecallEvaluator(), ContextPrecisionEvaluator()]
        Dataset(name="d", cases=cases, evaluators=evaluators).evaluate_sync(
            lambda _: {"documents": rows[0]["retrieved_contexts"]}, progress=False
        )
    told = [str(item.message) for item in caught if item.category is EmbeddedJudgeWarning]
    assert len(told) == 2
    assert ["llm=" in message for message in told] == [True, False]
