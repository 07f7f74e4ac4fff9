"""Several searches of one question: one judgement of all, what each added, and what has no value over several rankings."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    IDBasedHitRate,
    IDBasedNDCG,
    LexicalJudge,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Results,
    Sample,
    ScriptedJudge,
    compare,
    evaluate,
    score_table,
)
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.judges.scripted import ScriptedModel
from ctxmetrics.samples.stages import Search

REFERENCE = "The tower stands in Paris. It was finished in 1889. It is painted brown."
PARIS, BANANAS, YEAR = (
    "The tower stands in Paris.",
    "Bananas are yellow.",
    "The tower was finished in 1889.",
)
# By hand: s1 by the first search, s2 by the second, s3 by none; the third brings nothing new.
SEARCHES = [
    {"query": "where is the tower", "contexts": [PARIS, BANANAS], "ids": ["p", "b"], "turn": 1},
    {"query": "when was it finished", "contexts": [PARIS, YEAR], "ids": ["p", "y"], "turn": 2},
    {"query": "its colour", "contexts": [BANANAS], "ids": ["b"], "turn": 2},
]
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {"supported": True, "evidence": [{"context": "c1", "quote": PARIS, "whole": True}]},
        "s2": {"supported": True, "evidence": [{"context": "c3", "quote": YEAR, "whole": True}]},
        "s3": {"supported": False, "missing": "no context states the colour"},
    },
    "useful": {"c1": {"useful": True}, "c2": {"useful": False}, "c3": {"useful": True}},
}


def sample(**changes: Any) -> Sample:
    return Sample(**{"id": "t", "reference": REFERENCE, "searches": SEARCHES, **changes})


def scripted() -> ScriptedJudge:
    return ScriptedJudge({"joint": [REPLY]})


def test_a_sample_holds_what_its_searches_brought_together() -> None:
    one = sample()
    assert one.retrieved_contexts == (PARIS, BANANAS, YEAR)
    assert one.retrieved_context_ids == ("p", "b", "y")
    assert one.searches is not None
    assert one.searches[1] == Search("when was it finished", (PARIS, YEAR), ("p", "y"), 2)
    assert Sample(**json.loads(json.dumps(one.to_dict()))) == one
    assert Sample.from_dict(one.to_dict(), "auto") == one
    plain = Sample(reference=REFERENCE, searches=[[PARIS, BANANAS], [], [PARIS, YEAR]])
    assert plain.retrieved_contexts == (PARIS, BANANAS, YEAR)
    assert plain.retrieved_context_ids is None


@pytest.mark.parametrize("judge", [LexicalJudge(), scripted()], ids=["embedded", "scripted"])
def test_one_judgement_says_what_each_search_found(judge: Any) -> None:
    results = evaluate([sample()], [ContextRecall(judge=judge)], progress=False)
    assert results[0]["context_recall"].value == pytest.approx(2 / 3)
    if isinstance(judge, ScriptedJudge):
        assert isinstance(judge.model, ScriptedModel)
        assert results.usage.calls == 1
    searches = results.searches()
    (one,) = searches.samples
    assert one.queries == ("where is the tower", "when was it finished", "its colour")
    assert one.recalls == pytest.approx((1 / 3, 2 / 3, 0.0))
    assert one.recalls_after == pytest.approx((1 / 3, 2 / 3, 2 / 3))
    assert one.precisions == (0.5, 1.0, 0.0)  # the shares of contexts on which a sentence rests
    assert one.added == (("s1",), ("s2",), ())
    assert one.complete_after is None
    assert searches.idle == (("t", 3),)
    assert [(lost.unit, lost.text) for lost in searches.lost] == [("s3", "It is painted brown.")]
    assert searches.recall == pytest.approx(2 / 3)


def test_the_share_of_complete_questions_needs_no_request() -> None:
    """By hand: two of three sentences of the first sample are supported, both of the second."""
    reference = "The tower stands in Paris. It was finished in 1889."
    reply = {**REPLY, "sentences": {key: REPLY["sentences"][key] for key in ("s1", "s2")}}
    judge = ScriptedJudge({"joint": [REPLY, reply]})
    metrics = [ContextRecall(judge=judge), ContextRecall(judge=judge, strict=True)]
    results = evaluate(
        [sample(), sample(id="u", reference=reference)], metrics, max_concurrency=1, progress=False
    )
    assert results.by_metric["context_recall"].values == pytest.approx([2 / 3, 1.0])
    complete = results.summary()[metrics[1].name]
    assert (complete.mean, results.usage.calls) == (0.5, 2)
    assert complete.interval is not None


def test_each_search_is_as_if_it_was_judged_alone() -> None:
    judge = LexicalJudge()
    (one,) = evaluate([sample()], [ContextRecall(judge=judge)], progress=False).searches().samples
    for search, recall in zip(SEARCHES, one.recalls, strict=True):
        alone = Sample(reference=REFERENCE, retrieved_contexts=search["contexts"])
        assert ContextRecall(judge=judge).score(alone).value == pytest.approx(recall)


def test_means_count_every_sample_after_its_last_search() -> None:
    short = Sample(id="u", reference="The pump is red.", searches=[["The pump is red."]])
    searches = evaluate(
        [sample(), short], [ContextRecall(judge=LexicalJudge())], progress=False
    ).searches()
    assert [mean.samples for mean in searches.searches] == [2, 1, 1]
    # By hand: (1/3 + 1) / 2, then (2/3 + 1) / 2 twice.
    after = [mean.recall_after for mean in searches.searches]
    assert after == pytest.approx([2 / 3, 5 / 6, 5 / 6])
    assert [mean.added for mean in searches.searches] == [1.0, 1.0, 0.0]
    assert searches.complete_after == {1: 1, None: 1}
    assert "after 1 in 1 sample, never in 1 sample" in str(searches)
    assert searches.to_dict()["complete_after"] == {"1": 1, "None": 1}


RANKED = [
    ContextPrecision(judge=LexicalJudge()),
    NonLLMContextPrecision(),
    IDBasedContextPrecision(),
    IDBasedNDCG(),
]
UNRANKED = [
    ContextRecall(judge=LexicalJudge()),
    NonLLMContextRecall(),
    IDBasedContextRecall(),
    IDBasedHitRate(),
]


def test_several_rankings_have_no_precision() -> None:
    labelled = sample(reference_contexts=[PARIS], reference_context_ids=["p"])
    results = evaluate([labelled], [*RANKED, *UNRANKED], progress=False)
    for metric in RANKED:
        score = results[0][metric.name]
        assert score.value is None
        assert score.reason_code == "several_searches"
    assert results.usage.calls == 0
    values = [results[0][metric.name].value for metric in UNRANKED]
    assert values == pytest.approx([2 / 3, 1.0, 1.0, 1.0])
    one = Sample(
        **{
            **labelled.to_dict(),
            "searches": SEARCHES[:1],
            "retrieved_contexts": None,
            "retrieved_context_ids": None,
        }
    )
    assert None not in [metric.score(one).value for metric in [*RANKED, *UNRANKED]]


def test_ids_alone_have_searches_too() -> None:
    one = Sample(
        id="i",
        reference_context_ids=["1", "2", "3"],
        searches=[{"ids": [1]}, {"ids": []}, {"ids": [1, 2]}],
    )
    searches = evaluate([one], [IDBasedContextRecall()], progress=False).searches()
    assert searches.samples[0].recalls == pytest.approx((1 / 3, 0.0, 2 / 3))
    assert searches.samples[0].added == (("1",), (), ("2",))


def test_a_table_of_searches_has_the_same_values() -> None:
    pandas = pytest.importorskip("pandas")
    searches = [[{"ids": ["a", "x"]}, {"ids": ["b"]}], [{"ids": ["x", "a"]}]]
    table = pandas.DataFrame({"reference_context_ids": [["a", "b"]] * 2, "searches": searches})
    table["retrieved_context_ids"] = [["a", "x", "b"], ["x", "a"]]
    scored = score_table(table, [IDBasedContextRecall(), IDBasedContextPrecision()])
    assert scored["id_based_context_recall"].tolist() == [1.0, 0.5]
    assert scored["id_based_context_precision.reason_code"][0] == "several_searches"
    assert scored["id_based_context_precision"].tolist()[1] == 0.5


def test_they_are_read_from_a_file_of_results(tmp_path: Any) -> None:
    results = evaluate([sample()], [ContextRecall(judge=LexicalJudge())], progress=False)
    results.to_jsonl(tmp_path / "r.jsonl")
    again = Results.from_jsonl(tmp_path / "r.jsonl")
    assert again.searches().to_dict() | {"samples": None} == results.searches().to_dict() | {
        "samples": None
    }
    assert not compare(again, results).lost


def test_a_run_without_searches_says_how_to_give_them() -> None:
    plain = Sample(reference="The pump is red.", retrieved_contexts=["The pump is red."])
    results = evaluate([plain], [ContextRecall(judge=LexicalJudge())], progress=False)
    with pytest.raises(ParameterError, match=re.escape("Give Sample(searches=..)")):
        results.searches()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"searches": "a text"}, "field 'searches' must be a list, not one string"),
        ({"searches": []}, "field 'searches' is empty"),
        (
            {"searches": [{"query": 7, "contexts": ["a"]}]},
            "field 'searches', item 1 must be a string, not int",
        ),
        (
            {"searches": [["a"], {"contexts": ["a"], "turn": 0}]},
            "item 2, turn must be a whole number from 1",
        ),
        ({"searches": [{"contexts": ["a"], "question": "q"}]}, "unknown field 'question'"),
        ({"searches": [{"query": "q"}]}, "holds neither contexts nor ids"),
        ({"searches": [["a"]], "stages": {"s": ["a"]}}, "'searches' stands beside 'stages'"),
        ({"searches": [["a"]], "retrieved_contexts": ["b"]}, "they differ at item 1"),
        (
            {"searches": [{"contexts": ["a"]}, {"ids": ["1"]}]},
            "neither contexts in each search nor ids in each",
        ),
    ],
)
def test_what_are_no_searches_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SampleError, match=re.escape(message)):
        Sample(id="x", **changes)


def test_a_stage_named_all_searches_alone_is_no_search() -> None:
    named = Sample(id="n", reference=REFERENCE, stages={"all searches": {"contexts": [PARIS]}})
    results = evaluate([sample(), named], [ContextRecall(judge=LexicalJudge())], progress=False)
    searches = results.searches()
    assert ([item.sample for item in searches.samples], searches.searches[0].samples) == (["t"], 1)
