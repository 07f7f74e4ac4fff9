"""Context recall and context precision as evaluators of pydantic-evals, with the numbers of `ctxmetrics`.

    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    dataset = Dataset(name="handbook", cases=cases, evaluators=[ContextRecallEvaluator(threshold=0.8)])
    dataset.evaluate_sync(answer)

No model and no key are needed; ``judge=`` takes any model of pydantic-ai, or its name (``"openai:gpt-5.2"``).
"""

import ctxmetrics as core
from ctxmetrics.errors import importing

with importing("pydantic-evals", "1.32 or newer", also="pydantic_ai"):
    from ctxmetrics_pydantic_evals.evaluators import MetricEvaluator, NoScoreError, results
    from ctxmetrics_pydantic_evals.models import PydanticAIModel

__all__ = [
    "EVALUATORS", "ContextPrecisionEvaluator", "ContextRecallEvaluator", "ContextUtilizationEvaluator",
    "IDBasedAveragePrecisionEvaluator", "IDBasedCompletenessEvaluator", "IDBasedContextPrecisionEvaluator",
    "IDBasedContextRecallEvaluator", "IDBasedHitRateEvaluator", "IDBasedNDCGEvaluator",
    "IDBasedPrecisionAtKEvaluator", "IDBasedRecallAtKEvaluator", "IDBasedReciprocalRankEvaluator",
    "MetricEvaluator", "NoScoreError", "NonLLMContextPrecisionEvaluator", "NonLLMContextRecallEvaluator",
    "PydanticAIModel", "SpanBasedContextPrecisionEvaluator", "SpanBasedContextRecallEvaluator",
    "results",
]  # fmt: skip


class ContextRecallEvaluator(MetricEvaluator, core=core.ContextRecall):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""


class ContextPrecisionEvaluator(MetricEvaluator, core=core.ContextPrecision):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""


class ContextUtilizationEvaluator(MetricEvaluator, core=core.ContextUtilization):
    """`ctxmetrics.ContextUtilization`: context precision with the response in place of the reference."""


class NonLLMContextRecallEvaluator(MetricEvaluator, core=core.NonLLMContextRecall):
    """`ctxmetrics.NonLLMContextRecall`: the share of reference contexts that a retrieved one resembles."""


class NonLLMContextPrecisionEvaluator(MetricEvaluator, core=core.NonLLMContextPrecision):
    """`ctxmetrics.NonLLMContextPrecision`: whether contexts that resemble a reference context stand first."""


class IDBasedContextRecallEvaluator(MetricEvaluator, core=core.IDBasedContextRecall):
    """`ctxmetrics.IDBasedContextRecall`: the share of the reference ids that were retrieved."""


class IDBasedContextPrecisionEvaluator(MetricEvaluator, core=core.IDBasedContextPrecision):
    """`ctxmetrics.IDBasedContextPrecision`: the share of retrieved ids that are reference ids."""


class IDBasedNDCGEvaluator(MetricEvaluator, core=core.IDBasedNDCG):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""


class IDBasedAveragePrecisionEvaluator(MetricEvaluator, core=core.IDBasedAveragePrecision):
    """`ctxmetrics.IDBasedAveragePrecision`: average precision over all reference ids."""


class IDBasedReciprocalRankEvaluator(MetricEvaluator, core=core.IDBasedReciprocalRank):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""


class IDBasedCompletenessEvaluator(MetricEvaluator, core=core.IDBasedCompleteness):
    """`ctxmetrics.IDBasedCompleteness`: whether every reference id was retrieved."""


class IDBasedHitRateEvaluator(MetricEvaluator, core=core.IDBasedHitRate):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""


class IDBasedPrecisionAtKEvaluator(MetricEvaluator, core=core.IDBasedPrecisionAtK):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""


class IDBasedRecallAtKEvaluator(MetricEvaluator, core=core.IDBasedRecallAtK):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""


class SpanBasedContextRecallEvaluator(MetricEvaluator, core=core.SpanBasedContextRecall):
    """`ctxmetrics.SpanBasedContextRecall`: the share of the reference text that was retrieved, by spans."""


class SpanBasedContextPrecisionEvaluator(MetricEvaluator, core=core.SpanBasedContextPrecision):
    """`ctxmetrics.SpanBasedContextPrecision`: how much of the retrieved text is reference text, by spans."""


# All of them, for ``custom_evaluator_types=`` of `Dataset.from_file` and `Dataset.to_file`.
EVALUATORS = tuple(MetricEvaluator.__subclasses__())
