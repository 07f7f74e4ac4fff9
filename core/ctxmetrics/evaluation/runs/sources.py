"""The samples of a run: a list that is checked first, or a stream that is read during the run."""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import (
    CtxMetricsError,
    InputFileError,
    MissingFieldError,
    ParameterError,
    SampleError,
)
from ctxmetrics.evaluation.files.column_proposals import describe_candidates
from ctxmetrics.evaluation.files.faulty_rows import naming_faulty_rows
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.passage_lists import (
    COMPARED_FIELDS,
    explain_refusal,
    find_joined_lists,
    to_compared_row,
)
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.files.row_file import RowFile
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.sample_file import read_sample, read_samples
from ctxmetrics.evaluation.files.several_runs import (
    SettingCheck,
    find_setting,
    may_hold_setting,
    read_retrieval,
)
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judging import JudgedMetric
from ctxmetrics.models.runtime.background import WAKE_SECONDS, background_loop, count_cancellations
from ctxmetrics.samples.field_keys import RETRIEVED
from ctxmetrics.samples.sample import Sample

# The fields that say to which retrieval a sample belongs.
_SETTING_FIELDS = ("user_input", "reference", "id", *RETRIEVED, "metadata")
# The maximum number of samples of repeated questions that are compared.
_MAX_REPEATED_SAMPLES = 1000
# The number of samples that one thread passes to the other at once if nothing is judged. Each turn costs as much as ten rows.
_SAMPLES_PER_GROUP = 256
# The maximum number of seconds that a sample waits for the next samples, to be passed on with them.
_MAX_WAIT_SECONDS = 0.02
# What an iterator returns behind its last sample. None is no sample: it is refused.
_END = object()


class Source:
    """Returns the samples in order, each checked, in the event loop's own thread. No two have the same id.

    Every sample of a list is checked at once, before anything is paid. Any other iterable is read during the run, so it may
    be of any length.

    Args:
        samples: Samples, or mappings of their fields.
        metrics: The metrics. They say which fields the samples need.

    Attributes:
        total: How many samples there are, or None when that is not known.
        setting: The key of the metadata that tells several retrievals of one question apart, with its values.
        joined: By field, the separator of passages, if in nearly every sample the only text of the field is several passages.

    Raises:
        ParameterError: ``samples`` is no iterable of samples.
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
        self._missing_fields = {name for metric in metrics for name in metric.requires}
        self._read_count = 0
        self._numbers_by_id: dict[str, int] = {}
        self._stopped = False
        self.total: int | None = len(samples) if isinstance(samples, Sized) else None
        self._is_list = isinstance(samples, (list, tuple))
        self._plan: Plan | None = None
        self._setting_check = SettingCheck()
        self.setting: tuple[str, list[str]] | None = None
        self._samples: Iterator[Any] = iter(samples)
        self._file = samples if isinstance(samples, RowFile) else None
        self._source = self._file
        self.joined: Mapping[str, str] = samples.plan.joined if isinstance(samples, RowFile) else {}
        if self._is_list:
            with naming_faulty_rows(samples):
                self._check_list([*samples])
            if self._missing_fields and samples:
                self._check_present()

    def _check_list(self, samples: Sequence[Sample | Mapping[str, Any]]) -> None:
        """Read and check the samples of a list."""
        mappings = [sample for sample in samples if isinstance(sample, Mapping)]
        if mappings:
            self._plan = recognise(mappings, parses_texts=False, source="samples")
        checked = [self._read_checked(sample) for sample in samples]
        read_fields = attrgetter(*COMPARED_FIELDS)  # those in which samples of one question are equal
        records = [
            to_compared_row(read_fields(sample))
            for sample in checked[:LOOKAHEAD_ROWS]
            if sample.stages is None
        ]
        # A list that repeats a question for each passage is refused. A single sample cannot show such a repetition.
        refusal = explain_refusal(records, {}) if len(records) > 1 else None
        self.setting = _find_setting_key(checked)
        if refusal is not None and self.setting is None:
            raise SampleError(refusal)
        self.joined = find_joined_lists(
            (sample.retrieved_contexts or (), sample.reference_contexts or ()) for sample in checked
        )
        self._samples = iter(checked)

    def count(self) -> int | None:
        """Count the samples.

        Samples in a file are counted in the file itself, because the run reads them one after the other. The file is counted
        once at most.

        Returns:
            The number; None if the samples come from an iterator, or the file has a faulty line.
        """
        file = self._file
        if self.total is None and file is not None:
            self._file = None  # a faulty file is not counted again
            with suppress(InputFileError):  # the error is raised when the faulty line is read
                self.total = file.count()
        return self.total

    def read(self) -> Sample | None:
        """Return the next sample of a stream, or None at the end.

        Raises:
            SampleError: The sample is malformed, or the iterable itself raised an error. Then the stream has ended.
            MissingFieldError: At the end: no sample had a field that a metric needs.
        """
        try:
            sample = next(self._samples, _END)
        except Exception as error:
            # The text of our own errors stays whole, with the options that it names.
            text = str(error) if isinstance(error, CtxMetricsError) else safe_text(error)
            raise SampleError(
                f"The samples broke off after {self._read_count}: {type(error).__name__}: {text}"
            ) from error
        if sample is not _END:
            return self._read_checked(sample)
        if self._missing_fields and self._read_count:
            self._check_present()
        return None

    def _check_present(self) -> None:
        """Check that some sample has each field that metrics need. The error names columns that may hold a missing field.

        Raises:
            MissingFieldError: See `check_present`.
        """
        try:
            check_present(self._metrics, self._missing_fields, self._list_plans())
        except MissingFieldError as error:
            if self._source is None:
                raise
            path = shlex.quote(str(self._source.path))
            raise MissingFieldError(
                f"{error} ctxmetrics inspect {path} shows the columns, and what they may be."
            ) from None

    def _list_plans(self) -> list[Plan]:
        """List the plans by which the samples are read: of the file and its references, or of the mappings."""
        if self._source is not None:
            return self._source.list_plans()
        return [] if self._plan is None else [self._plan]

    async def next(self, ahead: int) -> Sample | None:  # noqa: ARG002 - for `CallerSource.next`, which is called alike
        """Return the next sample, or None at the end. For a stream, return None also if it was stopped.

        Args:
            ahead: The maximum number of samples that may be read before the caller asks for them.

        Raises:
            SampleError, MissingFieldError: As `read` raises.
        """
        if self._is_list:
            return next(self._samples, None)
        await asyncio.sleep(0)  # lets the loop run between two samples
        return None if self._stopped else self.read()

    def stop(self) -> None:
        """Stop reading a stream."""
        self._stopped = True

    def _read_checked(self, item: object) -> Sample:
        """Read the next sample of a stream, and check its id, its fields and its setting."""
        self._read_count += 1
        sample = item if isinstance(item, Sample) else self._read_mapping(item)
        check_id(sample, self._read_count, self._numbers_by_id)
        if self._missing_fields:
            self._missing_fields = {name for name in self._missing_fields if not sample.has(name)}
        return sample

    def _read_mapping(self, item: object) -> Sample:
        """Read the next sample from a mapping of its fields, and check its setting. Any other object is refused."""
        sample_name = f"Sample {self._read_count}"
        with naming_faulty_rows([item], first=self._read_count):
            if isinstance(item, Mapping) and self._plan is None:
                # The fields of the first mapping decide how all are read.
                self._plan = recognise([item], parses_texts=False, source="samples")
            sample = to_sample(item, self._plan, sample_name)
        if sample.metadata:
            try:
                self._setting_check.check(_read_setting(sample))
            except SampleError as error:
                raise error.at(sample_name) from None
        return sample


def to_sample(sample_or_fields: object, plan: Plan | None, sample_name: str) -> Sample:
    """Return a sample as it is, or build one from a mapping of fields.

    Args:
        sample_or_fields: The sample or the mapping.
        plan: How mappings are read; None if there are none.
        sample_name: The name of the sample in messages.

    Raises:
        SampleError: The object is neither a sample nor a mapping, or a field is wrong.
    """
    if isinstance(sample_or_fields, Mapping) and plan is not None:
        return read_sample(sample_or_fields, plan, where=sample_name)
    if not isinstance(sample_or_fields, Sample):
        type_name = type(sample_or_fields).__name__
        raise SampleError(
            f"{sample_name} must be a Sample or a mapping of its fields, not {type_name}."
        )
    return sample_or_fields


def list_samples(
    source: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
    function: str,
    noun: str = "samples",
) -> list[Sample]:
    """List samples, given as samples, as mappings of their fields, or as a file. No two may have the same id.

    Args:
        source: The samples, or the path of a file.
        function: The function that was called, for messages.
        noun: What messages call the samples, in the plural.

    Raises:
        ParameterError: The objects are no samples.
        SampleError: A sample is malformed, or two samples have one id.
        InputFileError: The file cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        items: list[Any] = [*read_samples(source)]
    elif isinstance(source, (Sample, Mapping, bytes)) or not isinstance(source, Iterable):
        raise ParameterError(
            f"{function}: {noun} must be several samples, or a file of them. Write [sample] for a single one."
        )
    elif hasattr(source, "columns"):
        raise ParameterError(
            f"{function}: {noun} is a table. Write table.to_dict('records'), with polars table.to_dicts()."
        )
    else:
        items = [*source]
    mappings = [item for item in items if isinstance(item, Mapping)]
    title = noun[:-1].capitalize()  # "samples" gives "Sample 1", "Sample 2" ..
    samples: list[Sample] = []
    numbers_by_id: dict[str, int] = {}
    with naming_faulty_rows(items, title):
        plan = recognise(mappings, parses_texts=False, source=noun) if mappings else None
        for number, item in enumerate(items, 1):
            sample = to_sample(item, plan, f"{title} {number}")
            check_id(sample, number, numbers_by_id)
            samples.append(sample)
    return samples


def _find_setting_key(samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
    """Find the key of the metadata that tells several retrievals of one question apart. Return None if there is none."""
    if not any(may_hold_setting(sample.metadata) for sample in samples[:LOOKAHEAD_ROWS]):
        samples = _list_repeated_questions(samples)
    rows = (read_retrieval(_read_setting(sample)) for sample in samples)
    return find_setting(row for row in rows if row is not None)


def _list_repeated_questions(samples: Sequence[Sample]) -> list[Sample]:
    """List the samples with metadata whose question another one has. If there are very many, list only the first."""
    with_metadata = [sample for sample in samples if sample.metadata and sample.user_input]
    counts = Counter(sample.user_input for sample in with_metadata)
    repeated = [sample for sample in with_metadata if counts[sample.user_input] > 1]
    return repeated[:_MAX_REPEATED_SAMPLES]


def _read_setting(sample: Sample) -> dict[str, Any]:
    """Read the fields of a sample that name a retrieval."""
    return {name: getattr(sample, name) for name in _SETTING_FIELDS}


def check_present(
    metrics: Iterable[Metric], absent_fields: Collection[str], plans: Iterable[Plan] = ()
) -> None:
    """Raise if metrics need fields that no sample has.

    Args:
        metrics: The metrics.
        absent_fields: The fields that no sample has.
        plans: How the samples were read. The error proposes the columns that may hold the fields.

    Raises:
        MissingFieldError: Names all fields, and the metrics that need them.
    """
    # The names of the metrics by the missing fields that they need.
    metrics_by_fields: dict[tuple[str, ...], list[str]] = {}
    for metric in metrics:
        missing_fields = tuple(name for name in metric.requires if name in absent_fields)
        if missing_fields:
            metrics_by_fields.setdefault(missing_fields, []).append(metric.name)
    if not metrics_by_fields:
        return
    clauses = []
    for missing_fields, names in metrics_by_fields.items():
        verb = "needs" if len(names) == 1 else "need"
        clauses.append(f"{' or '.join(missing_fields)}, which {' and '.join(names)} {verb}")
    advice = ""
    for plan in plans:
        advice += describe_candidates(plan.candidates, absent_fields)
        has_facts = "reference_facts" in plan.reading.mapping or "reference_facts" in plan.candidates
        if "reference" in absent_fields and has_facts:
            advice += describe_facts(metrics)
    raise MissingFieldError(
        f"No sample has {'; or '.join(clauses)}. Fill the field, name its column (columns=, on the command line --map), or "
        f"leave the metric out.{advice}"
    )


def describe_facts(metrics: Iterable[Metric]) -> str:
    """Name the metrics that count facts in place of those that need a reference. The result is empty if there are none."""
    options = [
        f"--metric {shlex.quote(replace(metric, unit='fact').name)}"
        for metric in metrics
        if isinstance(metric, JudgedMetric) and "reference" in metric.requires
    ]
    return f" Facts are counted by {' '.join(options)}." if options else ""


def check_id(sample: Sample, number: int, numbers_by_id: dict[str, int]) -> None:
    """Remember the number of a sample with an id.

    Args:
        sample: The sample; without an id, nothing is noted.
        number: The number of the sample.
        numbers_by_id: The numbers of the samples before it, by id.

    Raises:
        SampleError: An earlier sample has the same id, so that their results could not be told apart.
    """
    if sample.id is None:
        return
    first_number = numbers_by_id.setdefault(sample.id, number)
    if first_number != number:
        raise SampleError(
            f"Samples {first_number} and {number} have the same id {sample.id[:80]!r}. Give each sample an id of its own, or none."
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
        # How many samples the loop asks for: each request puts a number.
        self._requested_counts: SimpleQueue[int] = SimpleQueue()
        self._has_ended = False
        # How many samples were asked for and not yet returned.
        self._pending_count = 0
        # Whether some metric waits for an answer, such as a judge's.
        self._any_metric_waits = any(metric.waits for metric in metrics)
        # The samples that were read and not yet returned. None is the end, an error is raised in the loop.
        self._read_samples: deque[Sample | CtxMetricsError | None] = deque()
        self._loop_waits = False
        self._wake_event = asyncio.Event()
        self._last_wake_time = 0.0

    def serve(self, until: Future[Any], before: int) -> None:
        """Read as many samples as `next` asks for, until a future is done. `run_sync` calls it in the caller's thread.

        Args:
            until: The future.
            before: How many times the caller had been interrupted before the call.
        """
        until.add_done_callback(self._end)
        while not self._has_ended:
            requested_count = 0
            with suppress(Empty):
                requested_count = self._requested_counts.get(timeout=WAKE_SECONDS)
            for _ in range(requested_count):
                if self._has_ended:
                    break
                self._read_one()
                if count_cancellations() > before:
                    raise KeyboardInterrupt
            if count_cancellations() > before:
                raise KeyboardInterrupt

    def _end(self, _: object) -> None:
        """End the reading, also if it waits for a request."""
        self._has_ended = True
        self._requested_counts.put(0)

    def _read_one(self) -> None:
        """Hand the next sample to the loop, or the end, or an error, which ends the reading, too."""
        sample: Sample | CtxMetricsError | None
        try:
            sample = self.read()
        except CtxMetricsError as error:
            sample = error
        self._read_samples.append(sample)
        if not isinstance(sample, Sample):
            self._has_ended = True
        if self._loop_waits and (self._has_ended or self._is_due()):
            self._loop_waits = False
            self._last_wake_time = time.monotonic()
            background_loop().call_soon_threadsafe(self._wake_event.set)

    def _is_due(self) -> bool:
        """Tell whether to wake the loop. To wake it costs as much as to read a row: if nothing is judged, it is woken once for several rows."""
        if self._any_metric_waits or len(self._read_samples) >= self._pending_count:
            return True
        return time.monotonic() - self._last_wake_time > _MAX_WAIT_SECONDS

    async def next(self, ahead: int) -> Sample | None:  # noqa: D102 - see `Source`
        # If nothing is judged, both threads would only wait for each other. So they take turns, and each handles a group of samples.
        if not self._any_metric_waits:
            ahead = max(ahead, _SAMPLES_PER_GROUP)
        if ahead > self._pending_count and (self._any_metric_waits or not self._pending_count):
            self._requested_counts.put(ahead - self._pending_count)
            self._pending_count = ahead
        while not self._read_samples:
            # The reader sets the event only while `_loop_waits` is set. So check once more for samples that arrived before that.
            self._wake_event.clear()
            self._loop_waits = True
            if not self._read_samples:
                await self._wake_event.wait()
        self._loop_waits = False
        sample_or_error = self._read_samples.popleft()
        self._pending_count -= 1
        if isinstance(sample_or_error, CtxMetricsError):
            raise sample_or_error
        return sample_or_error

    def stop(self) -> None:  # noqa: D102 - see `Source`
        self._read_samples.append(None)
        self._wake_event.set()
