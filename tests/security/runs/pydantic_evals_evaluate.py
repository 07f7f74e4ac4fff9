"""`Dataset.evaluate_sync`; with the argument `logfire`, Logfire is configured as its first page says."""

import sys

from marked import WORDS, fields, own_judge, url
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset

from ctxmetrics_pydantic_evals import ContextRecallEvaluator

if "logfire" in sys.argv:
    import logfire

    logfire.configure(console=False)
    logfire.instrument_pydantic_ai()

provider = OpenAIProvider(base_url=url(), api_key="sk-of-the-test")
framework = OpenAIChatModel("gpt", provider=provider)
judges = {"none": None, "model": own_judge(), "framework": framework}
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    case = Case(inputs=texts["user_input"], expected_output=texts["reference"])
    data = Dataset(name="birds", cases=[case], evaluators=[ContextRecallEvaluator(judge=judge)])
    outputs = {"answer": texts["response"], "documents": texts["retrieved_contexts"]}
    report = data.evaluate_sync(lambda question: outputs, progress=False)  # noqa: B023 - it is called in this round
    assert report.cases[0].scores, report
if "logfire" in sys.argv:
    logfire.force_flush()
