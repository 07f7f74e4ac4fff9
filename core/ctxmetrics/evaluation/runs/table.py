"""The columnar form: a table in, the same kind of table out with the values of the metrics."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack, cast

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.files.faulty_rows import naming_faulty_rows
from ctxmetrics.evaluation.files.first_rows import LOOKAHEAD_ROWS
from ctxmetrics.evaluation.files.hit_order import Order
from ctxmetrics.evaluation.files.passage_lists import list_texts
from ctxmetrics.evaluation.files.recognition import recognise
from ctxmetrics.evaluation.files.row_decisions import Reading
from ctxmetrics.evaluation.files.row_plan import Plan
from ctxmetrics.evaluation.files.several_runs import (
    check_setting,
    find_value,
    keep_rows,
    may_hold_setting,
    name_value,
    name_wanted,
    read_retrieval,
)
from ctxmetrics.evaluation.runs.batches import BatchScorer, Table, group_table, plain_rows, to_frame
from ctxmetrics.evaluation.runs.metric_list import check_metrics
from ctxmetrics.evaluation.runs.options import RunOptions
from ctxmetrics.evaluation.runs.sources import check_present
from ctxmetrics.formulas.checks import check_number
from ctxmetrics.judges.base import Judge
from ctxmetrics.judges.judge_names import coerce_text
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.lists import ListMetric
from ctxmetrics.models.openai.model import Key
from ctxmetrics.models.runtime.run import DEFAULT_CONCURRENCY
from ctxmetrics.samples.documents import look_up
from ctxmetrics.samples.field_keys import TEXTS_OF
from ctxmetrics.scores.text_notes import TextSigns, describe_doubtful

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("ctxmetrics")
# The number of rows of a batch on Ray, for cheap metrics. A batch is scored again after a worker dies.
_ROWS_PER_BATCH = 1024
# The number of rows of a batch for each request in flight, for metrics that ask a judge.
_ROWS_PER_REQUEST = 2
# The options that limit what a batch spends.
_LIMIT_OPTIONS = ("max_calls", "max_tokens", "requests_per_minute", "tokens_per_minute")
# The options that belong to a single process: a file, a clock and a display.
_OPTIONS_OF_ONE_PROCESS = ("out", "keep_texts", "tags", "deadline", "progress")


def score_dataset(
    dataset: Any,
    metrics: Sequence[Metric | str],
    *,
    only: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Score a dataset of Hugging Face's ``datasets`` as `score_table` does, and return it with the metrics' columns.

    Raises:
        ParameterError: The dataset is a stream, or holds several datasets.
    """
    if hasattr(dataset, "keys"):
        raise ParameterError(
            f"score_table: these are several datasets. Give one, such as dataset[{next(iter(dataset), '')!r}]."
        )
    if not hasattr(dataset, "add_column"):
        raise ParameterError(
            f"score_table: {type(dataset).__name__} is a stream. Give it to evaluate()."
        )
    if only:
        dataset = dataset.select(_find_rows(dataset, only))
    arrow_table = dataset.with_format("arrow")[:]
    scored_table = score_table(arrow_table, metrics, **options)
    for name in scored_table.column_names:
        if name not in arrow_table.column_names:
            dataset = dataset.add_column(name, scored_table[name].to_pylist())
    return dataset


def score_table(
    table: Table,
    metrics: Sequence[Metric | str],
    *,
    schema: str = "auto",
    columns: Mapping[str, str] | None = None,
    judge: Judge | str | None = None,
    group_by: str | None = None,
    split: str | None = None,
    order: Order | None = None,
    only: Mapping[str, Any] | None = None,
    by: str | None = None,
    batch_size: int | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Score the rows of a table.

    Metrics over ids, spans and strings read the two columns that they need, and grades of ids in ``labels``; other columns
    are not looked at then, apart from their names. If no row of a batch could be scored, the reason is logged: with Spark by the
    process that reads the data frame, with Ray by the workers.

    A Ray dataset and a Spark data frame are scored by the workers of their cluster, when they are read.
    Each batch is a run of its own: the limits of ``options`` hold for one batch, so with n batches at a
    time there are up to n times as many requests. Rows keep the order that the engine keeps. A field
    that no row has is ``missing_field``. Ids are compared within a batch. Columns are recognised by
    their names and types: where fields stand in JSON inside a text, name the schema. ``out``,
    ``keep_texts``, ``deadline`` and ``progress`` are refused.

    Args:
        table: A pyarrow, pandas or polars table, a dataset of Hugging Face's ``datasets``, a Ray dataset or a Spark data
            frame, whose columns are the fields of a sample. What is lazy (``LazyFrame`` of polars, a relation of DuckDB, a
            dataset of pyarrow, an Arrow stream) is read whole, and a table of the same library is returned.
        metrics: The metrics, as for `evaluate`. Each becomes two columns: its name (missing values are missing), and
            ``NAME.reason_code``, which says why a value is missing.
        schema: The system whose names the columns are (`ctxmetrics.samples.systems.SCHEMAS`); ``"auto"``
            recognises it, and logs what it decided.
        columns: Which column holds which field, if no schema is right.
        judge: As for `evaluate`.
        group_by: As for `read_samples`: the table that is returned has one row for each question, its first one.
        split: As for `read_samples`.
        order: As for `read_samples`; what changed an order is logged.
        only: As for `read_samples`: the table that is returned has only the rows with these values.
        by: As for `read_samples`: the rows of each value of the column are recognised, joined and scored by themselves, with
            limits of their own.
        batch_size: The maximum number of rows of a batch on a cluster. None: of Ray 1,024, or twice ``max_concurrency`` where a metric
            takes long (a judge, a function of yours) and no budget or rate is set; of Spark what its own setting says.
        **options: As for `evaluate`. With ``out``, every row becomes a `Sample`.

    Returns:
        A table of the same kind, the rows in the same order.

    Raises:
        MissingExtraError: narwhals is not installed.
        MissingFieldError: No row has a field that a metric needs.
        ParameterError: ``table`` is no table, or has a column with the name of a metric.
        CtxMetricsError: As `evaluate` and `Sample.from_dict` raise.
    """
    if isinstance(table, (str, os.PathLike)):
        raise ParameterError(
            f"score_table: {str(table)!r} is a path, no table. Write evaluate({str(table)!r}, metrics)."
        )
    if by is not None and not isinstance(by, str):
        raise ParameterError(f"score_table: by={by!r} must be the name of a column.")
    if only is not None and not isinstance(only, Mapping):
        raise ParameterError(
            f"score_table: only={only!r} must map columns to values, such as {{'k': 5}}."
        )
    reading_options: dict[str, Any] = {
        "schema": schema,
        "columns": columns,
        "group_by": group_by,
        "split": split,
        "order": order,
    }
    if type(table).__module__.partition(".")[0] == "datasets":
        selection: dict[str, Any] = {"only": only, "by": by}
        scored_table = score_dataset(
            table, metrics, judge=judge, **selection, **reading_options, **options
        )
        return cast("Table", scored_table)
    method_of_cluster = "map_batches" if _is_ray(table) else "mapInArrow"
    if hasattr(table, method_of_cluster):
        if group_by is not None or only or by is not None:
            raise ParameterError(
                "score_table: group_by=, only= and by= are for one process. Group or filter the rows before."
            )
        rows = build_rows(read_types(table), columns or ())
        plan = _recognise_rows(rows, **reading_options)
        _note_texts(plan.reading, rows)
        scorer = _build_scorer(metrics, plan, judge, options)
        return cast("Table", score_distributed(table, scorer, batch_size))
    frame = to_frame(table)
    if only:
        frame = frame[_find_rows(plain_rows(frame), only)]
    if by is not None:
        scored_table = _score_by(frame, by, metrics, judge=judge, **reading_options, **options)
        return cast("Table", scored_table)
    first_rows = list(plain_rows(frame.head(LOOKAHEAD_ROWS)))
    plan = _recognise_rows(first_rows, **reading_options)
    if group_by is None:
        table = frame.to_native()  # a stream is read once
        _check_one_setting(frame, plan)
        _note_texts(plan.reading, first_rows)
    else:
        _note_texts(plan.reading, first_rows)
        table = group_table(frame, plan, group_by)
        plan = Plan(replace(plan.reading, single_text_fields=frozenset(), split=None, order="given"))
        frame = to_frame(table)
    scorer = _build_scorer(metrics, plan, judge, options)
    with naming_faulty_rows(plain_rows(frame), "row"):
        return scorer.score_whole(table)


def _recognise_rows(
    rows: Iterable[dict[str, Any]],
    *,
    schema: str,
    columns: Mapping[str, str] | None,
    group_by: str | None,
    split: str | None,
    order: Order | None,
) -> Plan:
    """Recognise from the first rows of a table how its rows are read."""
    with naming_faulty_rows(rows, "row"):
        return recognise(
            rows,
            schema,
            columns,
            source="score_table",
            single=group_by is not None or split is not None,
            grouped=group_by is not None,
            split=split,
            order=order,
        )


def _check_one_setting(frame: Any, plan: Plan) -> None:
    """Check that the rows of one question do not come from several retrievals."""
    if not may_hold_setting(frame.columns):
        return
    excluded = {column for column, name in plan.reading.columns.items() if name == "metadata"}

    def read_retrievals() -> Iterator[Any]:
        """Yield the retrieval that each row names."""
        for number, row in enumerate(plain_rows(frame), 1):
            fields, _ = plan.apply(row, f"row {number}")
            yield read_retrieval(fields, excluded)

    check_setting(read_retrievals())


def _build_scorer(
    metrics: Sequence[Metric | str], plan: Plan, judge: Judge | str | None, options: Any
) -> BatchScorer:
    """Build what scores the batches of a table."""
    judge = coerce_text(judge)
    return BatchScorer(metrics=check_metrics(metrics, judge), plan=plan, judge=judge, options=options)


def _find_rows(rows: Iterable[Mapping[str, Any]], only: Mapping[str, Any]) -> list[int]:
    """Find the numbers of the rows with these values of these columns.

    Raises:
        ParameterError: No row has all of them.
    """
    names = {column: name_wanted(value) for column, value in only.items()}
    # `keep_rows` takes texts as the names of rows.
    numbered_rows = ((str(number), row) for number, row in enumerate(rows))
    return [int(number) for number, _ in keep_rows(numbered_rows, names)]


def _score_by(frame: Any, by: str, metrics: Sequence[Metric | str], **options: Any) -> Any:
    """Score the rows of each value of a column separately. Rows keep their order; groups have the order of the values.

    Raises:
        ParameterError: A row has no value there.
    """
    import narwhals.stable.v1 as nw

    column = by.removeprefix("metadata.")
    rows_by_value: dict[str, list[int]] = {}
    for number, row in enumerate(plain_rows(frame)):
        value = find_value(row, column)
        if value is None:
            raise ParameterError(f"score_table: by={by}: row {number + 1} has no value there.")
        rows_by_value.setdefault(name_value(value), []).append(number)
    if not rows_by_value:
        return score_table(frame.to_native(), metrics, **options)
    scored_frames = []
    for row_numbers in rows_by_value.values():
        scored_table = score_table(frame[row_numbers].to_native(), metrics, **options)
        scored_frames.append(to_frame(scored_table))
    joined_frame = nw.concat(scored_frames)
    if options["group_by"] is None:
        # Back to the order of the rows: each has its number at the same place of the joined frame.
        row_numbers = list(chain.from_iterable(rows_by_value.values()))
        joined_frame = joined_frame[sorted(range(len(row_numbers)), key=row_numbers.__getitem__)]
    return joined_frame.to_native()


def _note_texts(reading: Reading, rows: Iterable[Mapping[str, Any]]) -> None:
    """Log notes on the texts of the first rows: a possible separator of passages, or texts that are no such texts."""
    text_signs = TextSigns()
    for row in rows:
        texts_by_field: dict[str, list[str]] = {}
        for name in ("reference", "references", "retrieved_contexts", "reference_contexts"):
            values = list_texts(look_up(row, reading.mapping.get(name, name)))
            texts_by_field[name] = [value for value in values if isinstance(value, str)]
        questions = list_texts(look_up(row, reading.mapping.get("user_input", "user_input")))
        text_signs.add(
            questions[0] if questions else None,
            texts_by_field["reference"] + texts_by_field["references"],
            texts_by_field["retrieved_contexts"],
            texts_by_field["reference_contexts"],
        )
    for note in text_signs.describe():
        _log.warning("score_table: %s", note)
    if reading.split is not None:
        return
    lists_by_field: dict[str, list[list[str]]] = {}
    for name in ("retrieved_contexts", "reference_contexts"):
        lists_by_field[name] = []
        column = reading.mapping.get(name, name)
        for row in rows:
            texts = list_texts(look_up(row, column))
            if all(isinstance(text, str) for text in texts):
                lists_by_field[name].append(texts)
    for note in describe_doubtful(*lists_by_field.values()):
        _log.warning("score_table: %s", note)


def _is_ray(table: object) -> bool:
    """Tell whether a table is a data set of Ray."""
    return type(table).__module__.partition(".")[0] == "ray"


def read_types(table: Any) -> dict[str, Any]:
    """Read Arrow's type of each column. Spark reads no row for it; Ray reads one if it does not know the types."""
    schema = table.schema() if _is_ray(table) else table.limit(0).toArrow().schema
    return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))


def _find_missing(scorer: BatchScorer, columns: Collection[str]) -> set[str]:
    """Find the fields that metrics need and no column holds. The result is empty if fields may stand in JSON inside a text."""
    reading = scorer.plan.reading
    absent_fields = reading.absent
    if absent_fields is None:  # no row was seen
        return set()
    # A column such as "inputs" may hold JSON with any field.
    may_hold_fields = not reading.schema.keys_of_several_fields.isdisjoint(columns)
    if may_hold_fields:
        return set()
    required_fields = set(chain.from_iterable(metric.requires for metric in scorer.metrics))
    missing_fields = required_fields.intersection(absent_fields)
    if "references" not in absent_fields:
        missing_fields.discard("reference")
    has_stages_or_searches = "stages" not in absent_fields or "searches" not in absent_fields
    if has_stages_or_searches:
        missing_fields -= {"retrieved_contexts", "retrieved_context_ids"}
    for ids, texts in TEXTS_OF.items():
        if texts not in absent_fields:  # texts may stand in documents, which may have ids
            missing_fields.discard(ids)
    return missing_fields


def _warn(scorer: BatchScorer, rows: int | None) -> None:
    """Log, before anything is sent, what a judge needs on the workers, and the cost of a worker that dies."""
    judges: list[Any] = [scorer.judge, *(getattr(metric, "judge", None) for metric in scorer.metrics)]
    models = [judge.model for judge in judges if hasattr(judge, "model")]
    keys = [getattr(model, "api_key", None) for model in models]
    for variable in {key.variable for key in keys if isinstance(key, Key) and key.is_explicit}:
        _log.warning(
            "score_table: the judge's api_key= stays on this machine. Each worker reads %s: set it there, if the server "
            "asks for a key.", variable,
        )  # fmt: skip
    if models and not scorer.options.get("cache"):
        _log.warning(
            "score_table: without cache=, the rows of a batch (%s) are judged and paid again if its worker dies. Give a "
            "folder that all workers see.", rows or "as the engine cuts them",
        )  # fmt: skip


def score_distributed(table: Any, scorer: BatchScorer, batch_size: int | None = None) -> Any:
    """Score the rows of a table when it is read. Each batch is a run with limits of its own.

    Raises:
        ParameterError: An option has no meaning on a cluster, or the table has a column of a metric's name.
    """
    for name in _OPTIONS_OF_ONE_PROCESS:
        if scorer.options.get(name):
            raise ParameterError(
                f"score_table: {name}= is for one process, and the rows are scored by the workers of a cluster. "
                "Leave it out."
            )
    check_present(scorer.metrics, _find_missing(scorer, read_types(table)))
    scorer = replace(scorer, options={**scorer.options, "progress": False})
    check_number("score_table: batch_size", batch_size, 1, whole=True, optional=True)
    if batch_size is None and _is_ray(table):
        batch_size = _ROWS_PER_BATCH
        cheap = all(isinstance(metric, ListMetric) for metric in scorer.metrics)
        # Small batches would multiply the limit that each of them may spend.
        if not cheap and not any(scorer.options.get(name) for name in _LIMIT_OPTIONS):
            batch_size = _ROWS_PER_REQUEST * scorer.options.get("max_concurrency", DEFAULT_CONCURRENCY)
    _warn(scorer, batch_size)
    if _is_ray(table):
        return table.map_batches(scorer.score, batch_size=batch_size, batch_format="pyarrow")
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    scorer.check_columns(table.columns)
    context = getattr(table.sparkSession, "sparkContext", None)
    if context is not None:  # a session of Spark Connect has none
        reasons = context.accumulator(frozenset(), _Reasons())
        scorer = replace(scorer, report=lambda reason: reasons.add({reason}))
    types = {float: DoubleType(), str: StringType()}
    fields = list(table.schema.fields)
    fields += [StructField(name, types[kind]) for name, kind in scorer.columns.items()]
    return table.mapInArrow(partial(_score_partition, scorer, batch_size), StructType(fields))


class _Reasons:
    """Collects why no row of a batch could be scored. An accumulator of Spark passes the reasons from the workers to the log."""

    def zero(self, _value: frozenset[str]) -> frozenset[str]:
        """Return the initial state of each task."""
        return frozenset()

    def addInPlace(  # noqa: N802 - Spark's name
        self, reasons: frozenset[str], new_reasons: Collection[str]
    ) -> frozenset[str]:
        """Add reasons, and log each once where the table is read."""
        from pyspark import TaskContext

        if TaskContext.get() is None:  # no task: not on a worker
            for reason in set(new_reasons) - reasons:
                _log.warning("score_table: no row of a batch could be scored: %s", reason)
        return reasons.union(new_reasons)


def _score_partition(
    scorer: BatchScorer, batch_size: int | None, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Score the batches of a Spark partition."""
    import pyarrow as pa

    for batch in batches:
        for smaller_batch in pa.Table.from_batches([batch]).to_batches(max_chunksize=batch_size):
            yield from scorer.score(pa.Table.from_batches([smaller_batch])).to_batches()


def build_rows(columns: Mapping[str, Any], paths: Iterable[str]) -> list[dict[str, Any]]:
    """Build rows with the columns of a table, so that these are recognised although no row was read.

    Args:
        columns: Arrow's type of each column; anything else if it is not known.
        paths: Columns or paths that are said to hold a field; a path may lead into a text, which is JSON then.
    """
    row = {name: _value_like(kind) for name, kind in columns.items()}
    rows = [row]
    for path in paths:
        head, *inner = path.split(".")
        if inner and row.get(head) == "":
            value: Any = ""
            for name in reversed(inner):
                value = {name: value}
            rows.append({head: value})
    return rows


def _value_like(kind: Any) -> Any:
    """Build a value for a type: an object, a list or a text. Nothing else about the type matters."""
    import pyarrow as pa

    if isinstance(kind, pa.StructType):
        return {field.name: _value_like(field.type) for field in kind}
    if isinstance(kind, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return [_value_like(kind.value_type)]
    return ""
