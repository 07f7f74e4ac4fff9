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
_HOME = {
    "Claims": "judges.base",
    "Comparison": "results.comparison.view",
    "Config": "cli.config",
    "CtxMetricsError": "errors",
    "DecisionAPI": "models.openai.decisions",
    "DecisionJudge": "judges.decision",
    "DecisionModel": "models.base",
    "Decisions": "models.base",
    "Estimate": "running.estimate",
    "Evidence": "verdicts",
    "IDMetric": "metrics.ids",
    "Judge": "judges.base",
    "JudgeRequest": "judges.base",
    "Judgement": "judges.base",
    "LLMJudge": "judges.llm.judge",
    "LexicalJudge": "judges.lexical.judge",
    "Metric": "metrics.base",
    "Model": "models.base",
    "NLIJudge": "judges.nli",
    "OpenAIModel": "models.openai.model",
    "Prompt": "models.base",
    "Reply": "models.base",
    "Results": "results.results",
    "Row": "results.row",
    "Sample": "samples",
    "Score": "scores",
    "ScriptedJudge": "judges.scripted",
    "Usage": "verdicts",
    "Verdict": "verdicts",
    "VerdictCache": "models.runtime.cache",
    "aevaluate": "running.engine",
    "compare": "results.comparison.compare",
    "agree": "agreement.agree",
    "check_judge": "agreement.check_judge",
    "check_model": "running.check_model",
    "estimate": "running.estimate",
    "evaluate": "running.engine",
    "forget": "judges.llm.judge",
    "label_spans": "agreement.span_labels",
    "read_samples": "samples",
    "score_table": "running.table",
}

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
