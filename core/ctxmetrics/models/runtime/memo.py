"""Remembers finished judgements, and lets several callers share a judgement that is in flight.

The key is a hash of the content and the model's identity. So recall and precision cost one request, also if a framework finishes
one metric before the next, copies the metric objects, or runs them in different threads. All threads of a process share finished
answers. Answers in flight are shared only by the tasks of one event loop: if another loop is blocked by a sync call, a task that
waits for it would never end.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from ctxmetrics.errors import CtxMetricsError

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


def digest_key(texts: Iterable[str]) -> str:
    """Return a hash of texts and their lengths, so that two different lists never have the same hash."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


@dataclass(eq=False, repr=False, slots=True)
class Memo(Generic[T]):
    """Computes the answer to a key once.

    Threads need no lock, because each step is one operation on a dict. So no forked child can inherit a held lock.

    Args:
        max_entries: The maximum number of answers that are remembered; the least recently used one is dropped first.
        keep: Returns whether to remember an answer. Other answers are only shared while they are in flight. By default, an answer
            is not remembered if its ``complete`` is false.
    """

    max_entries: int
    keep: Callable[[T], bool] = lambda answer: getattr(answer, "complete", True)
    _finished: OrderedDict[Hashable, T] = field(default_factory=OrderedDict)
    _in_flight: WeakKeyDictionary[
        asyncio.AbstractEventLoop, dict[Hashable, asyncio.Future[T | None]]
    ] = field(init=False, default_factory=WeakKeyDictionary)

    def clear(self) -> None:
        """Forget every finished answer."""
        self._finished.clear()

    def copy(self) -> Memo[T]:
        """Return a new memory with the finished answers of this one."""
        return Memo(self.max_entries, self.keep, self._finished.copy())

    def peek(self, key: Hashable) -> T | None:
        """Return the finished answer or None; do not count this as a use."""
        return self._finished.get(key)

    async def get(self, key: str, compute: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
        """Return the answer, and whether it was computed by another call.

        The first task that asks computes; the others of its loop wait. When the first is cancelled or fails, one of
        those that wait computes in its place.
        """
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise CtxMetricsError(
                "there is no running loop of asyncio. Under trio: await trio.to_thread.run_sync(metric.score, sample)."
            ) from None
        in_flight = self._in_flight.setdefault(loop, {})
        while True:
            answer = self._finished.get(key)
            if answer is not None:
                with suppress(KeyError):  # another thread dropped it
                    self._finished.move_to_end(key)
                return answer, True
            other_call = in_flight.get(key)
            if other_call is None:
                break
            await asyncio.wait((other_call,))
            answer = other_call.result()
            if answer is not None:
                return answer, True
        own_call = loop.create_future()
        in_flight[key] = own_call
        try:
            computed = await compute()
            if self.keep(computed):
                self.remember(key, computed)
            own_call.set_result(computed)
        finally:
            del in_flight[key]
            # If the call was cancelled or failed, another call computes the answer.
            if not own_call.done():
                own_call.set_result(None)
        return computed, False

    def remember(self, key: Hashable, answer: T) -> None:
        """Keep a finished answer."""
        self._finished[key] = answer
        while len(self._finished) > self.max_entries:
            with suppress(KeyError):  # another thread emptied it
                self._finished.popitem(last=False)
