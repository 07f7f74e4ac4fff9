"""Context recall and context precision as Ragas metrics, with the numbers of `ctxmetrics`.

    from ctxmetrics_ragas import ContextPrecision, ContextRecall
    from ragas import evaluate

    evaluate(dataset, metrics=[ContextRecall(), ContextPrecision()])

No LLM and no key are needed; give ``llm=`` any LLM of Ragas, or ``judge="framework"`` to judge with that of
``evaluate(llm=..)``. The same objects have the methods of ``ragas.metrics.collections``. `LLMContextRecall`,
`context_recall` and the other names that Ragas gives to metrics with an LLM judge with that of ``evaluate(llm=..)``
by default, so that only the import changes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxmetrics import adapting
from ctxmetrics.errors import MissingExtraError, install_command, missing_extra

try:
    # If Ragas is not installed, this import fails, and the error has the name "ragas".
    import ragas as _ragas  # noqa: F401 - only whether it can be imported

    # If Ragas is too old or broken, this import fails.
    from ragas.metrics.collections.base import BaseMetric as _BaseMetric  # noqa: F401 - the same
except ImportError as _error:
    if _error.name == "ragas":
        raise missing_extra("ragas") from None
    _advice = f"0.3.9 to 0.4.x is needed, with langchain-community<0.4.2: {install_command('ragas')}"
    raise MissingExtraError(f"The installed Ragas cannot be imported ({_error}); {_advice}") from None

from ctxmetrics_ragas.judged import JudgedMetric
from ctxmetrics_ragas.metrics import ContextResult, RagasMetric, results

if TYPE_CHECKING:
    from ctxmetrics_ragas.model import RagasModel

# All metrics of the core. The classes that are not below are made when they are first used.
_CLASSES = adapting.MetricClasses(__name__, "{}", RagasMetric)

__all__ = [
    "ContextPrecisionWithReference",
    "ContextPrecisionWithoutReference",
    "ContextResult",
    "JudgedMetric",
    "LLMContextPrecisionWithReference",
    "LLMContextPrecisionWithoutReference",
    "LLMContextRecall",
    "NonLLMContextPrecisionWithReference",
    "RagasMetric",
    "RagasModel",
    "context_precision",
    "context_recall",
    "results",
]
# The rest is the core's table of metrics. A type checker cannot read it here; the wheel's stub has the names written out.
__all__.extend(_CLASSES.names)  # noqa: PYI056 # pyright: ignore[reportUnsupportedDunderAll] - made on first use

# Parameters of Ragas' own string metrics, each with what to write instead.
_ADVICE_BY_RAGAS_PARAMETER = {
    "threshold": "min_similarity=0.5",
    "distance_measure": "similarity='levenshtein'",
}


class ContextRecall(JudgedMetric, core="ContextRecall"):
    """The share of the reference's sentences (or claims) that the contexts support; see `ctxmetrics.ContextRecall`."""


class ContextPrecision(JudgedMetric, core="ContextPrecision"):
    """Whether contexts useful for the reference stand first; see `ctxmetrics.ContextPrecision`."""


class ContextUtilization(JudgedMetric, core="ContextUtilization"):
    """Whether contexts useful for the response stand first; see `ctxmetrics.ContextUtilization`."""


class NonLLMContextRecall(RagasMetric, core="NonLLMContextRecall", renamed=_ADVICE_BY_RAGAS_PARAMETER):
    """The share of the reference contexts that were retrieved; see `ctxmetrics.NonLLMContextRecall`."""


class NonLLMContextPrecision(
    RagasMetric, core="NonLLMContextPrecision", renamed=_ADVICE_BY_RAGAS_PARAMETER
):
    """Whether contexts like a reference context stand first; see `ctxmetrics.NonLLMContextPrecision`."""


class IDBasedContextRecall(RagasMetric, core="IDBasedContextRecall"):
    """The share of the reference ids that were retrieved; see `ctxmetrics.IDBasedContextRecall`."""


class IDBasedContextPrecision(RagasMetric, core="IDBasedContextPrecision"):
    """How many of the retrieved ids are reference ids; see `ctxmetrics.IDBasedContextPrecision`."""


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
context_recall: ContextRecall
context_precision: ContextPrecision

# The names that load on first use, each with its module: they import Ragas' LLM classes.
_MODULES = {
    "RagasModel": "ctxmetrics_ragas.model",
    "context_precision": "ctxmetrics_ragas.instances",
    "context_recall": "ctxmetrics_ragas.instances",
}


def __getattr__(name: str) -> type[RagasMetric]:
    if name not in _MODULES:
        return _CLASSES.make(name)
    value: Any = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value  # type: ignore[no-any-return]  # the module annotates these names above


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_CLASSES.names})
