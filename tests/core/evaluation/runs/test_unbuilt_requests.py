"""A request that cannot be built is no sample's fault: the run raises, and names what failed."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics import aevaluate as aevaluate_
from ctxmetrics.errors import ParameterError, RequestError
from ctxmetrics.judges.scripted import ScriptedModel
from support.deadlines import DEADLINE, HeldDeadline

YES = (
    '{"code": "$code", "sentences": {"s1": {"evidence": [{"context": "c1", "quote": "is red", "whole": true}],'
    '"missing": "", "supported": true}}, "useful": {"c1": {"quote": "", "useful": true}}}'
)


def samples(count=3):
    return [
        Sample(
            id=f"n{number}",
            reference=f"Number {number} is red.",
            retrieved_contexts=[f"Number {number} is red."],
            retrieved_context_ids=["a"],
            reference_context_ids=["a"],
        )
        for number in range(count)
    ]


_NUMBERS = itertools.count()


class Model:
    """Answers by what is in the prompt: an exception is raised."""

    def __init__(self, **answers):
        self.answers, self.identity, self.asked = answers, f"own/{next(_NUMBERS)}", 0

    async def generate(self, prompt, schema):
        self.asked += 1
        found = next(
            (answer for word, answer in self.answers.items() if word.replace("_", " ") in prompt.user),
            KeyError("title"),
        )
        if isinstance(found, Exception):
            raise found
        return await ScriptedModel({"joint": [found]}).generate(prompt, schema)


def judged(model, *metrics, count=3):
    metrics = metrics or (ContextRecall(), ContextPrecision())
    return evaluate(samples(count), metrics, judge=LLMJudge(model), progress=False)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_evaluate_raises_and_names_it(count):
    with pytest.raises(
        RequestError, match=r"own/.*KeyError: 'title'.*test_unbuilt_requests\.py, line"
    ) as caught:
        judged(Model(), count=count)
    assert caught.value.code == "no_request"
    assert isinstance(caught.value, ParameterError)
    assert len(caught.value.results) == count
    assert caught.value.results[0]["context_recall"].reason_code == "not_judged"


def test_aevaluate_raises():
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        asyncio.run(aevaluate_(samples(), [ContextRecall()], judge=LLMJudge(Model())))


def test_score_and_ascore_raise():
    metric = ContextRecall(judge=LLMJudge(Model()))
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        metric.score(samples()[0])
    with pytest.raises(RequestError, match="KeyError: 'title'"):
        asyncio.run(metric.ascore(samples()[1]))


def test_what_other_metrics_found_is_with_the_error():
    with pytest.raises(RequestError) as caught:
        judged(Model(), ContextRecall(), IDBasedContextRecall())
    assert [row["id_based_context_recall"].value for row in caught.value.results] == [1.0] * 3


def test_unbuilt_requests_after_an_answer_fail_their_samples():
    results = judged(Model(Number_1=YES))
    assert [row["context_recall"].value for row in results] == [None, 1.0, None]
    assert "KeyError: 'title'" in results[0]["context_recall"].message


@pytest.mark.parametrize(
    "failure", [ConnectionError("reset"), TimeoutError("late"), ValueError("too long")], ids=repr
)
def test_unbuilt_requests_after_a_failure_fail_their_samples(failure):
    model = Model(Number_1=failure)
    judge = LLMJudge(model)
    results = evaluate(samples(), [ContextRecall(judge=judge)], progress=False)
    assert [row["context_recall"].reason_code for row in results] == ["not_judged"] * 3


def test_a_sample_that_fails_while_others_are_asked_fails_alone():
    """Outside of a run it is not known what the others will bring."""

    asked, go_on = threading.Event(), threading.Event()

    class Slow(Model):
        async def generate(self, prompt, schema):
            if "Number 0" not in prompt.user:
                asked.set()
                await asyncio.to_thread(go_on.wait, 60)
            return await super().generate(prompt, schema)

    metric = ContextRecall(judge=LLMJudge(Slow(Number_1=YES)))

    async def both():
        one, two = samples(2)
        other = asyncio.create_task(metric.ascore(two))
        await asyncio.to_thread(asked.wait, 60)
        first = await metric.ascore(one)
        go_on.set()
        return first, await other

    one, other = asyncio.run(both())
    assert (one.value, other.value) == (None, 1.0)


def test_a_run_that_was_stopped_returns_what_is_there(monkeypatch):
    deadline, waiting = HeldDeadline(monkeypatch), []

    class Hangs(Model):
        async def generate(self, prompt, schema):
            if "Number 0" not in prompt.user:
                waiting.append(prompt)
                if len(waiting) == 2:
                    deadline.bring()
                await asyncio.sleep(60)
            return await super().generate(prompt, schema)

    judge = LLMJudge(Hangs())
    results = evaluate(samples(), [ContextRecall()], judge=judge, progress=False, deadline=DEADLINE)
    assert results.stopped
    assert [row["context_recall"].reason_code for row in results] == ["not_judged", *["cancelled"] * 2]
