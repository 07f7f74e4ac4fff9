"""A run says when its judge gives the same answer to nearly all verdicts."""

from __future__ import annotations

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    Judgement,
    JudgeRequest,
    Results,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.evaluation.report.report import render_html
from ctxmetrics.verdicts import Verdict

NOTE = "the judge answers alike: {}, {} of {} verdicts"


class Told:
    """A judge that says what the question tells it to say."""

    name = "told"
    warnings = ()

    async def attribute(self, request: JudgeRequest) -> Judgement:
        said = request.user_input == "yes"
        return Judgement(verdicts=(Verdict(id="s1", value=said, text=request.units[0]),))

    async def rate(self, request: JudgeRequest) -> Judgement:
        raise NotImplementedError


def run(yes: int, no: int, convention: str = "default") -> Results:
    samples = [
        Sample(user_input=said, reference=f"Number {number} is there.", retrieved_contexts=["A list."])
        for number, said in enumerate(["yes"] * yes + ["no"] * no)
    ]
    return evaluate(samples, [ContextRecall(convention=convention)], judge=Told(), progress=False)


@pytest.mark.parametrize(
    ("yes", "no", "wanted"),
    [
        (59, 0, None),
        (60, 0, ("yes", 60, 60)),
        (58, 2, ("yes", 58, 60)),
        (57, 3, None),  # 95 % is not more than 95 %
        (1, 59, ("no", 59, 60)),
        (30, 30, None),
    ],
)
def test_more_than_95_percent_of_at_least_60_verdicts(tmp_path, yes, no, wanted):
    results = run(yes, no)
    summary = results.summary()
    assert summary["context_recall"].answers == (yes, no)
    results.to_jsonl(tmp_path / "rows.jsonl")
    again = Results.from_jsonl(tmp_path / "rows.jsonl").summary()
    page = render_html(results.report())
    note = NOTE.format(*wanted) if wanted else "answers alike"
    for text in (str(summary), str(again), page):
        assert (note in " ".join(text.split())) == bool(wanted)
    told = summary.to_dict()["metrics"]["context_recall"]["answers_alike"]
    assert told == (wanted[0] if wanted else None)


def test_the_note_is_in_the_language_of_the_table():
    assert "судья отвечает одинаково: да, 60 из 60 вердиктов" in " ".join(
        str(run(60, 0, "ru").summary()).split()
    )


@pytest.mark.parametrize(("count", "named", "noted"), [(4, 2, True), (4, 3, False), (3, 0, False)])
def test_twenty_useful_contexts_without_evidence_are_enough(tmp_path, count, named, noted):
    contexts = [f"Hall {number} of the mill holds {number + 2} oak wheels." for number in range(5)]
    samples = [
        Sample(user_input=f"What? {number}", reference=" ".join(contexts), retrieved_contexts=contexts)
        for number in range(count)
    ]
    units = {
        f"s{number}": {
            "evidence": [{"context": f"c{number}", "quote": contexts[number - 1], "whole": True}],
            "supported": True,
        }
        if number <= named
        else {"evidence": [], "supported": False}
        for number in range(1, 6)
    }
    useful = {f"c{number}": {"quote": contexts[number - 1], "useful": True} for number in range(1, 6)}
    reply = {"code": "$code", "sentences": units, "useful": useful}
    judge = ScriptedJudge({"joint": [reply] * count})
    results = evaluate(samples, [ContextPrecision()], judge=judge, progress=False)
    results.to_jsonl(tmp_path / "rows.jsonl")
    for summary in (results.summary(), Results.from_jsonl(tmp_path / "rows.jsonl").summary()):
        assert summary["context_precision"].answers == (5 * count, 0)
        assert summary["context_precision"].alike == ("yes" if noted else None)
