"""Tables that are scored in batches: each batch gets the same columns, whatever it holds."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ctxmetrics.errors import ParameterError, SampleError, importing
from ctxmetrics.evaluation.files.arrow_rows import explain_unreadable, is_unreadable
from ctxmetrics.evaluation.files.passage_lists import LIST_FIELDS, group_rows, is_gap
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.sample_file import read_sample
from ctxmetrics.evaluation.rows.metric_values import REASON_COLUMN_ENDING
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.evaluation.runs.evaluate import run_in_caller
from ctxmetrics.evaluation.runs.metric_list import check_metrics
from ctxmetrics.evaluation.runs.sample_scores import score_now
from ctxmetrics.evaluation.runs.sources import check_id, check_present
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.ids import read_grades
from ctxmetrics.metrics.lists import ListMetric
from ctxmetrics.samples.cells import find_doubled, list_in
from ctxmetrics.samples.documents import as_list, is_missing
from ctxmetrics.samples.field_keys import TEXTS_OF
from ctxmetrics.samples.fields import plain_texts
from ctxmetrics.samples.sample import Sample
from ctxmetrics.samples.unanswerable import is_answerability_name
from ctxmetrics.scores.label_notes import Labels, describe_orders

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    import narwhals.stable.v1 as nw

    from ctxmetrics.judges.base import Judge

Table = TypeVar("Table")
# The number of rows whose lists are in memory at a time.
_ROWS_IN_MEMORY = 256
# The maximum number of rows whose ids are compared for a note about ids that were never retrieved.
_MAX_COMPARED_ROWS = 1000
# Stands before the number of a row in its name.
_ROW_NAME = "row "
# The field whose items have grades in the labels.
_GRADED_FIELD = "reference_context_ids"
# The fields of ids, which are compared.
_ID_FIELDS = frozenset({"retrieved_context_ids", _GRADED_FIELD})


@dataclass(frozen=True, kw_only=True)
class BatchScorer:
    """Scores the rows of tables.

    Each metric gives two columns, in every batch: ``NAME``, a float on the metric's scale, missing if there is no
    value; and ``NAME.reason_code``, a text that says why there is none, missing if there is one. Metrics over ids,
    spans and strings read the two columns that they need; all others make a `Sample` of each row.

    Attributes:
        metrics: The metrics.
        plan: The plan that reads the rows.
        judge: As for `ctxmetrics.evaluate`.
        options: As for `ctxmetrics.evaluate`.
        report: A function that is called with the reason if a metric could score no row of a batch.

    Raises:
        ParameterError: A parameter is wrong, or two metrics have one name.
        CannotDecomposeError: Claims are asked of a judge that cannot break a text into them.
    """

    metrics: Sequence[Metric]
    plan: Plan = field(default_factory=lambda: recognise([], "ragas"))
    judge: Judge | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", check_metrics(self.metrics, self.judge))
        Evaluation([], self.metrics, judge=self.judge, **self.options)  # checks the options

    @property
    def columns(self) -> dict[str, type[float | str]]:
        """The columns that a batch gets, in order, with the type of their values."""
        columns: dict[str, type[float | str]] = {}
        for metric in self.metrics:
            columns[metric.name] = float
            columns[metric.name + REASON_COLUMN_ENDING] = str
        return columns

    def score(self, table: Table, first_row: int = 1) -> Table:
        """Score a batch.

        If no row of the batch has a field, the metrics that need it have no value, with the reason ``missing_field``.

        Args:
            table: A pyarrow, pandas or polars table.
            first_row: The number of its first row, for error messages.

        Returns:
            A table of the same kind, the rows in the same order, with the `columns`.

        Raises:
            MissingExtraError: narwhals is not installed.
            ParameterError: The batch is no table, or has a column with the name of a metric.
            CtxMetricsError: As `evaluate` and `Sample.from_dict` raise.
        """
        return self._score(table, first_row, is_whole_table=False)

    def score_whole(self, table: Table) -> Table:
        """Score a table that is no batch of another. A field that none of its rows has is an error, before a judge is asked.

        Raises:
            MissingFieldError: No row has a field that a metric needs.
            CtxMetricsError: As `score` raises.
        """
        return self._score(table, first_row=1, is_whole_table=True)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise if a table has a column of a metric's name.

        Raises:
            ParameterError: Names the column.
        """
        existing_names = self.columns.keys() & set(names)
        if existing_names:
            raise ParameterError(
                f"score_table: the table already has a column {min(existing_names)!r}. Rename it."
            )

    def _score(self, table: Table, first_row: int, *, is_whole_table: bool) -> Table:
        """Score a table, or a batch of one. Metrics that compare two columns of lists need no samples, which is faster."""
        import narwhals.stable.v1 as nw

        frame = to_frame(table)
        self.check_columns(frame.columns)
        present_fields: set[str] = set()
        # The metrics that compare two columns, by the names of these columns' fields.
        list_metrics: dict[tuple[str, ...], list[ListMetric]] = {}
        sample_metrics: list[Metric] = []
        for metric in self.metrics:
            if (
                isinstance(metric, ListMetric)
                and not metric.grouped
                and self._reads_lists(metric.requires, frame.columns)
            ):
                list_metrics.setdefault(metric.requires, []).append(metric)
            else:
                sample_metrics.append(metric)
        values_by_column: dict[str, list[Any]] = {name: [] for name in self.columns}
        for fields, metrics in list_metrics.items():
            present_fields |= self._score_lists(frame, fields, metrics, values_by_column, first_row)
        samples = _read_samples(frame, self.plan, first_row) if sample_metrics else []
        required_fields = {name for metric in self.metrics for name in metric.requires}
        for name in required_fields:
            if any(sample.has(name) for sample in samples):
                present_fields.add(name)
        log_orders(sample.metadata for sample in samples)
        if is_whole_table:
            _log_never_retrieved(samples)
        if is_whole_table and len(frame):
            check_present(self.metrics, required_fields - present_fields, [self.plan])
        if sample_metrics:
            self._score_samples(samples, sample_metrics, values_by_column, first_row)
        namespace = nw.get_native_namespace(frame)
        dtypes = {float: nw.Float64(), str: nw.String()}
        series = [
            nw.new_series(name, values_by_column[name], dtypes[value_type], native_namespace=namespace)
            for name, value_type in self.columns.items()
        ]
        return frame.with_columns(*series).to_native()  # type: ignore[no-any-return]  # a table of the same kind

    def _reads_lists(self, fields: Sequence[str], columns: Sequence[str]) -> bool:
        """Tell whether two columns hold all that a metric reads, and nothing asks for a run sample by sample."""
        options = self.options
        if options.get("on_error") == "raise":
            return False
        if any(options.get(name) for name in ("out", "deadline", "progress", "drop_self")):
            return False
        # A sample must be built if the row has fields beside the two lists: searches, or labels that are not grades of ids.
        fields_of_samples = ["searches"] if _GRADED_FIELD in fields else ["searches", "labels"]
        for name in fields_of_samples:
            if self.plan.column_of(name, columns) is not None:
                return False
        if self._may_lack_answers(columns):
            return False
        return all(self.plan.column_of(name, columns) for name in fields)

    def _may_lack_answers(self, columns: Sequence[str]) -> bool:
        """Tell whether some questions may have no answer: a column says so, or their ids do."""
        has_answerability_column = any(is_answerability_name(str(name)) for name in columns)
        return has_answerability_column or bool(self.plan.reading.schema.unanswerable_ids)

    def _score_lists(
        self,
        frame: nw.DataFrame[Any],
        fields: Sequence[str],
        metrics: Sequence[ListMetric],
        values_by_column: Mapping[str, list[Any]],
        first_row: int,
    ) -> set[str]:
        """Score rows by two columns of lists. Rows whose cells hold anything else are scored as samples.

        Returns:
            The fields that some row has.
        """
        present_fields: set[str] = set()
        metadata: list[Mapping[str, Any]] = []
        rows_of_ids: list[Any] = []  # the first ones, of a table of ids
        first_values = self._find_first_values(frame)
        self._check_ids(frame, first_row)
        columns = [str(self.plan.column_of(name, frame.columns)) for name in fields]
        labels = self.plan.column_of("labels", frame.columns)
        for begin in range(0, len(frame), _ROWS_IN_MEMORY):
            end = begin + _ROWS_IN_MEMORY
            cells_by_field = []  # the cells of both columns, as a sample stores them
            for name, column in zip(fields, columns, strict=True):
                cells = [as_list(cell) for cell in frame[column][begin:end].to_list()]
                if self.plan.reading.parses_texts:
                    cells = [_read_list(cell) for cell in cells]
                cells_by_field.append(_to_stored(name, cells))
            pairs: Iterable[tuple[Any, Any]] = zip(*cells_by_field, strict=True)
            if labels is not None:
                label_cells = frame[labels][begin:end].to_list()
                pairs = map(_add_grades, pairs, label_cells)
            rows: list[Any] = []  # pairs of lists, and samples
            for index, pair in enumerate(pairs, begin):
                if index in first_values or None in pair:
                    row = frame[index : index + 1]
                    samples = _read_samples(row, self.plan, first_row + index)
                    metadata += [sample.metadata for sample in samples]
                    rows += samples
                else:
                    rows.append(pair)
            present_fields |= {name for name in fields if _has_field(rows, name)}
            if _ID_FIELDS.issuperset(fields) and begin < _MAX_COMPARED_ROWS:
                rows_of_ids += rows
            _score_rows(rows, fields, metrics, values_by_column)
        log_orders(metadata)
        _log_never_retrieved(rows_of_ids)
        return present_fields

    def _find_first_values(self, frame: nw.DataFrame[Any]) -> set[int]:
        """Find the first row with a value of each column with an unknown name: the error about it is raised there."""
        rows: set[int] = set()
        for name in frame.columns:
            if name not in self.plan.reading.schema.known_keys:
                rows.update((~frame.get_column(name).is_null()).arg_true().head(1).to_list())
        return rows

    def _score_samples(
        self,
        samples: Sequence[Sample],
        metrics: Sequence[Metric],
        values_by_column: Mapping[str, list[Any]],
        first_row: int,
    ) -> None:
        """Score rows as samples. A metric has no value if no sample has a field that it needs."""
        required_fields = set(chain.from_iterable(metric.requires for metric in metrics))
        present_fields: set[str] = set()
        for name in required_fields:
            if any(sample.has(name) for sample in samples):
                present_fields.add(name)
        computable = [metric for metric in metrics if present_fields.issuperset(metric.requires)]
        columns: Mapping[str, Any] = {}
        if computable:
            run = Evaluation(
                samples, computable, judge=self.judge, keep=False, first=first_row - 1, **self.options
            )
            results = run_in_caller(run)
            columns = results.by_metric
            all_failed = any(column.failed == len(samples) for column in columns.values())
            if samples and all_failed and self.report is not None:
                self.report(str(results.stopped or results.trouble))
        for metric in metrics:
            values = values_by_column[metric.name]
            reasons = values_by_column[metric.name + REASON_COLUMN_ENDING]
            column = columns.get(metric.name)
            if column is None:
                values += [None] * len(samples)
                reasons += ["missing_field"] * len(samples)
            else:
                values += [None if math.isnan(value) else value for value in column.values]
                reasons += column.codes

    def _check_ids(self, frame: nw.DataFrame[Any], first_row: int) -> None:
        """Check that no two rows have one id.

        Raises:
            SampleError: Two have.
        """
        name = self.plan.column_of("id", frame.columns)
        if name is None:
            return
        ids = frame[name].to_list()
        distinct_texts = {str(id_) for id_ in ids}
        may_repeat = len(distinct_texts) < len(ids)  # missing ones have equal texts, too
        if may_repeat:
            rows_by_id: dict[str, int] = {}
            for row, id_ in enumerate(ids, first_row):
                if not is_missing(id_):
                    check_id(Sample(id=as_list(id_)), row, rows_by_id)


def _score_rows(
    rows: Sequence[Any],
    fields: Sequence[str],
    metrics: Sequence[ListMetric],
    values_by_column: Mapping[str, list[Any]],
) -> None:
    """Score pairs of lists and samples. Metrics that read two lists only score plain pairs at once."""
    are_plain = _are_plain(rows, metrics)
    # Grades of reference ids stand in a dictionary by id. Most metrics read the ids alone.
    rows_without_grades = rows
    if are_plain and any(type(reference) is dict for _, reference in rows):
        rows_without_grades = [(retrieved, [*reference]) for retrieved, reference in rows]
    shared: dict[Hashable, Any] = {}
    samples: list[Sample] = []
    for metric in metrics:
        values = values_by_column[metric.name]
        reasons = values_by_column[metric.name + REASON_COLUMN_ENDING]
        if are_plain and _reads_two_lists(metric):
            # This gives the same as the code below, and is faster.
            pairs = rows if metric.reads_grades else rows_without_grades
            values += metric.compute_values(pairs, shared)
            reasons += [None] * len(rows)
        else:
            if not samples:
                samples = [_to_sample(row, fields) for row in rows]
            scores = [score_now(metric, sample) for sample in samples]
            values += [score.value for score in scores]
            reasons += [score.reason_code for score in scores]


def _to_sample(row: Any, fields: Sequence[str]) -> Sample:
    """Build a sample from the cells of a row. A sample stays as it is."""
    if type(row) is not tuple:
        return row  # type: ignore[no-any-return]  # a sample
    values = dict(zip(fields, row, strict=True))
    _, reference = row
    if type(reference) is dict:  # ids with grades
        values[_GRADED_FIELD] = list(reference)
        values["labels"] = {"relevance": reference}
    return Sample(**values)


def _add_grades(pair: tuple[Any, Any], labels: Any) -> tuple[Any, Any]:
    """Put grades in place of the reference ids of a pair of lists: ``["a", "b"]`` becomes ``{"a": 2.0, "b": 1.0}``.

    None stands there if the labels say anything else: then the row is read as a sample.
    """
    retrieved, reference = pair
    if reference is None or is_missing(labels):
        return retrieved, reference
    if type(labels) is not dict or labels.keys() != {"relevance"}:
        return retrieved, None
    try:
        return retrieved, read_grades(labels, reference, sample_name="")
    except SampleError:  # raised again when the sample is scored
        return retrieved, None


def _has_field(rows: Sequence[Any], name: str) -> bool:
    """Tell whether some row has a field: pairs of lists have it."""
    return any(type(row) is tuple or getattr(row, name) is not None for row in rows)


def log_orders(metadata: Iterable[Mapping[str, Any]]) -> None:
    """Log the numbers that changed the order of retrieved contexts, and numbers that may say another order."""
    for note in describe_orders(metadata):
        logging.getLogger("ctxmetrics").warning("score_table: %s", note)


def _log_never_retrieved(rows: Sequence[Any]) -> None:
    """Log expected ids of the first rows that were never retrieved, and how they could be made to match.

    The rows are samples or pairs of lists.
    """
    labels = Labels()
    for row in rows[:_MAX_COMPARED_ROWS]:
        if type(row) is tuple:
            labels.add_ids(*row)
        else:
            labels.add_ids(row.retrieved_context_ids, row.reference_context_ids)
    for note in labels.describe_never_retrieved():
        logging.getLogger("ctxmetrics").warning("score_table: %s", note)


def _read_samples(frame: nw.DataFrame[Any], plan: Plan, first_row: int) -> list[Sample]:
    """Read the rows of a part of a table as samples."""
    return [
        read_sample(row, plan, where=f"row {number}")
        for number, row in enumerate(plain_rows(frame), first_row)
    ]


def _to_stored(field: str, cells: Sequence[Any]) -> Sequence[Any]:
    """Convert the cells of a column to the form that a sample stores. It is None for a cell that is no list of texts or numbers."""
    cell_types = {type(cell) for cell in cells}
    if cell_types == {list}:
        items = list(chain.from_iterable(cells))
        are_plain = plain_texts(items) is not None
        if are_plain and field in TEXTS_OF:  # an id may have no letter that can be seen
            are_plain = "".join(items).isascii() and all(item.strip() for item in items)
        if are_plain:
            return cells  # all at once, which is faster
    return [_to_stored_cell(field, cell) for cell in cells]


def _read_list(cell: Any) -> Any:
    """Read the list that a cell holds as a text. Any other text stays: it is read later, with its row."""
    if type(cell) is not str:
        return cell
    with suppress(SampleError):  # raised again when the row is read
        return list_in(cell) or cell
    return cell


def _to_stored_cell(field: str, cell: Any) -> Sequence[str] | None:
    """Return the texts of a cell as a sample stores them. Return None if the row must be read as a whole."""
    if type(cell) is not list:
        return None
    item_types = {type(item) for item in cell}
    if not item_types <= {str, int}:
        return None
    holds_ids = field in TEXTS_OF
    try:
        texts = plain_texts(cell, numbers=holds_ids)
        if texts is None or (holds_ids and not all(text.strip() for text in texts)):
            texts = getattr(Sample.from_fields({field: cell}, None), field)
    except SampleError:  # raised again with the row's number, when the row is read
        return None
    return texts


def _are_plain(rows: Sequence[Any], metrics: Sequence[ListMetric]) -> bool:
    """Tell whether each row is a pair of lists that are not empty, without empty reference ids, pictures and placeholders."""
    for row in rows:
        if not isinstance(row, tuple):  # a sample
            return False
        retrieved, reference = row
        if not retrieved or not reference or "" in reference:
            return False
    # All metrics of texts look for the same pictures, so that one of them is enough. Metrics of ids look for none.
    metrics_of_texts = [metric for metric in metrics if metric.reads_texts]
    return not metrics_of_texts or metrics_of_texts[-1].can_compare(chain.from_iterable(rows))


def _reads_two_lists(metric: ListMetric) -> bool:
    """Tell whether a metric reads nothing but two lists, and can score any two lists that are not empty."""
    has_own_score = type(metric).score is not ListMetric.score
    has_own_lists = type(metric).read_lists is not ListMetric.read_lists
    if has_own_score or (has_own_lists and not metric.reads_grades):
        return False
    has_function_of_user = callable(getattr(metric, "similarity", None))  # which may fail
    return metric.top_k != 0 and not has_function_of_user


def _read_fields(plan: Plan, row: Mapping[str, Any]) -> dict[str, Any]:
    """Read the fields of a row of a table."""
    fields, _ = plan.apply(row)
    return fields


def group_table(frame: nw.DataFrame[Any], plan: Plan, key: str) -> Any:
    """Return the first row of each group of a table, with the retrieved items in all its rows; see `group_rows`.

    Raises:
        ParameterError: A row has no such key, or what was retrieved is no column of the table.
    """
    import narwhals.stable.v1 as nw

    # Each row with its name, which `group_rows` writes in messages.
    rows = (
        (_read_fields(plan, row), f"{_ROW_NAME}{number}")
        for number, row in enumerate(plain_rows(frame), 1)
    )
    # One pair for each group: its joined fields, and the name of its first row.
    groups = list(group_rows(rows, key, plan.reading.mapping, plan.reading.order))
    log_orders(fields.get("metadata") or {} for fields, _ in groups)
    positions = [int(row_name.removeprefix(_ROW_NAME)) - 1 for _, row_name in groups]  # "row 3" -> 2
    grouped = frame[positions]
    namespace = nw.get_native_namespace(frame)
    for name in LIST_FIELDS:
        # A column of its own, else the path at which the first rows have the field.
        column = plan.column_of(name, frame.columns) or plan.reading.mapping.get(name)
        if column in frame.columns:
            lists = [fields.get(name) for fields, _ in groups]
            grouped = grouped.with_columns(
                nw.new_series(str(column), lists, native_namespace=namespace)
            )
    # A text that the first row of its group lacks is taken from the other rows.
    names_of_fields: set[str] = set()
    for fields, _ in groups:
        names_of_fields.update(fields)
    for name in names_of_fields.difference(LIST_FIELDS):
        column = plan.column_of(name, frame.columns) or plan.reading.mapping.get(name)
        if column not in frame.columns:
            continue
        cells = grouped.get_column(column).to_list()
        joined_texts = [fields.get(name) for fields, _ in groups]
        filled_cells = [
            text if is_gap(cell) and isinstance(text, str) else cell
            for cell, text in zip(cells, joined_texts, strict=True)
        ]
        if filled_cells != cells:
            grouped = grouped.with_columns(
                nw.new_series(column, filled_cells, native_namespace=namespace)
            )
    return grouped.to_native()


def to_frame(table: Any) -> nw.DataFrame[Any]:
    """Return a narwhals data frame of any kind of table. A lazy table or an Arrow stream is read first.

    Raises:
        MissingExtraError: narwhals is not installed.
        ParameterError: The object is no table.
    """
    with importing("narwhals"):
        import narwhals.stable.v1 as nw
    if type(table).__module__.startswith("pyarrow") and hasattr(table, "to_table"):
        table = table.to_table()  # of a dataset or a scanner
    elif type(table).__name__ == "LazyFrame":
        table = table.collect()
    names = getattr(table, "column_names", getattr(table, "columns", ()))
    name = find_doubled(map(str, names)) if isinstance(names, Iterable) else None
    if name:
        raise ParameterError(f"score_table: two columns are named {name!r}. Rename one.")
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError:
        if hasattr(table, "__arrow_c_stream__"):
            with importing("pyarrow"):
                import pyarrow as pa
            reader = None
            with suppress(pa.ArrowInvalid):  # a single column is a stream, too, and is refused below
                reader = pa.RecordBatchReader.from_stream(table)
            if reader is not None:
                return nw.from_native(reader.read_all(), eager_only=True)
        if isinstance(table, list):
            raise ParameterError(
                "score_table: a list is no table. Write evaluate(samples, metrics)."
            ) from None
        if isinstance(table, dict):
            raise ParameterError(
                "score_table: a dict is no table. Write score_table(pandas.DataFrame(table), metrics)."
            ) from None
        raise ParameterError(
            f"score_table: {type(table).__name__} is no table or dataset of pyarrow, pandas, polars, DuckDB, Ray or Spark, and "
            "no Arrow stream. Score its parts (map_partitions of Dask) with "
            "ctxmetrics.evaluation.runs.batches.BatchScorer(metrics=METRICS).score."
        ) from None


def plain_rows(frame: nw.DataFrame[Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dicts, by the names of the columns. A missing value has no key.

    Raises:
        ParameterError: Python cannot hold a value of a column.
    """
    try:
        for row in frame.iter_rows(named=True):
            yield {key: as_list(value) for key, value in row.items() if not is_missing(value)}
    except BaseException as error:  # the error of Polars is no Exception
        if not is_unreadable(error):
            raise
        columns = ((str(name), frame.get_column(name).to_list) for name in frame.columns)
        raise ParameterError(f"score_table: {explain_unreadable(columns, error)}") from None
