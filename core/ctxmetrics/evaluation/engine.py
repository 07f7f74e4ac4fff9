"""Many samples: concurrent, in order, nothing lost.

Requests in flight are bounded (`ctxmetrics._runtime.run`), not samples; only a window of samples is in memory at a
time, so the input may be of any length.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ctxmetrics._runtime.background import wait_for
from ctxmetrics._secrets import safe_text
from ctxmetrics.errors import CtxMetricsError, JudgeError, MissingFieldError, ParameterError
from ctxmetrics.evaluation.results import Results
from ctxmetrics.evaluation.sources import CallerSource, Feed, LoopSource
from ctxmetrics.evaluation.writer import OutFile, check_outputs
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric, default_judge
from ctxmetrics.report.view import Row
from ctxmetrics.scores import FAILURES

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable

    from ctxmetrics._runtime.cache import Store
    from ctxmetrics._runtime.memo import Memo
    from ctxmetrics._runtime.run import Run
    from ctxmetrics.evaluation.progress import Meter, Progress
    from ctxmetrics.evaluation.sources import Source
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score

OnError = Literal["record", "raise"]
WINDOW = 4
"""Samples under way for each request that may be in flight."""
BUFFER = 64
"""Samples in memory for each: while an early one waits for its judge, so many later ones may finish."""
GRACE = 2.0
"""Seconds that judges get to let go when a run is stopped."""

INTERRUPTED = "interrupted"
"""What `Results.stopped` says after Ctrl-C."""


def evaluate(
    samples: Iterable[Sample | Mapping[str, Any]],
    metrics: Sequence[Metric],
    *,
    judge: Judge | None = None,
    max_concurrency: int = 16,
    cache: str | os.PathLike[str] | Store | None = None,
    timeout: float = 120.0,
    on_error: OnError = "record",
    progress: bool | Callable[[Progress], None] | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    deadline: float | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Results:
    """Score many samples with several metrics.

    Args:
        samples: Samples, or dicts of their fields: a list, an iterator or a generator of any length. A list is
            checked before anything is paid; anything else is read as the run goes on, in the calling thread.
        metrics: The metrics; their names must differ.
        judge: Who judges where a metric has no judge of its own; None: the embedded `LexicalJudge`.
        max_concurrency: Requests in flight at most. Overload lowers the bound, success raises it again.
        cache: A directory or `VerdictCache`: finished judgements are kept there and never paid twice.
        timeout: Seconds for one request.
        on_error: ``"record"``: a failure is a score without a value. ``"raise"``: the first failure raises.
        progress: True or False, or a function called with the `Progress`, in the run's own thread; None: a bar
            where stderr is a terminal.
        max_calls: Requests in all; then what is not in memory or cache is not judged.
        max_tokens: Tokens in all; then the same. Requests in flight at that moment are still counted on top.
        deadline: Seconds for the whole run; then what is there is returned.
        out: A file that gets one JSON line a sample and metric, in order. While the run goes on they are in
            ``OUT.part``, which becomes ``out`` at the end; a run that stops early, or gets no verdict for a metric, leaves
            ``OUT.part`` and does not touch ``out``. The results then keep values and reason codes only.

    Returns:
        One row a sample, in input order. Ctrl-C returns what is there, the rest of a list as ``cancelled``; a
        second Ctrl-C ends at once. `Results.stopped` says why a run ended early.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        MissingFieldError: No sample has a field that a metric needs.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        SampleError: A sample is malformed, or the iterable broke off; the message says where.
        JudgeError: With ``on_error="raise"``, a sample could not be scored.
        InputFileError: ``out`` or ``cache`` cannot be written; or ``out`` is the file that the samples come from, holds
            data of another kind, or is written by another run.

        Whatever raises after the first sample was scored has the results until then as its ``results``.
    """
    run = Evaluation(
        samples=samples,
        metrics=metrics,
        judge=judge,
        max_concurrency=max_concurrency,
        cache=cache,
        timeout=timeout,
        on_error=on_error,
        progress=progress,
        max_calls=max_calls,
        max_tokens=max_tokens,
        deadline=deadline,
        out=out,
    )
    return run_in_caller(run)


def run_in_caller(run: Evaluation) -> Results:
    """Run an evaluation while the calling thread reads its samples, where they are no list."""
    from ctxmetrics._runtime.background import start

    caller = None if run.feed.listed else CallerSource(run.feed)
    run.source = caller
    future = start(run.go)
    try:
        if caller is not None:
            caller.serve(future)
        return wait_for(future)
    except KeyboardInterrupt:
        run.stop_soon(INTERRUPTED)
        try:
            return wait_for(future)
        except KeyboardInterrupt:
            future.cancel()
            raise
    except BaseException:
        future.cancel()
        raise


async def aevaluate(
    samples: Iterable[Sample | Mapping[str, Any]],
    metrics: Sequence[Metric],
    *,
    judge: Judge | None = None,
    max_concurrency: int = 16,
    cache: str | os.PathLike[str] | Store | None = None,
    timeout: float = 120.0,
    on_error: OnError = "record",
    progress: bool | Callable[[Progress], None] | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    deadline: float | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Results:
    """Score many samples, inside a running loop. Arguments, result and errors are those of `evaluate`.

    Iterables are read in the loop's thread. When it is cancelled, no results are returned; give ``deadline=`` or
    ``out=`` to have them.
    """
    return await Evaluation(
        samples=samples,
        metrics=metrics,
        judge=judge,
        max_concurrency=max_concurrency,
        cache=cache,
        timeout=timeout,
        on_error=on_error,
        progress=progress,
        max_calls=max_calls,
        max_tokens=max_tokens,
        deadline=deadline,
        out=out,
    ).go()


@dataclass(eq=False, slots=True)
class _Job:
    """One sample under way.

    Attributes:
        index: Its position.
        sample: The sample.
        finished: Set when every task is done, or is not waited for any more.
        tasks: One a metric; none when the run was stopped before.
        left: How many tasks are not done.
        known: The scores, where a file that is resumed has them; else None.
    """

    index: int
    sample: Sample
    finished: asyncio.Future[None]
    tasks: tuple[asyncio.Task[Score], ...] = ()
    left: int = 0
    known: list[Score] | None = None

    def finish(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)


@dataclass(slots=True, kw_only=True, eq=False)
class Evaluation:
    """One run: the arguments of `evaluate`, checked, and its state.

    Attributes:
        memo: Where finished judgements are remembered; None: the process's memory.
        keep: Whether the results keep whole rows; None: unless there is ``out``.
        resume: Take over the rows that a run that was stopped left in ``OUT.part``; not with ``keep``.
        feed: The samples.
        source: Who reads them; None: the loop.
    """

    samples: Iterable[Sample | Mapping[str, Any]]
    metrics: Sequence[Metric]
    judge: Judge | None = None
    max_concurrency: int = 16
    cache: str | os.PathLike[str] | Store | None = None
    timeout: float = 120.0
    on_error: OnError = "record"
    progress: bool | Callable[[Progress], None] | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    deadline: float | None = None
    out: str | os.PathLike[str] | None = None
    memo: Memo[Any] | None = None
    keep: bool | None = None
    resume: bool = False
    source: Source | None = None
    feed: Feed = field(init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _stopped: str | None = field(default=None, init=False)
    _jobs: deque[_Job] = field(default_factory=deque, init=False)
    _running: int = field(default=0, init=False)
    _reader: asyncio.Task[None] | None = field(default=None, init=False)
    _news: asyncio.Future[None] | None = field(default=None, init=False)
    _room: asyncio.Future[None] | None = field(default=None, init=False)
    _meter: Meter | None = field(default=None, init=False)
    _abandoning: asyncio.TimerHandle | None = field(default=None, init=False)
    _file: OutFile | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name, least in (("max_concurrency", 1), ("max_calls", 0), ("max_tokens", 0)):
            value = getattr(self, name)
            if value is None and name != "max_concurrency":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(f"evaluate: {name}={value!r} must be a whole number from {least}.")
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if value is None and name == "deadline":
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
                raise ParameterError(f"evaluate: {name}={value!r} must be a number of seconds above 0.")
        if self.on_error not in ("record", "raise"):
            raise ParameterError(
                f"evaluate: on_error={self.on_error!r} is unknown. Choose from: record, raise."
            )
        if self.out is not None:
            check_outputs({"out": self.out}, {"samples": getattr(self.samples, "path", None)})
        self.metrics = check_metrics(self.metrics, self.judge)
        self.feed = Feed(self.samples, self.metrics)

    def stop_soon(self, why: str) -> None:
        """Stop from another thread."""
        if self._loop is None:
            self._stopped = why
        else:
            self._loop.call_soon_threadsafe(self._stop, why)

    def _stop(self, why: str) -> None:
        """Cancel what is under way; judges that do not let go in time are left behind."""
        if self._stopped is None and self._loop is not None:
            self._stopped = why
            for task in self._unfinished():
                task.cancel()
            self._abandoning = self._loop.call_later(GRACE, self._abandon)
            if self.source is not None:
                self.source.stop()
            self._notify()

    def _abandon(self) -> None:
        for job in self._jobs:
            job.finish()

    def _unfinished(self) -> list[asyncio.Task[Score]]:
        return [task for job in self._jobs for task in job.tasks if not task.done()]

    async def go(self) -> Results:
        """Score everything."""
        import asyncio
        from contextlib import AsyncExitStack

        from ctxmetrics._runtime.cache import opened
        from ctxmetrics._runtime.run import Run, using
        from ctxmetrics.evaluation.progress import shown

        self._loop = asyncio.get_running_loop()
        keep = self.out is None if self.keep is None else self.keep
        results = Results([metric.name for metric in self.metrics], keep=keep, scales=self._scales())
        async with AsyncExitStack() as stack:
            run = Run(
                max_concurrency=self.max_concurrency,
                timeout=self.timeout,
                max_calls=self.max_calls,
                max_tokens=self.max_tokens,
                cache=None if self.cache is None else stack.enter_context(opened(self.cache)),
                memo=self.memo,
                ends=True,
            )
            stack.enter_context(using(run))
            if self.out is not None:
                self._file = stack.enter_context(OutFile(self.out, resume=self.resume and not keep))
            self._meter = stack.enter_context(shown(self.progress, self.feed.total, run))
            if self.deadline is not None:
                timer = self._loop.call_later(
                    self.deadline, self._stop, f"the deadline of {self.deadline:g} s was reached"
                )
                stack.callback(timer.cancel)
            self._reader = self._loop.create_task(self._read())
            self._reader.add_done_callback(lambda _: self._notify())
            stack.push_async_callback(self._let_go)
            try:
                await self._collect(results)
            except CtxMetricsError as error:
                error.results = results
                raise
            finally:
                reused = results.usage.reused
                results.usage = replace(run.usage, reused=reused)
                results.stopped = self._why(run)
            self._finish(results)
        _tell(results, known=run.down)
        return results

    def _finish(self, results: Results) -> None:
        """Give the file its name, if the run is complete; else say where the rows are."""
        if self._file is None:
            return
        if results.stopped is None and not results.unanswered:
            results.stopped = self._file.finish()
        elif self._file.part is not None:
            logging.getLogger("ctxmetrics").warning(
                "%s was not written: the rows of this run are in %s", self.out, self._file.part
            )

    def _scales(self) -> dict[str, float]:
        return {metric.name: metric.rules.scale for metric in self.metrics}

    def _why(self, run: Run) -> str | None:
        return self._stopped or run.down or run.spent

    async def _let_go(self) -> None:
        """Leave nothing running behind that would use a closed cache."""
        import asyncio

        if self._abandoning is not None:
            self._abandoning.cancel()
        tasks: list[asyncio.Task[Any]] = [*self._unfinished()]
        if self._reader is not None and not self._reader.done():
            tasks.append(self._reader)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE)

    # --- reading ---

    async def _read(self) -> None:
        """Start the samples one after the other, while there is room."""
        source = self.source = self.source or LoopSource(self.feed)
        index = 0
        while (sample := await source.next(WINDOW * self.max_concurrency)) is not None:
            self._start(index, sample, None if self._file is None else self._file.known(sample, self.metrics))
            index += 1
            await self._wait_for_room()
        if self._stopped is None:
            self.feed.check_fields()
            if self._file is not None:
                self._file.known(None, self.metrics)

    async def _wait_for_room(self) -> None:
        while self._stopped is None and (
            self._running >= WINDOW * self.max_concurrency or len(self._jobs) >= BUFFER * self.max_concurrency
        ):
            self._room = self._of_loop().create_future()
            await self._room

    def _start(self, index: int, sample: Sample, known: list[Score] | None) -> None:
        loop = self._of_loop()
        job = _Job(index, sample, loop.create_future(), known=known)
        self._jobs.append(job)
        if self._stopped is None and known is None:
            job.tasks = tuple(loop.create_task(_score(metric, sample)) for metric in self.metrics)
            job.left = len(job.tasks)
            self._running += 1
            for task in job.tasks:
                task.add_done_callback(lambda _: self._task_done(job))
        else:
            if known is not None and self._meter is not None:
                self._meter.advance(failed=False)
            job.finish()
        self._notify()

    def _task_done(self, job: _Job) -> None:
        job.left -= 1
        if job.left:
            return
        self._running -= 1
        if self._meter is not None:
            self._meter.advance(failed=any(_failed(task) for task in job.tasks))
        job.finish()
        self._notify()

    def _notify(self) -> None:
        """Wake the reader where there may be room, and the collector where there may be a sample."""
        for waiter in (self._room, self._news):
            if waiter is not None and not waiter.done():
                waiter.set_result(None)

    def _of_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the run was not started")
        return self._loop

    # --- collecting ---

    async def _collect(self, results: Results) -> None:
        """Hand the rows on in order."""
        reader = self._reader
        while self._jobs or (reader is not None and not reader.done()):
            if not self._jobs:
                self._news = self._of_loop().create_future()
                await self._news
                continue
            job = self._jobs[0]
            await job.finished
            self._jobs.popleft()
            row = self._row(job)
            self._notify()
            results.add(row)
            if self._file is not None and job.known is None and (problem := self._file.write(row)):
                self._stop(problem)
            if self.on_error == "raise":
                _raise_failure(row)
        if reader is not None and not reader.cancelled():
            reader.result()

    def _row(self, job: _Job) -> Row:
        if job.known is not None:
            return Row(job.index, job.sample, job.sample.id, {score.metric: score for score in job.known})
        scores = (
            task.result()
            if task is not None and task.done() and not task.cancelled()
            else self._cancelled(metric, job.sample)
            for metric, task in zip(self.metrics, job.tasks or (None,) * len(self.metrics), strict=True)
        )
        return Row(job.index, job.sample, job.sample.id, {score.metric: score for score in scores})

    def _cancelled(self, metric: Metric, sample: Sample) -> Score:
        return metric.build(
            sample, None, reason_code="cancelled", message=f"not scored: {self._stopped or 'cancelled'}"
        )


def _tell(results: Results, known: str | None) -> None:
    """Say in one line what went wrong, unless it was said when it happened."""
    log = logging.getLogger("ctxmetrics")
    if results.stopped is None:
        if results.trouble:
            log.warning(results.trouble)
    elif results.stopped != known:
        log.warning("The run was stopped: %s", results.stopped)


async def _score(metric: Metric, sample: Sample) -> Score:
    """Score one sample with one metric; what goes wrong with it is this score's and nobody else's.

    Raises:
        ParameterError: Misuse, which is no sample's fault.
    """
    try:
        return await metric.ascore(sample)
    except MissingFieldError as error:
        return metric.build(sample, None, reason_code="missing_field", message=str(error))
    except ParameterError:
        raise
    except Exception as error:  # noqa: BLE001 - a callable or judge of the user's may fail in any way
        message = f"{type(error).__name__}: {safe_text(error)}"
        return metric.build(sample, None, reason_code="metric_error", message=message)


def _failed(task: asyncio.Task[Score]) -> bool:
    return task.cancelled() or task.exception() is not None or task.result().reason_code in FAILURES


def _raise_failure(row: Row) -> None:
    for score in row.scores.values():
        if score.reason_code in FAILURES:
            code = next((verdict.code for verdict in score.verdicts if verdict.code), None)
            who = f"sample {row.index + 1}" if score.sample_id is None else f"sample {score.sample_id!r}"
            raise JudgeError(
                f"{who}: {score.metric}: {score.message}", reason_code=code or str(score.reason_code)
            )


def check_metrics(metrics: Sequence[Metric], judge: Judge | None) -> tuple[Metric, ...]:
    """Return the metrics with their judges.

    Raises:
        ParameterError: One is no metric, two have one name, or there is none.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """
    if isinstance(metrics, (str, Metric, type)) or not isinstance(metrics, Iterable):
        raise ParameterError(
            "evaluate: metrics must be a list of metrics. Write [ContextRecall()] for a single one."
        )
    checked = tuple(_with_judge(metric, judge) for metric in metrics)
    if not checked:
        raise ParameterError("evaluate: metrics is empty. Write [ContextRecall()], for example.")
    names = [metric.name for metric in checked]
    double = next((name for name in names if names.count(name) > 1), None)
    if double:
        raise ParameterError(
            f"evaluate: two metrics are named {double!r}: their results would be one. Change a parameter."
        )
    return checked


def _with_judge(metric: object, judge: Judge | None) -> Metric:
    if isinstance(metric, type) and issubclass(metric, Metric):
        raise ParameterError(f"evaluate: {metric.__name__} is a class. Write {metric.__name__}().")
    if not isinstance(metric, Metric):
        raise ParameterError(
            f"evaluate: {type(metric).__name__} is no metric of ctxmetrics. "
            "An adapter's metric belongs into its framework."
        )
    if isinstance(metric, JudgedMetric):
        return metric.with_judge(default_judge() if judge is None else judge)
    return metric
