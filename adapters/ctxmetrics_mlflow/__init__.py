"""Context recall and context precision as MLflow scorers: the numbers of `ctxmetrics`, at home in MLflow.

    from ctxmetrics_mlflow import ContextRecallScorer

    mlflow.genai.evaluate(data=data, predict_fn=app, scorers=[ContextRecallScorer()])

Contexts come from the outputs, else from the trace's RETRIEVER spans. No model and no key are needed.
"""

from __future__ import annotations

from ctxmetrics import metrics as core
from ctxmetrics.errors import missing_extra

try:
    from ctxmetrics_mlflow.scorers import MetricScorer, ParameterScorer
except ImportError as error:
    if (error.name or "").partition(".")[0] != "mlflow":
        raise
    raise missing_extra("mlflow 3.9 or newer", "mlflow") from error

__all__ = [
    "ContextPrecisionScorer", "ContextRecallScorer", "ContextUtilizationScorer", "IDBasedContextPrecisionScorer",
    "IDBasedContextRecallScorer", "IDBasedHitRateScorer", "IDBasedNDCGScorer", "IDBasedPrecisionAtKScorer",
    "IDBasedRecallAtKScorer", "IDBasedReciprocalRankScorer", "MetricScorer", "NonLLMContextPrecisionScorer",
    "NonLLMContextRecallScorer",
]  # fmt: skip


class ContextRecallScorer(ParameterScorer):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""

    core_class = core.ContextRecall


class ContextPrecisionScorer(ParameterScorer):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""

    core_class = core.ContextPrecision


class ContextUtilizationScorer(ParameterScorer):
    """`ctxmetrics.ContextUtilization`: context precision with the response in place of the reference."""

    core_class = core.ContextUtilization


class NonLLMContextRecallScorer(ParameterScorer):
    """`ctxmetrics.NonLLMContextRecall`: the share of reference contexts that a retrieved one resembles."""

    core_class = core.NonLLMContextRecall


class NonLLMContextPrecisionScorer(ParameterScorer):
    """`ctxmetrics.NonLLMContextPrecision`: whether contexts that resemble a reference context stand first."""

    core_class = core.NonLLMContextPrecision


class IDBasedContextRecallScorer(ParameterScorer):
    """`ctxmetrics.IDBasedContextRecall`: the share of the reference ids that were retrieved."""

    core_class = core.IDBasedContextRecall


class IDBasedContextPrecisionScorer(ParameterScorer):
    """`ctxmetrics.IDBasedContextPrecision`: the share of retrieved ids that are reference ids."""

    core_class = core.IDBasedContextPrecision


class IDBasedNDCGScorer(ParameterScorer):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""

    core_class = core.IDBasedNDCG


class IDBasedReciprocalRankScorer(ParameterScorer):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""

    core_class = core.IDBasedReciprocalRank


class IDBasedHitRateScorer(ParameterScorer):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""

    core_class = core.IDBasedHitRate


class IDBasedPrecisionAtKScorer(ParameterScorer):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""

    core_class = core.IDBasedPrecisionAtK


class IDBasedRecallAtKScorer(ParameterScorer):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""

    core_class = core.IDBasedRecallAtK
