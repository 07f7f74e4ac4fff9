"""One queue of pairs for one function. It makes full batches of the pairs of many samples, and reads what the function returns.

Requests come from any loop and thread; the function is called in threads of its own, which end when nothing waits. So
a blocked loop holds up no other request.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import reprlib
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.memo import Memo, hashed
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.reading import as_list

# A premise and a hypothesis.
Pair: TypeAlias = tuple[str, str]
# A probability, or what is wrong with what was returned for the pair.
Score: TypeAlias = "float | str"

# The scores that this process remembers, where a run has no memory of its own: about 40 MB.
scores_of_process: Memo[Any] = Memo(200_000)
_ROUNDING = 1e-6
# The first parts of the key of every score in a cache. They change when other pairs are asked about, or
# when scores are stored in another form.
_VERSION, *_FORM = "nli-1", "None", "none"


class PredictionError(ValueError):
    """What was returned cannot be matched with the pairs."""


class Queue:
    """Gathers pairs until a batch is full, or until no more came for a moment.

    A pair that several callers ask for at the same time is scored once. The pairs of a cancelled caller
    are scored all the same, and remembered.

    Args:
        predict: Takes a list of pairs; returns what `read_scores` reads, or an awaitable of it.
        size: Pairs in a batch at most.
        workers: Calls at the same time at most.
        wait_seconds: How long a batch that is not full waits for more pairs.
    """

    def __init__(
        self, predict: Callable[[list[Pair]], Any], size: int, workers: int, wait_seconds: float
    ) -> None:
        self._predict, self._size = predict, size
        self._workers, self._wait_seconds = workers, wait_seconds
        self._start_empty()

    def __reduce__(self) -> tuple[Any, ...]:
        return Queue, (self._predict, self._size, self._workers, self._wait_seconds)

    def _start_empty(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._threads = 0
        self._waiting: dict[Pair, object] = {}  # each with the request that asked for it first
        self._open: dict[Pair, Future[Score]] = {}  # those that wait, and those that the function has

    def submit(
        self, keys: Mapping[Pair, str], memory: Memo[float]
    ) -> tuple[dict[Pair, Score], dict[Pair, Future[Score]]]:
        """Ask for the scores of different pairs.

        Args:
            keys: The pairs, and what each is remembered under.
            memory: Where scores are looked up first. A new score is stored before another request can
                ask for it.

        Returns:
            The scores that are remembered, and those to come.
        """
        if self._process != os.getpid():  # a forked child has no threads to release a lock
            self._start_empty()
        coming: dict[Pair, Future[Score]] = {}
        with self._changed:
            known: dict[Pair, Score] = {}
            for pair, key in keys.items():
                score = memory.peek(key)
                if score is not None:
                    known[pair] = score
                    continue
                if pair not in self._open:
                    future = self._open[pair] = Future()
                    future.set_running_or_notify_cancel()  # others may wait: no caller can cancel it
                    self._waiting[pair] = keys
                coming[pair] = self._open[pair]
                coming[pair].add_done_callback(partial(_remember, memory, key))
            while self._threads < min(self._workers, -(-len(self._waiting) // self._size)):
                threading.Thread(target=self._work, name="ctxmetrics-nli", daemon=True).start()
                self._threads += 1  # there may be too many threads for one more
            self._changed.notify()
        return known, coming

    def _work(self) -> None:
        """Call the function for one batch after the other, until nothing waits."""
        while True:
            until = time.monotonic() + self._wait_seconds
            with self._changed:
                while 0 < len(self._waiting) < self._size and (rest := until - time.monotonic()) > 0:
                    self._changed.wait(rest)
                first = list(islice(self._waiting, self._size))
                batch = {pair: self._waiting.pop(pair) for pair in first}
                if not batch:
                    self._threads -= 1
                    return
            scores = self._scores(batch)
            with self._changed:
                for pair in batch:
                    self._open.pop(pair).set_result(scores[pair])

    def _scores(self, batch: Mapping[Pair, object]) -> dict[Pair, Score]:
        """Score a batch; where that fails, the pairs of each request alone, so that one costs no other."""
        try:
            returned = self._predict(list(batch))
            if inspect.isawaitable(returned):
                returned = run_sync(asyncio.wait_for, returned, None)
            return dict(zip(batch, read_scores(returned, len(batch)), strict=True))
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises, no caller may wait without end
            requests = {id(request) for request in batch.values()}
            if len(requests) == 1:
                return dict.fromkeys(batch, f"{type(error).__name__}: {safe_text(error)}")
        scores: dict[Pair, Score] = {}
        for one in requests:
            own = {pair: request for pair, request in batch.items() if id(request) == one}
            scores |= self._scores(own)
        return scores


def _remember(memory: Memo[float], key: str, done: Future[Score]) -> None:
    if not isinstance(score := done.result(), str):
        memory.remember(key, score)


async def score_pairs(
    queue: Queue, identity: str, pairs: Iterable[Pair]
) -> tuple[Mapping[Pair, Score], int]:
    """Score pairs from memory, the cache, a batch in flight, or by asking.

    Args:
        queue: Whom to ask.
        identity: Scores are stored under it.
        pairs: The pairs.

    Returns:
        The scores, and how many pairs were asked about.
    """
    run = current_run()
    memory, cache = run.memo or scores_of_process, run.cache
    keys = {pair: hashed((_VERSION, identity, *_FORM, *pair)) for pair in pairs}
    for key in keys.values():
        stored = cache.get(key) if cache is not None and memory.peek(key) is None else None
        with suppress(ValueError):  # another version may have stored something else
            if stored is not None and 0 <= float(stored) <= 1:
                memory.remember(key, float(stored))
    scores, pending = queue.submit(keys, memory)
    answers = await asyncio.gather(*map(asyncio.wrap_future, pending.values()))
    for pair, score in zip(pending, answers, strict=True):
        scores[pair] = score
        if cache is not None and not isinstance(score, str):
            cache.put(keys[pair], repr(score))
    return scores, len(pending)


# --- what is returned ---


def read_scores(returned: object, count: int) -> list[Score]:
    """Return one probability a pair, in order; for a pair without one, what is wrong.

    Args:
        returned: A list, an array or a tensor of numbers from 0 to 1, also one with a single column.
        count: How many pairs the function was given.

    Raises:
        PredictionError: It is no list, or has not one entry a pair.
    """
    items = as_list(returned)
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise PredictionError(
            f"predict returned {type(returned).__name__}: it must return one score for each pair, in order."
        )
    items = list(items)
    if len(items) != count:
        raise PredictionError(
            f"predict must return one score for each pair, in order: it was given {count}, and returned {len(items)}."
        )
    return [_probability(as_list(item)) for item in items]


def _probability(item: object) -> Score:
    number = item[0] if isinstance(item, list) and len(item) == 1 else item
    if isinstance(number, (int, float)) and -_ROUNDING <= number <= 1 + _ROUNDING:  # false for NaN
        return min(max(float(number), 0.0), 1.0)
    return (
        f"predict returned {reprlib.repr(number)} for a pair: it must be a number from 0 to 1. Where a model returns "
        "logits, several numbers or labels, let predict return the probability of entailment alone."
    )
