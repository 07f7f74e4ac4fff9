"""The plain data of a run's results: a row a sample, a summary a metric, and the table that they are printed as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxmetrics._wording import doubts_of, language_of, listed, number, say
from ctxmetrics.scores import NOT_FINAL, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.samples import Sample
    from ctxmetrics.verdicts import Usage


@dataclass(frozen=True, slots=True)
class Row(Mapping[str, Score]):
    """One sample and its scores: ``row.sample``, ``row["context_recall"]``.

    Attributes:
        index: Position of the sample in the input, from 0.
        sample: The sample; None in a run with ``out=``, which keeps values and reason codes only.
        sample_id: The sample's id, where it has one.
        scores: The scores by metric name.
        record: Of a row that was read from a file: what the file says about the sample, with the hashes of its texts.
    """

    index: int
    sample: Sample | None
    sample_id: str | None
    scores: Mapping[str, Score]
    record: Mapping[str, Any] | None = None

    def __getitem__(self, metric: str) -> Score:
        if metric not in self.scores:
            raise KeyError(f"{metric!r}; this run has: {', '.join(self.scores)}")
        return self.scores[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over all samples.

    Attributes:
        metric: Its name.
        samples: How many rows the run has.
        scored: How many have a value.
        mean: Mean of the values, or None without one. It says nothing about the others: read ``missing`` with it.
        interval: 95 % interval of the mean, samples as units, or None below two values.
        missing: Why rows have no value, by reason code.
        causes: Why verdicts are missing, by verdict code.
        verdicts: How many verdicts there are, missing ones included.
        doubtful: How many of them are weak, unverified, contradicted or uncertain, by verdict code.
        passed: How many reach the pass mark, or None without one.
        threshold: The pass mark, or None.
        convention: Name of the convention.
    """

    metric: str
    samples: int
    scored: int
    mean: float | None
    interval: tuple[float, float] | None
    missing: Mapping[str, int]
    causes: Mapping[str, int]
    verdicts: int
    doubtful: Mapping[str, int]
    passed: int | None
    threshold: float | None
    convention: str = "default"

    @property
    def partial(self) -> bool:
        """Whether the mean is of a part only: of those samples that were judged, while others could not be."""
        return self.mean is not None and self.not_judged > 0

    @property
    def not_judged(self) -> int:
        """Rows that failed: a verdict is missing, the metric failed, or the run was stopped."""
        return sum(number for code, number in self.missing.items() if code in NOT_FINAL)

    @property
    def undefined(self) -> int:
        """Rows without a value for a reason in the sample itself."""
        return sum(self.missing.values()) - self.not_judged

    @property
    def doubtful_share(self) -> float | None:
        """Doubtful verdicts / verdicts, or None without a verdict."""
        return sum(self.doubtful.values()) / self.verdicts if self.verdicts else None

    @property
    def pass_rate(self) -> float | None:
        """Passed / scored, or None without a pass mark or a value."""
        return self.passed / self.scored if self.passed is not None and self.scored else None

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return {
            "metric": self.metric,
            "samples": self.samples,
            "scored": self.scored,
            "mean": self.mean,
            "partial": self.partial,
            "interval": None if self.interval is None else list(self.interval),
            "not_judged": self.not_judged,
            "undefined": self.undefined,
            "missing": dict(self.missing),
            "causes": dict(self.causes),
            "verdicts": self.verdicts,
            "doubtful": dict(self.doubtful),
            "doubtful_share": self.doubtful_share,
            "threshold": self.threshold,
            "passed": self.passed,
            "pass_rate": self.pass_rate,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Mapping[str, MetricSummary]):
    """The summaries by metric name; ``str()`` is a table.

    Attributes:
        metrics: Summaries by name.
        usage: Calls and tokens of the run.
        stopped: Why the run ended early, or None.
    """

    metrics: Mapping[str, MetricSummary]
    usage: Usage
    stopped: str | None = None

    def __getitem__(self, metric: str) -> MetricSummary:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    @property
    def language(self) -> str:
        """The language of the table: that of the metrics' conventions, where they have one."""
        return language_of(item.convention for item in self.metrics.values())

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        language = self.language
        names = ("metric", "mean", "95 % interval", "scored", "not judged", "undefined", "doubtful", "passed")
        header = tuple(say(name, language) for name in names)
        rows = [header, *(_cells(item, language) for item in self.metrics.values())]
        lines = aligned(rows)
        for item in self.metrics.values():
            if item.missing:
                verdicts = say("verdicts missing", language)
                causes = f"; {verdicts}: {listed(item.causes)}" if item.causes else ""
                lines.append(
                    f"{item.metric}: {say('without a value', language)}: {listed(item.missing)}{causes}"
                )
            if item.doubtful:
                lines.append(f"{item.metric}: {doubts_of(item.doubtful, language)}")
        if self.usage.calls or self.usage.reused:
            tokens = f"{self.usage.prompt_tokens} + {self.usage.completion_tokens} {say('tokens', language)}"
            lines.append(
                f"{say('judge', language)}: {self.usage.calls} {say('calls', language)}, "
                f"{self.usage.reused} {say('reused', language)}, {tokens}"
                + (f" ({say('estimated', language)})" if self.usage.estimated else "")
            )
        if self.stopped:
            lines.append(f"{say('stopped early', language)}: {self.stopped}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON-ready data."""
        return {
            "metrics": {name: item.to_dict() for name, item in self.metrics.items()},
            "usage": self.usage.to_dict(),
            "stopped": self.stopped,
        }


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows of a table as lines of text, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _cells(item: MetricSummary, language: str) -> tuple[str, ...]:
    of = say("of", language)
    return (
        item.metric,
        shown_mean(item, language),
        shown_interval(item, language),
        f"{item.scored} {of} {item.samples}",
        str(item.not_judged),
        str(item.undefined),
        shown_doubt(item, language),
        "-" if item.passed is None else f"{item.passed} {of} {item.scored} (>= {item.threshold:g})",
    )


def shown_mean(item: MetricSummary, language: str) -> str:
    """Return the mean as it is shown: marked where samples are missing in it that could not be judged."""
    if item.mean is None:
        return "-"
    mean = number(item.mean, item.convention)
    if not item.partial:
        return mean
    return f"{mean} ({item.scored} {say('of', language)} {item.scored + item.not_judged} {say('judged', language)})"


def shown_doubt(item: MetricSummary, language: str) -> str:
    """Return how many of the verdicts are doubtful."""
    return f"{sum(item.doubtful.values())} {say('of', language)} {item.verdicts}" if item.doubtful else "0"


def shown_interval(item: MetricSummary, language: str) -> str:
    """Return the interval as it is shown."""
    if item.interval is None:
        return "-"
    low, high = (number(end, item.convention) for end in item.interval)
    return f"{low} {say('to', language)} {high}"
