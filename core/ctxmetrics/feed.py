"""Where the samples of a run come from: a list that is looked through first, or a stream that is read as it goes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.redact import safe_text
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from ctxmetrics.metrics.base import Metric

T = TypeVar("T")

_READING_SECONDS = 0.02
"""A slow stream hands over what it has after this time."""
_WAKE_SECONDS = 0.5
"""How often a waiting thread looks up; on Windows, Ctrl-C is noticed only then."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one reading brought.

    Attributes:
        samples: The next samples; empty at the end.
        ended: Whether there are no more.
        problem: What broke the stream off.
    """

    samples: Sequence[Sample]
    ended: bool = False
    problem: SampleError | None = None


class Feed:
    """Gives the samples in order, each checked.

    Of a list, every sample is checked at once, before anything is paid. Any other iterable is read as the run goes
    on, so it may be of any length.

    Args:
        samples: Samples, or mappings of their fields.
        metrics: The metrics, for the fields they need.

    Attributes:
        total: How many samples there are, or None when nobody knows.
        listed: Whether they are a list.

    Raises:
        ParameterError: It is no iterable of samples.
        SampleError: A sample of the list is malformed.
        MissingFieldError: No sample of the list has a field that a metric needs.
    """

    def __init__(self, samples: Iterable[Sample | Mapping[str, Any]], metrics: Sequence[Metric]) -> None:
        if isinstance(samples, (Sample, Mapping, str, bytes)):
            raise ParameterError(
                "evaluate: samples must be several samples. Write [sample] for a single one."
            )
        if hasattr(samples, "columns"):
            raise ParameterError("evaluate: samples is a table. Write score_table(table, metrics).")
        if not hasattr(samples, "__iter__"):
            raise ParameterError(
                f"evaluate: samples must be a list, an iterator or a generator, not {type(samples).__name__}."
            )
        self._metrics = metrics
        self._lacking = {(metric.name, name) for metric in metrics for name in metric.requires}
        self._number = 0
        self.listed = isinstance(samples, (list, tuple))
        self.total = len(samples) if isinstance(samples, Sized) else None
        self._iterator: Iterator[Sample | Mapping[str, Any]] = iter(samples)
        if self.listed:
            self._iterator = iter([self._checked(sample) for sample in self._iterator])
            self.check_fields()

    def read(self, most: int) -> Batch:
        """Read up to so many samples; fewer where they come slowly. What the iterable raises breaks it off."""
        samples: list[Sample] = []
        until = time.monotonic() + _READING_SECONDS
        while len(samples) < most and (not samples or self.listed or time.monotonic() < until):
            try:
                sample = next(self._iterator)
            except StopIteration:
                return Batch(samples, ended=True)
            except Exception as error:  # noqa: BLE001 - the iterable is the caller's and may raise anything
                problem = SampleError(
                    f"The samples broke off after {self._number}: {type(error).__name__}: {safe_text(error)}"
                )
                problem.__cause__ = error
                return Batch(samples, ended=True, problem=problem)
            try:
                samples.append(self._checked(sample))
            except SampleError as error:
                return Batch(samples, ended=True, problem=error)
        return Batch(samples)

    def check_fields(self) -> None:
        """Raise if no sample so far has a field that a metric needs.

        Raises:
            MissingFieldError: Names the field and the metric.
        """
        for metric in self._metrics if self._number else ():
            missing = [name for name in metric.requires if (metric.name, name) in self._lacking]
            if missing:
                raise MissingFieldError(
                    f"No sample has {' or '.join(missing)}, which {metric.name} needs. "
                    "Fill the field, map it with schema=, or leave the metric out."
                )

    def _checked(self, sample: object) -> Sample:
        self._number += 1
        if isinstance(sample, Mapping):
            sample = Sample.from_dict(sample, where=f"Sample {self._number}")
        elif not isinstance(sample, Sample):
            raise SampleError(
                f"Sample {self._number} must be a Sample or a mapping of its fields, not {type(sample).__name__}."
            )
        if self._lacking:
            self._lacking = {needed for needed in self._lacking if getattr(sample, needed[1]) is None}
        return sample


class CallerThread:
    """The thread that called `evaluate` and waits: the samples are read in it.

    A generator may belong to its thread (a database cursor does), may take its time, and is where Ctrl-C arrives.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function in that thread, from an event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            result = function()
            loop.call_soon_threadsafe(_resolve, answer, result)

        self._jobs.put(job)
        return await answer

    def serve(self, until: Future[Any]) -> None:
        """Do what is asked until a future is done."""
        until.add_done_callback(lambda _: self._jobs.put(None))
        while True:
            try:
                job = self._jobs.get(timeout=_WAKE_SECONDS)
            except Empty:
                continue
            if job is None:
                return
            job()


def wait_for(future: Future[T]) -> T:
    """Return a future's result; Ctrl-C gets through on every system."""
    from concurrent.futures import wait

    while not wait((future,), timeout=_WAKE_SECONDS).done:
        pass
    return future.result()


def _resolve(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():
        answer.set_result(result)
