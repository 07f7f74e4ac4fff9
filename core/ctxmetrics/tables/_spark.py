"""A Spark data frame in, a Spark data frame with the columns of the metrics out."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxmetrics.errors import ParameterError
from ctxmetrics.tables._workers import Limits, asks_a_judge, in_worker, split
from ctxmetrics.tables.batches import BatchScorer

if TYPE_CHECKING:
    import pyarrow as pa


def columns_of(frame: Any) -> dict[str, Any]:
    """Return the type of each column; no row is read."""
    schema = frame.limit(0).toArrow().schema
    return dict(zip(schema.names, schema.types, strict=True))


def score_dataframe(frame: Any, scorer: BatchScorer) -> Any:
    """Score the rows of a Spark data frame, when it is read.

    With a judge, at most as many partitions are scored at a time as the limits can be shared among: each has a fixed
    share of them. Where no cache is given, judgements are kept in the directory of the Spark application on each machine,
    which Spark deletes: a partition that is scored again, after a failure or because the frame is read twice, sends no
    request whose answer is there.

    Args:
        frame: The data frame.
        scorer: The metrics and options; its limits hold for all partitions together.

    Raises:
        ParameterError: The frame has a column of a metric's name.
    """
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    if taken := scorer.columns.keys() & set(frame.columns):
        raise ParameterError(f"score_table: the table already has a column {min(taken)!r}. Rename it.")
    types = {float: DoubleType(), str: StringType()}
    added = [StructField(name, types[kind]) for name, kind in scorer.columns.items()]
    scorer, limits = split(scorer)
    folder = None
    if asks_a_judge(scorer):
        workers = min(limits.most_workers(), _parallel(frame))
        frame, limits = frame.coalesce(workers), limits.share(workers)
        folder = None if scorer.options.get("cache") else f"ctxmetrics-{uuid.uuid4().hex}"
    return frame.mapInArrow(_Worker(scorer, limits, folder), StructType([*frame.schema.fields, *added]))


def _parallel(frame: Any) -> int:
    """Return how many partitions the cluster scores at a time, as far as it says."""
    try:
        return max(1, int(frame.sparkSession.sparkContext.defaultParallelism))
    except Exception:  # noqa: BLE001 - a session of Spark Connect has no context, and says so in several ways
        return 1


class _Worker:
    """Scores the batches of a partition: one run. The folder is for a cache in the directory of the application."""

    def __init__(self, scorer: BatchScorer, limits: Limits, folder: str | None) -> None:
        self._scorer, self._limits, self._folder = scorer, limits, folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import SparkFiles

        scorer = in_worker(self._scorer, self._limits)
        root = SparkFiles.getRootDirectory()
        if self._folder is not None and os.access(root, os.W_OK):  # some clusters keep workers out of it
            scorer = replace(scorer, options={**scorer.options, "cache": Path(root, self._folder)})
        for batch in batches:
            yield from scorer.score(pa.Table.from_batches([batch])).to_batches()
