"""Ragas' two ways to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ragas import EvaluationDataset, SingleTurnSample, evaluate

import ctxmetrics_ragas
from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, aside


def _evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    dataset = EvaluationDataset([SingleTurnSample(**sample.to_dict()) for sample in samples])
    result: Any = evaluate(dataset, metrics=[_wrapped(metric)], show_progress=False)
    return [None if math.isnan(value) else value for value in result[metric.name]]


def _collections(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    return [
        None if math.isnan(result.value) else result.value
        for result in _wrapped(metric).batch_score([sample.to_dict() for sample in samples])
    ]


def _wrapped(metric: Metric) -> Any:
    return getattr(ctxmetrics_ragas, type(metric).__name__)(core=metric)


_quiet = aside({"RAGAS_DO_NOT_TRACK": "true"})
RUNNERS = [
    Runner("ragas.evaluate", _quiet(_evaluate)),
    Runner("ragas.collections", _quiet(_collections)),
]
