"""Tables that are scored in batches: each batch gets the same columns, whatever it holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics._runtime.run import Run
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.columns import REASON, Values
from ctxmetrics.evaluation.engine import Evaluation, check_metrics, run_in_caller
from ctxmetrics.evaluation.options import DEFAULTS
from ctxmetrics.evaluation.progress import counting_progress
from ctxmetrics.evaluation.sources import check_id
from ctxmetrics.fields import Reading, recognise
from ctxmetrics.samples import Sample
from ctxmetrics.scores import FAILURES
from ctxmetrics.tables._forms import form_of
from ctxmetrics.tables._frames import as_polars, frame_of, may_hold_documents, series_of
from ctxmetrics.tables._values import joined, no_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import narwhals.stable.v1 as nw

    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables._forms import Form

Table = TypeVar("Table")
_MISSING_FIELD = "missing_field"


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores the rows of tables.

    Each metric gives two columns, in every batch: ``NAME``, a float on the metric's scale, missing where there is no
    value; and ``NAME.reason_code``, a text that says why there is none, missing where there is one. Where polars is
    installed, metrics over ids and strings read the columns as they are; all others make a `Sample` of each row.

    Attributes:
        metrics: The metrics.
        schema: Whose words the columns are (`ctxmetrics.fields.SCHEMAS`), or how the rows are read.
        judge: As for `ctxmetrics.evaluate`.
        options: As for `ctxmetrics.evaluate`. Metrics that read the columns as they are send no request and take no
            part in its limits; with ``out``, which holds verdicts, no metric reads them so.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """

    metrics: Sequence[Metric]
    schema: str | Reading = "ragas"
    judge: Judge | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", check_metrics(self.metrics, self.judge))
        if not isinstance(self.schema, Reading):
            object.__setattr__(self, "schema", recognise([], self.schema))
        Evaluation([], self.metrics, judge=self.judge, **self.options)  # checks the options

    @property
    def _reading(self) -> Reading:
        assert isinstance(self.schema, Reading)  # noqa: S101 - set in __post_init__
        return self.schema

    @property
    def columns(self) -> dict[str, type[float | str]]:
        """The columns that a batch gets, in order, with the type of their values."""
        return {
            name: kind
            for metric in self.metrics
            for name, kind in ((metric.name, float), (metric.name + REASON, str))
        }

    def score(self, table: Table, first_row: int = 1) -> Table:
        """Score a batch.

        A field that no row of the batch has is a gap like one that a single row lacks: ``missing_field``.

        Args:
            table: A pyarrow, pandas or polars table.
            first_row: The number of its first row, for error messages.

        Returns:
            A table of the same kind, the rows in the same order, with the `columns`.

        Raises:
            MissingExtraError: narwhals is not installed.
            ParameterError: It is no table, or has a column of a metric's name.
            CtxMetricsError: As `evaluate` and `Sample.from_dict` raise.
        """
        scored, _ = self.score_and_look(table, first_row)
        return scored

    def score_and_look(self, table: Table, first_row: int = 1) -> tuple[Table, frozenset[str]]:
        """Score a batch as `score` does, and return with it the required fields that some row has."""
        frame = frame_of(table)
        if taken := self.columns.keys() & set(frame.columns):
            raise ParameterError(
                f"score_table: the table already has a column {min(taken)!r}. Rename it."
            )
        forms = {
            metric.name: form for metric in self.metrics if (form := self._form_of(metric, frame.columns))
        }
        others = [metric for metric in self.metrics if metric.name not in forms]
        scored: dict[str, Values] = {}
        present: set[str] = set()
        if others:
            scored |= self._by_samples(frame, others, present, self.options, first_row)
        if forms:
            scored |= self._by_columns(frame, forms, present, first_row, progress=not others)
        columns = [
            series
            for metric in self.metrics
            for series in series_of(frame, metric.name, metric.name + REASON, scored[metric.name])
        ]
        native: Table = frame.with_columns(*columns).to_native()
        return native, frozenset(present)

    def _form_of(self, metric: Metric, columns: Collection[str]) -> Form | None:
        """Return how a metric reads the columns: where polars is there, and each field it needs is one column."""
        try:
            import polars as pl  # noqa: F401 - asks whether it is installed
        except ImportError:
            return None
        form = form_of(metric, labelled="labels" in columns)
        options = {**DEFAULTS, **self.options}
        if form is None or options["out"] is not None:
            return None
        if form.slow and (options["workers"] > 1 or options["deadline"] is not None):
            return None
        find = self._reading.column_of
        return form if all(find(name, columns) for name in form.fields) else None

    def _by_samples(
        self,
        frame: nw.DataFrame[Any],
        metrics: Sequence[Metric],
        present: set[str],
        options: Mapping[str, Any],
        first_row: int,
    ) -> dict[str, Values]:
        """Score rows as samples; a metric has no value where no sample has one of its fields."""
        samples = _samples(frame, self._reading, first_row)
        fields = {name for metric in metrics for name in metric.requires}
        here = {name for name in fields if any(getattr(sample, name) is not None for sample in samples)}
        present |= here
        able = [metric for metric in metrics if here.issuperset(metric.requires)]
        scored = {metric.name: no_values(len(samples), (_MISSING_FIELD,)) for metric in metrics}
        if able:
            run = Evaluation(samples, able, judge=self.judge, keep=False, first=first_row - 1, **options)
            results = run_in_caller(run)
            scored |= {metric.name: results.column(metric.name) for metric in able}
        return scored

    def _by_columns(
        self,
        frame: nw.DataFrame[Any],
        forms: Mapping[str, Form],
        present: set[str],
        first_row: int,
        *,
        progress: bool,
    ) -> dict[str, Values]:
        """Score rows by their columns, and by samples those in which a cell is of another type."""
        count = len(frame)
        unknown = [name for name in frame.columns if name not in self._reading.schema.known_keys]
        _check_ids(frame, self._reading, first_row)
        size = min(form.rows for form in forms.values())
        parts: list[dict[str, Values]] = []
        options = {**DEFAULTS, **self.options}
        with counting_progress(options["progress"] if progress else False, count, Run()) as advance:
            for begin in range(0, max(count, 1), size):
                part = frame[begin : begin + size]
                _check_unknown(part, unknown, self._reading, first_row + begin)
                scored: dict[str, Values] = {}
                for form in {*forms.values()}:
                    metrics = [metric for metric in self.metrics if forms.get(metric.name) is form]
                    found = self._of_part(part, form, metrics, present)
                    if found is None or (options["on_error"] == "raise" and _any_failed(found)):
                        kept = {"progress": False, "on_error": options["on_error"]}
                        found = self._by_samples(part, metrics, present, kept, first_row + begin)
                    scored |= found
                parts.append(scored)
                advance(failed=False, samples=len(part))
        return {name: joined([part[name] for part in parts]) for name in forms}

    def _of_part(
        self, frame: nw.DataFrame[Any], form: Form, metrics: Sequence[Metric], present: set[str]
    ) -> dict[str, Values] | None:
        """Score rows by their columns; None where a cell is of another type, or what it lacks may stand elsewhere."""
        reading = self._reading
        names = [str(reading.column_of(name, frame.columns)) for name in form.fields]
        retrieved, reference = (as_polars(frame[name]) for name in names)
        if retrieved is None or reference is None:
            return None
        gaps = retrieved.null_count(), reference.null_count()
        keys = {key for name in form.elsewhere for key in reading.schema.flat_keys[name]}
        if any(gaps) and any(
            may_hold_documents(frame[name]) for name in keys.intersection(frame.columns)
        ):
            return None
        present |= {name for name, missing in zip(form.fields, gaps, strict=True) if missing < len(frame)}
        return form.score(retrieved, reference, metrics)


def _any_failed(scored: Mapping[str, Values]) -> bool:
    """Whether a row failed: scored as a sample it raises, and the message says why."""
    return not all(FAILURES.isdisjoint(values.texts()) for values in scored.values())


def plain_rows(frame: nw.DataFrame[Any]) -> Iterator[dict[str, Any]]:
    """Return the rows of a table without their gaps."""
    for row in frame.iter_rows(named=True):
        yield {key: _plain(value) for key, value in row.items() if not _is_missing(value)}


def _samples(frame: nw.DataFrame[Any], reading: Reading, first_row: int) -> list[Sample]:
    rows = enumerate(plain_rows(frame), first_row)
    return [Sample.read(row, reading, where=f"row {number}") for number, row in rows]


def _check_unknown(
    frame: nw.DataFrame[Any], names: Sequence[str], reading: Reading, first_row: int
) -> None:
    """Read the first row that has something in a column of an unknown name: that says what is wrong with it.

    Raises:
        CtxMetricsError: As `Sample.from_dict` raises.
    """
    for name in names:
        filled = (~frame[name].is_null()).to_numpy()
        if filled.any():
            at = int(filled.argmax())
            _samples(frame[at : at + 1], reading, first_row + at)


def _check_ids(frame: nw.DataFrame[Any], reading: Reading, first_row: int) -> None:
    """Check that no two rows have one id.

    Raises:
        SampleError: Two have.
    """
    places: dict[str, int] = {}
    name = reading.column_of("id", frame.columns)
    if name is not None and (~frame[name].is_null() & frame[name].is_duplicated()).any():
        for row, value in enumerate(frame[name], first_row):
            if not _is_missing(value):
                check_id(Sample(id=_plain(value)), row, places)


def _plain(value: Any) -> Any:
    """Turn array values of table cells into lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, and what pandas has beside them."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in {"NAType", "NaTType"}
