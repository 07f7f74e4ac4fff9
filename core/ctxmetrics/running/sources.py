"""The samples of a run: a list that is checked first, or a stream that is read during the run."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from operator import attrgetter
from typing import Any

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import CtxMetricsError, MissingFieldError, ParameterError, SampleError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.models.runtime.background import WAKE_SECONDS, background_loop, cancellations
from ctxmetrics.reading import PEEKED, Reading, RowFile, recognise
from ctxmetrics.reading.shapes import COMPARED, joined_by, refusal_of, to_record
from ctxmetrics.samples import Sample

# Seconds that a sample waits at most for the next ones, to be handed on with them.
_LONGEST_REST = 0.02


class Source:
    """Returns the samples in order, each checked, in the event loop's own thread. No two have the same id.

    Of a list, every sample is checked at once, before anything is paid. Any other iterable is read as the run goes
    on, so it may be of any length.

    Args:
        samples: Samples, or mappings of their fields.
        metrics: The metrics, for the fields they need.

    Attributes:
        total: How many samples there are, or None when that is not known.
        joined: The separator of the passages, where nearly every sample has several in its one context.

    Raises:
        ParameterError: It is no iterable of samples.
        SampleError: A sample of the list is malformed, or has the id of another.
        MissingFieldError: No sample of the list has a field that a metric needs.
    """

    def __init__(
        self, samples: Iterable[Sample | Mapping[str, Any]], metrics: Sequence[Metric]
    ) -> None:
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
        # The fields that a metric needs and that no sample so far has.
        self._lacking = {name for metric in metrics for name in metric.requires}
        self._number = 0
        self._places: dict[str, int] = {}
        self._stopped = False
        self.total: int | None = len(samples) if isinstance(samples, Sized) else None
        self._listed = isinstance(samples, (list, tuple))
        self._reading: Reading | None = None
        self._samples: Iterator[Any] = iter(samples)
        self.joined: str | None = samples.reading.joined if isinstance(samples, RowFile) else None
        if self._listed:
            mappings = [sample for sample in samples if isinstance(sample, Mapping)]
            if mappings:
                self._reading = recognise(mappings, written=False, source="samples")
            checked = [self._checked(sample) for sample in samples]
            read = attrgetter(*COMPARED)
            alone = [read(sample) for sample in checked[:PEEKED] if sample.stages is None]
            # One question does not repeat.
            refusal = refusal_of([*map(to_record, alone)], {}) if len(alone) > 1 else None
            if refusal is not None:
                raise SampleError(refusal)
            self.joined = joined_by(sample.retrieved_contexts or () for sample in checked)
            self._samples = iter(checked)
            if self._lacking and samples:
                check_present(metrics, self._lacking)

    def read(self) -> Sample | None:
        """Return the next sample of a stream, or None at the end.

        Raises:
            SampleError: It is malformed, or the iterable itself raised; that is the end too.
            MissingFieldError: At the end: no sample had a field that a metric needs.
        """
        try:
            sample = next(self._samples, None)
        except Exception as error:
            raise SampleError(
                f"The samples broke off after {self._number}: {type(error).__name__}: {safe_text(error)}"
            ) from error
        if sample is not None:
            return self._checked(sample)
        if self._lacking and self._number:
            check_present(self._metrics, self._lacking)
        return None

    async def next(self, ahead: int) -> Sample | None:  # noqa: ARG002 - for `CallerSource.next`, which is called alike
        """Return the next sample, or None at the end; of a stream also when stopped.

        Args:
            ahead: How many may be read at most before they are asked for.

        Raises:
            SampleError, MissingFieldError: As `read` raises.
        """
        if self._listed:
            return next(self._samples, None)
        await asyncio.sleep(0)  # lets the loop run between two samples
        return None if self._stopped else self.read()

    def stop(self) -> None:
        """Read a stream no further."""
        self._stopped = True

    def _checked(self, sample: object) -> Sample:
        self._number += 1
        if isinstance(sample, Mapping):
            # Those of a stream are read as its first one is.
            self._reading = self._reading or recognise([sample], written=False, source="samples")
            sample = Sample.read(sample, self._reading, where=f"Sample {self._number}")
        elif not isinstance(sample, Sample):
            raise SampleError(
                f"Sample {self._number} must be a Sample or a mapping of its fields, not {type(sample).__name__}."
            )
        check_id(sample, self._number, self._places)
        if self._lacking:
            self._lacking = {name for name in self._lacking if not sample.has(name)}
        return sample


def check_present(metrics: Iterable[Metric], lacking: Container[str]) -> None:
    """Raise if a metric needs a field that no sample has.

    Raises:
        MissingFieldError: Names the field and the metric.
    """
    for metric in metrics:
        missing = [name for name in metric.requires if name in lacking]
        if missing:
            raise MissingFieldError(
                f"No sample has {' or '.join(missing)}, which {metric.name} needs. "
                "Fill the field, map it with schema=, or leave the metric out."
            )


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


class CallerSource(Source):
    """Reads the samples in the thread that called `evaluate`, for a run in the library's own loop.

    A generator may belong to its thread (a database cursor does) and may be slow; and Ctrl-C is raised
    in the calling thread. Arguments, attributes and errors are those of `Source`.
    """

    def __init__(
        self, samples: Iterable[Sample | Mapping[str, Any]], metrics: Sequence[Metric]
    ) -> None:
        super().__init__(samples, metrics)
        self._permits = threading.Semaphore(0)
        self._asked = 0
        self._arrived: deque[Sample | CtxMetricsError | None] = deque()
        self._waits = False
        self._woken = asyncio.Event()
        self._woken_at = 0.0

    def serve(self, until: Future[Any], before: int) -> None:
        """Read what is asked for until a future is done; called in the caller's thread, by `run_sync`."""
        until.add_done_callback(lambda _: self._permits.release())
        sample: Sample | CtxMetricsError | None
        ended = False
        while not (ended or until.done()):
            if self._permits.acquire(timeout=WAKE_SECONDS) and not until.done():
                try:
                    sample = self.read()
                except CtxMetricsError as error:
                    sample = error
                self._arrived.append(sample)
                ended = not isinstance(sample, Sample)
                if self._waits and (ended or self._is_due()):
                    self._waits, self._woken_at = False, time.monotonic()
                    background_loop().call_soon_threadsafe(self._woken.set)
            if cancellations() > before:
                raise KeyboardInterrupt

    def _is_due(self) -> bool:
        """Whether to wake the loop, which costs as much as to read a row: where nothing is judged, once for several rows."""
        if any(metric.waits for metric in self._metrics) or len(self._arrived) >= self._asked:
            return True
        return time.monotonic() - self._woken_at > _LONGEST_REST

    async def next(self, ahead: int) -> Sample | None:  # noqa: D102 - see `Source`
        if ahead > self._asked:
            self._permits.release(ahead - self._asked)
            self._asked = ahead
        while not self._arrived:
            self._woken.clear()
            self._waits = True
            if not self._arrived:  # nothing came since the last look
                await self._woken.wait()
        self._waits = False
        sample = self._arrived.popleft()
        self._asked -= 1
        if isinstance(sample, CtxMetricsError):
            raise sample
        return sample

    def stop(self) -> None:  # noqa: D102 - see `Source`
        self._arrived.append(None)
        self._woken.set()
