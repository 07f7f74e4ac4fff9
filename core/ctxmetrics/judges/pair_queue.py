"""One queue of pairs for one function. It makes full batches of the pairs of many samples, and reads what the function returns.

Requests come from any loop and thread; the function is called in threads of its own, which end when nothing waits. So
a blocked loop holds up no other request.
"""

from __future__ import annotations

import asyncio
import inspect
import math
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
from ctxmetrics.models.runtime.memo import Memo, digest_key
from ctxmetrics.models.runtime.run import current_run
from ctxmetrics.samples.documents import as_list

# A premise and a hypothesis.
TextPair: TypeAlias = tuple[str, str]
# The probability of a pair, or a text that says why there is none.
PairScore: TypeAlias = "float | str"

# The scores that this process remembers if a run has no memory of its own: they take about 40 MB.
scores_of_process: Memo[Any] = Memo(200_000)
# How far a probability may lie outside of 0 to 1 by rounding.
_ROUNDING_TOLERANCE = 1e-6
# The first part of the key of every score in a cache: the version of how pairs are asked about.
_VERSION = "nli-1"
# The next parts of the key: the form in which scores are stored.
_STORED_FORM = ("None", "none")


class PairFailure(str):
    """The reason, in words, why a function has no score for a pair. It stands in the list of scores instead of a number."""

    __slots__ = ()


class PredictionError(ValueError):
    """The returned scores cannot be matched with the pairs."""


class Queue:
    """Gathers pairs until a batch is full, or until no pair came for a moment.

    A pair that several callers ask for at the same time is scored once. The pairs of a cancelled caller are still scored, and
    remembered.

    Args:
        predict: A function of a list of pairs. It returns scores that `read_scores` can read, or an awaitable of them.
        size: The maximum number of pairs in a batch.
        workers: The maximum number of calls at the same time.
        wait_seconds: How long a batch that is not full waits for more pairs.
    """

    def __init__(
        self, predict: Callable[[list[TextPair]], Any], size: int, workers: int, wait_seconds: float
    ) -> None:
        self._predict = predict
        self._size = size
        self._workers = workers
        self._wait_seconds = wait_seconds
        self._start_empty()

    def __reduce__(self) -> tuple[Any, ...]:
        return Queue, (self._predict, self._size, self._workers, self._wait_seconds)

    def _start_empty(self) -> None:
        """Begin without pairs and threads: in a new queue, and in a forked child."""
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._threads = 0
        # The pairs that are in no batch yet, each with the request that asked for it first.
        self._waiting: dict[TextPair, object] = {}
        # The pairs without a score: those that wait, and those that the function was called with.
        self._unscored: dict[TextPair, Future[PairScore]] = {}

    def submit(
        self, keys: Mapping[TextPair, str], memory: Memo[float]
    ) -> tuple[dict[TextPair, PairScore], dict[TextPair, Future[PairScore]]]:
        """Ask for the scores of different pairs.

        Args:
            keys: The pairs, each with the key of its score in the memory.
            memory: The scores that are known. A new score is stored there before another request can ask for it.

        Returns:
            The scores that are known, and the futures of the others.
        """
        if self._process != os.getpid():  # a forked child has no threads to release a lock
            self._start_empty()
        pending: dict[TextPair, Future[PairScore]] = {}
        with self._changed:
            scores: dict[TextPair, PairScore] = {}
            for pair, key in keys.items():
                score = memory.peek(key)
                if score is not None:
                    scores[pair] = score
                    continue
                if pair not in self._unscored:
                    future: Future[PairScore] = Future()
                    # Other callers may wait for the future, so no caller may cancel it.
                    future.set_running_or_notify_cancel()
                    self._unscored[pair] = future
                    self._waiting[pair] = keys
                pending[pair] = self._unscored[pair]
                pending[pair].add_done_callback(partial(_remember, memory, key))
            full_batches = math.ceil(len(self._waiting) / self._size)
            while self._threads < min(self._workers, full_batches):
                threading.Thread(target=self._work, name="ctxmetrics-nli", daemon=True).start()
                self._threads += 1  # counted after the start, which may fail
            self._changed.notify()
        return scores, pending

    def _work(self) -> None:
        """Call the function for one batch after the other, until no pair waits."""
        while True:
            deadline = time.monotonic() + self._wait_seconds
            with self._changed:
                while 0 < len(self._waiting) < self._size:
                    seconds_left = deadline - time.monotonic()
                    if seconds_left <= 0:
                        break
                    self._changed.wait(seconds_left)
                pairs = list(islice(self._waiting, self._size))
                batch = {pair: self._waiting.pop(pair) for pair in pairs}
                if not batch:
                    self._threads -= 1
                    return
            scores = self._score_batch(batch)
            with self._changed:
                for pair in batch:
                    self._unscored.pop(pair).set_result(scores[pair])

    def _score_batch(self, batch: Mapping[TextPair, object]) -> dict[TextPair, PairScore]:
        """Score a batch. If that fails, score the pairs of each request alone, so that only the wrong request fails."""
        try:
            returned = self._predict(list(batch))
            if inspect.isawaitable(returned):
                returned = run_sync(asyncio.wait_for, returned, None)
            return dict(zip(batch, read_scores(returned, len(batch)), strict=True))
        except BaseException as error:  # noqa: BLE001 - whatever a user's function raises, no caller may wait without end
            request_ids = {id(request) for request in batch.values()}
            if len(request_ids) == 1:
                return dict.fromkeys(batch, f"{type(error).__name__}: {safe_text(error)}")
        scores: dict[TextPair, PairScore] = {}
        for request_id in request_ids:
            own_pairs = {pair: request for pair, request in batch.items() if id(request) == request_id}
            scores |= self._score_batch(own_pairs)
        return scores


def _remember(memory: Memo[float], key: str, future: Future[PairScore]) -> None:
    """Remember the score of a pair, which its future holds. An error, which is a text, is not remembered."""
    score = future.result()
    if not isinstance(score, str):
        memory.remember(key, score)


async def score_pairs(
    queue: Queue, identity: str, pairs: Iterable[TextPair]
) -> tuple[Mapping[TextPair, PairScore], int]:
    """Score pairs from memory, the cache, a batch in flight, or by asking.

    Args:
        queue: The queue of the model that is asked.
        identity: The name of the model in the keys of the scores.
        pairs: The pairs.

    Returns:
        The scores, and the number of pairs that were not in the memory.
    """
    run = current_run()
    memory = run.memo or scores_of_process
    cache = run.cache
    keys = {pair: digest_key((_VERSION, identity, *_STORED_FORM, *pair)) for pair in pairs}
    if cache is not None:
        for key in keys.values():
            if memory.peek(key) is not None:
                continue
            stored = cache.get(key)
            with suppress(ValueError):  # another version may have stored something else
                if stored is not None and 0 <= float(stored) <= 1:
                    memory.remember(key, float(stored))
    scores, pending = queue.submit(keys, memory)
    answers = await asyncio.gather(*map(asyncio.wrap_future, pending.values()))
    for pair, score in zip(pending, answers, strict=True):
        scores[pair] = score
        has_failed = isinstance(score, str)  # the reason why there is no score
        if cache is not None and not has_failed:
            cache.put(keys[pair], repr(score))
    return scores, len(pending)


# --- what is returned ---


def read_scores(returned: object, count: int, *, takes_booleans: bool = False) -> list[PairScore]:
    """Return one probability for each pair, in order; for a pair without one, a text that says what is wrong.

    Args:
        returned: A list, an array or a tensor of numbers from 0 to 1, perhaps with a single column.
        count: The number of pairs that the function was given.
        takes_booleans: Whether true and false count as 1 and 0. If two texts are equal, the answer may be yes or no. A judge's yes
            or no has no probability.

    Raises:
        PredictionError: The returned object is no list, or does not have one entry for each pair.
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
    return [_read_score(as_list(item), takes_booleans=takes_booleans) for item in items]


def _read_score(item: object, *, takes_booleans: bool) -> PairScore:
    """Read the score of a pair, or explain what is wrong with it."""
    if isinstance(item, PairFailure):
        return str(item)
    number = item
    if isinstance(item, list) and len(item) == 1:  # the function returned one column
        number = item[0]
    is_refused = isinstance(number, bool) and not takes_booleans
    if isinstance(number, (int, float)) and not is_refused:
        is_in_range = -_ROUNDING_TOLERANCE <= number <= 1 + _ROUNDING_TOLERANCE  # false for NaN
        if is_in_range:
            return min(max(float(number), 0.0), 1.0)
    return (
        f"predict returned {reprlib.repr(number)} for a pair: it must be a number from 0 to 1. Where a model returns "
        "logits, several numbers or labels, let predict return the probability of entailment alone."
    )
