"""langchain-classic: StringEvaluator by itself, in RunEvalConfig and run_on_dataset, offline."""

from __future__ import annotations

import asyncio
import json
import uuid
import warnings
from datetime import UTC, datetime
from typing import Any
from unittest.mock import MagicMock

import pytest

from ctxmetrics import ContextPrecision, ContextRecall
from ctxmetrics.errors import MissingFieldError, ParameterError
from support.later import later, skip_without

skip_without("langchain_classic")

langchain_classic = later("langchain_classic")
langchain_core = later("langchain_core")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")
string_run_evaluator = later("langchain_classic.smith.evaluation.string_run_evaluator")


def sync(evaluator: Any, **given: Any) -> Any:
    return evaluator.evaluate_strings(**given)


def asynchronous(evaluator: Any, **given: Any) -> Any:
    return asyncio.run(evaluator.aevaluate_strings(**given))


BOTH = pytest.mark.parametrize("call", [sync, asynchronous])


@BOTH
@pytest.mark.parametrize("shape", ["documents", "mapping"])
def test_scores_with_nothing_but_score_and_value(call, shape, case):
    evaluator = ours.ContextRecallEvaluator(judge=case.judge, threshold=0.5).as_string_evaluator()
    assert isinstance(evaluator, langchain_classic.evaluation.StringEvaluator)
    prediction = (
        case.documents if shape == "documents" else {"documents": case.documents, "answer": "x"}
    )
    grade = call(evaluator, prediction=prediction, reference=case.reference, input=case.question)
    assert grade == {"score": 0.5, "value": "passed"}
    assert "no context gives the year" in grade.reasoning
    assert grade.full.verdicts[1].value is False


def test_what_it_requires_and_is_called(case):
    recall, ids = (
        ours.ContextRecallEvaluator().as_string_evaluator(),
        ours.IDBasedContextRecallEvaluator(key="ids").as_string_evaluator(),
    )
    utilization = ours.ContextUtilizationEvaluator().as_string_evaluator()
    assert (recall.requires_input, recall.requires_reference, recall.evaluation_name) == (
        True,
        True,
        "context_recall",
    )
    assert (ids.requires_input, ids.requires_reference, ids.evaluation_name) == (False, True, "ids")
    assert (utilization.requires_input, utilization.requires_reference) == (True, False)


def test_neither_warns_nor_demands_what_it_can_do_without(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            ours.ContextRecallEvaluator(judge=case.judge)
            .as_string_evaluator()
            .evaluate_strings(prediction=case.documents, reference=case.reference)["score"]
            == 0.5
        )
        assert (
            ours.IDBasedContextRecallEvaluator()
            .as_string_evaluator()
            .evaluate_strings(
                prediction=case.documents,
                reference={"reference_context_ids": ["d2", "d9"]},
                input=case.question,
            )["score"]
            == 0.5
        )


def test_all_fields_as_mappings_or_keywords(case):
    strings = ours.NonLLMContextRecallEvaluator().as_string_evaluator()
    assert (
        strings.evaluate_strings(prediction=case.documents, reference=[case.contexts[1]])["score"]
        == 1.0
    )
    utilization = ours.ContextUtilizationEvaluator().as_string_evaluator()
    answer = "The tower was built by Gustave Eiffel."
    assert (
        utilization.evaluate_strings(prediction=answer, retrieved_contexts=case.documents)["score"]
        == 0.5
    )
    assert (
        utilization.evaluate_strings(prediction={"answer": answer, "documents": case.documents})[
            "score"
        ]
        == 0.5
    )


def test_text_prediction_is_the_answer_not_the_retrieved_text(case):
    with pytest.raises(MissingFieldError, match="no retrieved_contexts"):
        ours.ContextRecallEvaluator().as_string_evaluator().evaluate_strings(
            prediction="Eiffel built it.", reference=case.reference
        )


def test_not_computable_is_none_and_says_why(case):
    grade = (
        ours.ContextRecallEvaluator()
        .as_string_evaluator()
        .evaluate_strings(prediction=case.documents, reference="?!")
    )
    assert grade["score"] is None
    assert grade["value"].startswith("no_reference: ")


def test_several_metrics_are_no_string_evaluator():
    with pytest.raises(ParameterError, match="one score"):
        ours.RetrievalEvaluator([ContextRecall(), ContextPrecision()]).as_string_evaluator()


@BOTH
def test_callbacks_reach_the_judge_s_model_call(call, case):
    class Recorder(langchain_core.callbacks.BaseCallbackHandler):
        seen = 0

        def on_chat_model_start(self, *args, **kwargs):
            Recorder.seen += 1

    model = langchain_core.language_models.GenericFakeChatModel(
        messages=iter([langchain_core.messages.AIMessage(json.dumps(case.joint))])
    )
    evaluator = ours.ContextRecallEvaluator(judge=model).as_string_evaluator()
    grade = call(evaluator, prediction=case.documents, reference=case.reference, callbacks=[Recorder()])
    assert (grade["score"], Recorder.seen) == (0.5, 1)


def test_trap_reasoning_costs_langchain_classic_the_score(case, make_run):
    """EvaluationResult(key=, comment=reasoning, **output): `reasoning` in the output is one key too many."""

    class Documented(langchain_classic.evaluation.StringEvaluator):
        def _evaluate_strings(self, **kwargs):
            return {"score": 0.5, "reasoning": "half of it"}

    run = make_run({"output": case.documents})
    run.inputs = {"input": case.question}
    results = []
    for evaluator in (
        Documented(),
        ours.ContextRecallEvaluator(judge=case.judge).as_string_evaluator(),
    ):
        chain = string_run_evaluator.StringRunEvaluatorChain.from_run_and_data_type(
            evaluator, "chain", "kv", reference_key="answer", input_key="input", prediction_key="output"
        )
        results.append(chain.evaluate_run(run, case.example))
    broken, whole = results
    assert broken.score is None, "langchain-classic mended it: Grade may hold its reasoning as an item"
    assert "Extra inputs are not permitted" in broken.comment
    assert (whole.key, whole.score) == ("context_recall", 0.5)


# ---- run_on_dataset ----


@pytest.fixture
def stub(case):
    """A client that knows one data set and sends nothing."""
    client = MagicMock(spec=langsmith.Client)
    client.tracing_queue = None
    client._host_url = client.api_url = "http://127.0.0.1:9"
    now = datetime(2026, 1, 1, tzinfo=UTC)
    client.read_dataset.return_value = langsmith.schemas.Dataset(
        id=uuid.uuid4(), name="tower", data_type="kv", created_at=now, _host_url="http://127.0.0.1:9"
    )
    client.list_examples.return_value = iter([case.example])
    client.create_project.return_value = langsmith.schemas.TracerSession(
        id=uuid.uuid4(),
        name="p",
        start_time=now,
        tenant_id=uuid.uuid4(),
        reference_dataset_id=uuid.uuid4(),
        extra={"metadata": {"dataset_version": None}},
    )
    client.read_example.return_value = case.example
    return client


def run_sync(client: Any, chain: Any, config: langchain_classic.smith.RunEvalConfig) -> Any:
    return langchain_classic.smith.run_on_dataset(
        client, "tower", lambda: chain, evaluation=config, project_name="p"
    )


def run_async(client: Any, chain: Any, config: langchain_classic.smith.RunEvalConfig) -> Any:
    return asyncio.run(
        langchain_classic.smith.arun_on_dataset(
            client, "tower", lambda: chain, evaluation=config, project_name="p"
        )
    )


@pytest.mark.parametrize("runner", [run_sync, run_async])
def test_run_on_dataset_keeps_the_scores_of_both_kinds(runner, case, stub):
    chain = langchain_core.runnables.RunnableLambda(
        lambda given: {"answer": "Eiffel.", "documents": case.documents}
    )
    config = langchain_classic.smith.RunEvalConfig(
        custom_evaluators=[
            ours.ContextRecallEvaluator(judge=case.judge, key="as_string").as_string_evaluator(),
            ours.RetrievalEvaluator(
                {"as_run": ContextRecall(), "precision": ContextPrecision()}, judge=case.judge
            ),
            ours.IDBasedContextRecallEvaluator(),
        ],
        input_key="question",
        prediction_key="documents",
        reference_key="answer",
    )
    results = runner(stub, chain, config)
    (row,) = results["results"].values()
    found = {result.key: result for result in row["feedback"]}
    assert {key: result.score for key, result in found.items()} == {
        "as_string": 0.5,
        "as_run": 0.5,
        "precision": 0.5,
        "id_based_context_recall": 0.5,
    }
    assert sorted(call.args[1] for call in stub.create_feedback.call_args_list) == sorted(found)
