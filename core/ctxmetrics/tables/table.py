"""The columnar form: a table in, the same kind of table out with the values of the metrics."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from ctxmetrics.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.tables.batches import BatchScorer

Table = TypeVar("Table")


def is_dataset(table: object) -> bool:
    """Whether a table is a dataset of Hugging Face's ``datasets``, or several under the names of their splits."""
    return type(table).__module__.partition(".")[0] == "datasets"


def score_dataset(dataset: Any, metrics: Sequence[Metric], **options: Any) -> Any:
    """Score a dataset as `score_table` does, and return it with the columns of the metrics.

    Raises:
        ParameterError: It is several datasets, or a stream.
    """
    if hasattr(dataset, "keys"):
        raise ParameterError(
            f"score_table: these are several datasets. Give one, such as dataset[{next(iter(dataset), '')!r}]."
        )
    if not hasattr(dataset, "add_column"):
        raise ParameterError(f"score_table: {type(dataset).__name__} is a stream. Give it to evaluate().")
    before = dataset.with_format("arrow")[:]
    scored = score_table(before, metrics, **options)
    for name in scored.column_names:
        if name not in before.column_names:
            dataset = dataset.add_column(name, scored[name].to_pylist())
    return dataset


def score_table(
    table: Table,
    metrics: Sequence[Metric],
    *,
    schema: str = "auto",
    columns: Mapping[str, str] | None = None,
    judge: Judge | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Score the rows of a table.

    Metrics over ids, spans and strings read the two columns that they need; other columns are not looked at then, apart
    from their names.

    A Ray dataset and a Spark data frame are scored by the workers of their cluster, when they are read. Each batch is a
    run of its own: the limits of ``options`` hold for one batch, so with n batches at a time there are up to n times as
    many requests. Rows keep the order that the engine keeps, and a field that no row has is a gap like any other. Ids are
    compared within a batch. Columns are recognised by their names and types: where fields stand in JSON inside a text,
    name the schema. ``out``, ``keep_texts``, ``deadline`` and ``progress`` are refused.

    Args:
        table: A pyarrow, pandas or polars table, a dataset of Hugging Face's ``datasets``, a Ray dataset or a Spark data
            frame, whose columns are the fields of a sample.
        metrics: The metrics. Each becomes two columns: its name (missing values are missing), and
            ``NAME.reason_code``, which says why a value is missing.
        schema: Whose words the columns are (`ctxmetrics.fields.SCHEMAS`); ``"auto"`` finds out, and logs what it decided.
        columns: Which column holds which field, where no schema is right.
        judge: As for `evaluate`.
        **options: As for `evaluate`. With ``out``, every row becomes a `Sample`.

    Returns:
        A table of the same kind, the rows in the same order.

    Raises:
        MissingExtraError: narwhals is not installed.
        MissingFieldError: No row has a field that a metric needs.
        ParameterError: It is no table, or has a column of a metric's name.
        CtxMetricsError: As `evaluate` and `Sample.from_dict` raise.
    """
    from ctxmetrics.evaluation.sources import check_present
    from ctxmetrics.fields import PEEKED
    from ctxmetrics.tables._clusters import columns_of, is_distributed, rows_like, score_distributed
    from ctxmetrics.tables.batches import frame_of, plain_rows

    scorer_of = partial(_scorer_of, schema, columns, metrics=metrics, judge=judge, options=options)
    if is_dataset(table):
        return cast(
            "Table", score_dataset(table, metrics, schema=schema, columns=columns, judge=judge, **options)
        )
    if is_distributed(table):
        scorer = scorer_of(rows_like(columns_of(table), columns or ()))
        return cast("Table", score_distributed(table, scorer))
    frame = frame_of(table)
    scorer = scorer_of(plain_rows(frame.head(PEEKED)))
    scored, present = scorer.score_and_look(table)
    if len(frame):
        needed = {name for metric in scorer.metrics for name in metric.requires}
        check_present(scorer.metrics, needed - present)
    return scored


def _scorer_of(
    schema: str, columns: Mapping[str, str] | None, rows: Iterable[Mapping[str, Any]], **given: Any
) -> BatchScorer:
    """Return the scorer of a table whose first rows are given, and log how its columns are read."""
    from ctxmetrics.fields import recognise
    from ctxmetrics.tables.batches import BatchScorer

    reading = recognise(rows, schema, columns)
    for note in reading.notes:
        logging.getLogger("ctxmetrics").warning("score_table: %s", note)
    return BatchScorer(schema=reading, **given)
