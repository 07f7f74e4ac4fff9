"""Inspect's way to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import inspect_ai
from inspect_ai.dataset import Sample as Row
from inspect_ai.scorer import Scorer, mean, scorer

from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, aside
from ctxmetrics_inspect.scorers import SCHEMA, metric_scorer


@scorer(metrics=[mean()])
def _value(metric: Metric) -> Scorer:
    return metric_scorer(metric)


def _eval(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    rows = []
    for number, sample in enumerate(samples):
        record = SCHEMA.record(sample.to_dict())
        given = {**record["outputs"], **record["expected"]}
        target = given.pop("reference", None) or ""
        rows.append(Row(id=number, input=sample.user_input or "", target=target, metadata=given))
    task = inspect_ai.Task(rows, solver=[], scorer=_value(metric))
    with aside({}):  # Inspect writes its log to the current folder, and reads the samples from there
        (log,) = inspect_ai.eval(task, model=None, display="none")
        values: Any = {row.id: row.scores["_value"].value for row in log.samples or () if row.scores}
    return [None if math.isnan(values[place]) else values[place] for place in range(len(samples))]


RUNNERS = [Runner("inspect_ai.eval", _eval)]
