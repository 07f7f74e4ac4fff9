"""Context recall and context precision as MLflow scorers, with the numbers of `ctxmetrics`.

    from ctxmetrics_mlflow import ContextRecallScorer

    mlflow.genai.evaluate(data=data, predict_fn=app, scorers=[ContextRecallScorer()])

Contexts come from the outputs, else from the trace's RETRIEVER spans. No model and no key are needed.
"""

import ctxmetrics as core
from ctxmetrics.errors import importing

with importing("mlflow", "3.9 or newer"):
    from ctxmetrics_mlflow.scorers import MetricScorer, ParameterScorer, results

__all__ = [
    "ContextPrecisionScorer", "ContextRecallScorer", "ContextUtilizationScorer",
    "IDBasedAveragePrecisionScorer", "IDBasedCompletenessScorer", "IDBasedContextPrecisionScorer",
    "IDBasedContextRecallScorer", "IDBasedHitRateScorer", "IDBasedNDCGScorer", "IDBasedPrecisionAtKScorer",
    "IDBasedRecallAtKScorer", "IDBasedReciprocalRankScorer", "MetricScorer", "NonLLMContextPrecisionScorer",
    "NonLLMContextRecallScorer", "SpanBasedContextPrecisionScorer", "SpanBasedContextRecallScorer",
    "results",
]  # fmt: skip


class ContextRecallScorer(ParameterScorer, core=core.ContextRecall):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""


class ContextPrecisionScorer(ParameterScorer, core=core.ContextPrecision):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""


class ContextUtilizationScorer(ParameterScorer, core=core.ContextUtilization):
    """`ctxmetrics.ContextUtilization`: context precision with the response in place of the reference."""


class NonLLMContextRecallScorer(ParameterScorer, core=core.NonLLMContextRecall):
    """`ctxmetrics.NonLLMContextRecall`: the share of reference contexts that a retrieved one resembles."""


class NonLLMContextPrecisionScorer(ParameterScorer, core=core.NonLLMContextPrecision):
    """`ctxmetrics.NonLLMContextPrecision`: whether contexts that resemble a reference context stand first."""


class IDBasedContextRecallScorer(ParameterScorer, core=core.IDBasedContextRecall):
    """`ctxmetrics.IDBasedContextRecall`: the share of the reference ids that were retrieved."""


class IDBasedContextPrecisionScorer(ParameterScorer, core=core.IDBasedContextPrecision):
    """`ctxmetrics.IDBasedContextPrecision`: the share of retrieved ids that are reference ids."""


class IDBasedNDCGScorer(ParameterScorer, core=core.IDBasedNDCG):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""


class IDBasedAveragePrecisionScorer(ParameterScorer, core=core.IDBasedAveragePrecision):
    """`ctxmetrics.IDBasedAveragePrecision`: average precision over all reference ids."""


class IDBasedReciprocalRankScorer(ParameterScorer, core=core.IDBasedReciprocalRank):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""


class IDBasedCompletenessScorer(ParameterScorer, core=core.IDBasedCompleteness):
    """`ctxmetrics.IDBasedCompleteness`: whether every reference id was retrieved."""


class IDBasedHitRateScorer(ParameterScorer, core=core.IDBasedHitRate):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""


class IDBasedPrecisionAtKScorer(ParameterScorer, core=core.IDBasedPrecisionAtK):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""


class IDBasedRecallAtKScorer(ParameterScorer, core=core.IDBasedRecallAtK):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""


class SpanBasedContextRecallScorer(ParameterScorer, core=core.SpanBasedContextRecall):
    """`ctxmetrics.SpanBasedContextRecall`: the share of the reference text that was retrieved, by spans."""


class SpanBasedContextPrecisionScorer(ParameterScorer, core=core.SpanBasedContextPrecision):
    """`ctxmetrics.SpanBasedContextPrecision`: how much of the retrieved text is reference text, by spans."""
