# The public names for type checkers: `__init__.py` loads each from the same module on first use.
from ctxmetrics.errors import CtxMetricsError as CtxMetricsError
from ctxmetrics.evaluation.agreement.agree import agree as agree
from ctxmetrics.evaluation.agreement.check_judge import check_judge as check_judge
from ctxmetrics.evaluation.agreement.span_labels import label_spans as label_spans
from ctxmetrics.evaluation.batching.batch import Batch as Batch
from ctxmetrics.evaluation.cli.config import Config as Config
from ctxmetrics.evaluation.comparison.compare import compare as compare
from ctxmetrics.evaluation.comparison.view import Comparison as Comparison
from ctxmetrics.evaluation.files.sample_file import read_samples as read_samples
from ctxmetrics.evaluation.gold.check_gold import check_gold as check_gold
from ctxmetrics.evaluation.retrievers.compare_retrievers import (
    acompare_retrievers as acompare_retrievers,
)
from ctxmetrics.evaluation.retrievers.compare_retrievers import compare_retrievers as compare_retrievers
from ctxmetrics.evaluation.rows.row import Row as Row
from ctxmetrics.evaluation.runs.check_model import check_model as check_model
from ctxmetrics.evaluation.runs.estimate import Estimate as Estimate
from ctxmetrics.evaluation.runs.estimate import estimate as estimate
from ctxmetrics.evaluation.runs.evaluate import aevaluate as aevaluate
from ctxmetrics.evaluation.runs.evaluate import evaluate as evaluate
from ctxmetrics.evaluation.runs.results import Results as Results
from ctxmetrics.evaluation.runs.table import score_table as score_table
from ctxmetrics.judges.base import Claims as Claims
from ctxmetrics.judges.base import Judge as Judge
from ctxmetrics.judges.base import Judgement as Judgement
from ctxmetrics.judges.base import JudgeRequest as JudgeRequest
from ctxmetrics.judges.decision import DecisionJudge as DecisionJudge
from ctxmetrics.judges.lexical.judge import LexicalJudge as LexicalJudge
from ctxmetrics.judges.llm.judge import LLMJudge as LLMJudge
from ctxmetrics.judges.llm.judge import forget as forget
from ctxmetrics.judges.nli import NLIJudge as NLIJudge
from ctxmetrics.judges.scripted import ScriptedJudge as ScriptedJudge
from ctxmetrics.metrics.base import Metric as Metric
from ctxmetrics.metrics.ids import *  # noqa: F403 - all metrics over ids, as its `__all__` names them
from ctxmetrics.metrics.judged import ContextPrecision as ContextPrecision
from ctxmetrics.metrics.judged import ContextRecall as ContextRecall
from ctxmetrics.metrics.judged import ContextUtilization as ContextUtilization
from ctxmetrics.metrics.spans import SpanBasedContextPrecision as SpanBasedContextPrecision
from ctxmetrics.metrics.spans import SpanBasedContextRecall as SpanBasedContextRecall
from ctxmetrics.metrics.strings import NonLLMContextPrecision as NonLLMContextPrecision
from ctxmetrics.metrics.strings import NonLLMContextRecall as NonLLMContextRecall
from ctxmetrics.models.base import DecisionModel as DecisionModel
from ctxmetrics.models.base import Decisions as Decisions
from ctxmetrics.models.base import Model as Model
from ctxmetrics.models.base import Prompt as Prompt
from ctxmetrics.models.base import Reply as Reply
from ctxmetrics.models.openai.decision_api import DecisionAPI as DecisionAPI
from ctxmetrics.models.openai.model import OpenAIModel as OpenAIModel
from ctxmetrics.models.runtime.cache import VerdictCache as VerdictCache
from ctxmetrics.samples.sample import Sample as Sample
from ctxmetrics.scores.score import Score as Score
from ctxmetrics.verdicts import Evidence as Evidence
from ctxmetrics.verdicts import Usage as Usage
from ctxmetrics.verdicts import Verdict as Verdict

__version__: str
