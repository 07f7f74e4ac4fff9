"""How requests are sent: how many at once, how long, how often again, and when to stop.

One `Run` serves one `evaluate()`; outside of it, one serves the process. It is found through a context variable, so
a judge needs no wiring.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections import Counter, deque
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError
from ctxmetrics.judges.failures import classify, is_overload
from ctxmetrics.judges.telemetry import model_call
from ctxmetrics.scores import Usage

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from pydantic import BaseModel

    from ctxmetrics.judges.base import Model, Prompt, Reply
    from ctxmetrics.judges.memo import Memo

DEFAULT_CONCURRENCY = 16
DEFAULT_TIMEOUT = 120.0
ATTEMPTS = 6
"""How often one request is sent at most when a server or a connection fails."""
TIMEOUT_ATTEMPTS = 2
"""The same when it does not answer in time."""
MAX_FAILURES = 10
"""So many judgements in a row without one success, and the judge counts as down."""
_COOL_DOWN = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 8.0


class Store(Protocol):
    """What a cache must do. Values are JSON texts; keys are content hashes."""

    def get(self, key: str) -> str | None:
        """Return a value or None."""
        ...

    def put(self, key: str, value: str) -> None:
        """Keep a value."""
        ...


class Limiter:
    """Bounds the requests in flight; lowers the bound on overload, raises it again on success.

    Works across threads and loops. A wave of refusals lowers the bound once.

    Args:
        most: The bound to start with, and never to exceed.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.bound = float(most)
        self.in_flight = 0
        self._ceiling = float("inf")
        self._lowered_at = float("-inf")
        self._open_at = 0.0
        self._waiters: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()
        self._lock = threading.Lock()

    async def acquire(self) -> float:
        """Wait for a slot; return when it was got, for `refused`."""
        import asyncio

        while True:
            with self._lock:
                wait = self._open_at - time.monotonic()
                if wait <= 0 and self.in_flight < max(1, int(self.bound)):
                    self.in_flight += 1
                    return time.monotonic()
                waiter: asyncio.Future[None] | None = None
                if wait <= 0:
                    loop = asyncio.get_running_loop()
                    waiter = loop.create_future()
                    self._waiters.append((loop, waiter))
            if waiter is None:
                await asyncio.sleep(wait)
                continue
            try:
                await waiter
            except BaseException:
                self._pass_on(waiter)
                raise

    def release(self) -> None:
        """Give the slot back."""
        with self._lock:
            self.in_flight -= 1
            self._wake()

    def succeeded(self) -> None:
        """Raise the bound by one after as many successes; slower where it was too much before."""
        with self._lock:
            pace = 1.0 if self.bound + 1 < self._ceiling else 0.25
            self.bound = min(self.most, self.bound + pace / max(1.0, self.bound))
            self._wake()

    def refused(self, sent_at: float, retry_after: float | None) -> None:
        """Halve the bound, once a wave, and hold new requests back as long as the server asked."""
        with self._lock:
            now = time.monotonic()
            if sent_at > self._lowered_at:
                self._ceiling = max(1, int(self.bound))
                self.bound = max(1.0, int(self.bound) / 2)
                self._lowered_at = now
            if retry_after and self.in_flight <= 1:
                self._open_at = max(self._open_at, now + retry_after)

    def _wake(self) -> None:
        free = max(1, int(self.bound)) - self.in_flight
        while free > 0 and self._waiters:
            loop, waiter = self._waiters.popleft()
            try:
                loop.call_soon_threadsafe(_resolve, waiter)
            except RuntimeError:  # its loop is closed
                continue
            free -= 1

    def _pass_on(self, waiter: asyncio.Future[None]) -> None:
        """A waiter was cancelled: let the next one have its turn."""
        with self._lock:
            self._waiters = deque(item for item in self._waiters if item[1] is not waiter)
            self._wake()


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


class Breaker:
    """Stops asking a judge that is down.

    Args:
        max_failures: Failures in a row before it opens.
        cool_down: Seconds after which one request may try again; None: never.
    """

    def __init__(self, max_failures: int, cool_down: float | None) -> None:
        self._max = max_failures
        self._cool_down = cool_down
        self._row = 0
        self._opened: float | None = None
        self._lock = threading.Lock()
        self.message: str | None = None

    def check(self) -> None:
        """Raise if the judge is down.

        Raises:
            JudgeError: It is; the reason code is ``judge_down``.
        """
        with self._lock:
            if self._opened is None:
                return
            if self._cool_down is not None and time.monotonic() - self._opened > self._cool_down:
                self._opened, self._row = None, self._max - 1
                return
            raise JudgeError(self.message or "the judge is down", reason_code="judge_down")

    def success(self) -> None:
        """Note an answer."""
        with self._lock:
            self._row = 0

    def failure(self, error: JudgeError) -> None:
        """Note a judgement given up."""
        if error.reason_code == "judge_down":
            return
        with self._lock:
            self._row += 1
            if self._row >= self._max and self._opened is None:
                self._opened = time.monotonic()
                self.message = (
                    f"The judge failed {self._row} times in a row and is not asked any more; last: "
                    f"{error.reason_code}: {error}"
                )
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
        cool_down: See `Breaker`.
    """

    max_concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_calls: int | None = None
    max_tokens: int | None = None
    cache: Store | None = None
    memo: Memo[Any] | None = None
    cool_down: float | None = None
    max_failures: int = MAX_FAILURES
    usage: Usage = Usage()
    failures: Counter[str] = field(default_factory=Counter)
    spent: str | None = None
    limiter: Limiter = field(init=False)
    breaker: Breaker = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _taken: int = 0

    def __post_init__(self) -> None:
        self.limiter = Limiter(self.max_concurrency)
        self.breaker = Breaker(self.max_failures, self.cool_down)

    async def call(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        """Send one prompt, again where that may help; the usage counts what failed too.

        Raises:
            JudgeError: The model could not answer; ``calls`` says how often it was asked.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        import asyncio

        failed: Counter[str] = Counter()
        while True:
            try:
                reply = await self._send(model, prompt, schema)
            except JudgeError as problem:
                if problem.reason_code != "judge_down":
                    failed[problem.reason_code] += 1
                problem.calls = failed.total()
                if (
                    not problem.retryable
                    or failed.total() >= ATTEMPTS
                    or failed["timeout"] >= TIMEOUT_ATTEMPTS
                ):
                    raise
                wait = _backoff(failed.total(), problem.retry_after)
                _log().debug("%s; asking again in %.1f s", problem, wait)
                await asyncio.sleep(wait)
            else:
                return replace(reply, usage=reply.usage + Usage(calls=failed.total()))

    async def _send(self, model: Model, prompt: Prompt, schema: type[BaseModel]) -> Reply:
        import asyncio

        self.breaker.check()
        sent_at = await self.limiter.acquire()
        try:
            self.breaker.check()
            self._take_call()
            with model_call(model, prompt) as record:
                reply = await asyncio.wait_for(model.generate(prompt, schema), self.timeout)
                record(reply.usage)
        except (BudgetExceededError, ParameterError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a client raises becomes a JudgeError
            problem = classify(error)
            if is_overload(problem):
                self.limiter.refused(sent_at, problem.retry_after)
            with self._lock:
                self.usage += Usage(calls=1)
                self.failures[problem.reason_code] += 1
            raise problem from None
        else:
            self.limiter.succeeded()
            with self._lock:
                self.usage += reply.usage
            return reply
        finally:
            self.limiter.release()

    def _take_call(self) -> None:
        with self._lock:
            if self.max_calls is not None and self._taken >= self.max_calls:
                self.spent = f"max_calls={self.max_calls} is used up"
            elif self.max_tokens is not None and self.usage.total_tokens >= self.max_tokens:
                self.spent = f"max_tokens={self.max_tokens} is used up"
            if self.spent:
                raise BudgetExceededError(self.spent)
            self._taken += 1


def _backoff(failures: int, retry_after: float | None) -> float:
    """Return how long to wait: what the server asked, else twice as long each time; spread, so nobody marches."""
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** (failures - 1))
    spread = random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return wait * spread if retry_after is None else retry_after + 0.25 * spread


def _log() -> logging.Logger:
    return logging.getLogger("ctxmetrics")


_current: ContextVar[Run | None] = ContextVar("ctxmetrics_run", default=None)
_process: list[Run] = []


def current_run() -> Run:
    """Return the run this code is part of; outside of any, the process's."""
    run = _current.get()
    if run is not None:
        return run
    if not _process:
        _process.append(Run(cool_down=_COOL_DOWN))
    return _process[0]


@contextmanager
def using(run: Run) -> Iterator[Run]:
    """Make a run the current one."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.clear)
