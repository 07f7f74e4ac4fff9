"""MLflow's way to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
from mlflow.genai import evaluate

from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, aside
from ctxmetrics_mlflow.scorers import SCHEMA, MetricScorer

_SETTINGS: dict[str, str | None] = {
    **dict.fromkeys(
        ("MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_ID", "MLFLOW_TRACKING_URI")
    ),
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1",  # SQLite: ten of them wait for each other's connections
    "MLFLOW_GENAI_EVAL_PREDICT_RATE_LIMIT": "0",  # ten a second by default
    "MLFLOW_GENAI_EVAL_SCORER_RATE_LIMIT": "0",
}
_IN_MEMORY = "/dev/shm"  # noqa: S108 - only where it is: a store on a disk waits for it at every row


def _evaluate(metrics: Sequence[Metric], samples: Sequence[Sample]) -> list[list[float | None]]:
    """Run all metrics at once: what takes long is MLflow's store, at each row of each run."""
    rows: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    for number, row in enumerate(rows):
        row["inputs"]["number"] = number
    scorers: list[Any] = [
        MetricScorer(metric, name=f"score{place}") for place, metric in enumerate(metrics)
    ]
    with _own_store():
        found: Any = evaluate(data=rows, scorers=scorers)
    table = found.result_df
    order = [
        number
        for _, number in sorted((row["number"], number) for number, row in enumerate(table["request"]))
    ]
    columns = [list(table[f"{scorer.name}/value"]) for scorer in scorers]
    values = [[column[number] for number in order] for column in columns]
    return [
        [None if value is None or math.isnan(value) else value for value in column] for column in values
    ]


@cache
def _store() -> TemporaryDirectory[str]:
    return TemporaryDirectory(dir=_IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None)


@contextmanager
def _own_store() -> Iterator[None]:
    """Log to a store in a temporary folder: to no tracking server, and not into the working folder."""
    uri, folder = mlflow.get_tracking_uri(), _store().name
    with aside(_SETTINGS, folder):
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        try:
            yield
        finally:
            mlflow.set_tracking_uri(uri)


RUNNERS = [
    Runner(
        "mlflow.evaluate", lambda metric, samples: _evaluate([metric], samples)[0], score_all=_evaluate
    )
]
