"""Limits by the minute."""

from __future__ import annotations

import asyncio

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.judges.llm.judge import LLMJudge
from ctxmetrics.models.base import Reply
from ctxmetrics.models.runtime import limits as quotas
from ctxmetrics.models.runtime.limits import Quota
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
    """Count a request where it may be sent now; return how long it would wait."""
    if not (seconds := quota._wait(tokens)):
        quota.count(tokens, requests=1)
    return seconds


def test_requests_of_any_minute(clock):
    quota = Quota(requests=2)
    assert tried(quota) == 0
    clock.now += 10
    assert tried(quota) == 0
    assert tried(quota) == 50.0
    clock.now += 50
    assert tried(quota) == 0
    assert tried(quota) == 10.0


def test_tokens_of_any_minute(clock):
    quota = Quota(tokens=100)
    assert tried(quota, 60) == 0
    assert tried(quota, 60) == 60.0
    quota.count(-30)  # fewer than estimated
    assert tried(quota, 60) == 0
    quota.count(30)
    assert tried(quota, 1) == 60.0
    clock.now += 60
    assert tried(quota, 500) == 0  # longer than the limit: alone in its minute
    assert tried(quota, 1) == 60.0


def test_requests_are_sent_in_the_order_in_which_they_ask(monkeypatch):
    monkeypatch.setattr(quotas, "MINUTE", 0.001)

    async def main():
        quota, given = Quota(requests=1), []

        async def ask(number):
            await quota.enter(0)
            given.append(number)

        await asyncio.gather(*map(ask, range(20)))
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


def test_evaluate_keeps_to_requests_by_the_minute(monkeypatch):
    monkeypatch.setattr(quotas, "MINUTE", 0.3)
    model = Model()
    results = evaluate(
        samples(9), [ContextRecall(judge=LLMJudge(model))], requests_per_minute=3, progress=False
    )
    assert [row["context_recall"].value for row in results] == [1.0] * 9
    assert model.most <= 3
