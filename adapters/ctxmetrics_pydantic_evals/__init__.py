"""Context recall and context precision as evaluators of pydantic-evals: the numbers of `ctxmetrics`, at home there.

    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    dataset = Dataset(name="handbook", cases=cases, evaluators=[ContextRecallEvaluator(threshold=0.8)])
    dataset.evaluate_sync(answer)

No model and no key are needed; ``judge=`` takes any model of pydantic-ai, or its name (``"openai:gpt-5.2"``).
"""

from __future__ import annotations

from ctxmetrics import metrics as core
from ctxmetrics.errors import missing_extra

try:
    from ctxmetrics_pydantic_evals.evaluators import MetricEvaluator, NoScoreError
    from ctxmetrics_pydantic_evals.models import PydanticAIModel
except ImportError as error:
    if (error.name or "").partition(".")[0] not in ("pydantic_evals", "pydantic_ai"):
        raise
    raise missing_extra("pydantic-evals 1.32 or newer", "pydantic-evals") from error

__all__ = [
    "EVALUATORS", "ContextPrecisionEvaluator", "ContextRecallEvaluator", "ContextUtilizationEvaluator",
    "IDBasedContextPrecisionEvaluator", "IDBasedContextRecallEvaluator", "IDBasedHitRateEvaluator",
    "IDBasedNDCGEvaluator", "IDBasedPrecisionAtKEvaluator", "IDBasedRecallAtKEvaluator",
    "IDBasedReciprocalRankEvaluator", "MetricEvaluator", "NoScoreError", "NonLLMContextPrecisionEvaluator",
    "NonLLMContextRecallEvaluator", "PydanticAIModel",
]  # fmt: skip


class ContextRecallEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""

    core_class = core.ContextRecall


class ContextPrecisionEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""

    core_class = core.ContextPrecision


class ContextUtilizationEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextUtilization`: context precision with the response in place of the reference."""

    core_class = core.ContextUtilization


class NonLLMContextRecallEvaluator(MetricEvaluator):
    """`ctxmetrics.NonLLMContextRecall`: the share of reference contexts that a retrieved one resembles."""

    core_class = core.NonLLMContextRecall


class NonLLMContextPrecisionEvaluator(MetricEvaluator):
    """`ctxmetrics.NonLLMContextPrecision`: whether contexts that resemble a reference context stand first."""

    core_class = core.NonLLMContextPrecision


class IDBasedContextRecallEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedContextRecall`: the share of the reference ids that were retrieved."""

    core_class = core.IDBasedContextRecall


class IDBasedContextPrecisionEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedContextPrecision`: the share of retrieved ids that are reference ids."""

    core_class = core.IDBasedContextPrecision


class IDBasedNDCGEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""

    core_class = core.IDBasedNDCG


class IDBasedReciprocalRankEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""

    core_class = core.IDBasedReciprocalRank


class IDBasedHitRateEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""

    core_class = core.IDBasedHitRate


class IDBasedPrecisionAtKEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""

    core_class = core.IDBasedPrecisionAtK


class IDBasedRecallAtKEvaluator(MetricEvaluator):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""

    core_class = core.IDBasedRecallAtK


EVALUATORS = (
    ContextRecallEvaluator, ContextPrecisionEvaluator, ContextUtilizationEvaluator, NonLLMContextRecallEvaluator,
    NonLLMContextPrecisionEvaluator, IDBasedContextRecallEvaluator, IDBasedContextPrecisionEvaluator,
    IDBasedNDCGEvaluator, IDBasedReciprocalRankEvaluator, IDBasedHitRateEvaluator, IDBasedPrecisionAtKEvaluator,
    IDBasedRecallAtKEvaluator,
)  # fmt: skip
"""All of them, for ``custom_evaluator_types=`` of `Dataset.from_file` and `Dataset.to_file`."""
