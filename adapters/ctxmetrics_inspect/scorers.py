"""The scorers for Inspect: one function around a metric of the core, and one name for each metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, Unpack

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

import ctxmetrics as core
from ctxmetrics.adapting import Place, Schema, Wrapper, WrapperParams, as_judge, compact

# What makes a scorer of a metric's parameters.
ByParameters: TypeAlias = Callable[..., Scorer]
# Reads a task's state: what the solver stored or the sample's metadata holds was retrieved, the target is the reference.
SCHEMA = Schema(
    package="ctxmetrics_inspect",
    judge_option="judge=",
    places={
        "user_input": Place.of("inputs", "question"),
        "response": Place.of("outputs", "answer"),
        "retrieved_contexts": Place.of("outputs", "documents contexts context source_documents"),
        "retrieved_context_ids": Place.of("outputs", "retrieved_ids"),
        "reference": Place.of("expected", "target"),
        "reference_facts": Place.of("expected", "expected_facts"),
        "reference_contexts": Place.of("expected", "reference_documents"),
        "reference_context_ids": Place.of("expected", "reference_ids"),
    },
    hint="Neither the store nor the sample's metadata has any.",
)


def metric_scorer(metric: core.Metric, *, judge: Any = None, **keys: Any) -> Scorer:
    """Return a scorer for a metric of the core.

    Where there is no value, the score is unscored, with the reason code as its reason: means leave the sample out.

    Args:
        metric: The metric.
        judge: For a judged metric that has none: a judge or a model.
        **keys: Where things stand in the store and the metadata: see `ctxmetrics.adapting.KeyParams`.

    Raises:
        ParameterError: A key is unknown, or the judge is none.
    """
    wrapper = Wrapper.of(metric, as_judge(judge), keys, SCHEMA)

    async def score(state: TaskState, target: Target) -> Score:
        record = {
            "inputs": {**state.metadata, "question": state.input_text},
            "outputs": {**state.metadata, "answer": state.output.completion, **dict(state.store.items())},
            "expected": {**state.metadata, "target": target.text},
        }
        found = await wrapper.ascore(record, strict=False)
        shown: Any = {"explanation": found.reason, "metadata": compact(found)}
        if found.value is None:
            return Score.unscored(reason=found.reason_code, **shown)
        return Score(value=found.value, **shown)

    return score


def _named(metric: type[core.Metric]) -> ByParameters:
    """Return the scorer of a metric by its parameters, registered under the metric's name."""

    def by_parameters(*, judge: Any = None, **params: Unpack[WrapperParams]) -> Scorer:
        built = Wrapper.build(metric, params, SCHEMA)
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
id_based_average_precision: ByParameters = _named(core.IDBasedAveragePrecision)
id_based_reciprocal_rank: ByParameters = _named(core.IDBasedReciprocalRank)
id_based_hit_rate: ByParameters = _named(core.IDBasedHitRate)
id_based_precision_at_k: ByParameters = _named(core.IDBasedPrecisionAtK)
id_based_recall_at_k: ByParameters = _named(core.IDBasedRecallAtK)
span_based_context_recall: ByParameters = _named(core.SpanBasedContextRecall)
span_based_context_precision: ByParameters = _named(core.SpanBasedContextPrecision)
