"""langsmith.evaluate, aevaluate and evaluate_existing, offline; each trap by its name."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
import threading
import uuid
from importlib.metadata import version
from importlib.util import find_spec
from inspect import signature
from types import SimpleNamespace
from typing import Any

import pytest
from packaging.version import Version

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    NonLLMContextRecall,
    ScriptedJudge,
)
from ctxmetrics.errors import MissingFieldError, ParameterError
from ctxmetrics.metrics.catalog import METRICS
from ctxmetrics.samples.sample import Sample
from support.later import later

langchain_core = later("langchain_core")
langsmith = later("langsmith")
ours = later("ctxmetrics_langchain")


NAMES = (
    "ContextRecallEvaluator",
    "ContextPrecisionEvaluator",
    "ContextUtilizationEvaluator",
    "NonLLMContextRecallEvaluator",
    "NonLLMContextPrecisionEvaluator",
    "IDBasedContextRecallEvaluator",
    "IDBasedContextPrecisionEvaluator",
)
JUDGED = {"context_recall", "context_precision"}
BY_HAND = {
    "context_recall": 0.5,
    "context_precision": 0.5,
    "non_llm_context_recall": 1.0,
    "non_llm_context_precision": 0.5,
    "id_based_context_recall": 0.5,
    "id_based_context_precision": 1 / 3,
}
"""The scripted judge's 1 of 2 and [0, 1, 0]; one reference context of one, second; d2 of d2 and d9; d2 of three."""


def run_sync(evaluators: Any, examples: Any, target: Any, client: Any, **options: Any) -> Any:
    return langsmith.evaluate(
        target, data=examples, evaluators=evaluators, upload_results=False, client=client, **options
    )


def run_async(evaluators: Any, examples: Any, target: Any, client: Any, **options: Any) -> Any:
    """The client sends nothing: some versions of aevaluate(upload_results=False) upload the target's run otherwise."""

    async def atarget(inputs: dict) -> dict:
        return target(inputs)

    async def go() -> Any:
        results = await langsmith.aevaluate(
            atarget,
            data=examples,
            evaluators=evaluators,
            upload_results=False,
            client=client,
            **options,
        )
        await results.wait()
        return results

    return asyncio.run(go())


RUNNERS = pytest.mark.parametrize("runner", [run_sync, run_async])


def feedback(results: Any, row: int = 0) -> dict[str, langsmith.EvaluationResult]:
    return {result.key: result for result in results._results[row]["evaluation_results"]["results"]}


def native(metric: Any, case: SimpleNamespace) -> float | None:
    """What the core gives for the same sample."""
    return metric.score(
        Sample(
            user_input=case.question,
            response=case.outputs["answer"],
            reference=case.reference,
            retrieved_contexts=case.contexts,
            retrieved_context_ids=["d1", "d2", "d3"],
            reference_contexts=case.example.outputs["reference_contexts"],
            reference_context_ids=case.example.outputs["reference_context_ids"],
        )
    ).value


def make(evaluator: Any, case: SimpleNamespace, **options: Any) -> Any:
    if evaluator.core_class.base_name in JUDGED:
        options["judge"] = case.judge
    return evaluator(**options)


# ---- the same number ----


@RUNNERS
def test_all_seven_give_the_core_s_numbers(runner, case, client):
    evaluators = [make(getattr(ours, name), case) for name in NAMES]
    assert [evaluator.feedback_keys for evaluator in evaluators] == [
        [evaluator.core_class.base_name] for evaluator in evaluators
    ]
    found = feedback(runner(evaluators, [case.example], lambda inputs: case.outputs, client))
    assert set(found) == set(METRICS)
    assert {key: found[key].score for key in BY_HAND} == BY_HAND
    for evaluator in evaluators:
        assert found[evaluator.metric.name].score == native(evaluator.metric, case)


@RUNNERS
def test_several_metrics_in_one_evaluator(runner, case, client):
    several = ours.RetrievalEvaluator(
        [ContextRecall(), ContextPrecision(), IDBasedContextRecall()], judge=case.judge
    )
    assert several.feedback_keys == ["context_recall", "context_precision", "id_based_context_recall"]
    results = runner([several], [case.example], lambda inputs: case.outputs, client)
    assert {key: result.score for key, result in feedback(results).items()} == {
        "context_recall": 0.5,
        "context_precision": 0.5,
        "id_based_context_recall": 0.5,
    }
    if find_spec("pandas"):
        assert list(results.to_pandas()["feedback.context_recall"]) == [0.5]


def test_several_metrics_are_judged_at_the_same_time(case, client):
    """LangSmith runs evaluators one after another; the metrics of one evaluator wait here for each other."""
    waiting = []

    class Slow:
        name, warnings = "slow", ()

        async def attribute(self, request):
            return await self._meet(case.judge.attribute, request)

        async def rate(self, request):
            return await self._meet(case.judge.rate, request)

        async def _meet(self, judge, request):
            both = asyncio.Event() if not waiting else waiting[0]
            waiting.append(both)
            if len(waiting) == 2:
                both.set()
            await asyncio.wait_for(both.wait(), 60)
            return await judge(request)

    several = ours.RetrievalEvaluator([ContextRecall(), ContextPrecision()], judge=Slow())
    found = feedback(run_sync([several], [case.example], lambda inputs: case.outputs, client))
    assert [found[key].score for key in ("context_recall", "context_precision")] == [0.5, 0.5]


def test_contexts_from_a_langchain_retriever_in_the_target(case, client):
    class Store(langchain_core.retrievers.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return case.documents

    def target(inputs: dict) -> dict:
        Store().invoke(inputs["question"])
        return {"answer": "x"}

    assert (
        feedback(
            run_sync([ours.ContextRecallEvaluator(judge=case.judge)], [case.example], target, client)
        )["context_recall"].score
        == 0.5
    )


@RUNNERS
def test_contexts_from_a_traceable_retriever_in_the_target(runner, case, client):
    @langsmith.traceable(run_type="retriever")
    def retrieve(question: str) -> list[dict]:
        return [
            {"page_content": text, "type": "Document", "metadata": {"source": f"d{n}"}}
            for n, text in enumerate(case.contexts, 1)
        ]

    def target(inputs: dict) -> dict:
        return {"answer": str(len(retrieve(inputs["question"])))}

    evaluators = [
        ours.ContextRecallEvaluator(judge=case.judge),
        ours.IDBasedContextRecallEvaluator(id_key="source"),
    ]
    found = feedback(runner(evaluators, [case.example], target, client))
    assert (found["context_recall"].score, found["id_based_context_recall"].score) == (0.5, 0.5)


def test_a_retriever_as_the_target(case, client):
    class Store(langchain_core.retrievers.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return case.documents

    target = langchain_core.runnables.RunnableLambda(lambda inputs: inputs["question"]) | Store()
    found = feedback(
        run_sync([ours.ContextRecallEvaluator(judge=case.judge)], [case.example], target, client)
    )
    assert found["context_recall"].score == 0.5


# ---- traps ----


def test_trap_third_argument_is_passed_by_langsmith_only(case, make_run):
    evaluator, run = ours.ContextRecallEvaluator(judge=case.judge), make_run(case.outputs)
    assert evaluator.evaluate_run(run, case.example).score == 0.5
    assert evaluator.evaluate_run(run, example=case.example).score == 0.5
    own = uuid.uuid4()
    assert (
        evaluator.evaluate_run(run=run, example=case.example, evaluator_run_id=own).source_run_id == own
    )
    assert asyncio.run(evaluator.aevaluate_run(run, case.example, own)).source_run_id == own


@RUNNERS
def test_trap_a_missing_score_shows_as_a_row_a_key(runner, case, client, caplog):
    """An evaluator that raises without feedback_keys leaves no row at all."""
    several = ours.RetrievalEvaluator([ContextRecall(), ContextPrecision()], judge=case.judge)
    with caplog.at_level(logging.CRITICAL):
        results = runner(
            [several, ours.IDBasedContextRecallEvaluator()],
            [case.example],
            lambda inputs: {"answer": "x"},
            client,
        )
    found = feedback(results)
    assert set(found) == {"context_recall", "context_precision", "id_based_context_recall"}
    for result in found.values():
        assert result.score is None
        assert "no retrieved_context" in result.comment
        assert result.extra == {"error": True}


def test_trap_one_metric_without_data_does_not_cost_the_others(case, client):
    """When evaluate_run raises, every key of the evaluator is lost."""
    several = ours.RetrievalEvaluator([ContextRecall(), IDBasedContextRecall()], judge=case.judge)
    outputs = {"documents": case.contexts}
    found = feedback(run_sync([several], [case.example], lambda inputs: outputs, client))
    assert found["context_recall"].score == 0.5
    lost = found["id_based_context_recall"]
    assert lost.score is None
    assert lost.evaluator_info["reason_code"] == "metric_error"
    assert "has no id" in lost.comment
    assert lost.extra == {"error": True}


def test_a_missing_reference_of_one_metric_is_a_missing_field(case, make_run):
    several = ours.RetrievalEvaluator([ContextRecall(), NonLLMContextRecall()], judge=case.judge)
    example = case.example_with(outputs={"reference_contexts": [case.contexts[0]]})
    rows = {row.key: row for row in several.evaluate_run(make_run(case.outputs), example)["results"]}
    assert rows["non_llm_context_recall"].score == 1.0
    assert rows["context_recall"].evaluator_info["reason_code"] == "missing_field"


@RUNNERS
def test_trap_uncomputable_is_none_with_comment_never_zero(runner, case, client):
    """NaN passes EvaluationResult silently."""
    refusing = ScriptedJudge(
        {
            "joint": [
                {
                    "code": "$code",
                    "sentences": {
                        "s1": {
                            "supported": True,
                            "evidence": [
                                {"context": "c2", "quote": "built by the company", "whole": True}
                            ],
                        }
                    },
                    "useful": {},
                }
            ]
        }
    )
    example = case.example_with(outputs={"answer": "?!", "reference_context_ids": []})
    evaluators = [ours.ContextRecallEvaluator(judge=refusing), ours.IDBasedContextRecallEvaluator()]
    found = feedback(runner(evaluators, [example], lambda inputs: case.outputs, client))
    for key in ("context_recall", "id_based_context_recall"):
        assert found[key].score is None
        assert found[key].value is None
        assert found[key].comment.startswith("no_reference: ")
        assert found[key].evaluator_info["reason_code"] == "no_reference"
        assert found[key].extra is None, "nobody's error"
    half = feedback(
        runner(
            [ours.ContextRecallEvaluator(judge=refusing)],
            [case.example],
            lambda inputs: case.outputs,
            client,
        )
    )
    assert half["context_recall"].score is None
    assert half["context_recall"].evaluator_info["reason_code"] == "not_judged"
    assert half["context_recall"].evaluator_info["verdicts"] == {"s1": True, "s2": None}
    assert "s2" in half["context_recall"].comment


@RUNNERS
def test_nothing_retrieved_is_zero(runner, case, client):
    found = feedback(
        runner(
            [ours.ContextRecallEvaluator()], [case.example], lambda inputs: {"documents": []}, client
        )
    )
    assert found["context_recall"].score == 0.0


def test_trap_a_sync_path_inside_a_running_loop(case, make_run):
    """An evaluator that is async only becomes a RuntimeError row in a notebook."""

    async def notebook() -> float:
        return (
            ours.ContextRecallEvaluator(judge=case.judge)
            .evaluate_run(make_run(case.outputs), case.example)
            .score
        )

    assert asyncio.run(notebook()) == 0.5


def test_async_runs_judge_in_callers_loop_without_blocking(case, make_run):
    loops: list[Any] = []

    class Located:
        name, warnings = "located", ()

        async def attribute(self, request):
            loops.append(asyncio.get_running_loop())
            return await case.judge.attribute(request)

        rate = attribute

    async def go() -> None:
        evaluator, run = ours.ContextRecallEvaluator(judge=Located()), make_run(case.outputs)
        await evaluator.aevaluate_run(run, case.example)
        await evaluator.as_runnable().ainvoke({**case.outputs, "reference": case.reference})
        assert loops == [asyncio.get_running_loop()] * 2

    asyncio.run(go())


def test_trap_metadata_is_not_uploaded_but_evaluator_info_is(case, client, make_run):
    result = ours.ContextRecallEvaluator(judge=case.judge, threshold=0.75).evaluate_run(
        make_run(case.outputs), case.example
    )
    client._log_evaluation_feedback(
        result, run=SimpleNamespace(id=uuid.uuid4(), session_id=None, trace_id=None, start_time=None)
    )
    (sent,) = client.feedback
    info = sent["source_info"]
    assert (sent["key"], sent["score"], sent["value"]) == ("context_recall", 0.5, "failed")
    assert "s2 no" in sent["comment"]
    assert "no context gives the year" in sent["comment"]
    assert info["count"] == "1 of 2 sentences supported"
    assert info["verdicts"] == {"s1": True, "s2": False}
    assert info["judge"] == case.judge.name
    assert (info["passed"], info["threshold"], info["reason_code"]) == (False, 0.75, None)
    assert info["score"]["provenance"]["prompt"] == "joint-en-3"
    assert json.loads(json.dumps(info)) == info


def test_trap_evaluation_result_forbids_unknown_keys(case, make_run):
    row = (
        ours.ContextRecallEvaluator(judge=case.judge)
        .as_runnable()
        .invoke({**case.outputs, "reference": case.reference, "question": "?"})
    )
    assert langsmith.EvaluationResult(**row).score == 0.5
    assert "reasoning" not in row


@RUNNERS
def test_trap_a_trace_of_its_own_with_source_run_id(runner, case, client):
    """A bare RunEvaluator gets no run: its judge's calls become loose roots and feedback points nowhere."""
    seen: list[Any] = []

    class Nosy:
        name, warnings = "nosy", ()

        async def attribute(self, request):
            from langsmith.run_helpers import get_current_run_tree

            seen.append(get_current_run_tree())
            return await case.judge.attribute(request)

        rate = attribute

    found = feedback(
        runner(
            [ours.ContextRecallEvaluator(judge=Nosy())],
            [case.example],
            lambda inputs: case.outputs,
            client,
        )
    )
    (own,) = seen
    assert own.name == "context_recall"
    assert own.id == found["context_recall"].source_run_id
    assert own.parent_run_id is None
    assert own.inputs["reference_outputs"] == case.example.outputs
    assert own.inputs["outputs"]["answer"] == case.outputs["answer"]
    assert own.outputs["results"][0]["score"] == 0.5
    assert "run" not in own.inputs, "the target's whole run again"


def test_trap_trace_of_a_failed_evaluator_ends_with_error(client, make_run, case):
    from langsmith.run_helpers import tracing_context

    with tracing_context(enabled=True, client=client), pytest.raises(MissingFieldError):
        ours.ContextRecallEvaluator().evaluate_run(make_run({}), case.example)
    (run,) = client.traced.values()
    assert "no retrieved_contexts" in run["error"]


def test_trap_aevaluate_uploads_the_target_run_regardless(case, client):
    """Why the tests and the docs hand aevaluate a client that sends nothing: up to langsmith 0.15.0."""
    run_sync(
        [ours.IDBasedContextRecallEvaluator()], [case.example], lambda inputs: case.outputs, client
    )
    assert client.traced == {}
    run_async(
        [ours.IDBasedContextRecallEvaluator()], [case.example], lambda inputs: case.outputs, client
    )
    if Version(version("langsmith")) > Version("0.15.0"):
        assert client.traced == {}
    else:
        (sent,) = client.traced.values()
        assert case.question in str(sent["inputs"])


def test_trap_a_raw_thread_in_the_target_loses_the_retriever_run(case, client, caplog):
    @langsmith.traceable(run_type="retriever")
    def retrieve(question: str) -> list:
        return case.documents

    def target(inputs: dict) -> dict:
        thread = threading.Thread(target=retrieve, args=(inputs["question"],))
        thread.start()
        thread.join()
        return {"answer": "x"}

    with caplog.at_level(logging.CRITICAL):
        found = feedback(run_sync([ours.ContextRecallEvaluator()], [case.example], target, client))
    assert found["context_recall"].score is None
    assert "no retriever run below it" in found["context_recall"].comment


def test_trap_evaluators_of_a_failed_target_say_so(case, client, caplog):
    def target(inputs: dict) -> dict:
        raise RuntimeError("the index is gone")

    with caplog.at_level(logging.CRITICAL):
        found = feedback(run_sync([ours.ContextRecallEvaluator()], [case.example], target, client))
    assert found["context_recall"].score is None
    assert "the run failed" in found["context_recall"].comment
    assert "the index is gone" in found["context_recall"].comment


@pytest.mark.parametrize("load_nested", [True, False])
def test_trap_evaluate_existing_loads_no_child_runs_unless_told(load_nested, case, client, caplog):
    from datetime import UTC, datetime

    from langsmith.schemas import Run, TracerSession

    start = datetime(2026, 1, 1, tzinfo=UTC)
    project = TracerSession(
        id=uuid.uuid4(),
        name="old",
        start_time=start,
        tenant_id=uuid.uuid4(),
        reference_dataset_id=case.example.dataset_id,
    )
    root_id = uuid.uuid4()
    shared = {
        "start_time": start,
        "trace_id": root_id,
        "reference_example_id": case.example.id,
        "session_id": project.id,
    }
    root = Run(
        id=root_id,
        name="rag",
        run_type="chain",
        inputs=case.example.inputs,
        outputs={"answer": "x"},
        dotted_order="1",
        **shared,
    )
    documents = [
        {"id": document.id, "metadata": {}, "page_content": document.page_content, "type": "Document"}
        for document in case.documents
    ]
    child = Run(id=uuid.uuid4(), name="vectors", run_type="retriever", inputs={"query": "?"}, outputs={"documents": documents},
                parent_run_id=root_id, dotted_order="1.1", **shared)  # fmt: skip
    client.list_runs = lambda **query: [root, child] if query["is_root"] is None else [root]
    client.list_examples = lambda **query: [case.example]
    client._info = SimpleNamespace(instance_flags={}, batch_ingest_config=None)
    with caplog.at_level(logging.CRITICAL):
        results = langsmith.evaluate_existing(
            project,
            evaluators=[
                ours.ContextRecallEvaluator(judge=case.judge),
                ours.IDBasedContextRecallEvaluator(),
            ],
            client=client,
            load_nested=load_nested,
        )
    found = feedback(results)
    if load_nested:
        assert {key: result.score for key, result in found.items()} == {
            "context_recall": 0.5,
            "id_based_context_recall": 0.5,
        }
    else:
        assert found["context_recall"].score is None
        assert "load_nested=True" in found["context_recall"].comment


# ---- pass marks ----


@RUNNERS
def test_under_aegis_80_passes_and_79_9_fails(runner, case, client):
    """Five sentences, four supported: 80.0 of 100. 799 of 1000 ids: 79.9."""
    reference = " ".join(f"Fact number {n} stands here." for n in range(1, 6))
    reply = {
        "code": "$code",
        "sentences": {
            f"s{n}": {
                "supported": n < 5,
                "evidence": [{"context": "c1", "quote": "made from milk", "whole": True}],
                "missing": "missing",
            }
            for n in range(1, 6)
        },
        "useful": {f"c{n}": {"useful": True} for n in range(1, 4)},
    }
    ids = [str(number) for number in range(1000)]
    example = case.example_with(outputs={"answer": reference, "reference_context_ids": ids})
    evaluators = [
        ours.ContextRecallEvaluator(
            judge=ScriptedJudge({"joint": [reply]}), convention="aegis", key="aegis"
        ),
        ours.IDBasedContextRecallEvaluator(convention="aegis"),
        ours.IDBasedContextRecallEvaluator(convention="aegis", threshold=79.9, key="lower"),
    ]
    outputs = {**case.outputs, "retrieved_context_ids": ids[:799]}
    found = feedback(runner(evaluators, [example], lambda inputs: outputs, client))
    assert (found["aegis"].score, found["aegis"].value, found["aegis"].evaluator_info["passed"]) == (
        80.0,
        "passed",
        True,
    )
    strict = found["id_based_context_recall(convention=aegis)"]
    assert (strict.score, strict.value, strict.evaluator_info["passed"]) == (79.9, "failed", False)
    assert (found["lower"].score, found["lower"].value) == (79.9, "passed")


def test_without_a_pass_mark_there_is_no_value(case, make_run):
    result = ours.IDBasedContextRecallEvaluator().evaluate_run(make_run(case.outputs), case.example)
    assert (result.score, result.value, result.evaluator_info["passed"]) == (0.5, None, None)


# ---- keys, parameters, objects ----


def test_parameters_that_change_the_number_keep_keys_apart(case, make_run):
    several = ours.RetrievalEvaluator([IDBasedContextRecall(), IDBasedContextRecall(top_k=1)])
    rows = {
        row.key: row.score
        for row in several.evaluate_run(make_run(case.outputs), case.example)["results"]
    }
    assert rows == {"id_based_context_recall": 0.5, "id_based_context_recall(top_k=1)": 0.0}


def test_a_mapping_names_the_keys_and_compares_judges(case, make_run):
    several = ours.RetrievalEvaluator(
        {"scripted": ContextRecall(judge=case.judge), "embedded": ContextRecall()}
    )
    rows = {
        row.key: row for row in several.evaluate_run(make_run(case.outputs), case.example)["results"]
    }
    assert several.feedback_keys == ["scripted", "embedded"]
    assert rows["scripted"].evaluator_info["judge"] == case.judge.name
    assert rows["embedded"].evaluator_info["judge"] == "lexical"


def test_two_metrics_of_one_name_are_refused():
    with pytest.raises(ParameterError, match="different names"):
        ours.RetrievalEvaluator([ContextRecall(), ContextRecall(threshold=0.5)])
    with pytest.raises(ParameterError, match="different names"):
        ours.RetrievalEvaluator([])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"treshold": 0.5}, "'treshold'.*'threshold'"),
        ({"threshold": 2}, "threshold=2 must be a number from 0 to 1"),
        ({"convention": "ragaz"}, "convention='ragaz' is unknown"),
        ({"min_similarity": 0.5}, "'min_similarity'"),
        ({"feedback_key": "recall"}, r"key= names the feedback\.$"),
        ({"judge": "gpt-4o"}, "judge 'gpt-4o' is unknown. Did you mean openai/gpt-4o?"),
        ({"judge": 3}, "judge=int is no judge.*chat|judge=int is no judge.*BaseChatModel"),
    ],
)
def test_wrong_parameters_raise_at_once(params, message):
    with pytest.raises(ParameterError, match=message):
        ours.ContextRecallEvaluator(**params)


def test_a_judge_for_a_metric_without_judge_is_refused(case):
    with pytest.raises(ParameterError, match="judge"):
        ours.IDBasedContextRecallEvaluator(judge=case.judge)


def test_evaluators_compare_by_metric_and_keys_and_pickle(case, make_run):
    one, other = ours.ContextRecallEvaluator(top_k=2), ours.ContextRecallEvaluator(top_k=2)
    assert one == other
    assert hash(one) == hash(other)
    assert one != ours.ContextRecallEvaluator(top_k=3)
    assert one != ours.ContextRecallEvaluator(top_k=2, contexts_key="hits")
    assert one != ours.RetrievalEvaluator([ContextRecall(top_k=2)])
    unpickled = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own
    for twin in (unpickled, copy.deepcopy(one), copy.copy(one)):
        assert type(twin) is ours.ContextRecallEvaluator
        assert twin == one
        assert (
            twin.evaluate_run(make_run(case.outputs), case.example).score
            == one.evaluate_run(make_run(case.outputs), case.example).score
        )
    assert "top_k=2" in repr(one)


@RUNNERS
def test_many_rows_keep_their_own_scores_under_concurrency(runner, case, client):
    examples = [
        langsmith.schemas.Example(
            id=uuid.uuid4(),
            inputs={"n": n},
            outputs={"reference_context_ids": [str(i) for i in range(n)]},
        )
        for n in range(1, 21)
    ]
    results = runner(
        [ours.IDBasedContextRecallEvaluator()],
        examples,
        lambda inputs: {"retrieved_ids": ["0"]},
        client,
        max_concurrency=8,
    )
    assert len(results) == 20
    for index, row in enumerate(results._results):
        assert (
            feedback(results, index)["id_based_context_recall"].score == 1 / row["example"].inputs["n"]
        )


# ---- summary evaluators ----


@RUNNERS
def test_summary_evaluators_give_the_mean_with_its_interval(runner, case, client):
    from ctxmetrics.evaluation.statistics.intervals import mean_interval

    values = [1.0, 0.5, 0.5, 0.25]
    examples = [
        langsmith.schemas.Example(
            id=uuid.uuid4(),
            inputs={},
            outputs={"reference_context_ids": ["0", *(f"{n}-{i}" for i in range(1, round(1 / value)))]},
        )
        for n, value in enumerate(values)
    ]
    examples.append(
        langsmith.schemas.Example(id=uuid.uuid4(), inputs={}, outputs={"reference_context_ids": []})
    )
    evaluator = ours.IDBasedContextRecallEvaluator()
    results = runner(
        [evaluator],
        examples,
        lambda inputs: {"retrieved_ids": ["0"]},
        client,
        summary_evaluators=[evaluator.as_summary_evaluator()],
    )
    (mean,) = results._summary_results["results"]
    assert mean.key == "id_based_context_recall_mean"
    assert mean.score == (1.0 + 0.5 + 0.5 + 0.25) / 4
    assert tuple(mean.evaluator_info["interval"]) == mean_interval(values)
    assert mean.evaluator_info["samples"] == 5
    assert mean.evaluator_info["scored"] == 4
    assert mean.evaluator_info["missing"] == {"no_reference": 1}
    assert "4 of 5" in mean.comment


def test_a_record_that_cannot_be_read_does_not_cost_the_summary(case, make_run):
    summary = ours.RetrievalEvaluator(
        [IDBasedContextRecall(), ContextRecall()], judge=case.judge
    ).as_summary_evaluator()
    runs = [make_run(case.outputs), make_run({"documents": ["no id", {"no": "text"}]})]
    rows = {row["key"]: row for row in summary(runs, [case.example, case.example])["results"]}
    assert rows["id_based_context_recall_mean"]["score"] == 0.5
    assert rows["context_recall_mean"]["score"] == 0.5
    assert rows["context_recall_mean"]["evaluator_info"]["missing"] == {"missing_field": 1}


# ---- openevals' form ----


@RUNNERS
def test_as_function_in_the_runner(runner, case, client):
    functions = [
        ours.ContextRecallEvaluator(judge=case.judge).as_function(),
        ours.IDBasedContextRecallEvaluator(key="ids").as_function(),
    ]
    found = feedback(runner(functions, [case.example], lambda inputs: case.outputs, client))
    assert {key: result.score for key, result in found.items()} == {"context_recall": 0.5, "ids": 0.5}


def test_as_function_with_plain_arguments(case):
    recall = ours.ContextRecallEvaluator(judge=case.judge).as_function()
    assert recall.__name__ == "context_recall"
    row = recall(
        inputs=case.question,
        outputs="Eiffel.",
        reference_outputs=case.reference,
        context=case.documents,
    )
    assert (row["key"], row["score"]) == ("context_recall", 0.5)
    assert (
        recall(
            inputs=case.question, outputs=case.documents, reference_outputs={"answer": case.reference}
        )["score"]
        == 0.5
    )


def test_an_evaluator_is_called_with_plain_arguments(case):
    evaluator = ours.ContextRecallEvaluator(judge=case.judge)
    given = {"inputs": case.question, "outputs": case.documents}
    row = evaluator(**given, reference_outputs={"answer": case.reference})
    assert (row["key"], row["score"]) == ("context_recall", 0.5)
    nothing = evaluator(outputs={"answer": "x"}, reference_outputs={"answer": case.reference})
    assert nothing["score"] is None
    assert "no retrieved_contexts" in nothing["comment"]


def test_trap_runnable_is_no_langsmith_evaluator(case, client):
    evaluator = ours.ContextRecallEvaluator(judge=case.judge)
    with pytest.raises(TypeError, match="not a callable object"):
        run_sync([evaluator.as_runnable()], [case.example], lambda inputs: case.outputs, client)
    assert (
        feedback(run_sync([evaluator], [case.example], lambda inputs: case.outputs, client))[
            "context_recall"
        ].score
        == 0.5
    )


def test_no_dangling_source_run_without_evaluator_tracing(case, client):
    if "disable_evaluator_tracing" not in signature(langsmith.evaluate).parameters:
        pytest.skip(
            "this langsmith cannot turn the tracing of evaluators off, so there is nothing to test"
        )
    results = run_sync(
        [ours.ContextRecallEvaluator(judge=case.judge)],
        [case.example],
        lambda inputs: case.outputs,
        client,
        disable_evaluator_tracing=True,
    )
    assert (
        feedback(results)["context_recall"].score,
        feedback(results)["context_recall"].source_run_id,
    ) == (
        0.5,
        None,
    )


@RUNNERS
def test_trap_function_that_raises_leaves_no_row(runner, case, client):
    found = feedback(
        runner(
            [ours.ContextRecallEvaluator().as_function()],
            [case.example],
            lambda inputs: {"answer": "x"},
            client,
        )
    )
    assert found["context_recall"].score is None
    assert "no retrieved_contexts" in found["context_recall"].comment
    several = ours.RetrievalEvaluator([ContextRecall(), IDBasedContextRecall()]).as_function()
    assert set(feedback(runner([several], [case.example], lambda inputs: {"answer": "x"}, client))) == {
        "context_recall",
        "id_based_context_recall",
    }


USELESS = "The office opens at nine in the morning."
USEFUL = "The guarantee runs for three years."
ORDER_NOTE = "in the order of the list, whatever {} may say"
JOINED_NOTE = "with one context: if it holds several passages (separator {}), the value says nothing"


@pytest.mark.parametrize(
    ("contexts", "value", "note"),
    [
        (
            [{"text": USELESS, "rank": 2}, {"text": USEFUL, "rank": 1}],
            0.5,
            ORDER_NOTE.format("rank (lowest first)"),
        ),
        (
            [{"text": USELESS, "score": 0.2}, {"text": USEFUL, "score": 0.9}],
            0.5,
            ORDER_NOTE.format("score (highest first)"),
        ),
        ([{"text": USELESS, "score": 0.9}, {"text": USEFUL, "score": 0.2}], 0.5, None),
        ([f"{USELESS}\n---\n{USEFUL}"], 1.0, JOINED_NOTE.format("---")),
        ([f"{USELESS} | {USEFUL}"], 1.0, JOINED_NOTE.format("|")),
        ([USEFUL], 1.0, None),
    ],
)
def test_doubtful_ranks_have_a_note(
    contexts: list[Any], value: float, note: str | None, case: SimpleNamespace, client: Any
) -> None:
    """The record keeps its order, and one text is one context: the score says what that may hide."""
    example = case.example.model_copy(update={"outputs": {"reference": USEFUL}})
    results = run_sync(
        [ours.ContextPrecisionEvaluator()],
        [example],
        lambda inputs: {"contexts": contexts},
        client,
    )
    result = feedback(results)["context_precision"]
    assert result.score == value
    notes = [part for part in (result.comment or "").splitlines()[0].split("; ") if part == note]
    assert notes == ([] if note is None else [note])
    if note is None:
        assert "whatever" not in result.comment
        assert "passages" not in result.comment


def test_answer_in_an_object_as_text_is_read(case: SimpleNamespace, client: Any) -> None:
    """The answer counts, not the keys and the page beside it."""
    answer = json.dumps({"answer": USEFUL, "page": 14})
    example = case.example.model_copy(update={"outputs": {"reference": answer}})
    results = run_sync(
        [ours.ContextRecallEvaluator()],
        [example],
        lambda inputs: {"contexts": [USEFUL]},
        client,
    )
    assert feedback(results)["context_recall"].score == 1.0


def test_printed_list_of_texts_is_no_single_context(case: SimpleNamespace, client: Any) -> None:
    """Python's form of a list is refused as JSON's is."""
    results = run_sync(
        [ours.ContextPrecisionEvaluator()],
        [case.example],
        lambda inputs: {"contexts": str([USELESS, USEFUL])},
        client,
    )
    result = results._results[0]["evaluation_results"]["results"][0]
    assert result.score is None
    assert "written as a text" in result.comment
