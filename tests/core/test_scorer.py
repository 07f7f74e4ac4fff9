"""Several metrics over the records of a framework."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    LexicalJudge,
    ScriptedJudge,
)
from ctxmetrics._statistics import mean_interval
from ctxmetrics.adapting.judge import as_judge
from ctxmetrics.adapting.scorer import Scorer, compact, is_failure
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.fields import Place, Schema
from ctxmetrics.models.wrapping import ForeignModel, check_kind, fingerprint

SCHEMA = Schema(
    places={
        "user_input": Place.of("asked", "question"),
        "retrieved_contexts": Place.of("said", "documents"),
        "retrieved_context_ids": Place.of("said", "ids"),
        "reference": Place.of("expected", "answer"),
        "reference_context_ids": Place.of("expected", "ids"),
    }
)
RECORD = {"said": {"ids": ["a", "b"]}, "expected": {"ids": ["a", "c"]}}


def scorer(*metrics, **keys):
    return Scorer.of(metrics, None, keys, SCHEMA)


@pytest.mark.parametrize("call", [Scorer.scores, lambda *args: asyncio.run(Scorer.ascores(*args))])
def test_one_score_a_name_in_order(call):
    scores = call(scorer(IDBasedContextRecall(), IDBasedContextPrecision(top_k=1)), RECORD)
    assert {name: score.value for name, score in scores.items()} == {
        "id_based_context_recall": 0.5,
        "id_based_context_precision(top_k=1)": 1.0,
    }


def test_a_failing_metric_leaves_the_others_alone():
    def broken(record):
        raise KeyError("hits, api_key=sk-abcdef123456")

    scores = scorer(IDBasedContextRecall(), ContextRecall(), contexts_key=broken).scores(RECORD)
    assert scores["id_based_context_recall"].value == 0.5
    lost = scores["context_recall"]
    assert (lost.value, lost.reason_code, is_failure(lost)) == (None, "metric_error", True)
    assert lost.message.startswith("KeyError: ")
    assert "sk-abcdef" not in lost.message


def test_a_missing_field_of_one_metric_has_its_code():
    lost = scorer(IDBasedContextRecall(), ContextRecall()).scores(RECORD)["context_recall"]
    assert (lost.reason_code, is_failure(lost)) == ("missing_field", True)


def test_when_all_fail_the_first_error_raises_unless_told_otherwise():
    both = scorer(ContextRecall(), ContextPrecision())
    with pytest.raises(MissingFieldError, match="has no reference"):
        both.scores(RECORD)
    assert [score.reason_code for score in both.scores(RECORD, strict=False).values()] == [
        "missing_field"
    ] * 2


def test_no_value_without_failure_is_no_failure():
    score = scorer(IDBasedContextRecall()).scores({"said": {"ids": ["a"]}, "expected": {"ids": []}})[
        "id_based_context_recall"
    ]
    assert (score.value, score.reason_code, is_failure(score)) == (None, "no_reference", False)


def test_names_must_differ_and_a_mapping_gives_them():
    with pytest.raises(ParameterError, match="different names"):
        scorer(IDBasedContextRecall(), IDBasedContextRecall(threshold=0.5))
    with pytest.raises(ParameterError, match="different names"):
        scorer()
    named = Scorer.of(
        {"low": IDBasedContextRecall(threshold=0.1), "high": IDBasedContextRecall(threshold=0.9)},
        None,
        {},
        SCHEMA,
    )
    assert {name: score.passed for name, score in named.scores(RECORD).items()} == {
        "low": True,
        "high": False,
    }
    assert named.name == "low, high"


def test_a_judge_is_for_judged_metrics_without_one():
    scripted, own = ScriptedJudge({"joint": ["{}"]}), LexicalJudge(min_coverage=0.9)
    made = Scorer.of(
        [ContextRecall(), ContextPrecision(judge=own), IDBasedContextRecall()], scripted, {}, SCHEMA
    )
    judges = [getattr(metric, "judge", "none") for metric in made.metrics.values()]
    assert judges == [scripted, own, "none"]


def test_a_single_metric_takes_everything_by_keyword():
    params = {"top_k": 1, "threshold": 0.5, "strict": True, "key": "mine", "retrieved_ids_key": "hits"}
    made = Scorer.single(IDBasedContextRecall, params, SCHEMA)
    assert dict(made.metrics) == {"mine": IDBasedContextRecall(top_k=1, threshold=0.5, strict=True)}
    assert dict(made.keys) == {"retrieved_ids_key": "hits"}
    assert list(Scorer.single(IDBasedContextRecall, {"top_k": 1}, SCHEMA).metrics) == [
        "id_based_context_recall(top_k=1)"
    ]
    with pytest.raises(ParameterError, match=r"no parameter 'ids_key'.*Did you mean '.*id.*_key'"):
        Scorer.single(IDBasedContextRecall, {"ids_key": "x"}, SCHEMA)


def test_equal_by_metrics_and_keys_and_safe_to_copy():
    def build(**keys):
        return Scorer.of([IDBasedContextRecall()], None, keys, SCHEMA)

    assert build() == build()
    assert hash(build()) == hash(build())
    assert build() != build(id_key="source")
    unpickled = pickle.loads(pickle.dumps(build(id_key="source")))  # noqa: S301 - our own
    assert unpickled == copy.deepcopy(build(id_key="source")) == build(id_key="source")
    assert unpickled.scores(RECORD) == build().scores(RECORD)


def test_summaries_are_those_of_evaluate():
    records = [
        {"said": {"ids": ["0"]}, "expected": {"ids": [str(i) for i in range(n)]}} for n in (1, 2, 2, 4)
    ]
    records += [{"said": {"ids": ["0"]}, "expected": {"ids": []}}, {"said": {"documents": [{"no": "text"}]}}]
    ((told, table),) = scorer(IDBasedContextRecall(threshold=0.5)).summaries(records).values()
    assert told["mean"] == (1.0 + 0.5 + 0.5 + 0.25) / 4
    assert tuple(told["interval"]) == mean_interval([1.0, 0.5, 0.5, 0.25])
    assert (told["samples"], told["scored"], told["passed"]) == (6, 4, 3)
    assert told["missing"] == {"no_reference": 1, "missing_field": 1}
    assert "id_based_context_recall" in table
    assert "4 of 6" in table


def test_summaries_of_nothing_but_gaps_say_so():
    with pytest.raises(MissingFieldError, match="No sample has"):
        scorer(ContextRecall()).summaries([RECORD, RECORD])


def test_compact_is_json_and_holds_no_texts():
    recall = ContextRecall(convention="aegis")
    record = {
        "said": {"documents": ["The secret chunk stands here."]},
        "expected": {"answer": "The secret chunk stands here. So does gold."},
    }
    score = Scorer.of([recall], None, {}, SCHEMA).scores(record)[recall.name]
    told = compact(score)
    assert json.loads(json.dumps(told)) == told
    assert (told["count"], told["verdicts"]) == ("1 of 2 sentences supported", {"s1": True, "s2": False})
    assert (told["passed"], told["threshold"], told["judge"]) == (False, 80.0, "lexical")
    assert "chunk" not in json.dumps({**told, "metadata": None, "signals": None})


# ---- wrapping other libraries' models ----


class Foreign:
    pass


class Wrapped(ForeignModel):
    def __init__(self, inner: Foreign, name: str = "foreign") -> None:
        check_kind(inner, Foreign, "Wrapped")
        super().__init__(inner, name)

    async def generate(self, prompt, schema):
        raise NotImplementedError


def test_foreign_models_are_equal_by_identity_and_never_pickled():
    one = Wrapped(Foreign())
    assert one == Wrapped(Foreign())
    assert hash(one) == hash(Wrapped(Foreign()))
    assert one != Wrapped(Foreign(), "other")
    assert copy.deepcopy(one) is one
    assert repr(one) == "Wrapped('foreign')"
    with pytest.raises(ParameterError, match="holds the client and key of Foreign"):
        pickle.dumps(one)


def test_a_judge_may_be_given_in_three_ways():
    assert as_judge(None, Foreign, Wrapped) is None
    lexical = LexicalJudge()
    assert as_judge(lexical, Foreign, Wrapped) is lexical
    assert as_judge(Foreign(), Foreign, Wrapped).model == Wrapped(Foreign())
    assert as_judge(Wrapped(Foreign()), Foreign, Wrapped).model == Wrapped(Foreign())
    with pytest.raises(ParameterError, match=r"judge=str is no judge\. .* a Foreign with nothing around it"):
        as_judge("gpt", Foreign, Wrapped)
    with pytest.raises(ParameterError, match="Wrapped: str is no Foreign"):
        Wrapped("x")


def test_fingerprints_are_of_content_but_for_secrets_and_nameless_objects():
    from pydantic import SecretStr

    assert (
        fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1}) == "ae8a9a505246"
    )  # sha256sum of the JSON
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert fingerprint({"key": SecretStr("one")}) == fingerprint({"key": SecretStr("two")})
    one, other = Foreign(), Foreign()
    assert fingerprint({"x": one}) == fingerprint({"x": one}) != fingerprint({"x": other})


def test_malformed_records_are_errors_of_the_sample():
    with pytest.raises(SampleError):
        scorer(IDBasedContextRecall()).scores({"said": {"ids": [None]}, "expected": {"ids": ["a"]}})
