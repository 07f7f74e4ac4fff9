"""Several retrievers and rerankers of one trace are stages; so are columns of a file."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate, read_samples
from ctxmetrics.errors import MissingFieldError, SampleError
from ctxmetrics.metrics.ids import IDBasedContextRecall
from ctxmetrics.samples.retrievals import Retrieval
from ctxmetrics.samples.schema import Place, Schema
from support.command import run_command
from support.openinference_tracer import make_tracer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A, B, C, D = "The tower is tall.", "It was built in 1889.", "Bananas are yellow.", "It stands in Paris."
QUESTION = "What about the tower?"


def documents(*texts: str) -> list[dict[str, str]]:
    return [{"page_content": text, "id": text[:5]} for text in texts]


def span(
    name: str, kind: str, at: int, found: Any, parent: str | None = "root", **more: Any
) -> dict[str, Any]:
    return {
        "id": f"{name}{at}", "name": name, "trace_id": "t", "parent_run_id": parent, "run_type": kind,
        "start_time": f"2026-01-01T00:00:{at:02}", "inputs": {"query": "q"}, "outputs": {"documents": found}, **more,
    }  # fmt: skip


ROOT = {
    "id": "root", "name": "app", "trace_id": "t", "parent_run_id": None, "run_type": "chain",
    "start_time": "2026-01-01T00:00:00", "inputs": {"question": QUESTION}, "outputs": {"answer": "Tall."},
}  # fmt: skip


def sample_of(folder: Path, *spans: dict[str, Any]) -> Sample:
    path = folder / "spans.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*spans, ROOT)), encoding="utf-8")
    (sample,) = read_samples(path)
    return sample


def texts_of(sample: Sample) -> dict[str, tuple[str, ...] | None]:
    return {name: stage.contexts for name, stage in (sample.stages or {}).items()}


def test_two_retrievers_and_a_reranker_are_stages_in_time(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path,
        span("rank", "reranker", 3, documents(B, A)),
        span("words", "retriever", 2, documents(B, C)),
        span("vectors", "retriever", 1, documents(A, B)),
    )
    assert [*texts_of(sample).items()] == [
        ("vectors", (A, B)),
        ("words", (B, C)),
        ("joined", (A, B, B, C)),  # what the reranker chose from
        ("rank", (B, A)),
    ]
    assert sample.retrieved_contexts == (B, A)
    assert sample.retrieved_context_ids == ("It wa", "The t")
    assert sample.user_input == QUESTION


def test_last_stage_joins_retrievers_without_a_reranker(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path, span("search", "retriever", 1, documents(A, B)), span("search", "retriever", 2, documents(B, C))
    )  # fmt: skip
    assert texts_of(sample) == {"search": (A, B), "search 2": (B, C), "joined": (A, B, B, C)}
    assert sample.retrieved_contexts == (A, B, B, C)


def test_one_retriever_alone_has_no_stages(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, span("search", "retriever", 1, documents(A)))
    assert (sample.stages, sample.retrieved_contexts) == (None, (A,))


def test_a_retriever_inside_a_reranker_comes_before_it(tmp_path: Path) -> None:
    sample = sample_of(
        tmp_path,
        span("rank", "reranker", 1, documents(B), end_time="2026-01-01T00:00:09"),
        span("search", "retriever", 2, documents(A, B), parent="rank1"),
    )
    assert texts_of(sample) == {"search": (A, B), "rank": (B,)}


@pytest.mark.parametrize("kind", ["chain", "retriever", "tool"])
def test_a_span_that_is_called_so_reranks(tmp_path: Path, kind: str) -> None:
    sample = sample_of(
        tmp_path,
        span("search", "retriever", 1, documents(A, B)),
        span("Re-Rank", kind, 2, documents(B)),
    )
    assert texts_of(sample) == {"search": (A, B), "Re-Rank": (B,)}


@pytest.mark.parametrize("found", [["an-id"], "text", [{"index": 1, "score": 0.5}], None])
def test_misnamed_span_counts_only_with_documents(tmp_path: Path, found: Any) -> None:
    sample = sample_of(
        tmp_path, span("search", "retriever", 1, documents(A, B)), span("rerank", "tool", 2, found)
    )
    assert (sample.stages, sample.retrieved_contexts) == (None, (A, B))


def test_spans_without_ids_are_all_read(tmp_path: Path) -> None:
    """They stand in each other, so that no id says which belong together."""
    steps = [
        {"run_type": "retriever", "name": name, "outputs": {"documents": documents(text)}}
        for name, text in (("search", A), ("graph", B))
    ]
    trace = {"run_type": "chain", "inputs": {"question": "Where?"}, "child_runs": steps}
    (tmp_path / "t.json").write_text(json.dumps(trace), encoding="utf-8")
    (sample,) = read_samples(tmp_path / "t.json")
    assert texts_of(sample) == {"search": (A,), "graph": (B,), "joined": (A, B)}
    assert (sample.user_input, sample.retrieved_contexts) == ("Where?", (A, B))


HOP = [Retrieval("search", [A, C]), Retrieval("rerank", [A], reranks=True), Retrieval("search", [B, D])]


@pytest.mark.parametrize(
    ("more", "retrieved", "last"),
    [
        ([], (A, B, D), "joined"),  # a search after the reranker adds to it
        ([Retrieval("rerank", [B], reranks=True)], (A, B), "joined"),  # each hop has its own
        ([Retrieval("rerank", [D, A], reranks=True)], (D, A), "rerank 2"),  # it chose from all
        ([Retrieval("rerank", [], reranks=True)], (A,), "joined"),
        ([Retrieval("a", [B], reranks=True), Retrieval("b", [B], reranks=True)], (B,), "b"),
    ],
)
def test_a_reranker_chooses_from_what_it_hands_on_of(
    more: list[Retrieval], retrieved: tuple[str, ...], last: str
) -> None:
    schema = Schema(
        places={"retrieved_contexts": Place.of("outputs"), "stages": Place.of("outputs")},
        retrievals=lambda run: run,
    )
    sample = Sample(**schema.read({"run": [*HOP, *more]}, {}, ("retrieved_contexts", "stages")))
    assert sample.retrieved_contexts == retrieved
    names = [*texts_of(sample)]
    assert names[:3] == ["search", "rerank", "search 2"]
    assert names[-1] == last
    chosen = {"retriever": "search"}
    assert schema.read({"run": [*HOP, *more]}, chosen, ("retrieved_contexts",), ("stages",)) == {
        "id": None,
        "retrieved_contexts": [A, C, B, D],
        "stages": None,
    }


def test_step_without_visible_documents_is_no_stage(
    tmp_path: Path,
) -> None:
    hidden = span("search", "retriever", 1, None)
    words, rank = (
        span("words", "retriever", 2, documents(A, B)),
        span("rank", "reranker", 3, documents(B)),
    )
    assert texts_of(sample_of(tmp_path, hidden, words, rank)) == {"words": (A, B), "rank": (B,)}
    sample = sample_of(tmp_path, hidden, words)
    assert (sample.stages, sample.retrieved_contexts) == (None, None)


# --- real clients ---


def of_langsmith() -> Iterator[dict[str, Any]]:
    """What the client would send, one object a run."""
    run_trees = pytest.importorskip("langsmith.run_trees")
    client = Mock()
    root = run_trees.RunTree(name="app", inputs={"question": QUESTION}, ls_client=client)
    root.post()
    for name, found in (("vectors", (A, B)), ("words", (B, C)), ("rerank", (B, A))):
        child = root.create_child(name=name, run_type="retriever", inputs={"query": "q"})
        child.post()
        child.end(outputs={"documents": documents(*found)})
        child.patch()
    root.end(outputs={"answer": "Tall."})
    root.patch()
    sent = {call.kwargs["id"]: call.kwargs for call in client.create_run.call_args_list}
    for call in client.update_run.call_args_list:
        run = sent[call.kwargs["run_id"]]
        run |= {name: value for name, value in call.kwargs.items() if value is not None}
    yield from json.loads(json.dumps([*sent.values()], default=str))


def of_openinference() -> Iterator[dict[str, Any]]:
    openinference, tracer, read_spans = make_tracer()
    with tracer.start_as_current_span("app", openinference_span_kind="chain") as root:
        root.set_input(QUESTION)
        for name, found in (("vectors", (A, B)), ("words", (B, C))):
            with tracer.start_as_current_span(name, openinference_span_kind="retriever") as one:
                held = [openinference.Document(content=text, id=text[:5]) for text in found]
                one.set_attributes(openinference.get_retriever_attributes(documents=held))
        with tracer.start_as_current_span("rerank", openinference_span_kind="reranker") as one:
            held = [openinference.Document(content=text, id=text[:5]) for text in (B, A, C)]
            attributes = openinference.get_reranker_attributes(
                query="q", input_documents=held, output_documents=held[:2]
            )
            one.set_attributes(attributes)
    yield from read_spans()


def of_otel() -> Iterator[dict[str, Any]]:
    for number, (name, kind, found) in enumerate(
        [("vectors", "retrieval", (A, B)), ("words", "retrieval", (B, C)), ("rerank", "rerank", (B, A))]
    ):
        yield {
            "name": name,
            "context": {"trace_id": "0x1", "span_id": f"0x{number}"},
            "parent_id": None,
            "start_time": f"2026-01-01T00:00:0{number}.000000Z",
            "end_time": f"2026-01-01T00:00:0{number}.500000Z",
            "attributes": {
                "gen_ai.operation.name": kind,
                "gen_ai.retrieval.query.text": QUESTION,
                "gen_ai.retrieval.documents": json.dumps(
                    [{"content": text, "id": text[:5]} for text in found]
                ),
            },
        }


def of_mlflow() -> Iterator[dict[str, Any]]:
    mlflow = pytest.importorskip("mlflow")

    @mlflow.trace(span_type="CHAIN")
    def app(question: str) -> str:
        for name, kind, found in (
            ("vectors", "RETRIEVER", (A, B)), ("words", "RETRIEVER", (B, C)), ("rerank", "RERANKER", (B, A))
        ):  # fmt: skip
            with mlflow.start_span(name, span_type=kind) as one:
                one.set_inputs({"query": question})
                one.set_outputs(documents(*found))
        return "Tall."

    app(QUESTION)
    mlflow.flush_trace_async_logging()
    yield json.loads(mlflow.get_trace(mlflow.get_last_active_trace_id()).to_json())


@pytest.mark.parametrize(
    "spans", [of_langsmith, of_openinference, of_otel, pytest.param(of_mlflow, marks=pytest.mark.slow)]
)
def test_traces_of_real_clients_give_the_stages_without_options(tmp_path: Path, spans: Any) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([*spans()]), encoding="utf-8")
    (sample,) = read_samples(path)
    assert sample.user_input == QUESTION
    found = {"vectors": (A, B), "words": (B, C), "joined": (A, B, B, C), "rerank": (B, A)}
    assert [*texts_of(sample).items()] == [*found.items()]
    assert sample.retrieved_contexts == (B, A)
    assert [stage.ids for stage in (sample.stages or {}).values()] == [
        tuple(text[:5] for text in texts) for texts in found.values()
    ]
    results = evaluate(
        [Sample(reference_context_ids=["The t", "Banan"], stages=sample.stages)], [IDBasedContextRecall()],
        progress=False,
    )  # fmt: skip
    (lost,) = results.stages().lost
    assert (lost.unit, lost.stage, lost.dropped_by) == ("Banan", "joined", "rerank")


# --- files ---


ROW = {"user_input": QUESTION, "reference": f"{A} {B}"}


def in_csv(path: Path, *rows: dict[str, Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def in_jsonl(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def in_parquet(path: Path, *rows: dict[str, Any]) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    # An older pyarrow that finds the type of a mapping out sorts its keys.
    kinds = {
        name: pyarrow.struct([(key, pyarrow.list_(pyarrow.string())) for key in value])
        if isinstance(value, dict)
        else pyarrow.infer_type([value])
        for name, value in rows[0].items()
    }
    schema = pyarrow.schema([*kinds.items()])
    parquet.write_table(pyarrow.Table.from_pylist([*rows], schema), path)
    return path


COLUMNS = {
    "retrieved_contexts.search": [A, B, C],
    "retrieved_contexts.rerank": [B, A],
    "retrieved_contexts.b": [B],
}


def cells(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}


@pytest.mark.parametrize(
    ("write", "name", "shaped"),
    [(in_csv, "a.csv", cells), (in_jsonl, "a.jsonl", dict), (in_parquet, "a.parquet", dict)],
)
@pytest.mark.parametrize(
    "row", [COLUMNS, {"stages": {name.partition(".")[2]: texts for name, texts in COLUMNS.items()}}]
)
def test_stages_stand_in_columns_or_in_one_mapping(
    tmp_path: Path, write: Any, name: str, shaped: Any, row: dict[str, Any]
) -> None:
    path = write(tmp_path / name, shaped({**ROW, **row}), shaped({**ROW, **row}))
    for sample in read_samples(path):
        assert [*texts_of(sample).items()] == [("search", (A, B, C)), ("rerank", (B, A)), ("b", (B,))]
        assert sample.retrieved_contexts == (B,)
    done = run_command("inspect", path)
    assert "  stages                 stages      'search, rerank, b'\n" in done.stdout
    assert "metrics that can run: context_recall, context_precision\n" in done.stdout
    assert "no metric can use" not in done.stdout
    assert "metadata" not in done.stdout


def test_a_stage_that_a_row_has_not_is_left_out(tmp_path: Path) -> None:
    later = {**ROW, **COLUMNS, "retrieved_contexts.b": ""}
    _, sample = read_samples(in_csv(tmp_path / "a.csv", cells({**ROW, **COLUMNS}), cells(later)))
    assert [*texts_of(sample)] == ["search", "rerank"]
    nothing = {**ROW, **dict.fromkeys(COLUMNS, "")}
    _, sample = read_samples(in_csv(tmp_path / "b.csv", cells({**ROW, **COLUMNS}), cells(nothing)))
    assert (sample.stages, sample.retrieved_contexts) == (None, None)


def test_both_forms_in_one_file_are_an_error(tmp_path: Path) -> None:
    path = in_jsonl(tmp_path / "a.jsonl", {**ROW, **COLUMNS, "stages": {"x": [A]}})
    with pytest.raises(
        SampleError, match=r"a\.jsonl: both 'stages' and 'retrieved_contexts\.search' are given"
    ):
        [*read_samples(path)]
    rows = [{**ROW, **COLUMNS}] * 200
    path = in_jsonl(tmp_path / "b.jsonl", *rows, {**ROW, **COLUMNS, "stages": {"x": [A]}})
    with pytest.raises(SampleError, match=r"b\.jsonl, line 201: both 'stages' and"):
        [*read_samples(path)]


def test_what_was_retrieved_beside_its_stages_is_the_last_one(tmp_path: Path) -> None:
    path = in_jsonl(tmp_path / "a.jsonl", {**ROW, **COLUMNS, "retrieved_contexts": [A]})
    with pytest.raises(
        SampleError, match="the last stage, 'b', is not what 'retrieved_contexts' holds"
    ):
        [*read_samples(path)]


def test_a_column_that_is_mapped_is_no_stage(tmp_path: Path) -> None:
    path = in_jsonl(tmp_path / "a.jsonl", {**ROW, "retrieved_contexts.search": [A, B]})
    (sample,) = read_samples(path, columns={"retrieved_contexts.search": "retrieved_contexts"})
    assert (sample.stages, sample.retrieved_contexts) == (None, (A, B))


def test_the_stages_of_documents_have_ids_of_one_kind() -> None:
    held = [{"text": A, "id": "1", "source": "a.md", "start_index": 3}]
    sample = Sample(
        retrieved_contexts=held,
        reference_context_ids=["a.md#char=0,9"],
        stages={"search": held * 2, "cut": held},
    )
    assert sample.retrieved_context_ids == (f"a.md#char=3,{3 + len(A)}",)
    assert {stage.ids for stage in (sample.stages or {}).values()} == {
        sample.retrieved_context_ids,
        sample.retrieved_context_ids * 2,
    }


def test_partial_matches_are_dropped_by_the_reranker_alone(
    tmp_path: Path,
) -> None:
    """Retrievers beside each other drop nothing: the reranker chose from what both found."""
    sample = sample_of(
        tmp_path,
        span("vectors", "retriever", 1, documents(A, B)),
        span("words", "retriever", 2, documents(B, C)),
        span("rank", "reranker", 3, documents(B)),
    )
    labelled = Sample(reference_context_ids=[A[:5], C[:5], "none"], stages=sample.stages, id="q")
    found = evaluate([labelled], [IDBasedContextRecall()], progress=False).stages()
    assert found.causes == {"never found": 1, "dropped by rank": 2}
    assert str(found.lost[0]) == "q, The t: The t of joined (rank 1), dropped by rank: The t"


# --- tools that search, of agents without a retriever ---

FIRST, SECOND = "How tall is the tower?", "Where are bananas grown?"
CALLS = ((FIRST, (A, B)), (SECOND, (C,)))


def tools_of_langsmith() -> Iterator[dict[str, Any]]:
    """Yield what LangSmith's tracer of LangChain sends when tools run below a chain."""
    pytest.importorskip("langsmith")
    tools = pytest.importorskip("langchain_core.tools")
    from langchain_core.documents import Document
    from langchain_core.messages import ToolCall
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tracers.langchain import LangChainTracer
    from langsmith._internal._serde import dumps_json

    def search(query: str):
        found = [Document(text) for text in dict(CALLS)[query]]
        return "\n".join(document.page_content for document in found), found

    search_handbook = tools.StructuredTool.from_function(
        search, name="search_handbook", description="Search.", response_format="content_and_artifact"
    )

    def act(_: str, config: Any) -> str:
        for number, (query, _) in enumerate(CALLS):
            call = ToolCall(
                name="search_handbook", args={"query": query}, id=f"c{number}", type="tool_call"
            )
            search_handbook.invoke(call, config)
        return "Tall."

    client = Mock()
    tracer = LangChainTracer(client=client)
    RunnableLambda(act).with_config(run_name="agent").invoke(QUESTION, {"callbacks": [tracer]})
    tracer.wait_for_futures()
    sent = {call.kwargs["id"]: call.kwargs for call in client.create_run.call_args_list}
    for call in client.update_run.call_args_list:
        run = sent[call.kwargs["run_id"]]
        run |= {name: value for name, value in call.kwargs.items() if value is not None}
    yield from json.loads(dumps_json([*sent.values()]))


def tools_of_openinference() -> Iterator[dict[str, Any]]:
    _, tracer, read_spans = make_tracer()
    with tracer.start_as_current_span("agent", openinference_span_kind="agent") as root:
        root.set_input(QUESTION)
        for query, texts in CALLS:
            with tracer.start_as_current_span("search", openinference_span_kind="tool") as one:
                one.set_input({"query": query})
                one.set_output([{"content": text, "id": text[:5]} for text in texts])
        with tracer.start_as_current_span("calculator", openinference_span_kind="tool") as one:
            one.set_input({"term": "1 + 1"})
            one.set_output("2")
    yield from read_spans()


def tools_of_mlflow() -> Iterator[dict[str, Any]]:
    mlflow = pytest.importorskip("mlflow")

    @mlflow.trace(span_type="TOOL")
    def search_handbook(query: str) -> list[dict[str, str]]:
        return [{"page_content": text} for text in dict(CALLS)[query]]

    @mlflow.trace(span_type="AGENT")
    def agent(question: str) -> str:
        for query, _ in CALLS:
            search_handbook(query)
        return "Tall."

    agent(QUESTION)
    mlflow.flush_trace_async_logging()
    yield json.loads(mlflow.get_trace(mlflow.get_last_active_trace_id()).to_json())


def tools_of_langfuse() -> Iterator[dict[str, Any]]:
    spans = [
        {"id": "0", "traceId": "t", "type": "AGENT", "input": {"question": QUESTION}, "name": "agent"}
    ]
    for number, (query, texts) in enumerate(CALLS, 1):
        output = {"results": [{"text": text, "score": 0.5} for text in texts]}
        span = {"id": str(number), "traceId": "t", "parentObservationId": "0", "type": "TOOL"}
        span |= {
            "name": "kb_lookup",
            "input": {"q": query},
            "output": output,
            "startTime": f"2026-01-01T00:0{number}",
        }
        spans.append(span)
    yield from spans


@pytest.mark.parametrize(
    "spans",
    [
        tools_of_langsmith,
        tools_of_openinference,
        pytest.param(tools_of_mlflow, marks=pytest.mark.slow),
        tools_of_langfuse,
    ],
)
def test_tools_that_search_are_searches(tmp_path: Path, spans: Any) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps([*spans()]), encoding="utf-8")
    (sample,) = read_samples(path)
    assert sample.user_input == QUESTION
    assert [(search.query, search.contexts) for search in sample.searches or ()] == [*CALLS]
    assert sample.retrieved_contexts == (A, B, C)


def test_a_tool_that_does_not_search_retrieves_nothing(tmp_path: Path) -> None:
    span = {"trace_id": "t", "run_type": "tool", "name": "calculator", "inputs": {"term": "1 + 1"}}
    path = tmp_path / "trace.json"
    root = {"trace_id": "t", "id": "0", "run_type": "chain", "inputs": {"question": QUESTION}}
    path.write_text(
        json.dumps([root, {**span, "id": "1", "parent_run_id": "0", "outputs": {"output": "2"}}])
    )
    with pytest.raises(MissingFieldError, match="retrieved_contexts"):
        evaluate(read_samples(path), [ContextRecall()], progress=False)


def test_a_search_that_failed_is_a_search_without_contexts(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    root = {"trace_id": "t", "id": "0", "run_type": "chain", "inputs": {"question": QUESTION}}
    spans = [root]
    for number, (query, texts) in enumerate(CALLS, 1):
        one = {
            "trace_id": "t",
            "id": str(number),
            "parent_run_id": "0",
            "run_type": "tool",
            "name": "search",
        }
        one |= {"inputs": {"query": query}, "start_time": f"2026-01-01T00:0{number}"}
        result = {"error": "Timeout"} if number == 2 else {"outputs": {"output": [*texts]}}
        spans.append(one | result)
    path.write_text(json.dumps(spans))
    (sample,) = read_samples(path)
    assert [search.contexts for search in sample.searches or ()] == [(A, B), ()]


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ('{"price": 12}', '{"price": 12}'),
        ({"price": 12, "note": None}, '{"price": 12, "note": null}'),
        ([{"role": "assistant", "content": "Tall."}], "Tall."),
        ({"docs": [A], "generation": "Tall."}, None),  # the state of a program
        ({"error": "timeout"}, None),
    ],
)
def test_an_answer_may_be_an_object_or_messages(tmp_path: Path, output: Any, answer: Any) -> None:
    path = tmp_path / "trace.json"
    root = {**ROOT, "inputs": [{"role": "user", "content": QUESTION}], "outputs": output}
    path.write_text(json.dumps([root, span("vectors", "retriever", 1, documents(A))]))
    (sample,) = read_samples(path)
    assert (sample.user_input, sample.response) == (QUESTION, answer)
