"""The rows of a run, the values of each metric, and the failures."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from numbers import Integral
from operator import attrgetter
from typing import TYPE_CHECKING, Any, overload

from ctxmetrics._internal.frozen import EMPTY
from ctxmetrics.errors import CtxMetricsError, ParameterError
from ctxmetrics.evaluation.batching.batch import BatchReport
from ctxmetrics.evaluation.report.summary import Controls
from ctxmetrics.evaluation.rows.metric_values import MetricValues
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.samples.field_keys import OPTIONS
from ctxmetrics.scores.label_notes import Labels
from ctxmetrics.scores.score import FAILURES, NOT_FINAL
from ctxmetrics.scores.wording import join_counts, plural
from ctxmetrics.verdicts import Usage

if TYPE_CHECKING:
    from ctxmetrics.evaluation.report.run_audit import RunAudit

# Reads all fields of a sample that metrics look at.
_read_options = attrgetter(*OPTIONS)


class ResultRows(Sequence[Row]):
    """The rows of a run, in input order, and the values of each metric. `Results` documents the attributes."""

    def __init__(
        self,
        scales: Mapping[str, float],
        *,
        keep: bool,
        source: str | None = None,
        start: Mapping[str, Any] = EMPTY,
    ) -> None:
        """Begin without a row: ``scales`` are the metrics' highest scores by name. With ``keep``, whole rows are kept."""
        self.source: str | None = source
        self.start: Mapping[str, Any] = start
        self.metrics: tuple[str, ...] = tuple(scales)
        self.usage: Usage = Usage()
        self.stopped: str | None = None
        self.total: int | None = None
        self.batches: BatchReport | None = None
        self.controls: Controls | None = None
        self.audit: RunAudit | None = None
        self.by_metric: Mapping[str, MetricValues] = {
            name: MetricValues(name, scale) for name, scale in scales.items()
        }
        # The ids of the rows' samples.
        self._ids: list[str | None] = []
        self._labels = Labels()
        self._samples = array("q")  # a hash of each row's sample
        self._rows: list[Row] | None = [] if keep else None

    def add(self, row: Row) -> None:
        """Append a row. Only the engine calls it."""
        self._ids.append(row.sample_id)
        if row.sample is not None:
            self._labels.add(row.sample, row.record)
        # Samples are told apart by the fields that metrics look at, not by their ids.
        content = (row.record or {}).get("content_hash")
        if content is None and row.sample is not None:
            content = _read_options(row.sample)  # the values of these fields
        self._samples.append(hash(content or row.index))
        for column, score in zip(self.by_metric.values(), row.scores, strict=True):
            column.add(score)
            if score.usage.reused or score.usage.repeats:
                self.usage += Usage(reused=score.usage.reused, repeats=score.usage.repeats)
        if self._rows is not None:
            self._rows.append(row)

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, str):
            raise ParameterError(
                f"Results: {index!r} is no number of a row. Write results[0][{index!r}], or "
                f"results.summary()[{index!r}]."
            )
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if self._rows is not None:
            return self._rows[index]
        position = range(len(self))[index]
        identifier = self._ids[position]
        return Row(
            position,
            None,
            identifier,
            tuple(column.score(position, identifier) for column in self.by_metric.values()),
        )

    def worst(self, metric: str, number: int = 10) -> list[Row]:
        """Return the rows with the lowest scores of a metric, the lowest first.

        Rows that failed come first. Rows whose value is undefined for a reason in the sample itself are
        left out.

        Raises:
            ParameterError: The run has no such metric, or the number is no whole number from 0.
        """
        if metric not in self.metrics:
            raise ParameterError(
                f"worst: metric={metric!r} is not in this run: {', '.join(self.metrics)}."
            )
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 0:
            raise ParameterError(f"worst: number={number!r} must be a whole number from 0.")
        failed_rows = []
        scored_rows = []
        for row in self:
            if row[metric].reason_code in NOT_FINAL:
                failed_rows.append(row)
            elif row[metric].value is not None:
                scored_rows.append(row)
        scored_rows.sort(key=lambda row: row[metric].value or 0.0)
        return [*failed_rows, *scored_rows][:number]

    @property
    def waits_for_batches(self) -> bool:
        """Whether a batch is not answered yet, or still to be submitted."""
        return self.batches is not None and self.batches.is_open

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The metrics that needed a judge, or a function, and got no verdict at all."""
        return tuple(
            name for name, column in self.by_metric.items() if column.failed and not column.answered
        )

    def describe_rest(self) -> str:
        """Describe how far a run came that ended early: ``5 of 30 judged, 25 left``. For a stream: ``5 of ? judged``."""
        failed = 0
        cancelled = 0
        for codes in zip(*(column.codes for column in self.by_metric.values()), strict=True):
            if "cancelled" in codes:
                cancelled += 1
            elif not FAILURES.isdisjoint(codes):
                failed += 1
        clauses = [f"{len(self) - failed - cancelled} of {self.total or '?'} judged"]
        if failed:
            clauses.append(f"{failed} failed")
        if self.total is not None:
            clauses.append(f"{cancelled + max(0, self.total - len(self))} left")
        return ", ".join(clauses)

    @property
    def failure(self) -> tuple[str, str] | None:
        """Of the first metric that failed, its most frequent code and the first message with it; None when nothing failed."""
        for name in (*self.unanswered, *self.by_metric):
            column = self.by_metric[name]
            first_messages = column.words
            if first_messages:
                code = max(first_messages, key=column.causes.__getitem__)
                return code, first_messages[code]
        return None

    @property
    def trouble(self) -> str | None:
        """One line about the failures and their causes; None if nothing failed."""
        counts = []
        for name, column in self.by_metric.items():
            if not column.failed:
                continue
            count = f"{name}: {column.failed} of {len(self)}"
            counts.append(f"{count} ({join_counts(column.causes)})" if column.causes else count)
        return f"Samples that could not be scored: {'; '.join(counts)}" if counts else None

    def _need_rows(self, method: str) -> None:
        """Raise if the run kept no rows."""
        if self._rows is None:
            raise CtxMetricsError(
                f"{method}: this run wrote its rows to the file given as out=, and keeps values only. "
                "Read them with Results.from_jsonl(out)."
            )

    def __repr__(self) -> str:
        return f"<Results: {plural(len(self), 'sample')}, {', '.join(self.metrics)}>"
