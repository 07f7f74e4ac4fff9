"""Context recall and context precision as evaluators of pydantic-evals, with the numbers of `ctxmetrics`.

    from ctxmetrics_pydantic_evals import ContextRecallEvaluator

    dataset = Dataset(name="handbook", cases=cases, evaluators=[ContextRecallEvaluator(threshold=0.8)])
    dataset.evaluate_sync(answer)

No model and no key are needed; ``judge=`` takes any model of pydantic-ai, or its name (``"openai:gpt-5.2"``).
"""

import ctxmetrics as core
from ctxmetrics import adapting
from ctxmetrics.errors import importing

with importing("pydantic-evals", "1.32 or newer", also="pydantic_ai"):
    from ctxmetrics_pydantic_evals.evaluators import MetricEvaluator, NoScoreError, results
    from ctxmetrics_pydantic_evals.models import PydanticAIModel

# All metrics of the core. The classes that are not below are made when they are first used.
_CLASSES = adapting.MetricClasses(__name__, "{}Evaluator", MetricEvaluator)

__all__ = [
    "EVALUATORS",
    "MetricEvaluator",
    "NoScoreError",
    "PydanticAIModel",
    "results",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(_CLASSES.names)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use


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


def __getattr__(name: str) -> type[MetricEvaluator]:
    return _CLASSES.make(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLASSES.names})


# All of them, for ``custom_evaluator_types=`` of `Dataset.from_file` and `Dataset.to_file`.
EVALUATORS = tuple(_CLASSES.load())
