"""Context recall and context precision for retrieval: one definition, one number in every framework.

    from ctxmetrics import ContextRecall, Sample

    score = ContextRecall().score(Sample(reference="..", retrieved_contexts=[".."]))
    print(score.pretty())

Nothing but the standard library is loaded by importing this package; everything else loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmetrics._version import __version__

if TYPE_CHECKING:
    from ctxmetrics.costs import Estimate, estimate
    from ctxmetrics.engine import Results, Row, aevaluate, evaluate
    from ctxmetrics.errors import CtxMetricsError
    from ctxmetrics.judges.lexical import LexicalJudge
    from ctxmetrics.judges.llm import LLMJudge
    from ctxmetrics.judges.models import OpenAIModel
    from ctxmetrics.judges.scripted import ScriptedJudge
    from ctxmetrics.metrics import (
        ContextPrecision,
        ContextRecall,
        ContextUtilization,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        NonLLMContextPrecision,
        NonLLMContextRecall,
    )
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Evidence, Score, Usage, Verdict
    from ctxmetrics.tables import score_table

_HOME = {
    "ContextPrecision": "metrics",
    "ContextRecall": "metrics",
    "ContextUtilization": "metrics",
    "CtxMetricsError": "errors",
    "Estimate": "costs",
    "Evidence": "scores",
    "IDBasedContextPrecision": "metrics",
    "IDBasedContextRecall": "metrics",
    "LLMJudge": "judges.llm",
    "LexicalJudge": "judges.lexical",
    "NonLLMContextPrecision": "metrics",
    "NonLLMContextRecall": "metrics",
    "OpenAIModel": "judges.models",
    "Results": "engine",
    "Row": "engine",
    "Sample": "samples",
    "Score": "scores",
    "ScriptedJudge": "judges.scripted",
    "Usage": "scores",
    "Verdict": "scores",
    "aevaluate": "engine",
    "estimate": "costs",
    "evaluate": "engine",
    "score_table": "tables",
}

__all__ = [
    "ContextPrecision",
    "ContextRecall",
    "ContextUtilization",
    "CtxMetricsError",
    "Estimate",
    "Evidence",
    "IDBasedContextPrecision",
    "IDBasedContextRecall",
    "LLMJudge",
    "LexicalJudge",
    "NonLLMContextPrecision",
    "NonLLMContextRecall",
    "OpenAIModel",
    "Results",
    "Row",
    "Sample",
    "Score",
    "ScriptedJudge",
    "Usage",
    "Verdict",
    "__version__",
    "aevaluate",
    "estimate",
    "evaluate",
    "score_table",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'ctxmetrics' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ctxmetrics.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
