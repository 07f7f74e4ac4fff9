"""Calling forms of public repositories, re-typed with other data: ``public_usages.toml`` lists them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import ctxmetrics
from ctxmetrics.errors import MissingFieldError
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable

langchain_core = later("langchain_core")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")


@pytest.fixture
def core_value(case: Any) -> Callable[..., float | None]:
    """What `ctxmetrics.evaluate` gives for the case, by the same judge."""

    def core_value(kind: str) -> float | None:
        sample = {
            "user_input": case.question,
            "response": case.outputs["answer"],
            "reference": case.reference,
            "retrieved_contexts": case.contexts,
            "retrieved_context_ids": ["file1.md", "file2.md", "file3.md"],
            "reference_context_ids": ["file2.md", "file9.md"],
        }
        metric: Any = getattr(ctxmetrics, kind)
        judged = {"judge": case.judge} if "judge" in metric.__dataclass_fields__ else {}
        results = ctxmetrics.evaluate([sample], [metric(**judged)], progress=False)
        return results[0][metric.base_name].value

    return core_value


def by_key(row: Any) -> dict[str, Any]:
    return {result.key: result.score for result in row["evaluation_results"]["results"]}


def test_graph_state_in_a_data_frame(case: Any, client: Any, core_value: Any) -> None:
    pandas = pytest.importorskip("pandas")

    async def run_graph(inputs: dict[str, Any]) -> dict[str, Any]:
        messages = [
            langchain_core.messages.HumanMessage(inputs["question"]),
            langchain_core.messages.AIMessage(case.outputs["answer"]),
        ]
        return {"messages": messages, "documents": case.documents}

    expected = {"answer": case.reference, "sources": ["file2.md", "file9.md"]}

    async def run() -> Any:
        results = await langsmith.aevaluate(
            run_graph,
            data=[case.example_with(outputs=expected)],
            evaluators=[
                ours.ContextRecallEvaluator(judge=case.judge),
                ours.IDBasedHitRateEvaluator(id_key="source", reference_ids_key="sources"),
            ],
            experiment_prefix="ci",
            metadata={"judge_model_name": "scripted"},
            max_concurrency=1,
            upload_results=False,
            client=client,
        )
        await results.wait()
        return results

    frame = pandas.DataFrame(by_key(row) for row in asyncio.run(run())._results)
    assert frame.mean().to_dict() == {
        "context_recall": core_value("ContextRecall"),
        "id_based_hit_rate": core_value("IDBasedHitRate"),
    }


def test_contexts_as_texts_repeated(case: Any, client: Any, core_value: Any) -> None:
    results = langsmith.evaluate(
        lambda _: {"answer": case.outputs["answer"], "contexts": case.contexts},
        data=[case.example_with(outputs={"answer": case.reference})],
        evaluators=[ours.ContextPrecisionEvaluator(judge=case.judge)],
        experiment_prefix="rag",
        num_repetitions=2,
        max_concurrency=4,
        upload_results=False,
        client=client,
    )
    scores = [by_key(row)["context_precision"] for row in results]
    assert scores == [core_value("ContextPrecision")] * 2


def test_evaluator_called_inside_a_function(case: Any, client: Any, core_value: Any) -> None:
    judge = ours.ContextRecallEvaluator(judge=case.judge)

    def context_recall(
        run: langsmith.schemas.Run, example: langsmith.schemas.Example
    ) -> dict[str, Any]:
        row = judge(inputs=example.inputs, outputs=run.outputs, reference_outputs=example.outputs)
        return {"key": "context_recall", "score": row["score"], "comment": row["comment"]}

    (row,) = langsmith.evaluate(
        lambda _: {"answer": "x", "contexts": case.contexts},
        data=[case.example_with(outputs={"answer": case.reference, "expected_keyword": "tower"})],
        evaluators=[context_recall],
        upload_results=False,
        client=client,
    )
    assert by_key(row) == {"context_recall": core_value("ContextRecall")}


def test_decorated_evaluator_over_an_agent(case: Any, client: Any, core_value: Any) -> None:
    own = ours.ContextRecallEvaluator(judge=case.judge)

    @langsmith.evaluation.run_evaluator
    def recall(
        run: langsmith.schemas.Run, example: langsmith.schemas.Example | None = None
    ) -> langsmith.EvaluationResult:
        result = own.evaluate_run(run, example)
        return langsmith.EvaluationResult(key="recall", score=result.score, comment=result.comment)

    call = {"name": "search_docs", "args": {"query": "tower"}, "id": "1"}
    messages = [
        langchain_core.messages.HumanMessage(case.question),
        langchain_core.messages.AIMessage("", tool_calls=[call]),
        langchain_core.messages.ToolMessage(
            "3 hits", tool_call_id="1", name="search_docs", artifact=case.documents
        ),
        langchain_core.messages.AIMessage(case.outputs["answer"]),
    ]
    (row,) = langsmith.evaluate(
        lambda _: {"messages": messages},
        data=[case.example_with(outputs={"answer": case.reference})],
        evaluators=[recall],
        upload_results=False,
        client=client,
    )
    assert by_key(row) == {"recall": core_value("ContextRecall")}


def test_question_in_a_list_of_messages(case: Any, client: Any, core_value: Any) -> None:
    async def run_target(inputs: dict[str, Any]) -> dict[str, Any]:
        question = inputs["messages"][-1]["content"]
        call = {"name": "retriever", "args": {"query": question}, "id": "1"}
        found = [
            langchain_core.messages.ToolMessage(text, tool_call_id="1", name="retriever")
            for text in case.contexts
        ]
        return {
            "messages": [
                langchain_core.messages.HumanMessage(question),
                langchain_core.messages.AIMessage("", tool_calls=[call]),
                *found,
                langchain_core.messages.AIMessage(case.outputs["answer"]),
            ]
        }

    example = case.example_with(
        inputs={"messages": [{"role": "user", "content": case.question}]},
        outputs={"answer": case.reference},
    )

    async def run() -> Any:
        results = await langsmith.aevaluate(
            run_target,
            data=[example],
            evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
            upload_results=False,
            client=client,
        )
        await results.wait()
        return results._results

    (row,) = asyncio.run(run())
    assert by_key(row) == {"context_recall": core_value("ContextRecall")}


def test_string_evaluator_in_a_run_evaluator(case: Any, client: Any, core_value: Any) -> None:
    pytest.importorskip("langchain_classic", reason="langchain-classic is not installed")

    class StringRunEvaluator(langsmith.evaluation.RunEvaluator):
        def __init__(self, evaluator: Any, prepare_data: Any) -> None:
            self.evaluator, self.prepare_data = evaluator, prepare_data

        def evaluate_run(self, run: Any, example: Any = None, **_: Any) -> langsmith.EvaluationResult:
            data = self.prepare_data(run, example)
            result = self.evaluator.evaluate_strings(**data)
            comment = result.get("reasoning")
            return langsmith.EvaluationResult(key="recall", score=result.get("score"), comment=comment)

    evaluator = StringRunEvaluator(
        ours.ContextRecallEvaluator(judge=case.judge).as_string_evaluator(),
        prepare_data=lambda run, example: {
            "prediction": run.outputs["source_documents"],
            "reference": example.outputs["answer"],
            "input": example.inputs["question"],
        },
    )
    (row,) = langsmith.evaluate(
        lambda _: {"answer": case.outputs["answer"], "source_documents": case.contexts},
        data=[case.example],
        evaluators=[evaluator],
        upload_results=False,
        client=client,
    )
    assert by_key(row) == {"recall": core_value("ContextRecall")}


def test_openevals_sides_as_texts(case: Any, core_value: Any) -> None:
    evaluator = ours.ContextUtilizationEvaluator(judge=case.judge)
    row = evaluator(inputs=case.question, outputs=case.outputs["answer"], context=case.contexts)
    assert row["key"] == "context_utilization"
    assert row["score"] == core_value("ContextUtilization")


def test_openevals_context_as_a_mapping(case: Any, core_value: Any) -> None:
    evaluator = ours.ContextRecallEvaluator(judge=case.judge)
    row = evaluator(
        inputs={"question": case.question},
        context={"documents": case.contexts},
        reference_outputs={"answer": case.reference},
    )
    assert row["score"] == core_value("ContextRecall"), row["comment"]


def test_run_without_an_example(case: Any, client: Any, make_run: Any, core_value: Any) -> None:
    run = make_run(
        {"answer": case.outputs["answer"], "context": case.contexts},
        inputs={"query": case.question},
    )
    result = ours.ContextUtilizationEvaluator(judge=case.judge).evaluate_run(run)
    client.create_feedback(run.id, key=result.key, score=result.score, comment=result.comment)
    (feedback,) = client.feedback
    assert feedback["score"] == core_value("ContextUtilization")


def test_chain_with_a_traced_retriever(case: Any, client: Any, core_value: Any) -> None:
    class Store(langchain_core.retrievers.BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: Any
        ) -> list[langchain_core.documents.Document]:
            return case.documents

    retrieve = langchain_core.runnables.RunnableLambda(lambda inputs: inputs["query"]) | Store()
    chain = langchain_core.runnables.RunnablePassthrough.assign(
        documents=retrieve
    ) | langchain_core.runnables.RunnableLambda(
        lambda state: {"query": state["query"], "result": f"{len(state['documents'])} documents"}
    )
    (row,) = langsmith.evaluate(
        chain.invoke,
        data=[case.example_with(inputs={"query": case.question}, outputs={"answer": case.reference})],
        evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
        upload_results=False,
        client=client,
    )
    assert by_key(row) == {"context_recall": core_value("ContextRecall")}


def test_reference_under_another_key(case: Any, client: Any, core_value: Any) -> None:
    for key in ("ground_truth", "reference_answer", "expected_answer", "expected", "expected_output"):
        (row,) = langsmith.evaluate(
            lambda _: {"retrieved_contexts": case.contexts},
            data=[case.example_with(outputs={key: case.reference})],
            evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
            upload_results=False,
            client=client,
        )
        result = row["evaluation_results"]["results"][0]
        assert result.score == core_value("ContextRecall"), (key, result.comment)


def test_retrieved_context_in_the_singular(case: Any, client: Any, core_value: Any) -> None:
    outputs = {"answer": case.outputs["answer"], "retrieved_context": case.contexts}
    (row,) = langsmith.evaluate(
        lambda _: outputs,
        data=[case.example_with(outputs={"expected_output": case.reference})],
        evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
        upload_results=False,
        client=client,
    )
    (result,) = row["evaluation_results"]["results"]
    assert result.score == core_value("ContextRecall"), result.comment


def test_reference_answers_in_a_list(case: Any, client: Any, refusal: str) -> None:
    (row,) = langsmith.evaluate(
        lambda _: case.outputs,
        data=[case.example_with(outputs={"answer": [case.reference]})],
        evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
        upload_results=False,
        client=client,
    )
    (result,) = row["evaluation_results"]["results"]
    assert result.score is None
    assert refusal in result.comment


def test_target_that_hides_what_it_retrieved(case: Any, client: Any, refusal: str) -> None:
    (row,) = langsmith.evaluate(
        lambda _: {"answer": case.outputs["answer"], "latency_seconds": 0.25},
        data=[case.example_with(outputs={"answer": case.reference, "ground_truth_context": "x"})],
        evaluators=[ours.ContextRecallEvaluator(judge=case.judge)],
        upload_results=False,
        client=client,
    )
    (result,) = row["evaluation_results"]["results"]
    assert result.score is None
    assert refusal in result.comment


def test_documents_joined_to_one_prediction(case: Any, refusal: str) -> None:
    pytest.importorskip("langchain_classic", reason="langchain-classic is not installed")
    evaluator = ours.ContextRecallEvaluator(judge=case.judge).as_string_evaluator()
    with pytest.raises(MissingFieldError) as caught:
        evaluator.evaluate_strings(
            prediction="\n---\n".join(case.contexts), reference=case.reference, input=case.question
        )
    assert str(caught.value) == refusal
