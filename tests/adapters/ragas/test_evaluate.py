"""Inside ``ragas.evaluate()`` and ``aevaluate()``: every trap that a metric of a third party can fall into."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from support import FakeOpenAIServer, read_question
from support.later import later

datasets = later("datasets")
langchain_core = later("langchain_core")
metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")
ragas_callbacks = later("ragas.callbacks")


Row = dict[str, Any]
pytestmark = pytest.mark.filterwarnings("ignore:a?evaluate:DeprecationWarning")  # Ragas' runner itself
VALUES = {
    "context_recall": 0.5,
    "context_precision": 1.0,
    "context_utilization": 1.0,
    "non_llm_context_recall": 1.0,
    "non_llm_context_precision": 1.0,
    "id_based_context_recall": 0.5,
    "id_based_context_precision": 0.5,
}
"""By hand: one of two sentences; the first of two contexts; ids 2 of {2, b} and of {a, 2}."""


def make_seven() -> list[Any]:
    """Make a metric of each class."""
    return [
        ours.ContextRecall(),
        ours.ContextPrecision(),
        ours.ContextUtilization(),
        ours.NonLLMContextRecall(),
        ours.NonLLMContextPrecision(),
        ours.IDBasedContextRecall(),
        ours.IDBasedContextPrecision(),
    ]


# ---- the contract ----


def test_all_seven_run_and_the_row_keeps_its_columns(evaluate: Any, row: Row) -> None:
    result = evaluate([row, row], make_seven())
    assert result.scores == [VALUES, VALUES]
    frame = result.to_pandas()
    assert list(frame.columns) == [*ragas.SingleTurnSample(**row).to_dict(), *VALUES]
    assert frame["context_recall"].tolist() == [0.5, 0.5]


def test_another_time_does_not_support(evaluate: Any, row: Row) -> None:
    closing = {
        **row,
        "reference": "The cafe closes at 18:00.",
        "retrieved_contexts": ["The cafe closes at 20:00. It has 18 seats."],
    }
    same = {**closing, "retrieved_contexts": ["The cafe closes at 6 pm."]}
    scores = evaluate([closing, same], [ours.ContextRecall()]).scores
    assert [score["context_recall"] for score in scores] == [0.0, 1.0]


def test_aevaluate_in_a_running_loop(row: Row) -> None:
    async def run() -> Any:
        dataset = ragas.EvaluationDataset.from_list([row])
        return await ragas.aevaluate(dataset, metrics=make_seven(), show_progress=False)

    assert asyncio.run(run()).scores == [VALUES]


def test_a_hugging_face_dataset_runs(row: Row) -> None:
    from ragas import evaluate

    rows = datasets.Dataset.from_list([{**row, "retrieved_context_ids": ["a", "2"]}])
    metrics = [ours.ContextRecall(), ours.IDBasedContextRecall()]
    result = evaluate(rows, metrics=metrics, show_progress=False)
    assert result.scores == [{"context_recall": 0.5, "id_based_context_recall": 0.5}]


@pytest.mark.parametrize("batch_size", [None, 1, 3])
def test_batch_size_and_order(evaluate: Any, batch_size: int | None) -> None:
    rows = [
        {"retrieved_context_ids": range(number), "reference_context_ids": range(10)}
        for number in range(11)
    ]
    result = evaluate(rows, [ours.IDBasedContextRecall()], batch_size=batch_size)
    assert result["id_based_context_recall"] == [number / 10 for number in range(11)]


def test_metrics_are_ragas_metric_and_single_turn_metric() -> None:
    """``evaluate()`` takes nothing else; those of its own collections it refuses."""
    for metric in make_seven():
        assert isinstance(metric, metrics_base.Metric)
        assert isinstance(metric, metrics_base.SingleTurnMetric)


def test_a_conversation_without_a_search_has_no_value(caplog: pytest.LogCaptureFixture) -> None:
    from ragas import evaluate

    messages = [ragas.messages.HumanMessage(content="Hi"), ragas.messages.AIMessage(content="Hello")]
    sample = ragas.MultiTurnSample(user_input=messages, reference="The pump is red.")
    result = evaluate(
        ragas.EvaluationDataset([sample]), metrics=[ours.ContextRecall()], show_progress=False
    )
    assert math.isnan(result["context_recall"][0])
    assert "has no retrieved_contexts" in caplog.text


# ---- columns ----


def test_required_columns_incl_id_columns() -> None:
    """They are those of the core metric, and fixed as its parameters are."""
    metric = ours.IDBasedContextRecall()
    assert metric.required_columns == {
        "SINGLE_TURN": {"retrieved_context_ids", "reference_context_ids"},
        "MULTI_TURN": {"user_input", "retrieved_context_ids", "reference_context_ids"},
    }
    with pytest.raises(ValueError, match="required_columns is fixed"):
        metric.required_columns = metric._required_columns


def test_optional_columns_are_optional_and_reach_the_judge(evaluate: Any, row: Row) -> None:
    """The question is read where it is there; code that looks for Ragas' names finds it among the columns."""
    questions: list[str | None] = []

    def answer(prompt: Any) -> str:
        questions.append(read_question(prompt.text).data["question"])
        return '{"code": "$code", "sentences": {}, "useful": {}}'

    metric = ours.ContextRecall(judge=ScriptedJudge(answer, name="notes the question", max_repairs=0))
    assert metric._required_columns == {
        metrics_base.MetricType.SINGLE_TURN: {"reference", "retrieved_contexts", "user_input"},
        metrics_base.MetricType.MULTI_TURN: {"reference", "user_input"},
    }
    assert metric.required_columns == {
        "SINGLE_TURN": {"reference", "retrieved_contexts", "user_input"},
        "MULTI_TURN": {"reference", "user_input"},
    }
    evaluate([row], [metric])
    evaluate([{name: row[name] for name in ("reference", "retrieved_contexts")}], [metric])
    assert questions == [row["user_input"], None]


def test_column_missing_in_the_first_sample_raises(evaluate: Any, row: Row) -> None:
    rows = [{name: value for name, value in row.items() if name != "reference"}, row]
    with pytest.raises(ValueError, match=r"context_recall.*reference"):
        evaluate(rows, [ours.ContextRecall()])


def test_column_missing_in_a_later_sample_costs_that_sample_only(
    evaluate: Any, row: Row, caplog: pytest.LogCaptureFixture
) -> None:
    """Ragas looks at the first sample only; the metric must say what the second one lacks."""
    rows = [row, {name: value for name, value in row.items() if name != "reference"}, row]
    first, second, third = evaluate(rows, [ours.ContextRecall()])["context_recall"]
    assert (first, third) == (0.5, 0.5)
    assert math.isnan(second)
    assert "MissingFieldError(row 1 (" in caplog.text
    assert "): The sample has no reference, which context_recall needs." in caplog.text


def test_raise_exceptions_raises_ours(evaluate: Any, row: Row) -> None:
    rows = [row, {name: value for name, value in row.items() if name != "reference"}]
    with pytest.raises(ValueError, match="has no reference"):
        evaluate(rows, [ours.ContextRecall()], raise_exceptions=True)


def test_raise_exceptions_does_not_raise_for_what_has_no_number(evaluate: Any, row: Row) -> None:
    """A reference without a letter is no failure: there is nothing to find."""
    result = evaluate([row, {**row, "reference": " - "}], [ours.ContextRecall()], raise_exceptions=True)
    assert [math.isnan(value) for value in result["context_recall"]] == [False, True]


# ---- values ----


def test_values_are_plain_floats(evaluate: Any, row: Row) -> None:
    """Anything else, None or a MetricResult, makes Ragas lose the whole result after all work is done."""
    result = evaluate([row, {**row, "reference": ""}], make_seven())
    assert {type(value) for scores in result.scores for value in scores.values()} == {float}


def test_not_computable_is_nan_with_its_reason_in_log_and_trace(
    evaluate: Any, row: Row, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "ctxmetrics_ragas")
    metrics = [ours.ContextRecall(), ours.IDBasedContextRecall()]
    result = evaluate([{**row, "reference": "", "reference_context_ids": []}, row], metrics)
    assert [math.isnan(value) for value in result["context_recall"]] == [True, False]
    assert (
        str(result) == "{'context_recall': 0.5000, 'id_based_context_recall': 0.5000}"
    )  # NaN is left out
    question = f"row 0 ({row['user_input']!r})"
    assert f"context_recall, {question}: no_reference: the reference side is empty" in caplog.text
    assert f"id_based_context_recall, {question}: no_reference" in caplog.text
    for name in ("context_recall", "id_based_context_recall"):
        score = result.traces[0][name]["score"]["output"]
        assert (score.value, score.reason_code) == (None, "no_reference")


def test_a_run_of_nothing_but_nan_ends(evaluate: Any, row: Row) -> None:
    result = evaluate([{**row, "reference": ""}] * 2, [ours.ContextRecall()])
    assert all(map(math.isnan, result["context_recall"]))


def test_explanations_are_in_the_traces(evaluate: Any, row: Row) -> None:
    """``evaluate()`` keeps numbers only; which sentence was missed and why is in ``result.traces``."""
    trace = evaluate([row], [ours.ContextRecall()]).traces[0]
    assert trace.scores == {"context_recall": 0.5}
    score = trace["context_recall"]["score"]["output"]
    missed = score.verdicts[1]
    assert (missed.text, missed.value) == ("It was built in 1889.", False)
    assert "1889" in score.reason
    span = score.verdicts[0].evidence[0]
    assert row["retrieved_contexts"][span.context][span.start : span.end] == span.quote


@pytest.fixture
def runs() -> Any:
    class Runs(langchain_core.callbacks.BaseCallbackHandler):
        """The inputs of each metric's run in its trace, and the errors of those that failed."""

        def __init__(self) -> None:
            self.inputs: dict[str, list[Any]] = {}
            self.errors: list[str] = []

        def on_chain_start(self, serialized: dict[str, Any], inputs: dict[str, Any], **_: Any) -> None:
            self.inputs.setdefault(serialized["name"], []).append(inputs)

        def on_chain_error(self, error: BaseException, **_: Any) -> None:
            self.errors.append(str(error))

    return Runs()


def test_the_trace_of_a_metric_has_the_fields_it_reads(evaluate: Any, row: Row, runs: Any) -> None:
    evaluate([row], [ours.IDBasedContextRecall(), ours.NonLLMContextRecall()], callbacks=[runs])
    assert runs.inputs["id_based_context_recall"] == [
        {"retrieved_context_ids": ["a", "2"], "reference_context_ids": ["2", "b"]}
    ]
    assert runs.inputs["non_llm_context_recall"] == [
        {name: row[name] for name in ("retrieved_contexts", "reference_contexts")}
    ]


def test_unreadable_sample_is_an_error_of_its_metric_in_traces(
    evaluate: Any, row: Row, runs: Any
) -> None:
    long = {**row, "reference_contexts": ["a" * 10_000_001]}
    result = evaluate(
        [long, row], [ours.NonLLMContextRecall(), ours.IDBasedContextRecall()], callbacks=[runs]
    )
    assert [math.isnan(value) for value in result["non_llm_context_recall"]] == [True, False]
    assert result["id_based_context_recall"] == [0.5, 0.5]
    assert len(runs.inputs["non_llm_context_recall"]) == 2
    (error,) = (error for error in runs.errors if "10,000,001 characters long" in error)
    assert "row 0 ('Where is the tower" in error


# ---- names ----


def test_two_metrics_of_one_kind_keep_distinct_keys(evaluate: Any, row: Row) -> None:
    """Ragas keys results by name, and the last of two with one name silently wins."""
    metrics = [
        ours.ContextRecall(),
        ours.ContextRecall(top_k=0),
        ours.ContextPrecision(convention="ragas"),
        ours.NonLLMContextRecall(min_similarity=0.99, similarity="jaro"),
        ours.ContextRecall(name="another name"),
    ]
    assert evaluate([row], metrics).scores == [
        {
            "context_recall": 0.5,
            "context_recall(top_k=0)": 0.0,
            "context_precision(convention=ragas)": 0.9999999999,
            "non_llm_context_recall(min_similarity=0.99, similarity=jaro)": 0.0,
            "another name": 0.5,
        }
    ]


def test_no_mode_is_added_to_the_name(evaluate: Any, row: Row) -> None:
    """Ragas writes ``name(mode=..)`` for anything with a ``mode``."""
    assert not any(hasattr(metric, "mode") for metric in make_seven())


def test_name_can_be_set_afterwards(evaluate: Any, row: Row) -> None:
    metric = ours.ContextRecall()
    metric.name = "mine"
    assert evaluate([row], [metric]).scores == [{"mine": 0.5}]


# ---- failures, timeouts, callbacks ----


class _Failing:
    """A judge that fails for one question."""

    name, warnings = "failing", ()

    async def attribute(self, request: Any) -> Any:
        if request.user_input == "Fail!":
            raise RuntimeError("the judge broke")
        return await ScriptedJudge(lambda prompt: SUPPORTED, name="yes").attribute(request)

    rate = attribute


SUPPORTED = '{"code": "$code", "sentences": {"s1": {"supported": true, "evidence": [{"context": "c1", "quote": "red", "whole": True}]}}, "useful": {}}'


def test_exception_in_a_judge_is_nan_with_a_reason(
    evaluate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        {"user_input": question, "reference": "It is red.", "retrieved_contexts": ["It is red."]}
        for question in ("Fine?", "Fail!", "Fine?")
    ]
    result = evaluate(rows, [ours.ContextRecall(judge=_Failing())], raise_exceptions=True)
    first, second, third = result["context_recall"]
    assert (first, third) == (1.0, 1.0)
    assert math.isnan(second)
    score = result.traces[1]["context_recall"]["score"]["output"]
    assert "RuntimeError: the judge broke" in score.message
    (line,) = [record.getMessage() for record in caplog.records if record.name == "ctxmetrics_ragas"]
    assert line.startswith("context_recall, row 1 ('Fail!'): not_judged: ")


class _Hanging(_Failing):
    async def attribute(self, request: Any) -> Any:
        if request.user_input == "Fail!":
            await asyncio.Event().wait()
        return await super().attribute(request)


def test_timeout_ends_a_judge_that_hangs(evaluate: Any) -> None:
    rows = [
        {"user_input": question, "reference": "It is red.", "retrieved_contexts": ["It is red."]}
        for question in ("Fail!", "Fine?")
    ]
    # Ragas takes whole seconds, and the other sample has to be scored within them on a busy machine.
    first, second = evaluate(
        rows, [ours.ContextRecall(judge=_Hanging())], run_config=ragas.RunConfig(timeout=3)
    )["context_recall"]
    assert math.isnan(first)
    assert second == 1.0


def test_keyword_call_inside_wait_for() -> None:
    """Ragas calls by keyword: other parameter names would be a TypeError, and so a silent NaN."""
    sample = ragas.SingleTurnSample(retrieved_context_ids=[1], reference_context_ids=[1])
    metric = ours.IDBasedContextRecall()
    assert asyncio.run(metric._single_turn_ascore(sample=sample, callbacks=None)) == 1.0
    assert asyncio.run(metric.single_turn_ascore(sample=sample, callbacks=[], timeout=60)) == 1.0


def test_a_callbacks_list_that_ragas_adds_to_is_used_again(evaluate: Any, row: Row) -> None:
    """Every run adds a tracer to the user's list: those of earlier runs are told about the later ones."""
    callbacks: list[Any] = [langchain_core.callbacks.BaseCallbackHandler()]
    for number in range(1, 4):
        assert evaluate([row], [ours.ContextRecall()], callbacks=callbacks)["context_recall"] == [0.5]
        assert len(callbacks) == number + 1  # Ragas' own doing


@pytest.mark.parametrize("given", [False, True])
def test_token_usage_is_counted_for_every_kind_of_llm(
    evaluate: Any, row: Row, server: FakeOpenAIServer, make_llm: Any, given: bool
) -> None:
    """Ragas counts at LangChain's ``on_llm_end``, which an Instructor LLM never reaches; then it raises IndexError."""
    llm = make_llm(server)
    how = {"llm": llm} if given else {"judge": "framework"}
    metrics = [ours.ContextRecall(**how), ours.ContextPrecision(**how)]
    result = evaluate([row], metrics, llm=llm, token_usage_parser=ragas.cost.get_token_usage_for_openai)
    counted = result.total_tokens()
    score = result.traces[0]["context_recall"]["score"]["output"].usage
    other = result.traces[0]["context_precision"]["score"]["output"].usage
    assert counted.input_tokens == score.prompt_tokens + other.prompt_tokens > 100
    assert counted.output_tokens == score.completion_tokens + other.completion_tokens > 10
    assert sorted([score.calls, other.calls]) == [0, 1]


def test_max_workers_bounds_requests(evaluate: Any, row: Row, llms: Any, labels: Any) -> None:
    """Ragas bounds samples times metrics; a judge that asks about each context alone is bounded as well."""
    from ctxmetrics import LLMJudge

    contexts = [*row["retrieved_contexts"], "Apples are red.", "Pears are green."]
    rows = [{**row, "user_input": f"Question {n}?", "retrieved_contexts": contexts} for n in range(4)]
    with FakeOpenAIServer(labels, latency=0.02, together=2) as server:
        judge = LLMJudge(ours.RagasModel(llms.instructor_async(server)), per_context=True)
        metric = ours.ContextRecall(judge=judge)
        assert (
            evaluate(rows, [metric], run_config=ragas.RunConfig(max_workers=2))["context_recall"]
            == [0.5] * 4
        )
        assert (server.count, server.max_in_flight) == (16, 2)


def test_unlimited_workers(
    evaluate: Any, row: Row, llms: Any, labels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ragas writes -1 for no limit. A server on this machine would begin with two requests."""
    monkeypatch.setattr("ctxmetrics.models.model_requests.is_local", lambda name: False)
    rows = [{**row, "user_input": f"Question {number}?"} for number in range(20)]
    with FakeOpenAIServer(labels, together=20) as server:
        metric = ours.ContextRecall(llm=llms.instructor_async(server))
        assert (
            evaluate(rows, [metric], run_config=ragas.RunConfig(max_workers=-1))["context_recall"]
            == [0.5] * 20
        )
        assert server.max_in_flight == 20


def test_traces_of_scores_are_written_as_json(evaluate: Any, row: Row) -> None:
    result = evaluate([row], [ours.IDBasedContextRecall()])
    tracer = ragas_callbacks.RagasTracer(result.ragas_traces)
    runs = json.loads(tracer.to_jsons())
    (score,) = [run["outputs"]["output"] for run in runs if run["name"] == "score"]
    assert (score["metric"], score["value"]) == ("id_based_context_recall", 0.5)


def test_a_sample_that_changes_between_two_metrics_is_read_again(row: Row) -> None:
    sample = ragas.SingleTurnSample(**row)
    recall, precision = ours.IDBasedContextRecall(), ours.IDBasedContextPrecision()
    assert recall.single_turn_score(sample) == 0.5
    sample.retrieved_context_ids[:] = ["nowhere"]
    assert precision.single_turn_score(sample) == 0.0
    assert recall.single_turn_score(sample) == 0.0
