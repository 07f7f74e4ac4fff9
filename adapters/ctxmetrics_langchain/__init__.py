"""Context recall and context precision for LangSmith, LCEL and langchain-classic.

    from ctxmetrics_langchain import ContextRecallEvaluator

    langsmith.evaluate(target, data="my dataset", evaluators=[ContextRecallEvaluator()])

The numbers are those of `ctxmetrics`; this package only converts data.
"""

import ctxmetrics as core
from ctxmetrics import adapting
from ctxmetrics.errors import importing

with importing("langchain-core"):
    import langchain_core as _langchain_core  # noqa: F401 - by itself, so that its absence is told from a broken one

from ctxmetrics_langchain.evaluators import MetricEvaluator, RetrievalEvaluator, results
from ctxmetrics_langchain.models import ChatModel

# All metrics of the core. The classes that are not below are made when they are first used.
_CLASSES = adapting.MetricClasses(__name__, "{}Evaluator", MetricEvaluator)

__all__ = [
    "ChatModel",
    "MetricEvaluator",
    "RetrievalEvaluator",
    "results",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(_CLASSES.names)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use


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


def __getattr__(name: str) -> type[MetricEvaluator]:
    return _CLASSES.make(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLASSES.names})
