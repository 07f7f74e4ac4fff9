"""Tables that are scored in batches: each batch gets the same columns, whatever it holds."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics.errors import ParameterError, SampleError, importing
from ctxmetrics.metrics.base import ListMetric, Metric
from ctxmetrics.reading import TEXTS_OF, Reading, as_list, recognise
from ctxmetrics.reading.cells import find_doubled
from ctxmetrics.reading.documents import is_missing
from ctxmetrics.reading.shapes import group_rows
from ctxmetrics.results.columns import REASON
from ctxmetrics.running.engine import Evaluation, check_metrics, run_in_caller, score_now
from ctxmetrics.running.sources import check_id
from ctxmetrics.samples import Sample, plain_texts

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    import narwhals.stable.v1 as nw

    from ctxmetrics.judges.base import Judge

Table = TypeVar("Table")
# Rows whose lists are in memory at a time.
_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores the rows of tables.

    Each metric gives two columns, in every batch: ``NAME``, a float on the metric's scale, missing where there is no
    value; and ``NAME.reason_code``, a text that says why there is none, missing where there is one. Metrics over ids,
    spans and strings read the two columns that they need; all others make a `Sample` of each row.

    Attributes:
        metrics: The metrics.
        reading: How the rows are read.
        judge: As for `ctxmetrics.evaluate`.
        options: As for `ctxmetrics.evaluate`.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """

    metrics: Sequence[Metric]
    reading: Reading = field(default_factory=lambda: recognise([], "ragas"))
    judge: Judge | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", check_metrics(self.metrics, self.judge))
        Evaluation([], self.metrics, judge=self.judge, **self.options)  # checks the options

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

        A field that no row of the batch has is treated as one that a single row lacks:
        ``missing_field``.

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
        return self.score_and_look(table, first_row)[0]

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise if a table has a column of a metric's name.

        Raises:
            ParameterError: Names the column.
        """
        if taken := self.columns.keys() & set(names):
            raise ParameterError(
                f"score_table: the table already has a column {min(taken)!r}. Rename it."
            )

    def score_and_look(self, table: Table, first_row: int = 1) -> tuple[Table, frozenset[str]]:
        """Score a batch as `score` does, and return with it the required fields that some row has."""
        import narwhals.stable.v1 as nw

        frame = frame_of(table)
        self.check_columns(frame.columns)
        present: set[str] = set()
        kinds: dict[tuple[str, ...], list[ListMetric]] = {}
        others: list[Metric] = []
        for metric in self.metrics:
            if (
                isinstance(metric, ListMetric)
                and not metric.grouped
                and self._reads_lists(metric.requires, frame.columns)
            ):
                kinds.setdefault(metric.requires, []).append(metric)
            else:
                others.append(metric)
        scored: dict[str, list[Any]] = {name: [] for name in self.columns}
        for fields, metrics in kinds.items():
            present |= self._by_lists(frame, fields, metrics, scored, first_row)
        if others:
            present |= self._by_samples(frame, others, scored, first_row)
        added = [
            nw.new_series(
                name,
                scored[name],
                nw.Float64() if kind is float else nw.String(),
                native_namespace=nw.get_native_namespace(frame),
            )
            for name, kind in self.columns.items()
        ]
        return frame.with_columns(*added).to_native(), frozenset(present)

    def _reads_lists(self, fields: Sequence[str], columns: Sequence[str]) -> bool:
        """Whether two columns hold all that a metric reads, and nothing asks for a run sample by sample."""
        return (
            self.options.get("on_error") != "raise"
            and not any(self.options.get(name) for name in ("out", "deadline", "progress"))
            and self.reading.column_of("labels", columns) is None  # they may hold grades
            and all(self.reading.column_of(name, columns) for name in fields)
        )

    def _by_lists(
        self,
        frame: nw.DataFrame[Any],
        fields: Sequence[str],
        metrics: Sequence[ListMetric],
        scored: Mapping[str, list[Any]],
        first_row: int,
    ) -> set[str]:
        """Score rows by two columns of lists, and as samples those whose cells hold anything else.

        Returns:
            The fields that some row has.
        """
        present: set[str] = set()
        # The error about a column with an unknown name is raised at its first row with a value.
        whole = {
            row
            for name in frame.columns
            if name not in self.reading.schema.known_keys
            for row in (~frame[name].is_null()).arg_true().head(1).to_list()
        }
        self._check_ids(frame, first_row)
        names = [str(self.reading.column_of(name, frame.columns)) for name in fields]
        for begin in range(0, len(frame), _ROWS):
            cells = [[*map(as_list, frame[name][begin : begin + _ROWS].to_list())] for name in names]
            lists = (_stored(*column) for column in zip(fields, cells, strict=True))
            rows: list[Any] = [  # pairs of lists, and samples
                _samples(frame[at : at + 1], self.reading, first_row + at)[0]
                if at in whole or None in pair
                else pair
                for at, pair in enumerate(zip(*lists, strict=True), begin)
            ]
            present |= {
                name
                for name in fields
                if any(type(row) is tuple or getattr(row, name) is not None for row in rows)
            }
            plain = _are_plain(rows, metrics)
            shared: dict[Hashable, Any] = {}
            samples: list[Sample] = []
            for metric in metrics:
                values, reasons = scored[metric.name], scored[metric.name + REASON]
                if plain and _reads_two_lists(metric):
                    # This gives the same as the code below, and is faster.
                    values += metric.values(rows, shared)
                    reasons += [None] * len(rows)
                else:
                    samples = samples or [
                        Sample(**dict(zip(fields, row, strict=True))) if type(row) is tuple else row
                        for row in rows
                    ]
                    scores = [score_now(metric, sample) for sample in samples]
                    values += [score.value for score in scores]
                    reasons += [score.reason_code for score in scores]
        return present

    def _by_samples(
        self,
        frame: nw.DataFrame[Any],
        metrics: Sequence[Metric],
        scored: Mapping[str, list[Any]],
        first_row: int,
    ) -> set[str]:
        """Score rows as samples, and return as `_by_lists` does; without a field in any sample there is no value."""
        samples = _samples(frame, self.reading, first_row)
        present = {
            name
            for metric in metrics
            for name in metric.requires
            if any(sample.has(name) for sample in samples)
        }
        able = [metric for metric in metrics if present.issuperset(metric.requires)]
        columns = (
            run_in_caller(
                Evaluation(
                    samples, able, judge=self.judge, keep=False, first=first_row - 1, **self.options
                )
            ).by_metric
            if able
            else {}
        )
        for metric in metrics:
            found = columns.get(metric.name)
            scored[metric.name].extend(
                [None] * len(samples)
                if found is None
                else [None if math.isnan(value) else value for value in found.values]
            )
            scored[metric.name + REASON].extend(
                ["missing_field"] * len(samples) if found is None else found.codes
            )
        return present

    def _check_ids(self, frame: nw.DataFrame[Any], first_row: int) -> None:
        """Check that no two rows have one id.

        Raises:
            SampleError: Two have.
        """
        name = self.reading.column_of("id", frame.columns)
        values = [] if name is None else frame[name].to_list()
        if len({*map(str, values)}) < len(values):
            places: dict[str, int] = {}
            for row, value in enumerate(values, first_row):
                if not is_missing(value):
                    check_id(Sample(id=as_list(value)), row, places)


def _samples(frame: nw.DataFrame[Any], reading: Reading, first_row: int) -> list[Sample]:
    return [
        Sample.read(row, reading, where=f"row {number}")
        for number, row in enumerate(plain_rows(frame), first_row)
    ]


def _stored(field: str, cells: Sequence[Any]) -> Sequence[Any]:
    """Return the cells of a column as a sample stores them; None for what is no list of texts or numbers."""
    if {*map(type, cells)} == {list} and plain_texts([*chain.from_iterable(cells)]) is not None:
        return cells  # all at once, which is faster
    return [_stored_alone(field, cell) for cell in cells]


def _stored_alone(field: str, cell: Any) -> Sequence[str] | None:
    if type(cell) is list and {*map(type, cell)} <= {str, int}:
        with suppress(SampleError):  # said again with the row's number, where the row is read
            stored = plain_texts(cell, numbers=field in TEXTS_OF)
            return getattr(Sample.from_fields({field: cell}, None), field) if stored is None else stored
    return None


def _are_plain(rows: Sequence[Any], metrics: Sequence[ListMetric]) -> bool:
    """Return whether each row is a pair of lists that are not empty and hold no picture where a metric reads text."""
    readers = {metric.reads_texts: metric for metric in metrics}  # one of each looks for pictures
    return all(isinstance(row, tuple) and all(row) for row in rows) and all(
        metric.can_compare(chain.from_iterable(rows)) for metric in readers.values()
    )


def _reads_two_lists(metric: ListMetric) -> bool:
    """Return whether two lists that are not empty are all that a metric reads, and it can score any two of them."""
    return (
        (type(metric).score, type(metric).sides) == (ListMetric.score, ListMetric.sides)
        and metric.top_k != 0
        and not callable(getattr(metric, "similarity", None))  # one that the user wrote may fail
    )


def group_table(frame: nw.DataFrame[Any], reading: Reading, key: str) -> Any:
    """Return the first row of each group of a table, with what was retrieved in all its rows; see `group_rows`.

    Raises:
        ParameterError: A row has no such key, or what was retrieved is no column of the table.
    """
    import narwhals.stable.v1 as nw

    rows = ((reading.row(row)[0], str(place)) for place, row in enumerate(plain_rows(frame)))
    groups = [*group_rows(rows, key, reading.mapping)]
    grouped = frame[[int(place) for _, place in groups]]
    for name in ("retrieved_contexts", "retrieved_context_ids"):
        column = reading.column_of(name, frame.columns) or reading.mapping.get(name)
        if column in frame.columns:
            lists = [values[name] for values, _ in groups]
            space = nw.get_native_namespace(frame)
            grouped = grouped.with_columns(nw.new_series(str(column), lists, native_namespace=space))
    return grouped.to_native()


def frame_of(table: Any) -> nw.DataFrame[Any]:
    """Return a narwhals data frame of any kind of table.

    Raises:
        MissingExtraError: narwhals is not installed.
        ParameterError: It is no table.
    """
    with importing("narwhals"):
        import narwhals.stable.v1 as nw
    names = getattr(table, "column_names", getattr(table, "columns", ()))
    name = find_doubled(map(str, names))
    if name:
        raise ParameterError(f"score_table: two columns are named {name!r}. Rename one.")
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        raise ParameterError(
            f"score_table: {type(table).__name__} is no pyarrow, pandas or polars table, Ray dataset or Spark data frame."
        ) from None


def plain_rows(frame: nw.DataFrame[Any]) -> Iterator[dict[str, Any]]:
    """Return the rows of a table without their gaps."""
    return (
        {key: as_list(value) for key, value in row.items() if not is_missing(value)}
        for row in frame.iter_rows(named=True)
    )
