"""Context recall and context precision for retrieval: one definition, one number in every framework.

    from ctxmetrics import ContextRecall, Sample

    score = ContextRecall().score(Sample(reference="..", retrieved_contexts=[".."]))
    print(score.pretty())

The names in ``__all__`` are the public surface, with five documented packages and modules: `ctxmetrics.errors`,
`ctxmetrics.formulas`, `ctxmetrics.prompts`, `ctxmetrics.adapting` and `ctxmetrics.testing`. Everything else is private.

Nothing but the standard library is loaded by importing this package; everything else loads on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmetrics._internal.version import __version__

if TYPE_CHECKING:
    from ctxmetrics.agreement.agree import agree
    from ctxmetrics.agreement.check_judge import check_judge
    from ctxmetrics.agreement.span_labels import label_spans
    from ctxmetrics.cli.config import Config
    from ctxmetrics.errors import CtxMetricsError
    from ctxmetrics.judges.base import Claims, Judge, Judgement, JudgeRequest
    from ctxmetrics.judges.decision import DecisionJudge
    from ctxmetrics.judges.lexical.judge import LexicalJudge
    from ctxmetrics.judges.llm.judge import LLMJudge, forget
    from ctxmetrics.judges.nli import NLIJudge
    from ctxmetrics.judges.scripted import ScriptedJudge
    from ctxmetrics.metrics import (
        ContextPrecision,
        ContextRecall,
        ContextUtilization,
        IDBasedAveragePrecision,
        IDBasedCompleteness,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        IDBasedHitRate,
        IDBasedNDCG,
        IDBasedPrecisionAtK,
        IDBasedRecallAtK,
        IDBasedReciprocalRank,
        NonLLMContextPrecision,
        NonLLMContextRecall,
        SpanBasedContextPrecision,
        SpanBasedContextRecall,
    )
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.metrics.ids import IDMetric
    from ctxmetrics.models.base import DecisionModel, Decisions, Model, Prompt, Reply
    from ctxmetrics.models.openai.decisions import DecisionAPI
    from ctxmetrics.models.openai.model import OpenAIModel
    from ctxmetrics.models.runtime.cache import VerdictCache
    from ctxmetrics.results.comparison.compare import compare
    from ctxmetrics.results.comparison.view import Comparison
    from ctxmetrics.results.results import Results
    from ctxmetrics.results.row import Row
    from ctxmetrics.running.check_model import check_model
    from ctxmetrics.running.engine import aevaluate, evaluate
    from ctxmetrics.running.estimate import Estimate, estimate
    from ctxmetrics.running.table import score_table
    from ctxmetrics.samples import Sample, read_samples
    from ctxmetrics.scores import Score
    from ctxmetrics.verdicts import Evidence, Usage, Verdict

# The module of each public name that does not stand in `ctxmetrics.metrics`.
_MODULES = {
    "agreement.agree": "agree",
    "agreement.check_judge": "check_judge",
    "agreement.span_labels": "label_spans",
    "cli.config": "Config",
    "errors": "CtxMetricsError",
    "judges.base": "Claims Judge JudgeRequest Judgement",
    "judges.decision": "DecisionJudge",
    "judges.lexical.judge": "LexicalJudge",
    "judges.llm.judge": "LLMJudge forget",
    "judges.nli": "NLIJudge",
    "judges.scripted": "ScriptedJudge",
    "metrics.base": "Metric",
    "metrics.ids": "IDMetric",
    "models.base": "DecisionModel Decisions Model Prompt Reply",
    "models.openai.decisions": "DecisionAPI",
    "models.openai.model": "OpenAIModel",
    "models.runtime.cache": "VerdictCache",
    "results.comparison.compare": "compare",
    "results.comparison.view": "Comparison",
    "results.results": "Results",
    "results.row": "Row",
    "running.check_model": "check_model",
    "running.engine": "aevaluate evaluate",
    "running.estimate": "Estimate estimate",
    "running.table": "score_table",
    "samples": "Sample read_samples",
    "scores": "Score",
    "verdicts": "Evidence Usage Verdict",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Claims", "Comparison", "Config", "ContextPrecision", "ContextRecall", "ContextUtilization", "CtxMetricsError",
    "DecisionAPI", "DecisionJudge", "DecisionModel", "Decisions", "Estimate", "Evidence", "IDBasedAveragePrecision",
    "IDBasedCompleteness", "IDBasedContextPrecision", "IDBasedContextRecall", "IDBasedHitRate", "IDBasedNDCG",
    "IDBasedPrecisionAtK", "IDBasedRecallAtK", "IDBasedReciprocalRank", "IDMetric", "Judge", "JudgeRequest",
    "Judgement", "LLMJudge", "LexicalJudge", "Metric", "Model", "NLIJudge", "NonLLMContextPrecision",
    "NonLLMContextRecall", "OpenAIModel", "Prompt", "Reply", "Results", "Row", "Sample", "Score", "ScriptedJudge",
    "SpanBasedContextPrecision", "SpanBasedContextRecall", "Usage", "Verdict", "VerdictCache", "__version__",
    "aevaluate", "agree", "check_judge", "check_model", "compare", "estimate", "evaluate", "forget", "label_spans",
    "read_samples", "score_table",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'ctxmetrics' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"ctxmetrics.{_HOME.get(name, 'metrics')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
