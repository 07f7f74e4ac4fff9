"""Many samples: concurrent, in order, nothing lost.

Requests in flight are bounded (`ctxmetrics.judges.run`), not samples; only a window of samples is in memory at a
time, so the input may be of any length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

from ctxmetrics.errors import CtxMetricsError, JudgeError, MissingFieldError, ParameterError, SampleError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.judged import JudgedMetric, default_judge
from ctxmetrics.redact import safe_text
from ctxmetrics.results import MetricSummary, Results, Row, Summary
from ctxmetrics.samples import Sample

if TYPE_CHECKING:
    import asyncio
    import os
    from collections.abc import Callable, Iterator

    from ctxmetrics.judges.base import Judge
    from ctxmetrics.judges.memo import Memo
    from ctxmetrics.judges.run import Store
    from ctxmetrics.progress import Progress
    from ctxmetrics.scores import Score

__all__ = ["MetricSummary", "Results", "Row", "Summary", "aevaluate", "evaluate"]

OnError = Literal["record", "raise"]
PEEK = 64
"""How many samples of a generator are looked at before the first is scored."""
WINDOW = 4
"""Samples under way for each request that may be in flight."""
FAILURES = frozenset({"not_judged", "metric_error"})
"""Reason codes that are nobody's wish, as opposed to a sample that has no number."""


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
        samples: Samples, or dicts of their fields; a list, an iterator or a generator of any length.
        metrics: The metrics; their names must differ.
        judge: Who judges where a metric has no judge of its own; None: the embedded `LexicalJudge`.
        max_concurrency: Requests in flight at most. Overload lowers the bound, success raises it again.
        cache: A directory or `VerdictCache`: finished judgements are kept there and never paid twice.
        timeout: Seconds for one request.
        on_error: ``"record"``: a failure is a score without a value. ``"raise"``: the first failure raises.
        progress: True or False, or a function called with the progress; None: a bar where stderr is a terminal.
        max_calls: Requests in all; then the rest is not judged.
        max_tokens: Tokens in all; then the rest is not judged.
        deadline: Seconds for the whole run; then what is there is returned.
        out: A file that gets one JSON line a sample and metric, in order, while the run goes on. The results
            then keep values and reason codes only.

    Returns:
        One row a sample, in input order. Ctrl-C returns what is there; a second one ends at once.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        MissingFieldError: No sample has a field that a metric needs.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
        SampleError: A sample is malformed; the message names it.
        JudgeError: With ``on_error="raise"``, a sample could not be scored.
    """
    from ctxmetrics.bridge import start

    run = _Evaluation(
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
    future = start(run.go)
    try:
        return future.result()
    except KeyboardInterrupt:
        run.stop_soon("interrupted")
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise


async def aevaluate(
    samples: Iterable[Sample | Mapping[str, Any]],
    metrics: Sequence[Metric],
    **options: Any,
) -> Results:
    """Score many samples, inside a running loop. Arguments, result and errors are those of `evaluate`."""
    return await _Evaluation(samples=samples, metrics=metrics, **options).go()


@dataclass(slots=True, kw_only=True)
class _Evaluation:
    """One run: the arguments of `evaluate`, checked, and its state."""

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
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _tasks: deque[tuple[int, Sample, asyncio.Task[Row]]] = field(default_factory=deque, init=False)
    _stopped: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name, least in (("max_concurrency", 1), ("max_calls", 0), ("max_tokens", 0)):
            value = getattr(self, name)
            if value is None and name != "max_concurrency":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ParameterError(f"evaluate: {name}={value!r} must be a whole number from {least}.")
        for name in ("timeout", "deadline"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and value > 0):
                raise ParameterError(f"evaluate: {name}={value!r} must be a number of seconds above 0.")
        if self.on_error not in ("record", "raise"):
            raise ParameterError(f"evaluate: on_error={self.on_error!r} is unknown. Choose from: record, raise.")
        if isinstance(self.samples, (Sample, Mapping, str, bytes)):
            raise ParameterError("evaluate: samples must be several samples. Write [sample] for a single one.")
        self.metrics = check_metrics(self.metrics, self.judge)

    def stop_soon(self, why: str) -> None:
        """Stop from another thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop, why)

    def _stop(self, why: str) -> None:
        if self._stopped is None:
            self._stopped = why
            for _, _, task in self._tasks:
                task.cancel()

    async def go(self) -> Results:
        """Score everything."""
        import asyncio
        from contextlib import ExitStack

        from ctxmetrics.cache import opened
        from ctxmetrics.judges.run import Run, using
        from ctxmetrics.outfile import OutFile
        from ctxmetrics.progress import shown

        self._loop = asyncio.get_running_loop()
        total = _length(self.samples)
        samples = _checked(self.samples, self.metrics)
        results = Results([metric.name for metric in self.metrics], keep=self.out is None)
        with ExitStack() as stack:
            run = Run(
                max_concurrency=self.max_concurrency,
                timeout=self.timeout,
                max_calls=self.max_calls,
                max_tokens=self.max_tokens,
                cache=None if self.cache is None else stack.enter_context(opened(self.cache)),
                memo=self.memo,
            )
            stack.enter_context(using(run))
            file = None if self.out is None else stack.enter_context(OutFile(self.out))
            bar = stack.enter_context(shown(self.progress, total, run))
            if self.deadline is not None:
                timer = self._loop.call_later(self.deadline, self._stop, f"the deadline of {self.deadline:g} s was reached")
                stack.callback(timer.cancel)
            stack.callback(self._cancel_all)

            def emit(row: Row) -> None:
                if self.on_error == "raise":
                    _raise_failure(row)
                if file is not None and (problem := file.write(row)):
                    self._stop(problem)
                results.add(row)
                bar.advance(failed=any(score.reason_code in FAILURES for score in row.scores.values()))

            try:
                await self._feed(samples, emit, endless=total is None)
            except CtxMetricsError as error:
                error.results = results
                raise
            finally:
                results.usage = run.usage
                results.stopped = self._stopped or run.breaker.message or run.spent
        return results

    async def _feed(self, samples: Iterator[Sample], emit: Callable[[Row], None], *, endless: bool) -> None:
        """Keep a window of samples going and hand their rows on in order."""
        import asyncio

        for index, sample in enumerate(samples):
            if self._stopped is not None and endless:
                break
            self._tasks.append((index, sample, asyncio.ensure_future(self._row(index, sample))))
            while len(self._tasks) >= WINDOW * self.max_concurrency or self._tasks[0][2].done():
                emit(await self._next())
                if not self._tasks:
                    break
        while self._tasks:
            emit(await self._next())

    async def _next(self) -> Row:
        import asyncio

        index, sample, task = self._tasks[0]
        await asyncio.wait((task,))
        self._tasks.popleft()
        if task.cancelled():
            return _cancelled(index, sample, self.metrics)
        return task.result()

    async def _row(self, index: int, sample: Sample) -> Row:
        import asyncio

        if self._stopped is not None:
            return _cancelled(index, sample, self.metrics)
        scores = await asyncio.gather(*(_score(metric, sample) for metric in self.metrics))
        return Row(index, sample, sample.id, {score.metric: score for score in scores})

    def _cancel_all(self) -> None:
        for _, _, task in self._tasks:
            task.cancel()


async def _score(metric: Metric, sample: Sample) -> Score:
    """Score one sample with one metric; whatever goes wrong is this score's and nobody else's."""
    try:
        return await metric.ascore(sample)
    except MissingFieldError as error:
        return metric.build(sample, None, reason_code="missing_field", message=str(error))
    except Exception as error:  # noqa: BLE001 - a callable or judge of the user's may fail in any way
        message = f"{type(error).__name__}: {safe_text(error)}"
        return metric.build(sample, None, reason_code="metric_error", message=message)


def _cancelled(index: int, sample: Sample, metrics: Sequence[Metric]) -> Row:
    scores = (metric.build(sample, None, reason_code="cancelled", message="the run was stopped") for metric in metrics)
    return Row(index, sample, sample.id, {score.metric: score for score in scores})


def _raise_failure(row: Row) -> None:
    for score in row.scores.values():
        if score.reason_code in FAILURES:
            code = next((verdict.code for verdict in score.verdicts if verdict.code), None) or str(score.reason_code)
            who = f"sample {score.sample_id!r}" if score.sample_id is not None else f"sample {row.index + 1}"
            raise JudgeError(f"{who}: {score.metric}: {score.message}", reason_code=code)


def _length(samples: Iterable[Any]) -> int | None:
    return len(samples) if isinstance(samples, Sized) else None


def _checked(samples: Iterable[Sample | Mapping[str, Any]], metrics: Sequence[Metric]) -> Iterator[Sample]:
    """Turn dicts into samples, and raise when a field is missing in every one.

    All samples of a list are looked at first; of a generator, the first few.

    Raises:
        MissingFieldError: No sample has a field that a metric needs.
        SampleError: A sample is malformed.
    """
    stream = (_as_sample(sample, number) for number, sample in enumerate(samples, 1))
    first = list(stream if isinstance(samples, Sized) else islice(stream, PEEK))
    if isinstance(samples, Sized) or len(first) < PEEK:
        for metric in metrics:
            missing = [name for name in metric.requires if all(getattr(sample, name) is None for sample in first)]
            if first and missing:
                raise MissingFieldError(
                    f"No sample has {' or '.join(missing)}, which {metric.name} needs. "
                    "Fill the field, map it with schema=, or leave the metric out."
                )
    return chain(first, stream)


def _as_sample(sample: object, number: int) -> Sample:
    if isinstance(sample, Sample):
        return sample
    if isinstance(sample, Mapping):
        return Sample.from_dict(sample, where=f"Sample {number}")
    raise SampleError(f"Sample {number} must be a Sample or a mapping of its fields, not {type(sample).__name__}.")


def check_metrics(metrics: Sequence[Metric], judge: Judge | None) -> tuple[Metric, ...]:
    """Return the metrics with their judges.

    Raises:
        ParameterError: One is no metric, two have one name, or there is none.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """
    if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable):
        raise ParameterError("evaluate: metrics must be a list of metrics. Write [ContextRecall()] for a single one.")
    checked: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, type) and issubclass(metric, Metric):
            raise ParameterError(f"evaluate: {metric.__name__} is a class. Write {metric.__name__}().")
        if not isinstance(metric, Metric):
            raise ParameterError(
                f"evaluate: {type(metric).__name__} is no metric of ctxmetrics. An adapter's metric belongs into its framework."
            )
        if isinstance(metric, JudgedMetric):
            metric = metric.with_judge(judge or default_judge())  # noqa: PLW2901 - the same metric, with its judge
        checked.append(metric)
    names = [metric.name for metric in checked]
    double = next((name for name in names if names.count(name) > 1), None)
    if double:
        raise ParameterError(f"evaluate: two metrics are named {double!r}: their results would be one. Change a parameter.")
    if not checked:
        raise ParameterError("evaluate: metrics is empty.")
    return tuple(checked)
