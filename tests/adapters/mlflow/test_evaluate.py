"""Through `mlflow.genai.evaluate`: what reaches the results, and every trap of it that touches a scorer."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

pytest.importorskip("mlflow", reason="the mlflow extra is not installed")

import mlflow
from mlflow.entities import Document, SpanType
from pydantic import BaseModel

from ctxmetrics import ContextRecall, LexicalJudge, LLMJudge, ScriptedJudge
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics_mlflow import (
    ContextPrecisionScorer,
    ContextRecallScorer,
    ContextUtilizationScorer,
    IDBasedContextPrecisionScorer,
    IDBasedContextRecallScorer,
    MetricScorer,
    NonLLMContextPrecisionScorer,
    NonLLMContextRecallScorer,
    results,
)
from ctxmetrics_mlflow.scorers import SCHEMA, to_record

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow  # MLflow writes traces and runs into a store


def ids(retrieved: list[Any], reference: list[Any]) -> dict[str, Any]:
    return {
        "inputs": {"question": "q"},
        "outputs": {"retrieved_context_ids": retrieved},
        "expectations": {"reference_context_ids": reference},
    }


def values(rows: list[dict[str, Any]], name: str) -> list[Any]:
    return [row[name]["feedback"].get("value") for row in rows]


# ---- results ----


def test_what_reaches_the_results(run: Callable[..., Any], row: Callable[..., Any]) -> None:
    found, (feedback,) = run([row()], [ContextRecallScorer(threshold=0.4), ContextPrecisionScorer()])
    recall = feedback["context_recall"]
    assert recall["feedback"] == {"value": 0.5}
    assert recall["rationale"].startswith(
        '1 of 2 sentences supported.\ns2 no: "It was finished in 1889."'
    )
    assert recall["source"] == {"source_type": "CODE", "source_id": "lexical"}
    told = recall["metadata"]
    assert json.loads(told["verdicts"]) == {"s1": True, "s2": False}
    assert (told["count"], told["threshold"], told["passed"]) == (
        "1 of 2 sentences supported",
        "0.4",
        "true",
    )
    assert json.loads(told["score"])["provenance"]["judge"] == "lexical"
    assert feedback["context_precision"]["feedback"] == {"value": 0.5}
    assert found.metrics == {"context_recall/mean": 0.5, "context_precision/mean": 0.5}
    assert list(found.result_df["context_recall/value"]) == [0.5]


def test_all_seven(run: Callable[..., Any], row: Callable[..., Any]) -> None:
    documents = [
        {"page_content": "Paris is big.", "id": "a"},
        {"page_content": "Rome is old.", "id": "b"},
    ]
    expected = {
        "expected_response": "Paris is big.",
        "reference_contexts": ["Paris is big."],
        "reference_context_ids": ["b", "z"],
    }
    scorers = [
        ContextRecallScorer(), ContextPrecisionScorer(), ContextUtilizationScorer(), NonLLMContextRecallScorer(),
        NonLLMContextPrecisionScorer(), IDBasedContextRecallScorer(), IDBasedContextPrecisionScorer(),
    ]  # fmt: skip
    data = [row(outputs={"answer": "Rome is old.", "documents": documents}, expectations=expected)]
    found, _ = run(data, scorers)
    assert found.metrics == {
        "context_recall/mean": 1.0,
        "context_precision/mean": 1.0,
        "context_utilization/mean": 0.5,
        "non_llm_context_recall/mean": 1.0,
        "non_llm_context_precision/mean": 1.0,
        "id_based_context_recall/mean": 0.5,
        "id_based_context_precision/mean": 0.5,
    }


def test_uncomputable_score_is_an_error_never_zero(
    run: Callable[..., Any], row: Callable[..., Any]
) -> None:
    data = [row(), row(expectations={"expected_response": "?!"}), row()]
    found, rows = run(data, [ContextRecallScorer()])
    assert values(rows, "context_recall") == [0.5, None, 0.5]
    assert rows[1]["context_recall"]["feedback"]["error"] == {
        "error_code": "no_reference",
        "error_message": "no_reference: the reference side is empty: under the convention 'default' context_recall "
        "is undefined then.",
    }
    assert found.metrics == {"context_recall/mean": 0.5}


def test_a_row_without_contexts_says_where_they_were_looked_for(
    run: Callable[..., Any], row: Callable[..., Any]
) -> None:
    _, rows = run([row(outputs="In Paris."), row()], [ContextRecallScorer()])
    error = rows[0]["context_recall"]["feedback"]["error"]
    assert error["error_code"] == "missing_field"
    assert "has no retrieved_contexts: no retrieved_contexts / documents / " in error["error_message"]
    assert "and no RETRIEVER span in its trace; name" in error["error_message"]
    assert values(rows, "context_recall") == [None, 0.5]


def test_nothing_retrieved_is_zero(run: Callable[..., Any], row: Callable[..., Any]) -> None:
    _, rows = run([row(outputs={"documents": []})], [ContextRecallScorer(), ContextPrecisionScorer()])
    assert (values(rows, "context_recall"), values(rows, "context_precision")) == ([0.0], [0.0])


def test_parameters_in_a_name_do_not_stop_the_run_at_its_end(run: Callable[..., Any]) -> None:
    """MLflow refuses to log a metric whose name has a parenthesis, after all the scoring was done."""
    scorers = [IDBasedContextRecallScorer(), IDBasedContextRecallScorer(top_k=1, convention="aegis")]
    found, _ = run([ids(["x", "a"], ["a"])], scorers)
    assert found.metrics == {
        "id_based_context_recall/mean": 1.0,
        "id_based_context_recall convention aegis top_k 1/mean": 0.0,
    }


def test_a_name_that_mlflow_could_not_log_is_refused_at_once(run: Callable[..., Any]) -> None:
    from ctxmetrics.errors import ParameterError

    for name in ("recall (mine)", "a/b", "recall@5", " "):
        with pytest.raises(ParameterError, match="MLflow logs letters, digits"):
            IDBasedContextRecallScorer(name=name)
    found, _ = run([ids(["a"], ["a"])], [IDBasedContextRecallScorer(name="my recall-1.0_x")])
    assert found.metrics == {"my recall-1.0_x/mean": 1.0}


def test_aggregations(run: Callable[..., Any]) -> None:
    data = [ids(["a"], ["a"]), ids(["x"], ["a"])]
    found, _ = run(data, [IDBasedContextRecallScorer(aggregations=["min", "max"])])
    assert found.metrics == {"id_based_context_recall/min": 0.0, "id_based_context_recall/max": 1.0}


@pytest.mark.parametrize(("mark", "passed"), [(0.5, True), (0.51, False)])
def test_a_pass_mark_decides_whether_the_result_passed(
    run: Callable[..., Any], mark: float, passed: bool
) -> None:
    """Numbers never pass by themselves; and MLflow counts each expectation that is no rating as a failure."""
    data = [{"inputs": {"wanted": ["a", "b"]}, "outputs": {"retrieved_context_ids": ["a"]}}]
    scorer = IDBasedContextRecallScorer(threshold=mark, reference_ids_key="inputs.wanted")
    found, _ = run(data, [scorer])
    if not hasattr(found, "passed"):
        pytest.skip("this MLflow has no EvaluationResult.passed")
    assert found.passed is passed


def test_two_scorers_that_differ_in_a_parameter_have_two_digests(run: Callable[..., Any]) -> None:
    """MLflow's digest of a scorer looks at its class and public fields only."""
    _, rows = run([ids(["a"], ["a"])], [
        IDBasedContextRecallScorer(name="one", threshold=0.5), IDBasedContextRecallScorer(name="two", threshold=0.8)
    ])  # fmt: skip
    key = "mlflow.assessment.scorerDigest"
    if key not in rows[0]["one"]["metadata"]:
        pytest.skip("this MLflow makes no digests")
    definitions = [
        scorer(name="x", threshold=mark).definition
        for scorer in [IDBasedContextRecallScorer]
        for mark in (0.5, 0.8)
    ]
    assert definitions[0] != definitions[1]
    assert rows[0]["one"]["metadata"][key] != rows[0]["two"]["metadata"][key]


# ---- judges ----


def test_model_judgement_is_llm_judge_and_serves_both_metrics(
    run: Callable[..., Any], row: Callable[..., Any], judge: ScriptedJudge
) -> None:
    """MLflow runs the scorers of a row in threads of their own."""
    asked = []

    def reply(prompt: Any) -> Any:
        asked.append(prompt.step)
        return judge.model.replies["joint"][0]

    model = ScriptedModel(reply, "counting")
    scorers = [ContextRecallScorer(judge=model), ContextPrecisionScorer(judge=LLMJudge(model))]
    _, (feedback,) = run([row()], scorers)
    assert asked == ["joint"]
    assert feedback["context_recall"]["source"] == {
        "source_type": "LLM_JUDGE",
        "source_id": "llm:counting",
    }
    assert (feedback["context_recall"]["feedback"], feedback["context_precision"]["feedback"]) == (
        {"value": 0.5},
        {"value": 0.5},
    )


def test_a_judge_that_fails_costs_no_other_row(
    run: Callable[..., Any], row: Callable[..., Any]
) -> None:
    def reply(prompt: Any) -> str:
        return (
            "no json"
            if "broken" in prompt.user
            else json.dumps(
                {
                    "code": "$code",
                    "sentences": {"s1": {"supported": False, "missing": "r"}},
                    "useful": {},
                }
            )
        )

    judge = ScriptedJudge(reply, name="sometimes")
    data = [
        row(inputs={"question": word}, expectations={"expected_response": "One."})
        for word in ("broken", "fine")
    ]
    _, rows = run(data, [ContextRecallScorer(judge=judge)])
    assert values(rows, "context_recall") == [None, 0.0]
    assert rows[0]["context_recall"]["feedback"]["error"]["error_code"] == "not_judged"


def test_judge_of_a_core_metric_receives_the_question(
    run: Callable[..., Any], row: Callable[..., Any], judge: ScriptedJudge
) -> None:
    seen = []

    def reply(prompt: Any) -> Any:
        seen.append("Where is it?" in prompt.user)
        return judge.model.replies["joint"][0]

    scorer = MetricScorer(ContextRecall(), judge=ScriptedJudge(reply, name="seeing"), name="mine")
    _, rows = run([row()], [scorer])
    assert (values(rows, "mine"), seen) == ([0.5], [True])


# ---- where contexts come from ----


@mlflow.trace(span_type=SpanType.RETRIEVER, name="outer")
def outer(found: list[Any]) -> Any:
    inner([Document("An inner retriever found this, and more.", id="i")])
    return found


@mlflow.trace(span_type=SpanType.RETRIEVER, name="inner")
def inner(found: Any) -> Any:
    return found


@mlflow.trace(name="tool", span_type=SpanType.TOOL)
def tool(found: Any) -> Any:
    return inner(found)


FOUND = [Document("The Eiffel Tower stands in Paris.", {"doc_uri": "tower.md"}, id="1")]
ELSE = [Document("Bananas are yellow.", {"doc_uri": "fruit.md"}, id="2")]
TWO = {
    "expected_response": "The Eiffel Tower stands in Paris.",
    "reference_context_ids": ["tower.md", "other.md"],
}


@mlflow.trace(name="app")
def answer(question: str) -> str:
    tool(ELSE)
    outer(FOUND)
    return "In Paris."


@pytest.mark.parametrize(
    ("retriever", "precision", "found"),
    [
        ({}, 0.5, 0.5),
        ({"retriever": "last"}, 1.0, 0.5),
        ({"retriever": "outer"}, 1.0, 0.5),
        ({"retriever": "inner"}, 0.0, 0.0),
        ({"retriever": lambda name: name.startswith("in")}, 0.0, 0.0),
    ],
)
def test_outermost_retriever_spans_in_order_of_start(
    run: Callable[..., Any], retriever: dict[str, Any], precision: float, found: float
) -> None:
    data = [{"inputs": {"question": "Where?"}, "expectations": TWO}]
    scorers = [ContextPrecisionScorer(**retriever), IDBasedContextRecallScorer(**retriever)]
    _, rows = run(data, scorers, predict_fn=answer)
    assert values(rows, "context_precision") == [precision]
    assert values(rows, "id_based_context_recall") == [found]


@mlflow.trace(span_type=SpanType.RERANKER, name="rerank")
def rerank(documents: list[Any]) -> Any:
    return documents[-1:]


@mlflow.trace(name="app")
def reranked(question: str) -> str:
    outer(FOUND)
    inner(ELSE)
    rerank([*FOUND, *ELSE])
    return "In Paris."


TOWER, FRUIT = "The Eiffel Tower stands in Paris.", "Bananas are yellow."


@pytest.mark.parametrize(
    ("keys", "recall", "stages"),
    [
        (
            {},
            0.0,
            [
                ("outer", [TOWER]),
                ("inner", [FRUIT]),
                ("joined", [TOWER, FRUIT]),
                ("rerank", [FRUIT]),
            ],
        ),
        ({"retriever": "all"}, 1.0, []),
    ],
)
def test_two_retrievers_and_a_reranker_are_stages(
    run: Callable[..., Any], keys: dict[str, Any], recall: float, stages: list[Any]
) -> None:
    data = [{"inputs": {"question": "Where?"}, "expectations": TWO}]
    scorer = ContextRecallScorer(judge=LexicalJudge(), **keys)
    _, rows = run(data, [scorer], predict_fn=reranked)
    assert values(rows, "context_recall") == [recall]
    traces = mlflow.search_traces(return_type="list", include_spans=True)
    trace = next(one for one in traces if "rerank" in {span.name for span in one.data.spans})
    record = to_record(None, None, TWO, trace)
    found = SCHEMA.read(record, keys, ("retrieved_contexts",), ("stages",))["stages"] or {}
    assert [*found.items()] == [(name, {"contexts": texts}) for name, texts in stages]


def test_a_retriever_that_is_not_there_is_named(run: Callable[..., Any]) -> None:
    data = [{"inputs": {"question": "Where?"}, "expectations": TWO}]
    _, rows = run(data, [ContextRecallScorer(retriever="web")], predict_fn=answer)
    assert (
        "retriever='web' is none of: inner, outer"
        in rows[0]["context_recall"]["feedback"]["error"]["error_message"]
    )


@pytest.mark.parametrize(
    "documents",
    [
        ["The Eiffel Tower stands in Paris."],
        [{"page_content": "The Eiffel Tower stands in Paris."}],
        [{"text": "The Eiffel Tower stands in Paris."}],
        [{"content": "The Eiffel Tower stands in Paris.", "doc_uri": "x"}],
        [("The Eiffel Tower stands in Paris.", 0.7)],
        {"documents": [{"page_content": "The Eiffel Tower stands in Paris."}], "took": 3},
        {"page_content": "The Eiffel Tower stands in Paris.", "context": "page 3"},
        FOUND,
    ],
    ids=["texts", "page_content", "text", "content", "pairs", "a mapping", "one", "Document"],
)
def test_shapes_of_documents_in_a_span(run: Callable[..., Any], documents: Any) -> None:
    def predict(question: str) -> str:
        inner(documents)
        return "In Paris."

    _, rows = run(
        [{"inputs": {"question": "Where?"}, "expectations": TWO}],
        [ContextRecallScorer()],
        predict_fn=mlflow.trace(predict),
    )
    assert values(rows, "context_recall") == [1.0]


def test_a_retriever_that_failed_is_no_empty_result(run: Callable[..., Any]) -> None:
    def predict(question: str) -> str:
        with (
            contextlib.suppress(ZeroDivisionError),
            mlflow.start_span("search", span_type=SpanType.RETRIEVER),
        ):
            1 / 0  # noqa: B018 - the index is down
        return "I do not know."

    _, rows = run(
        [{"inputs": {"question": "Where?"}, "expectations": TWO}],
        [ContextRecallScorer()],
        predict_fn=mlflow.trace(predict),
    )
    error = rows[0]["context_recall"]["feedback"]["error"]["error_message"]
    assert "'search' holds no documents: it failed" in error


def test_contexts_that_were_returned_go_before_those_of_spans(run: Callable[..., Any]) -> None:
    def predict(question: str) -> dict[str, Any]:
        inner(FOUND)
        return {"answer": "In Paris.", "contexts": []}

    _, rows = run(
        [{"inputs": {"question": "Where?"}, "expectations": TWO}],
        [ContextRecallScorer()],
        predict_fn=mlflow.trace(predict),
    )
    assert values(rows, "context_recall") == [0.0]


def test_outputs_may_be_objects(run: Callable[..., Any]) -> None:
    class Answer(BaseModel):
        answer: str
        documents: list[Any]

    def predict(question: str) -> Answer:
        return Answer(answer="In Paris.", documents=FOUND)

    _, rows = run(
        [{"inputs": {"question": "Where?"}, "expectations": TWO}],
        [ContextRecallScorer(), IDBasedContextRecallScorer()],
        predict_fn=mlflow.trace(predict),
    )
    assert (values(rows, "context_recall"), values(rows, "id_based_context_recall")) == ([1.0], [0.5])


def test_what_should_have_been_retrieved_is_never_what_was(
    run: Callable[..., Any], row: Callable[..., Any]
) -> None:
    """MLflow's bridge to Ragas gives the retrieved contexts as the reference contexts."""
    _, rows = run(
        [row()],
        [
            NonLLMContextRecallScorer(),
            IDBasedContextRecallScorer(retrieved_ids_key=lambda record: ["a"]),
        ],
    )
    assert values(rows, "non_llm_context_recall") == [None]
    assert rows[0]["non_llm_context_recall"]["feedback"]["error"]["error_code"] == "missing_field"
    assert rows[0]["id_based_context_recall"]["feedback"]["error"]["error_code"] == "missing_field"


def test_expected_retrieved_context_in_databricks_words(run: Callable[..., Any]) -> None:
    expected = [
        {"doc_uri": "tower.md", "content": "The Eiffel Tower stands in Paris."},
        {"doc_uri": "a.md", "content": "z"},
    ]
    data = [
        {"inputs": {"question": "Where?"}, "expectations": {"expected_retrieved_context": expected}}
    ]
    scorers = [
        NonLLMContextRecallScorer(),
        IDBasedContextRecallScorer(),
        IDBasedContextPrecisionScorer(),
    ]
    found, _ = run(data, scorers, predict_fn=answer)
    assert found.metrics == {
        "non_llm_context_recall/mean": 0.5,
        "id_based_context_recall/mean": 0.5,
        "id_based_context_precision/mean": 0.5,
    }


@pytest.mark.parametrize(
    ("key", "found"),
    [({}, 0.5), ({"id_key": "source"}, 1.0), ({"id_key": lambda document: document["id"]}, 0.0)],
)
def test_ids_of_documents(
    run: Callable[..., Any], row: Callable[..., Any], key: dict[str, Any], found: float
) -> None:
    documents = [{"page_content": "x", "id": 7, "metadata": {"doc_uri": "tower.md", "source": "tower.md"}},
                 {"page_content": "y", "id": 8, "metadata": {"source": "other.md"}}]  # fmt: skip
    _, rows = run(
        [row(outputs={"documents": documents}, expectations=TWO)], [IDBasedContextRecallScorer(**key)]
    )
    assert values(rows, "id_based_context_recall") == [found]


def test_other_keys(run: Callable[..., Any]) -> None:
    data = [{
        "inputs": {"ask": "Where?", "found": ["The Eiffel Tower stands in Paris."]},
        "outputs": "In Paris.",
        "expectations": {"gold": {"text": "The Eiffel Tower stands in Paris. It is high."}},
    }]  # fmt: skip
    keys: Any = {"question_key": "ask", "contexts_key": "inputs.found", "reference_key": "gold.text"}
    _, rows = run(data, [ContextRecallScorer(**keys)])
    assert values(rows, "context_recall") == [0.5]


# ---- data ----


@pytest.fixture
def traces() -> list[Any]:
    """Two traces of an app, with what a person expected of them."""
    found = []
    for question in ("Where?", "When?"):
        answer(question)
        trace_id = mlflow.get_last_active_trace_id()
        mlflow.flush_trace_async_logging()
        mlflow.log_expectation(
            trace_id=trace_id, name="expected_response", value=TWO["expected_response"]
        )
        found.append(mlflow.get_trace(trace_id))
    return found


def test_traces_as_data(run: Callable[..., Any], traces: list[Any]) -> None:
    _, rows = run(traces, [ContextRecallScorer(), ContextPrecisionScorer()])
    assert (values(rows, "context_recall"), values(rows, "context_precision")) == (
        [1.0, 1.0],
        [0.5, 0.5],
    )


def test_a_frame_of_searched_traces(run: Callable[..., Any], traces: list[Any]) -> None:
    frame = mlflow.search_traces(locations=[traces[0].info.experiment_id])
    wanted = {trace.info.trace_id for trace in traces}
    _, rows = run(frame[frame["trace_id"].isin(wanted)].reset_index(drop=True), [ContextRecallScorer()])
    assert values(rows, "context_recall") == [1.0, 1.0]


def test_a_trace_by_itself(traces: list[Any]) -> None:
    feedback = ContextRecallScorer()(trace=traces[0])
    assert (feedback.name, feedback.value, feedback.error) == ("context_recall", 1.0, None)
    assert (
        ContextRecallScorer()(trace=traces[0], expectations={}).value == 1.0
    )  # what the runner has for "none"
    assert (
        ContextRecallScorer()(trace=traces[0], expectations={"reference": "Rome is old."}).value == 0.0
    )


def test_a_data_frame_with_cells_that_are_empty(
    run: Callable[..., Any], row: Callable[..., Any]
) -> None:
    frame = pd.DataFrame([row(), {"inputs": {"question": "q"}, "outputs": {"documents": ["x"]}}])
    _, rows = run(frame, [ContextRecallScorer()])
    assert values(rows, "context_recall") == [0.5, None]
    assert rows[1]["context_recall"]["feedback"]["error"]["error_code"] == "missing_field"


def test_rows_with_the_same_inputs_keep_their_own_scores(run: Callable[..., Any]) -> None:
    """MLflow's id of a row is a hash of its inputs."""
    _, rows = run(
        [ids(["a"], ["a"]), ids(["x"], ["a"]), ids(["a"], ["a", "b"])], [IDBasedContextRecallScorer()]
    )
    assert values(rows, "id_based_context_recall") == [1.0, 0.0, 0.5]


def test_expected_facts_are_counted(run: Callable[..., Any], row: Callable[..., Any]) -> None:
    expected = {"expected_facts": ["The Eiffel Tower stands in Paris.", "It is red."]}
    data = [row(expectations=expected)]
    facts = ContextRecallScorer(unit="fact")
    _, (feedback,) = run(data, [facts, ContextRecallScorer(name="by_sentence")])
    assert feedback["context_recall unit fact"]["feedback"]["value"] == 0.5
    error = feedback["by_sentence"]["feedback"]["error"]
    assert error["error_code"] == "missing_field"
    assert "count its facts with unit='fact', or name it with" in error["error_message"]


def test_a_run_without_traces_is_refused_with_advice(row: Callable[..., Any]) -> None:
    """Where MLflow is told not to try predict_fn first, it does not trace one that writes no trace itself."""
    application = row()["outputs"]
    try:
        run = mlflow.genai.evaluate(
            data=[{name: row()[name] for name in ("inputs", "expectations")}],
            predict_fn=lambda question: application,
            scorers=[ContextRecallScorer(judge=LexicalJudge())],
        )
    except AttributeError as error:
        if "'NoneType' object has no attribute 'info'" not in str(error):
            raise
        pytest.skip("an older MLflow reads the trace that is not there, and fails by itself")
    assert run.result_df is None
    with pytest.raises(ParameterError, match=r"no trace of it\. Give predict_fn @mlflow\.trace"):
        results(run)


def test_scorers_of_one_name_keep_their_scores(run: Callable[..., Any]) -> None:
    scorers = [IDBasedContextRecallScorer(name="x"), IDBasedContextPrecisionScorer(name="x")]
    found, _ = run([ids(["a", "b"], ["a"])], scorers)
    (row,) = results(found)
    assert sorted(score.value for score in row.scores) == [0.5, 1.0]


def test_an_earlier_evaluation_of_the_traces_is_left_out(run: Callable[..., Any]) -> None:
    first, _ = run([ids(["a", "b"], ["a"])], [IDBasedContextRecallScorer()])
    traces = mlflow.search_traces(run_id=first.run_id)
    second = mlflow.genai.evaluate(data=traces, scorers=[IDBasedContextRecallScorer(threshold=0.9)])
    (row,) = results(second)
    assert [score.threshold for score in row.scores] == [0.9]
