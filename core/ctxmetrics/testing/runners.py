"""Runners: one a way in which people run a metric. What the conformance suite and ``ctxmetrics parity`` compare.

An adapter offers its runners under the entry point group ``ctxmetrics.runners``; the core knows none of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from ctxmetrics.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    """

    name: str
    score: Callable[[Metric, Sequence[Sample]], Sequence[float | None]]


def _core(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    from ctxmetrics.engine import evaluate

    return [row[metric.name].value for row in evaluate(samples, [metric], progress=False)]


CORE = Runner("core", _core)
"""The core's own `evaluate`: what the others are compared with."""


def installed_runners() -> tuple[list[Runner], dict[str, str]]:
    """Return the core's runner and those of every adapter whose framework is installed.

    Returns:
        The runners, the core's first; and why an adapter's are not among them, by its name.
    """
    runners, absent = [CORE], {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            runners += entry.load()
        except (MissingExtraError, ImportError) as error:
            absent[entry.name] = " ".join(str(error).split())
    return runners, absent
