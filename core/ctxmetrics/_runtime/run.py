"""How requests are sent: how many at once, how long, how often again, and when to stop.

One `Run` serves one `evaluate()`; outside of it, one serves the process. It is found through a context variable. That a
model is down is known to one run only; outside of runs, to one owner only: a metric, or what a framework shows of a run
of its own (`part_of`).
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, finalize

from ctxmetrics._runtime import breaker as breakers
from ctxmetrics._runtime import limits
from ctxmetrics._runtime.breaker import COOL_DOWN, MAX_FAILURES, Breaker
from ctxmetrics._runtime.failures import (
    OVERLOAD_CODES,
    UnusableReplyError,
    asks_for_too_long,
    classify,
)
from ctxmetrics._runtime.limits import Limiter
from ctxmetrics._runtime.telemetry import model_call
from ctxmetrics._secrets import remember_keys_of
from ctxmetrics.errors import BudgetExceededError, CtxMetricsError, JudgeError, ParameterError
from ctxmetrics.models.base import Model, Prompt, Reply, checked_usage
from ctxmetrics.verdicts import Usage

if TYPE_CHECKING:
    import asyncio

    from pydantic import BaseModel

    from ctxmetrics._runtime.cache import Store
    from ctxmetrics._runtime.memo import Memo
    from ctxmetrics._runtime.quota import Gate

DEFAULT_CONCURRENCY = 16
DEFAULT_TIMEOUT = 120.0
# How often one request is sent at most when a server or a connection fails; and when it does not answer in time: where
# one request in ten hangs, three would lose one sample in a thousand.
ATTEMPTS, TIMEOUT_ATTEMPTS = 6, 4
# Seconds that are added at random to a wait, so that requests do not come in waves.
_SPREAD = 0.25

_log = logging.getLogger("ctxmetrics")


@dataclass(slots=True, kw_only=True)
class Run:
    """The state of one run.

    Args:
        max_concurrency: Requests in flight at most.
        timeout: Seconds for one request.
        max_calls: Requests in all, or None.
        max_tokens: Tokens in all, or None.
        cache: Where validated judgements are kept, or None.
        memo: Where finished judgements are remembered; None: the process's memory.
        ends: Whether it is one run. False: it serves what is part of no run, and a judge that is down is tried again
            after `COOL_DOWN`.
        max_failures: See `Breaker`.
        quota: Where each request asks for a lease, beside this run's own bound: limits by the minute, and limits that
            several runs share.
        attempts: How often one request is sent at most, but at least once; without an answer in time,
            `TIMEOUT_ATTEMPTS` times at most. None: `ATTEMPTS`, not counting refusals for overload for as long as
            `OVERLOAD_PATIENCE`.
    """

    max_concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_calls: int | None = None
    max_tokens: int | None = None
    cache: Store | None = None
    memo: Memo[Any] | None = None
    ends: bool = False
    max_failures: int = MAX_FAILURES
    attempts: int | None = None
    quota: Gate | None = None
    usage: Usage = field(default_factory=Usage)
    spent: str | None = None
    _breakers: dict[str, Breaker] = field(init=False, repr=False, default_factory=dict)
    _limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, Limiter] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )
    _taken: int = field(init=False, repr=False, default=0)
    _warned_of_wait: bool = field(init=False, repr=False, default=False)

    def breaker_of(self, model: Model) -> Breaker:
        """Return the breaker of a model: that one is down says nothing about another."""
        owner = _owner.get()
        breakers = self._breakers if self.ends or owner is None else _breakers_of(owner)
        return breakers.get(model.identity) or breakers.setdefault(
            model.identity,
            Breaker(self.max_failures, None if self.ends else COOL_DOWN, self.attempts or ATTEMPTS),
        )

    @property
    def down(self) -> str | None:
        """Why a model is not asked any more in this run, or None."""
        return next(
            (breaker.message for breaker in tuple(self._breakers.values()) if breaker.message), None
        )

    async def call(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Send one prompt, again where that may help; the usage counts what failed too.

        Raises:
            JudgeError: The model could not answer; ``calls`` says how often it was asked.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        try:
            return await self._send(model, prompt, schema)
        except JudgeError as problem:
            first = problem
        return await self._call_again(first, model, prompt, schema)

    async def _call_again(
        self, first: JudgeError | None, model: Model, prompt: Prompt, schema: type[BaseModel]
    ) -> Reply:
        """Go on after a first request that failed."""
        from tenacity import (
            AsyncRetrying,
            before_sleep_log,
            retry_if_exception,
            wait_exponential,
            wait_random,
        )

        failed: Counter[str] = Counter()
        lost = Usage()
        refused_at = 0.0
        asked: float | None = None  # the seconds that the server asked to wait

        longer = wait_exponential(multiplier=limits.FIRST_WAIT, max=limits.LONGEST_WAIT) + wait_random(
            0, _SPREAD
        )
        again = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, JudgeError) and error.retryable),
            stop=lambda _: self._given_up(failed, refused_at),
            # With a random part, so that requests do not come in waves.
            wait=lambda state: longer(state) if asked is None else asked + random.uniform(0.1, _SPREAD),  # noqa: S311 - no secret
            before_sleep=before_sleep_log(_log, logging.DEBUG),
            reraise=True,
        )
        async for attempt in again:
            with attempt:
                try:
                    if first is not None:
                        problem, first = first, None
                        raise problem
                    reply = await self._send(model, prompt, schema)
                    return replace(reply, usage=reply.usage + lost)
                except JudgeError as problem:
                    if problem.reason_code != "judge_down":
                        failed[problem.reason_code] += 1
                        lost += _spent_on(problem)
                    if problem.reason_code in OVERLOAD_CODES:
                        refused_at = refused_at or time.monotonic()
                    problem.calls, problem.lost, asked = lost.calls, lost, problem.retry_after
                    raise
        raise AssertionError  # the last failure is raised above

    def _given_up(self, failed: Counter[str], refused_at: float) -> bool:
        """Whether a request has failed often enough; ``refused_at`` is when it was first refused for overload."""
        if failed["timeout"] >= TIMEOUT_ATTEMPTS:
            return True
        if self.attempts is not None:
            return failed.total() >= self.attempts
        refused = sum(failed[code] for code in OVERLOAD_CODES)
        waited = time.monotonic() - refused_at
        return failed.total() - refused >= ATTEMPTS or (
            refused >= ATTEMPTS and waited >= breakers.OVERLOAD_PATIENCE
        )

    async def _send(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        import asyncio

        # A limiter for each loop: the slots of a blocked loop must not keep another loop waiting.
        loop = asyncio.get_running_loop()
        limiter = self._limiters.get(loop) or self._limiters.setdefault(
            loop, Limiter(self.max_concurrency)
        )
        breaker = self.breaker_of(model)
        trial = await breaker.admit()
        try:
            async with limiter.slot() as sent_at:
                if trial is None and breaker.message:
                    breaker.check()  # it has opened meanwhile
                quota, spent = self.quota, Usage()
                lease = await self._lease(quota, model, prompt, breaker) if quota is not None else 0
                try:
                    self.take_call()
                    reply = await self._ask(model, prompt, schema)
                    spent = reply.usage
                except JudgeError as problem:
                    spent = _spent_on(problem)
                    self._note_failure(problem, breaker, limiter, sent_at)
                    raise
                except (BudgetExceededError, ParameterError):
                    raise
                except BaseException:
                    self.usage += Usage(calls=1)  # cancelled: it was sent all the same
                    raise
                finally:
                    if quota is not None:
                        quota.leave(lease, spent.total_tokens, breaker.message)
                breaker.answered()
                limiter.succeeded()
                self._warned_of_wait = False
                self.usage += reply.usage
                return reply
        finally:
            if trial is not None:
                trial.set_result(None)

    async def _lease(self, quota: Gate, model: Model, prompt: Prompt, breaker: Breaker) -> int:
        """Wait for a lease of the quota; return its number.

        Raises:
            BudgetExceededError: The budget of all runs together is used up.
            JudgeError: Another run found that the model is down.
        """
        tokens = checked_usage(None, sent=prompt.text, received="").prompt_tokens
        lease = await quota.enter(self.seconds_for(model), tokens)
        if isinstance(lease, int):
            return lease
        if lease.code == "judge_down":
            breaker.message = lease.message
            breaker.check()
        self.spent = lease.message
        raise BudgetExceededError(lease.message)

    def _note_failure(
        self, problem: JudgeError, breaker: Breaker, limiter: Limiter, sent_at: float
    ) -> None:
        self.usage += _spent_on(problem)
        if asks_for_too_long(problem) and not self._warned_of_wait:
            self._warned_of_wait = True  # once, until the server answers again
            _log.warning("%s: not asked again (%s)", problem, problem.reason_code)
        if not (problem.reason_code in OVERLOAD_CODES and problem.retryable):
            breaker.failed(problem)
        elif limiter.refused(sent_at, problem.retry_after):
            breaker.refused_alone(problem)

    async def _ask(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the model once, in time; whatever its client raises becomes a `JudgeError`.

        Raises:
            JudgeError: It did not answer.
            ParameterError: What it returned is no reply.
        """
        from anyio import fail_after

        seconds = self.seconds_for(model)
        with model_call(model, prompt) as spent:
            try:
                # Not asyncio.wait_for: before Python 3.12 it can lose a cancellation.
                with nullcontext() if getattr(model, "times_requests", False) else fail_after(seconds):
                    reply = await model.generate(prompt, schema)
            except (BudgetExceededError, ParameterError):
                raise
            except Exception as error:  # noqa: BLE001 - the client of a user's model may raise anything
                remember_keys_of(model)
                problem = classify(error, seconds)
            else:
                if not isinstance(reply, Reply):
                    raise ParameterError(
                        f"{type(model).__name__}.generate must return a ctxmetrics.models.base.Reply, not "
                        f"{type(reply).__name__}."
                    )
                content = reply.content if isinstance(reply.content, str) else str(reply.content)
                usage = checked_usage(reply.usage, sent=prompt.text, received=content)
                spent.append(usage)
                return replace(reply, usage=usage)
            spent.append(_spent_on(problem))
            raise problem  # out here, where it does not drag along what it came from

    def seconds_for(self, model: Model) -> float:
        """Return the time that one request is given: the model's own ``timeout``, where it has one."""
        own: Any = getattr(model, "timeout", None)
        timed = isinstance(own, (int, float)) and not isinstance(own, bool) and own > 0
        return float(own) if timed else self.timeout

    def take_call(self, sent: int = 0) -> None:
        """Count one more request against the budget, before it is sent.

        Args:
            sent: Requests that were sent for the same reply before; they are part of the usage in any case.

        Raises:
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        spent = None
        if self.max_calls is not None and self._taken >= self.max_calls:
            spent = f"max_calls={self.max_calls} is used up"
        elif self.max_tokens is not None and self.usage.total_tokens >= self.max_tokens:
            spent = f"max_tokens={self.max_tokens} is used up"
        elif sent:  # the first request has its lease, whatever another one was told meanwhile
            spent = self.spent
        if spent:
            self.spent = spent
            self.usage += Usage(calls=sent)
            raise BudgetExceededError(spent)
        self._taken += 1


def _spent_on(problem: CtxMetricsError) -> Usage:
    """Return what a failed request cost."""
    usage = problem.usage if isinstance(problem, UnusableReplyError) else Usage(calls=1)
    return checked_usage(usage, sent="", received="")


_current: ContextVar[Run | None] = ContextVar("ctxmetrics_run", default=None)
_owner: ContextVar[object | None] = ContextVar("ctxmetrics_owner", default=None)
# The run of what is part of no run; and the breakers of each owner, by the owner's id, for as long as it lives.
_process = Run()
_owned: dict[int, dict[str, Breaker]] = {}


def current_run() -> Run:
    """Return the run this code is part of; outside of any, the process's."""
    return _current.get() or _process


@contextmanager
def using(run: Run) -> Iterator[Run]:
    """Make a run the current one."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


@contextmanager
def part_of(owner: object | None) -> Iterator[None]:
    """Name the object that what is judged inside belongs to, where that is part of no run.

    That a judge is down is known to this owner only, for as long as the object lives.

    Args:
        owner: The object. An owner named further out stays; so it does for None.
    """
    token = _owner.set(owner if _owner.get() is None else _owner.get())
    try:
        yield
    finally:
        _owner.reset(token)


def _breakers_of(owner: object) -> dict[str, Breaker]:
    """Return an owner's breakers. Owners differ by identity: metrics that are equal are different owners."""
    key = id(owner)
    if key not in _owned:
        finalize(owner, _owned.pop, key, None).atexit = False
    return _owned.setdefault(key, {})


def forget_failures() -> None:
    """Forget, outside of runs, that a judge was down."""
    _process._breakers.clear()  # noqa: SLF001 - this module's own
    _owned.clear()
