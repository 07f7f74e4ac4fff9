"""LCEL and langchain-core's own evaluator runner."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall
from ctxmetrics.errors import CtxMetricsError, MissingFieldError
from support.later import later

evaluation = later("langchain_core.tracers.evaluation")
langchain_core = later("langchain_core")
ours = later("ctxmetrics_langchain")


def invoked(runnable: Any, fields: Any, **options: Any) -> Any:
    return runnable.invoke(fields, **options)


def ainvoked(runnable: Any, fields: Any, **options: Any) -> Any:
    return asyncio.run(runnable.ainvoke(fields, **options))


BOTH = pytest.mark.parametrize("call", [invoked, ainvoked])


@pytest.fixture
def fields(case):
    return {
        "question": case.question,
        "documents": case.documents,
        "reference": case.reference,
        "reference_context_ids": ["d2", "d9"],
    }


@pytest.fixture
def retriever(case):
    class Store(langchain_core.retrievers.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return case.documents

    return Store()


@pytest.fixture
def Recorder() -> type:
    class Recorder(langchain_core.callbacks.BaseCallbackHandler):
        """What callbacks are told about chains and chat models."""

        def __init__(self) -> None:
            self.models: list[dict[str, Any]] = []
            self.chains: dict[Any, str] = {}

        def on_chain_start(self, serialized, inputs, *, run_id, **kwargs):
            self.chains[run_id] = kwargs.get("name")

        def on_chat_model_start(self, serialized, messages, *, parent_run_id, tags, metadata, **kwargs):
            self.models.append(
                {"parent": self.chains.get(parent_run_id), "tags": tags, "metadata": metadata}
            )

    return Recorder


@BOTH
def test_one_metric_gives_its_row(call, case, fields):
    runnable = ours.ContextRecallEvaluator(judge=case.judge, threshold=0.5).as_runnable()
    assert isinstance(runnable, langchain_core.runnables.Runnable)
    row = call(runnable, fields)
    assert (row["key"], row["score"], row["value"]) == ("context_recall", 0.5, "passed")
    assert "no context gives the year" in row["comment"]
    assert row["evaluator_info"]["reason_code"] is None


@BOTH
def test_several_metrics_give_their_rows(call, case, fields):
    several = ours.RetrievalEvaluator(
        [ContextRecall(), ContextPrecision(), IDBasedContextRecall()], judge=case.judge
    )
    assert [row["score"] for row in call(several.as_runnable(), fields)["results"]] == [0.5, 0.5, 0.5]


@BOTH
def test_in_a_chain_behind_a_retriever(call, case, retriever, fields):
    evaluator = ours.ContextRecallEvaluator(judge=case.judge).as_runnable()
    joined = (
        langchain_core.runnables.RunnableParallel(
            documents=langchain_core.runnables.RunnableLambda(lambda given: given["question"])
            | retriever,
            reference=lambda given: given["reference"],
        )
        | evaluator
    )
    assert call(joined, fields)["score"] == 0.5
    kept = langchain_core.runnables.RunnablePassthrough.assign(
        context=langchain_core.runnables.RunnableLambda(lambda given: given["question"]) | retriever
    ).assign(evaluation=evaluator)
    given = {"question": case.question, "reference": case.reference}
    answer = call(kept, given)
    assert answer["evaluation"]["score"] == 0.5
    assert answer["question"] == case.question
    bound = (
        retriever
        | (lambda documents: {"documents": documents, "reference": case.reference})
        | evaluator
    )
    assert call(bound, case.question)["score"] == 0.5


def test_batch_and_abatch_keep_order_and_exceptions(case, fields):
    runnable = ours.IDBasedContextRecallEvaluator().as_runnable()
    given = [fields, {"question": "?"}, {**fields, "reference_context_ids": ["d1"]}]
    for rows in (
        runnable.batch(given, return_exceptions=True),
        asyncio.run(runnable.abatch(given, return_exceptions=True, config={"max_concurrency": 2})),
    ):
        assert rows[0]["score"] == 0.5
        assert isinstance(rows[1], MissingFieldError)
        assert rows[2]["score"] == 1.0


@BOTH
def test_missing_data_raises_here(call):
    with pytest.raises(CtxMetricsError, match="no retrieved_contexts"):
        call(ours.ContextRecallEvaluator().as_runnable(), {"reference": "x"})


def test_trap_callable_on_the_wrong_thing_is_no_fallback(fields):
    """with_fallbacks and with_retry see real exceptions."""
    runnable = ours.ContextRecallEvaluator().as_runnable()
    safe = runnable.with_fallbacks(
        [langchain_core.runnables.RunnableLambda(lambda given: {"score": None})],
        exceptions_to_handle=(CtxMetricsError,),
    )
    assert safe.invoke({"reference": "x"}) == {"score": None}
    tries: list[int] = []

    def flaky(record: Any) -> Any:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("gone")
        return record["documents"]

    retried = (
        ours.IDBasedContextRecallEvaluator(contexts_key=flaky)
        .as_runnable()
        .with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    )
    assert retried.invoke(fields)["score"] == 0.5
    assert len(tries) == 2


def chat_model(case: Any) -> langchain_core.language_models.GenericFakeChatModel:
    import json

    return langchain_core.language_models.GenericFakeChatModel(
        messages=iter([langchain_core.messages.AIMessage(json.dumps(case.joint))])
    )


@BOTH
def test_callbacks_tags_and_metadata_reach_the_model_call(call, case, fields, Recorder: Any):
    recorder = Recorder()
    runnable = (
        ours.ContextRecallEvaluator(judge=chat_model(case))
        .as_runnable()
        .with_config(tags=["nightly"], metadata={"who": "me"})
    )
    assert call(runnable, fields, config={"callbacks": [recorder]})["score"] == 0.5
    (told,) = recorder.models
    assert told["parent"] == "context_recall"
    assert "nightly" in told["tags"]
    assert told["metadata"]["who"] == "me"


def test_the_run_has_the_metric_s_name_and_a_schema(fields):
    runnable = ours.IDBasedContextRecallEvaluator().as_runnable()
    assert runnable.get_name() == "id_based_context_recall"
    assert runnable.get_input_jsonschema()["type"] == "object"

    async def names() -> list[str]:
        return [event["name"] async for event in runnable.astream_events(fields, version="v2")]

    assert "id_based_context_recall" in asyncio.run(names())


# ---- EvaluatorCallbackHandler ----


def test_trap_callback_handler_calls_with_two_arguments(case, client, retriever):
    """Every finished root run is scored, its retriever's documents are found below it, and feedback is sent."""
    client.read_example = lambda example_id: case.example
    handler = evaluation.EvaluatorCallbackHandler(
        [ours.RetrievalEvaluator([ContextRecall(), IDBasedContextRecall()], judge=case.judge)],
        client=client,
        example_id=case.example.id,
        max_concurrency=0,
    )
    chain = (
        langchain_core.runnables.RunnableLambda(lambda given: given["question"])
        | retriever
        | (lambda documents: {"answer": str(len(documents))})
    )
    chain.invoke({"question": case.question}, config={"callbacks": [handler]})
    (results,) = handler.logged_eval_results.values()
    assert {result.key: result.score for result in results} == {
        "context_recall": 0.5,
        "id_based_context_recall": 0.5,
    }
    assert {sent["key"]: sent["score"] for sent in client.feedback} == {
        "context_recall": 0.5,
        "id_based_context_recall": 0.5,
    }
    (judge,) = {
        sent["source_info"]["judge"] for sent in client.feedback if sent["key"] == "context_recall"
    }
    assert judge == case.judge.name
    assert all(isinstance(sent["source_run_id"], uuid.UUID) for sent in client.feedback)


def test_evaluator_callback_handler_without_an_example(case, client):
    """What needs no reference works on live traffic; the question is the run's own."""
    from ctxmetrics_langchain import ContextUtilizationEvaluator

    handler = evaluation.EvaluatorCallbackHandler(
        [ContextUtilizationEvaluator()], client=client, max_concurrency=0
    )
    chain = langchain_core.runnables.RunnableLambda(
        lambda given: {"answer": "The tower was built by Gustave Eiffel.", "documents": case.documents}
    )
    chain.invoke({"question": case.question}, config={"callbacks": [handler]})
    (sent,) = client.feedback
    assert (sent["key"], sent["score"]) == ("context_utilization", 0.5)
