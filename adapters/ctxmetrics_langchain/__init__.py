"""Context recall and context precision for LangSmith, LCEL and langchain-classic.

    from ctxmetrics_langchain import ContextRecallEvaluator

    langsmith.evaluate(target, data="my dataset", evaluators=[ContextRecallEvaluator()])

The numbers are those of `ctxmetrics`; this package only converts data.
"""

import ctxmetrics as core
from ctxmetrics.errors import importing

with importing("langchain-core"):
    import langchain_core as _langchain_core  # noqa: F401 - by itself, so that its absence is told from a broken one

from ctxmetrics_langchain.evaluators import MetricEvaluator, RetrievalEvaluator, results
from ctxmetrics_langchain.models import ChatModel

__all__ = [
    "ChatModel", "ContextPrecisionEvaluator", "ContextRecallEvaluator", "ContextUtilizationEvaluator",
    "IDBasedAveragePrecisionEvaluator", "IDBasedCompletenessEvaluator", "IDBasedContextPrecisionEvaluator",
    "IDBasedContextRecallEvaluator", "IDBasedHitRateEvaluator", "IDBasedNDCGEvaluator",
    "IDBasedPrecisionAtKEvaluator", "IDBasedRecallAtKEvaluator", "IDBasedReciprocalRankEvaluator",
    "MetricEvaluator", "NonLLMContextPrecisionEvaluator", "NonLLMContextRecallEvaluator",
    "RetrievalEvaluator", "SpanBasedContextPrecisionEvaluator", "SpanBasedContextRecallEvaluator",
    "results",
]  # fmt: skip


class ContextRecallEvaluator(MetricEvaluator, core=core.ContextRecall):
    """`ctxmetrics.ContextRecall`: the share of the reference's units that the retrieved contexts support."""


class ContextPrecisionEvaluator(MetricEvaluator, core=core.ContextPrecision):
    """`ctxmetrics.ContextPrecision`: whether the contexts that help to give the reference stand first."""


class ContextUtilizationEvaluator(MetricEvaluator, core=core.ContextUtilization):
    """`ctxmetrics.ContextUtilization`: context precision with the answer in place of the reference."""


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
