"""Scoring in several processes of one machine: batches of samples out, their scores back.

For metrics that send no request. A worker is a program that reads its metrics and then one batch after the other from
stdin, and writes the scores to stdout. Both ends are this library on one
machine, and nothing else can write to the pipes between them: so pickle is safe here, and carries metrics and scores as
they are. It imports nothing of the calling script. It ends when its stdin
does, so none is left behind when the run is killed; it has a session of its own, so Ctrl-C reaches the run only.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, cast

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.scoring import score_sample
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric
from ctxmetrics.samples import Sample
from ctxmetrics.scores import Score

_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from ctxmetrics.evaluation.workers import work; work()"
)
# Samples that a worker gets at once.
BATCH = 16


class Workers:
    """Processes that score samples.

    Args:
        count: How many processes.
        metrics: The metrics, with their judges.

    Raises:
        ParameterError: A metric sends requests, or cannot be sent to another process.
    """

    def __init__(self, count: int, metrics: Sequence[Metric]) -> None:
        from ctxmetrics.judges.lexical.judge import LexicalJudge

        for metric in metrics:
            if isinstance(metric, JudgedMetric) and not isinstance(metric.judge, LexicalJudge):
                raise ParameterError(
                    f"evaluate: workers={count} is for metrics that send no request, with the embedded judge at most; "
                    f"{metric.name} has the judge {metric.judge.name if metric.judge else None}. Leave workers out: "
                    "max_concurrency= bounds its requests."
                )
        try:
            self._start: bytes = pickle.dumps([*sys.path]) + pickle.dumps(tuple(metrics))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ParameterError(
                f"evaluate: workers={count}: the metrics cannot be sent to another process: {error}. A function that is "
                "a parameter must stand in a module."
            ) from None
        self._metrics = tuple(metrics)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="ctxmetrics-worker")
        self._own = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []
        self._closed = False
        self._waiting: list[tuple[Sample, list[asyncio.Future[Score]]]] = []
        self._sending: set[asyncio.Task[None]] = set()

    def score(self, sample: Sample) -> list[asyncio.Future[Score]]:
        """Return the scores of a sample to come, one a metric; it is sent with those that follow at once."""
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Score]] = [loop.create_future() for _ in self._metrics]
        self._waiting.append((sample, futures))
        if len(self._waiting) == 1:
            loop.call_soon(self._send)
        elif len(self._waiting) == BATCH:
            self._send()
        return futures

    def _send(self) -> None:
        if self._waiting:
            batch, self._waiting = self._waiting, []
            task = asyncio.get_running_loop().create_task(self._answer(batch))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _answer(self, batch: Sequence[tuple[Sample, list[asyncio.Future[Score]]]]) -> None:
        samples = [sample for sample, _ in batch]
        loop = asyncio.get_running_loop()
        found: Sequence[Sequence[Score]] | BaseException
        try:
            found = await loop.run_in_executor(self._threads, self._ask, samples)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            found = [self._lost(sample, error) for sample in samples]
        except Exception as error:  # noqa: BLE001 - misuse that a metric found in the worker raises here as it does without
            found = error
        for number, (_, futures) in enumerate(batch):
            for place, future in enumerate(futures):
                if future.done():
                    continue
                if isinstance(found, BaseException):
                    future.set_exception(found)
                else:
                    future.set_result(found[number][place])

    def _lost(self, sample: Sample, error: Exception) -> list[Score]:
        message = f"the process that scored this sample and up to {BATCH - 1} others ended: {type(error).__name__} {error}"
        return [
            metric.build(sample, None, reason_code="metric_error", message=message.strip())
            for metric in self._metrics
        ]

    def _ask(self, samples: Sequence[Sample]) -> Sequence[Sequence[Score]]:
        """Let the process of this thread score a batch. One that has ended is replaced for the next batch."""
        process: subprocess.Popen[bytes] | None = getattr(self._own, "process", None)
        new = process is None
        if process is None:
            if self._closed:
                raise EOFError("the run has ended")
            process = self._own.process = subprocess.Popen(  # noqa: S603 - this interpreter and a fixed text
                [sys.executable, "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            self._all.append(process)
        requests, answers = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            requests.write((self._start if new else b"") + pickle.dumps(samples))
            requests.flush()
            answer = pickle.load(answers)  # noqa: S301 - from this library in a process of its own
        except BaseException:
            self._own.process = None
            process.kill()
            raise
        if isinstance(answer, Exception):
            raise answer
        return cast("Sequence[Sequence[Score]]", answer)

    def close(self) -> None:
        """End the processes, also those at work."""
        self._closed = True
        for process in self._all:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._all:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not yet written to a process that was killed
                    if stream is not None:
                        stream.close()


def work() -> None:
    """Score what comes in at stdin until it ends."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a metric prints must not stand among the answers
    metrics: tuple[Metric, ...] = pickle.load(requests)  # noqa: S301 - from the process that started this one
    loop = asyncio.new_event_loop()
    while True:
        try:
            samples = pickle.load(requests)  # noqa: S301 - the same
        except EOFError:
            return
        try:
            answer: object = loop.run_until_complete(_score_all(metrics, samples))
        except Exception as error:  # noqa: BLE001 - raised where the run is
            answer = error
        pickle.dump(answer, answers)
        answers.flush()


async def _score_all(metrics: Sequence[Metric], samples: Sequence[Sample]) -> list[list[Score]]:
    return [[await score_sample(metric, sample) for metric in metrics] for sample in samples]
