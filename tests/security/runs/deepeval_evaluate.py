"""`deepeval.evaluate` and `assert_test`."""

from deepeval import assert_test, evaluate
from deepeval.evaluate import CacheConfig, DisplayConfig
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCase
from marked import WORDS, fields, own_judge, url

from ctxmetrics import LLMJudge
from ctxmetrics_deepeval import ContextRecallMetric, DeepEvalModel

framework = GPTModel(model="gpt-4o-mini", base_url=url(), api_key="sk-of-the-test")
judges = {"none": None, "model": own_judge(), "framework": LLMJudge(DeepEvalModel(framework))}
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    case = LLMTestCase(
        input=texts["user_input"],
        actual_output=texts["response"],
        expected_output=texts["reference"],
        retrieval_context=texts["retrieved_contexts"],
    )
    run = evaluate(
        [case],
        [ContextRecallMetric(judge=judge, threshold=0.1)],
        cache_config=CacheConfig(write_cache=False),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
    )
    assert run.test_results[0].success, run
    assert_test(case, [ContextRecallMetric(judge=judge, threshold=0.1)])
