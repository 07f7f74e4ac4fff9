"""The ways to run a metric in a framework, and a block of code in which frameworks may write files and print."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to run a metric.

    Attributes:
        name: The name that tables and test ids show, such as ``"ragas.evaluate"``.
        score: Runs a core metric, which holds its judge, over samples through the framework's real runner. Returns one value for
            each sample, in order; None if the framework says "not computable".
        score_all: Scores several metrics in one run of the framework, if a run takes long, and returns a list of values for each
            metric. None: ``score`` is called for each metric.
    """

    name: str
    score: Callable[[Metric, Sequence[Sample]], Sequence[float | None]]
    score_all: (
        Callable[[Sequence[Metric], Sequence[Sample]], Sequence[Sequence[float | None]]] | None
    ) = None


@contextmanager
def isolated_process(
    environment: Mapping[str, str | None], folder: str | Path | None = None, *, silent: bool = True
) -> Iterator[None]:
    """Use another folder, other environment variables and no output inside a ``with`` block, for runners that write or print.

    The whole process is changed for the time of the block.

    Args:
        environment: Environment variables inside the block; those that are None are removed.
        folder: The folder to work in; None: a temporary folder, which is deleted afterwards.
        silent: Whether to drop what is printed.
    """
    environment_before = {name: os.environ.get(name) for name in environment}
    with ExitStack() as stack:
        stack.callback(_set_environment, environment_before)
        if folder is None:
            # A thread of a framework may still write there while the folder is deleted. This must raise no error.
            folder = stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
        stack.enter_context(chdir(folder))
        if silent:
            stack.enter_context(redirect_stdout(StringIO()))
            stack.enter_context(redirect_stderr(StringIO()))
        _set_environment(environment)
        yield


def _set_environment(environment: Mapping[str, str | None]) -> None:
    """Set environment variables; those that are None are removed."""
    for name, value in environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
