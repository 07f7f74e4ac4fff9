"""Haystack's retrievers as settings of ``ctxmetrics run``: a component and a pipeline over a store in memory, no key.

Run it: ctxmetrics run examples/retrievers_haystack.py --questions examples/handbook.jsonl
"""

from __future__ import annotations

import json
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.rankers import LostInTheMiddleRanker
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

CHUNKS = {}
for sample in map(json.loads, Path(__file__).with_name("handbook.jsonl").open(encoding="utf-8")):
    CHUNKS.update(zip(sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True))

store = InMemoryDocumentStore()
store.write_documents([Document(id=id_, content=text) for id_, text in CHUNKS.items()])

pipeline = Pipeline()
pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=5))
pipeline.add_component("ranker", LostInTheMiddleRanker())
pipeline.connect("bm25", "ranker")

retrievers = {"bm25": InMemoryBM25Retriever(store, top_k=5), "lost in the middle": pipeline}
