"""The columnar form: a table in, the same kind of table out with the values of the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from ctxmetrics.evaluation.options import RunOptions
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric

Table = TypeVar("Table")


def score_table(
    table: Table,
    metrics: Sequence[Metric],
    *,
    schema: str = "ragas",
    judge: Judge | None = None,
    **options: Unpack[RunOptions],
) -> Table:
    """Score the rows of a table.

    Metrics over ids read the columns as they are where polars is installed. Columns that no metric needs are not
    looked at then, apart from their names.

    A Ray dataset and a Spark data frame are scored by the workers of their cluster, when they are read: the limits of
    ``options`` hold for all workers together, rows keep the order that the engine keeps, and a field that no row has is
    a gap like any other. Ids are compared within a batch. ``out``, ``deadline``, ``progress`` and ``workers`` are
    refused.

    Args:
        table: A pyarrow, pandas or polars table, a Ray dataset or a Spark data frame, whose columns are the fields of a sample.
        metrics: The metrics. Each becomes two columns: its name (missing values are missing), and
            ``NAME.reason_code``, which says why a value is missing.
        schema: Whose words the columns are (`ctxmetrics.fields.SCHEMAS`).
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
    from ctxmetrics.tables._frames import frame_of
    from ctxmetrics.tables.batches import BatchScorer

    scorer = BatchScorer(metrics=metrics, schema=schema, judge=judge, options=options)
    engine = type(table).__module__.partition(".")[0]
    if engine == "ray" and hasattr(table, "map_batches"):
        from ctxmetrics.tables._ray import score_dataset

        return cast("Table", score_dataset(table, scorer))
    if engine == "pyspark" and hasattr(table, "mapInArrow"):
        from ctxmetrics.tables._spark import score_dataframe

        return cast("Table", score_dataframe(table, scorer))
    rows = len(frame_of(table))
    scored, present = scorer.score_and_look(table)
    for metric in scorer.metrics if rows else ():
        check_present(metric, present)
    return scored
