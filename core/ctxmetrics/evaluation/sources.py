"""Where the samples of a run come from: a list that is looked through first, or a stream that is read as it goes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, Protocol

from ctxmetrics._runtime.background import WAKE_SECONDS, interruption_check
from ctxmetrics._secrets import safe_text
from ctxmetrics.errors import MissingFieldError, ParameterError, SampleError
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from ctxmetrics.metrics.base import Metric


class Feed:
    """Gives the samples in order, each checked. Those that have an id have one of their own.

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
        SampleError: A sample of the list is malformed, or has the id of another.
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
        self._places: dict[str, int] = {}
        self.listed = isinstance(samples, (list, tuple))
        self.total = len(samples) if isinstance(samples, Sized) else None
        self._iterator: Iterator[Sample | Mapping[str, Any]] = iter(samples)
        if self.listed:
            self._iterator = iter([self._checked(sample) for sample in self._iterator])
            self.check_fields()

    def next(self) -> Sample | None:
        """Return the next sample, or None at the end.

        Raises:
            SampleError: It is malformed, or the iterable itself raised; that is the end too.
        """
        try:
            sample = next(self._iterator, None)
        except Exception as error:
            raise SampleError(
                f"The samples broke off after {self._number}: {type(error).__name__}: {safe_text(error)}"
            ) from error
        if self.listed and isinstance(sample, Sample):
            return sample  # checked at the beginning
        return None if sample is None else self._checked(sample)

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
        check_id(sample, self._number, self._places)
        if self._lacking:
            self._lacking = {needed for needed in self._lacking if getattr(sample, needed[1]) is None}
        return sample


def check_id(sample: Sample, number: int, places: dict[str, int]) -> None:
    """Note where a sample with an id stands.

    Args:
        sample: The sample; without an id, nothing is noted.
        number: Where it stands.
        places: Where those before it stand, by id.

    Raises:
        SampleError: One before it has its id: their results could not be told apart.
    """
    if sample.id is not None and (first := places.setdefault(sample.id, number)) != number:
        raise SampleError(
            f"Samples {first} and {number} have the same id {sample.id[:80]!r}. Give each sample an id of its own, or none."
        )


class Source(Protocol):
    """Hands the samples to an event loop."""

    async def next(self, ahead: int) -> Sample | None:
        """Return the next sample, or None at the end or when stopped; ``ahead`` may be read at most.

        Raises:
            SampleError: As `Feed.next` raises.
        """
        ...

    def stop(self) -> None:
        """Let whoever waits for a sample go."""
        ...


class LoopSource:
    """Reads the samples in the loop's own thread; between those of a stream, the loop has its turn."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._stopped = False

    async def next(self, ahead: int) -> Sample | None:  # noqa: D102 - see `Source`
        del ahead
        if not self._feed.listed:
            from asyncio import sleep

            await sleep(0)
            if self._stopped:
                return None
        return self._feed.next()

    def stop(self) -> None:  # noqa: D102 - see `Source`
        self._stopped = True


class CallerSource:
    """Reads the samples in the thread that called `evaluate`, which has nothing else to do.

    A generator may belong to its thread (a database cursor does), may take its time, and is where Ctrl-C arrives.
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._permits = threading.Semaphore(0)
        self._asked = 0
        self._arrived: deque[Sample | SampleError | None] = deque()
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        self._stopped = False

    def serve(self, until: Future[Any]) -> None:
        """Read what is asked for until a future is done; called in the caller's thread."""
        until.add_done_callback(lambda _: self._permits.release())
        ended, check = False, interruption_check()
        while not until.done():
            if self._permits.acquire(timeout=WAKE_SECONDS) and not (ended or until.done()):
                ended = self._read()
            check()

    def _read(self) -> bool:
        sample: Sample | SampleError | None
        try:
            sample = self._feed.next()
        except SampleError as error:
            sample = error
        self._arrived.append(sample)
        if (waiter := self._waiter) is not None:
            self._waiter = None
            waiter[0].call_soon_threadsafe(_resolve, waiter[1])
        return not isinstance(sample, Sample)

    async def next(self, ahead: int) -> Sample | None:  # noqa: D102 - see `Source`
        import asyncio

        if ahead > self._asked:
            self._permits.release(ahead - self._asked)
            self._asked = ahead
        loop = asyncio.get_running_loop()
        while not self._arrived and not self._stopped:
            waiter = loop.create_future()
            self._waiter = (loop, waiter)
            if not self._arrived:  # else it came in between, and nobody was told
                await waiter
        if not self._arrived:
            return None
        self._asked -= 1
        sample = self._arrived.popleft()
        if isinstance(sample, SampleError):
            raise sample
        return sample

    def stop(self) -> None:  # noqa: D102 - see `Source`
        self._stopped = True
        if self._waiter is not None:
            _resolve(self._waiter[1])


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
