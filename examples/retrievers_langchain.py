"""LangChain's retrievers as settings of ``ctxmetrics run``: an in-memory vector store, no key.

Run it: ctxmetrics run examples/retrievers_langchain.py --questions examples/handbook.jsonl
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from zlib import crc32

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

CHUNKS = {}
for sample in map(json.loads, Path(__file__).with_name("handbook.jsonl").open(encoding="utf-8")):
    CHUNKS.update(zip(sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True))


class CountedWords(Embeddings):
    """Put your embeddings in its place."""

    def embed_query(self, text: str) -> list[float]:  # noqa: D102 - as in Embeddings
        places = {crc32(word.encode()) % 4096 for word in re.findall(r"\w{3,}", text.casefold())}
        return [float(place in places) for place in range(4096)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:  # noqa: D102 - see `embed_query`
        return [self.embed_query(text) for text in texts]


documents = [Document(text, id=id_) for id_, text in CHUNKS.items()]
store = InMemoryVectorStore.from_documents(documents, CountedWords())
retrievers = {
    "similarity": store.as_retriever(search_kwargs={"k": 5}),
    "mmr": store.as_retriever(search_type="mmr", search_kwargs={"k": 5, "fetch_k": 20}),
}
