"""Context recall and context precision as MLflow scorers, with the numbers of `ctxmetrics`.

    from ctxmetrics_mlflow import ContextRecallScorer

    mlflow.genai.evaluate(data=data, predict_fn=app, scorers=[ContextRecallScorer()])

Contexts come from the outputs, else from the trace's RETRIEVER spans. No model and no key are needed.
"""

import ctxmetrics as core
from ctxmetrics import adapting
from ctxmetrics.errors import importing

with importing("mlflow", "3.9 or newer"):
    from ctxmetrics_mlflow.scorers import MetricScorer, ParameterScorer, results

# All metrics of the core. The classes that are not below are made when they are first used.
_CLASSES = adapting.MetricClasses(__name__, "{}Scorer", ParameterScorer)

__all__ = [
    "MetricScorer",
    "results",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(_CLASSES.names)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use


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


def __getattr__(name: str) -> type[ParameterScorer]:
    return _CLASSES.make(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLASSES.names})
