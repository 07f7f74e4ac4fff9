"""Compares the values of each framework's runner with the core's (``ctxmetrics parity``).

An adapter offers its runners under the entry point group ``ctxmetrics.runners``; the core knows none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from itertools import chain
from typing import NamedTuple

from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.adapting.runners import Runner, isolated_process
from ctxmetrics.errors import MissingExtraError
from ctxmetrics.evaluation.pages.tables import Column, Table
from ctxmetrics.evaluation.runs.evaluate import evaluate
from ctxmetrics.metrics.base import Metric
from ctxmetrics.samples.sample import Sample
from ctxmetrics.scores.wording import plural

GROUP = "ctxmetrics.runners"


def _score_in_core(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples in the core, without a framework."""
    return [row[metric.name].value for row in evaluate(samples, [metric], progress=False)]


# The core's own `evaluate`. The other runners are compared with it.
CORE = Runner("core", _score_in_core)


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


class CoreValue(NamedTuple):
    """A value that the core computes: a metric on a sample."""

    metric: str
    sample: str
    value: float | None


@dataclass(frozen=True, slots=True)
class RunnerDifference:
    """A value of a runner that is not the core's."""

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
    values: tuple[CoreValue, ...] = ()

    def __str__(self) -> str:
        counts = Counter(difference.runner for difference in self.differences)
        columns: list[Column[str]] = [
            Column("runner", str),
            Column("metrics", lambda _: len(self.metrics)),
            Column("values", lambda _: len(self.values)),
            Column("differ", lambda runner: counts[runner] or "equal"),
        ]
        lines = Table.build(columns, self.runners[1:]).list_lines()
        for difference in self.differences[:_MAX_DIFFERENCES_SHOWN]:
            place = f"{difference.runner}: {difference.metric}, sample {difference.sample}"
            lines.append(f"{place}: {difference.value!r} where the core has {difference.core!r}")
        if len(self.differences) > _MAX_DIFFERENCES_SHOWN:
            lines.append(f"and {len(self.differences) - _MAX_DIFFERENCES_SHOWN} more")
        lines += [f"{name}: not run: {why}" for name, why in self.absent.items()]
        lines.append(
            f"{plural(len(self.differences), 'difference')} in {plural(self.compared, 'comparison')}"
        )
        return "\n".join(lines)

    def numbers(self) -> str:
        """Return every value of the core as a table, and how many runners have another value."""
        counts = Counter((difference.metric, difference.sample) for difference in self.differences)
        runners = plural(len(self.runners) - 1, "runner")  # the core is one of them

        def count_others(core: CoreValue) -> str:
            """Say how many runners have another value than the core."""
            return f"{counts[core.metric, core.sample]} of {runners}"

        columns: list[Column[CoreValue]] = [
            Column("metric", lambda core: core.metric),
            Column("sample", lambda core: core.sample),
            Column("core", lambda core: repr(core.value)),
            Column("other value in", count_others),
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
    all_runners = [] if runners is None else list(runners)
    absent: dict[str, str] = {}
    if runners is None:
        all_runners, absent = find_installed_runners()
    other_runners = [runner for runner in all_runners if runner != CORE]
    differences: list[RunnerDifference] = []
    core_values: list[CoreValue] = []
    for group, usable_samples in _group_by_samples(metrics, samples):
        sample_names = [sample.id or str(number) for number, sample in enumerate(usable_samples, 1)]
        group_values: list[CoreValue] = []
        for metric in group:
            values = CORE.score(metric, usable_samples)
            for sample_name, value in zip(sample_names, values, strict=True):
                group_values.append(CoreValue(metric.name, sample_name, value))
        core_values += group_values
        for runner in other_runners:
            if progress is not None:
                metric_names = ", ".join(metric.name for metric in group)
                progress(f"{metric_names} in {runner.name}")
            columns = _score_with_runner(runner, group, usable_samples)
            differences += _find_differences(runner, group_values, chain.from_iterable(columns))
    order = {metric.name: position for position, metric in enumerate(metrics)}
    differences.sort(key=lambda difference: order[difference.metric])
    return Parity(
        runners=tuple(runner.name for runner in all_runners),
        metrics=tuple(order),
        compared=len(core_values) * len(other_runners),
        differences=tuple(differences),
        absent=absent,
        values=tuple(core_values),
    )


def _find_differences(
    runner: Runner, core_values: Sequence[CoreValue], values: Iterable[object]
) -> list[RunnerDifference]:
    """Compare a runner's values with the core's, metric by metric and sample by sample."""
    differences = []
    for core, value in zip(core_values, values, strict=True):
        if value != core.value:
            difference = RunnerDifference(
                runner=runner.name,
                metric=core.metric,
                sample=core.sample,
                value=value,
                core=core.value,
            )
            differences.append(difference)
    return differences


def _group_by_samples(
    metrics: Sequence[Metric], samples: Sequence[Sample]
) -> list[tuple[list[Metric], list[Sample]]]:
    """Group the metrics that need fields of the same samples. Return each group with these samples."""
    # The metrics by the indexes of the samples that have their fields.
    groups: dict[tuple[int, ...], list[Metric]] = {}
    for metric in metrics:
        usable_indexes = tuple(
            index for index, sample in enumerate(samples) if all(map(sample.has, metric.requires))
        )
        groups.setdefault(usable_indexes, []).append(metric)
    metrics_with_samples: list[tuple[list[Metric], list[Sample]]] = []
    for indexes, group in groups.items():
        usable_samples = [samples[index] for index in indexes]
        metrics_with_samples.append((group, usable_samples))
    return metrics_with_samples


def _score_with_runner(
    runner: Runner, metrics: list[Metric], samples: list[Sample]
) -> list[Sequence[object]]:
    """Return the runner's values of each metric. If a runner fails, the error as text stands in the place of each value."""
    # The values of each metric, in the order of the samples.
    values_of_metrics: list[Sequence[object]] = []
    groups = [[metric] for metric in metrics]
    if runner.score_all is not None:
        groups = [metrics]
    missing_values = ["no value came back"] * len(samples)
    for group in groups:
        try:
            if runner.score_all is None:
                columns: Sequence[Sequence[object]] = [runner.score(group[0], samples)]
            else:
                columns = runner.score_all(group, samples)
            values_of_metrics += [[*column, *missing_values][: len(samples)] for column in columns]
        except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
            problem = f"{type(error).__name__}: {safe_text(error)}"
            values_of_metrics += [[problem] * len(samples) for _metric in group]
    return values_of_metrics
