"""The way of pydantic-evals to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from pydantic_evals import Case, Dataset

import ctxmetrics_pydantic_evals
from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner
from ctxmetrics_pydantic_evals.evaluators import SCHEMA


def _evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    wrapper = getattr(ctxmetrics_pydantic_evals, f"{type(metric).__name__}Evaluator")
    params = {item.name: getattr(metric, item.name) for item in fields(metric)}
    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    cases: list[Case[Any, Any, Any]] = [
        Case(
            name=str(number),
            inputs={**record["inputs"], "number": number},
            expected_output=record["expected_output"],
        )
        for number, record in enumerate(records)
    ]
    dataset = Dataset(
        name="samples", cases=cases, evaluators=[wrapper(**params, evaluation_name="score")]
    )
    report = dataset.evaluate_sync(lambda inputs: records[inputs["number"]]["output"], progress=False)
    found = {case.name: case.scores["score"].value for case in report.cases if "score" in case.scores}
    return [found.get(str(number)) for number in range(len(samples))]


RUNNERS = [Runner("pydantic_evals.evaluate", _evaluate)]
