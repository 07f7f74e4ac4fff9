"""Writes the files in this folder with the real libraries: ``python make.py FOLDER``.

Libraries: arize-phoenix 20.26.1 (a server: ``PHOENIX_PORT=16006 phoenix serve``) with arize-phoenix-client 3.5.0,
openinference-instrumentation-langchain 0.1.80, openinference-instrumentation-llama-index 4.6.1, langchain-classic 1.0.8,
llama-index-core 0.14.25, haystack-ai 3.4.0, langfuse 5.0.4. ``promptfoo.json`` was written by promptfoo (see
``promptfooconfig.yaml``).
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from haystack import Document as HaystackDocument
from haystack import Pipeline
from haystack.components.builders import AnswerBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from langchain_classic.chains import RetrievalQA
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langfuse.api import ObservationV2
from llama_index.core.base.base_retriever import BaseRetriever as LlamaRetriever
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from openinference.instrumentation.langchain import LangChainInstrumentor
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from phoenix.client import Client

QUESTION = "How long is the pump guaranteed, and what does registration cost?"
ANSWER = "The pump is guaranteed for three years."
CONTEXTS = [
    "Rinse the filter monthly.",
    "Warranty: the pump is guaranteed for three years, from purchase.",
]
SERVER = "http://127.0.0.1:16006"


class Retriever(BaseRetriever):
    """Finds both contexts."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text, metadata={"source": f"{n}.md"}) for n, text in enumerate(CONTEXTS)]


class NodeRetriever(LlamaRetriever):
    """Finds both contexts."""

    def _retrieve(self, query_bundle):
        return [
            NodeWithScore(node=TextNode(text=text, id_=f"n{n}"), score=0.5)
            for n, text in enumerate(CONTEXTS)
        ]


def spans_of(instrumentor, run, processors=()):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    for one in (SimpleSpanProcessor(exporter), *processors):
        provider.add_span_processor(one)
    instrumentor.instrument(tracer_provider=provider)
    run()
    instrumentor.uninstrument()
    return [json.loads(span.to_json()) for span in exporter.get_finished_spans()]


def ask_langchain():
    model = FakeListChatModel(responses=[ANSWER])
    RetrievalQA.from_chain_type(model, retriever=Retriever()).invoke({"query": QUESTION})


def ask_llama_index():
    RetrieverQueryEngine.from_args(NodeRetriever(), llm=MockLLM(max_tokens=8)).query(QUESTION)


def haystack_result():
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            HaystackDocument(content=text, meta={"file_path": f"{n}.md"})
            for n, text in enumerate(CONTEXTS)
        ]
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("answer_builder", AnswerBuilder())
    pipeline.connect("retriever.documents", "answer_builder.documents")
    asked = {
        "retriever": {"query": QUESTION},
        "answer_builder": {"query": QUESTION, "replies": [ANSWER]},
    }
    return pipeline.run(asked, include_outputs_from={"retriever"})


def langfuse_observations():
    """Observations in the form in which Langfuse's own client returns them."""
    now = datetime(2026, 11, 23, tzinfo=UTC)
    common = {
        "trace_id": "t1",
        "start_time": now,
        "end_time": now,
        "project_id": "p",
        "level": "DEFAULT",
    }
    return [
        ObservationV2(id="o1", parent_observation_id=None, type="CHAIN", name="rag", input={"question": QUESTION}, output={"answer": ANSWER}, **common),
        ObservationV2(id="o2", parent_observation_id="o1", type="RETRIEVER", name="search", input=QUESTION, output=[{"page_content": text, "metadata": {}} for text in CONTEXTS], **common),
    ]  # fmt: skip


def main(folder: Path) -> None:
    sent = SimpleSpanProcessor(OTLPSpanExporter(f"{SERVER}/v1/traces"))
    spans = spans_of(LangChainInstrumentor(), ask_langchain, [sent])
    (folder / "openinference_langchain.json").write_text(json.dumps(spans, indent=1))
    spans = spans_of(LlamaIndexInstrumentor(), ask_llama_index)
    (folder / "openinference_llama_index.jsonl").write_text(
        "".join(json.dumps(span) + "\n" for span in spans)
    )
    time.sleep(5)  # Phoenix stores spans some time after it has taken them
    frame = Client(base_url=SERVER).spans.get_spans_dataframe()
    frame.to_csv(folder / "phoenix_spans.csv")
    frame.to_json(folder / "phoenix_spans.json", orient="records")
    (folder / "haystack.json").write_text(
        json.dumps(haystack_result(), default=lambda one: one.to_dict(), indent=1)
    )
    rows = [json.loads(one.model_dump_json(by_alias=True)) for one in langfuse_observations()]
    (folder / "langfuse_observations.json").write_text(json.dumps({"data": rows, "meta": {}}, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
