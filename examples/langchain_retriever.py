"""A LangChain retriever over real Documents, evaluated in the chain that retrieves: an in-memory vector store, no key.

Run it: python examples/langchain_retriever.py
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from zlib import crc32

os.environ.setdefault("LANGSMITH_TRACING", "false")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from ctxmetrics import ContextPrecision, ContextRecall, IDBasedContextRecall, LexicalJudge
from ctxmetrics_langchain import RetrievalEvaluator

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
SAMPLES = [
    sample
    for sample in map(json.loads, HANDBOOK.open(encoding="utf-8"))
    if sample["metadata"]["language"] == "en"
]


class CountedWords(Embeddings):
    """Counts words in 4,096 places, so that the script needs no model; put your embeddings in its place."""

    def embed_query(self, text: str) -> list[float]:  # noqa: D102 - as in Embeddings
        vector = [0.0] * 4096
        for word in set(re.findall(r"\w{3,}", text.casefold())):
            vector[crc32(word.encode()) % 4096] = 1.0
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:  # noqa: D102 - see `Embeddings`
        return [self.embed_query(text) for text in texts]


def documents() -> list[Document]:
    """Every chunk of the data set once, with its id."""
    chunks = {
        id_: text
        for sample in SAMPLES
        for id_, text in zip(sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True)
    }
    return [Document(text, id=id_, metadata={"source": "handbook"}) for id_, text in chunks.items()]


def main() -> None:
    retriever = InMemoryVectorStore.from_documents(documents(), CountedWords()).as_retriever(
        search_kwargs={"k": 4}
    )
    metrics = [ContextRecall(), ContextPrecision(), IDBasedContextRecall()]
    evaluator = RetrievalEvaluator(metrics, judge=LexicalJudge())  # or a chat model
    chain = RunnablePassthrough.assign(
        documents=lambda fields: retriever.invoke(fields["question"])
    ) | RunnablePassthrough.assign(evaluation=evaluator.as_runnable())
    rows = chain.batch(
        [
            {
                "question": sample["user_input"],
                "reference": sample["reference"],
                "reference_ids": sample["reference_context_ids"],
            }
            for sample in SAMPLES
        ]
    )
    for number, key in enumerate(evaluator.feedback_keys):
        found = [row["evaluation"]["results"][number]["score"] for row in rows]
        known = [score for score in found if score is not None]
        print(f"{key:28}{sum(known) / len(known):8.4f}{len(known):6d} of {len(found)}")
    worst = min(rows, key=lambda row: row["evaluation"]["results"][0]["score"])
    print(f"\n{worst['question']}\n{worst['evaluation']['results'][0]['comment']}")


if __name__ == "__main__":
    main()
