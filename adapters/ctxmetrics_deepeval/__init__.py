"""Context recall and context precision as DeepEval metrics, with the numbers of `ctxmetrics`.

    from ctxmetrics_deepeval import ContextRecallMetric
    from deepeval import evaluate

    evaluate(test_cases, [ContextRecallMetric(threshold=0.7)])

No model and no key are needed; give ``model=`` any ``DeepEvalBaseLLM`` to judge with. `DeepEvalMetric`
describes the parameters, and what happens where a score cannot be computed. `ContextualRecallMetric` and
`ContextualPrecisionMetric` are the same under DeepEval's own names, judged by DeepEval's default model where it has a key.
"""

import ctxmetrics as core
from ctxmetrics import adapting
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

# All metrics of the core. The classes that are not below are made when they are first used.
_CLASSES = adapting.MetricClasses(__name__, "{}Metric", DeepEvalMetric)

__all__ = [
    "FIELDS",
    "ContextualPrecisionMetric",
    "ContextualRecallMetric",
    "ConversationalContextPrecisionMetric",
    "ConversationalContextRecallMetric",
    "DeepEvalMetric",
    "DeepEvalModel",
    "MissingParamsError",
    "results",
    "update_current_span_ids",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(_CLASSES.names)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use


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


def __getattr__(name: str) -> type[DeepEvalMetric]:
    return _CLASSES.make(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLASSES.names})
