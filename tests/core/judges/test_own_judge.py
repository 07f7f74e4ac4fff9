"""A judge of one's own that returns what no judge may return: its sample is not judged, and says why."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from ctxmetrics import ContextPrecision, ContextRecall, Sample, evaluate
from ctxmetrics.judges.base import Claims, Judgement
from ctxmetrics.verdicts import Evidence, Verdict

SAMPLE = Sample(
    user_input="?", reference="It is red. It is big.", retrieved_contexts=["It is red.", "It is big."]
)
YES = {"s1": Verdict(id="s1", value=True), "s2": Verdict(id="s2", value=True)}


class OwnJudge:
    name, warnings = "own", ()

    def __init__(self, answer):
        self.answer = answer

    async def attribute(self, request):
        return self.answer

    async def decompose(self, text, *, language):
        return self.answer

    rate = attribute


def judgement(**parts):
    return Judgement(**{"verdicts": tuple(YES.values()), **parts})


def verdict(**parts):
    return judgement(verdicts=(Verdict(**{"id": "s1", "value": True, **parts}), YES["s2"]))


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (None, "it must be a ctxmetrics.Judgement, not NoneType"),
        ("yes", "it must be a ctxmetrics.Judgement, not str"),
        ({"verdicts": []}, "it must be a ctxmetrics.Judgement, not dict"),
        ([*YES.values()], "it must be a ctxmetrics.Judgement, not list"),
        (judgement(verdicts=None), "verdicts must be a tuple of ctxmetrics.Verdict, not NoneType"),
        (judgement(verdicts=5), "verdicts must be a tuple of ctxmetrics.Verdict, not int"),
        (judgement(verdicts=("s1",)), "verdicts must be a tuple of ctxmetrics.Verdict, not str"),
        (verdict(id=1), "a verdict's id must be a string such as 's1', not int"),
        (verdict(id=["s1"]), "a verdict's id must be a string such as 's1', not list"),
        (judgement(usage=None), "usage must be a ctxmetrics.Usage, not NoneType"),
        (judgement(raw=5), "raw must be a tuple of strings, not int"),
        (judgement(raw="reply"), "raw must be a tuple of strings, not str"),
        (judgement(prompt=3), "prompt must be a string or None, not int"),
        (judgement(stability="x"), "stability must be a number or None, not str"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_judgement_is_a_judge_error(answer, wanted):
    for metric in (ContextRecall(judge=OwnJudge(answer)), ContextPrecision(judge=OwnJudge(answer))):
        score = metric.score(SAMPLE)
        assert (score.value, score.reason_code) == (None, "not_judged")
        assert {item.code for item in score.verdicts} == {"judge_error"}
        assert wanted in score.message
        json.dumps(score.to_dict())


@pytest.mark.parametrize(
    "parts",
    [
        {"value": "yes"},
        {"value": 1},
        {"value": float("nan")},
        {"value": ["yes"]},
        {"reason": 3},
        {"code": 4},
        {"details": None},
        {"evidence": None},
        {"evidence": "c1"},
        {"evidence": (3,)},
        {"evidence": (Evidence(context="c1", start=0, end=1, quote="I"),)},
    ],
    ids=str,
)
def test_verdict_with_a_wrong_type_costs_no_other_one(parts):
    score = ContextRecall(judge=OwnJudge(verdict(**parts))).score(SAMPLE)
    assert [(item.value, item.code) for item in score.verdicts] == [
        (None, "invalid_reply"),
        (True, None),
    ]
    assert score.value is None
    json.dumps(score.to_dict())
    assert "s1" in score.pretty()


@pytest.mark.parametrize(
    "answer",
    [None, ["It is red."], Claims(claims=None), Claims(claims="It"), Claims(claims=(3,))],
    ids=str,
)
def test_what_are_no_claims_is_a_judge_error(answer):
    score = ContextRecall(judge=OwnJudge(answer), unit="claim").score(SAMPLE)
    assert (score.value, score.reason_code) == (None, "not_judged")
    assert [item.code for item in score.verdicts] == ["judge_error"]


def test_an_answer_may_have_further_fields():
    @dataclass(frozen=True, kw_only=True)
    class OwnJudgement(Judgement):
        seconds: float = 0.1

    @dataclass(frozen=True, kw_only=True)
    class OwnClaims(Claims):
        seconds: float = 0.1

    score = ContextRecall(judge=OwnJudge(OwnJudgement(verdicts=tuple(YES.values())))).score(SAMPLE)
    assert (score.value, score.message) == (1.0, None)
    claims = OwnClaims(claims=(), code="refused")
    score = ContextRecall(judge=OwnJudge(claims), unit="claim").score(SAMPLE)
    assert [item.code for item in score.verdicts] == ["refused"]


def test_nonsense_about_one_sample_costs_no_other_one():
    class Sometimes(OwnJudge):
        async def attribute(self, request):
            return None if "odd" in request.user_input else judgement()

    samples = [Sample(**{**SAMPLE.to_dict(), "user_input": text}) for text in ("one", "odd", "three")]
    results = evaluate(samples, [ContextRecall(judge=Sometimes(None))], progress=False)
    assert [row["context_recall"].value for row in results] == [1.0, None, 1.0]


@pytest.mark.parametrize(("value", "expected"), [(np.True_, 1.0), (np.False_, 0.0)])
@pytest.mark.parametrize("metric", [ContextRecall, ContextPrecision])
def test_boolean_of_numpy_is_a_yes_or_no(metric, value, expected):
    class Thresholds(OwnJudge):
        async def attribute(self, request):
            return Judgement(verdicts=tuple(Verdict(id=id_, value=value) for id_ in request.unit_ids))

        async def rate(self, request):
            return Judgement(
                verdicts=tuple(Verdict(id=id_, value=value) for id_ in request.context_ids)
            )

    score = metric(judge=Thresholds(None)).score(SAMPLE)
    assert score.value == expected
    assert [verdict.value for verdict in score.verdicts] == [bool(value)] * 2


def test_boolean_of_numpy_without_its_evidence_is_a_no():
    span = Evidence(0, 0, 3, "not there")
    score = ContextRecall(judge=OwnJudge(verdict(value=np.True_, evidence=(span,)))).score(SAMPLE)
    assert (score.value, score.verdicts[0].code) == (0.5, "unverified_evidence")


def test_integer_of_numpy_is_no_yes():
    score = ContextRecall(judge=OwnJudge(verdict(value=np.int64(1)))).score(SAMPLE)
    assert (score.value, score.verdicts[0].code) == (None, "invalid_reply")


def test_evidence_counted_from_the_end_is_none():
    span = Evidence(0, -4, -1, "red")
    score = ContextRecall(judge=OwnJudge(verdict(evidence=(span,)))).score(SAMPLE)
    assert (score.value, score.verdicts[0].evidence) == (0.5, ())


def test_two_answers_of_numpy_that_agree_do_not_conflict():
    answers = judgement(verdicts=(Verdict(id="s1", value=np.True_), *YES.values()))
    assert ContextRecall(judge=OwnJudge(answers)).score(SAMPLE).value == 1.0
