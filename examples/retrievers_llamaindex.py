"""LlamaIndex' retrievers as settings of ``ctxmetrics run``: a vector index in memory, no key.

Run it: ctxmetrics run examples/retrievers_llamaindex.py --questions examples/handbook.jsonl
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from zlib import crc32

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

CHUNKS = {}
for sample in map(json.loads, Path(__file__).with_name("handbook.jsonl").open(encoding="utf-8")):
    CHUNKS.update(zip(sample["retrieved_context_ids"], sample["retrieved_contexts"], strict=True))


class CountedWords(BaseEmbedding):
    """Put your embeddings in its place."""

    def _get_text_embedding(self, text: str) -> list[float]:
        places = {crc32(word.encode()) % 4096 for word in re.findall(r"\w{3,}", text.casefold())}
        return [float(place in places) for place in range(4096)]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


nodes = [TextNode(text=text, id_=id_) for id_, text in CHUNKS.items()]
index = VectorStoreIndex(nodes, embed_model=CountedWords())
retrievers = {f"top {k}": index.as_retriever(similarity_top_k=k) for k in (3, 5)}
