"""How public code uses DeepEval's metrics, re-typed with other data: only the import differs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from ctxmetrics.adapting import UnusedError
from support import answer_from
from support.later import later

deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


ANSWER = answer_from(
    {
        "The mill grinds rye.": (True, "The mill grinds rye every day.", "grinds rye"),
        "It stands in Husum.": False,
    },
    {"The mill grinds rye every day.": True, "Cats sleep.": False},
)
FIELDS: Any = {
    "input": "What does the mill do?",
    "expected_output": "The mill grinds rye. It stands in Husum.",
    "retrieval_context": ["The mill grinds rye every day.", "Cats sleep."],
}


@pytest.fixture
def Judge() -> type:
    class Judge(deepeval.models.DeepEvalBaseLLM):
        """A custom LLM of the documented form, without a schema."""

        def load_model(self) -> Any:
            return self

        def generate(self, prompt: str) -> str:
            return ANSWER(SimpleNamespace(text=prompt))

        async def a_generate(self, prompt: str) -> str:
            return self.generate(prompt)

        def get_model_name(self) -> str:
            return "custom judge"

    return Judge


EXPECTED = {"ContextualRecallMetric": 0.5, "ContextualPrecisionMetric": 1.0}


@pytest.mark.parametrize(("name", "value"), EXPECTED.items())
def test_measured_by_itself_without_an_answer(name: str, value: float, Judge: Any) -> None:
    metric = getattr(ours, name)(threshold=0.7, model=Judge(), include_reason=True)
    metric.measure(deepeval.test_case.LLMTestCase(**FIELDS))
    assert metric.score == value
    assert metric.is_successful() is (value >= 0.7)
    assert f"{metric.score:.2f}: {metric.reason}".startswith(("0.50: 1 of 2", "1.00: 1 of 2"))


def test_measured_in_a_loop_of_its_own(Judge: Any) -> None:
    metric = ours.ContextualRecallMetric(threshold=0.5, model=Judge(), async_mode=False)
    assert asyncio.run(metric.a_measure(deepeval.test_case.LLMTestCase(**FIELDS))) == 0.5


def test_scores_are_collected_by_name(run: Any, Judge: Any) -> None:
    recall = ours.ContextualRecallMetric(threshold=0.5, model=Judge(), include_reason=False)
    precision = ours.ContextualPrecisionMetric(threshold=0.5, model=Judge(), include_reason=False)
    scores = defaultdict(list)
    for result in run(
        [deepeval.test_case.LLMTestCase(**FIELDS, actual_output="[Retrieval only]")],
        [recall, precision],
    ):
        for data in result.metrics_data:
            scores[data.name].append(data.score)
    assert scores == {"Contextual Recall": [0.5], "Contextual Precision": [1.0]}


def test_builders_by_name_and_their_verdicts(Judge: Any) -> None:
    builders = {
        "contextual_recall": lambda: ours.ContextualRecallMetric(threshold=0.5, model=Judge()),
        "contextual_precision": lambda: ours.ContextualPrecisionMetric(threshold=0.5, model=Judge()),
    }
    for build in builders.values():
        metric = build()
        metric.measure(deepeval.test_case.LLMTestCase(**FIELDS))
        assert [verdict.verdict == "yes" for verdict in metric.verdicts] == [True, False]
        assert metric.evaluation_model is not None


def test_what_cannot_work_says_what_to_write(Judge: Any) -> None:
    class Template:
        pass

    with pytest.raises(UnusedError, match=r"evaluation_template would do nothing here\. "):
        ours.ContextualRecallMetric(model=Judge(), evaluation_template=Template)  # type: ignore[call-arg]  # an argument of DeepEval's, refused
    with pytest.raises(UnusedError, match=r"_calculate_score would do nothing here\. "):
        type("Weighted", (ours.ContextualPrecisionMetric,), {"_calculate_score": lambda _: 1.0})
