"""Ways to run a metric with LangChain, for the conformance suite and ``ctxmetrics parity``. Nothing is sent."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any
from uuid import UUID

from langchain_core.runnables import Runnable, RunnableLambda
from langsmith import Client, evaluate, tracing_context
from langsmith.schemas import Example

from ctxmetrics import Metric, Sample
from ctxmetrics.adapting import Runner, isolated_process
from ctxmetrics.errors import MissingFieldError
from ctxmetrics_langchain.documents import SCHEMA
from ctxmetrics_langchain.evaluators import RetrievalEvaluator


class _Offline(Client):
    """A client that sends nothing. With ``upload_results=False`` alone, some versions upload the runs of a judge's model."""

    def create_run(self, *_: Any, **__: Any) -> None:
        """Drop the run."""

    update_run = create_run


def _run_langsmith(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by ``langsmith.evaluate``."""
    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    examples = []
    for number, record in enumerate(records):
        inputs = {**record["inputs"], "number": number}
        example = Example(id=UUID(int=number), inputs=inputs, outputs=record["reference_outputs"])
        examples.append(example)
    with isolated_process({}):
        rows: Any = evaluate(
            lambda inputs: records[inputs["number"]]["outputs"],
            examples,
            [RetrievalEvaluator([metric])],
            upload_results=False,
            client=_Offline(api_key="none", auto_batch_tracing=False),
        )
    return [row["evaluation_results"]["results"][0].score for row in rows]


def _run_lcel(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by a runnable of LCEL."""
    runnable = RetrievalEvaluator([metric]).as_runnable()
    return _run_batch(runnable, [sample.to_dict() for sample in samples])


def _run_string_evaluator(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    """Score samples by a string evaluator of langchain-classic."""
    evaluator: Any = RetrievalEvaluator([metric]).as_string_evaluator()
    arguments: list[dict[str, Any]] = []
    for sample in samples:
        record = SCHEMA.record(sample.to_dict())
        arguments.append(
            {
                "input": record["inputs"],
                "prediction": record["outputs"],
                "reference": record["reference_outputs"],
            }
        )
    runnable = RunnableLambda(lambda arguments_of_one: evaluator.evaluate_strings(**arguments_of_one))
    return _run_batch(runnable, arguments)


def _run_batch(runnable: Runnable[Any, Any], inputs: list[Any]) -> list[float | None]:
    """Run a runnable over all inputs; a missing field gives None."""
    with tracing_context(enabled=False):
        rows = runnable.batch(inputs, return_exceptions=True)
    return [None if isinstance(row, MissingFieldError) else row["score"] for row in rows]


RUNNERS = [
    Runner("langsmith.evaluate", _run_langsmith),
    Runner("langchain.lcel", _run_lcel),
]
if find_spec("langchain_classic"):
    RUNNERS.append(Runner("langchain.StringEvaluator", _run_string_evaluator))
