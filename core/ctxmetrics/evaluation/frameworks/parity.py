"""Compares the values of each framework's runner with the core's (``ctxmetrics parity``).

An adapter offers its runners under the entry point group ``ctxmetrics.runners``; the core knows none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import chain
from operator import itemgetter

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.adapting.runners import Runner, isolated_process
from ctxmetrics.errors import MissingExtraError
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.runs.evaluate import evaluate
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

GROUP = "ctxmetrics.runners"


def _core(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples in the core, beside the frameworks."""
    return [row[metric.name].value for row in evaluate(samples, [metric], progress=False)]


# The core's own `evaluate`. The other runners are compared with it.
CORE = Runner("core", _core)


def find_installed_runners() -> tuple[list[Runner], dict[str, str]]:
    """Return the core's runner and the runners of every adapter whose framework is installed.

    Returns:
        The runners, the core's first; and why an adapter's are not among them, by its name.
    """
    runners = [CORE]
    problems_by_runner = {}
    # Some frameworks write files or send data when they are imported.
    with isolated_process({"DO_NOT_TRACK": "true"}, silent=False):
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            try:
                runners += entry.load()
            except (MissingExtraError, ImportError) as error:
                problems_by_runner[entry.name] = " ".join(str(error).split())
    return runners, problems_by_runner


# The most differences that the text shows.
_MAX_DIFFERENCES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RunnerDifference:
    """A value that is not the core's."""

    runner: str
    metric: str
    sample: str
    value: object
    core: float | None


@dataclass(frozen=True, slots=True)
class Parity:
    """The result of comparing runners with the core.

    Attributes:
        runners: The names of the runners, the core first.
        metrics: The names of the metrics.
        compared: The number of values that were compared with the core's.
        differences: The values that are not equal under ``==``. A runner that failed differs in every sample.
        absent: Why an adapter did not run, by the name of the adapter.
        values: The core's values, by metric and sample.
    """

    runners: tuple[str, ...]
    metrics: tuple[str, ...]
    compared: int
    differences: tuple[RunnerDifference, ...]
    absent: dict[str, str]
    values: tuple[tuple[str, str, float | None], ...] = ()

    def __str__(self) -> str:
        counts = Counter(item.runner for item in self.differences)
        columns: list[Column[str]] = [
            Column("runner", str),
            Column("metrics", lambda _: len(self.metrics)),
            Column("values", lambda _: len(self.values)),
            Column("differ", lambda runner: counts[runner] or "equal"),
        ]
        lines = Table.build(columns, self.runners[1:]).list_lines()
        for item in self.differences[:_MAX_DIFFERENCES_SHOWN]:
            lines.append(
                f"{item.runner}: {item.metric}, sample {item.sample}: {item.value!r} where the core has {item.core!r}"
            )
        if len(self.differences) > _MAX_DIFFERENCES_SHOWN:
            lines.append(f"and {len(self.differences) - _MAX_DIFFERENCES_SHOWN} more")
        lines += [f"{name}: not run: {why}" for name, why in self.absent.items()]
        lines.append(
            f"{plural(len(self.differences), 'difference')} in {plural(self.compared, 'comparison')}"
        )
        return "\n".join(lines)

    def numbers(self) -> str:
        """Return every value of the core as a table, and how many runners have another value."""
        counts = Counter((item.metric, item.sample) for item in self.differences)
        runners = plural(len(self.runners) - 1, "runner")
        columns: list[Column[tuple[str, str, float | None]]] = [
            Column("metric", itemgetter(0)),
            Column("sample", itemgetter(1)),
            Column("core", lambda item: repr(item[2])),
            Column("other value in", lambda item: f"{counts[item[:2]]} of {runners}"),
        ]
        return str(Table.build(columns, self.values))


def compare(
    samples: Sequence[Sample],
    metrics: Sequence[Metric],
    *,
    runners: Sequence[Runner] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Parity:
    """Run every metric in every runner and compare with the core under ``==``.

    Args:
        samples: The samples.
        metrics: The metrics, with their judges.
        runners: The runners; None: the runners of every installed framework.
        progress: A function that is called with the name of the next metric and runner.
    """
    compared, absent = find_installed_runners() if runners is None else (list(runners), {})
    other_runners = [runner for runner in compared if runner != CORE]
    differences: list[RunnerDifference] = []
    # The name of a metric, the name of a sample, and the value.
    values: list[tuple[str, str, float | None]] = []
    for group, usable_samples in _group_by_samples(metrics, samples):
        names = [sample.id or str(number) for number, sample in enumerate(usable_samples, 1)]
        expected: list[tuple[str, str, float | None]] = []
        for metric in group:
            column = CORE.score(metric, usable_samples)
            expected += [(metric.name, *pair) for pair in zip(names, column, strict=True)]
        values += expected
        for runner in other_runners:
            if progress is not None:
                progress(f"{', '.join(metric.name for metric in group)} in {runner.name}")
            columns = _score_with_runner(runner, group, usable_samples)
            differences += _differences(runner, expected, chain.from_iterable(columns))
    order = {metric.name: position for position, metric in enumerate(metrics)}
    differences.sort(key=lambda item: order[item.metric])
    all_names = tuple(runner.name for runner in compared)
    count = len(values) * len(other_runners)
    return Parity(all_names, tuple(order), count, tuple(differences), absent, tuple(values))


def _differences(
    runner: Runner, expected: Sequence[tuple[str, str, float | None]], values: Iterable[object]
) -> list[RunnerDifference]:
    """Compare a runner's values with the core's, metric by metric and sample by sample."""
    differences = []
    for (metric, sample, core), value in zip(expected, values, strict=True):
        if value != core:
            differences.append(RunnerDifference(runner.name, metric, sample, value, core))
    return differences


def _group_by_samples(
    metrics: Sequence[Metric], samples: Sequence[Sample]
) -> list[tuple[list[Metric], list[Sample]]]:
    """Group the metrics that need fields of the same samples. Return each group with these samples."""
    # The metrics by the indexes of the samples that have their fields.
    groups: dict[tuple[int, ...], list[Metric]] = {}
    for metric in metrics:
        indexes = []
        for index, sample in enumerate(samples):
            if all(map(sample.has, metric.requires)):
                indexes.append(index)
        groups.setdefault(tuple(indexes), []).append(metric)
    return [(group, [samples[index] for index in indexes]) for indexes, group in groups.items()]


def _score_with_runner(
    runner: Runner, metrics: list[Metric], samples: list[Sample]
) -> list[Sequence[object]]:
    """Return the runner's values of each metric. If a runner fails, the error as text stands in the place of each value."""
    # The values of each metric, in the order of the samples.
    values_of_metrics: list[Sequence[object]] = []
    groups = [[metric] for metric in metrics]
    if runner.score_all is not None:
        groups = [metrics]
    padding = ["no value came back"] * len(samples)
    for group in groups:
        try:
            if runner.score_all is None:
                columns: Sequence[Sequence[object]] = [runner.score(group[0], samples)]
            else:
                columns = runner.score_all(group, samples)
            values_of_metrics += [[*column, *padding][: len(samples)] for column in columns]
        except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
            values_of_metrics += [[f"{type(error).__name__}: {safe_text(error)}"] * len(samples)] * len(
                group
            )
    return values_of_metrics
