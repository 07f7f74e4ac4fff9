"""Sends requests within the limits of a run: simultaneous requests, time-outs, retries and budgets.

Each `evaluate()` has one `Run`. All other calls share the run of the process. A context variable holds the current run. Each run
has its own breakers. Outside of runs, each owner has: a metric, or the object that stands for one run of a framework
(`breaker_scope`).
"""

from __future__ import annotations

import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary, finalize

from ctxmetrics.errors import BudgetExceededError, JudgeError, ParameterError, RequestError
from ctxmetrics.models.runtime import breaker as breakers
from ctxmetrics.models.runtime import limits
from ctxmetrics.models.runtime.breaker import COOL_DOWN, MAX_FAILURES, Breaker
from ctxmetrics.models.runtime.failures import OVERLOAD_CODES, KeptConnectionError, retry_after_too_long
from ctxmetrics.models.runtime.limits import Limiter, Quota
from ctxmetrics.verdicts import NO_USAGE, Usage

if TYPE_CHECKING:
    import asyncio

    from ctxmetrics.models.runtime.cache import RunCache
    from ctxmetrics.models.runtime.memo import Memo

T = TypeVar("T")
# The default for the maximum number of requests in flight.
DEFAULT_CONCURRENCY = 16
# The default for the time-out of one request, in seconds.
DEFAULT_TIMEOUT = 120.0
# The maximum number of times that one request is sent if a server or a connection fails.
ATTEMPTS = 6
# The same if no answer comes in time. With three attempts and one unanswered request in ten, one sample in a thousand would be
# lost.
TIMEOUT_ATTEMPTS = 4
# The maximum number of old connections that a client may use one after the other: the client of ``openai`` keeps a hundred.
_MAX_KEPT_CONNECTIONS = 100
# Seconds that are added at random to a wait, so that requests do not come in waves.
_SPREAD = 0.25

_log = logging.getLogger("ctxmetrics")


@dataclass(frozen=True, slots=True)
class ServerReply:
    """The reply of a server to one request.

    Attributes:
        seconds: The time from the request to the end of the reply. Building the client does not count.
        text: The first characters of the body. Untrusted.
    """

    seconds: float
    text: str


@dataclass(slots=True, kw_only=True)
class Run:
    """The state of one run.

    Args:
        max_concurrency: The maximum number of requests at the same time.
        timeout: The maximum number of seconds for one request.
        max_calls: The maximum number of requests in the run, or None.
        max_tokens: The maximum number of tokens in the run, or None.
        cache: The cache of validated judgements, or None.
        memo: The memory of finished judgements; None takes the memory of the process.
        ends: Whether the run has an end. False for the run of the process, which serves all calls outside of a run; there, a judge
            that is down is tried again after `COOL_DOWN`.
        max_failures: See `Breaker`.
        quota: Limits by the minute, beside the bound of the requests in flight.
        attempts: The maximum number of times that one request is sent; it is sent at least once. If the answer does not come in
            time, the maximum is `TIMEOUT_ATTEMPTS`. None takes `ATTEMPTS`, and refusals for overload do not count for as long as
            `OVERLOAD_PATIENCE`.

    Attributes:
        breakers: The circuit breakers of the run's models, by the models' identities.
        problem: The failure of the last request that failed, in a run that ends.
        token_limits: The maximum number of tokens of each model whose server has stated it, by the model's identity.
        question_limits: The maximum number of questions in one request to a decision model that has refused more, by the model's
            identity.
        tokenizers: Facts about the models' tokenizers that short requests have shown, by the models' identities.
        last_reply: The last reply of a server that the library's own client read.
        unusable: In a run that ends, the last judgements whose replies stayed bad, by their keys. Another metric that needs the
            same judgement does not ask again.
    """

    max_concurrency: int = DEFAULT_CONCURRENCY
    timeout: float = DEFAULT_TIMEOUT
    max_calls: int | None = None
    max_tokens: int | None = None
    cache: RunCache | None = None
    memo: Memo[Any] | None = None
    ends: bool = False
    max_failures: int = MAX_FAILURES
    attempts: int | None = None
    quota: Quota | None = None
    usage: Usage = field(default_factory=Usage)
    used_up: str | None = None
    problem: JudgeError | None = None
    token_limits: dict[str, int] = field(init=False, repr=False, default_factory=dict)
    question_limits: dict[str, int] = field(init=False, repr=False, default_factory=dict)
    tokenizers: dict[str, Any] = field(init=False, repr=False, default_factory=dict)
    breakers: dict[str, Breaker] = field(init=False, repr=False, default_factory=dict)
    unusable: dict[str, Any] = field(init=False, repr=False, default_factory=dict)
    last_reply: ServerReply | None = field(init=False, repr=False, default=None)
    _limiters: WeakKeyDictionary[asyncio.AbstractEventLoop, Limiter] = field(
        init=False, repr=False, default_factory=WeakKeyDictionary
    )
    _calls_taken: int = field(init=False, repr=False, default=0)
    _warned_of_wait: bool = field(init=False, repr=False, default=False)

    def breaker_of(self, name: str) -> Breaker:
        """Return the breaker of a model, by the model's identity: each model has its own."""
        owner = _breaker_owner.get()
        breakers_by_name = self.breakers
        if owner is not None and not self.ends:
            # The key is the id of the object, because two equal metrics are two owners.
            if id(owner) not in _breakers_by_owner:
                finalize(owner, _breakers_by_owner.pop, id(owner), None).atexit = False
            breakers_by_name = _breakers_by_owner.setdefault(id(owner), {})
        breaker = breakers_by_name.get(name)
        if breaker is None:
            cool_down = None if self.ends else COOL_DOWN
            breaker = Breaker(self.max_failures, cool_down, self.attempts or ATTEMPTS)
            breaker = breakers_by_name.setdefault(name, breaker)  # another thread may have been faster
        return breaker

    def check_sent(self) -> None:
        """Check that at least one request of the run could be sent.

        Raises:
            RequestError: No request could be sent, and all failed with the same exception, so that no sample is the cause.
        """
        errors: list[RequestError] = []
        for name, breaker in self.breakers.items():
            error = breaker.unsent_error(name)
            if error is None:  # a request to this model was sent
                return
            errors.append(error)
        if errors:
            raise errors[0]

    async def send_again(
        self, first_error: JudgeError | None, send: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Send a request again after its first attempt failed, as long as that may help.

        Args:
            first_error: The error of the first attempt; None if the request was not sent yet.
            send: A function that sends the request once.

        Returns:
            The reply. Its usage also counts the failed attempts.

        Raises:
            JudgeError: There is no answer; ``lost`` is the usage of the failed requests.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
            RequestError: No request to the model could be built.
        """
        import tenacity

        failures: Counter[str] = Counter()
        kept_connections = 0  # requests that failed because a client had kept a connection
        uses_kept_connection = False
        lost_usage = Usage()
        first_refused_at = 0.0
        requested_wait: float | None = None  # the seconds that the server asked to wait

        doubled = tenacity.wait_exponential(multiplier=limits.FIRST_WAIT, max=limits.LONGEST_WAIT)
        doubled_with_spread = doubled + tenacity.wait_random(0, _SPREAD)

        def choose_wait(state: Any) -> float:
            """Return the seconds to wait: what the server asked for, else a time that is doubled with each attempt."""
            if uses_kept_connection:
                return 0.0
            if requested_wait is None:
                return doubled_with_spread(state)
            # With a random part, so that requests do not come in waves.
            return requested_wait + random.uniform(0.1, _SPREAD)  # noqa: S311 - no secret

        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(
                lambda error: isinstance(error, JudgeError) and error.retryable
            ),
            stop=lambda _: self._has_failed_enough(failures, first_refused_at),
            wait=choose_wait,
            before_sleep=tenacity.before_sleep_log(_log, logging.DEBUG),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                try:
                    if first_error is not None:
                        # The first attempt of this loop only raises the error of the request that was sent before.
                        first_problem = first_error
                        first_error = None
                        raise first_problem
                    reply = await send()
                    return replace(reply, usage=reply.usage + lost_usage)
                except JudgeError as problem:
                    uses_kept_connection = (
                        isinstance(problem, KeptConnectionError)
                        and kept_connections < _MAX_KEPT_CONNECTIONS
                    )
                    if uses_kept_connection:
                        kept_connections += 1
                        lost_usage += problem.usage
                    elif problem.reason_code != "judge_down":
                        failures[problem.reason_code] += 1
                        lost_usage += problem.usage
                    if problem.reason_code in OVERLOAD_CODES:
                        first_refused_at = first_refused_at or time.monotonic()
                    problem.lost = lost_usage
                    requested_wait = problem.retry_after
                    raise
        raise AssertionError  # the last failure is raised above

    def _has_failed_enough(self, failures: Counter[str], first_refused_at: float) -> bool:
        """Whether a request is not sent again.

        Args:
            failures: The number of failures of the request, by reason code.
            first_refused_at: The time at which the request was first refused for overload.
        """
        if failures["timeout"] >= TIMEOUT_ATTEMPTS:
            return True
        if self.attempts is not None:
            return failures.total() >= self.attempts
        refusals = sum(failures[code] for code in OVERLOAD_CODES)
        if failures.total() - refusals >= ATTEMPTS:
            return True
        refused_seconds = time.monotonic() - first_refused_at
        return refusals >= ATTEMPTS and refused_seconds >= breakers.OVERLOAD_PATIENCE

    async def send(
        self, name: str, ask: Callable[[], Awaitable[Any]], tokens: int, *, local: bool = False
    ) -> Any:
        """Send one request, once.

        Args:
            name: The identity of the model that is asked.
            ask: Sends the request; returns a dataclass with ``usage``, or raises a `JudgeError`.
            tokens: Tokens of the request, as estimated.
            local: Whether the server is on this machine or a private address.

        Raises:
            JudgeError: There is no answer.
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
            RequestError: No request to it could be built.
        """
        import asyncio

        # A limiter for each loop: the slots of a blocked loop must not keep another loop waiting.
        loop = asyncio.get_running_loop()
        limiter = self._limiters.get(loop) or self._limiters.setdefault(
            loop, Limiter(self.max_concurrency, bound=self.max_concurrency, patience=self.timeout)
        )
        if local and name not in limiter.started:
            limiter.started.add(name)
            limiter.bound = min(limiter.bound, limits.FIRST_LOCAL)
        breaker = self.breaker_of(name)
        trial = await breaker.admit() if breaker.message else None
        try:
            async with limiter.slot() as sent_at:
                if self.quota is not None:
                    await self.quota.enter(tokens)
                usage = Usage()
                if trial is None and breaker.message:
                    breaker.check()  # the breaker may have opened meanwhile
                try:
                    if self.max_calls is not None or self.max_tokens is not None:
                        self.take_call()
                    reply = await ask()
                    usage = reply.usage
                except JudgeError as problem:
                    usage = problem.usage
                    self._note_failure(problem, name, limiter, sent_at)
                    raise
                except (BudgetExceededError, ParameterError):
                    raise
                except BaseException:
                    self.usage += Usage(calls=1)  # the call was cancelled after the request was sent
                    raise
                finally:
                    if self.quota is not None:
                        self.quota.count(usage.total_tokens - tokens)
                breaker.answered()
                self._warned_of_wait = False
                self.usage += reply.usage
                return reply
        finally:
            if trial is not None:
                trial.set_result(None)

    def _note_failure(self, problem: JudgeError, name: str, limiter: Limiter, sent_at: float) -> None:
        """Note how a request to the model of this name failed.

        Raises:
            RequestError: No request to it could be built.
        """
        self.problem = problem if self.ends else None
        self.usage += problem.usage
        if isinstance(problem, KeptConnectionError):
            return  # the failure says nothing about the server
        breaker = self.breaker_of(name)
        if retry_after_too_long(problem) and not self._warned_of_wait:
            self._warned_of_wait = True  # once, until the server answers again
            _log.warning("%s: not asked again (%s)", problem, problem.reason_code)
        if problem.limit is not None:
            self.token_limits[name] = min(problem.limit, self.token_limits.get(name, problem.limit))
        if problem.reason_code == "timeout":
            was_only_request = limiter.timed_out(sent_at)
            breaker.timed_out(problem, alone=was_only_request)
        elif not (problem.reason_code in OVERLOAD_CODES and problem.retryable):
            breaker.failed(problem)
        elif limiter.refused(sent_at, problem.retry_after):
            breaker.refused_alone(problem)
        breaker.note_end(problem)
        # A run checks this when it ends; until then another request may still be answered.
        if not self.ends and limiter.in_flight == 1:
            unsent_error = breaker.unsent_error(name)
            if unsent_error is not None:
                raise unsent_error from None

    def take_call(self, sent: Usage = NO_USAGE) -> None:
        """Count one more request against the budget, before it is sent.

        Args:
            sent: The cost of the requests that were already sent for the same reply. It counts in the usage in any case.

        Raises:
            BudgetExceededError: ``max_calls`` or ``max_tokens`` is used up.
        """
        if self.max_calls is not None and self._calls_taken >= self.max_calls:
            self.used_up = f"max_calls={self.max_calls} is used up"
        elif self.max_tokens is not None and (self.usage + sent).total_tokens >= self.max_tokens:
            self.used_up = f"max_tokens={self.max_tokens} is used up"
        if self.used_up:
            self.usage += sent
            raise BudgetExceededError(self.used_up)
        self._calls_taken += 1

    def count_earlier(self, usage: Usage, unanswered: int) -> None:
        """Count the usage from before this run against the budget, and the requests that are sent but not yet answered."""
        self.usage += usage
        self._calls_taken += usage.calls + unanswered


_current: ContextVar[Run | None] = ContextVar("ctxmetrics_run", default=None)
_breaker_owner: ContextVar[object | None] = ContextVar("ctxmetrics_owner", default=None)
# The run of the process, for all calls outside of a run.
_process_run = Run()
# The breakers of each owner, by the owner's id, while the owner exists.
_breakers_by_owner: dict[int, dict[str, Breaker]] = {}


def current_run() -> Run:
    """Return the run that this code is part of; outside of all runs, the run of the process."""
    return _current.get() or _process_run


@contextmanager
def setting(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Give a context variable a value for a block of code."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def using(run: Run) -> AbstractContextManager[Run]:
    """Make a run the current one."""
    return setting(_current, run)


def breaker_scope(owner: object | None) -> AbstractContextManager[object]:
    """Set the owner of all judgements in the ``with`` block. It is used if the block is not a part of a run.

    The owner has its own breakers as long as the object exists.

    Args:
        owner: The object; None for no owner. The owner of an outer block has priority.
    """
    outer_owner = _breaker_owner.get()
    return setting(_breaker_owner, owner if outer_owner is None else outer_owner)


def forget_failures() -> None:
    """Forget, outside of runs, that a judge was down."""
    _process_run.breakers.clear()
    _breakers_by_owner.clear()
