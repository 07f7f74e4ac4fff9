"""The same metrics on the same samples through every installed framework: equal, or the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

from ctxmetrics._secrets import safe_text
from ctxmetrics.adapting.runners import CORE, Runner, installed_runners
from ctxmetrics.metrics.base import Metric
from ctxmetrics.report.view import aligned
from ctxmetrics.samples import Sample

# Differences that the text shows.
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that is not the core's."""

    runner: str
    metric: str
    sample: str
    value: object
    core: float | None


@dataclass(frozen=True, slots=True)
class Parity:
    """What a comparison found.

    Attributes:
        runners: Names, the core first.
        metrics: Names.
        compared: Number of values compared with the core's.
        differences: Values that are not equal under ``==``; a runner that failed differs in every sample.
        absent: Adapters whose framework is not installed, and why.
        values: The core's values: metric, sample, value.
    """

    runners: tuple[str, ...]
    metrics: tuple[str, ...]
    compared: int
    differences: tuple[Difference, ...]
    absent: dict[str, str]
    values: tuple[tuple[str, str, float | None], ...] = ()

    def __str__(self) -> str:
        rows = [("runner", "metrics", "values", "differ")]
        numbers = Counter(item.runner for item in self.differences)
        rows += [
            (runner, str(len(self.metrics)), str(len(self.values)), str(numbers[runner] or "equal"))
            for runner in self.runners[1:]
        ]
        lines = aligned(rows)
        lines += [
            f"{item.runner}: {item.metric}, sample {item.sample}: {item.value!r} where the core has {item.core!r}"
            for item in self.differences[:_SHOWN]
        ]
        if len(self.differences) > _SHOWN:
            lines.append(f"and {len(self.differences) - _SHOWN} more")
        lines += [f"{name}: not run: {why}" for name, why in self.absent.items()]
        lines.append(f"{len(self.differences)} differences in {self.compared} comparisons")
        return "\n".join(lines)

    def numbers(self) -> str:
        """Return every value of the core as a table, and in how many runners it is another."""
        other = Counter((item.metric, item.sample) for item in self.differences)
        rows = [("metric", "sample", "core", "other value in")]
        rows += [
            (metric, sample, repr(value), f"{other[metric, sample]} of {len(self.runners) - 1} runners")
            for metric, sample, value in self.values
        ]
        return "\n".join(aligned(rows))


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
        runners: The runners; None: those of every installed framework.
        progress: Called with what runs next.
    """
    found, absent = installed_runners() if runners is None else (list(runners), {})
    others = [runner for runner in found if runner != CORE]
    differences: list[Difference] = []
    values: list[tuple[str, str, float | None]] = []
    for together, fitting in _by_samples(metrics, samples):
        expected = [CORE.score(metric, fitting) for metric in together]
        names = [sample.id or str(number) for number, sample in enumerate(fitting, 1)]
        for metric, column in zip(together, expected, strict=True):
            values += [(metric.name, name, core) for name, core in zip(names, column, strict=True)]
        for runner in others:
            if progress is not None:
                progress(f"{', '.join(metric.name for metric in together)} in {runner.name}")
            for metric, column, own in zip(
                together, expected, _values(runner, together, fitting), strict=True
            ):
                differences += [
                    Difference(runner.name, metric.name, name, value, core)
                    for name, value, core in zip(names, own, column, strict=True)
                    if value != core
                ]
    order = {metric.name: place for place, metric in enumerate(metrics)}
    differences.sort(key=lambda item: order[item.metric])
    return Parity(
        tuple(runner.name for runner in found),
        tuple(order),
        len(values) * len(others),
        tuple(differences),
        absent,
        tuple(values),
    )


def _by_samples(
    metrics: Sequence[Metric], samples: Sequence[Sample]
) -> list[tuple[list[Metric], list[Sample]]]:
    """Return the metrics that the same samples have the fields for, together."""
    groups: dict[tuple[int, ...], list[Metric]] = {}
    for metric in metrics:
        has_all = [
            all(getattr(sample, name) is not None for name in metric.requires) for sample in samples
        ]
        groups.setdefault(tuple(compress(range(len(samples)), has_all)), []).append(metric)
    return [(together, [samples[place] for place in places]) for places, together in groups.items()]


def _values(runner: Runner, metrics: list[Metric], samples: list[Sample]) -> list[Sequence[object]]:
    """Return a list of values a metric; a failure in place of each value that did not come."""
    score_all = runner.score_all or (lambda one, given: [runner.score(one[0], given)])
    found: list[Sequence[object]] = []
    for together in [[metric] for metric in metrics] if runner.score_all is None else [metrics]:
        try:
            found += [_whole(column, samples) for column in score_all(together, samples)]
        except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
            found += [[f"{type(error).__name__}: {safe_text(error)}"] * len(samples)] * len(together)
    return found


def _whole(values: Sequence[object], samples: list[Sample]) -> Sequence[object]:
    missing = len(samples) - len(values)
    return [*values, *["no value came back"] * missing][: len(samples)]
