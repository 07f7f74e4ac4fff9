"""How requests are sent: bounds across loops and threads, retries, budgets, giving up. Models here need no server."""

from __future__ import annotations

import asyncio
import gc
import math
import time
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import pytest

from support.later import later, skip_without

skip_without("openai")

from tenacity import AsyncRetrying, RetryError, stop_after_attempt

from ctxmetrics import ContextRecall, LLMJudge, Sample, evaluate
from ctxmetrics._internal.secrets import remember_key
from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.models.base import Reply
from ctxmetrics.models.model_requests import ask
from ctxmetrics.models.runtime import breaker as breakers
from ctxmetrics.models.runtime import limits, run
from ctxmetrics.models.runtime.breaker import Breaker
from ctxmetrics.models.runtime.failures import classify
from ctxmetrics.models.runtime.run import Run, breaker_scope, current_run, using
from ctxmetrics.prompts import get_pack, render, reply_schema
from ctxmetrics.verdicts import Usage
from support.cases import each_case

try:
    import httpx2 as httpx  # what newer openai clients use
except ModuleNotFoundError:
    import httpx

openai = later("openai")

PROMPT = render(get_pack("en"), "claims", {"text": "x"})
SCHEMA = reply_schema("claims")


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    monkeypatch.setattr(run, "_process_run", Run())


class Model:
    """Does what it is told, one action a request; the last repeats."""

    def __init__(self, *actions, identity="test/model"):
        self.identity = identity
        self.actions = actions
        self.calls = 0

    async def generate(self, prompt, schema):
        action = self.actions[min(self.calls, len(self.actions) - 1)]
        self.calls += 1
        if isinstance(action, BaseException):
            raise action
        if callable(action):
            return await action()
        return action


def down(state):
    return next((breaker.message for breaker in state.breakers.values() if breaker.message), None)


def ok(tokens=1):
    return Reply(content="{}", usage=Usage(calls=1, prompt_tokens=tokens))


def error(code="server_error", *, retryable=True, retry_after=None):
    return JudgeError("it failed", reason_code=code, retryable=retryable, retry_after=retry_after)


def in_flight(state):
    return sum(limiter.in_flight for limiter in state._limiters.values())


def call(model, **options):
    state = Run(**options)
    return state, asyncio.run(ask(state, model, PROMPT, SCHEMA))


def failing(model, **options):
    state = Run(**options)
    with pytest.raises(JudgeError) as caught:
        asyncio.run(ask(state, model, PROMPT, SCHEMA))
    return state, caught.value


# ---- retries ----


@pytest.mark.parametrize("code", ["server_error", "rate_limited", "overloaded", "connection_error"])
def test_what_may_pass_is_sent_again(code):
    model = Model(error(code), error(code), ok())
    state, reply = call(model)
    assert (model.calls, reply.usage.calls, state.usage.calls) == (3, 3, 3)


def test_it_is_given_up_after_six_attempts():
    model = Model(error())
    state, problem = failing(model)
    assert (model.calls, problem.lost.calls, state.usage.calls) == (6, 6, 6)
    assert problem.reason_code == "server_error"


def test_timeouts_are_given_up_after_four():
    model = Model(lambda: asyncio.sleep(60))
    state, problem = failing(model, timeout=0.05)
    assert (model.calls, problem.reason_code, str(problem)) == (4, "timeout", "no answer within 0.05 s")
    assert not in_flight(state)


@pytest.mark.parametrize("limit", [Decimal("0.05"), Fraction(1, 20), 0.05, "float32"])
def test_a_models_own_time_limit_may_be_any_number(limit):
    model = Model(lambda: asyncio.sleep(60))
    model.timeout = pytest.importorskip("numpy").float32(0.05) if limit == "float32" else limit
    _, problem = failing(model, attempts=1)
    assert (problem.reason_code, str(problem)) == ("timeout", "no answer within 0.05 s")


@pytest.mark.parametrize("limit", [True, None, "5", float("nan"), Decimal("NaN"), 0, object()])
def test_any_other_time_limit_is_that_of_the_run(limit):
    model = Model(lambda: asyncio.sleep(60))
    model.timeout = limit
    _, problem = failing(model, attempts=1, timeout=0.05)
    assert str(problem) == "no answer within 0.05 s"


def test_what_cannot_pass_is_not_sent_again():
    model = Model(error("client_error", retryable=False))
    _, problem = failing(model)
    assert (model.calls, problem.lost.calls) == (1, 1)


def test_the_servers_wish_to_wait_is_granted():
    model = Model(error("rate_limited", retry_after=0.3), ok())
    began = time.monotonic()
    call(model)
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("seconds", [90.5, 1e9, math.inf, 10**400])
def test_wait_longer_than_the_patience_is_a_refusal(seconds, caplog):
    model = Model(error("rate_limited", retry_after=seconds))
    state, problem = failing(model)
    assert (model.calls, problem.reason_code, problem.retryable) == (1, "rate_limited", False)
    with pytest.raises(JudgeError):
        asyncio.run(ask(state, model, PROMPT, SCHEMA))
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # once, not for each request
    assert "asks to wait" in caplog.text


def test_a_refusal_to_wait_keeps_status_cost_and_limit():
    usage = Usage(calls=3, prompt_tokens=70)
    refusal = JudgeError(
        "busy",
        reason_code="overloaded",
        retryable=True,
        retry_after=600.0,
        status=503,
        usage=usage,
        limit=8,
    )
    found = classify(refusal)
    assert (found.status, found.usage, found.limit, found.retry_after) == (503, usage, 8, 600.0)
    assert (found.retryable, refusal.retryable) == (False, True)


def test_the_users_own_exception_is_not_changed():
    refused = ConnectionRefusedError("refused")
    refused.request = SimpleNamespace(url=SimpleNamespace(host="127.0.0.1"), headers={})
    for wait in (math.nan, "soon", None):
        own = error("connection_error", retry_after=wait)
        own.__cause__ = refused
        found = classify(own)
        assert (found.retryable, found.retry_after) == (False, None)
        assert own.retryable
        assert own.retry_after is wait
    own = error("server_error", retryable=False)
    failing(Model(own))
    assert own.lost == Usage()


@pytest.mark.parametrize("seconds", [math.nan, -1, "1", [], None])
def test_what_is_no_number_of_seconds_is_no_wish_to_wait(seconds):
    model = Model(error("rate_limited", retry_after=seconds), ok())
    call(model)
    assert model.calls == 2


def test_waits_double_and_are_spread(monkeypatch):
    waits = []

    async def sleep(seconds):
        if seconds > 0.1:  # shorter ones are the model's own
            waits.append(seconds)

    monkeypatch.setattr("ctxmetrics.models.runtime.limits.FIRST_WAIT", 0.25)
    monkeypatch.setattr("ctxmetrics.models.runtime.limits.LONGEST_WAIT", 8.0)
    monkeypatch.setattr(run, "_SPREAD", 0.05)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    for _ in range(2):
        failing(Model(error("server_error")))
    first, second = waits[:5], waits[5:]
    for wait, doubled in zip(first, (0.25, 0.5, 1.0, 2.0, 4.0), strict=True):
        assert doubled <= wait <= doubled + 0.05
    assert first != second


def test_the_cost_of_replies_that_hold_no_answer_counts():
    lost = JudgeError(
        "no choices", reason_code="server_error", usage=Usage(calls=2, prompt_tokens=7), retryable=True
    )
    state, reply = call(Model(lost, ok(3)))
    assert (reply.usage.calls, reply.usage.prompt_tokens) == (3, 10)
    assert state.usage == reply.usage


def test_a_cancelled_request_gives_its_slot_back_and_counts():
    async def main():
        state = Run()
        started = asyncio.Event()

        async def long():
            started.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(ask(state, Model(long), PROMPT, SCHEMA))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return state

    state = asyncio.run(main())
    assert (in_flight(state), state.usage.calls) == (0, 1)


def test_a_cancellation_that_meets_the_reply_is_not_lost():
    async def main():
        state, cancelled = Run(), 0
        for ticks in range(12):
            gate = asyncio.get_running_loop().create_future()

            async def wait_for_gate(gate=gate):
                await gate
                return ok()

            task = asyncio.create_task(ask(state, Model(wait_for_gate), PROMPT, SCHEMA))
            await asyncio.sleep(0.01)
            gate.set_result(None)
            for _ in range(ticks):
                await asyncio.sleep(0)
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                assert task.cancelled()
                cancelled += 1
        assert cancelled
        assert [limiter.in_flight for limiter in state._limiters.values()] == [0]

    asyncio.run(main())


def test_the_models_context_variables_are_the_callers():
    seen = []

    async def look():
        seen.append(current_run())
        return ok()

    async def main():
        with using(Run()) as state:
            await ask(current_run(), Model(look), PROMPT, SCHEMA)
            return state

    assert seen == [asyncio.run(main())]


def test_a_model_that_returns_no_reply_is_misuse():
    with pytest.raises(ParameterError, match=r"Model\.generate must return a .*Reply, not str"):
        call(Model("just text"))


# ---- budgets ----


def test_no_more_calls_than_allowed():
    async def main():
        state, model = Run(max_calls=7), Model(ok())
        done = await asyncio.gather(
            *(ask(state, model, PROMPT, SCHEMA) for _ in range(20)), return_exceptions=True
        )
        return state, model, done

    state, model, done = asyncio.run(main())
    assert model.calls == 7
    assert sum(isinstance(item, BudgetExceededError) for item in done) == 13
    assert state.used_up == "max_calls=7 is used up"


def test_retries_count_as_calls():
    with pytest.raises(BudgetExceededError, match="max_calls=2"):
        call(Model(error()), max_calls=2)


def test_no_request_after_the_tokens_are_used_up():
    async def main():
        state, model = Run(max_tokens=25), Model(ok(10))
        for _ in range(3):
            await ask(state, model, PROMPT, SCHEMA)
        with pytest.raises(BudgetExceededError, match="max_tokens=25"):
            await ask(state, model, PROMPT, SCHEMA)
        return model.calls

    assert asyncio.run(main()) == 3


def test_tokens_that_no_model_counts_are_part_of_the_budget():
    async def main():
        state, model = Run(max_tokens=len(PROMPT.text) // 4 + 1), Model(Reply(content="{}"))
        await ask(state, model, PROMPT, SCHEMA)
        with pytest.raises(BudgetExceededError, match="max_tokens"):
            await ask(state, model, PROMPT, SCHEMA)
        return state, model

    state, model = asyncio.run(main())
    assert model.calls == 1
    assert state.usage.prompt_tokens == math.ceil(len(PROMPT.text) / 4)
    assert (state.usage.completion_tokens, state.usage.estimated) == (1, True)


# ---- giving up ----


def talk(state, model):
    """What a judge does: ask, then say what came of it."""

    async def main():
        try:
            await ask(state, model, PROMPT, SCHEMA)
        except JudgeError as problem:
            return problem.reason_code
        state.breaker_of(model.identity).note_usable()
        return "ok"

    return asyncio.run(main())


@pytest.mark.parametrize("attempts", [1, 3, 9])
def test_a_run_says_how_often_a_request_is_sent(attempts):
    model = Model(error())
    failing(model, attempts=attempts)
    assert model.calls == attempts
    silent = Model(lambda: asyncio.sleep(60))
    failing(silent, attempts=attempts, timeout=0.01)
    assert silent.calls == min(attempts, 4)


def test_judge_is_down_after_ten_judgements_not_requests():
    async def main():
        state, model = Run(attempts=2), Model(error())
        await asyncio.gather(
            *(ask(state, model, PROMPT, SCHEMA) for _ in range(99)), return_exceptions=True
        )
        return model.calls

    assert 20 <= asyncio.run(main()) <= 20 + 16


def test_ten_failures_in_a_row_end_it():
    state, model = Run(), Model(error("client_error", retryable=False))
    assert [talk(state, model) for _ in range(12)] == ["client_error"] * 10 + ["judge_down"] * 2
    assert model.calls == 10
    assert "client_error: it failed" in down(state)
    assert state.usage.calls == 10


def test_one_success_starts_the_count_again():
    bad, good = error("client_error", retryable=False), ok()
    state, model = Run(), Model(*[bad] * 9, good, *[bad] * 9, good)
    assert [talk(state, model) for _ in range(20)] == (["client_error"] * 9 + ["ok"]) * 2
    assert down(state) is None


def test_one_reply_starts_the_count_of_failed_requests_again():
    state, model = Run(), Model(*[*[error()] * 5, ok()] * 20)
    for _ in range(20):
        asyncio.run(ask(state, model, PROMPT, SCHEMA))
    assert model.calls == 120


def test_a_reply_without_content_is_a_reply():
    """A model that refuses each prompt answers: its requests are no failures of the server."""
    state, model = Run(), Model(error("refused", retryable=False))
    assert {talk(state, model) for _ in range(30)} == {"refused"}
    bad, empty = error("client_error", retryable=False), error("invalid_reply", retryable=False)
    state, model = Run(), Model(*[*[bad] * 9, empty] * 3)
    assert "judge_down" not in {talk(state, model) for _ in range(30)}


def test_one_model_that_is_down_says_nothing_about_another():
    state = Run()
    bad, good = Model(error("client_error", retryable=False)), Model(ok(), identity="test/other")
    for _ in range(10):
        talk(state, bad)
    assert (talk(state, bad), talk(state, good)) == ("judge_down", "ok")
    assert down(state)


def test_requests_that_wait_to_try_again_are_not_all_sent():
    async def main():
        state, model = Run(), Model(error())
        await asyncio.gather(
            *(ask(state, model, PROMPT, SCHEMA) for _ in range(300)), return_exceptions=True
        )
        return model.calls

    assert 60 <= asyncio.run(main()) <= 60 + 16


def test_a_wave_of_timeouts_is_enough():
    async def main():
        state, model = Run(timeout=0.05), Model(lambda: asyncio.sleep(60))
        await asyncio.gather(
            *(ask(state, model, PROMPT, SCHEMA) for _ in range(100)), return_exceptions=True
        )
        return model.calls

    assert 20 <= asyncio.run(main()) <= 20 + 16


@pytest.mark.parametrize("code", ["rate_limited", "overloaded"])
def test_refusals_for_overload_do_not_count_for_a_minute(monkeypatch, code):
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 60.0)
    model = Model(*[error(code)] * 100, ok())
    call(model, max_failures=1000)
    assert model.calls == 101


def test_what_else_fails_counts_between_refusals(monkeypatch):
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 60.0)
    model = Model(*[error("rate_limited"), error()] * 9)
    _, problem = failing(model)
    assert (model.calls, problem.reason_code) == (12, "server_error")


def test_after_a_minute_of_refusals_a_request_is_given_up(monkeypatch):
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 1.0)
    model = Model(error("rate_limited"))
    began = time.monotonic()
    _, problem = failing(model, max_failures=10**6)
    assert time.monotonic() - began >= 1.0
    assert problem.reason_code == "rate_limited"
    assert model.calls > 6


def test_a_minute_of_refusals_of_requests_sent_alone_is_enough(monkeypatch):
    now = [100.0]
    for module in (breakers, limits, run):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 60.0)
    breaker, refusal = Breaker(3, cool_down=None, attempts=1), error("rate_limited")
    for seconds in (0, 30, 29):  # enough of them, not long enough
        now[0] += seconds
        breaker.refused_alone(refusal)
    breaker.answered()  # one that is let in says that it was worth the wait
    for seconds in (0, 61):  # long enough, not enough of them
        now[0] += seconds
        breaker.refused_alone(refusal)
    breaker.check()
    breaker.refused_alone(refusal)
    with pytest.raises(JudgeError, match=r"last: rate_limited: it failed"):
        breaker.check()


def test_refusals_of_requests_sent_alone_end_a_run(monkeypatch):
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 0.0)
    model = Model(error("rate_limited", retry_after=0.01))
    failing(model, max_failures=3)
    assert model.calls == 3


def test_a_number_of_attempts_counts_refusals_too(monkeypatch):
    monkeypatch.setattr("ctxmetrics.models.runtime.breaker.OVERLOAD_PATIENCE", 60.0)
    model = Model(error("rate_limited"))
    failing(model, attempts=4)
    assert model.calls == 4


def admitted(breaker):
    """Whether a request would be sent now, and whether as the trial."""

    async def main():
        try:
            return "trial" if breaker.message and await breaker.admit() else "sent"
        except JudgeError as problem:
            return problem.reason_code

    loop = (
        asyncio.new_event_loop()
    )  # asyncio.run uses one loop again and again where a framework has patched it
    try:
        return loop.run_until_complete(main())
    finally:
        loop.close()


def test_after_the_cool_down_one_request_is_the_trial(monkeypatch):
    now = [100.0]
    for module in (breakers, limits, run):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))
    breaker = Breaker(2, cool_down=30.0, attempts=1)
    for _ in range(2):
        breaker.failed(error())
    assert "not asked for 30 s; last: server_error" in breaker.message
    now[0] += 30
    assert admitted(breaker) == "judge_down"
    now[0] += 1
    assert admitted(breaker) == "trial"
    assert admitted(breaker) == "trial", "the loop of the first one does not run any more"
    breaker.failed(error())
    assert admitted(breaker) == "judge_down"
    now[0] += 31
    assert admitted(breaker) == "trial"
    breaker.answered()
    assert (admitted(breaker), breaker.message) == ("sent", None)


@pytest.mark.parametrize("answers", [True, False])
def test_the_others_of_its_loop_wait_for_the_trial(monkeypatch, answers):
    monkeypatch.setattr(run, "COOL_DOWN", 0.0)

    async def main():
        state, sent = Run(max_failures=1, attempts=1), []
        released, trying = asyncio.Event(), asyncio.Event()

        async def act():
            sent.extend(limiter.in_flight for limiter in state._limiters.values())
            if len(sent) == 1:
                raise error()
            trying.set()
            await released.wait()
            if not answers:
                raise error()
            return ok()

        model = Model(act)
        with breaker_scope(model), pytest.raises(JudgeError):
            await ask(state, model, PROMPT, SCHEMA)
        with breaker_scope(model):
            tasks = [asyncio.create_task(ask(state, model, PROMPT, SCHEMA)) for _ in range(5)]
        tasks[4].cancel()
        await trying.wait()
        before = len(sent)
        released.set()
        await asyncio.wait(tasks)
        return (
            before,
            len(sent),
            sum(not task.cancelled() and task.exception() is None for task in tasks),
        )

    assert asyncio.run(main()) == ((2, 5, 4) if answers else (2, 2, 0))


def test_a_trial_that_is_cancelled_leaves_the_next_one_to_try(monkeypatch):
    monkeypatch.setattr(run, "COOL_DOWN", 0.0)

    async def main():
        state = Run(max_failures=1, attempts=1)
        trying = asyncio.Event()

        async def hang():
            trying.set()
            await asyncio.sleep(60)

        model = Model(error(), hang, ok())
        with pytest.raises(JudgeError):
            await ask(state, model, PROMPT, SCHEMA)
        trial = asyncio.create_task(ask(state, model, PROMPT, SCHEMA))
        await trying.wait()
        trial.cancel()
        await asyncio.wait([trial])
        return (await ask(state, model, PROMPT, SCHEMA)).content

    assert asyncio.run(main()) == "{}"


@pytest.mark.slow
def test_outside_runs_one_owner_knows_a_judge_is_down(monkeypatch):
    state, model = Run(), Model(error("client_error", retryable=False))
    first, second = ContextRecall(), ContextRecall()  # equal, and not the same
    with breaker_scope(first):
        assert [talk(state, model) for _ in range(11)][-1] == "judge_down"
        with breaker_scope(second):
            assert talk(state, model) == "judge_down", "the outer owner stays"
    with breaker_scope(second):
        assert talk(state, model) == "client_error"
    assert len(run._breakers_by_owner) >= 2
    gc.collect()  # what other tests left
    known = len(run._breakers_by_owner)
    del first, model  # the model's exception holds the frames that it passed
    gc.collect()
    assert len(run._breakers_by_owner) == known - 1


def test_replies_without_content_count_within_a_run_only(monkeypatch):
    for cool_down, opened in ((None, True), (30.0, False)):
        breaker = Breaker(2, cool_down=cool_down, attempts=1)
        for _ in range(2):
            breaker.note_unusable("invalid_reply")
        assert (breaker.message is not None) is opened


def test_without_a_cool_down_it_stays_open(monkeypatch):
    breaker = Breaker(1, cool_down=None, attempts=1)
    breaker.failed(error())
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: 1e12))
    assert admitted(breaker) == "judge_down"


# ---- what an exception means ----


def http(status, *, headers=None, body=None):
    request = httpx.Request("POST", "http://127.0.0.1/v1")
    response = httpx.Response(status, headers=headers or {}, request=request)
    kind = openai.RateLimitError if status == 429 else openai.APIStatusError
    return kind("no", response=response, body=body)


def wrapped(inner):
    outer = ValueError("the framework says sorry")
    outer.__cause__ = inner
    return outer


def given_up(inner):
    async def main():
        async for attempt in AsyncRetrying(stop=stop_after_attempt(2)):
            with attempt:
                raise inner

    try:
        asyncio.run(main())
    except RetryError as problem:
        return problem


def kind(name, *bases):
    return type(name, bases or (Exception,), {})


@each_case(
    ("problem", "code", "retryable"),
    [
        # Errors of openai are made in the test: importing it takes longer than collecting this file.
        (lambda: http(429), "rate_limited", True),
        (lambda: http(429, body={"code": "insufficient_quota"}), "client_error", False),
        (lambda: http(500), "server_error", True),
        (lambda: http(503), "overloaded", True),
        (lambda: http(529), "overloaded", True),
        (lambda: http(408), "server_error", True),
        (lambda: http(400), "client_error", False),
        (lambda: http(401), "client_error", False),
        (lambda: wrapped(http(429)), "rate_limited", True),
        (lambda: given_up(http(503)), "overloaded", True),
        (lambda: given_up(wrapped(http(401))), "client_error", False),
        (TimeoutError(), "timeout", True),
        (kind("ReadTimeout")(), "timeout", True),
        (lambda: httpx.RemoteProtocolError("peer closed"), "connection_error", True),
        (ConnectionResetError(), "connection_error", True),
        (asyncio.IncompleteReadError(b"", 3), "connection_error", True),
        (kind("ConnectionError", OSError)(), "connection_error", True),
        (RuntimeError("Event loop is closed"), "connection_error", True),
        (RuntimeError("<Event> is bound to a different event loop"), "connection_error", True),
        (RuntimeError("Task got Future attached to a different loop"), "connection_error", True),
        (RuntimeError("another"), "judge_error", False),
        (kind("JSONDecodeError", ValueError)(), "server_error", True),
        (kind("RateLimitExceeded")(), "rate_limited", True),
        (ValueError("who knows"), "judge_error", False),
        (wrapped(JudgeError("mine", reason_code="refused")), "refused", False),
        (kind("Grpc", Exception)(), "judge_error", False),
    ],
)
def test_classify(problem, code, retryable):
    error = problem() if callable(problem) else problem
    found = classify(error)
    assert (found.reason_code, found.retryable) == (code, retryable)


def raising(name, **attributes):
    """An exception with an attribute that raises when it is read."""

    def fail(_):
        raise RuntimeError("not available")

    return type("ClientError", (Exception,), {name: property(fail), **attributes})("no answer")


UNREADABLE = ("response", "headers", "body", "code", "param", "last_attempt", "request", "status")


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_attribute_that_raises_hides_no_failure(name):
    found = classify(raising(name, status_code=503))
    assert (found.reason_code, found.retryable) == ("overloaded", True)
    assert "no answer" in str(found)


def test_a_failure_with_an_unreadable_attribute_is_tried_again():
    model = Model(raising("response", status_code=503), ok())
    _, reply = call(model)
    assert (model.calls, reply.content) == (2, "{}")


def test_headers_that_raise_name_no_time():
    class Headers(dict):
        def get(self, name):
            raise RuntimeError("not available")

    found = classify(raising("body", status_code=503, headers=Headers(x="1")))
    assert (found.reason_code, found.retry_after) == ("overloaded", None)


@pytest.mark.parametrize("host", [None, 5])
def test_a_request_without_a_host_hides_no_failure(host):
    inner = ConnectionRefusedError("refused")
    inner.request = SimpleNamespace(url=SimpleNamespace(host=host), headers={})
    found = classify(inner)
    assert (found.reason_code, found.retryable) == ("connection_error", True)


def test_retry_after_of_a_cause_is_read():
    outer = wrapped(http(429, headers={"retry-after": "7"}))
    outer.status_code = 429
    assert classify(outer).retry_after == 7.0


def test_errors_of_openai_without_a_reply_are_tried_again():
    request = httpx.Request("POST", "http://x")
    assert classify(openai.APITimeoutError(request)).reason_code == "timeout"
    assert classify(openai.APIConnectionError(request=request)).reason_code == "connection_error"
    assert classify(openai.APITimeoutError(request)).retryable
    assert classify(openai.APIConnectionError(request=request)).retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "99999"}, 99999.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert classify(http(429, headers=headers)).retry_after == seconds


def test_retry_after_may_be_a_date(monkeypatch):
    from ctxmetrics.models.runtime import failures

    monkeypatch.setattr(failures, "time", SimpleNamespace(time=lambda: 784111777.0))  # the date below
    headers = {"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"}
    assert classify(http(429, headers=headers)).retry_after == 30.0


def test_messages_are_one_short_line_without_keys():
    remember_key("topsecret")
    found = classify(ValueError("a\nb  sk-abcdefgh0123 and topsecret " + "x" * 1000))
    assert str(found).startswith("ValueError: a b [key] and [key] xxx")
    assert len(str(found)) < 320
    assert str(classify(TimeoutError())) == "TimeoutError"


def test_a_chain_that_bites_its_tail_ends():
    one, two = ValueError("1"), ValueError("2")
    one.__cause__, two.__cause__ = two, one
    assert classify(one).reason_code == "judge_error"


class KeepsConnections:
    """A model whose client has kept connections of a loop that has ended."""

    identity = "kept/model"

    def __init__(self, kept):
        self.kept = kept
        self.calls = 0

    async def generate(self, prompt, schema):
        self.calls += 1
        if self.calls <= self.kept:
            raise RuntimeError("Event loop is closed")
        return Reply(content="{}")


@pytest.mark.parametrize(
    ("kept", "max_calls", "calls", "code"),
    [
        (50, None, 52, "invalid_reply"),  # the reply, and the second request about it
        (
            1000,
            None,
            106,
            "connection_error",
        ),  # 100 kept connections, then six attempts as after any lost connection
        (50, 5, 5, None),
    ],
)
def test_each_request_over_a_kept_connection_is_counted(kept, max_calls, calls, code):
    model = KeepsConnections(kept)
    sample = Sample(reference="It is red.", retrieved_contexts=["It is red."])
    results = evaluate([sample], [ContextRecall()], judge=LLMJudge(model), max_calls=max_calls)
    assert (model.calls, results.usage.calls) == (calls, calls)
    if code is None:
        assert results.stopped == "max_calls=5 is used up"
    else:
        assert {verdict.code for verdict in results[0]["context_recall"].verdicts} == {code}
