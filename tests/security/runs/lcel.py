"""An evaluator in a chain of LangChain, with no LangSmith client."""

from langchain_core.runnables import RunnablePassthrough
from marked import WORDS, chat_openai, check, fields, own_judge

from ctxmetrics_langchain import ContextRecallEvaluator

judges = {"none": None, "model": own_judge(), "framework": chat_openai()}
for kind, judge in judges.items():
    texts = fields(WORDS[kind])
    evaluator = ContextRecallEvaluator(judge=judge).as_runnable()
    chain = RunnablePassthrough.assign(evaluation=evaluator)
    row = chain.invoke(
        {
            "question": texts["user_input"],
            "reference": texts["reference"],
            "documents": texts["retrieved_contexts"],
        }
    )
    check(row["evaluation"]["score"])

from langchain_core.tracers.langchain import wait_for_all_tracers

wait_for_all_tracers()
