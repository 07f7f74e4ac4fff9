"""The memory of finished judgements, and the sharing of those in flight. One a process, bounded, any thread or loop.

Keyed by content and model identity, so that recall and precision cost one request, also where a framework finishes
one metric before the next, copies the metric objects, or runs them in different threads.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from ctxmetrics.judges.loops import PATIENCE, any_alive, wake

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class _Flight(Generic[T]):
    """A judgement somebody is computing.

    Attributes:
        loop: Where it is computed.
        landed: Whether it is over.
        answers: What it brought; empty when whoever computed it was cancelled or failed.
        waiters: Who waits for it, guarded by the memo's lock.
    """

    loop: asyncio.AbstractEventLoop
    landed: bool = False
    answers: list[T] = field(default_factory=list)
    waiters: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = field(default_factory=dict)


class Memo(Generic[T]):
    """Answers a key once.

    Args:
        max_entries: How many answers are remembered; the least recently used goes first.
        keep: Whether an answer is worth remembering; others are only shared while in flight.
    """

    def __init__(self, max_entries: int, keep: Callable[[T], bool]) -> None:
        self._max = max_entries
        self._keep = keep
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._done: OrderedDict[str, T] = OrderedDict()
        self._flying: dict[str, _Flight[T]] = {}

    def clear(self) -> None:
        """Forget everything that is finished."""
        with self._lock:
            self._done.clear()

    def peek(self, key: str) -> T | None:
        """Return what is remembered, without a trace."""
        with self._lock:
            return self._done.get(key)

    async def get(self, key: str, compute: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """Return the answer and whether somebody else paid for it.

        The first who asks computes; others wait. When the first is cancelled or fails, one of those who wait takes
        over; so it is when the first one's event loop stands still.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        given_up: _Flight[T] | None = None
        while True:
            with self._lock:
                if key in self._done:
                    self._done.move_to_end(key)
                    return self._done[key], True
                flight = self._flying.get(key)
                if flight is None or flight is given_up:
                    mine: _Flight[T] = _Flight(loop)
                    self._flying[key] = mine
                    break
                waiter = loop.create_future()
                flight.waiters[waiter] = loop
            if not await self._land(flight, waiter):
                given_up = flight
            elif flight.answers:
                return flight.answers[0], True
        try:
            answer = await compute()
            mine.answers.append(answer)
        finally:
            self._landed(key, mine)
        return answer, False

    async def _land(self, flight: _Flight[T], waiter: asyncio.Future[None]) -> bool:
        """Wait until a flight is over; False when nobody flies it any more."""
        import asyncio

        try:
            while not flight.landed:
                done, _ = await asyncio.wait((waiter,), timeout=PATIENCE)
                if not done and not await any_alive((flight.loop,)):
                    return flight.landed
        finally:
            with self._lock:
                flight.waiters.pop(waiter, None)
        return True

    def _landed(self, key: str, mine: _Flight[T]) -> None:
        with self._lock:
            if self._flying.get(key) is mine:
                del self._flying[key]
            mine.landed = True
            for answer in mine.answers:
                if self._keep(answer):
                    self._done[key] = answer
                    self._done.move_to_end(key)
            while len(self._done) > self._max:
                self._done.popitem(last=False)
            waiters = tuple(mine.waiters.items())
        for waiter, loop in waiters:
            wake(loop, waiter)


def forget_after_fork(memo: Memo[T]) -> None:
    """Let a forked child start empty: what was in flight in the parent never lands here."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=memo._reset)  # noqa: SLF001 - this module's own
