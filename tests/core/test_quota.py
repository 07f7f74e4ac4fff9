"""Leases: what all requests of a run, or of several, may take together."""

from __future__ import annotations

import asyncio

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics._runtime import quota as quotas
from ctxmetrics._runtime.quota import Quota, Refusal
from ctxmetrics._runtime.run import Run
from ctxmetrics.evaluation.engine import Evaluation
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.models.base import Reply
from support import answer_from


class Clock:
    """A clock that the test moves on; waits are noted and end at once."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(quotas, "time", clock)
    return clock


def tried(quota, tokens=0):
    """A lease, a refusal, or the seconds to wait."""
    return quota._try(10.0, tokens)


def test_no_more_leases_than_the_bound_until_one_is_returned(clock):
    quota = Quota(max_concurrency=2)
    assert (tried(quota), tried(quota)) == (1, 2)
    assert tried(quota) == 2 * 10.0 + 30.0  # when the first lease ends by itself
    quota.leave(1, 0, None)
    assert tried(quota) == 3
    assert isinstance(tried(quota), float)


def test_the_lease_of_a_worker_that_died_ends_after_its_requests_time(clock):
    quota = Quota(max_concurrency=1)
    assert tried(quota) == 1
    clock.now += 2 * 10.0 + 29.0
    assert tried(quota) == 1.0
    clock.now += 1.0
    assert tried(quota) == 2
    quota.leave(1, 5, None)  # it was alive after all: the second lease stays
    assert isinstance(tried(quota), float)


def test_requests_by_the_minute(clock):
    quota = Quota(requests_per_minute=2)
    assert tried(quota) == 1
    clock.now += 10
    assert tried(quota) == 2
    assert tried(quota) == 50.0
    clock.now += 50
    assert tried(quota) == 3
    assert tried(quota) == 10.0


def test_tokens_by_the_minute_as_estimated_and_then_as_counted(clock):
    quota = Quota(tokens_per_minute=100)
    assert tried(quota, 60) == 1
    assert tried(quota, 60) == 60.0
    quota.leave(1, 30, None)  # fewer than estimated
    assert tried(quota, 60) == 2
    quota.leave(2, 90, None)
    assert isinstance(tried(quota, 1), float)
    clock.now += 60
    assert tried(quota, 500) == 3  # longer than the limit: alone in its minute


@pytest.mark.parametrize(
    ("limits", "message"), [({"max_calls": 2}, "max_calls=2"), ({"max_tokens": 20}, "max_tokens=20")]
)
def test_a_budget_is_spent_once(limits, message, clock):
    quota = Quota(**limits)
    for number in (1, 2):
        assert tried(quota) == number
        quota.leave(number, 10, None)
    assert tried(quota) == Refusal("budget_exceeded", f"{message} is used up")


def test_what_one_run_finds_out_stops_all(clock):
    quota = Quota()
    quota.leave(tried(quota), 0, "The judge failed again and again")
    assert tried(quota) == Refusal("judge_down", "The judge failed again and again")


def test_leases_are_given_in_the_order_in_which_they_are_asked_for():
    async def main():
        quota, given = Quota(max_concurrency=1), []

        async def worker(number):
            lease = await quota.enter(10.0, 0)
            given.append(number)
            await asyncio.sleep(0)
            quota.leave(lease, 0, None)

        await asyncio.gather(*map(worker, range(20)))
        return given

    assert asyncio.run(main()) == list(range(20))


class Model:
    """Answers at once, and counts how many requests are under way."""

    identity = "counting"

    def __init__(self):
        self.under_way = self.most = self.calls = 0
        self._answer = answer_from()

    async def generate(self, prompt, schema):
        self.calls += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return Reply(content=self._answer(prompt))


def samples(count):
    return [
        Sample(reference=f"Door {n} is green.", retrieved_contexts=[f"Door {n} is green."])
        for n in range(count)
    ]


def test_two_runs_share_one_quota():
    model, quota = Model(), Quota(max_concurrency=3, max_calls=30)

    async def both():
        given = samples(40)
        runs = [
            Evaluation(
                given[start::2],
                [ContextRecall(judge=LLMJudge(model))],
                progress=False,
                run=Run(quota=quota, ends=True),
            )
            for start in (0, 1)
        ]
        return await asyncio.gather(*(run.go() for run in runs))

    found = [row["context_recall"] for results in asyncio.run(both()) for row in results]
    assert (model.most, model.calls) == (3, 30)
    assert [score.value for score in found].count(1.0) == 30
    assert {score.verdicts[0].code for score in found if score.value is None} == {"budget_exceeded"}


def test_evaluate_keeps_to_requests_by_the_minute(monkeypatch):
    monkeypatch.setattr(quotas, "MINUTE", 0.3)
    model = Model()
    results = evaluate(
        samples(9), [ContextRecall(judge=LLMJudge(model))], requests_per_minute=3, progress=False
    )
    assert [row["context_recall"].value for row in results] == [1.0] * 9
    assert model.most <= 3
