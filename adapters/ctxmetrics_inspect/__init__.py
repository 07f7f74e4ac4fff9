"""Context recall and context precision as scorers of Inspect, with the numbers of `ctxmetrics`.

    from ctxmetrics_inspect import context_recall

    Task(dataset, solver=.., scorer=context_recall())

``inspect score LOG --scorer ctxmetrics_inspect/context_recall`` scores a log that was made before. Contexts come from the
store, else from the sample's metadata; no model and no key are needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, TypeAlias, Unpack

import ctxmetrics as core
from ctxmetrics import adapting
from ctxmetrics.errors import importing

with importing("inspect-ai", "0.3.270 or newer"):
    import inspect_ai
    from inspect_ai import dataset, solver
    from inspect_ai import log as logs
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr

__all__ = [
    "context_precision", "context_recall", "context_utilization", "id_based_average_precision",
    "id_based_completeness", "id_based_context_precision", "id_based_context_recall", "id_based_hit_rate", "id_based_ndcg",
    "id_based_precision_at_k", "id_based_recall_at_k", "id_based_reciprocal_rank", "metric_scorer",
    "non_llm_context_precision", "non_llm_context_recall", "results", "span_based_context_precision",
    "span_based_context_recall",
]  # fmt: skip

# A function that makes a scorer from a metric's parameters.
ByParameters: TypeAlias = Callable[..., Scorer]
# Reads a task's state: the contexts are in the store or the sample's metadata, the reference is the
# target.
SCHEMA = replace(
    adapting.SCHEMAS["inspect"],
    package="ctxmetrics_inspect",
    judge_option="judge=",
    hint="and none in the store or the sample's metadata",
)


def metric_scorer(metric: core.Metric, *, judge: Any = None, **keys: Any) -> Scorer:
    """Return a scorer for a metric of the core.

    Where there is no value, the score is unscored, with the reason code as its reason: means leave the sample out.

    Args:
        metric: The metric.
        judge: For a judged metric that has none: a judge or a model.
        **keys: The keys of the fields in the store and the metadata: see
            `ctxmetrics.adapting.KeyParams`.

    Raises:
        ParameterError: A key is unknown, or ``judge`` is no judge.
    """
    wrapper = adapting.Wrapper.of(metric, adapting.as_judge(judge), keys, SCHEMA)

    async def score(state: solver.TaskState, target: Target) -> Score:
        found = await wrapper.ascore(_record(state, state.input_text, target), strict=False)
        shown: Any = {"explanation": found.reason, "metadata": adapting.compact(found)}
        if found.value is None:
            return Score.unscored(reason=found.reason_code, **shown)
        return Score(value=found.value, **shown)

    return score


def _record(
    sample: solver.TaskState | logs.EvalSample, question: str, target: Target
) -> dict[str, Any]:
    # Each of several targets is acceptable.
    expected: Any = {"references": [*target]} if len(target) > 1 else {"target": target.text}
    outputs = {**sample.metadata, "answer": sample.output.completion, **dict(sample.store.items())}
    return {
        "inputs": {**sample.metadata, "question": question},
        "outputs": outputs,
        "expected": {**sample.metadata, **expected},
        "messages": sample.messages,
    }


def results(log: logs.EvalLog, **keys: Unpack[adapting.KeyParams]) -> core.Results:
    """Return a log as results of the core: samples, verdicts, evidence and usage.

    Args:
        log: What ``inspect_ai.eval`` returned, or ``read_eval_log`` read.
        **keys: The keys that the scorers had.

    Raises:
        ParameterError: It holds no score of this package.
    """
    rows = []
    for sample in log.samples or ():
        question = sample.input if isinstance(sample.input, str) else sample.input[-1].text
        record = {"id": str(sample.id), **_record(sample, question, Target(sample.target))}
        scores = {
            name: (score.metadata or {}).get("score", score.explanation)
            for name, score in (sample.scores or {}).items()
        }
        rows.append((record, scores))
    return adapting.build_results(SCHEMA, rows, keys)


def _named(metric: type[core.Metric]) -> ByParameters:
    """Return the scorer of a metric by its parameters, registered under the metric's name."""

    def by_parameters(*, judge: Any = None, **params: Unpack[adapting.WrapperParams]) -> Scorer:
        if judge is not None:
            adapting.check_parameters(metric, ["judge"])
        built = adapting.Wrapper.build(metric, params, SCHEMA)
        return metric_scorer(built.metric, judge=judge, **built.keys)

    by_parameters.__doc__ = metric.__doc__
    return scorer(metrics=[mean(), stderr()], name=metric.base_name)(by_parameters)


context_recall: ByParameters = _named(core.ContextRecall)
context_precision: ByParameters = _named(core.ContextPrecision)
context_utilization: ByParameters = _named(core.ContextUtilization)
non_llm_context_recall: ByParameters = _named(core.NonLLMContextRecall)
non_llm_context_precision: ByParameters = _named(core.NonLLMContextPrecision)
id_based_context_recall: ByParameters = _named(core.IDBasedContextRecall)
id_based_context_precision: ByParameters = _named(core.IDBasedContextPrecision)
id_based_ndcg: ByParameters = _named(core.IDBasedNDCG)
id_based_reciprocal_rank: ByParameters = _named(core.IDBasedReciprocalRank)
id_based_completeness: ByParameters = _named(core.IDBasedCompleteness)
id_based_hit_rate: ByParameters = _named(core.IDBasedHitRate)
id_based_precision_at_k: ByParameters = _named(core.IDBasedPrecisionAtK)
id_based_recall_at_k: ByParameters = _named(core.IDBasedRecallAtK)
id_based_average_precision: ByParameters = _named(core.IDBasedAveragePrecision)
span_based_context_recall: ByParameters = _named(core.SpanBasedContextRecall)
span_based_context_precision: ByParameters = _named(core.SpanBasedContextPrecision)


_value = scorer(metrics=[mean()], name="_value")(metric_scorer)


def _eval(metric: core.Metric, samples: Sequence[core.Sample]) -> list[float | None]:
    rows = []
    for number, sample in enumerate(samples):
        given = sample.to_dict()
        target = given.pop("reference", None) or given.pop("references", None) or ""
        question = sample.user_input or ""
        rows.append(dataset.Sample(id=number, input=question, target=target, metadata=given))
    task = inspect_ai.Task(rows, solver=[], scorer=_value(metric))
    # Inspect writes its log to the current folder, and reads the samples from there.
    with adapting.aside({}):
        (log,) = inspect_ai.eval(task, model=None, display="none")
        values: Any = {row.id: row.scores["_value"].value for row in log.samples or () if row.scores}
    return [None if isnan(values[place]) else values[place] for place in range(len(samples))]


# Inspect's way to run a metric, for the conformance suite and ``ctxmetrics parity``.
RUNNERS = [adapting.Runner("inspect_ai.eval", _eval)]
