"""Ray datasets and Spark data frames: the engine maps the scoring over the batches of its workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.tables.batches import BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa

# Rows of a batch on Ray: what a worker that dies may cost.
_ROWS = 1024
# Options that belong to one machine: a file, a clock and a display.
_OF_ONE_PROCESS = ("out", "keep_texts", "deadline", "progress")


def is_distributed(table: object) -> bool:
    """Whether a table is a Ray dataset or a Spark data frame."""
    return hasattr(table, "map_batches" if _is_ray(table) else "mapInArrow")


def _is_ray(table: object) -> bool:
    return type(table).__module__.partition(".")[0] == "ray"


def columns_of(table: Any) -> dict[str, Any]:
    """Return Arrow's type of each column. Spark reads no row for it; Ray reads one where it does not know the types."""
    schema = table.schema() if _is_ray(table) else table.limit(0).toArrow().schema
    return {} if schema is None else dict(zip(schema.names, schema.types, strict=True))


def score_distributed(table: Any, scorer: BatchScorer) -> Any:
    """Score the rows of a table when it is read; each batch is a run with limits of its own.

    Raises:
        ParameterError: An option has no meaning on a cluster, or the table has a column of a metric's name.
    """
    for name in _OF_ONE_PROCESS:
        if scorer.options.get(name):
            raise ParameterError(
                f"score_table: {name}= is for one process, and the rows are scored by the workers of a cluster. "
                "Leave it out."
            )
    scorer = replace(scorer, options={**scorer.options, "progress": False})
    if _is_ray(table):
        return table.map_batches(scorer.score, batch_size=_ROWS, batch_format="pyarrow")
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    scorer.check_columns(table.columns)
    types = {float: DoubleType(), str: StringType()}
    added = [StructField(name, types[kind]) for name, kind in scorer.columns.items()]
    return table.mapInArrow(_Partition(scorer), StructType([*table.schema.fields, *added]))


@dataclass(frozen=True)
class _Partition:
    """Scores the batches of a Spark partition."""

    scorer: BatchScorer

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            yield from self.scorer.score(pa.Table.from_batches([batch])).to_batches()


def rows_like(columns: Mapping[str, Any], given: Iterable[str]) -> list[dict[str, Any]]:
    """Return rows with the columns of a table, so that these are recognised although no row was read.

    Args:
        columns: Arrow's type of each column; anything else where it is not known.
        given: Columns or paths that are said to hold a field; a path may lead into a text, which is JSON then.
    """
    row = {name: _value_like(kind) for name, kind in columns.items()}
    rows = [row]
    for path in given:
        head, *inner = path.split(".")
        if inner and row.get(head) == "":
            value: Any = ""
            for name in reversed(inner):
                value = {name: value}
            rows.append({head: value})
    return rows


def _value_like(kind: Any) -> Any:
    """Return an object or a list where the type is one, else a text: no more is looked at."""
    import pyarrow as pa

    if isinstance(kind, pa.StructType):
        return {field.name: _value_like(field.type) for field in kind}
    if isinstance(kind, (pa.ListType, pa.LargeListType, pa.FixedSizeListType)):
        return [_value_like(kind.value_type)]
    return ""
