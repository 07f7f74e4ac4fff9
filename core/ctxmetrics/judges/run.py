"""How requests are sent: how many at once, how long, how often again, and when to stop.

One `Run` serves one `evaluate()`; outside of it, one serves the process. It is found through a context variable, so
a judge needs no wiring. That a judge is down is known to one run only; outside of runs, to one owner only: a metric, or
what a framework shows of a run of its own (`part_of`).
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter, OrderedDict
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from ctxmetrics.errors import BudgetExceededError, CtxMetricsError, JudgeError, ParameterError
from ctxmetrics.judges.failures import (
    OVERLOAD_CODES,
    UnusableReplyError,
    asks_for_too_long,
    classify,
    is_overload,
)
from ctxmetrics.judges.loops import PATIENCE, any_alive, wake
from ctxmetrics.judges.telemetry import model_call
from ctxmetrics.redact import remember_keys_of
from ctxmetrics.scores import Usage

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from pydantic import BaseModel
    from tenacity import RetryCallState

    from ctxmetrics.judges.base import Model, Prompt, Reply
    from ctxmetrics.judges.memo import Memo

DEFAULT_CONCURRENCY = 16
DEFAULT_TIMEOUT = 120.0
ATTEMPTS = 6
"""How often one request is sent at most when a server or a connection fails."""
TIMEOUT_ATTEMPTS = 4
"""The same when it does not answer in time: where one request in ten hangs, three would lose one sample in a thousand."""
MAX_FAILURES = 10
"""So many judgements in a row without one success, and the judge counts as down."""
_TIMEOUTS = 2
"""So many unanswered requests weigh as much as a judgement given up: waiting for more takes too long."""
OVERLOAD_PATIENCE = 60.0
"""Seconds for which a request that is refused for overload is sent again, since limits are mostly by the minute; and
after which a judge that lets in nothing counts as down."""
COOL_DOWN = 10.0
"""Seconds after which a judge that was down is asked again, where it is not known when a run ends."""
_FIRST_WAIT, _LONGEST_WAIT, _SPREAD = 0.25, 8.0, 0.25
CONTENT_CODES = frozenset({"invalid_reply", "refused", "truncated"})
"""What is wrong with a reply, not with the way to it."""


class Store(Protocol):
    """What a cache must do. Values are texts that must come back as they were; keys are content hashes."""

    def get(self, key: str) -> str | None:
        """Return a value or None."""
        ...

    def put(self, key: str, value: str) -> None:
        """Keep a value."""
        ...


@dataclass(frozen=True, slots=True)
class Slot:
    """The right to send one request.

    Attributes:
        loop: Where it is sent.
        since: When the slot was got.
    """

    loop: asyncio.AbstractEventLoop
    since: float


class Limiter:
    """Bounds the requests in flight; lowers the bound on overload, raises it again on success.

    Works across threads and loops. A wave of refusals lowers the bound once. Slots held by loops that stand still (a
    sync call runs in them, or nobody runs them any more) do not keep others waiting for ever.

    Args:
        most: The bound to start with, and never to exceed.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.bound = float(most)
        self._ceiling = float("inf")
        self._lowered_at = float("-inf")
        self._open_at = 0.0
        self._refused_alone = 0
        self._held: Counter[asyncio.AbstractEventLoop] = Counter()
        self._waiters: OrderedDict[asyncio.Future[None], asyncio.AbstractEventLoop] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def in_flight(self) -> int:
        """Slots given out."""
        return self._held.total()

    async def acquire(self) -> Slot:
        """Wait for a slot."""
        import asyncio

        loop = asyncio.get_running_loop()
        first = True
        while True:
            waiter = loop.create_future()
            with self._lock:
                wait = self._open_at - time.monotonic()
                if wait <= 0 and self._free() > 0:
                    return self._take(loop)
                if wait <= 0:
                    self._waiters[waiter] = loop
                    self._waiters.move_to_end(waiter, last=first)  # it was its turn, and somebody was faster
            if wait > 0:
                await asyncio.sleep(wait)
                continue
            first = False
            if not await self._turn(waiter):
                with self._lock:
                    return self._take(loop)

    async def _turn(self, waiter: asyncio.Future[None]) -> bool:
        """Wait until a slot is free; False when all are held where nothing moves."""
        import asyncio

        try:
            while True:
                done, _ = await asyncio.wait((waiter,), timeout=PATIENCE)
                with self._lock:
                    if done or self._free() > 0:
                        return True
                    holders = tuple(self._held)
                if not await any_alive(holders):
                    return False
        except BaseException:
            with self._lock:
                self._waiters.pop(waiter, None)
                self._wake()  # this one leaves; if it was its turn, it is the next one's now
            raise
        finally:
            with self._lock:
                self._waiters.pop(waiter, None)

    def release(self, slot: Slot) -> None:
        """Give a slot back."""
        with self._lock:
            self._held[slot.loop] -= 1
            if not self._held[slot.loop]:
                del self._held[slot.loop]
            self._wake()

    def succeeded(self) -> None:
        """Raise the bound by one after as many successes; slower where it was too much before."""
        with self._lock:
            self._refused_alone = 0
            pace = 1.0 if self.bound + 1 < self._ceiling else 0.25
            self.bound = min(self.most, self.bound + pace / max(1.0, self.bound))
            self._wake()

    def refused(self, slot: Slot, retry_after: float | None) -> bool:
        """Lower the bound, once a wave; where even a single one is refused, hold all back.

        As long as the server asked, else longer and longer.

        Returns:
            Whether the refused request was alone in flight.
        """
        with self._lock:
            now = time.monotonic()
            if slot.since > self._lowered_at:
                self._ceiling = max(1, int(self.bound))
                self.bound = max(1.0, int(self.bound) / 2)
                self._lowered_at = now
            alone = self.in_flight <= 1
            if alone:
                longer = min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(self._refused_alone, 99))
                self._refused_alone += 1
                self._open_at = max(self._open_at, now + (retry_after or longer))
            return alone

    def _free(self) -> int:
        return max(1, int(self.bound)) - self.in_flight

    def _take(self, loop: asyncio.AbstractEventLoop) -> Slot:
        self._held[loop] += 1
        return Slot(loop, time.monotonic())

    def _wake(self) -> None:
        free = self._free()
        while free > 0 and self._waiters:
            waiter, loop = self._waiters.popitem(last=False)
            free -= wake(loop, waiter)


class Breaker:
    """Stops asking a model that is down.

    It opens after as many failed requests in a row as so many judgements given up would have taken: many judgements may
    be waiting to try again. A server that refuses for overload is there, and is given time: until it has refused so
    many requests that were alone in flight, and nothing else, for `OVERLOAD_PATIENCE`. Within a run it also opens after
    so many judgements in a row for which the replies had no usable content.

    Args:
        max_failures: Judgements given up in a row before it opens.
        cool_down: Seconds after which one request tries whether the model answers again. None: never, because the
            breaker serves one run.
        attempts: How often one request is sent at most.
    """

    def __init__(self, max_failures: int, cool_down: float | None, attempts: int = ATTEMPTS) -> None:
        self._max = max_failures
        self._cool_down = cool_down
        self._attempts = attempts
        self._without_content = 0
        self._failed = Fraction()
        self._refused = 0
        self._refused_since = 0.0
        self._opened: float | None = None
        self._trial: asyncio.Future[None] | None = None
        self._lock = threading.Lock()
        self.message: str | None = None

    def check(self) -> None:
        """Raise if the model is down.

        Raises:
            JudgeError: It is; the reason code is ``judge_down``.
        """
        if self._opened is not None:
            raise JudgeError(self.message or "the judge is down", reason_code="judge_down")

    async def admit(self) -> asyncio.Future[None] | None:
        """Wait until a request may be sent.

        After the cool-down one request is the trial; the others of its event loop wait for what it brings.

        Returns:
            Where this request is the trial: the future to resolve when it is over.

        Raises:
            JudgeError: The model is down; the reason code is ``judge_down``.
        """
        if self._opened is None:
            return None
        import asyncio

        loop = asyncio.get_running_loop()
        with self._lock:
            trial = self._trial
            if trial is None or trial.done() or not trial.get_loop().is_running():
                if self._opened is None:
                    return None
                if not self._has_cooled_down(self._opened):
                    self.check()
                self._trial = loop.create_future()
                return self._trial
        if trial.get_loop() is loop:
            await asyncio.wait((trial,))
        self.check()
        return None

    def _has_cooled_down(self, opened: float) -> bool:
        return self._cool_down is not None and time.monotonic() - opened > self._cool_down

    def answered(self) -> None:
        """Note a request that brought a reply, whatever it says."""
        with self._lock:
            self._failed, self._refused = Fraction(), 0
            if self._cool_down is not None:
                self._opened = self.message = None

    def failed(self, error: JudgeError) -> None:
        """Note a request that brought no reply, or one without an answer."""
        if error.reason_code in CONTENT_CODES:
            self.answered()
            return
        with self._lock:
            self._failed += self._share_of_a_judgement(error)
            self._open_at(self._failed, error)

    def refused_alone(self, error: JudgeError) -> None:
        """Note a request that was refused for overload though it was the only one in flight."""
        with self._lock:
            now = time.monotonic()
            if not self._refused:
                self._refused_since = now
            self._refused += 1
            if now - self._refused_since >= OVERLOAD_PATIENCE:
                self._open_at(self._refused, error)

    def usable(self) -> None:
        """Note a judgement that brought a verdict."""
        with self._lock:
            self._without_content, self._failed = 0, Fraction()
            self._opened = self.message = None

    def unusable(self, code: str) -> None:
        """Note a judgement whose replies had no usable content. It counts within a run only."""
        if self._cool_down is None:
            with self._lock:
                self._without_content += 1
                self._open_at(self._without_content, JudgeError("no usable reply", reason_code=code))

    def _share_of_a_judgement(self, error: JudgeError) -> Fraction:
        """Return which share of giving up a judgement this failed request is."""
        if not error.retryable:
            return Fraction(1)
        most = min(self._attempts, _TIMEOUTS) if error.reason_code == "timeout" else self._attempts
        return Fraction(1, max(1, most))

    def _open_at(self, count: Fraction | int, error: JudgeError) -> None:
        if count < self._max:
            return
        known, self._opened = self._opened is not None, time.monotonic()
        if not known:
            until = "any more" if self._cool_down is None else f"for {self._cool_down:g} s"
            self.message = f"The judge failed again and again and is not asked {until}; last: {error.reason_code}: {error}"
            _log().warning(self.message)


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
    usage: Usage = field(default_factory=Usage)
    failures: Counter[str] = field(default_factory=Counter)
    spent: str | None = None
    limiter: Limiter = field(init=False, repr=False)
    _breakers: dict[str, Breaker] = field(init=False, repr=False, default_factory=dict)
    _lock: threading.Lock = field(init=False, repr=False, default_factory=threading.Lock)
    _taken: int = field(init=False, repr=False, default=0)
    _warned_of_wait: bool = field(init=False, repr=False, default=False)

    def __post_init__(self) -> None:
        self.limiter = Limiter(self.max_concurrency)

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
        return next((breaker.message for breaker in tuple(self._breakers.values()) if breaker.message), None)

    async def call(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Send one prompt, again where that may help; the usage counts what failed too.

        Raises:
            JudgeError: The model could not answer; ``calls`` says how often it was asked.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        from tenacity import AsyncRetrying, retry_if_exception, wait_exponential, wait_random

        failed: Counter[str] = Counter()
        lost = Usage()
        refused_at = 0.0

        async def once() -> Reply:
            nonlocal lost, refused_at
            try:
                return await self._send(model, prompt, schema)
            except JudgeError as problem:
                if problem.reason_code != "judge_down":
                    failed[problem.reason_code] += 1
                    lost += _spent_on(problem)
                if is_overload(problem):
                    refused_at = refused_at or time.monotonic()
                problem.calls, problem.lost = lost.calls, lost
                raise

        longer = wait_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT) + wait_random(0, _SPREAD)
        again = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, JudgeError) and error.retryable),
            stop=lambda _: self._given_up(failed, refused_at),
            wait=lambda state: _asked_to_wait(state) or longer(state),
            before_sleep=_tell,
            reraise=True,
        )
        reply: Reply = await again(once)
        return replace(reply, usage=reply.usage + lost)

    def _given_up(self, failed: Counter[str], refused_at: float) -> bool:
        """Whether a request has failed often enough; ``refused_at`` is when it was first refused for overload."""
        if failed["timeout"] >= TIMEOUT_ATTEMPTS:
            return True
        if self.attempts is not None:
            return failed.total() >= self.attempts
        refused = sum(failed[code] for code in OVERLOAD_CODES)
        waited = time.monotonic() - refused_at
        return failed.total() - refused >= ATTEMPTS or (refused >= ATTEMPTS and waited >= OVERLOAD_PATIENCE)

    async def _send(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        breaker = self.breaker_of(model)
        trial = await breaker.admit()
        try:
            slot = await self.limiter.acquire()
            try:
                if trial is None:
                    breaker.check()  # it may have opened meanwhile
                self._take_call()
                return await self._send_now(model, prompt, schema, breaker, slot)
            finally:
                self.limiter.release(slot)
        finally:
            if trial is not None:
                trial.set_result(None)

    async def _send_now(
        self, model: Model, prompt: Prompt, schema: type[BaseModel], breaker: Breaker, slot: Slot
    ) -> Reply:
        """Send a request that has its slot, and note what came of it."""
        try:
            reply = await self._ask(model, prompt, schema)
        except JudgeError as problem:
            self._count(_spent_on(problem), problem.reason_code)
            if asks_for_too_long(problem):
                self._warn_of_wait(problem)
            if not (is_overload(problem) and problem.retryable):
                breaker.failed(problem)
            elif self.limiter.refused(slot, problem.retry_after):
                breaker.refused_alone(problem)
            raise
        except (BudgetExceededError, ParameterError):
            raise
        except BaseException:
            self._count(Usage(calls=1))  # cancelled: it was sent all the same
            raise
        breaker.answered()
        self._warned_of_wait = False
        self.limiter.succeeded()
        self._count(reply.usage)
        return reply

    async def _ask(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Ask the model once, in time; whatever its client raises becomes a `JudgeError`."""
        from anyio import fail_after

        seconds = _own_timeout(model) or self.timeout
        with model_call(model, prompt) as record:
            try:
                # Not asyncio.wait_for: before Python 3.12 it can lose a cancellation.
                with fail_after(seconds):
                    reply = await model.generate(prompt, schema)
            except (BudgetExceededError, ParameterError):
                raise
            except Exception as error:  # noqa: BLE001 - somebody's client may raise anything
                remember_keys_of(model)
                problem = classify(error)
                if isinstance(error, TimeoutError) and not str(error):
                    problem = JudgeError(
                        f"no answer within {seconds:g} s", reason_code="timeout", retryable=True
                    )
            else:
                checked = _checked(reply, model, prompt)
                record(checked.usage)
                return checked
            record(_spent_on(problem))
            raise problem  # out here, where it does not drag along what it came from

    def _warn_of_wait(self, problem: JudgeError) -> None:
        """Log that a server asks for too long a wait: once, until it answers again."""
        if not self._warned_of_wait:
            self._warned_of_wait = True
            _log().warning("%s: not asked again (%s)", problem, problem.reason_code)

    def _count(self, usage: Usage, failure: str | None = None) -> None:
        with self._lock:
            self.usage += usage
            if failure:
                self.failures[failure] += 1

    def _take_call(self) -> None:
        with self._lock:
            if self.max_calls is not None and self._taken >= self.max_calls:
                self.spent = f"max_calls={self.max_calls} is used up"
            elif self.max_tokens is not None and self.usage.total_tokens >= self.max_tokens:
                self.spent = f"max_tokens={self.max_tokens} is used up"
            if self.spent:
                raise BudgetExceededError(self.spent)
            self._taken += 1


def _checked(reply: object, model: Model, prompt: Prompt) -> Reply:
    """Return the reply of somebody's model, if it is one, with counts that can be added up.

    Raises:
        ParameterError: It is not.
    """
    from ctxmetrics.judges.base import Reply, checked_usage

    if not isinstance(reply, Reply):
        raise ParameterError(
            f"{type(model).__name__}.generate must return a ctxmetrics.judges.base.Reply, not "
            f"{type(reply).__name__}."
        )
    content = reply.content if isinstance(reply.content, str) else str(reply.content)
    return replace(reply, usage=checked_usage(reply.usage, sent=prompt.text, received=content))


def _spent_on(problem: CtxMetricsError) -> Usage:
    """Return what a failed request cost."""
    from ctxmetrics.judges.base import checked_usage

    usage = problem.usage if isinstance(problem, UnusableReplyError) else Usage(calls=1)
    return checked_usage(usage, sent="", received="")


def _own_timeout(model: Model) -> float | None:
    """Return the seconds the model itself asks for, where it does."""
    seconds = getattr(model, "timeout", None)
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0:
        return float(seconds)
    return None


def _asked_to_wait(state: RetryCallState) -> float | None:
    """Return the seconds the server asked for, a little spread so that nobody marches in step."""
    problem = state.outcome.exception() if state.outcome else None
    seconds = getattr(problem, "retry_after", None)
    return None if seconds is None else seconds + random.uniform(0.1, _SPREAD)  # noqa: S311 - no secret


def _tell(state: RetryCallState) -> None:
    problem = state.outcome.exception() if state.outcome else None
    _log().debug("%s; asking again in %.1f s", problem, state.next_action.sleep if state.next_action else 0.0)


def _log() -> logging.Logger:
    return logging.getLogger("ctxmetrics")


_current: ContextVar[Run | None] = ContextVar("ctxmetrics_run", default=None)
_owner: ContextVar[object | None] = ContextVar("ctxmetrics_owner", default=None)
_process: list[Run] = []
_owned: dict[int, dict[str, Breaker]] = {}


def current_run() -> Run:
    """Return the run this code is part of; outside of any, the process's."""
    run = _current.get()
    if run is not None:
        return run
    if not _process:
        _process.append(Run())
    return _process[0]


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
    from weakref import finalize

    key = id(owner)
    if key not in _owned:
        finalize(owner, _owned.pop, key, None).atexit = False
    return _owned.setdefault(key, {})


def forget_failures() -> None:
    """Forget, outside of runs, that a judge was down."""
    _process.clear()
    _owned.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_failures)
