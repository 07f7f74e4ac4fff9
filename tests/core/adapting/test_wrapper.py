"""The one wrapper: a metric of the core in a framework."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading

import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    NonLLMContextRecall,
    Sample,
    ScriptedJudge,
)
from ctxmetrics.adapting.judge_argument import as_judge
from ctxmetrics.adapting.kept_scores import append_score, find_score, to_json_details
from ctxmetrics.adapting.parameters import MetricClass
from ctxmetrics.adapting.wrapper import Wrapper
from ctxmetrics.errors import MissingFieldError, NotTextError, ParameterError, SampleError
from ctxmetrics.models.frameworks import ForeignModel
from ctxmetrics.samples.schema import Place, Schema

SCHEMA = Schema(
    places={
        "user_input": Place.of("asked", "question"),
        "retrieved_contexts": Place.of("said", "documents"),
        "retrieved_context_ids": Place.of("said", "ids"),
        "reference": Place.of("expected", "answer"),
        "reference_contexts": Place.of("expected", "documents"),
        "reference_context_ids": Place.of("expected", "ids"),
    }
)
RECORD = {"said": {"ids": ["a", "b"]}, "expected": {"ids": ["a", "c"]}}


def wrapped(metric=None, **keys):
    return Wrapper.of(metric or IDBasedContextRecall(), None, keys, SCHEMA)


both_ways = pytest.mark.parametrize(
    "call",
    [Wrapper.score, lambda *args, **options: asyncio.run(Wrapper.ascore(*args, **options))],
    ids=["sync", "async"],
)


@both_ways
def test_a_record_is_scored(call):
    assert call(wrapped(), RECORD).value == 0.5
    assert (
        call(
            wrapped(ContextRecall(judge=LexicalJudge())),
            {"said": {"documents": ["It is red."]}, "expected": {"answer": "It is red."}},
        ).value
        == 1.0
    )


@both_ways
def test_a_failure_is_raised_or_told(call):
    def broken(record):
        raise KeyError("hits, api_key=sk-abcdef123456")

    failing = wrapped(ContextRecall(), contexts_key=broken, reference_key=lambda record: "It is red.")
    with pytest.raises(KeyError):
        call(failing, RECORD)
    lost = call(failing, RECORD, strict=False)
    assert (lost.value, lost.reason_code) == (None, "metric_error")
    assert lost.message.startswith("KeyError: ")
    assert "sk-abcdef" not in lost.message


@both_ways
def test_a_missing_field_has_its_code(call):
    with pytest.raises(MissingFieldError, match="has no reference"):
        call(wrapped(ContextRecall()), RECORD)
    assert call(wrapped(ContextRecall()), RECORD, strict=False).reason_code == "missing_field"


@both_ways
def test_a_picture_raises_nothing(call):
    def picture(record):
        raise NotTextError("a picture")

    score = call(wrapped(contexts_key=picture), {"expected": {"ids": ["a"]}})
    assert (score.value, score.reason_code, score.message) == (None, "not_text", "a picture")


def test_no_value_without_failure():
    score = wrapped().score({"said": {"ids": ["a"]}, "expected": {"ids": []}})
    assert (score.value, score.reason_code) == (None, "no_reference")


def test_a_slow_similarity_holds_up_no_other_thread():
    """What needs no judge is computed in the thread that asks, not in the loop that serves them all."""
    threads = []

    def similarity(one, other):
        threads.append(threading.current_thread())
        return 1.0

    record = {"said": {"documents": ["a"]}, "expected": {"documents": ["b"]}}
    assert wrapped(NonLLMContextRecall(similarity=similarity)).score(record).value == 1.0
    assert set(threads) == {threading.current_thread()}


@both_ways
def test_what_only_the_first_metric_could_read_is_refused(call):
    documents = [{"text": "It is red.", "id": "a"}]
    record = {
        "said": {"documents": iter(documents)},
        "expected": {"answer": "It is red.", "ids": ["a"]},
    }
    for metric in (ContextRecall(judge=LexicalJudge()), IDBasedContextRecall()):
        with pytest.raises(
            SampleError, match=r"is a list_iterator, which only the first .* Write list"
        ):
            call(wrapped(metric), record)
        # A function gives it anew each time.
        keys = {"contexts_key": lambda _: iter(documents)}
        if not metric.waits:
            keys = {"retrieved_ids_key": lambda _: (one["id"] for one in documents)}
        assert call(wrapped(metric, **keys), record).value == 1.0


def test_a_judge_is_for_judged_metrics_without_one():
    scripted, own = ScriptedJudge({"joint": ["{}"]}), LexicalJudge(min_coverage=0.9)
    made = [
        Wrapper.of(metric, scripted, {}, SCHEMA).metric
        for metric in (ContextRecall(), ContextRecall(judge=own), IDBasedContextRecall())
    ]
    assert [getattr(metric, "judge", "none") for metric in made] == [scripted, own, "none"]


def test_a_metric_is_built_from_keywords():
    params = {"top_k": 1, "threshold": 0.5, "strict": True, "retrieved_ids_key": "hits"}
    made = Wrapper.build(IDBasedContextRecall, params, SCHEMA)
    assert made.metric == IDBasedContextRecall(top_k=1, threshold=0.5, strict=True)
    assert dict(made.keys) == {"retrieved_ids_key": "hits"}
    with pytest.raises(ParameterError, match=r"no parameter 'ids_key'.*Did you mean '.*id.*_key'"):
        Wrapper.build(IDBasedContextRecall, {"ids_key": "x"}, SCHEMA)


def test_equal_by_metric_and_keys_and_safe_to_copy():
    assert wrapped() == wrapped()
    assert hash(wrapped()) == hash(wrapped())
    assert wrapped() != wrapped(id_key="source")
    unpickled = pickle.loads(pickle.dumps(wrapped(id_key="source")))  # noqa: S301 - our own
    assert unpickled == copy.deepcopy(wrapped(id_key="source")) == wrapped(id_key="source")
    assert unpickled.score(RECORD) == wrapped().score(RECORD)


def test_class_statement_names_the_core_metric_for_subclasses():
    class Base(MetricClass):
        pass

    class Recall(Base, core=ContextRecall):
        pass

    class Mine(Recall):
        pass

    assert (Recall.core_class, Mine.core_class) == (ContextRecall, ContextRecall)
    assert not hasattr(Base, "core_class")


def test_compact_is_json_and_holds_the_whole_score():
    recall = ContextRecall(convention="aegis")
    record = {
        "said": {"documents": ["The secret chunk stands here."]},
        "expected": {"answer": "The secret chunk stands here. So does gold."},
    }
    score = wrapped(recall).score(record)
    told = to_json_details(score)
    assert json.loads(json.dumps(told)) == told
    assert (told["count"], told["verdicts"]) == (
        "1 of 2 sentences supported",
        {"s1": True, "s2": False},
    )
    assert (told["passed"], told["threshold"], told["judge"]) == (False, 80.0, "lexical")
    assert told["score"] == json.loads(json.dumps(score.to_dict()))
    assert "chunk" not in json.dumps({**told, "score": None})


def test_malformed_records_are_errors_of_the_sample():
    with pytest.raises(SampleError):
        wrapped().score({"said": {"ids": [1.5]}, "expected": {"ids": ["a"]}})


class Foreign:
    pass


class Wrapped(ForeignModel):
    def __init__(self, inner: Foreign, name: str = "foreign") -> None:
        super().__init__(inner, name)

    async def generate(self, prompt, schema):
        raise NotImplementedError


def test_a_judge_may_be_given_in_three_ways():
    assert as_judge(None, Foreign, Wrapped) is None
    lexical = LexicalJudge()
    assert as_judge(lexical, Foreign, Wrapped) is lexical
    assert as_judge(Foreign(), Foreign, Wrapped).model == Wrapped(Foreign())
    assert as_judge(Wrapped(Foreign()), Foreign, Wrapped).model == Wrapped(Foreign())
    assert as_judge(Wrapped(Foreign())).model == Wrapped(Foreign())
    assert as_judge("lexical:min_coverage=.5", Foreign, Wrapped) == LexicalJudge(min_coverage=0.5)
    assert as_judge("gpt-4o", object, lambda name: Wrapped(Foreign(), name)).model.identity == "gpt-4o"
    with pytest.raises(
        ParameterError, match=r"judge=int is no judge\. .* a Foreign with nothing around it"
    ):
        as_judge(3, Foreign, Wrapped)


def test_foreign_models_are_equal_by_identity_and_never_pickled():
    one = Wrapped(Foreign())
    assert one == Wrapped(Foreign())
    assert hash(one) == hash(Wrapped(Foreign()))
    assert one != Wrapped(Foreign(), "other")
    assert copy.deepcopy(one) is one
    assert repr(one) == "Wrapped('foreign')"
    with pytest.raises(ParameterError, match="holds the client and key of Foreign"):
        pickle.dumps(one)


@pytest.mark.parametrize(
    "text",
    [None, "", "see ctxmetrics: the docs", "logs\nctxmetrics:abcd", "logs\nctxmetrics:", "logs\nctxmetrics:e30", "logs\nctxmetrics:MQ=="],
)  # fmt: skip
def test_a_text_of_another_metric_holds_no_score(text):
    assert find_score(text) is None


def test_a_score_is_read_from_the_text_that_keeps_it():
    score = ContextRecall(judge=LexicalJudge()).score(
        Sample(reference="It is red.", retrieved_contexts=["ctxmetrics: it is red."])
    )
    assert find_score(append_score("logs about\nctxmetrics: it is red", score)) == score.to_dict()
