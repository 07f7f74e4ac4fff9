"""Ragas' two ways to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ragas import EvaluationDataset, SingleTurnSample, evaluate

import ctxmetrics_ragas
from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, isolated_process


def _run_evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by ``ragas.evaluate``."""
    dataset = EvaluationDataset([SingleTurnSample(**sample.to_dict()) for sample in samples])
    result: Any = evaluate(dataset, metrics=[_to_ragas(metric)], show_progress=False)
    return [None if math.isnan(value) else value for value in result[metric.name]]


def _run_collections(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by the collections API of Ragas."""
    results = _to_ragas(metric).batch_score([sample.to_dict() for sample in samples])
    return [None if math.isnan(result.value) else result.value for result in results]


def _to_ragas(metric: Metric) -> Any:
    """Return the metric of Ragas for a metric of the core."""
    return getattr(ctxmetrics_ragas, type(metric).__name__)(core=metric)


_isolated = isolated_process({"RAGAS_DO_NOT_TRACK": "true"})
RUNNERS = [
    Runner("ragas.evaluate", _isolated(_run_evaluate)),
    Runner("ragas.collections", _isolated(_run_collections)),
]
