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
from ctxmetrics.adapting import Runner, aside
from ctxmetrics.errors import MissingFieldError
from ctxmetrics_langchain.documents import SCHEMA
from ctxmetrics_langchain.evaluators import RetrievalEvaluator


class _Offline(Client):
    """Sends nothing: with ``upload_results=False`` alone, some versions still upload the runs of a model that judges."""

    def create_run(self, *_: Any, **__: Any) -> None:
        """Drop the run."""

    update_run = create_run


def _langsmith(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    records: list[Any] = [SCHEMA.record(sample.to_dict()) for sample in samples]
    examples = []
    for n, record in enumerate(records):
        inputs = {**record["inputs"], "n": n}
        examples.append(Example(id=UUID(int=n), inputs=inputs, outputs=record["reference_outputs"]))
    with aside({}):
        rows: Any = evaluate(
            lambda inputs: records[inputs["n"]]["outputs"],
            examples,
            [RetrievalEvaluator([metric])],
            upload_results=False,
            client=_Offline(api_key="none", auto_batch_tracing=False),
        )
    return [row["evaluation_results"]["results"][0].score for row in rows]


def _string(metric: Metric, samples: Sequence[Sample]) -> list[float | None]:
    score: Any = RetrievalEvaluator([metric]).as_string_evaluator().evaluate_strings
    names = ("input", "prediction", "reference")
    given = [
        dict(zip(names, SCHEMA.record(sample.to_dict()).values(), strict=True)) for sample in samples
    ]
    return _batch(RunnableLambda(lambda texts: score(**texts)), given)


def _batch(runnable: Runnable[Any, Any], given: list[Any]) -> list[float | None]:
    with tracing_context(enabled=False):
        rows = runnable.batch(given, return_exceptions=True)
    return [None if isinstance(row, MissingFieldError) else row["score"] for row in rows]


_WAYS = {
    "langsmith.evaluate": _langsmith,
    "langchain.lcel": lambda metric, samples: _batch(
        RetrievalEvaluator([metric]).as_runnable(), [sample.to_dict() for sample in samples]
    ),
}
if find_spec("langchain_classic"):
    _WAYS["langchain.StringEvaluator"] = _string
RUNNERS = [Runner(name, score) for name, score in _WAYS.items()]
