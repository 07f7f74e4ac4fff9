"""Limits the number of requests in flight (overload lowers it, success raises it), and the requests of a minute."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

# Seconds until the next attempt after the first refusal. Each further wait is twice as long.
FIRST_WAIT = 0.25
# The maximum of these seconds.
LONGEST_WAIT = 8.0
# The maximum number of doublings, so that the number does not overflow. The wait has reached its maximum long before.
_MOST_DOUBLINGS = 99
# The seconds of a minute.
MINUTE = 60.0
# The limit at the start for a server on this machine or at a private address: it often answers one request at a time.
FIRST_LOCAL = 2
# A quick reply raises the limit. It is quick if it took less than this share of its time-out.
_QUICK_SHARE = 0.25
# It is also quick if it took less than this many times the time of the fastest reply. A slower reply probably had to wait for other
# requests.
_QUICK_FACTOR = 2.0
# Above a limit at which a request was refused, the limit rises by this share of the usual step.
_SLOW_PACE = 0.25


@dataclass(eq=False, slots=True)
class Limiter:
    """Limits the number of requests in flight of one event loop. Requests get a slot in the order in which they ask.

    Args:
        most: The highest value of the limit.
        bound: The limit at the start.
        patience: The time-out of one request, in seconds.

    Attributes:
        in_flight: The number of requests that have a slot.
        started: The names of the models on local servers for which the limit began low.
    """

    most: int
    bound: float
    patience: float = float("inf")
    in_flight: int = field(init=False, default=0)
    started: set[str] = field(init=False, default_factory=set)
    _fastest: float = field(init=False, default=float("inf"))
    # Whether a request was answered since a time-out lowered the limit.
    _answered: bool = field(init=False, default=True)
    # The last limit at which a request was refused, and the time at which the limit was lowered.
    _ceiling: float = field(init=False, default=float("inf"))
    _lowered_at: float = field(init=False, default=float("-inf"))
    # The time from which on requests may be sent again.
    _open_at: float = field(init=False, default=0.0)
    # How many requests in a row were refused while they were alone in flight.
    _refused_alone: int = field(init=False, default=0)
    _waiters: OrderedDict[asyncio.Future[None], None] = field(init=False, default_factory=OrderedDict)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Wait for a slot to send one request, and yield the time at which the slot was given.

        If another request takes the slot first, this request goes back to the front of the queue. If the ``with`` block ends
        without an error and was quick, the limit rises:

        - by 1, as long as no request was refused;
        - by 1 / limit after a refusal;
        - by 1 / (4 * limit) at limits at which a request was refused, and above.
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
            is_quick = seconds < max(self.patience * _QUICK_SHARE, self._fastest * _QUICK_FACTOR)
            if is_quick:
                step = 1.0
                was_lowered = self._ceiling < self.most + 1
                if was_lowered:
                    is_below_refused = self.bound + 1 < self._ceiling
                    pace = 1.0 if is_below_refused else _SLOW_PACE
                    step = pace / max(1.0, self.bound)
                self.bound = min(self.most, self.bound + step)
        finally:
            self.in_flight -= 1
            if self._waiters:
                self._wake()

    def refused(self, sent_at: float, retry_after: float | None) -> bool:
        """Lower the limit after a refused request. If this request was alone in flight, all requests wait.

        A request that was sent before the limit was lowered does not lower it again. All requests wait as long as the server
        asked for, or else twice as long as the last time.

        Returns:
            Whether the refused request was alone in flight.
        """
        now = time.monotonic()
        self._lower(sent_at, max(1.0, int(self.bound) / 2))
        if self.in_flight > 1:
            return False
        doubled_wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._refused_alone, _MOST_DOUBLINGS))
        self._refused_alone += 1
        self._open_at = max(self._open_at, now + (retry_after or doubled_wait))
        return True

    def timed_out(self, sent_at: float) -> bool:
        """Lower the limit after a request that was not answered in time.

        The limit falls to 1 if no request was answered since it was lowered for the last one.

        Returns:
            Whether the request was alone in flight.
        """
        bound = max(1.0, int(self.bound) / 2) if self._answered else 1.0
        if self._lower(sent_at, bound):
            self._answered = False
        return self.in_flight == 1

    def _lower(self, sent_at: float, bound: float) -> bool:
        """Lower the limit of the requests in flight after a failed request.

        Args:
            sent_at: The time at which the request was sent. If the limit was lowered after that, it is not lowered again.
            bound: The new limit.

        Returns:
            Whether the limit was lowered.
        """
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
    """Limits the requests and the tokens of any 60 seconds, in one event loop.

    Args:
        requests: The maximum number of requests; None: no limit.
        tokens: The maximum number of tokens; None: no limit. Before its reply, a request counts with the estimated tokens of its
            prompt; after it, with all tokens that it used. So the replies to the requests in flight may exceed the limit. A
            prompt that is longer than the limit is sent if no other request was sent in the last minute.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        import asyncio

        self._most_requests = requests
        self._most_tokens = tokens
        # The requests of the last minute: the time, the number of requests and the tokens of each entry.
        self._recent: deque[tuple[float, int, int]] = deque()
        # The sums of these requests and tokens.
        self._requests = 0
        self._tokens = 0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int) -> None:
        """Wait until one more request may be sent. Requests are sent in the order of their calls.

        Args:
            tokens: The estimated number of tokens of the prompt.
        """
        import asyncio

        async with self._turn:
            while (seconds := self._wait(tokens)) > 0:  # noqa: ASYNC110 - nothing but time is waited for
                await asyncio.sleep(seconds)
            self.count(tokens, requests=1)

    def count(self, tokens: int, requests: int = 0) -> None:
        """Count requests that are sent now, and tokens. After a reply, count its tokens minus the estimated ones."""
        self._recent.append((time.monotonic(), requests, tokens))
        self._requests += requests
        self._tokens += tokens

    def _wait(self, tokens: int) -> float:
        """Return the seconds to wait until a request may be sent; 0 if it may be sent now."""
        now = time.monotonic()
        while self._recent:
            entry_time, request_count, token_count = self._recent[0]
            if entry_time > now - MINUTE:
                break
            self._recent.popleft()
            self._requests -= request_count
            self._tokens -= token_count
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
