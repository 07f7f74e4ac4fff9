"""The memory of finished judgements, and the sharing of those in flight. One a process, bounded, any thread or loop.

Keyed by content and model identity, so that recall and precision cost one request, also where a framework finishes
one metric before the next, copies the metric objects, or runs them in different threads.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future

T = TypeVar("T")

_ABANDONED = object()


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
        self._flying: dict[str, Future[object]] = {}

    def clear(self) -> None:
        """Forget everything that is finished."""
        with self._lock:
            self._done.clear()

    async def get(self, key: str, compute: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """Return the answer and whether somebody else paid for it.

        The first who asks computes; others wait. When the first is cancelled, one of those who wait takes over.
        """
        import asyncio
        from concurrent.futures import Future

        while True:
            with self._lock:
                if key in self._done:
                    self._done.move_to_end(key)
                    return self._done[key], True
                flight = self._flying.get(key)
                if flight is None:
                    mine: Future[object] = Future()
                    self._flying[key] = mine
                    break
            answer = await asyncio.shield(asyncio.wrap_future(flight))
            if answer is not _ABANDONED:
                return answer, True  # type: ignore[return-value]  # a flight lands with a T or _ABANDONED
        answer = _ABANDONED
        try:
            value = await compute()
            answer = value
            return value, False
        finally:
            with self._lock:
                self._flying.pop(key, None)
                if answer is not _ABANDONED and self._keep(value):
                    self._done[key] = value
                    while len(self._done) > self._max:
                        self._done.popitem(last=False)
            mine.set_result(answer)


def forget_after_fork(memo: Memo[T]) -> None:
    """Let a forked child start empty: what was in flight in the parent never lands here."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=memo._reset)  # noqa: SLF001 - this module's own
