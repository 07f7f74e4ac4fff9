"""Labels over spans through LangChain's own splitters, vector store and runners: one set of labels, several chunkers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import Sample, SpanBasedContextPrecision, SpanBasedContextRecall
from support.later import later, skip_without
from support.runners import runner_of

skip_without("langchain_core", "langchain_text_splitters", "langsmith")

langchain_core = later("langchain_core")
langchain_text_splitters = later("langchain_text_splitters")
ours = later("ctxmetrics_langchain")


TEXT = (Path(__file__).parents[3] / "docs" / "conventions.md").read_text(encoding="utf-8")
SOURCE = "docs/conventions.md"


def label(quote: str) -> str:
    start = TEXT.index(quote)
    return f"{SOURCE}#char={start},{start + len(quote)}"


LABELS = [label(TEXT[200:520]), label(TEXT[2_000:2_300])]
SPLITTERS: dict[str, tuple[str, dict[str, Any]]] = {
    "200": ("RecursiveCharacterTextSplitter", {"chunk_size": 200, "chunk_overlap": 0}),
    "500": ("RecursiveCharacterTextSplitter", {"chunk_size": 500, "chunk_overlap": 0}),
    "1000": ("RecursiveCharacterTextSplitter", {"chunk_size": 1000, "chunk_overlap": 0}),
    "overlap": ("RecursiveCharacterTextSplitter", {"chunk_size": 500, "chunk_overlap": 200}),
    "sentences": (
        "CharacterTextSplitter",
        {"separator": ". ", "chunk_size": 120, "chunk_overlap": 0},
    ),
    "whole": ("CharacterTextSplitter", {"separator": "\0", "chunk_size": 10**9, "chunk_overlap": 0}),
}
"""A class of LangChain and its options, by a name of our own."""


def chunks(splitter: str) -> list[langchain_core.documents.Document]:
    document = langchain_core.documents.Document(TEXT, metadata={"source": SOURCE})
    kind, options = SPLITTERS[splitter]
    made = getattr(langchain_text_splitters, kind)(add_start_index=True, **options)
    return made.split_documents([document])


def touching(splitter: str) -> list[langchain_core.documents.Document]:
    """The chunks that hold a part of a label: what a perfect retriever returns."""
    bounds = [tuple(map(int, one.rsplit("=", 1)[1].split(","))) for one in LABELS]
    spans = [(one, one.metadata["start_index"]) for one in chunks(splitter)]
    return [
        one
        for one, at in spans
        if any(at < end and start < at + len(one.page_content) for start, end in bounds)
    ]


def sample(splitter: str) -> Sample:
    return Sample(
        user_input="q",
        response="r",
        retrieved_contexts=touching(splitter),
        reference_context_ids=LABELS,
    )


def test_the_same_labels_hold_for_every_chunking() -> None:
    recalls = {name: SpanBasedContextRecall().score(sample(name)).value or 0 for name in SPLITTERS}
    precisions = {
        name: SpanBasedContextPrecision().score(sample(name)).value or 0 for name in SPLITTERS
    }
    assert recalls["whole"] == 1.0
    # A splitter takes white space off the ends of chunks; a label that is cut in two loses nothing else.
    assert min(recalls.values()) > 0.97
    assert precisions["whole"] == min(precisions.values())
    assert precisions["200"] > precisions["1000"] > precisions["whole"]
    assert precisions["500"] >= precisions["overlap"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ragas.evaluate", "deepeval.evaluate", "langsmith.evaluate", "langchain.lcel"]
)
def test_the_runners_agree_with_the_core(name: str) -> None:
    runner = runner_of(name)
    samples = [sample(splitter) for splitter in SPLITTERS]
    for metric in (SpanBasedContextRecall(), SpanBasedContextPrecision(formula="iou")):
        assert runner.score(metric, samples) == [metric.score(one).value for one in samples]


def store() -> langchain_core.vectorstores.InMemoryVectorStore:
    found = langchain_core.vectorstores.InMemoryVectorStore(
        langchain_core.embeddings.DeterministicFakeEmbedding(size=8)
    )
    found.add_documents(chunks("500"))
    return found


def expected(documents: list[langchain_core.documents.Document]) -> float | None:
    ids = [
        f"{SOURCE}#char={one.metadata['start_index']},{one.metadata['start_index'] + len(one.page_content)}"
        for one in documents
    ]
    return (
        SpanBasedContextRecall()
        .score(Sample(retrieved_context_ids=ids, reference_context_ids=LABELS))
        .value
    )


def test_langsmith_evaluates_a_retriever_without_glue_code(client: Any) -> None:
    from datetime import UTC, datetime
    from uuid import uuid4

    from langsmith import evaluate
    from langsmith.schemas import Example

    retriever = store().as_retriever(search_kwargs={"k": 30})
    example = Example(
        id=uuid4(),
        dataset_id=uuid4(),
        created_at=datetime.now(UTC),
        inputs={"question": "q"},
        outputs={"reference_context_ids": LABELS},
    )
    results: Any = evaluate(
        lambda inputs: {"documents": retriever.invoke(inputs["question"])},
        data=[example],
        evaluators=[ours.SpanBasedContextRecallEvaluator(), ours.SpanBasedContextPrecisionEvaluator()],
        upload_results=False,
        client=client,
    )
    (row,) = list(results)
    scores = {one.key: one.score for one in row["evaluation_results"]["results"]}
    documents = row["run"].outputs["documents"]
    assert documents[0].id is not None
    assert scores["span_based_context_recall"] == expected(documents)
    assert scores["span_based_context_recall"] > 0


def test_lcel_scores_what_a_retriever_found_without_glue_code() -> None:
    retriever = store().as_retriever(search_kwargs={"k": 30})
    found = langchain_core.runnables.RunnableLambda(
        lambda question: {
            "inputs": {"question": question},
            "outputs": {"documents": retriever.invoke(question)},
            "reference_outputs": {"reference_context_ids": LABELS},
        }
    )
    chain = found | ours.SpanBasedContextRecallEvaluator().as_runnable()
    result: Any = chain.invoke("q")
    assert result["score"] == expected(retriever.invoke("q"))
