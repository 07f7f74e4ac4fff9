"""The evaluator for LangSmith: metrics of the core, and the evaluator's other forms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast
from uuid import UUID

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableLambda
from langsmith import EvaluationResult, RunEvaluator, trace

from ctxmetrics import Judge, Metric, Model, Score, adapting
from ctxmetrics.errors import ParameterError
from ctxmetrics_langchain.documents import SCHEMA, VALUES, to_record
from ctxmetrics_langchain.models import ChatModel
from ctxmetrics_langchain.tracing import UploadedRunnable, keep_local_runs

if TYPE_CHECKING:
    from langsmith.evaluation.evaluator import EvaluationResults
    from langsmith.schemas import Example, Run

    from ctxmetrics import Results
    from ctxmetrics_langchain.strings import MetricStringEvaluator

    JudgeLike: TypeAlias = Judge | Model | BaseChatModel | str | None
    Result: TypeAlias = EvaluationResult | EvaluationResults


@dataclass(init=False, unsafe_hash=True)
class RetrievalEvaluator(RunEvaluator):
    """Several metrics of the core as one evaluator: they are judged at the same time, and each has one result.

    For ``langsmith.evaluate`` and ``aevaluate`` (``evaluators=[..]``), ``evaluate_existing`` and
    ``EvaluatorCallbackHandler``. Contexts come from the run's outputs, else from its retriever runs.

    A score that cannot be computed has ``score`` None and a comment that says why. When no metric at all finds its
    data, the error is raised, and LangSmith makes a row a key of it. ``value`` is ``"passed"`` or ``"failed"`` where
    there is a pass mark; verdicts, judge and reason code are in ``evaluator_info``.

    With ``upload_results=False`` no run of the evaluator or its judge is uploaded. The target's may be, if it is a
    LangChain chain: where nothing may leave the machine, pass a client that sends nothing.

    Args:
        metrics: Metrics of the core or their names (``"ndcg@10"``), or a mapping from feedback keys to these.
        judge: For judged metrics that have none: a judge, its name (``"openai/gpt-4o-mini"``), a model, or a LangChain
            chat model.
        telemetry: Send each score as an event of OpenTelemetry, too.
        **keys: The keys of the fields in runs and examples: see `ctxmetrics.adapting.KeyParams`.

    Attributes:
        wrappers: The wrapped core metrics by feedback key. Two evaluators are equal when these are.

    Raises:
        ParameterError: Two metrics have one name, or a parameter is unknown or of the wrong type.
    """

    wrappers: Mapping[str, adapting.Wrapper]

    def __init__(
        self,
        metrics: Sequence[Metric | str] | Mapping[str, Metric | str],
        *,
        judge: JudgeLike = None,
        telemetry: bool = False,
        **keys: Unpack[adapting.KeyParams],
    ) -> None:
        core_judge = adapting.as_judge(judge, BaseChatModel, ChatModel)
        # Without a mapping, the feedback key is the metric's name.
        keyed_metrics: Iterable[tuple[str | None, Metric | str]]
        if isinstance(metrics, Mapping):
            keyed_metrics = metrics.items()
        else:
            keyed_metrics = [(None, metric) for metric in metrics]
        wrappers: dict[str, adapting.Wrapper] = {}
        for key, metric in keyed_metrics:
            wrapper = adapting.Wrapper.of(metric, core_judge, keys, SCHEMA, telemetry=telemetry)
            wrappers[key or wrapper.metric.name] = wrapper
        if not wrappers or len(wrappers) != len(metrics):
            raise ParameterError(
                "metrics= needs metrics of different names. Give a mapping to name them yourself."
            )
        self.wrappers = adapting.FrozenDict(wrappers)

    @property
    def _name(self) -> str:
        """The feedback keys in one text."""
        return ", ".join(self.wrappers)

    @property
    def feedback_keys(self) -> list[str]:
        """One key for each metric: the metric's name, unless another key was given."""
        return list(self.wrappers)

    async def _ascore_all(self, record: Mapping[str, Any], *, strict: bool = True) -> dict[str, Score]:
        """Score a record, one score for each key. A metric that fails does not affect the others.

        Args:
            record: A mapping with sides, or with the fields themselves.
            strict: Raise the first failure when all fail.
        """
        with keep_local_runs():
            scoring = [wrapper.ascore(record) for wrapper in self.wrappers.values()]
            outcomes = await asyncio.gather(*scoring, return_exceptions=True)
        failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if strict and len(failures) == len(outcomes):
            failures[0].args = (str(failures[0]),)  # LangSmith shows the repr
            raise failures[0]
        scores: dict[str, Score] = {}
        for (key, wrapper), outcome in zip(self.wrappers.items(), outcomes, strict=True):
            scores[key] = outcome if isinstance(outcome, Score) else wrapper.score_failure(outcome)
        return scores

    def _score_all(self, record: Mapping[str, Any], *, strict: bool = True) -> dict[str, Score]:
        """Score a record, anywhere: in a script, a notebook, inside a running loop, in any thread. See `_ascore_all`."""
        return adapting.run_sync(lambda: self._ascore_all(record, strict=strict))

    def evaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run, in a trace of its own."""
        record = to_record(run, example)
        with self._trace(record, evaluator_run_id) as own_trace:
            return _end_trace(own_trace, self._score_all(record))

    async def aevaluate_run(
        self, run: Run, example: Example | None = None, evaluator_run_id: UUID | None = None
    ) -> Result:
        """Evaluate a run in this loop, in a trace of its own."""
        record = to_record(run, example)
        async with self._trace(record, evaluator_run_id) as own_trace:
            return _end_trace(own_trace, await self._ascore_all(record))

    def _trace(self, record: Mapping[str, Any], run_id: UUID | None) -> trace:
        """Open a trace of the evaluator, with the record as its inputs."""
        return trace(
            self._name,
            inputs={name: record[name] for name in ("inputs", "outputs", "reference_outputs")},
            run_id=run_id,
            metadata={"target_run_id": str(record["run"].id)},
        )

    def as_runnable(self) -> Runnable[dict[str, Any], Any]:
        """Return the evaluator as a runnable for LCEL: a mapping with the fields in; ``key``, ``score``, ``comment`` .. out.

        Several metrics give ``{"results": [..]}``. Invoking raises what `evaluate_run` raises.
        """
        return UploadedRunnable(RunnableLambda(self._invoke, self._ainvoke, name=self._name))

    def _invoke(self, fields: dict[str, Any]) -> Any:
        """Score fields for the runnable."""
        return _unwrap_single(to_rows(self._score_all(fields)))

    async def _ainvoke(self, fields: dict[str, Any]) -> Any:
        """Score fields for the runnable, in the running loop."""
        return _unwrap_single(to_rows(await self._ascore_all(fields)))

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

        If data are missing, nothing is raised, and ``score`` is None.

        Args:
            inputs: The question, or a mapping that holds it.
            outputs: The outputs that the target returned.
            reference_outputs: The expected outputs.
            **fields: Fields by their own names.
        """
        # openevals gives a retriever's outputs as a mapping.
        if isinstance(fields.get("context"), Mapping):
            fields |= fields.pop("context")
        sides = {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}
        return _unwrap_single(to_rows(self._score_all(fields | sides, strict=False)))

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
            records = [to_record(run, example) for run, example in zip(runs, examples, strict=True)]
            results = []
            for key, wrapper in self.wrappers.items():
                with keep_local_runs():
                    summary = adapting.summarize(wrapper, records)
                figures = summary[wrapper.metric.name].to_dict()
                results.append(
                    {
                        "key": f"{key}_mean",
                        "score": figures["mean"],
                        "comment": str(summary),
                        "evaluator_info": figures,
                    }
                )
            return {"results": results}

        evaluator.__name__ = f"{self._name} (mean)"
        return evaluator


def to_rows(scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Convert scores to mappings with the keys of LangSmith's ``EvaluationResult``."""
    rows: list[dict[str, Any]] = []
    for key, score in scores.items():
        could_not_be_applied = score.reason_code in ("missing_field", "metric_error")
        row = {
            "key": key,
            "score": score.value,
            "value": VALUES[score.passed],
            "comment": score.reason or None,
            "evaluator_info": adapting.to_json_details(score),
            "extra": {"error": True} if could_not_be_applied else None,
        }
        rows.append(row)
    return rows


def results(run: Iterable[Any], **keys: Unpack[adapting.KeyParams]) -> Results:
    """Convert what ``langsmith.evaluate`` returned to results of the core: samples, verdicts, evidence and usage.

    Args:
        run: The rows; of ``aevaluate``, ``[row async for row in run]``.
        **keys: The keys that the evaluators had.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for row in run:
        scores = [  # a key may stand there twice
            (result.key, (result.evaluator_info or {}).get("score", result.comment))
            for result in row["evaluation_results"]["results"]
        ]
        rows.append((to_record(row["run"], row["example"]), scores))
    return adapting.build_results(SCHEMA, rows, keys)


def _end_trace(own_trace: Any, scores: Mapping[str, Score]) -> Result:
    """End the trace of the evaluator with the scores as its outputs, and return LangSmith's results."""
    rows = to_rows(scores)
    own_trace.end(outputs={"results": rows})
    results = [EvaluationResult(**row, source_run_id=own_trace.id) for row in rows]
    return cast("Result", _unwrap_single(results))


def _unwrap_single(results: list[Any]) -> Any:
    """Return a single result itself, and several as a mapping."""
    return results[0] if len(results) == 1 else {"results": results}


class MetricEvaluator(adapting.MetricClass, RetrievalEvaluator):
    """One metric of the core by its parameters; use the subclasses.

    Args:
        judge: A judge, its name, a model, or a LangChain chat model; None: the embedded judge.
        key: The feedback key; None: the metric's name.
        telemetry: Send each score as an event of OpenTelemetry, too.
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
        telemetry: bool = False,
        **params: Unpack[adapting.WrapperParams],
    ) -> None:
        adapting.check_unused(type(self), params)
        core_judge = adapting.as_judge(judge, BaseChatModel, ChatModel)
        wrapper = adapting.Wrapper.build(
            self.core_class, params, SCHEMA, telemetry=telemetry, judge=core_judge
        )
        self.metric: Metric = wrapper.metric
        wrappers = {key or wrapper.metric.name: wrapper}
        self.wrappers: Mapping[str, adapting.Wrapper] = adapting.FrozenDict(wrappers)


adapting.mark_unused(MetricEvaluator, {"feedback_key": "key= names the feedback."})
