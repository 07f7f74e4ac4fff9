"""Three ways to run a metric with LangChain, for the conformance suite and ``ctxmetrics parity``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.runnables import RunnablePassthrough
from langsmith import Client, evaluate
from langsmith.schemas import Example

from ctxmetrics.testing.runners import Runner
from ctxmetrics_langchain.evaluators import RetrievalEvaluator

def _langsmith(metric, samples):
    examples = [Example(id=UUID(int=number), inputs=_side(sample, "user_input", number=number), outputs=_side(sample, *_REFERENCE)) for number, sample in enumerate(samples)]
    outputs = [_side(sample, *_RETRIEVED) for sample in samples]
    results = evaluate(lambda inputs: outputs[inputs["number"]], data=examples, evaluators=[RetrievalEvaluator([metric])], upload_results=False, client=_client())
    found = {row["example"].id.int: row["evaluation_results"]["results"][0] for row in results}
    return [found[number].score for number in range(len(samples))]

_REFERENCE = ("reference", "reference_contexts", "reference_context_ids")
_RETRIEVED = ("response", "retrieved_contexts", "retrieved_context_ids")

def _side(sample, *fields, **more):
    given = sample.to_dict()
    return {**{field: given[field] for field in fields if field in given}, **more}

def _client():
    return Client(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)

def _lcel(metric, samples):
    chain = RunnablePassthrough() | RetrievalEvaluator([metric]).as_runnable()
    return [x["score"] for x in chain.batch([s.to_dict() for s in samples])]

def _string(metric, samples):
    ev = RetrievalEvaluator([metric]).as_string_evaluator()
    return [ev.evaluate_strings(prediction=_side(s,*_RETRIEVED), reference=_side(s,*_REFERENCE), input=s.user_input)["score"] for s in samples]

RUNNERS = [Runner("langsmith.evaluate", _langsmith), Runner("langchain.lcel", _lcel), Runner("langchain.StringEvaluator", _string)]
