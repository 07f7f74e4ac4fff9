"""The evaluator for LangSmith: one wrapper around metrics of the core, and its other forms."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.config import set_config_context
from langsmith import EvaluationResult, RunEvaluator, trace

from ctxmetrics.adapting.judge import as_judge
from ctxmetrics.adapting.scorer import Scorer, compact, is_failure
from ctxmetrics_langchain.documents import SCHEMA, VALUES, to_record
from ctxmetrics_langchain.models import ChatModel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from langsmith.evaluation.evaluator import EvaluationResults
    from langsmith.schemas import Example, Run
    from typing_extensions import Unpack

    from ctxmetrics.adapting.scorer import WrapperParams
    from ctxmetrics.fields import KeyParams
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics import Metric
    from ctxmetrics.models.base import Model
    from ctxmetrics.scores import Score
    from ctxmetrics_langchain.strings import MetricStringEvaluator

    JudgeLike: TypeAlias = Judge | Model | BaseChatModel | None
    Metrics: TypeAlias = Sequence[Metric] | Mapping[str, Metric]
    Result: TypeAlias = EvaluationResult | EvaluationResults


@dataclass(init=False, unsafe_hash=True)
class RetrievalEvaluator(RunEvaluator):
    """Metrics of the core as one evaluator: judged at the same time, one result each.

    For ``langsmith.evaluate`` and ``aevaluate`` (``evaluators=[..]``), ``evaluate_existing`` and
    ``EvaluatorCallbackHandler``. Contexts come from the run's outputs, else from its retriever runs.

    A score that cannot be computed has ``score`` None and a comment that says why. When no metric at all finds its
    data, the error is raised, and LangSmith makes a row a key of it. ``value`` is ``"passed"`` or ``"failed"`` where
    there is a pass mark; verdicts, judge and reason code are in ``evaluator_info``.

    ``langsmith.aevaluate(upload_results=False)`` uploads the target's run all the same: where nothing may leave the
    machine, give it a client that sends nothing.

    Args:
        metrics: Metrics of the core, or a mapping from feedback keys to metrics.
        judge: For judged metrics that have none: a judge, a model, or a LangChain chat model.
        **keys: Where things stand in runs and examples: see `ctxmetrics.fields.KeyParams`.

    Attributes:
        scorer: The core metrics by feedback key, and the keys. Two evaluators are equal when these are.

    Raises:
        ParameterError: Two metrics have one name, or a parameter is unknown or of the wrong type.
    """

    scorer: Scorer

    def __init__(self, metrics: Metrics, *, judge: JudgeLike = None, **keys: Unpack[KeyParams]) -> None:
        self.scorer = Scorer.of(metrics, as_judge(judge, BaseChatModel, ChatModel), keys, SCHEMA)

    @property
    def feedback_keys(self) -> list[str]:
        """One key a metric: its name, unless another was given."""
        return list(self.scorer.metrics)

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run, in a trace of its own."""
        record = to_record(run, example)
        with self._trace(record, evaluator_run_id) as own:
            return _ended(own, self.scorer.scores(record))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run in this loop, in a trace of its own."""
        record = to_record(run, example)
        async with self._trace(record, evaluator_run_id) as own:
            return _ended(own, await self.scorer.ascores(record))

    def _trace(self, record: Mapping[str, Any], run_id: UUID | None) -> trace:
        sides = {name: record[name] for name in ("inputs", "outputs", "reference_outputs")}
        target = {"target_run_id": str(record["run"].id)}
        return trace(self.scorer.name, inputs=sides, run_id=run_id, metadata=target)

    def as_runnable(self) -> RunnableLambda[dict[str, Any], Any]:
        """Return it for LCEL: takes a mapping with the fields, gives ``key``, ``score``, ``comment`` and so on.

        Several metrics give ``{"results": [..]}``. Invoking raises what `evaluate_run` raises.
        """
        return RunnableLambda(self._invoke, self._ainvoke, name=self.scorer.name)

    def _invoke(self, fields: dict[str, Any]) -> Any:
        return _one_or_all(to_rows(self.scorer.scores(fields)))

    async def _ainvoke(self, fields: dict[str, Any], config: RunnableConfig) -> Any:
        with set_config_context(config) as context:  # before Python 3.11, LangChain cannot for a coroutine
            return _one_or_all(to_rows(await context.run(asyncio.ensure_future, self.scorer.ascores(fields))))

    def as_string_evaluator(self) -> MetricStringEvaluator:
        """Return it for langchain-classic: ``RunEvalConfig(custom_evaluators=[..])``.

        Raises:
            MissingExtraError: langchain-classic is not installed.
            ParameterError: There are several metrics, and a string evaluator has one score.
        """
        from ctxmetrics_langchain.strings import MetricStringEvaluator

        return MetricStringEvaluator(self.scorer)

    def as_function(self) -> Callable[..., Any]:
        """Return it the way openevals writes evaluators: ``f(inputs=, outputs=, reference_outputs=, **fields)``.

        Lack of data raises nothing but gives ``score`` None: LangSmith shows no row at all when a function raises.
        """

        def evaluator(
            *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **fields: Any
        ) -> Any:
            record = {**fields, "inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
            return _one_or_all(to_rows(self.scorer.scores(record, strict=False)))

        evaluator.__name__ = self.scorer.name
        return evaluator

    def as_summary_evaluator(self) -> Callable[..., dict[str, Any]]:
        """Return an evaluator of the whole experiment (``summary_evaluators=[..]``): means with their intervals.

        Keys are ``<key>_mean``. It scores by itself; a judge's finished judgements are remembered, not paid again.
        """

        def evaluator(runs: Sequence[Run], examples: Sequence[Example]) -> dict[str, Any]:
            told = self.scorer.summaries([to_record(*pair) for pair in zip(runs, examples, strict=True)])
            return {"results": [_to_mean(key, *summary) for key, summary in told.items()]}

        evaluator.__name__ = f"{self.scorer.name} (mean)"
        return evaluator


def to_rows(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Write scores with the keys of LangSmith's ``EvaluationResult``."""
    return [
        {"key": key, "score": score.value, "value": VALUES[score.passed], "comment": score.reason or None}
        | {"evaluator_info": compact(score), "extra": {"error": True} if is_failure(score) else None}
        for key, score in scores.items()
    ]


def _to_mean(key: str, summary: dict[str, Any], table: str) -> dict[str, Any]:
    return {"key": f"{key}_mean", "score": summary["mean"], "comment": table, "evaluator_info": summary}


def _ended(own: Any, scores: Mapping[str, Score]) -> Result:
    rows = to_rows(scores)
    own.end(outputs={"results": rows})
    return cast("Result", _one_or_all([EvaluationResult(**row, source_run_id=own.id) for row in rows]))


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else {"results": results}


class MetricEvaluator(RetrievalEvaluator):
    """One metric of the core by its parameters; use the subclasses.

    Args:
        judge: A judge, a model, or a LangChain chat model; None: the embedded judge.
        **params: The metric's parameters (``threshold`` is the pass mark on the score's own scale, else the
            convention's; ``strict`` lets only a perfect score pass), ``key`` for the feedback key, and where things
            stand (`KeyParams`).

    Attributes:
        metric: The core metric.

    Raises:
        ParameterError: A parameter is unknown or out of range.
    """

    core_class: ClassVar[type[Metric]]

    def __init__(self, *, judge: JudgeLike = None, **params: Unpack[WrapperParams]) -> None:
        judged = as_judge(judge, BaseChatModel, ChatModel)
        self.scorer = Scorer.single(self.core_class, params, SCHEMA, judge=judged)
        (self.metric,) = self.scorer.metrics.values()
