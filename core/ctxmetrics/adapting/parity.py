"""The same metrics on the same samples through every installed framework: equal, or the difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxmetrics._secrets import safe_text
from ctxmetrics.adapting.runners import CORE, Runner, installed_runners

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples import Sample


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
    """

    runners: tuple[str, ...]
    metrics: tuple[str, ...]
    compared: int
    differences: tuple[Difference, ...]
    absent: dict[str, str]

    def __str__(self) -> str:
        width = max((len(name) for name in self.metrics), default=6)
        lines = ["  ".join(("metric".ljust(width), *self.runners))]
        for metric in self.metrics:
            cells = [self._cell(runner, metric).ljust(len(runner)) for runner in self.runners]
            lines.append("  ".join((metric.ljust(width), *cells)).rstrip())
        lines += [
            f"{item.runner}: {item.metric}, sample {item.sample}: {item.value!r} where the core has {item.core!r}"
            for item in self.differences[:20]
        ]
        if len(self.differences) > 20:  # noqa: PLR2004 - as many as are shown
            lines.append(f"and {len(self.differences) - 20} more")
        lines += [f"{name}: not run: {why}" for name, why in self.absent.items()]
        lines.append(f"{len(self.differences)} differences in {self.compared} comparisons")
        return "\n".join(lines)

    def _cell(self, runner: str, metric: str) -> str:
        number = sum(item.runner == runner and item.metric == metric for item in self.differences)
        return f"{number} differ" if number else "equal"


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
    differences: list[Difference] = []
    compared = 0
    for metric in metrics:
        fitting = [
            sample for sample in samples if all(getattr(sample, name) is not None for name in metric.requires)
        ]
        expected = CORE.score(metric, fitting)
        for runner in found:
            if runner == CORE:
                continue
            if progress is not None:
                progress(f"{metric.name} in {runner.name}")
            values = _values(runner, metric, fitting)
            for number, (sample, value, core) in enumerate(zip(fitting, values, expected, strict=True), 1):
                compared += 1
                if value != core:
                    differences.append(
                        Difference(runner.name, metric.name, sample.id or str(number), value, core)
                    )
    names = tuple(runner.name for runner in found)
    return Parity(names, tuple(metric.name for metric in metrics), compared, tuple(differences), absent)


def _values(runner: Runner, metric: Metric, samples: list[Sample]) -> Sequence[object]:
    try:
        values = list(runner.score(metric, samples))
    except Exception as error:  # noqa: BLE001 - a framework's runner may fail in any way; that is the finding
        return [f"{type(error).__name__}: {safe_text(error)}"] * len(samples)
    missing = len(samples) - len(values)
    return [*values, *["no value came back"] * missing][: len(samples)]
