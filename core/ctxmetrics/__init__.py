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
    from ctxmetrics.errors import CtxMetricsError
    from ctxmetrics.evaluation.engine import aevaluate, evaluate
    from ctxmetrics.evaluation.estimate import Estimate, estimate
    from ctxmetrics.evaluation.results import Results
    from ctxmetrics.judges.lexical.judge import LexicalJudge
    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.judges.scripted import ScriptedJudge
    from ctxmetrics.metrics import (
        ContextPrecision,
        ContextRecall,
        ContextUtilization,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        IDBasedHitRate,
        IDBasedNDCG,
        IDBasedPrecisionAtK,
        IDBasedRecallAtK,
        IDBasedReciprocalRank,
        NonLLMContextPrecision,
        NonLLMContextRecall,
    )
    from ctxmetrics.models.openai.model import OpenAIModel
    from ctxmetrics.report.view import Row
    from ctxmetrics.samples import Sample
    from ctxmetrics.scores import Score
    from ctxmetrics.tables.table import score_table
    from ctxmetrics.verdicts import Evidence, Usage, Verdict

_HOME = {
    "ContextPrecision": "metrics",
    "ContextRecall": "metrics",
    "ContextUtilization": "metrics",
    "CtxMetricsError": "errors",
    "Estimate": "evaluation.estimate",
    "Evidence": "verdicts",
    "IDBasedContextPrecision": "metrics",
    "IDBasedContextRecall": "metrics",
    "IDBasedReciprocalRank": "metrics",
    "IDBasedRecallAtK": "metrics",
    "IDBasedPrecisionAtK": "metrics",
    "IDBasedNDCG": "metrics",
    "IDBasedHitRate": "metrics",
    "LLMJudge": "judges.llm.judge",
    "LexicalJudge": "judges.lexical.judge",
    "NonLLMContextPrecision": "metrics",
    "NonLLMContextRecall": "metrics",
    "OpenAIModel": "models.openai.model",
    "Results": "evaluation.results",
    "Row": "report.view",
    "Sample": "samples",
    "Score": "scores",
    "ScriptedJudge": "judges.scripted",
    "Usage": "verdicts",
    "Verdict": "verdicts",
    "aevaluate": "evaluation.engine",
    "estimate": "evaluation.estimate",
    "evaluate": "evaluation.engine",
    "score_table": "tables.table",
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
    "IDBasedHitRate",
    "IDBasedNDCG",
    "IDBasedPrecisionAtK",
    "IDBasedRecallAtK",
    "IDBasedReciprocalRank",
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
