"""Limits: how many requests are in flight, which overload lowers and success raises, and how many go out in a minute."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# Seconds until the next attempt after a refusal; they are doubled each time ..
FIRST_WAIT = 0.25
# .. up to this.
LONGEST_WAIT = 8.0
# Seconds of a minute.
MINUTE = 60.0
# Requests in flight at the start to a server on this machine or a private address: it often answers one at a time.
FIRST_LOCAL = 2
# A reply is quick, and raises the bound, if it took less than this share of its time-out ..
_QUICK_SHARE = 0.25
# .. or less than so many times the fastest reply. A slower one probably waited for other requests.
_QUICK_FACTOR = 2.0


@dataclass(eq=False, slots=True)
class Limiter:
    """Bounds the requests in flight of one event loop; requests get a slot in the order in which they ask.

    Args:
        most: The highest value of the bound.
        bound: The bound at the start.
        patience: The time-out of one request, in seconds.

    Attributes:
        in_flight: How many requests have a slot.
        started: Names of the models on local servers for which it began low.
    """

    most: int
    bound: float
    patience: float = float("inf")
    in_flight: int = field(init=False, default=0)
    started: set[str] = field(init=False, default_factory=set)
    _fastest: float = field(init=False, default=float("inf"))
    _answered: bool = field(init=False, default=True)
    _ceiling: float = field(init=False, default=float("inf"))
    _lowered_at: float = field(init=False, default=float("-inf"))
    _open_at: float = field(init=False, default=0.0)
    _refused_alone: int = field(init=False, default=0)
    _waiters: OrderedDict[asyncio.Future[None], None] = field(init=False, default_factory=OrderedDict)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait for the right to send one request; the value is the time at which it was given.

        A request that finds the slot taken again goes back to the front of the queue. A block that ends
        without an error is a success. Quick successes raise the bound: by one each until a request was
        refused, then by one after as many as the bound, and more slowly above a bound that was refused.
        """
        import asyncio

        waiter: Any = None
        try:
            while True:
                wait = self._open_at - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                    continue
                if self.in_flight < int(self.bound):
                    break
                is_new = waiter is None
                waiter = asyncio.get_running_loop().create_future()
                self._waiters[waiter] = None
                self._waiters.move_to_end(waiter, last=is_new)
                await waiter
        except BaseException:
            self._waiters.pop(waiter, None)
            self._wake()  # a slot may have been given to this request
            raise
        self.in_flight += 1
        sent_at = time.monotonic()
        try:
            yield sent_at
            self._refused_alone = 0
            self._answered = True
            seconds = time.monotonic() - sent_at
            self._fastest = min(self._fastest, seconds)
            if seconds < max(self.patience * _QUICK_SHARE, self._fastest * _QUICK_FACTOR):
                step = 1.0
                was_lowered = self._ceiling < self.most + 1
                if was_lowered:
                    pace = 1.0 if self.bound + 1 < self._ceiling else 0.25
                    step = pace / max(1.0, self.bound)
                self.bound = min(self.most, self.bound + step)
        finally:
            self.in_flight -= 1
            if self._waiters:
                self._wake()

    def refused(self, sent_at: float, retry_after: float | None) -> bool:
        """Lower the bound; where the refused request was alone in flight, make all requests wait.

        A request that was sent before the bound was lowered does not lower it again. All requests wait
        as long as the server asked for; without such a time, twice as long as the time before.

        Returns:
            Whether the refused request was alone in flight.
        """
        now = time.monotonic()
        self._lower(sent_at, max(1.0, int(self.bound) / 2))
        if self.in_flight > 1:
            return False
        longer = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._refused_alone, 99))
        self._refused_alone += 1
        self._open_at = max(self._open_at, now + (retry_after or longer))
        return True

    def timed_out(self, sent_at: float) -> bool:
        """Lower the bound for a request that was not answered in time.

        Where no other request was answered since the bound was lowered for the last one, it falls to 1.

        Returns:
            Whether the request was alone in flight.
        """
        bound = max(1.0, int(self.bound) / 2) if self._answered else 1.0
        if self._lower(sent_at, bound):
            self._answered = False
        return self.in_flight == 1

    def _lower(self, sent_at: float, bound: float) -> bool:
        """Lower the bound, unless the request was sent before it was lowered the last time."""
        if sent_at <= self._lowered_at:
            return False
        self._ceiling = int(self.bound)
        self.bound = bound
        self._lowered_at = time.monotonic()
        return True

    def _wake(self) -> None:
        """Give free slots to requests that wait."""
        for _ in range(min(int(self.bound) - self.in_flight, len(self._waiters))):
            waiter, _ = self._waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_result(None)


class Quota:
    """Bounds the requests and the tokens of any 60 seconds, in one event loop.

    Args:
        requests: Requests at most; None: no bound.
        tokens: Tokens at most: those of the prompt as estimated, then all that were used. What is received for the
            requests in flight comes on top. A prompt that is longer than the bound is sent when nothing else was.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        import asyncio

        self._most_requests = requests
        self._most_tokens = tokens
        # What was sent in the last minute: the time, the requests and the tokens; and the sums of both.
        self._recent: deque[tuple[float, int, int]] = deque()
        self._requests = 0
        self._tokens = 0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int) -> None:
        """Wait until one more request may be sent, in the order in which they ask.

        Args:
            tokens: Tokens of the prompt, as estimated.
        """
        import asyncio

        async with self._turn:
            while (seconds := self._wait(tokens)) > 0:  # noqa: ASYNC110 - nothing but time is waited for
                await asyncio.sleep(seconds)
            self.count(tokens, requests=1)

    def count(self, tokens: int, requests: int = 0) -> None:
        """Count requests that are sent now, and tokens beyond the estimate; below 0 where fewer tokens were used."""
        self._recent.append((time.monotonic(), requests, tokens))
        self._requests += requests
        self._tokens += tokens

    def _wait(self, tokens: int) -> float:
        """Return in how many seconds a request may be sent, as far as that is known."""
        now = time.monotonic()
        while self._recent and self._recent[0][0] <= now - MINUTE:
            _, requests, used = self._recent.popleft()
            self._requests -= requests
            self._tokens -= used
        requests_are_used_up = self._most_requests is not None and self._requests >= self._most_requests
        tokens_are_used_up = (
            self._most_tokens is not None
            and self._tokens > 0
            and self._tokens + tokens > self._most_tokens
        )
        if requests_are_used_up or tokens_are_used_up:
            oldest_time, _, _ = self._recent[0]
            return oldest_time + MINUTE - now
        return 0.0
