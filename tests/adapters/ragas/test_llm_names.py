"""Names that promise an LLM keep the promise: the requests at the server are counted."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
import threading
from typing import Any

import pytest

from ctxmetrics import LexicalJudge, ScriptedJudge
from ctxmetrics.errors import EmbeddedJudgeWarning, ParameterError
from support import FakeOpenAIServer
from support.later import later

metrics_base = later("ragas.metrics.base")
openai = later("openai")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


pytestmark = pytest.mark.filterwarnings(
    "ignore:aevaluate:DeprecationWarning", "error::ctxmetrics.errors.EmbeddedJudgeWarning"
)
Row = dict[str, Any]

NAMES = {
    "LLMContextRecall": ("context_recall", 0.5),
    "LLMContextPrecisionWithReference": ("llm_context_precision_with_reference", 1.0),
    "LLMContextPrecisionWithoutReference": ("llm_context_precision_without_reference", 1.0),
    "ContextPrecisionWithReference": ("context_precision_with_reference", 1.0),
    "ContextPrecisionWithoutReference": ("context_precision_without_reference", 1.0),
}
"""Ragas' own keys, and the score of `ROW`."""
INSTANCES = {"context_recall": 0.5, "context_precision": 1.0}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_promises_an_llm_asks_it(
    evaluate: Any, row: Row, server: FakeOpenAIServer, make_llm: Any, name: str
) -> None:
    key, value = NAMES[name]
    metric = getattr(ours, name)()
    assert isinstance(metric, metrics_base.MetricWithLLM)
    result = evaluate([row], [metric], llm=make_llm(server))
    assert result.scores == [{key: value}]
    assert server.count == 1
    assert "fake-judge" in result.traces[0][key]["score"]["output"].provenance.judge


def test_the_snippet_of_the_report_asks_once_a_sample(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    """``evaluate(ds, metrics=[LLMContextRecall(), ..], llm=llm)`` with only the import changed gave 0 requests."""
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(3)]
    metrics = [ours.LLMContextRecall(), ours.LLMContextPrecisionWithReference(), ours.context_recall]
    result = evaluate(rows, metrics, llm=llms.langchain_wrapper(server))
    scores = {"context_recall": 0.5, "llm_context_precision_with_reference": 1.0}
    assert result.scores == [scores] * 3
    assert server.count == 3


@pytest.mark.parametrize("name", INSTANCES)
def test_lower_case_instances_ask_it_and_keep_nothing(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any, name: str
) -> None:
    metric = getattr(ours, name)
    assert isinstance(metric, metrics_base.MetricWithLLM)
    assert metric.name == name
    llm = llms.instructor_async(server)
    assert evaluate([row], [metric], llm=llm)[name] == [INSTANCES[name]]
    assert server.count == 1
    assert metric.llm is None
    assert not [value for value in vars(metric).values() if isinstance(value, ours.RagasModel)]
    with pytest.raises(ParameterError, match=f"{name} has no LLM yet"):
        metric.score(**row)
    with pytest.raises(ParameterError, match=f"{name} has no LLM yet"):
        asyncio.run(metric.single_turn_ascore(ragas.SingleTurnSample(**row)))


def test_an_instance_judges_with_the_llm_of_each_run(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any, labels: Any
) -> None:
    with FakeOpenAIServer(labels) as other:
        for turn, at in enumerate((server, other, server)):
            at.reset()
            llm = llms.instructor_async(at)
            evaluate([{**row, "user_input": f"Turn {turn}?"}], [ours.context_recall], llm=llm)
            assert at.count == 1


def test_an_instance_awaited_in_the_same_task_keeps_nothing(
    row: Row, server: FakeOpenAIServer, llms: Any
) -> None:
    from ragas import EvaluationDataset

    async def main() -> None:
        dataset = EvaluationDataset.from_list([row])
        llm = llms.instructor_async(server)
        result = await ragas.aevaluate(
            dataset, metrics=[ours.context_recall], llm=llm, show_progress=False
        )
        assert result["context_recall"] == [0.5]
        with pytest.raises(ParameterError, match="no LLM yet"):
            await ours.context_recall.ascore(**row)

    asyncio.run(main())
    assert server.count == 1


def test_an_executor_that_runs_later_judges_with_its_runs_llm(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any, labels: Any
) -> None:
    """Another run of the same instance ends in between, and an executor may run in another thread."""
    with FakeOpenAIServer(labels) as other:
        executor = evaluate(
            [row], [ours.context_recall], llm=llms.instructor_async(server), return_executor=True
        )
        again = {**row, "user_input": "Another question?"}
        evaluate([again], [ours.context_recall], llm=llms.instructor_async(other))
        found: list[float] = []
        thread = threading.Thread(target=lambda: found.extend(executor.results()))
        thread.start()
        thread.join()
        assert found == [0.5]
        assert (server.count, other.count) == (1, 1)
        assert ours.context_recall.llm is None


def test_an_llm_given_by_hand_stays(
    row: Row, server: FakeOpenAIServer, llms: Any, score_in_a_thread: Any
) -> None:
    """``metric.llm = llm; metric.init(..)`` once, then scoring in other threads, as integrations do."""
    metric = ours.LLMContextRecall()
    metric.llm = llm = llms.instructor_sync(server)
    from ragas import RunConfig

    metric.init(RunConfig())
    assert score_in_a_thread(metric, row) == 0.5
    assert metric.llm is llm


@pytest.mark.parametrize("name", NAMES)
def test_judge_or_llm_replaces_it(
    evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any, labels: Any, name: str
) -> None:
    kind, (key, value) = getattr(ours, name), NAMES[name]
    scripted = kind(judge=ScriptedJudge(labels, name="labels"))
    given = kind(llm=llms.instructor_async(server))
    assert not isinstance(scripted, metrics_base.MetricWithLLM)
    assert not isinstance(given, metrics_base.MetricWithLLM)
    assert evaluate([row], [scripted])[key] == [value]
    assert server.count == 0
    assert given.score(**row).value == value
    assert evaluate([row], [given])[key] == [value]
    assert server.count == 1


def test_the_embedded_judge_by_name_gives_no_warning(evaluate: Any, row: Row) -> None:
    assert evaluate([row], [ours.LLMContextRecall(judge=LexicalJudge())])["context_recall"] == [0.5]


def test_without_an_llm_evaluate_raises_ragas_own_error(
    evaluate: Any, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for metric in (ours.LLMContextRecall(), ours.context_precision):
        with pytest.raises(openai.OpenAIError, match="OPENAI_API_KEY"):
            evaluate([row], [metric])


def test_without_an_llm_evaluate_asks_ragas_own_default_client(
    evaluate: Any, row: Row, server: FakeOpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-5")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    assert evaluate([row], [ours.LLMContextRecall()])["context_recall"] == [0.5]
    assert server.count == 1
    assert server.requests[0].body["model"] == "gpt-4o-mini"


@pytest.mark.parametrize("name", NAMES)
def test_elsewhere_the_error_says_what_to_give(row: Row, name: str) -> None:
    metric = getattr(ours, name)()
    calls = [
        lambda: metric.score(**row),
        lambda: metric.batch_score([row]),
        lambda: metric.single_turn_score(ragas.SingleTurnSample(**row)),
        lambda: asyncio.run(metric.ascore(**row)),
        lambda: asyncio.run(metric.single_turn_ascore(ragas.SingleTurnSample(**row))),
    ]
    for call in calls:
        with pytest.raises(
            ParameterError, match=rf"has no LLM yet\. Give llm= to {name}\(\.\.\)"
        ) as caught:
            call()
        assert "judge=LexicalJudge()" in str(caught.value)


@pytest.mark.filterwarnings("ignore::ctxmetrics.errors.EmbeddedJudgeWarning")
def test_our_own_names_ask_no_llm(evaluate: Any, row: Row, server: FakeOpenAIServer, llms: Any) -> None:
    metrics = [ours.ContextRecall(), ours.ContextPrecision(), ours.ContextUtilization()]
    assert not any(isinstance(metric, metrics_base.MetricWithLLM) for metric in metrics)
    with pytest.warns(EmbeddedJudgeWarning) as caught:
        evaluate([row] * 3, metrics, llm=llms.langchain(server))
    assert len([item for item in caught if item.category is EmbeddedJudgeWarning]) == 1
    assert server.count == 0


def test_keys_and_parameters() -> None:
    assert {name: getattr(ours, name)().name for name in NAMES} == {
        name: key for name, (key, _) in NAMES.items()
    }
    assert (
        ours.LLMContextPrecisionWithReference(top_k=5).name
        == "llm_context_precision_with_reference(top_k=5)"
    )
    assert ours.LLMContextPrecisionWithReference(name="mine").name == "mine"
    string = ours.NonLLMContextPrecisionWithReference()
    assert string.name == "non_llm_context_precision_with_reference"


@pytest.mark.parametrize("name", NAMES)
def test_copies_pickles_and_files(name: str, tmp_path: Any) -> None:
    kind = getattr(ours, name)
    metric = kind(top_k=3)
    metric.save(tmp_path / "metric.json")
    twins = (
        pickle.loads(pickle.dumps(metric)),  # noqa: S301 - our own
        copy.deepcopy(metric),
        kind.load(tmp_path / "metric.json"),
    )
    for twin in twins:
        assert twin == metric
        assert twin.name == metric.name
        assert isinstance(twin, metrics_base.MetricWithLLM)
    judged = kind(judge=LexicalJudge(), top_k=3)
    twin = pickle.loads(pickle.dumps(judged))  # noqa: S301 - our own
    assert twin == judged != metric
    assert not isinstance(twin, metrics_base.MetricWithLLM)


def test_one_instance_in_two_runs_at_once(row: Row, llms: Any, labels: Any) -> None:
    from ragas import EvaluationDataset

    rows = [{**row, "user_input": f"Question {number}?"} for number in range(4)]
    with (
        FakeOpenAIServer(labels, latency=0.02) as first,
        FakeOpenAIServer(labels, latency=0.02) as second,
    ):

        async def run(server: FakeOpenAIServer) -> Any:
            llm, dataset = llms.instructor_async(server), EvaluationDataset.from_list(rows)
            found = await ragas.aevaluate(
                dataset, metrics=[ours.context_recall], llm=llm, show_progress=False
            )
            return found["context_recall"]

        async def both() -> Any:
            return await asyncio.gather(run(first), run(second))

        assert asyncio.run(both()) == [[0.5] * 4] * 2
        assert (first.count, second.count) == (4, 4)


def test_failed_llm_score_is_nan_not_the_embedded_judges(evaluate: Any, row: Row, llms: Any) -> None:
    with FakeOpenAIServer(lambda _: "no") as server:
        result = evaluate([row], [ours.LLMContextRecall()], llm=llms.instructor_async(server))
    assert math.isnan(result["context_recall"][0])
