"""Each framework's own runner with ``telemetry=True``: one event for each score; none without it, and none twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("opentelemetry.sdk._logs", reason="the SDK of OpenTelemetry is not installed")
_export = pytest.importorskip("opentelemetry.sdk._logs.export")
if not hasattr(_export, "InMemoryLogRecordExporter"):
    pytest.skip("the extra otel needs a newer SDK", allow_module_level=True)

from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from ctxmetrics import LexicalJudge
from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

QUESTION = "Which colour is the car?"
REFERENCE = "The car is red. It weighs twelve tons."
CONTEXTS = ["The car is red."]
EVENT = "gen_ai.evaluation.result"
JUDGE = LexicalJudge()


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[Any]]:
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    monkeypatch.setattr(_logs, "get_logger_provider", lambda: provider)
    return lambda: [
        item.log_record for item in exporter.get_finished_logs() if item.log_record.event_name == EVENT
    ]


def run_ragas(**options: Any) -> None:
    ragas = pytest.importorskip("ragas")
    from ctxmetrics_ragas import ContextRecall

    row = {"user_input": QUESTION, "reference": REFERENCE, "retrieved_contexts": CONTEXTS}
    dataset = ragas.EvaluationDataset.from_list([row])
    ragas.evaluate(dataset, metrics=[ContextRecall(judge=JUDGE, **options)], show_progress=False)


def run_ragas_collections(**options: Any) -> None:
    pytest.importorskip("ragas")
    from ctxmetrics_ragas import ContextRecall

    row = {"user_input": QUESTION, "reference": REFERENCE, "retrieved_contexts": CONTEXTS}
    ContextRecall(judge=JUDGE, **options).batch_score([row])


def run_deepeval(**options: Any) -> None:
    deepeval = pytest.importorskip("deepeval")
    from deepeval.evaluate.configs import CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    from ctxmetrics_deepeval import ContextRecallMetric

    case = LLMTestCase(
        input=QUESTION, actual_output="Red.", expected_output=REFERENCE, retrieval_context=CONTEXTS
    )
    deepeval.evaluate(
        [case],
        [ContextRecallMetric(judge=JUDGE, **options)],
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )


def run_langchain(**options: Any) -> None:
    pytest.importorskip("langchain_core")
    from ctxmetrics_langchain import ContextRecallEvaluator

    evaluator = ContextRecallEvaluator(judge=JUDGE, **options)
    evaluator(
        inputs={"question": QUESTION},
        outputs={"answer": "Red.", "documents": CONTEXTS},
        reference_outputs={"answer": REFERENCE},
    )


def run_mlflow(**options: Any) -> None:
    pytest.importorskip("mlflow")
    from ctxmetrics_mlflow import ContextRecallScorer

    ContextRecallScorer(judge=JUDGE, **options)(
        inputs={"question": QUESTION},
        outputs={"answer": "Red.", "documents": CONTEXTS},
        expectations={"expected_response": REFERENCE},
    )


RUNS = [
    run_ragas, run_ragas_collections, run_deepeval, run_langchain, pytest.param(run_mlflow, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_runner_sends_one_event_for_a_score(
    events: Callable[[], list[Any]], run: Callable[..., None]
) -> None:
    run()
    assert events() == []
    run(telemetry=True)
    (event,) = events()
    assert event.attributes["gen_ai.evaluation.score.value"] == 0.5
    assert event.attributes["ctxmetrics.judge"] == "lexical"
    assert "twelve tons" not in str(dict(event.attributes))


@pytest.mark.parametrize("run", RUNS)
def test_missing_provider_is_named_by_the_metric(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_logs, "get_logger_provider", _logs.NoOpLoggerProvider)
    with pytest.raises(ParameterError, match="no LoggerProvider"):
        run(telemetry=True)


@pytest.mark.slow
def test_inspect_sends_one_event_for_a_score(events: Callable[[], list[Any]], tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import Generate, TaskState, solver

    from ctxmetrics_inspect import context_recall

    @solver
    def retrieve() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            del generate
            state.store.set("documents", CONTEXTS)
            return state

        return solve

    task = inspect_ai.Task(
        dataset=[Sample(input=QUESTION, target=REFERENCE)],
        solver=retrieve(),
        scorer=context_recall(judge=JUDGE, telemetry=True),
    )
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    (event,) = events()
    assert event.attributes["gen_ai.evaluation.score.value"] == 0.5


# In a process of its own: the provider of a process can be set once.
ONLINE = """
import asyncio
from opentelemetry import _logs
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from pydantic_evals import online
from ctxmetrics import LexicalJudge
from ctxmetrics_pydantic_evals import ContextRecallEvaluator

exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
_logs.set_logger_provider(provider)
reference = "The car is red. It weighs twelve tons."
evaluator = ContextRecallEvaluator(judge=LexicalJudge(), reference_key=lambda _: reference)

@online.evaluate(evaluator)
async def answer(question):
    return {"answer": question, "documents": ["The car is red."]}

async def main():
    await answer("Which colour?")
    await online.wait_for_evaluations()

asyncio.run(main())
for item in exporter.get_finished_logs():
    record = item.log_record
    print("EVENT", record.event_name, *(record.attributes[f"gen_ai.evaluation.{key}"] for key in ("name", "score.value")))
"""


@pytest.mark.slow
def test_pydantic_evals_writes_the_event_itself_and_once(python: Callable[..., str]) -> None:
    online = pytest.importorskip("pydantic_evals.online")
    if not hasattr(online, "wait_for_evaluations"):
        pytest.skip("this version evaluates nothing online")
    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    unknown: Any = {"telemetry": True}
    with pytest.raises(ParameterError, match="telemetry"):
        ContextRecallEvaluator(**unknown)
    printed = python(ONLINE)
    lines = [line for line in printed.splitlines() if line.startswith("EVENT")]
    assert lines == [f"EVENT {EVENT} context_recall 0.5"], printed
