"""A server that answers one request at a time is not overloaded by the library."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.errors import JudgeError
from ctxmetrics.models import model_requests as asking
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.runtime import run
from ctxmetrics.models.runtime.breaker import Breaker
from ctxmetrics.models.runtime.limits import Limiter
from ctxmetrics.models.servers import is_local
from support import FakeOpenAIServer, answer_from
from support.later import skip_without

skip_without("openai")

METRICS = [ContextRecall(), ContextPrecision()]


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    """No memory of servers."""
    capabilities._known.clear()
    monkeypatch.setattr(run, "_process_run", run.Run())


def samples(count):
    return [
        Sample(
            user_input=f"Which colour has door number{index}?",
            reference=f"Door number{index} is green. Door number{index} weighs 40 kilos.",
            retrieved_contexts=[f"Birds {index} sing.", f"Door number{index} is green since 1999."],
        )
        for index in range(count)
    ]


def judged_by_slow_server(seconds, timeout, count=52):
    """Judge samples with a server of one slot; return how many have a value, and how many requests were lost."""
    with FakeOpenAIServer(answer_from(), latency=seconds, slots=1) as server:
        judge = LLMJudge(OpenAIModel("slow", base_url=server.base_url))
        results = evaluate(samples(count), METRICS, judge=judge, timeout=timeout, progress=False)
        lost = sum(request.status is None for request in server.requests)
        judged = sum(row["context_recall"].value is not None for row in results)
    return judged, lost, server.count


@pytest.mark.slow
@pytest.mark.parametrize("times", [40, pytest.param(10, marks=pytest.mark.slow)])
def test_defaults_judge_all_samples_of_a_server_with_one_slot(times):
    """Ten seconds a request and the default time-out of 120 s, so many times faster."""
    judged, lost, count = judged_by_slow_server(10 / times, 120 / times)
    assert judged == 52
    assert lost <= 0.1 * count


@pytest.mark.slow
def test_a_slow_server_of_a_public_address_loses_no_sample(monkeypatch):
    monkeypatch.setattr(asking, "is_local", lambda identity: False)
    judged, _, _ = judged_by_slow_server(0.3, 3.6)
    assert judged == 52


@pytest.mark.slow
def test_a_quick_local_server_gets_as_many_requests_as_any():
    with FakeOpenAIServer(answer_from(), latency=0.02, together=9, together_from=30) as server:
        judge = LLMJudge(OpenAIModel("quick", base_url=server.base_url))
        evaluate(samples(60), METRICS, judge=judge, progress=False)
        first, second, third, *_ = server.requests
    assert third.arrived >= min(first.finished, second.finished)
    assert server.max_in_flight > 8


@pytest.mark.parametrize(
    ("identity", "local"),
    [
        ("openai/qwen3@localhost:11434/v1", True),
        ("openai/qwen3@127.0.0.1:8080/v1(temperature=0.2)", True),
        ("openai/qwen3@10.1.2.3:8080/v1", True),
        ("openai/qwen3@192.168.0.7/v1", True),
        ("openai/qwen3@[::1]:8080/v1", True),
        ("openai/qwen3@gpu:8000/v1", True),
        ("ragas:InstructorLLM/judge@127.0.0.1:9/v1 #0123456789ab", True),
        ("openai/gpt-4o", False),
        ("openai/@cf/meta/llama@api.cloudflare.com/v1", False),
        ("openai/@cf/meta/llama@localhost/v1", True),
        ("openai/m@8.8.8.8/v1", False),
        ("openai/m@[::1", False),
        ("own/model", False),
    ],
)
def test_which_servers_are_local(identity, local):
    assert is_local(identity) is local


def timeout():
    return JudgeError("no answer within 1 s", reason_code="timeout", retryable=True)


def test_timeouts_of_requests_in_company_open_no_breaker():
    breaker = Breaker(max_failures=2, cool_down=None, attempts=6)
    for _ in range(40):
        breaker.timed_out(timeout(), alone=False)
    assert breaker.message is None
    breaker.answered()  # the server works
    for _ in range(3):
        breaker.timed_out(timeout(), alone=True)
    assert breaker.message is None
    breaker.timed_out(timeout(), alone=True)
    assert breaker.message is not None


def test_silent_server_is_down_once_a_lone_request_fails():
    breaker = Breaker(max_failures=2, cool_down=None, attempts=6)
    for _ in range(4):
        breaker.timed_out(timeout(), alone=False)
    breaker.timed_out(timeout(), alone=True)
    assert "timeout" in breaker.message


async def wave(limiter, count):
    """Let requests in flight time out together; return whether each was alone."""
    slots = [limiter.slot() for _ in range(count)]
    times = [await slot.__aenter__() for slot in slots]
    alone = []
    for slot, sent_at in zip(slots, times, strict=True):
        alone.append(limiter.timed_out(sent_at))
        await slot.__aexit__(TimeoutError, TimeoutError(), None)
    return alone


def test_wave_of_timeouts_halves_the_bound_a_second_makes_one():
    async def main():
        limiter = Limiter(16, bound=16)
        assert Counter(await wave(limiter, 16)) == {False: 15, True: 1}
        assert limiter.bound == 8
        await wave(limiter, 8)
        assert limiter.bound == 1
        async with limiter.slot():
            pass
        assert limiter.bound > 1

    asyncio.run(main())


def test_replies_that_waited_for_others_do_not_raise_the_bound(monkeypatch):
    now = [0.0]

    async def answered_after(limiter, seconds):
        async with limiter.slot():
            now[0] += seconds

    async def main():
        limiter = Limiter(16, bound=2, patience=120.0)
        await answered_after(limiter, 10)
        assert limiter.bound == 3
        await answered_after(limiter, 40)
        assert limiter.bound == 3  # longer than a quarter of the time, four times the fastest
        await answered_after(limiter, 29)
        assert limiter.bound == 4
        thinking = Limiter(16, bound=2, patience=120.0)
        for _ in range(3):
            await answered_after(thinking, 50)  # as long as all others: the server is no slower
        assert thinking.bound == 5

    monkeypatch.setattr(
        "ctxmetrics.models.runtime.limits.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    asyncio.run(main())
