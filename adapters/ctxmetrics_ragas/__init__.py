"""Context recall and context precision as Ragas metrics, with the numbers of `ctxmetrics`.

    from ctxmetrics_ragas import ContextPrecision, ContextRecall
    from ragas import evaluate

    evaluate(dataset, metrics=[ContextRecall(), ContextPrecision()])

No LLM and no key are needed; give ``llm=`` any LLM of Ragas, or ``judge="framework"`` to judge with that of
``evaluate(llm=..)``. The same objects have the methods of ``ragas.metrics.collections``. `LLMContextRecall`,
`context_recall` and the other names that Ragas gives to metrics with an LLM judge with that of ``evaluate(llm=..)``
by default, so that only the import changes.
"""

import ctxmetrics as core
from ctxmetrics.errors import MissingExtraError, install_command, missing_extra

try:
    import ragas as _ragas  # noqa: F401 - by itself, so that its absence is told from a broken one
    from ragas.metrics.collections.base import BaseMetric as _BaseMetric  # noqa: F401 - asks what Ragas this is
except ImportError as _error:
    if _error.name == "ragas":
        raise missing_extra("ragas") from None
    _advice = f"0.3.9 to 0.4.x is needed, with langchain-community<0.4.2: {install_command('ragas')}"
    raise MissingExtraError(f"The installed Ragas cannot be imported ({_error}); {_advice}") from None

from ctxmetrics_ragas.judged import JudgedMetric
from ctxmetrics_ragas.metrics import ContextResult, RagasMetric, results
from ctxmetrics_ragas.model import RagasModel

__all__ = [
    "ContextPrecision", "ContextPrecisionWithReference", "ContextPrecisionWithoutReference", "ContextRecall",
    "ContextResult", "ContextUtilization", "IDBasedAveragePrecision", "IDBasedCompleteness",
    "IDBasedContextPrecision", "IDBasedContextRecall", "IDBasedHitRate", "IDBasedNDCG", "IDBasedPrecisionAtK",
    "IDBasedRecallAtK", "IDBasedReciprocalRank", "JudgedMetric", "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference", "LLMContextRecall", "NonLLMContextPrecision",
    "NonLLMContextPrecisionWithReference", "NonLLMContextRecall", "RagasMetric", "RagasModel",
    "SpanBasedContextPrecision", "SpanBasedContextRecall", "context_precision", "context_recall", "results",
]  # fmt: skip

_CUT = {"threshold": "min_similarity=0.5", "distance_measure": "similarity='levenshtein'"}


class ContextRecall(JudgedMetric, core=core.ContextRecall):
    """The share of the reference's sentences (or claims) that the contexts support; see `ctxmetrics.ContextRecall`."""


class ContextPrecision(JudgedMetric, core=core.ContextPrecision):
    """Whether contexts useful for the reference stand first; see `ctxmetrics.ContextPrecision`."""


class ContextUtilization(JudgedMetric, core=core.ContextUtilization):
    """Whether contexts useful for the response stand first; see `ctxmetrics.ContextUtilization`."""


class NonLLMContextRecall(RagasMetric, core=core.NonLLMContextRecall, renamed=_CUT):
    """The share of the reference contexts that were retrieved; see `ctxmetrics.NonLLMContextRecall`."""


class NonLLMContextPrecision(RagasMetric, core=core.NonLLMContextPrecision, renamed=_CUT):
    """Whether contexts like a reference context stand first; see `ctxmetrics.NonLLMContextPrecision`."""


class IDBasedContextRecall(RagasMetric, core=core.IDBasedContextRecall):
    """The share of the reference ids that were retrieved; see `ctxmetrics.IDBasedContextRecall`."""


class IDBasedContextPrecision(RagasMetric, core=core.IDBasedContextPrecision):
    """How many of the retrieved ids are reference ids; see `ctxmetrics.IDBasedContextPrecision`."""


class IDBasedNDCG(RagasMetric, core=core.IDBasedNDCG):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""


class IDBasedAveragePrecision(RagasMetric, core=core.IDBasedAveragePrecision):
    """`ctxmetrics.IDBasedAveragePrecision`: average precision over all reference ids."""


class IDBasedReciprocalRank(RagasMetric, core=core.IDBasedReciprocalRank):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""


class IDBasedCompleteness(RagasMetric, core=core.IDBasedCompleteness):
    """`ctxmetrics.IDBasedCompleteness`: whether every reference id was retrieved."""


class IDBasedHitRate(RagasMetric, core=core.IDBasedHitRate):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""


class IDBasedPrecisionAtK(RagasMetric, core=core.IDBasedPrecisionAtK):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""


class IDBasedRecallAtK(RagasMetric, core=core.IDBasedRecallAtK):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""


class SpanBasedContextRecall(RagasMetric, core=core.SpanBasedContextRecall):
    """`ctxmetrics.SpanBasedContextRecall`: the share of the reference text that was retrieved, by spans."""


class SpanBasedContextPrecision(RagasMetric, core=core.SpanBasedContextPrecision):
    """`ctxmetrics.SpanBasedContextPrecision`: how much of the retrieved text is reference text, by spans."""


class LLMContextRecall(ContextRecall, judged_by="framework"):
    """`ContextRecall`, judged by the LLM of ``evaluate(llm=..)`` unless ``llm=`` or ``judge=`` is given."""


class LLMContextPrecisionWithReference(
    ContextPrecision, judged_by="framework", framework_name="llm_context_precision_with_reference"
):
    """`ContextPrecision`, judged by the LLM of ``evaluate(llm=..)`` unless ``llm=`` or ``judge=`` is given."""


class LLMContextPrecisionWithoutReference(
    ContextUtilization, judged_by="framework", framework_name="llm_context_precision_without_reference"
):
    """`ContextUtilization`, judged by the LLM of ``evaluate(llm=..)`` unless ``llm=`` or ``judge=`` is given."""


class ContextPrecisionWithReference(
    ContextPrecision, judged_by="framework", framework_name="context_precision_with_reference"
):
    """`ContextPrecision`, judged by the LLM of ``evaluate(llm=..)`` unless ``llm=`` or ``judge=`` is given."""


class ContextPrecisionWithoutReference(
    ContextUtilization, judged_by="framework", framework_name="context_precision_without_reference"
):
    """`ContextUtilization`, judged by the LLM of ``evaluate(llm=..)`` unless ``llm=`` or ``judge=`` is given."""


class NonLLMContextPrecisionWithReference(
    NonLLMContextPrecision, framework_name="non_llm_context_precision_with_reference"
):
    """`NonLLMContextPrecision` under Ragas' name."""


# Ragas' instances: judged by the LLM of ``evaluate(llm=..)``.
context_recall: ContextRecall = ContextRecall(judge="framework")
context_precision: ContextPrecision = ContextPrecision(judge="framework")
