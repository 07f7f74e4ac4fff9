"""Functions, coroutines and objects that stand for retrievers, also those of three frameworks with an in-memory store."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, acompare_retrievers, compare_retrievers
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.retrievers.calling import build_call

TEXTS = {"d1": "The tower is 330 metres tall.", "d2": "Bananas are yellow fruits."}
QUESTIONS = [
    {
        "id": "q1",
        "user_input": "How tall is the tower in metres?",
        "reference": "The tower is 330 metres tall.",
        "reference_context_ids": ["d1"],
    },
    {
        "id": "q2",
        "user_input": "Which fruits are yellow bananas?",
        "reference": "Bananas are yellow fruits.",
        "reference_context_ids": ["d2"],
    },
]
METRICS = [ContextRecall(), IDBasedContextRecall()]


def look_up(question: str) -> list[dict[str, str]]:
    id_ = "d1" if "tower" in question else "d2"
    return [{"id": id_, "text": TEXTS[id_]}]


async def look_up_later(question: str) -> list[dict[str, str]]:
    await asyncio.sleep(0)
    return look_up(question)


class Callable_:
    def __call__(self, question: str) -> Any:
        return look_up(question)


class AsyncCallable:
    async def __call__(self, question: str) -> Any:
        return look_up(question)


class Invokes:
    """Both methods; each says that it was called."""

    def __init__(self) -> None:
        self.called: set[str] = set()

    def invoke(self, question: str) -> Any:
        self.called.add("invoke")
        return look_up(question)

    async def ainvoke(self, question: str) -> Any:
        self.called.add("ainvoke")
        return look_up(question)


class OnlyRetrieves:
    def retrieve(self, question: str) -> Any:
        return look_up(question)


class OnlyRetrievesLater:
    async def aretrieve(self, question: str) -> Any:
        return look_up(question)


class NoSyncForm(Invokes):
    def invoke(self, question: str) -> Any:
        raise NotImplementedError  # as LangChain's retrievers that are async only


class Component:
    def run(self, query: str, top_k: int = 3) -> Any:
        return {"documents": look_up(query)}


class Pipeline:
    """As Haystack's: it says what its components wait for."""

    def inputs(self) -> Any:
        return {
            "embedder": {"text": {"is_mandatory": True}},
            "bm25": {"query": {"is_mandatory": True}, "top_k": {}},
        }

    def run(self, data: Any) -> Any:
        assert data["embedder"]["text"] == data["bm25"]["query"]
        return {"joiner": {"documents": look_up(data["embedder"]["text"])}}


async def _pages(question: str) -> Any:
    for document in look_up(question):
        yield document


RETRIEVERS: dict[str, Any] = {
    "function": look_up,
    "coroutine function": look_up_later,
    "partial": partial(look_up),
    "lambda that returns a coroutine": lambda question: partial(look_up_later, question)(),
    "async generator": _pages,
    "callable object": Callable_(),
    "async callable object": AsyncCallable(),
    "invoke": Invokes(),
    "retrieve": OnlyRetrieves(),
    "aretrieve": OnlyRetrievesLater(),
    "no sync form": NoSyncForm(),
    "component": Component(),
    "pipeline": Pipeline(),
}


def values_of(found: Any, name: str) -> list[list[float | None]]:
    return [[score.value for score in row.scores] for row in found[name].results]


def test_every_kind_of_retriever_is_asked_in_sync_code() -> None:
    found = compare_retrievers(QUESTIONS, RETRIEVERS, METRICS)
    for name in RETRIEVERS:
        assert found[name].calls.errors == 0, found[name].calls.first_errors
        assert values_of(found, name) == [[1.0, 1.0], [1.0, 1.0]]


def test_every_kind_of_retriever_is_asked_in_a_loop() -> None:
    found = asyncio.run(acompare_retrievers(QUESTIONS, RETRIEVERS, METRICS))
    for name in RETRIEVERS:
        assert found[name].calls.errors == 0, found[name].calls.first_errors
        assert values_of(found, name) == [[1.0, 1.0], [1.0, 1.0]]


def test_the_method_is_that_of_the_loop() -> None:
    sync, later = Invokes(), Invokes()
    compare_retrievers(QUESTIONS, {"one": sync}, METRICS)
    asyncio.run(acompare_retrievers(QUESTIONS, {"one": later}, METRICS))
    assert (sync.called, later.called) == ({"invoke"}, {"ainvoke"})


def test_coroutines_run_in_the_loop_of_the_caller() -> None:
    loops = []

    async def ask(question: str) -> Any:
        loops.append(asyncio.get_running_loop())
        return look_up(question)

    async def main() -> Any:
        await acompare_retrievers(QUESTIONS, {"one": ask}, METRICS)
        return asyncio.get_running_loop()

    assert [asyncio.run(main())] * 2 == loops


def test_a_sync_function_does_not_hold_up_the_loop() -> None:
    threads = []

    def ask(question: str) -> Any:
        threads.append(threading.current_thread())
        return look_up(question)

    async def main() -> Any:
        await acompare_retrievers(QUESTIONS, {"one": ask}, METRICS)
        return threading.current_thread()

    assert asyncio.run(main()) not in threads


class NeedsAnEmbedding:
    def run(self, query_embedding: list[float], top_k: int = 3) -> Any: ...


class WaitsForMore(Pipeline):
    def inputs(self) -> Any:
        return {"bm25": {"query": {"is_mandatory": True}, "tenant": {"is_mandatory": True}}}


class WaitsForNoQuestion(Pipeline):
    def inputs(self) -> Any:
        return {"joiner": {"top_k": {"is_mandatory": False}}}


class Store:
    def as_retriever(self) -> Any: ...


@pytest.mark.parametrize(
    ("retriever", "says"),
    [
        ("a text", "cannot be asked"),
        (Store(), "Give its as_retriever"),
        (Invokes, "is the class Invokes"),
        (NeedsAnEmbedding(), "takes query_embedding"),
        (WaitsForMore(), "waits for tenant"),
        (WaitsForNoQuestion(), "no component"),
    ],
)
def test_what_is_no_retriever_is_refused_before_any_call(retriever: Any, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        build_call(retriever, "mine")


# --- real objects ---


def test_langchain_vector_store_and_bm25_runnable() -> None:
    documents = pytest.importorskip("langchain_core.documents")
    stores = pytest.importorskip("langchain_core.vectorstores")
    embeddings = pytest.importorskip("langchain_core.embeddings")
    runnables = pytest.importorskip("langchain_core.runnables")

    class Words(embeddings.Embeddings):  # type: ignore[name-defined, misc, unused-ignore]  # the package may be absent
        def embed_query(self, text: str) -> list[float]:
            return [float(word in text.casefold()) for word in ("tower", "banana", "the")]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

    store = stores.InMemoryVectorStore.from_documents(
        [documents.Document(text, id=id_) for id_, text in TEXTS.items()], Words()
    )
    retrievers = {
        "retriever": store.as_retriever(search_kwargs={"k": 1}),
        "runnable": runnables.RunnableLambda(look_up),
        "with scores": lambda question: store.similarity_search_with_score(question, k=1),
    }
    found = compare_retrievers(QUESTIONS, retrievers, METRICS)
    later = asyncio.run(acompare_retrievers(QUESTIONS, retrievers, METRICS))
    for name in retrievers:
        assert values_of(found, name) == [[1.0, 1.0], [1.0, 1.0]]
        assert values_of(later, name) == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.slow  # the import of the library
def test_llamaindex_retriever_of_an_index_in_memory() -> None:
    core = pytest.importorskip("llama_index.core")
    schema = pytest.importorskip("llama_index.core.schema")
    embeddings = pytest.importorskip("llama_index.core.base.embeddings.base")

    class Words(embeddings.BaseEmbedding):  # type: ignore[name-defined, misc, unused-ignore]  # the package may be absent
        def _get_query_embedding(self, query: str) -> list[float]:
            return [float(word in query.casefold()) for word in ("tower", "banana", "the")]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_query_embedding(text)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

    nodes = [schema.TextNode(text=text, id_=id_) for id_, text in TEXTS.items()]
    index = core.VectorStoreIndex(nodes, embed_model=Words())
    retrievers = {"index": index.as_retriever(similarity_top_k=1)}
    found = compare_retrievers(QUESTIONS, retrievers, METRICS)
    later = asyncio.run(acompare_retrievers(QUESTIONS, retrievers, METRICS))
    assert found["index"].calls.errors == 0, found["index"].calls.first_errors
    assert values_of(found, "index") == values_of(later, "index") == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.slow  # the import of the library
def test_haystack_component_and_pipeline_over_a_store() -> None:
    haystack = pytest.importorskip("haystack")
    stores = pytest.importorskip("haystack.document_stores.in_memory")
    components = pytest.importorskip("haystack.components.retrievers.in_memory")

    store = stores.InMemoryDocumentStore()
    store.write_documents([haystack.Document(id=id_, content=text) for id_, text in TEXTS.items()])
    pipeline = haystack.Pipeline()
    pipeline.add_component("bm25", components.InMemoryBM25Retriever(store, top_k=1))
    retrievers = {"component": components.InMemoryBM25Retriever(store, top_k=1), "pipeline": pipeline}
    found = compare_retrievers(QUESTIONS, retrievers, METRICS)
    for name in retrievers:
        assert found[name].calls.errors == 0, found[name].calls.first_errors
        assert values_of(found, name) == [[1.0, 1.0], [1.0, 1.0]]


def test_seconds_of_a_generator_are_those_of_its_work() -> None:
    release = threading.Event()

    def slow_texts(question: str) -> Any:
        release.wait(0.2)  # never set
        yield look_up(question)[0]["text"]

    (call,) = compare_retrievers(QUESTIONS[:1], {"x": slow_texts}, METRICS[:1]).settings.values()
    assert call.results[0]["context_recall"].value == 1.0
    assert call.calls.median_seconds is not None
    assert call.calls.median_seconds > 0.1


def test_the_time_limit_holds_for_a_generator() -> None:
    release = threading.Event()

    def endless_texts(question: str) -> Any:
        release.wait()
        yield question

    comparison = compare_retrievers(
        QUESTIONS[:1], {"x": endless_texts}, METRICS[:1], retrieval_timeout=0.05
    )
    release.set()
    assert comparison["x"].calls.first_errors == (("q1", "no answer within 0.05 s"),)


def test_a_coroutine_may_return_an_async_iterator() -> None:
    async def texts(question: str) -> Any:
        yield look_up(question)[0]["text"]

    async def ask(question: str) -> Any:
        return texts(question)

    comparison = compare_retrievers(QUESTIONS, {"x": ask}, METRICS[:1])
    assert comparison["x"].results.summary()["context_recall"].mean == 1.0


def test_ids_returned_as_texts_are_no_contexts() -> None:
    with pytest.raises(ParameterError, match=r"'x' returned ids as texts: 'd1' .* Sample 'q1'"):
        compare_retrievers(QUESTIONS, {"x": lambda _: ["d1", "d2"]}, METRICS[:1])


def test_a_cluster_that_no_question_has_asks_nothing() -> None:
    asked: list[str] = []

    def ask(question: str) -> list[str]:
        asked.append(question)
        return []

    with pytest.raises(ParameterError, match="has no 'topic'"):
        compare_retrievers(QUESTIONS, {"x": ask, "y": ask}, METRICS[:1], cluster="topic")
    assert asked == []


def test_a_large_k_costs_no_memory() -> None:
    comparison = compare_retrievers(QUESTIONS, {"x": look_up}, METRICS[:1], k=10**12)
    (points,) = comparison.curves()["context_recall"].values()
    assert [(point.k, point.recall) for point in points] == [(1, 1.0)]
