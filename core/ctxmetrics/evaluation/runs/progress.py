"""How far a run is: a bar where stderr is a terminal, or a function of the caller's."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import current_thread, main_thread

from ctxmetrics.models.runtime.run import Run
from ctxmetrics.scores.wording import plural

# Characters of the bar: the line beside it fits into 80.
_BAR_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        done: The number of finished samples.
        total: The number of all samples, or None if it is not known.
        failed: The number of samples with a failed score.
        calls: The number of sent requests.
        seconds: The seconds since the start.
        tokens: The number of tokens sent and received.
        cost: The cost of the requests in the currency of the server; None if the server does not state it.
    """

    done: int
    total: int | None
    failed: int
    calls: int
    seconds: float
    tokens: int = 0
    cost: float | None = None

    @property
    def judged(self) -> int:
        """The number of finished samples without a failed score."""
        return self.done - self.failed

    @property
    def rate(self) -> float:
        """Samples a second."""
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The remaining seconds at the present rate, or None if they are not known."""
        if self.total is None or not self.rate:
            return None
        return (self.total - self.done) / self.rate


@contextmanager
def show_progress(
    display: bool | Callable[[Progress], None],
    total: int | None,
    run: Run,
    *,
    work: str = "scoring",
    finished: str = "judged",
) -> Iterator[Callable[[bool], None]]:
    """Show the progress while the block runs. Yield a function that counts one sample. Its argument says whether it failed.

    Args:
        display: True for a bar, or a function that shows the progress.
        total: The number of all samples, or None if it is not known.
        run: The state that counts calls and tokens.
        work: The word for the work, such as "scoring".
        finished: The word for a sample that is finished and did not fail.
    """
    start_time = time.monotonic()
    done_count = 0
    failure_count = 0
    show: Callable[[Progress], None] | None

    def advance(failed: bool) -> None:
        """Note a sample that is done, and show the progress."""
        nonlocal done_count, failure_count, show
        done_count += 1
        if failed:
            failure_count += 1
        if show is None:
            return
        try:
            usage = run.usage
            progress = Progress(
                done=done_count,
                total=total,
                failed=failure_count,
                calls=usage.calls,
                seconds=time.monotonic() - start_time,
                tokens=usage.total_tokens,
                cost=usage.cost,
            )
            show(progress)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise  # Ctrl-C: in a loop of the main thread it may arrive here
            show = None
            logging.getLogger("ctxmetrics").warning(
                "The progress is not shown any more: %s: %s", type(error).__name__, error
            )

    with nullcontext(display) if callable(display) else _show_bar(total, work, finished) as show:
        yield advance


@contextmanager
def _show_bar(total: int | None, work: str, finished: str) -> Iterator[Callable[[Progress], None]]:
    """Show a progress bar on stderr, and yield the function that updates it."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn(work), BarColumn(bar_width=_BAR_WIDTH), TextColumn("{task.fields[text]}"))
    beginning = Progress(done=0, total=total, failed=0, calls=0, seconds=0.0)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(work, total=total, text=describe_progress(beginning, finished))

        def show(progress: Progress) -> None:
            """Update the bar."""
            bar.update(task, completed=progress.done, text=describe_progress(progress, finished))

        yield show


def describe_progress(progress: Progress, finished: str = "judged") -> str:
    """Describe how far a run is: ``12/30, 9 s left, 11 judged, 1 failed, 12 calls, 34,567 tokens``. For a stream: ``12/?``."""
    clauses = [f"{progress.done}/{'?' if progress.total is None else progress.total}"]
    if progress.seconds_left is not None:
        clauses.append(f"{progress.seconds_left:,.0f} s left")
    clauses += [f"{progress.judged} {finished}", f"{progress.failed} failed"]
    if progress.calls:
        clauses.append(plural(progress.calls, "call"))
    if progress.tokens:
        clauses.append(f"{progress.tokens:,} tokens")
    if progress.cost is not None:
        clauses.append(f"${progress.cost:,.4f}")
    return ", ".join(clauses)
