"""The way of pydantic-evals to run a metric, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic_evals import Case, Dataset

import ctxmetrics_pydantic_evals
from ctxmetrics.testing.runners import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples import Sample

_RETRIEVED = ("response", "retrieved_contexts", "retrieved_context_ids")
_EXPECTED = ("reference", "reference_contexts", "reference_context_ids")


def _evaluate(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    wrapper = getattr(ctxmetrics_pydantic_evals, f"{type(metric).__name__}Evaluator")
    params = {item.name: getattr(metric, item.name) for item in fields(metric)}
    dataset: Dataset[Any, Any, Any] = Dataset(
        name="samples",
        cases=[
            Case(
                name=str(number),
                inputs={"question": sample.user_input, "number": number},
                expected_output=_part(sample, _EXPECTED),
            )
            for number, sample in enumerate(samples)
        ],
        evaluators=[wrapper(**params, evaluation_name="score")],
    )
    report = dataset.evaluate_sync(
        lambda inputs: _part(samples[inputs["number"]], _RETRIEVED), name="parity", progress=False
    )
    found = {case.name: case.scores["score"].value for case in report.cases if "score" in case.scores}
    return [found.get(str(number)) for number in range(len(samples))]


def _part(sample: Sample, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in sample.to_dict().items() if name in names}


RUNNERS = [Runner("pydantic_evals.evaluate", _evaluate)]
