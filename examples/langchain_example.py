"""All seven metrics in LangSmith and LCEL: ``langsmith.evaluate`` over the handbook data set, offline and without a key.

Run it: python examples/langchain_example.py
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import uuid
from pathlib import Path
from typing import Any

os.environ.setdefault("LANGSMITH_TRACING", "false")

from langchain_core.documents import Document
from langchain_core.runnables import RunnablePassthrough
from langsmith import Client, evaluate
from langsmith.schemas import Example

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextPrecision,
    IDBasedContextRecall,
    NonLLMContextPrecision,
    NonLLMContextRecall,
)
from ctxmetrics_langchain import ContextRecallEvaluator, RetrievalEvaluator

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
SAMPLES = {sample["user_input"]: sample for sample in map(json.loads, HANDBOOK.open(encoding="utf-8"))}

EVALUATOR = RetrievalEvaluator(
    [
        ContextRecall(threshold=0.8),
        ContextRecall(top_k=1),  # its feedback key is context_recall(top_k=1)
        ContextPrecision(),
        ContextUtilization(),
        NonLLMContextRecall(),
        NonLLMContextPrecision(),
        IDBasedContextRecall(),
        IDBasedContextPrecision(),
    ]
)


class OfflineClient(Client):
    """Sends nothing. Up to langsmith 0.15.0, ``aevaluate(upload_results=False)`` uploads runs with any other client."""

    def __init__(self) -> None:
        super().__init__(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)

    def create_run(self, *args: Any, **kwargs: Any) -> None:
        """Keep the run here."""

    def update_run(self, *args: Any, **kwargs: Any) -> None:
        """Keep the run here."""


def retrieve(question: str) -> list[Document]:
    """Stand in for your retriever: what was retrieved stands in the file."""
    sample = SAMPLES[question]
    pairs = zip(sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True)
    return [Document(text, id=id_) for id_, text in pairs]


def target(inputs: dict[str, Any]) -> dict[str, Any]:
    """Stand in for your chain: question in, answer and documents out."""
    question = inputs["question"]
    return {"answer": SAMPLES[question]["response"], "documents": retrieve(question)}


def examples() -> list[Example]:
    """The data set as LangSmith writes it."""
    return [
        Example(
            id=uuid.uuid4(),
            inputs={"question": sample["user_input"]},
            outputs={
                "answer": sample["reference"],
                "reference_contexts": sample["reference_contexts"],
                "reference_context_ids": sample["reference_context_ids"],
            },
        )
        for sample in SAMPLES.values()
    ]


def main() -> None:
    """Evaluate, print a table, and score one question in a chain."""
    with contextlib.redirect_stdout(io.StringIO()):  # LangSmith prints where the results would be seen
        run = evaluate(
            target,
            data=examples(),
            evaluators=[EVALUATOR],
            client=OfflineClient(),
            upload_results=False,
        )
    rows = [result for row in run for result in row["evaluation_results"]["results"]]
    print(f"{'feedback key':28}{'mean':>8}{'scored':>12}")
    for key in EVALUATOR.feedback_keys:
        given = [row.score for row in rows if row.key == key]
        known = [float(score) for score in given if score is not None]
        print(f"{key:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(given)}")

    # LCEL: retriever and evaluator in one chain.
    retriever = RunnablePassthrough.assign(documents=lambda fields: retrieve(fields["question"]))
    chain = retriever | RunnablePassthrough.assign(evaluation=ContextRecallEvaluator().as_runnable())
    sample = list(SAMPLES.values())[3]
    fields = {"question": sample["user_input"], "reference": sample["reference"]}
    found = chain.invoke(fields)["evaluation"]
    print(f"\n{sample['id']}: {found['key']} {found['score']:.4f}\n{found['comment']}")


if __name__ == "__main__":
    main()
