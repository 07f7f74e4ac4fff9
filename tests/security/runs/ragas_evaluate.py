"""`ragas.evaluate`, and a metric of the collections API."""

from marked import WORDS, chat_openai, check, fields, own_judge
from ragas import EvaluationDataset, evaluate
from ragas.llms import LangchainLLMWrapper

from ctxmetrics_ragas import ContextRecall

judges = {"none": None, "model": own_judge(), "framework": "framework"}
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    llm = LangchainLLMWrapper(chat_openai()) if judge == "framework" else None
    metric = ContextRecall(judge=judge)
    result = evaluate(
        EvaluationDataset.from_list([texts]), metrics=[metric], llm=llm, show_progress=False
    )
    check(result["context_recall"][0])
    if judge != "framework":
        metric.score(**texts)

from ragas._analytics import _analytics_batcher  # it sends when Python ends, or now

_analytics_batcher.flush()
from langchain_core.tracers.langchain import wait_for_all_tracers

wait_for_all_tracers()
