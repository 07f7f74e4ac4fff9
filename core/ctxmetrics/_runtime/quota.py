"""What all requests of a run may take together: in flight, by the minute, and in all."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Protocol
from weakref import WeakKeyDictionary

# The span of the limits by the minute, and what a lease lasts beyond the time that its request is given.
MINUTE = 60.0
MARGIN = 30.0
# A request may be sent again for what the server does not take, each time with its own time.
_TIMES = 2


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no further request of the run is sent.

    Attributes:
        code: ``"budget_exceeded"`` or ``"judge_down"``.
        message: What happened.
    """

    code: str
    message: str


class Gate(Protocol):
    """Where each request of a run asks for its lease: a `Quota` of this process, or of another."""

    async def enter(self, seconds: float, tokens: int) -> int | Refusal:
        """Wait for a lease."""
        ...

    def leave(self, lease: int, tokens: int, down: str | None) -> None:
        """Return it."""


class Quota:
    """Leases the right to send one request, in the order in which it is asked for.

    A lease ends when it is returned, or when its worker must have died: after more than the time of its request. So
    there are never more requests in flight than leases.

    Args:
        max_concurrency: Leases at a time; None: no bound.
        requests_per_minute: Requests in any 60 seconds.
        tokens_per_minute: Tokens in any 60 seconds: those of the prompt as estimated, then all that were used. What is
            received for the requests in flight comes on top.
        max_calls: Requests in all.
        max_tokens: Tokens in all; requests in flight when they are reached come on top.
    """

    def __init__(
        self,
        *,
        max_concurrency: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        max_calls: int | None = None,
        max_tokens: int | None = None,
    ) -> None:
        self._most = max_concurrency
        self._most_requests, self._most_used = requests_per_minute, tokens_per_minute
        self._max_calls, self._max_tokens = max_calls, max_tokens
        self._calls = self._tokens = 0
        # Leases: when each ends, and the tokens of its prompt as estimated.
        self._ends: dict[int, float] = {}
        self._estimates: dict[int, int] = {}
        # The last minute: when, requests and tokens; and the sums of both.
        self._recent: deque[tuple[float, int, int]] = deque()
        self._requests = self._used = 0
        self._refusal: Refusal | None = None
        self._state = Lock()
        self._lines: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[asyncio.Lock, asyncio.Event]] = (
            WeakKeyDictionary()
        )

    async def enter(self, seconds: float, tokens: int) -> int | Refusal:
        """Wait for a lease.

        Args:
            seconds: The time that the request is given.
            tokens: Tokens of the prompt, as estimated.

        Returns:
            The number of the lease; or why there is none any more.
        """
        from anyio import move_on_after

        loop = asyncio.get_running_loop()
        with self._state:
            first, changed = self._lines.setdefault(loop, (asyncio.Lock(), asyncio.Event()))
        async with first:  # the others wait in the order in which they came
            while True:
                changed.clear()
                found = self._try(seconds, tokens)
                if not isinstance(found, float):
                    return found
                with move_on_after(found):
                    await changed.wait()

    def leave(self, lease: int, tokens: int, down: str | None) -> None:
        """Return a lease.

        Args:
            lease: Its number; one that has expired is only counted.
            tokens: Tokens that the request took.
            down: Why the model is not asked any more, where the worker found that out.
        """
        with self._state:
            self._ends.pop(lease, None)
            self._tokens += tokens
            self._note(time.monotonic(), 0, tokens - self._estimates.pop(lease, 0))
            if down is not None and self._refusal is None:
                self._refusal = Refusal("judge_down", down)
            lines = tuple(self._lines.items())
        for loop, (_, changed) in lines:
            with suppress(RuntimeError):  # that loop is closed
                loop.call_soon_threadsafe(changed.set)

    def _try(self, seconds: float, tokens: int) -> int | float | Refusal:
        """Return a lease, why there is none any more, or for how long there is none unless one is returned."""
        now = time.monotonic()
        with self._state:
            self._refuse()
            if self._refusal is not None:
                return self._refusal
            if wait := self._wait(now, tokens):
                return wait
            self._calls += 1
            self._ends[self._calls] = now + _TIMES * seconds + MARGIN
            self._estimates[self._calls] = tokens
            self._note(now, 1, tokens)
            return self._calls

    def _refuse(self) -> None:
        spent = None
        if self._max_calls is not None and self._calls >= self._max_calls:
            spent = f"max_calls={self._max_calls} is used up"
        elif self._max_tokens is not None and self._tokens >= self._max_tokens:
            spent = f"max_tokens={self._max_tokens} is used up"
        if spent and self._refusal is None:
            self._refusal = Refusal("budget_exceeded", spent)

    def _note(self, now: float, requests: int, tokens: int) -> None:
        self._recent.append((now, requests, tokens))
        self._requests += requests
        self._used += tokens

    def _wait(self, now: float, tokens: int) -> float:
        while self._recent and self._recent[0][0] <= now - MINUTE:
            _, requests, used = self._recent.popleft()
            self._requests -= requests
            self._used -= used
        full = self._most_requests is not None and self._requests >= self._most_requests
        # A prompt that is longer than the limit is sent when nothing else was.
        if full or (
            self._most_used is not None and self._used > 0 and self._used + tokens > self._most_used
        ):
            return self._recent[0][0] + MINUTE - now
        for lease in [number for number, end in self._ends.items() if end <= now]:
            del self._ends[lease]
        if self._most is not None and len(self._ends) >= self._most:
            return min(self._ends.values()) - now
        return 0.0
