"""Context recall and context precision as DeepEval metrics, with the numbers of `ctxmetrics`.

    from ctxmetrics_deepeval import ContextRecallMetric
    from deepeval import evaluate

    evaluate(test_cases, [ContextRecallMetric(threshold=0.7)])

No model and no key are needed; give ``model=`` any ``DeepEvalBaseLLM`` to judge with. `DeepEvalMetric`
describes the parameters, and what happens where a score cannot be computed. `ContextualRecallMetric` and
`ContextualPrecisionMetric` are the same under DeepEval's own names, judged by DeepEval's default model where it has a key.
"""

import ctxmetrics as core
from ctxmetrics.errors import importing

with importing("deepeval", "4.2 or newer"):
    from deepeval.test_case import SingleTurnParams as _SingleTurnParams  # noqa: F401 - only newer ones have it

from ctxmetrics_deepeval.model import DeepEvalModel
from ctxmetrics_deepeval.wrapper import (
    FIELDS,
    ConversationalDeepEvalMetric,
    DeepEvalMetric,
    MissingParamsError,
    results,
    update_current_span_ids,
)

__all__ = [
    "FIELDS", "ContextPrecisionMetric", "ContextRecallMetric", "ContextUtilizationMetric", "ContextualPrecisionMetric",
    "ContextualRecallMetric", "ConversationalContextPrecisionMetric", "ConversationalContextRecallMetric", "DeepEvalMetric",
    "DeepEvalModel", "IDBasedAveragePrecisionMetric", "IDBasedCompletenessMetric",
    "IDBasedContextPrecisionMetric", "IDBasedContextRecallMetric", "IDBasedHitRateMetric",
    "IDBasedNDCGMetric", "IDBasedPrecisionAtKMetric", "IDBasedRecallAtKMetric", "IDBasedReciprocalRankMetric",
    "MissingParamsError", "NonLLMContextPrecisionMetric", "NonLLMContextRecallMetric",
    "SpanBasedContextPrecisionMetric", "SpanBasedContextRecallMetric", "results", "update_current_span_ids",
]  # fmt: skip


class ContextRecallMetric(DeepEvalMetric, core=core.ContextRecall):
    """The share of the expected output's sentences (or claims) that the retrieval context supports.

    See `ctxmetrics.ContextRecall` for formula, range and degenerate values.
    """


class ContextPrecisionMetric(DeepEvalMetric, core=core.ContextPrecision):
    """Whether the items of the retrieval context that help to give the expected output stand first.

    See `ctxmetrics.ContextPrecision` for formula, range and degenerate values.
    """


class ContextUtilizationMetric(DeepEvalMetric, core=core.ContextUtilization):
    """Whether the items of the retrieval context that help to give the actual output stand first.

    See `ctxmetrics.ContextUtilization` for formula, range and degenerate values.
    """


class NonLLMContextRecallMetric(DeepEvalMetric, core=core.NonLLMContextRecall):
    """The share of ``context`` that some item of the retrieval context resembles.

    See `ctxmetrics.NonLLMContextRecall` for formula, range and degenerate values.
    """


class NonLLMContextPrecisionMetric(DeepEvalMetric, core=core.NonLLMContextPrecision):
    """Whether the items of the retrieval context that resemble one of ``context`` stand first.

    See `ctxmetrics.NonLLMContextPrecision` for formula, range and degenerate values.
    """


class IDBasedContextRecallMetric(DeepEvalMetric, core=core.IDBasedContextRecall):
    """The share of ``metadata["reference_context_ids"]`` that was retrieved.

    See `ctxmetrics.IDBasedContextRecall` for formula, range and degenerate values.
    """


class IDBasedContextPrecisionMetric(DeepEvalMetric, core=core.IDBasedContextPrecision):
    """How many of the retrieved ids are in ``metadata["reference_context_ids"]``, or how early they stand.

    See `ctxmetrics.IDBasedContextPrecision` for formula, range and degenerate values.
    """


class IDBasedNDCGMetric(DeepEvalMetric, core=core.IDBasedNDCG):
    """`ctxmetrics.IDBasedNDCG`: normalised discounted cumulative gain of the ranked ids."""


class IDBasedAveragePrecisionMetric(DeepEvalMetric, core=core.IDBasedAveragePrecision):
    """`ctxmetrics.IDBasedAveragePrecision`: average precision over all reference ids."""


class IDBasedReciprocalRankMetric(DeepEvalMetric, core=core.IDBasedReciprocalRank):
    """`ctxmetrics.IDBasedReciprocalRank`: one over the rank of the first reference id."""


class IDBasedCompletenessMetric(DeepEvalMetric, core=core.IDBasedCompleteness):
    """`ctxmetrics.IDBasedCompleteness`: whether every reference id was retrieved."""


class IDBasedHitRateMetric(DeepEvalMetric, core=core.IDBasedHitRate):
    """`ctxmetrics.IDBasedHitRate`: whether any retrieved id is a reference id."""


class IDBasedPrecisionAtKMetric(DeepEvalMetric, core=core.IDBasedPrecisionAtK):
    """`ctxmetrics.IDBasedPrecisionAtK`: reference ids among the first k / k."""


class IDBasedRecallAtKMetric(DeepEvalMetric, core=core.IDBasedRecallAtK):
    """`ctxmetrics.IDBasedRecallAtK`: reference ids among the first k / reference ids."""


class SpanBasedContextRecallMetric(DeepEvalMetric, core=core.SpanBasedContextRecall):
    """`ctxmetrics.SpanBasedContextRecall`: the share of the reference text that was retrieved, by spans."""


class SpanBasedContextPrecisionMetric(DeepEvalMetric, core=core.SpanBasedContextPrecision):
    """`ctxmetrics.SpanBasedContextPrecision`: how much of the retrieved text is reference text, by spans."""


class ContextualRecallMetric(ContextRecallMetric, framework_name="Contextual Recall"):
    """`ContextRecallMetric` under DeepEval's name; without ``model=`` and ``judge=``, DeepEval's default model judges.

    Without a key for that one the embedded judge does, and a warning says so.
    """


class ContextualPrecisionMetric(ContextPrecisionMetric, framework_name="Contextual Precision"):
    """`ContextPrecisionMetric` under DeepEval's name; who judges is as in `ContextualRecallMetric`."""


class ConversationalContextRecallMetric(ConversationalDeepEvalMetric, core=core.ContextRecall):
    """The share of the expected outcome's sentences that the searches of a ``ConversationalTestCase`` support together.

    The searches are what tools that search returned in its turns, and ``retrieval_context``.
    """


class ConversationalContextPrecisionMetric(ConversationalDeepEvalMetric, core=core.ContextPrecision):
    """`ContextPrecisionMetric` of a conversation with one search; of several there is none (``several_searches``)."""
