"""Where LangChain's ContextualCompressionRetriever loses sentences: what it searched and what it kept, as stages; no key.

Run it: python examples/langchain_stages.py
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("LANGSMITH_TRACING", "false")

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever

from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate

HANDBOOK = Path(__file__).with_name("handbook.jsonl")
QUESTIONS = [
    question
    for question in map(json.loads, HANDBOOK.open(encoding="utf-8"))
    if question["metadata"]["language"] == "en"
]


def words(text: str) -> set[str]:
    """Return the words of a text that have four letters or more, and its numbers."""
    return set(re.findall(r"\w{4,}|\d+", text.casefold()))


class Keywords(BaseRetriever):
    """Finds the ten chunks that share most words with the question; put your retriever in its place."""

    documents: list[Document]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - as in BaseRetriever
    ) -> list[Document]:
        asked = words(query)
        ranked = sorted(self.documents, key=lambda found: -len(asked & words(found.page_content)))
        return ranked[:10]


class SharedSentences(BaseDocumentCompressor):
    """Keeps of each chunk the sentences that share a word with the question; put your reranker in its place."""

    def compress_documents(  # noqa: D102 - as in BaseDocumentCompressor
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - as there
    ) -> list[Document]:
        asked, kept = words(query), []
        for found in documents:
            sentences = re.split(r"(?<=[.!?])\s+", found.page_content)
            text = " ".join(sentence for sentence in sentences if asked & words(sentence))
            if text:
                kept.append(Document(text, id=found.id))
        return kept


def documents() -> list[Document]:
    """Every chunk of the data set once, with its id."""
    chunks = {
        id_: text
        for question in QUESTIONS
        for id_, text in zip(
            question["retrieved_context_ids"], question["retrieved_contexts"], strict=True
        )
    }
    return [Document(text, id=id_) for id_, text in chunks.items()]


def main() -> None:
    search = Keywords(documents=documents())
    retriever = ContextualCompressionRetriever(base_retriever=search, base_compressor=SharedSentences())
    samples = [
        Sample(
            id=question["id"],
            user_input=question["user_input"],
            reference=question["reference"],
            stages={
                "search": search.invoke(question["user_input"]),
                "compress": retriever.invoke(question["user_input"]),
            },
        )
        for question in QUESTIONS
    ]
    stages = evaluate(samples, [ContextRecall()], judge=LexicalJudge(), progress=False).stages()
    print(stages)
    for lost in [unit for unit in stages.lost if unit.dropped_by][:5]:
        print(lost)


if __name__ == "__main__":
    main()
