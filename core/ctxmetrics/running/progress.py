"""How far a run is: a bar where stderr is a terminal, or a function of the caller's."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import current_thread, main_thread

from ctxmetrics.models.runtime.run import Run


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        done: Samples finished.
        total: Samples in all, or None where it is not known.
        failed: Samples with a score that failed.
        calls: Requests sent.
        seconds: Seconds since the start.
    """

    done: int
    total: int | None
    failed: int
    calls: int
    seconds: float

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds to go at this rate, or None where it is not known."""
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate


@contextmanager
def counting_progress(
    wanted: bool | Callable[[Progress], None], total: int | None, run: Run
) -> Iterator[Callable[[bool], None]]:
    """Show the progress while the block runs; what is yielded counts one sample, which may have failed."""
    began, done, failures = time.monotonic(), 0, 0
    show: Callable[[Progress], None] | None

    def advance(failed: bool) -> None:
        nonlocal done, failures, show
        done, failures = done + 1, failures + failed
        if show is None:
            return
        try:
            show(Progress(done, total, failures, run.usage.calls, time.monotonic() - began))
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise  # Ctrl-C: in a loop of the main thread it may arrive here
            show = None
            logging.getLogger("ctxmetrics").warning(
                "The progress is not shown any more: %s: %s", type(error).__name__, error
            )

    with nullcontext(wanted) if callable(wanted) else _bar(total) as show:
        yield advance


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[run].failed} failed"),
        TextColumn("calls {task.fields[run].calls}"),
        TextColumn("{task.fields[run].rate:.1f}/s"),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=total, run=Progress(0, total, 0, 0, 0.0))

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.done, run=progress)

        yield show
