"""Context recall and context precision for retrieval: one definition, one number in every framework.

    from ctxmetrics import ContextRecall, Sample

    score = ContextRecall().score(Sample(reference="..", retrieved_contexts=[".."]))
    print(score.pretty())

The names below are the public surface, with five documented packages and modules: `ctxmetrics.errors`,
`ctxmetrics.formulas`, `ctxmetrics.prompts`, `ctxmetrics.adapting` and `ctxmetrics.testing`. Everything else is private.

Importing this package loads only the standard library. Everything else is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Mapping

from ctxmetrics._internal import moved_modules
from ctxmetrics._internal.public_names import load_on_first_use
from ctxmetrics.metrics import METRIC_MODULES

__version__ = "0.1.0"

# Each public name with the module that defines it. Type checkers read the same names in `__init__.pyi`; a test compares both.
_MODULES: Mapping[str, str] = {
    "acompare_retrievers": "ctxmetrics.evaluation.retrievers.compare_retrievers",
    "aevaluate": "ctxmetrics.evaluation.runs.evaluate",
    "Batch": "ctxmetrics.evaluation.batching.batch",
    "agree": "ctxmetrics.evaluation.agreement.agree",
    "check_gold": "ctxmetrics.evaluation.gold.check_gold",
    "check_judge": "ctxmetrics.evaluation.agreement.check_judge",
    "check_model": "ctxmetrics.evaluation.runs.check_model",
    "Claims": "ctxmetrics.judges.base",
    "compare": "ctxmetrics.evaluation.comparison.compare",
    "compare_retrievers": "ctxmetrics.evaluation.retrievers.compare_retrievers",
    "Comparison": "ctxmetrics.evaluation.comparison.view",
    "Config": "ctxmetrics.evaluation.cli.config",
    "CtxMetricsError": "ctxmetrics.errors",
    "DecisionAPI": "ctxmetrics.models.openai.decision_api",
    "DecisionJudge": "ctxmetrics.judges.decision",
    "DecisionModel": "ctxmetrics.models.base",
    "Decisions": "ctxmetrics.models.base",
    "Estimate": "ctxmetrics.evaluation.runs.estimate",
    "estimate": "ctxmetrics.evaluation.runs.estimate",
    "evaluate": "ctxmetrics.evaluation.runs.evaluate",
    "Evidence": "ctxmetrics.verdicts",
    "forget": "ctxmetrics.judges.llm.judge",
    "IDMetric": "ctxmetrics.metrics.ids",
    "Judge": "ctxmetrics.judges.base",
    "Judgement": "ctxmetrics.judges.base",
    "JudgeRequest": "ctxmetrics.judges.base",
    "label_spans": "ctxmetrics.evaluation.agreement.span_labels",
    "LexicalJudge": "ctxmetrics.judges.lexical.judge",
    "LLMJudge": "ctxmetrics.judges.llm.judge",
    "Metric": "ctxmetrics.metrics.base",
    "Model": "ctxmetrics.models.base",
    "NLIJudge": "ctxmetrics.judges.nli",
    "OpenAIModel": "ctxmetrics.models.openai.model",
    "Prompt": "ctxmetrics.models.base",
    "read_samples": "ctxmetrics.evaluation.files.sample_file",
    "Reply": "ctxmetrics.models.base",
    "Results": "ctxmetrics.evaluation.runs.results",
    "Row": "ctxmetrics.evaluation.rows.row",
    "Sample": "ctxmetrics.samples.sample",
    "Score": "ctxmetrics.scores.score",
    "score_table": "ctxmetrics.evaluation.runs.table",
    "ScriptedJudge": "ctxmetrics.judges.scripted",
    "Usage": "ctxmetrics.verdicts",
    "Verdict": "ctxmetrics.verdicts",
    "VerdictCache": "ctxmetrics.models.runtime.cache",
    **METRIC_MODULES,
}

# The checkers read the names from the stub. A test shows that stub and table have the same names.
__all__ = ["__version__", *_MODULES]  # noqa: PLE0604 # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = load_on_first_use(__name__, _MODULES)
moved_modules.install()


def __dir__() -> list[str]:
    return list(__all__)
