"""Calling forms of public repositories, re-typed with other data: ``public_usages.toml`` lists them."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from contextlib import suppress
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

import ctxmetrics
from ctxmetrics import ScriptedJudge
from ctxmetrics.adapting import UnusedError
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from support import FakeOpenAIServer, answer_from
from support.later import later

configs = later("deepeval.evaluate.configs")
deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


LABELS = answer_from(
    {
        "The ferry leaves at six.": (True, "Every ferry leaves at six.", "leaves at six"),
        "It carries cars.": False,
    },
    {"Every ferry leaves at six.": True, "Seals sleep on the sand.": False},
)
FIELDS: Any = {
    "input": "When does the ferry leave, and what does it carry?",
    "expected_output": "The ferry leaves at six. It carries cars.",
    "retrieval_context": ["Seals sleep on the sand.", "Every ferry leaves at six."],
}
SAMPLE = ctxmetrics.Sample(
    user_input=FIELDS["input"],
    reference=FIELDS["expected_output"],
    retrieved_contexts=FIELDS["retrieval_context"],
)
(SCORES,) = ctxmetrics.evaluate(
    [SAMPLE],
    [ctxmetrics.ContextRecall(), ctxmetrics.ContextPrecision()],
    judge=ScriptedJudge(LABELS),
    progress=False,
)
# By hand: one of two sentences is supported; the useful context stands second.
RECALL, PRECISION = SCORES["context_recall"].value, SCORES["context_precision"].value
assert (RECALL, PRECISION) == (0.5, 0.5)


@pytest.fixture
def Judge() -> type:
    class Judge(deepeval.models.DeepEvalBaseLLM):
        """A custom LLM without a schema."""

        def __init__(self, name: str = "custom judge") -> None:
            self.name = name

        def load_model(self) -> Any:
            return self

        def generate(self, prompt: str) -> str:
            return LABELS(SimpleNamespace(text=prompt))

        async def a_generate(self, prompt: str) -> str:
            return self.generate(prompt)

        def get_model_name(self) -> str:
            return self.name

    return Judge


def make_options() -> dict[str, Any]:
    """Make options of `deepeval.evaluate` with which it writes and prints nothing."""
    return {
        "cache_config": configs.CacheConfig(write_cache=False),
        "display_config": configs.DisplayConfig(show_indicator=False, print_results=False),
    }


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ours.runners.QUIET.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


def test_structured_judge_of_a_local_server(Judge: Any) -> None:
    class Structured(Judge):
        def generate(self, prompt: str, schema: Any = None) -> Any:
            try:
                output = LABELS(SimpleNamespace(text=prompt))
                if schema is None:
                    return output
                assert schema.model_json_schema()
                return schema.model_validate(json.loads(output))
            except Exception as error:
                raise RuntimeError("The judge failed.") from error

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return self.generate(prompt, schema)

    metrics = {
        "contextual_precision": ours.ContextualPrecisionMetric(threshold=0.5, model=Structured("s")),
        "contextual_recall": ours.ContextualRecallMetric(threshold=0.5, model=Structured("s")),
    }
    for metric in metrics.values():
        metric.measure(
            deepeval.test_case.LLMTestCase(**FIELDS, actual_output="At six.", context=["Ferries sail."])
        )
    scores = {name: float(metric.score) for name, metric in metrics.items()}
    assert scores == {"contextual_precision": PRECISION, "contextual_recall": RECALL}
    assert all(isinstance(metric.reason, str) for metric in metrics.values())


def test_batches_with_limits_and_hyperparameters(Judge: Any) -> None:
    cases = [
        deepeval.test_case.LLMTestCase(**FIELDS, actual_output="(not generated)") for _ in range(3)
    ]
    metrics = [
        ours.ContextualRecallMetric(threshold=0.7, model=Judge(), include_reason=True),
        ours.ContextualPrecisionMetric(threshold=0.7, model=Judge(), include_reason=True),
    ]
    result = deepeval.evaluate(
        test_cases=cases,
        metrics=metrics,
        async_config=configs.AsyncConfig(max_concurrent=2),
        error_config=configs.ErrorConfig(ignore_errors=True),
        hyperparameters={"retriever": "similarity", "top_k": 5, "judge_model": "custom"},
        **make_options(),
    )
    scores = [[data.score for data in test.metrics_data or ()] for test in result.test_results]
    assert scores == [[RECALL, PRECISION]] * 3
    assert not any(test.success for test in result.test_results)


def test_metric_behind_an_enumeration(Judge: Any) -> None:
    class Kind(Enum):
        PRECISION = "contextual_precision"
        RECALL = "contextual_recall"

    backends = {
        Kind.PRECISION: ours.ContextualPrecisionMetric,
        Kind.RECALL: ours.ContextualRecallMetric,
    }
    scores = {}
    for kind in Kind:
        metric = backends[kind](model=Judge())
        (test,) = deepeval.evaluate(
            [deepeval.test_case.LLMTestCase(**FIELDS)], [metric], **make_options()
        ).test_results
        assert test.metrics_data
        assert len(test.metrics_data) == 1
        scores[kind] = test.metrics_data[0].score
    assert scores == {Kind.PRECISION: PRECISION, Kind.RECALL: RECALL}


def test_metric_kept_by_a_provider_class(Judge: Any) -> None:
    class Recall:
        def __init__(self, threshold: float = 0.5, model: Any = None) -> None:
            self.metric = ours.ContextualRecallMetric(threshold=threshold, model=model)
            self.threshold = threshold

        def evaluate(self, text: str, expected: str, context: list[str]) -> dict[str, Any]:
            case = deepeval.test_case.LLMTestCase(
                input=text, expected_output=expected, context=context, retrieval_context=context
            )
            self.metric.measure(case)
            return {"score": self.metric.score, "ok": self.metric.is_successful()}

    result = Recall(model=Judge()).evaluate(*FIELDS.values())
    assert result == {"score": RECALL, "ok": True}


def test_scorer_without_indicator_and_async(Judge: Any) -> None:
    metric = ours.ContextualRecallMetric(
        model=Judge(), verbose_mode=False, async_mode=False, threshold=0.4
    )
    metric.measure(deepeval.test_case.LLMTestCase(**FIELDS), _show_indicator=False)
    assert (metric.score, metric.threshold, metric.is_successful()) == (RECALL, 0.4, True)


def test_metrics_named_by_their_class(Judge: Any) -> None:
    def make(kind: Any, **options: Any) -> Any:
        return kind(model=Judge(), async_mode=False, **options)

    results = []
    for metric in (make(ours.ContextualPrecisionMetric), make(ours.ContextualRecallMetric)):
        metric.measure(deepeval.test_case.LLMTestCase(**FIELDS))
        results.append((metric.__class__.__name__, metric.score, metric.success))
    assert results == [
        ("ContextualPrecisionMetric", PRECISION, True),
        ("ContextualRecallMetric", RECALL, True),
    ]


def test_model_is_left_out_where_there_is_none() -> None:
    def make(kind: Any, model: Any, threshold: float) -> Any:
        try:
            return kind(threshold=threshold, model=model)
        except TypeError:
            return kind(threshold=threshold)

    metric = make(ours.ContextualRecallMetric, None, 0.5)
    with suppress(Exception):
        metric.measure(deepeval.test_case.LLMTestCase(**FIELDS))
    assert metric.score == ctxmetrics.ContextRecall().score(SAMPLE).value


def test_fresh_metric_for_each_coroutine(Judge: Any) -> None:
    async def job(kind: Any) -> float:
        metric = kind(model=Judge(), include_reason=False)
        await metric.a_measure(deepeval.test_case.LLMTestCase(**FIELDS), _show_indicator=False)
        return metric.score

    async def run() -> list[float]:
        return await asyncio.gather(
            job(ours.ContextualRecallMetric), job(ours.ContextualPrecisionMetric)
        )

    assert asyncio.run(run()) == [RECALL, PRECISION]


def test_pytest_over_the_cases_of_a_data_set(Judge: Any) -> None:
    dataset = deepeval.dataset.EvaluationDataset()
    dataset.add_test_case(deepeval.test_case.LLMTestCase(**FIELDS, actual_output="At six."))
    for case in dataset.test_cases:
        deepeval.assert_test(case, [ours.ContextualRecallMetric(threshold=0.5, model=Judge())])
        with pytest.raises(AssertionError, match="Contextual Recall"):
            deepeval.assert_test(case, [ours.ContextualRecallMetric(threshold=0.7, model=Judge())])


def test_goldens_become_cases(Judge: Any) -> None:
    goldens = [{"query": FIELDS["input"], "ideal_answer": FIELDS["expected_output"]}]
    cases = [
        deepeval.test_case.LLMTestCase(
            input=golden["query"],
            expected_output=golden["ideal_answer"],
            actual_output="(not generated)",
            retrieval_context=FIELDS["retrieval_context"],
        )
        for golden in goldens
    ]
    metrics = [
        ours.ContextualRecallMetric(
            threshold=0.7, model=Judge(), include_reason=True, async_mode=False
        ),
        ours.ContextualPrecisionMetric(
            threshold=0.7, model=Judge(), include_reason=True, async_mode=False
        ),
    ]
    (test,) = deepeval.evaluate(cases, metrics, **make_options()).test_results
    assert [data.score for data in test.metrics_data or ()] == [RECALL, PRECISION]


def test_means_by_metric_over_categories(Judge: Any) -> None:
    scores: dict[str, list[float]] = defaultdict(list)
    metrics = [
        ours.ContextualPrecisionMetric(threshold=0.5, model=Judge()),
        ours.ContextualRecallMetric(threshold=0.5, model=Judge()),
    ]
    for _ in range(2):
        for metric in metrics:
            metric.measure(deepeval.test_case.LLMTestCase(**FIELDS))
            scores[metric.__name__].append(metric.score)
    assert scores == {"Contextual Precision": [PRECISION] * 2, "Contextual Recall": [RECALL] * 2}


def test_judge_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeOpenAIServer(LABELS) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-6")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        metric = ours.ContextualRecallMetric(threshold=0.7, model="gpt-4o-mini")
        assert metric.measure(deepeval.test_case.LLMTestCase(**FIELDS)) == RECALL
        assert server.requests


def test_span_of_a_retriever(Judge: Any) -> None:
    from deepeval.tracing import observe, update_current_span

    metric = ours.ContextualRecallMetric(threshold=0.5, model=Judge())

    @observe(type="retriever", metrics=[metric])
    def retrieve(_: str) -> None:
        update_current_span(test_case=deepeval.test_case.LLMTestCase(**FIELDS))

    dataset = deepeval.dataset.EvaluationDataset(
        goldens=[deepeval.dataset.Golden(input=FIELDS["input"])]
    )
    for golden in dataset.evals_iterator(**make_options()):
        retrieve(golden.input)
    assert metric.score == RECALL


def test_threshold_above_the_scale(refusal: str, Judge: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        ours.ContextualPrecisionMetric(threshold=8.0, model=Judge())
    assert str(caught.value) == refusal


def test_dict_in_place_of_a_test_case(refusal: str, Judge: Any) -> None:
    with pytest.raises(SampleError) as caught:
        ours.ContextualPrecisionMetric(model=Judge()).measure(FIELDS)
    assert str(caught.value) == refusal


def test_no_retrieval_context(refusal: str, Judge: Any) -> None:
    case = deepeval.test_case.LLMTestCase(
        **{**FIELDS, "retrieval_context": None}, actual_output="At six."
    )
    with pytest.raises(MissingFieldError) as caught:
        deepeval.evaluate([case], [ours.ContextualPrecisionMetric(model=Judge())], **make_options())
    assert str(caught.value) == refusal


def test_measure_of_a_subclass_calls_theirs(refusal: str, Judge: Any) -> None:
    class Own(ours.ContextualRecallMetric):
        def measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            self.evaluation_cost = 0 if self.using_native_model else None
            self.verdicts = self._generate_verdicts(
                test_case.expected_output, test_case.retrieval_context
            )
            self.score = self._calculate_score()
            return self.score

    with pytest.raises(UnusedError) as caught:
        Own(model=Judge()).measure(deepeval.test_case.LLMTestCase(**FIELDS))
    assert str(caught.value) == refusal


def test_template_of_a_subclass(refusal: str, Judge: Any) -> None:
    class Template:
        @staticmethod
        def generate_verdicts(**_: Any) -> str:
            return "."

    with pytest.raises(UnusedError) as caught:
        ours.ContextualRecallMetric(model=Judge(), evaluation_template=Template)  # type: ignore[call-arg]  # refused
    assert str(caught.value) == refusal
