"""The evaluator for LangSmith: metrics of the core, and the evaluator's other forms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast
from uuid import UUID

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableLambda
from langsmith import EvaluationResult, RunEvaluator, trace

from ctxmetrics import Judge, Metric, Model, Results, Score, adapting
from ctxmetrics.errors import ParameterError
from ctxmetrics_langchain.documents import SCHEMA, VALUES, to_record
from ctxmetrics_langchain.models import ChatModel

if TYPE_CHECKING:
    from langsmith.evaluation.evaluator import EvaluationResults
    from langsmith.schemas import Example, Run

    from ctxmetrics_langchain.strings import MetricStringEvaluator

    JudgeLike: TypeAlias = Judge | Model | BaseChatModel | None
    Result: TypeAlias = EvaluationResult | EvaluationResults


@dataclass(init=False, unsafe_hash=True)
class RetrievalEvaluator(RunEvaluator):
    """Several metrics of the core as one evaluator: they are judged at the same time, and each has one result.

    For ``langsmith.evaluate`` and ``aevaluate`` (``evaluators=[..]``), ``evaluate_existing`` and
    ``EvaluatorCallbackHandler``. Contexts come from the run's outputs, else from its retriever runs.

    A score that cannot be computed has ``score`` None and a comment that says why. When no metric at all finds its
    data, the error is raised, and LangSmith makes a row a key of it. ``value`` is ``"passed"`` or ``"failed"`` where
    there is a pass mark; verdicts, judge and reason code are in ``evaluator_info``.

    ``langsmith.aevaluate(upload_results=False)`` uploads the target's run all the same (langsmith up to
    0.15.0): where nothing may leave the machine, pass a client that sends nothing.

    Args:
        metrics: Metrics of the core, or a mapping from feedback keys to metrics.
        judge: For judged metrics that have none: a judge, a model, or a LangChain chat model.
        **keys: The keys of the fields in runs and examples: see `ctxmetrics.adapting.KeyParams`.

    Attributes:
        wrappers: The wrapped core metrics by feedback key. Two evaluators are equal when these are.

    Raises:
        ParameterError: Two metrics have one name, or a parameter is unknown or of the wrong type.
    """

    wrappers: Mapping[str, adapting.Wrapper]

    def __init__(
        self,
        metrics: Sequence[Metric] | Mapping[str, Metric],
        *,
        judge: JudgeLike = None,
        **keys: Unpack[adapting.KeyParams],
    ) -> None:
        named = metrics if isinstance(metrics, Mapping) else {one.name: one for one in metrics}
        if not named or len(named) != len(metrics):
            raise ParameterError(
                "metrics= needs metrics of different names. Give a mapping to name them yourself."
            )
        judged = adapting.as_judge(judge, BaseChatModel, ChatModel)
        self.wrappers = adapting.FrozenDict(
            {name: adapting.Wrapper.of(metric, judged, keys, SCHEMA) for name, metric in named.items()}
        )

    @property
    def _name(self) -> str:
        return ", ".join(self.wrappers)

    @property
    def feedback_keys(self) -> list[str]:
        """One key a metric: its name, unless another was given."""
        return list(self.wrappers)

    async def _ascores(self, record: Mapping[str, Any], *, strict: bool = True) -> dict[str, Score]:
        """Score a record, one score a key; a metric that fails leaves the others alone.

        Args:
            record: A mapping with sides, or with the fields themselves.
            strict: Raise the first failure when all fail.
        """
        outcomes = await asyncio.gather(
            *(wrapper.ascore(record) for wrapper in self.wrappers.values()), return_exceptions=True
        )
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if strict and len(failures) == len(outcomes):
            failures[0].args = (str(failures[0]),)  # LangSmith shows the repr
            raise failures[0]
        return {
            name: outcome if isinstance(outcome, Score) else wrapper.failed(outcome)
            for (name, wrapper), outcome in zip(self.wrappers.items(), outcomes, strict=True)
        }

    def _scores(self, record: Mapping[str, Any], *, strict: bool = True) -> dict[str, Score]:
        """Score a record, anywhere: in a script, a notebook, inside a running loop, in any thread. See `_ascores`."""
        return adapting.run_sync(lambda: self._ascores(record, strict=strict))

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run, in a trace of its own."""
        record = to_record(run, example)
        with self._trace(record, evaluator_run_id) as own:
            return _ended(own, self._scores(record))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run in this loop, in a trace of its own."""
        record = to_record(run, example)
        async with self._trace(record, evaluator_run_id) as own:
            return _ended(own, await self._ascores(record))

    def _trace(self, record: Mapping[str, Any], run_id: UUID | None) -> trace:
        return trace(
            self._name,
            inputs={name: record[name] for name in ("inputs", "outputs", "reference_outputs")},
            run_id=run_id,
            metadata={"target_run_id": str(record["run"].id)},
        )

    def as_runnable(self) -> RunnableLambda[dict[str, Any], Any]:
        """Return the evaluator as a runnable for LCEL: a mapping with the fields in; ``key``, ``score``, ``comment`` .. out.

        Several metrics give ``{"results": [..]}``. Invoking raises what `evaluate_run` raises.
        """
        return RunnableLambda(self._invoke, self._ainvoke, name=self._name)

    def _invoke(self, fields: dict[str, Any]) -> Any:
        return _one_or_all(to_rows(self._scores(fields)))

    async def _ainvoke(self, fields: dict[str, Any]) -> Any:
        return _one_or_all(to_rows(await self._ascores(fields)))

    def as_string_evaluator(self) -> MetricStringEvaluator:
        """Return the evaluator for langchain-classic: ``RunEvalConfig(custom_evaluators=[..])``.

        Raises:
            MissingExtraError: langchain-classic is not installed.
            ParameterError: There are several metrics, and a string evaluator has one score.
        """
        from ctxmetrics_langchain.strings import MetricStringEvaluator

        if len(self.wrappers) > 1:
            raise ParameterError(f"A string evaluator has one score. Make one each of: {self._name}.")
        return MetricStringEvaluator(self._name, self.wrappers[self._name])

    def __call__(
        self, *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **fields: Any
    ) -> Any:
        """Score the given fields, with the arguments of openevals: ``evaluator(inputs=, outputs=, reference_outputs=)``.

        Where data are missing, nothing is raised and ``score`` is None.

        Args:
            inputs: The question, or a mapping that holds it.
            outputs: What the target returned.
            reference_outputs: What is expected.
            **fields: Fields by their own names.
        """
        if isinstance(fields.get("context"), Mapping):  # as openevals gives a retriever's outputs
            fields |= fields.pop("context")
        sides = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return _one_or_all(to_rows(self._scores(fields | sides, strict=False)))

    def as_function(self) -> Callable[..., Any]:
        """Return the evaluator as a function with the arguments of `__call__`, which LangSmith passes by their names.

        LangSmith shows no row at all when a function raises; this one does not.
        """

        def evaluator(
            *, inputs: Any = None, outputs: Any = None, reference_outputs: Any = None, **fields: Any
        ) -> Any:
            return self(inputs=inputs, outputs=outputs, reference_outputs=reference_outputs, **fields)

        evaluator.__name__ = self._name
        return evaluator

    def as_summary_evaluator(self) -> Callable[..., dict[str, Any]]:
        """Return an evaluator of the whole experiment (``summary_evaluators=[..]``): means with their intervals.

        Keys are ``<key>_mean``. It scores the samples itself; a judge's finished judgements are
        remembered and not paid again.
        """

        def evaluator(runs: Sequence[Run], examples: Sequence[Example]) -> dict[str, Any]:
            records = [to_record(*pair) for pair in zip(runs, examples, strict=True)]
            results = []
            for key, wrapper in self.wrappers.items():
                summary = wrapper.summary(records)
                told = summary[wrapper.metric.name].to_dict()
                results.append(
                    {
                        "key": f"{key}_mean",
                        "score": told["mean"],
                        "comment": str(summary),
                        "evaluator_info": told,
                    }
                )
            return {"results": results}

        evaluator.__name__ = f"{self._name} (mean)"
        return evaluator


def to_rows(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Write scores with the keys of LangSmith's ``EvaluationResult``."""
    return [
        {
            "key": key,
            "score": score.value,
            "value": VALUES[score.passed],
            "comment": score.reason or None,
            "evaluator_info": adapting.compact(score),
            # The metric could not be applied.
            "extra": {"error": True}
            if score.reason_code in ("missing_field", "metric_error")
            else None,
        }
        for key, score in scores.items()
    ]


def results(run: Iterable[Any], **keys: Unpack[adapting.KeyParams]) -> Results:
    """Return what ``langsmith.evaluate`` returned as results of the core: samples, verdicts, evidence and usage.

    Args:
        run: The rows; of ``aevaluate``, ``[row async for row in run]``.
        **keys: The keys that the evaluators had.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for row in run:
        scores = {
            result.key: (result.evaluator_info or {}).get("score", result.comment)
            for result in row["evaluation_results"]["results"]
        }
        rows.append((to_record(row["run"], row["example"]), scores))
    return adapting.build_results(SCHEMA, rows, keys)


def _ended(own: Any, scores: Mapping[str, Score]) -> Result:
    rows = to_rows(scores)
    own.end(outputs={"results": rows})
    return cast("Result", _one_or_all([EvaluationResult(**row, source_run_id=own.id) for row in rows]))


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else {"results": results}


class MetricEvaluator(adapting.MetricClass, RetrievalEvaluator):
    """One metric of the core by its parameters; use the subclasses.

    Args:
        judge: A judge, a model, or a LangChain chat model; None: the embedded judge.
        key: The feedback key; None: the metric's name.
        **params: The metric's parameters (``threshold`` is the pass mark on the score's own scale, else the
            convention's; ``strict`` lets only a perfect score pass), and where things stand (`KeyParams`).

    Attributes:
        metric: The core metric.

    Raises:
        ParameterError: A parameter is unknown or out of range.
    """

    def __init__(
        self,
        *,
        judge: JudgeLike = None,
        key: str | None = None,
        **params: Unpack[adapting.WrapperParams],
    ) -> None:
        adapting.check_unused(type(self), params)
        judging = adapting.as_judge(judge, BaseChatModel, ChatModel)
        wrapper = adapting.Wrapper.build(self.core_class, params, SCHEMA, judge=judging)
        self.metric: Metric = wrapper.metric
        named = {key or wrapper.metric.name: wrapper}
        self.wrappers: Mapping[str, adapting.Wrapper] = adapting.FrozenDict(named)


adapting.mark_unused(MetricEvaluator, {"feedback_key": "key= names the feedback."})
