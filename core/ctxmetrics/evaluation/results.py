"""What a run returns: one row a sample in input order, and a summary that hides nothing."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from ctxmetrics._wording import language_of, number, say
from ctxmetrics.errors import CtxMetricsError, missing_extra
from ctxmetrics.evaluation.writer import json_line, to_rows, write_whole
from ctxmetrics.scores import FAILURES, NOT_FINAL, Provenance, Score, Usage, unjudged

if TYPE_CHECKING:
    import os

    import pandas as pd

    from ctxmetrics.samples import Sample


@dataclass(frozen=True, slots=True)
class Row(Mapping[str, Score]):
    """One sample and its scores: ``row.sample``, ``row["context_recall"]``.

    Attributes:
        index: Position of the sample in the input, from 0.
        sample: The sample; None in a run with ``out=``, which keeps values and reason codes only.
        sample_id: The sample's id, where it has one.
        scores: The scores by metric name.
    """

    index: int
    sample: Sample | None
    sample_id: str | None
    scores: Mapping[str, Score]

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
        names = ("metric", "mean", "95 % interval", "scored", "not judged", "undefined", "passed")
        header = tuple(say(name, language) for name in names)
        rows = [header, *(_cells(item, language) for item in self.metrics.values())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        for item in self.metrics.values():
            if item.missing:
                verdicts = say("verdicts missing", language)
                causes = f"; {verdicts}: {_listed(item.causes)}" if item.causes else ""
                lines.append(
                    f"{item.metric}: {say('without a value', language)}: {_listed(item.missing)}{causes}"
                )
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


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {number}" for code, number in sorted(counts.items()))


def _cells(item: MetricSummary, language: str) -> tuple[str, ...]:
    of = say("of", language)
    return (
        item.metric,
        shown_mean(item, language),
        shown_interval(item, language),
        f"{item.scored} {of} {item.samples}",
        str(item.not_judged),
        str(item.undefined),
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


def shown_interval(item: MetricSummary, language: str) -> str:
    """Return the interval as it is shown."""
    if item.interval is None:
        return "-"
    low, high = (number(end, item.convention) for end in item.interval)
    return f"{low} {say('to', language)} {high}"


@dataclass(slots=True)
class _Column:
    """The values of one metric, compactly: what a run of any length keeps."""

    metric: str
    scale: float = 1.0
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: array[int] = field(default_factory=lambda: array("B"))
    names: list[str] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    convention: str = "default"
    passed: int = 0
    failed: int = 0
    answered: bool = False
    threshold: float | None = None

    def add(self, score: Score) -> None:
        code = score.reason_code or ""
        if code not in self.names:
            self.names.append(code)
        self.values.append(0.0 if score.value is None else score.value)
        self.codes.append(self.names.index(code) * 2 + (score.value is None))
        missing = unjudged(score.verdicts)
        self.causes.update(verdict.code or "not judged" for verdict in missing)
        for verdict in missing:
            self.words.setdefault(verdict.code or "not judged", verdict.reason or "")
        if code == "metric_error":
            self.words.setdefault(code, score.message or "")
        self.answered = self.answered or len(missing) < len(score.verdicts)
        self.convention = score.provenance.convention
        self.passed += score.passed is True
        self.failed += code in FAILURES
        self.threshold = score.threshold if score.threshold is not None else self.threshold

    def value(self, index: int) -> tuple[float | None, str | None]:
        code = self.codes[index]
        return (None if code % 2 else self.values[index]), self.names[code // 2] or None

    def score(self, index: int, sample_id: str | None) -> Score:
        value, code = self.value(index)
        return Score(
            metric=self.metric,
            value=value,
            reason_code=code,
            threshold=self.threshold,
            provenance=Provenance(convention=self.convention),
            sample_id=sample_id,
        )

    def summary(self) -> MetricSummary:
        from ctxmetrics._statistics import mean_interval

        known = [value for value, code in zip(self.values, self.codes, strict=True) if not code % 2]
        missing = Counter(self.names[code // 2] for code in self.codes if code % 2)
        return MetricSummary(
            metric=self.metric,
            samples=len(self.values),
            scored=len(known),
            mean=math.fsum(known) / len(known) if known else None,
            interval=mean_interval(known, scale=self.scale),
            missing=dict(missing),
            causes=dict(self.causes),
            passed=None if self.threshold is None else self.passed,
            threshold=self.threshold,
            convention=self.convention,
        )


class Results(Sequence[Row]):
    """The rows of a run, in input order.

    Attributes:
        metrics: The metrics' names.
        usage: Calls and tokens of the whole run, failed requests included, and how many judgements cost nothing.
        stopped: Why the run ended early (Ctrl-C, a deadline, a budget, a judge that is down), or None.
    """

    def __init__(
        self, metrics: Sequence[str], *, keep: bool, scales: Mapping[str, float] | None = None
    ) -> None:
        self.metrics = tuple(metrics)
        self.usage = Usage()
        self.stopped: str | None = None
        self._columns = {name: _Column(name, (scales or {}).get(name, 1.0)) for name in metrics}
        self._ids: list[str | None] = []
        self._rows: list[Row] | None = [] if keep else None

    def add(self, row: Row) -> None:
        """Append a row; the engine's business."""
        self._ids.append(row.sample_id)
        for name, column in self._columns.items():
            column.add(row.scores[name])
            self.usage += Usage(reused=row.scores[name].usage.reused)
        if self._rows is not None:
            self._rows.append(row)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if self._rows is not None:
            return self._rows[index]
        position = range(len(self))[index]
        identifier = self._ids[position]
        scores = {name: column.score(position, identifier) for name, column in self._columns.items()}
        return Row(position, None, identifier, scores)

    def summary(self) -> Summary:
        """Return mean, interval, pass rate and what is missing, a metric; print it for a table."""
        return Summary(
            {name: column.summary() for name, column in self._columns.items()}, self.usage, self.stopped
        )

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The metrics that needed a judge, or a function, and got no verdict at all."""
        return tuple(name for name, column in self._columns.items() if column.failed and not column.answered)

    @property
    def failure(self) -> tuple[str, str] | None:
        """The most frequent code of what failed, and what was said when it happened first; None when nothing failed."""
        for name in (*self.unanswered, *self._columns):
            column = self._columns[name]
            codes = sorted(column.words, key=lambda code: -column.causes[code])
            if codes:
                return codes[0], column.words[codes[0]]
        return None

    @property
    def trouble(self) -> str | None:
        """One line about what failed and why, or None when nothing did."""
        found = [
            f"{name}: {column.failed} of {len(self)}"
            + (f" ({_listed(column.causes)})" if column.causes else "")
            for name, column in self._columns.items()
            if column.failed
        ]
        return f"Samples that could not be scored: {'; '.join(found)}" if found else None

    def to_dicts(self) -> Iterator[dict[str, Any]]:
        """Yield one dict a sample and metric: what `Score.to_dict` makes, and ``sample``."""
        for row in self:
            yield from to_rows(row)

    def to_jsonl(self, path: str | os.PathLike[str]) -> None:
        """Write one JSON line a sample and metric; with an error, what was there stays.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: The path is no place for a file, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        self._need_rows("to_jsonl")
        write_whole(path, map(json_line, self.to_dicts()))

    def to_html(self, path: str | os.PathLike[str], *, title: str = "ctxmetrics") -> None:
        """Write one page to read: the summary, then every sample with its evidence marked in the retrieved text.

        The page holds no script and loads nothing. With an error, what was there stays.

        Args:
            path: The file.
            title: Heading of the page.

        Raises:
            CtxMetricsError: The run wrote its verdicts to a file itself (``out=``) and keeps values only.
            InputFileError: The path is no place for a file, or data of another kind is there.
            OutputFileError: Writing failed.
        """
        from ctxmetrics.report import render_html

        self._need_rows("to_html")
        write_whole(path, (render_html(self, title=title),))

    def to_pandas(self) -> pd.DataFrame:
        """Return one line a sample: its fields, then a column a metric (missing values are missing).

        Where a metric lacks a value anywhere, a column ``NAME.reason_code`` says why.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise missing_extra("pandas", "pandas") from None
        samples = [{"id": row.sample_id} if row.sample is None else row.sample.to_dict() for row in self]
        frame = pd.DataFrame(samples, index=range(len(self)))
        for name in self.metrics:
            scores = [row[name] for row in self]
            frame[name] = pd.Series([score.value for score in scores], dtype="float64")
            if any(score.reason_code for score in scores):
                frame[f"{name}.reason_code"] = [score.reason_code for score in scores]
        return frame

    def _need_rows(self, what: str) -> None:
        if self._rows is None:
            raise CtxMetricsError(
                f"{what}: this run wrote its rows to the file given as out=, and keeps values only."
            )

    def __repr__(self) -> str:
        return f"<Results: {len(self)} samples, {', '.join(self.metrics)}>"
