"""Gathering the pairs of many samples into batches for one function.

Requests come from any loop and thread; the function is called in threads of its own, which end when nothing waits. So
a blocked loop holds up no other request.
"""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from ctxmetrics._runtime.background import run_sync
from ctxmetrics._runtime.memo import Memo
from ctxmetrics._secrets import safe_text
from ctxmetrics.judges.nli.scores import Score

Pair: TypeAlias = "tuple[str, str]"
"""A premise and a hypothesis."""


class Memory(NamedTuple):
    """The remembered probabilities of some pairs, which have these keys."""

    scores: Memo[float]
    keys: dict[Pair, str]

    def get(self, pair: Pair) -> float | None:
        """Return the probability of a pair, or None."""
        return self.scores.peek(self.keys[pair])

    def put(self, pair: Pair, score: float) -> None:
        """Remember the probability of a pair."""
        self.scores.remember(self.keys[pair], score)


class _Request:
    """Pairs that one caller waits for.

    Args:
        pairs: The pairs.
        memory: Where probabilities are remembered.
    """

    def __init__(self, pairs: Iterable[Pair], memory: Memory) -> None:
        self.left = set(pairs)
        self.memory = memory
        self.found: dict[Pair, Score] = {}
        self.future: Future[dict[Pair, Score]] = Future()

    def add(self, pair: Pair, score: Score) -> None:
        self.found[pair] = score
        self.left.discard(pair)
        if not isinstance(score, str):
            self.memory.put(pair, score)


class Batches:
    """Gathers pairs until a batch is full, or no more came for a moment.

    Each pair that waits or is with the function is there once, whoever asks for it.

    Args:
        predict: Takes a list of pairs; returns what `read` reads, or an awaitable of it.
        read: Reads what was returned for so many pairs; raises for what cannot be matched with them.
        size: Pairs in a batch at most.
        workers: Calls at the same time at most.
        wait_seconds: How long a batch that is not full waits for more pairs.
    """

    def __init__(
        self,
        predict: Callable[[list[Pair]], Any],
        read: Callable[[object, int], list[Score]],
        size: int,
        workers: int,
        wait_seconds: float,
    ) -> None:
        self._predict, self._read = predict, read
        self._size, self._workers, self._wait_seconds = size, workers, wait_seconds
        self._start_empty()

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self._predict, self._read, self._size, self._workers, self._wait_seconds)

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._threads = 0
        self._waiting: dict[Pair, list[_Request]] = {}
        self._taken: dict[Pair, list[_Request]] = {}

    def submit(self, pairs: Iterable[Pair], memory: Memory) -> Future[dict[Pair, Score]]:
        """Ask for the scores of different pairs; cancelling the future takes them back.

        Args:
            pairs: The pairs.
            memory: Looked up first; what is found out stands there before any other request can ask again.
        """
        if self._process != os.getpid():  # a forked child has no threads, and may have copied a held lock
            self._start_empty()
        request = _Request(pairs, memory)
        with self._changed:
            for pair in tuple(request.left):
                if (known := memory.get(pair)) is not None:
                    request.add(pair, known)
                else:
                    requests = self._taken.get(pair)
                    (self._waiting.setdefault(pair, []) if requests is None else requests).append(request)
            wanted = min(self._workers, -(-len(self._waiting) // self._size))
            while self._threads < wanted:
                self._threads += 1
                threading.Thread(target=self._work, name="ctxmetrics-nli", daemon=True).start()
            self._changed.notify()
            done = not request.left
        if done:
            request.future.set_result(request.found)
        return request.future

    def _work(self) -> None:
        """Call the function for one batch after the other, until nothing waits."""
        while batch := self._next():
            scores = self._scores(batch)
            done: list[_Request] = []
            with self._changed:
                for pair, score in scores.items():
                    for request in self._taken.pop(pair):
                        request.add(pair, score)
                        if not request.left:
                            done.append(request)
            for request in done:
                with suppress(InvalidStateError):  # it was cancelled
                    request.future.set_result(request.found)

    def _next(self) -> dict[Pair, _Request]:
        """Take the next batch, each pair with the first request that wants it; nothing is left where it is empty."""
        until = time.monotonic() + self._wait_seconds
        with self._changed:
            while 0 < len(self._waiting) < self._size and (seconds := until - time.monotonic()) > 0:
                self._changed.wait(seconds)
            batch: dict[Pair, _Request] = {}
            for pair in tuple(self._waiting):
                if len(batch) == self._size:
                    break
                requests = [
                    request for request in self._waiting.pop(pair) if not request.future.cancelled()
                ]
                if requests:
                    self._taken[pair], batch[pair] = requests, requests[0]
            if not batch:
                self._threads -= 1
            return batch

    def _scores(self, batch: dict[Pair, _Request]) -> dict[Pair, Score]:
        """Score a batch; where that fails, the pairs of each request alone, so that one costs no other."""
        found = self._asked(list(batch))
        if not isinstance(found, str):
            return found
        groups: dict[_Request, list[Pair]] = {}
        for pair, request in batch.items():
            groups.setdefault(request, []).append(pair)
        scores: dict[Pair, Score] = {}
        for pairs in groups.values():
            again = found if len(groups) == 1 else self._asked(pairs)
            scores.update(dict.fromkeys(pairs, again) if isinstance(again, str) else again)
        return scores

    def _asked(self, pairs: Sequence[Pair]) -> dict[Pair, Score] | str:
        """Call the function; return what went wrong, if it failed."""
        try:
            returned = self._predict(list(pairs))
            if inspect.isawaitable(returned):
                returned = run_sync(_awaited, returned)
            return dict(zip(pairs, self._read(returned, len(pairs)), strict=True))
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises, no caller may wait without end
            return f"{type(error).__name__}: {safe_text(error)}"


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
