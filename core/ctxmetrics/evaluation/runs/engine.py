"""Scores many samples: several at a time, with results in the order of the samples, and none is lost.

Requests in flight are bounded (`ctxmetrics.models.runtime.run`), not samples; only a window of samples is in memory at a
time, so the input may be of any length.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack, cast

from ctxmetrics.errors import (
    CtxMetricsError,
    OutputFileError,
    ParameterError,
)
from ctxmetrics.evaluation.batching.batch import Batch, waits_for
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.rows.output_paths import check_outputs
from ctxmetrics.evaluation.rows.provenances import (
    JUDGE_OPTIONS,
    describe_start,
    hash_judge_options,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.evaluation.rows.row_writer import OutFile
from ctxmetrics.evaluation.runs.controls import ControlRun, LabelledSample
from ctxmetrics.evaluation.runs.joined_contexts import describe_unsplit_passages, reads_unsplit_passages
from ctxmetrics.evaluation.runs.metric_list import check_metrics
from ctxmetrics.evaluation.runs.options import RunOptions, check_options
from ctxmetrics.evaluation.runs.progress import show_progress
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.evaluation.runs.sample_scores import (
    has_pending,
    is_failure,
    raise_failure,
    score_now,
    score_sample,
)
from ctxmetrics.evaluation.runs.sources import CallerSource, Source
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.metrics.base import Metric
from ctxmetrics.models.runtime.cache import RunCache, open_store
from ctxmetrics.models.runtime.limits import Quota
from ctxmetrics.models.runtime.memo import Memo
from ctxmetrics.models.runtime.run import Run, setting, using
from ctxmetrics.samples.sample import DROPPED, Sample, drop_self
from ctxmetrics.samples.schema import join_first
from ctxmetrics.scores.score import Score
from ctxmetrics.scores.telemetry import Telemetry, open_telemetry
from ctxmetrics.verdicts import PENDING

if TYPE_CHECKING:
    from ctxmetrics.evaluation.batching.rounds import BatchRounds

# The number of samples that are judged at once, for each request that may be in flight. More samples would only wait and take
# memory.
SAMPLES_PER_REQUEST = 2
# Samples in memory for each such request: while an early sample waits for its judge, later ones may finish.
BUFFERED_SAMPLES_PER_REQUEST = 64
# The number of seconds after which a run without waiting tasks lets other tasks go on.
PAUSE_SECONDS = 0.02
# The number of seconds that judges get to end when a run is stopped.
GRACE_SECONDS = 2.0
# The value of `Results.stopped` after Ctrl-C.
INTERRUPTED = "interrupted"
# The message of a score that waits for a batch.
_PENDING_MESSAGE = "a batch with a request of this sample is not answered yet"

_log = logging.getLogger("ctxmetrics")


@dataclass(eq=False, slots=True)
class _Job:
    """A sample that is being scored.

    Attributes:
        index: The position of the sample in the run.
        sample: The sample.
        metrics: The metrics that score the sample.
        scores: For each metric a score, or a task if the metric waits for something. Empty if the run was stopped before.
        was_read: Whether the scores were read from the file of an earlier run.
        tasks: The tasks that the job waits for.
        control: The true verdicts of a control sample; None for a sample of the run.
        waits_for: The requests whose batches are not answered yet.
    """

    index: int
    sample: Sample
    metrics: Sequence[Metric]
    scores: Sequence[Score | asyncio.Future[Score]] = ()
    was_read: bool = False
    tasks: Sequence[asyncio.Future[Score]] = ()
    control: LabelledSample | None = None
    waits_for: list[str] = dataclasses.field(default_factory=list)


class Evaluation:
    """One run of `evaluate`: its checked arguments and its state.

    Args:
        samples: As for `evaluate`.
        metrics: As for `evaluate`.
        judge: As for `evaluate`.
        controls: As for `evaluate`.
        memo: The store of finished judgements; None: the memory of the process.
        keep: Whether the results keep whole rows. None: they keep whole rows if there is no ``out``.
        resume: Whether to take over the rows that a stopped run left in ``OUT.part``. It has no effect with ``keep``.
        stores: Whether new judgements are stored in the cache. If not, only this run uses these judgements.
        in_caller: Whether the calling thread reads the samples, if they are no list (`run_in_caller`).
        first: The position of the first sample, for messages about samples without an id.
        reopen: A function that opens the samples once more, for a run in batches. None: samples that are no iterator are read
            once more.
        **options: As for `evaluate`.
    """

    def __init__(
        self,
        samples: Iterable[Sample | Mapping[str, Any]] | str | os.PathLike[str],
        metrics: Sequence[Metric | str],
        *,
        judge: Judge | str | None = None,
        controls: int = 0,
        memo: Memo[Any] | None = None,
        keep: bool | None = None,
        resume: bool = False,
        stores: bool = True,
        in_caller: bool = False,
        first: int = 0,
        reopen: Callable[[], Any] | None = None,
        **options: Unpack[RunOptions],
    ) -> None:
        checked_options = check_options(options)
        if isinstance(samples, (str, os.PathLike)):
            reopen = partial(read_samples, samples)
            samples = read_samples(samples)
        elif reopen is None and not isinstance(samples, Iterator):
            reopen = partial(_return_same, samples)
        judge = coerce_text(judge)
        path = getattr(samples, "path", None)
        out = checked_options["out"]
        if out is not None:
            check_outputs({"out": out}, {"samples": path})
        self.metrics: tuple[Metric, ...] = check_metrics(metrics, judge)
        batch: Batch | None = checked_options["batch"]
        is_list = isinstance(samples, (list, tuple))
        reads_in_caller = in_caller and batch is None and not is_list
        source_class = CallerSource if reads_in_caller else Source
        self.source: Source = source_class(samples, self.metrics)
        self._controls: ControlRun | None = None
        self._control_count = controls
        self._separators_of_joined_lists = {} if checked_options["one_context"] else self.source.joined
        self._options: Mapping[str, Any] = checked_options
        self._telemetry: Telemetry | None = None
        if checked_options["telemetry"]:
            self._telemetry = open_telemetry(
                checked_options["telemetry"], keep_texts=checked_options["keep_texts"]
            )
        self._memo = memo
        self._reopen = reopen
        self._batch_rounds: BatchRounds | None = None
        if batch is not None:
            if reopen is None and batch.mode == "wait":
                raise ParameterError(
                    "evaluate: an iterator can be read once, and a run in batches reads its samples again. Give a list or a "
                    "path, or Batch(mode='submit')."
                )
            if checked_options["telemetry"]:
                raise ParameterError(
                    "evaluate: a run in batches scores several times, and sends no events. Leave telemetry (--otel) out."
                )
            # Imported here: it loads the clients of providers, which other runs do not need.
            from ctxmetrics.evaluation.batching.rounds import BatchRounds

            self._batch_rounds = BatchRounds(batch, self.metrics, out)
        self._run = self._build_run()
        self._file: str | None = None if path is None else str(path)
        self._keep = out is None if keep is None else keep
        self._resume = resume and not self._keep
        self._stores = stores
        self._first_index = first
        self._stopped: str | None = None
        self._out_of_time = False
        self._jobs: deque[_Job] = deque()
        self._running_count = 0
        # The time at which other tasks last had a turn.
        self._last_pause_time = 0.0
        # This event is set when a sample is read, finished or collected, or when the run is stopped.
        self._change_event = asyncio.Event()

    def _build_run(self) -> Run:
        """Build the state of the requests, and restart the controls."""
        options = self._options
        if self._control_count != 0:
            self._controls = ControlRun(self._control_count, self.metrics, self.source.total)
        run = Run(
            max_concurrency=options["max_concurrency"],
            timeout=options["timeout"],
            max_calls=options["max_calls"],
            max_tokens=options["max_tokens"],
            memo=self._memo,
            ends=True,
        )
        if options["max_retries"] is not None:
            run.attempts = options["max_retries"] + 1
        requests = options["requests_per_minute"]
        tokens = options["tokens_per_minute"]
        if requests or tokens:
            run.quota = Quota(requests, tokens)
        return run

    def stop(self, why: str) -> None:
        """Cancel the running jobs, in the thread of the run. Judges that do not end in time are abandoned.

        Args:
            why: The reason, for `Results.stopped`.
        """
        if self._stopped is None:
            self._stopped = why
            for job in self._jobs:
                for task in job.tasks:
                    task.cancel()
            self.source.stop()
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self._abandon_jobs)
            self._change_event.set()

    def _abandon_jobs(self) -> None:
        """Stop waiting for jobs that do not end in time."""
        self._out_of_time = True
        self._change_event.set()

    async def score_samples(self) -> Results:
        """Score all samples within the deadline."""
        with ExitStack() as stack:
            deadline = self._options["deadline"]
            if deadline is not None:
                reason = f"the deadline of {deadline:g} s was reached"
                timer = asyncio.get_running_loop().call_later(deadline, self.stop, reason)
                stack.callback(timer.cancel)
            if self._batch_rounds is None:
                return await self._score_all()
            return await self._score_in_rounds(self._batch_rounds)

    async def _score_in_rounds(self, rounds: BatchRounds) -> Results:
        """Score with the replies that exist. Repeat this with new replies until no reply is missing."""
        if not await rounds.open(self._sleep):
            # The run was stopped before: score with the known replies, and send nothing.
            self._batch_rounds = None
            return await self._score_all()
        try:
            while True:
                self.metrics = await rounds.begin(self._run)
                if "server" in rounds.journal.facts:  # the server has answered before
                    # Good replies are remembered, and only bad replies come again. So their number says nothing of the judge.
                    self._run.max_failures = sys.maxsize
                results = await self._score_all()
                if self._stopped or self._reopen is None or not await rounds.wait(self._sleep):
                    results.stopped = self._stopped or rounds.problem or results.stopped
                    return results
                self.source = Source(self._reopen(), self.metrics)
                self._run = self._build_run()
        finally:
            rounds.journal.close()

    async def _sleep(self, seconds: float) -> bool:
        """Sleep until the time is over or the run is stopped. Return whether the run goes on."""
        self._change_event.clear()
        if self._stopped is None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._change_event.wait(), seconds)
        return self._stopped is None

    async def _score_all(self) -> Results:
        """Score every sample once."""
        run = self._run
        options = self._options
        results = Results(
            {metric.name: metric.convention_data.scale for metric in self.metrics},
            keep=self._keep,
            source=self._file,
            start=describe_start(options["tags"]),
        )
        with ExitStack() as stack:
            if options["cache"] is not None:
                store = stack.enter_context(open_store(options["cache"]))
                run.cache = RunCache(store, stores=self._stores)
            stack.enter_context(using(run))
            file = self._open_file(results.start)
            if file is not None:
                stack.callback(file.close)
            advance = None
            if options["progress"]:
                progress_display = show_progress(options["progress"], self.source.count(), run)
                advance = stack.enter_context(progress_display)
            reader = asyncio.create_task(self._read(file, advance))
            reader.add_done_callback(lambda _: self._change_event.set())
            try:
                failed = await self._collect(reader, file, results)
            except CtxMetricsError as error:
                error.results = results
                raise
            finally:
                await self._cancel_tasks(reader)
                judge_is_down = self._find_breaker_message()
                self._describe_end(results, judge_is_down)
            if self._batch_rounds is not None:
                run_is_whole = judge_is_down is None and self._stopped is None
                problem = await self._batch_rounds.submit(run_is_whole=run_is_whole)
                results.stopped = problem or results.stopped
                results.batches = self._batch_rounds.report
            if file is not None:
                self._finish(file, results)
        if results.stopped is None and failed:
            _log.warning(results.trouble)
        elif results.stopped not in (None, judge_is_down) and not results.waits_for_batches:
            # That a judge is down was logged when it happened.
            _log.warning("The run was stopped: %s (%s)", results.stopped, results.describe_rest())
        return results

    def _open_file(self, start: Mapping[str, Any]) -> OutFile | None:
        """Open the file of ``out``. Return None if there is none."""
        options = self._options
        if options["out"] is None:
            return None
        run_facts = {**start}
        judge_options = hash_judge_options(self.metrics)
        if judge_options is not None:
            run_facts[JUDGE_OPTIONS] = judge_options
        return OutFile(
            options["out"],
            resume=self._resume,
            keep_texts=options["keep_texts"],
            run_facts=run_facts,
        )

    async def _cancel_tasks(self, reader: asyncio.Future[Any]) -> None:
        """End all tasks: none is left running that would use a closed cache."""
        tasks = [reader]
        for job in self._jobs:
            tasks += job.tasks
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=GRACE_SECONDS)

    def _find_breaker_message(self) -> str | None:
        """Return the message of a judge that is down. Return None if all judges answer."""
        for breaker in self._run.breakers.values():
            if breaker.message:
                return breaker.message
        return None

    def _describe_end(self, results: Results, judge_is_down: str | None) -> None:
        """Set the cost of the run in the results, and the reason if it ended early.

        Args:
            results: The results.
            judge_is_down: The message that a judge is down, or None.
        """
        run = self._run
        earlier = results.usage
        results.usage = replace(run.usage, reused=earlier.reused, repeats=earlier.repeats)
        results.stopped = self._stopped or judge_is_down or run.used_up
        if results.stopped is not None:
            results.total = self.source.count()
        results.controls = self._controls.result if self._controls else None

    def _finish(self, file: OutFile, results: Results) -> None:
        """Rename the file if the run is complete. Else log where the rows of the run are."""
        if results.stopped is None and not results.unanswered:
            try:
                file.finish()
                if self._batch_rounds is not None and self._run.cache is not None:
                    self._batch_rounds.journal.drop_replies()
            except CtxMetricsError as error:  # the rows are in OUT.part
                results.stopped = str(error)
        elif file.part_path is not None and not results.waits_for_batches:
            _log.warning(
                "%s was not written: the rows of this run are in %s",
                self._options["out"],
                file.part_path,
            )

    def _warn_of_samples(self) -> None:
        """Log the properties of the samples that make the values of the run doubtful."""
        if self.source.setting is not None:
            name, values = self.source.setting
            _log.warning(
                "samples: %r tells apart several retrievals of one question (%s): a mean over all samples describes none of them",
                name, join_first(values),
            )  # fmt: skip
        for field, separator in self._separators_of_joined_lists.items():
            if any(reads_unsplit_passages(metric, field) for metric in self.metrics):
                _log.warning("samples: %s", describe_unsplit_passages(field, separator))

    async def _read(self, file: OutFile | None, advance: Callable[[bool], None] | None) -> None:
        """Read the samples one after the other, and start to score each of them.

        Args:
            file: The file of the results; None if there is no file. Scores that it already holds are taken over.
            advance: Called when a sample is finished, with whether one of its scores failed: it moves the progress bar. None if there
                is no bar.
        """
        self._warn_of_samples()
        index = self._first_index
        has_dropped_context = False
        while (
            sample := await self.source.next(SAMPLES_PER_REQUEST * self._run.max_concurrency)
        ) is not None:
            if self._controls:
                await self._start_controls(self._controls, index - self._first_index, sample)
            if self._options["drop_self"]:
                sample = drop_self(sample)
                has_dropped_context = has_dropped_context or DROPPED in sample.metadata
            job = _Job(index, sample, self.metrics)
            # The file may hold the scores of this sample from an earlier run that was stopped.
            earlier_scores = None
            if file is not None:
                earlier_scores = file.take_over(sample, self.metrics, self._find_unsplit_field)
            if earlier_scores is not None:
                job.scores = earlier_scores
                job.was_read = True
            await self._start(job, advance)
            index += 1
        if self._controls:
            await self._start_controls(self._controls, math.inf)
        if self._stopped is None and file is not None:
            file.take_over(None, self.metrics, self._find_unsplit_field)
        if self._options["drop_self"] and not has_dropped_context:
            _log.warning(
                "drop_self: nothing was dropped: no retrieved id is the id of its sample, and no context its question"
            )

    async def _start_controls(
        self, controls: ControlRun, before: float, sample: Sample | None = None
    ) -> None:
        """Start the controls that are due before a sample."""
        for control in controls.take_due(before, sample):
            # A control is no sample of the run: so its index is -1, and it does not move the progress bar.
            await self._start(_Job(-1, control.sample, controls.metrics, control=control), None)

    async def _start(self, job: _Job, advance: Callable[[bool], None] | None) -> None:
        """Start a sample, and wait until there is room for the next one."""
        max_concurrency = self._run.max_concurrency
        if not job.was_read and self._stopped is None:
            self._begin_scores(job)
        self._jobs.append(job)
        if job.tasks:
            self._running_count += 1
            asyncio.gather(*job.tasks, return_exceptions=True).add_done_callback(
                partial(self._finish_job, job, advance)
            )
        elif job.scores:
            self._finish_job(job, advance)
            # If no metric waits, other tasks get no turn without a pause.
            if monotonic() - self._last_pause_time > PAUSE_SECONDS:
                await asyncio.sleep(0)
                self._last_pause_time = monotonic()
        else:  # the run was stopped
            self._change_event.set()
        while self._stopped is None and (
            self._running_count >= SAMPLES_PER_REQUEST * max_concurrency
            or len(self._jobs) >= BUFFERED_SAMPLES_PER_REQUEST * max_concurrency
        ):
            self._change_event.clear()
            await self._change_event.wait()

    def _begin_scores(self, job: _Job) -> None:
        """Score a sample with each metric. A metric that waits for something only begins, and its task joins the job's tasks."""
        if self._batch_rounds is None:
            job.scores = [self._score(metric, job.sample) for metric in job.metrics]
        else:
            # A run in batches puts requests off, and remembers which.
            with setting(waits_for, job.waits_for):
                job.scores = [self._score(metric, job.sample) for metric in job.metrics]
        job.tasks = [score for score in job.scores if not isinstance(score, Score)]

    def _score(self, metric: Metric, sample: Sample) -> Score | asyncio.Task[Score]:
        """Score a sample. If the metric waits for something, only begin to score it."""
        if self._separators_of_joined_lists:
            field = self._find_unsplit_field(metric, sample)
            if field is not None:
                message = describe_unsplit_passages(field, self._separators_of_joined_lists[field])
                return metric.make_score(sample, None, reason_code="joined_contexts", message=message)
        if metric.waits:
            return asyncio.create_task(score_sample(metric, sample))
        return score_now(metric, sample)

    def _find_unsplit_field(self, metric: Metric, sample: Sample) -> str | None:
        """Find a field of a sample whose one text is several passages, so that a metric has no value. Return None if none is."""
        for field in self._separators_of_joined_lists:
            if reads_unsplit_passages(metric, field) and len(getattr(sample, field) or ()) == 1:
                return field
        return None

    def _finish_job(
        self,
        job: _Job,
        advance: Callable[[bool], None] | None,
        gathered: asyncio.Future[list[Any]] | None = None,
    ) -> None:
        """Count a sample that has scores, or errors in their place. Scores that are still tasks are no failures."""
        if job.tasks:
            self._running_count -= 1
        if advance is not None:
            scores: list[Any] = list(job.scores)
            if gathered is not None:
                scores += gathered.result()
            has_failed = not job.was_read and any(is_failure(score) for score in scores)
            advance(has_failed)
        self._change_event.set()

    def _send(self, job: _Job, scores: Iterable[Score]) -> None:
        """Send the scores of a sample as events, if the run sends events. Scores of an earlier run were sent in that run."""
        if self._telemetry is not None and not job.was_read:
            for score in scores:
                self._telemetry.send(score, job.sample.metadata)

    def _finish_scores(self, job: _Job) -> list[Score]:
        """Return the scores of a sample. A score that was stopped has the reason code ``cancelled``."""
        if not job.tasks and len(job.scores) == len(job.metrics):  # no metric waited for anything
            return [*cast("Sequence[Score]", job.scores)]
        scores: list[Score] = []
        for index, metric in enumerate(job.metrics):
            score_or_task = job.scores[index] if index < len(job.scores) else None
            score: Score | None = None
            if asyncio.isfuture(score_or_task):
                with suppress(asyncio.CancelledError, asyncio.InvalidStateError):  # it did not end
                    score = score_or_task.result()
            else:
                score = score_or_task
            if score is None:
                reason = f"not scored: {self._stopped or 'cancelled'}"
                score = metric.make_score(job.sample, None, reason_code="cancelled", message=reason)
            scores.append(score)
        if not job.waits_for and not has_pending(scores):
            return scores
        # No value of a sample is final before all its replies exist: a reply to one metric can change another metric.
        return [
            metric.make_score(job.sample, None, reason_code=PENDING, message=_PENDING_MESSAGE)
            for metric in job.metrics
        ]

    async def _collect(
        self, reader: asyncio.Task[None], file: OutFile | None, results: Results
    ) -> bool:
        """Add the finished rows to the results and the file, in order. Return whether a score of any row failed."""
        try:
            await self._collect_rows(reader, file, results)
        finally:
            self._flush(file)
        reader.result()
        failed = any(column.failed for column in results.by_metric.values())
        if failed and self._stopped is None:
            self._run.check_sent()
        return failed

    async def _collect_rows(
        self, reader: asyncio.Task[None], file: OutFile | None, results: Results
    ) -> None:
        """Add the finished rows to the results and the file. Rows that are finished together are written together."""
        while self._jobs or not reader.done():
            self._change_event.clear()
            # The first sample decides: the rows are in the order of the samples.
            first_is_running = self._jobs and not all(task.done() for task in self._jobs[0].tasks)
            if not self._jobs or (first_is_running and not self._out_of_time):
                self._flush(file)
                await self._change_event.wait()
                continue
            job = self._jobs[0]
            scores = self._finish_scores(job)
            row = Row(job.index, job.sample, job.sample.id, tuple(scores))
            self._jobs.popleft()
            self._change_event.set()
            if self._controls and job.control:
                if not has_pending(scores):
                    self._controls.add(job.control, scores)
                continue
            results.add(row)
            self._send(job, scores)
            if file is not None and not job.was_read:
                file.add(row)
                if file.is_full:
                    self._flush(file)
            if self._options["on_error"] == "raise":
                raise_failure(row)

    def _flush(self, file: OutFile | None) -> None:
        """Write the rows that were added to the file. If that fails, stop the run."""
        if file is not None:
            try:
                file.flush()
            except OutputFileError as error:
                self.stop(str(error))


def _return_same(samples: Any) -> Any:
    """Return the samples: a list can be read several times."""
    return samples
