"""Runners: one a way in which people run a metric. What the conformance suite and ``ctxmetrics parity`` compare.

An adapter offers its runners under the entry point group ``ctxmetrics.runners``; the core knows none of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import entry_points
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from ctxmetrics.errors import MissingExtraError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples import Sample

GROUP = "ctxmetrics.runners"


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to run a metric.

    Attributes:
        name: What tables and test ids show, such as ``"ragas.evaluate"``.
        score: Runs a core metric (its judge inside) over samples through the framework's real runner. Returns one
            value a sample, in order; None where the framework says "not computable".
        score_all: The same for several metrics in one run of the framework, one list of values a metric, where a run
            takes long; None: ``score`` is called for each.
    """

    name: str
    score: Callable[[Metric, Sequence[Sample]], Sequence[float | None]]
    score_all: Callable[[Sequence[Metric], Sequence[Sample]], Sequence[Sequence[float | None]]] | None = (
        None
    )


def _core(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    from ctxmetrics.evaluation.engine import evaluate

    return [row[metric.name].value for row in evaluate(samples, [metric], progress=False)]


# The core's own `evaluate`: what the others are compared with.
CORE = Runner("core", _core)


def installed_runners() -> tuple[list[Runner], dict[str, str]]:
    """Return the core's runner and those of every adapter whose framework is installed.

    Returns:
        The runners, the core's first; and why an adapter's are not among them, by its name.
    """
    runners, absent = [CORE], {}
    # Some frameworks write or call home when imported.
    with aside({"DO_NOT_TRACK": "true"}, silent=False):
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            try:
                runners += entry.load()
            except (MissingExtraError, ImportError) as error:
                absent[entry.name] = " ".join(str(error).split())
    return runners, absent


@contextmanager
def aside(
    environment: Mapping[str, str | None], folder: str | Path | None = None, *, silent: bool = True
) -> Iterator[None]:
    """Work in another folder, drop what is printed, and give it all back: for runners that leave traces.

    It changes the whole process.

    Args:
        environment: Variables for the time; those that are None are taken away.
        folder: Where to work; None: a folder that is deleted afterwards.
        silent: Whether to drop what is printed.
    """
    here, before = Path.cwd(), {name: os.environ.get(name) for name in environment}
    with ExitStack() as stack:
        stack.callback(_set, before)
        os.chdir(stack.enter_context(TemporaryDirectory()) if folder is None else folder)
        stack.callback(os.chdir, here)
        if silent:
            stack.enter_context(redirect_stdout(StringIO()))
            stack.enter_context(redirect_stderr(StringIO()))
        _set(environment)
        yield


def _set(environment: Mapping[str, str | None]) -> None:
    for name, value in environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
