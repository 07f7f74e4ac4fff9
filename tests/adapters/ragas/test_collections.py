"""The collections API, the legacy single-turn methods, ``@experiment``: every way to score without ``evaluate()``."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import math
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import pydantic
import pytest

from ctxmetrics import LexicalJudge, Sample, ScriptedJudge
from ctxmetrics.errors import MissingFieldError, SampleError, UnknownFieldError
from support.later import later

collections = later("ragas.metrics.collections")
collections_base = later("ragas.metrics.collections.base")
np = later("numpy")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


Row = dict[str, Any]
NAMES = (
    "ContextRecall",
    "ContextPrecision",
    "ContextUtilization",
    "NonLLMContextRecall",
    "NonLLMContextPrecision",
    "IDBasedContextRecall",
    "IDBasedContextPrecision",
)


@pytest.mark.parametrize("name", NAMES)
def test_one_object_in_both_apis_gives_one_number(evaluate: Any, row: Row, name: str) -> None:
    metric = getattr(ours, name)()
    sample = ragas.SingleTurnSample(**row)
    values = [
        metric.score(**row).value,
        metric.batch_score([row])[0].value,
        asyncio.run(metric.ascore(**row)).value,
        asyncio.run(metric.abatch_score([row]))[0].value,
        metric.single_turn_score(sample),
        asyncio.run(metric.single_turn_ascore(sample)),
        evaluate([row], [metric])[metric.name][0],
        metric.core.score(Sample(**row)).value,
    ]
    assert isinstance(metric, collections_base.BaseMetric)
    assert set(values) == {values[0]}


def test_sync_methods_in_a_running_loop_and_in_threads(row: Row) -> None:
    """Ragas' own raise there (collections), or patch the loop (legacy)."""
    metric = ours.ContextRecall()

    async def notebook() -> list[float]:
        sample = ragas.SingleTurnSample(**row)
        return [
            metric.score(**row).value,
            metric.batch_score([row])[0].value,
            metric.single_turn_score(sample),
        ]

    assert asyncio.run(notebook()) == [0.5, 0.5, 0.5]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: metric.score(**row).value, range(8))) == [0.5] * 8


def test_reason_is_filled(row: Row) -> None:
    """Ragas' own collections metrics leave it empty, though their judge wrote one for every verdict."""
    result = ours.ContextRecall().score(**row)
    assert isinstance(result, ragas.metrics.result.MetricResult)
    lines = result.reason.splitlines()
    assert lines[0] == "1 of 2 sentences supported."
    assert lines[1].startswith('s2 no: "It was built in 1889."')
    assert lines[2].startswith('s1 yes: "The tower is in Paris."')
    assert result.details.verdicts[0].evidence[0].context == 0
    assert "context_recall: 0.5" in result.details.pretty()


def test_not_computable_is_nan_with_a_reason(row: Row) -> None:
    result = ours.ContextRecall().score(**{**row, "reference": ""})
    assert math.isnan(result.value)
    assert type(result.value) is float
    assert result.reason.startswith("no_reference: ")
    assert math.isnan(float(result))


# ---- MetricResult ----


def test_metric_result_can_be_copied_and_pickled(row: Row) -> None:
    """Ragas' own ends in a RecursionError."""
    result = ours.ContextRecall().score(**row)
    for twin in (copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))):  # noqa: S301 - our own
        assert (twin.value, twin.reason, twin.details) == (result.value, result.reason, result.details)


def test_metric_result_behaves_as_ragas_result(row: Row) -> None:
    result = ours.ContextRecall().score(**row)
    assert float(result) == 0.5
    assert result == 0.5
    assert result + 1 == 1.5
    assert np.mean([float(result), 1.0]) == 0.75
    assert result.to_dict() == {"result": 0.5, "reason": result.reason}


def test_experiment_with_a_result_in_its_rows(
    row: Row, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows come back in the order of completion, and a failing one is printed and dropped: an id joins them."""

    class Scored(pydantic.BaseModel):
        row_id: int
        recall: float
        result: Any

    recall = ours.ContextRecall()
    dataset = ragas.Dataset(name="rows", backend="inmemory")
    for number in range(5):
        dataset.append(
            {**row, "row_id": number, "reference": "The tower is in Paris." if number else ""}
        )

    @ragas.experiment(Scored)
    async def run(item: dict[str, Any]) -> Scored:
        fields = ("user_input", "reference", "retrieved_contexts")
        result = await recall.ascore(**{name: item[name] for name in fields})
        return Scored(row_id=item["row_id"], recall=result.value, result=result)

    scored = asyncio.run(run.arun(dataset, name="first", backend="inmemory"))
    values = {item.row_id: item.recall for item in scored}
    assert math.isnan(values.pop(0))
    assert values == dict.fromkeys(range(1, 5), 1.0)
    reasons = {item.row_id: item.result.reason for item in scored}
    assert reasons[0].startswith("no_reference")


def test_inside_a_numeric_metric(row: Row) -> None:
    """Ragas turns NaN into None there, as it is outside of the allowed values."""
    recall = ours.ContextRecall()

    @ragas.metrics.numeric_metric(name="mine", allowed_values=recall.allowed_values)
    def mine(reference: str, retrieved_contexts: list[str]) -> float:
        return recall.score(reference=reference, retrieved_contexts=retrieved_contexts).value

    fields = {"retrieved_contexts": row["retrieved_contexts"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mine.score(reference=row["reference"], **fields).value == 0.5
        assert mine.score(reference="", **fields).value is None


def test_allowed_values_are_the_scale(row: Row) -> None:
    assert ours.ContextRecall().allowed_values == (0.0, 1.0)
    aegis = ours.ContextRecall(convention="aegis")
    assert aegis.allowed_values == (0.0, 100.0)
    assert aegis.validate_result_value(aegis.score(**row).value) is None
    assert aegis.score(**row).value == 50.0


# ---- fields ----


def test_signature_shows_the_fields() -> None:
    """Integrations pass what they find there; notebooks complete it. The fields are those of a sample."""
    for method in (
        ours.ContextRecall().ascore,
        ours.IDBasedContextRecall().score,
        ours.ContextRecall.score,
    ):
        names = [name for name in inspect.signature(method).parameters if name != "self"]
        assert names == [*(item.name for item in fields(Sample)), "others"]


def test_fields_of_a_ragas_sample_are_all_taken(row: Row) -> None:
    """Whoever passes everything a row has need not pick."""
    everything = ragas.SingleTurnSample(
        **row, rubrics={"a": "b"}, persona_name="p", query_style="s", query_length="l"
    )
    assert ours.ContextRecall().score(**everything.model_dump()).value == 0.5


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"referense": "x"}, UnknownFieldError, "Did you mean 'reference'"),
        ({"reference": None}, MissingFieldError, "has no reference, which context_recall needs"),
        ({"retrieved_contexts": "one string"}, SampleError, "must be a list, not one string"),
        ({"retrieved_contexts": [None]}, SampleError, "item 1 must be a string, not None"),
        ({"reference": 5}, SampleError, "'reference' must be a string, not int"),
    ],
)
def test_wrong_fields_raise_at_once(row: Row, change: Row, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ours.ContextRecall().score(**{**row, **change})


def test_facts_are_counted(row: Row) -> None:
    metric = ours.ContextRecall(unit="fact", judge=LexicalJudge())
    facts = ["The tower is in Paris.", {"text": "It was built in 1889.", "id": "year"}]
    given = {"reference_facts": facts, "retrieved_contexts": row["retrieved_contexts"]}
    assert metric.score(**given).value == 0.5
    assert metric.batch_score([given])[0].value == 0.5
    with pytest.raises(MissingFieldError, match="has no reference_facts"):  # Ragas' samples hold none
        metric.single_turn_score(ragas.SingleTurnSample(**row))


# ---- batches ----


def test_batch_fails_per_item_and_keeps_its_order(row: Row) -> None:
    """One failure of Ragas' own raises, and the rest, paid for, is lost."""

    def alike(one: str, other: str) -> float:
        if "Bananas" in one:
            raise RuntimeError("no bananas")
        return float(one == other)

    fields = {"reference_contexts": ["a"]}
    inputs = [
        {**fields, "retrieved_contexts": ["a"]},
        {**fields, "retrieved_contexts": ["Bananas"]},
        {**fields, "retrieved_contexts": "a"},
        {**fields},
        {**fields, "retrieved_contexts": ["b"], "unheard_of": 1},
        {**fields, "retrieved_contexts": ["b"]},
    ]
    results = ours.NonLLMContextRecall(similarity=alike).batch_score(inputs)
    assert [result.details.value for result in results] == [1.0, None, None, None, None, 0.0]
    assert [math.isnan(result.value) for result in results] == [False, True, True, True, True, False]
    assert [result.details.reason_code for result in results] == [
        None,
        "metric_error",
        "metric_error",
        "missing_field",
        "metric_error",
        None,
    ]
    assert "RuntimeError: no bananas" in results[1].reason
    assert "Sample 3: field 'retrieved_contexts' must be a list, not one string" in results[2].reason
    assert "has no retrieved_contexts" in results[3].reason
    assert "Sample 5: unknown field 'unheard_of'" in results[4].reason


def test_batch_that_is_wrong_as_a_whole_raises(row: Row) -> None:
    metric = ours.ContextRecall()
    with pytest.raises(MissingFieldError, match="No sample has reference"):
        metric.batch_score([{"retrieved_contexts": ["a"]}] * 3)
    with pytest.raises(UnknownFieldError, match="unknown field 'contexts'"):
        metric.batch_score([{"contexts": ["a"], "reference": "a"}] * 3)


def test_batch_of_nothing() -> None:
    assert ours.ContextRecall().batch_score([]) == []


def test_batch_with_a_judge_that_fails_for_one(row: Row) -> None:
    def answer(prompt: Any) -> str:
        if "Fail!" in prompt.text:
            raise RuntimeError("the judge broke")
        return json.dumps({"code": "$code", "sentences": {"s1": {"supported": False}}, "useful": {}})

    judge = ScriptedJudge(answer, name="fails once", max_repairs=0)
    inputs = [
        {"reference": "It is red.", "retrieved_contexts": ["It is blue."], "user_input": question}
        for question in ("One?", "Fail!", "Three?")
    ]
    results = ours.ContextRecall(judge=judge, unit="sentence").batch_score(inputs)
    assert [result.details.value for result in results] == [0.0, None, 0.0]
    assert results[1].reason.startswith("not_judged: ")


def test_no_progress_bar_of_ours(row: Row, capsys: pytest.CaptureFixture[str]) -> None:
    ours.ContextRecall().batch_score([row] * 3)
    assert capsys.readouterr() == ("", "")


# ---- documented snippets ----


@pytest.mark.skipif(version("ragas").startswith("0.3."), reason="Ragas 0.3 does not warn yet")
def test_two_line_migration_that_ragas_cannot_offer() -> None:
    """Ragas says "use ragas.metrics.collections", where the string and id metrics are not."""
    for name in ("NonLLMContextRecall", "IDBasedContextRecall", "IDBasedContextPrecision"):
        with pytest.warns(DeprecationWarning, match=r"use 'ragas\.metrics\.collections' instead"):
            theirs = getattr(ragas.metrics, name)
        assert name not in dir(ragas.metrics.collections)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            metric = getattr(ours, name)()
        assert metric.name == theirs().name


def test_documented_recall_snippets() -> None:
    """Ragas' page on context recall: only the import is changed, and no LLM is given."""
    sample = ragas.SingleTurnSample(
        user_input="Where is the Eiffel Tower located?",
        response="The Eiffel Tower is located in Paris.",
        reference="The Eiffel Tower is located in Paris.",
        retrieved_contexts=["Paris is the capital of France."],
    )
    attributed = ScriptedJudge(
        lambda prompt: json.dumps(
            {
                "code": "$code",
                "sentences": {
                    "s1": {
                        "supported": True,
                        "evidence": [{"context": "c1", "quote": "Paris is the capital", "whole": True}],
                    }
                },
                "useful": {"c1": {"useful": True}},
            }
        ),
        name="the page's verdict",
    )
    assert asyncio.run(ours.LLMContextRecall(judge=attributed).single_turn_ascore(sample)) == 1.0
    scorer = ours.ContextRecall(judge=attributed)
    result = asyncio.run(
        scorer.ascore(
            user_input=sample.user_input,
            retrieved_contexts=sample.retrieved_contexts,
            reference=sample.reference,
        )
    )
    assert result.value == 1.0

    strings = ragas.SingleTurnSample(
        retrieved_contexts=["Paris is the capital of France."],
        reference_contexts=[
            "Paris is the capital of France.",
            "The Eiffel Tower is one of the most famous landmarks in Paris.",
        ],
    )
    assert asyncio.run(ours.NonLLMContextRecall().single_turn_ascore(strings)) == 0.5

    ids = ragas.SingleTurnSample(
        retrieved_context_ids=["doc_1", "doc_2", "doc_3"],
        reference_context_ids=["doc_1", "doc_4", "doc_5", "doc_6"],
    )
    assert asyncio.run(ours.IDBasedContextRecall().single_turn_ascore(ids)) == 0.25


def test_documented_precision_snippets() -> None:
    """Ragas' page on context precision: 0.9999999999 there is 1.0 here, and the same under its convention."""
    strings = ragas.SingleTurnSample(
        retrieved_contexts=["The Eiffel Tower is located in Paris."],
        reference_contexts=[
            "Paris is the capital of France.",
            "The Eiffel Tower is one of the most famous landmarks in Paris.",
        ],
    )
    for convention, value in (("ragas", 0.9999999999), ("default", 1.0)):
        metric = ours.NonLLMContextPrecisionWithReference(convention=convention)
        assert asyncio.run(metric.single_turn_ascore(strings)) == value
    ids = ragas.SingleTurnSample(
        retrieved_context_ids=["doc_1", "doc_2", "doc_3", "doc_4"],
        reference_context_ids=["doc_1", "doc_4", "doc_5", "doc_6"],
    )
    assert ours.IDBasedContextPrecision().single_turn_score(ids) == 0.5


@pytest.mark.parametrize(
    ("first", "default", "as_ragas"), [(True, 1.0, 0.9999999999), (False, 0.5, 0.49999999995)]
)
@pytest.mark.parametrize(
    "name",
    [
        "ContextPrecision",
        "ContextUtilization",
        "LLMContextPrecisionWithReference",
        "LLMContextPrecisionWithoutReference",
        "ContextPrecisionWithReference",
        "ContextPrecisionWithoutReference",
    ],
)
def test_documented_precision_of_two_contexts(
    name: str, first: bool, default: float, as_ragas: float
) -> None:
    contexts = ["The Eiffel Tower is located in Paris.", "The Brandenburg Gate is located in Berlin."]
    fields = {
        "user_input": "Where is the Eiffel Tower located?",
        "response": "The Eiffel Tower is located in Paris.",
        "reference": "The Eiffel Tower is located in Paris.",
        "retrieved_contexts": contexts if first else contexts[::-1],
    }
    useful = {
        "code": "$code",
        "useful": {
            f"c{n}": {"quote": text, "useful": "Eiffel" in text}
            for n, text in enumerate(fields["retrieved_contexts"], 1)
        },
    }
    judge = ScriptedJudge(
        {"usefulness": [useful], "joint": [{"sentences": {}, **useful}]}, max_repairs=0
    )
    for convention, value in (("default", default), ("ragas", as_ragas)):
        metric = getattr(ours, name)(judge=judge, convention=convention)
        assert metric.score(**fields).value == value
