"""Context recall and context precision for LangSmith, LCEL and langchain-classic.

    from ctxmetrics_langchain import ContextRecallEvaluator

    langsmith.evaluate(target, data="my dataset", evaluators=[ContextRecallEvaluator()])

The numbers are those of `ctxmetrics`; nothing but data passes through here.
"""

from __future__ import annotations

from ctxmetrics import metrics as core
from ctxmetrics.errors import missing_extra

try:
    import langchain_core as _langchain_core  # noqa: F401 - by itself, so that its absence is told from a broken one
except ModuleNotFoundError as error:
    raise missing_extra("langchain-core", "langchain") from error

from ctxmetrics_langchain.evaluators import MetricEvaluator, RetrievalEvaluator
from ctxmetrics_langchain.models import ChatModel

__all__ = [
    "ChatModel", "ContextPrecisionEvaluator", "ContextRecallEvaluator", "ContextUtilizationEvaluator",
    "IDBasedContextPrecisionEvaluator", "IDBasedContextRecallEvaluator", "IDBasedHitRateEvaluator",
    "IDBasedNDCGEvaluator", "IDBasedPrecisionAtKEvaluator", "IDBasedRecallAtKEvaluator",
    "IDBasedReciprocalRankEvaluator", "MetricEvaluator", "NonLLMContextPrecisionEvaluator",
    "NonLLMContextRecallEvaluator", "RetrievalEvaluator",
]  # fmt: skip


class ContextRecallEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""

    core_class = core.ContextRecall


class ContextPrecisionEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""

    core_class = core.ContextPrecision


class ContextUtilizationEvaluator(MetricEvaluator):
    """`ctxmetrics.ContextUtilization`: context precision with the answer in place of the reference."""

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
