"""Files that people have, as the real libraries write them: what is read is right, and so is what an error says to write.

What cannot be installed here was run once: the files are in ``exports/``, with the script that made them. Shapes of the
documentation (Langfuse's tables, a promptfoo provider with metadata) are said to be such.
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import Sample, read_samples
from ctxmetrics.errors import SampleError
from ctxmetrics.evaluation.files.formats import ALL_SCHEMAS
from ctxmetrics.evaluation.files.recognition import recognise
from support.cases import each_case
from support.command import run_command
from support.exports import ANSWER, CONTEXTS, DOCUMENTS, EXPECTED, QUESTION, REFERENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def in_json(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, default=str), encoding="utf-8")
    return path


def in_csv(path: Path, row: dict[str, Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([row, [*row.values()]])
    return path


# --- what the libraries write ---


def retriever() -> Any:
    documents = pytest.importorskip("langchain_core.documents")
    from langchain_core.retrievers import BaseRetriever

    class Retriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
            return [
                documents.Document(text, metadata={"source": f"{n}.md"})
                for n, text in enumerate(CONTEXTS)
            ]

    return Retriever()


def retrieval_qa(*, sources: bool = True) -> dict[str, Any]:
    chains = pytest.importorskip("langchain_classic.chains")
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    model = FakeListChatModel(responses=[ANSWER])
    chain = chains.RetrievalQA.from_chain_type(
        model, retriever=retriever(), return_source_documents=sources
    )
    return dict(chain.invoke({"query": QUESTION}))


def langchain_dumps(folder: Path) -> Path:
    dumps = pytest.importorskip("langchain_core.load").dumps
    path = folder / "chain.json"
    path.write_text(dumps({**retrieval_qa(), "reference": REFERENCE}), encoding="utf-8")
    return path


def langchain_models(folder: Path) -> Path:
    found = retrieval_qa()
    documents = [document.model_dump() for document in found["source_documents"]]
    return in_json(
        folder / "chain.json", [{**found, "source_documents": documents, "reference": REFERENCE}]
    )


def langchain_pandas(folder: Path) -> Path:
    import pandas as pd

    pd.DataFrame([{**retrieval_qa(), "reference": REFERENCE}]).to_csv(folder / "chain.csv", index=False)
    return folder / "chain.csv"


def langchain_without_sources(folder: Path) -> Path:
    return in_json(folder / "chain.json", [retrieval_qa(sources=False)])


def langchain_retrieval_chain(folder: Path) -> Path:
    retrieval_qa()  # skips where LangChain is not installed
    from langchain_classic.chains import create_retrieval_chain
    from langchain_core.load import dumps
    from langchain_core.runnables import RunnableLambda

    chain = create_retrieval_chain(retriever(), RunnableLambda(lambda _: ANSWER))
    found = {**chain.invoke({"input": QUESTION}), "reference": REFERENCE}
    (folder / "chain.json").write_text(dumps([found]), encoding="utf-8")
    return folder / "chain.json"


def langsmith_run(folder: Path) -> Path:
    retrieval_qa()
    from langchain_classic.chains import create_retrieval_chain
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

    collector = RunCollectorCallbackHandler()
    chain = create_retrieval_chain(retriever(), RunnableLambda(lambda _: ANSWER))
    chain.invoke({"input": QUESTION}, config={"callbacks": [collector]})
    run = collector.traced_runs[0].model_dump()
    return in_json(folder / "run.json", [{**run, "reference_outputs": {"answer": REFERENCE}}])


def ragas_test_set(folder: Path) -> Path:
    schema = pytest.importorskip("ragas.testset.synthesizers.testset_schema")
    from ragas import SingleTurnSample

    sample = SingleTurnSample(user_input=QUESTION, reference=REFERENCE, reference_contexts=CONTEXTS)
    rows = [schema.TestsetSample(eval_sample=sample, synthesizer_name="single_hop_specific")]
    schema.Testset(samples=rows).to_csv(folder / "set.csv")
    return folder / "set.csv"


def deepeval_file(folder: Path, kind: str, contexts: list[str] | None) -> Path:
    dataset = pytest.importorskip("deepeval.dataset")
    golden = dataset.Golden(
        input=QUESTION, actual_output=ANSWER, expected_output=REFERENCE, retrieval_context=contexts
    )
    goldens = dataset.EvaluationDataset(goldens=[golden])
    goldens.save_as(kind, str(folder), file_name="set", include_test_cases=False)
    return folder / f"set.{kind}"


def deepeval_goldens(folder: Path) -> Path:
    return deepeval_file(folder, "csv", None)


def deepeval_csv(folder: Path) -> Path:
    return deepeval_file(folder, "csv", CONTEXTS)


def deepeval_json_lines(folder: Path) -> Path:
    return deepeval_file(folder, "jsonl", CONTEXTS)


def mlflow_traces(folder: Path) -> Path:
    """A trace that ``json.dumps`` writes: its request and response are objects."""
    return in_json(
        folder / "traces.json",
        [
            {
                "trace_id": "t",
                "request": {"question": QUESTION},
                "response": {"answer": ANSWER},
                "spans": [],
            }
        ],
    )


def spans_of(attributes: dict[str, Any], folder: Path) -> Path:
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("rag").start_as_current_span("retrieval", attributes=attributes):
        pass
    return in_json(
        folder / "spans.json", [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    )


def otel_span(folder: Path) -> Path:
    documents = [{"id": str(n), "content": text} for n, text in enumerate(CONTEXTS)]
    return spans_of(
        {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.retrieval.query.text": QUESTION,
            "gen_ai.retrieval.documents": json.dumps(documents),
        },
        folder,
    )


def openinference_span(folder: Path) -> Path:
    flat = {f"retrieval.documents.{n}.document.content": text for n, text in enumerate(CONTEXTS)}
    return spans_of({"openinference.span.kind": "RETRIEVER", "input.value": QUESTION, **flat}, folder)


def export(name: str) -> Callable[[Path], Path]:
    """A file that a library wrote: see ``exports/make.py``."""

    def write(folder: Path) -> Path:
        return Path(shutil.copy(Path(__file__).parent / "exports" / name, folder))

    write.__name__ = name
    return write


def traced(run: Any) -> Iterator[dict[str, Any]]:
    yield run.model_dump()
    for child in run.child_runs:
        yield from traced(child)


def langsmith_runs() -> list[dict[str, Any]]:
    """All runs of a trace. A retriever's run is below the chain's, whose own output holds the answer alone."""
    retrieval_qa()
    from langchain_classic.chains import create_retrieval_chain
    from langchain_core.runnables import RunnableLambda
    from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

    collector = RunCollectorCallbackHandler()
    chain = create_retrieval_chain(retriever(), RunnableLambda(lambda _: ANSWER)).pick("answer")
    chain.invoke({"input": QUESTION}, config={"callbacks": [collector]})
    root, *below = traced(collector.traced_runs[0])
    return [{**root, "reference_outputs": {"answer": REFERENCE}}, *below]


def langsmith_list(folder: Path) -> Path:
    path = folder / "runs.jsonl"
    path.write_text("".join(json.dumps(run, default=str) + "\n" for run in langsmith_runs()))
    return path


def langsmith_tree(folder: Path) -> Path:
    root, *below = langsmith_runs()
    return in_json(folder / "tree.json", {**root, "child_runs": below})


def llamaindex_nodes() -> list[Any]:
    schema = pytest.importorskip("llama_index.core.schema")
    return [
        schema.NodeWithScore(node=schema.TextNode(text=text, id_=f"n{n}"), score=0.5)
        for n, text in enumerate(CONTEXTS)
    ]


def llamaindex_response(folder: Path) -> Path:
    nodes = llamaindex_nodes()
    from llama_index.core.base.response.schema import Response

    response = Response(response=ANSWER, source_nodes=nodes, metadata={"n0": {}})
    held = {**vars(response), "source_nodes": [node.to_dict() for node in response.source_nodes]}
    return in_json(folder / "response.json", [{"query": QUESTION, "reference": REFERENCE, **held}])


def llamaindex_printed(folder: Path) -> Path:
    """Nodes as ``json.dumps(.., default=str)`` writes them: their texts are cut off."""
    row = {"query": QUESTION, "response": ANSWER, "source_nodes": llamaindex_nodes()}
    return in_json(folder / "response.json", [{**row, "reference": REFERENCE}])


def llamaindex_without_nodes(folder: Path) -> Path:
    return in_json(
        folder / "response.json", [{"query": QUESTION, "response": ANSWER, "reference": REFERENCE}]
    )


def haystack_result(*parts: str) -> dict[str, Any]:
    haystack = pytest.importorskip("haystack")
    from haystack.components.builders import AnswerBuilder

    documents = [haystack.Document(content=text) for text in CONTEXTS]

    @haystack.component
    class Search:
        @haystack.component.output_types(documents=list[haystack.Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": documents}

    pipeline = haystack.Pipeline()
    pipeline.add_component("retriever", Search())
    pipeline.add_component("answer_builder", AnswerBuilder())
    pipeline.connect("retriever.documents", "answer_builder.documents")
    asked = {
        "retriever": {"query": QUESTION},
        "answer_builder": {"query": QUESTION, "replies": [ANSWER]},
    }
    found = pipeline.run(asked, include_outputs_from={"retriever"})
    return {part: found[part] for part in parts}


def in_json_by_to_dict(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data, default=lambda item: item.to_dict()), encoding="utf-8")
    return path


def haystack_pipeline(folder: Path) -> Path:
    return in_json_by_to_dict(folder / "pipeline.json", haystack_result("retriever", "answer_builder"))


def haystack_retriever(folder: Path) -> Path:
    return in_json_by_to_dict(folder / "pipeline.json", [haystack_result("retriever")])


def ragas_dataset(kind: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        ragas = pytest.importorskip("ragas")
        sample = ragas.SingleTurnSample(
            user_input=QUESTION, reference=REFERENCE, response=ANSWER, retrieved_contexts=CONTEXTS
        )
        data = ragas.EvaluationDataset(samples=[sample])
        path = folder / f"set.{kind}"
        if kind == "parquet":
            data.to_pandas().to_parquet(path)
        else:
            getattr(data, f"to_{kind}")(str(path))
        return path

    write.__name__ = f"ragas_{kind}"
    return write


def hugging_face_dataset(folder: Path) -> Path:
    datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is not installed")
    row = {
        "question": [QUESTION],
        "contexts": [CONTEXTS],
        "answer": [ANSWER],
        "ground_truth": [REFERENCE],
    }
    datasets.Dataset.from_dict(row).save_to_disk(folder / "set")
    return folder / "set"


def langfuse_trace(folder: Path) -> Path:
    row = {
        "id": "t1",
        "timestamp": "2026",
        "input": json.dumps({"question": QUESTION}),
        "output": json.dumps(ANSWER),
    }
    return in_csv(folder / "traces.csv", {**row, "metadata": json.dumps({"documents": CONTEXTS})})


def langfuse_retriever(folder: Path) -> Path:
    row = {"id": "t1", "input": QUESTION, "output": json.dumps(CONTEXTS), "expectedOutput": REFERENCE}
    return in_csv(folder / "traces.csv", row)


def phoenix_qa(folder: Path) -> Path:
    row = {
        "context.span_id": "a1",
        "input": QUESTION,
        "output": ANSWER,
        "reference": "\n\n".join(CONTEXTS),
    }
    return in_csv(folder / "qa.csv", row)


def promptfoo_metadata(folder: Path) -> Path:
    result = {
        "vars": {"query": QUESTION, "ground_truth": REFERENCE},
        "response": {"output": ANSWER, "metadata": {"context": CONTEXTS}},
    }
    return in_json(
        folder / "output.json", {"evalId": "e", "results": {"version": 3, "results": [result]}}
    )


UTILIZATION = {"context_utilization": EXPECTED["context_utilization"]}
# Read without any option: the file, and what it gives by hand (see `support.exports`).
READ: list[tuple[Callable[[Path], Path], dict[str, float]]] = [
    (langchain_dumps, EXPECTED),
    (langchain_models, EXPECTED),
    (langchain_pandas, EXPECTED),
    (langchain_retrieval_chain, EXPECTED),
    (langsmith_run, EXPECTED),
    (langsmith_list, EXPECTED),
    (langsmith_tree, EXPECTED),
    (deepeval_csv, EXPECTED),
    (deepeval_json_lines, EXPECTED),
    (ragas_dataset("csv"), EXPECTED),
    (ragas_dataset("jsonl"), EXPECTED),
    (ragas_dataset("parquet"), EXPECTED),
    (hugging_face_dataset, EXPECTED),
    (llamaindex_response, EXPECTED),
    (export("promptfoo.json"), EXPECTED),
    # They hold no reference.
    (haystack_pipeline, UTILIZATION),
    (export("openinference_langchain.json"), UTILIZATION),
    (export("phoenix_spans.csv"), UTILIZATION),
    (export("phoenix_spans.json"), UTILIZATION),
    (export("langfuse_observations.json"), UTILIZATION),
    # Its model answers "text text text ..".
    (export("openinference_llama_index.jsonl"), {"context_utilization": 0.0}),
    # What was retrieved is no answer.
    (langfuse_retriever, {name: EXPECTED[name] for name in ("context_recall", "context_precision")}),
]
# Refused; the option that the error names reads the retrieved texts.
HINTED: list[tuple[Callable[[Path], Path], str]] = [
    (langfuse_trace, "metadata.documents=retrieved_contexts"),
    (promptfoo_metadata, "response.metadata.context=retrieved_contexts"),
]
# Refused, since nothing says what is expected; scored with a second file that does.
WITH_REFERENCES: list[Callable[[Path], Path]] = [
    otel_span,
    openinference_span,
]
# Refused; no column holds lists of texts, and none is named.
SILENT: list[Callable[[Path], Path]] = [
    langchain_without_sources,
    ragas_test_set,
    deepeval_goldens,
    llamaindex_without_nodes,
    phoenix_qa,
]


def means_of(printed: str) -> dict[str, float]:
    found = re.findall(r"^\s*(context_\w+)\s+(\d\.\d+)", printed, re.MULTILINE)
    return {name: float(value) for name, value in found}


@pytest.mark.parametrize(("write", "expected"), READ, ids=lambda item: getattr(item, "__name__", ""))
def test_a_file_of_a_library_is_read(
    write: Callable[[Path], Path], expected: dict[str, float], tmp_path: Path
) -> None:
    done = run_command("score", path := write(tmp_path))
    assert (done.returncode, means_of(done.stdout)) == (0, expected), done.stderr
    (sample,) = read_samples(path)
    assert (sample.retrieved_contexts, sample.user_input) == (tuple(CONTEXTS), QUESTION)


def test_a_file_of_haystack_3_is_read(tmp_path: Path) -> None:
    (sample,) = read_samples(export("haystack.json")(tmp_path))
    assert (sample.user_input, sample.response) == (QUESTION, ANSWER)
    assert sample.retrieved_contexts == tuple(reversed(CONTEXTS))  # it ranks by words


def test_there_are_as_many_files_as_promised() -> None:
    assert (
        len(READ) + len(HINTED) + len(WITH_REFERENCES) + len(SILENT) >= 24 + 3
    )  # some are of one library


@pytest.mark.parametrize("write", WITH_REFERENCES)
def test_what_has_no_reference_is_scored_with_a_second_file(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    path = write(tmp_path)
    done = run_command("score", path)
    assert (done.returncode, "--references FILE" in done.stderr) == (2, True), done.stderr
    gold = in_json(tmp_path / "gold.json", [{"question": QUESTION, "answer": REFERENCE}])
    done = run_command("score", path, "--references", gold)
    assert (done.returncode, means_of(done.stdout)) == (
        0,
        {name: EXPECTED[name] for name in ("context_recall", "context_precision")},
    ), done.stderr


def test_nodes_that_were_printed_are_refused(tmp_path: Path) -> None:
    done = run_command("score", llamaindex_printed(tmp_path))
    assert done.returncode == 2
    assert "item 1 is a node that was printed, and may be cut off. Write node.to_dict()" in done.stderr


@pytest.mark.parametrize(("write", "option"), HINTED, ids=lambda item: getattr(item, "__name__", ""))
def test_a_hint_names_the_retrieved_texts(
    write: Callable[[Path], Path], option: str, tmp_path: Path
) -> None:
    path = write(tmp_path)
    for command in ("score", "estimate", "parity"):
        done = run_command(command, path)
        assert done.returncode == 2
        named = re.findall(r"--map (\S+)", done.stderr)
        assert [*map(shlex.split, named)] == [[option]], done.stderr
    column, _, field = option.rpartition("=")
    (sample,) = read_samples(path, columns={column: field})
    assert sample.retrieved_contexts == tuple(CONTEXTS)


def test_texts_of_a_haystack_retriever_are_read(tmp_path: Path) -> None:
    path = haystack_retriever(tmp_path)
    for command in ("score", "estimate", "parity"):
        done = run_command(command, path)
        assert done.returncode == 2
        assert "retriever.documents -> retrieved_contexts" in done.stderr
        assert "--references FILE" in done.stderr
    (sample,) = read_samples(path)
    assert sample.retrieved_contexts == tuple(CONTEXTS)


@pytest.mark.parametrize("write", SILENT)
def test_without_retrieved_texts_no_column_is_named(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    done = run_command("score", write(tmp_path))
    assert done.returncode == 2
    if "--references FILE" in done.stderr:  # what is expected is there
        assert "The file says what is expected." in done.stderr
        assert "--map" not in done.stderr
        return
    assert "so the file seems to hold no retrieved texts" in done.stderr
    assert re.findall(r"--map (\S+)", done.stderr) == []
    assert "before '=retrieved_contexts' behind --map." in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("run.trec", "1 Q0 d1 1 3.0 bm\n", "before '=reference_context_ids' behind --map, or"),
        (
            "run.jsonl",
            '{"retrieved_context_ids": ["a"], "reference": "Text."}',
            "the expected ids: write",
        ),
        ("run.json", '[{"contexts": ["A text."], "gold": "x"}]', "no field: gold."),
        (
            "qrels.txt",
            "1 0 d1 1\n",
            "says what is expected. Score a file of what was retrieved, with this",
        ),
    ],
)
def test_a_file_of_one_side_is_told_what_the_other_one_is(
    name: str, text: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = run_command("score", tmp_path / name)
    assert done.returncode == 2
    assert told in done.stderr
    assert "--references FILE." in done.stderr
    assert "no retrieved texts" not in done.stderr


def test_of_several_lists_none_is_chosen(tmp_path: Path) -> None:
    row = {
        "question": QUESTION,
        "answer": ANSWER,
        "steps": ["Search it.", "Rank it."],
        "hits": DOCUMENTS,
    }
    done = run_command("score", in_json(tmp_path / "s.json", [row]))
    assert "Lists of texts stand in: steps, hits." in done.stderr
    options = re.findall(r"--map (\S+)", done.stderr)
    assert options == ["steps=retrieved_contexts", "hits=retrieved_contexts"]


def test_where_the_answer_is_missing_no_column_is_chosen(tmp_path: Path) -> None:
    row = {
        "question": QUESTION,
        "contexts": CONTEXTS,
        "gold": REFERENCE,
        "comment": "A long comment on the sample.",
    }
    done = run_command("score", in_json(tmp_path / "s.json", [row]))
    assert "--references FILE. Columns that are no field: gold, comment." in done.stderr
    row |= {f"comment {number}": "Another one." for number in range(20)}
    done = run_command("score", in_json(tmp_path / "s.json", [row]))
    assert "comment 9 and 10 more." in done.stderr


@pytest.mark.slow
@each_case("schema", ["auto", *ALL_SCHEMAS])
@each_case("value", [[], ["The pump hums."], {"output": []}, {"output": [{"text": "The pump hums."}]}])
def test_a_column_without_a_name_is_no_side(tmp_path: Path, schema: str, value: Any) -> None:
    row = {"retrieved_context_ids": ["d1"], "": value}
    samples = read_samples(in_json(tmp_path / "s.json", [row]), schema)
    read = [Sample.from_dict(row, schema), *samples]
    assert [(sample.retrieved_contexts, sample.reference_contexts) for sample in read] == [
        (None, None),
        (None, None),
    ]
    assert all(sample.metadata[""] == value for sample in read)


def test_a_nested_value_is_named_by_its_path(tmp_path: Path) -> None:
    (sample,) = read_samples(mlflow_traces(tmp_path))
    assert sample.response == ANSWER
    row = {
        "inputs": {"question": QUESTION},
        "outputs": {"answer": {"draft": 7}, "documents": DOCUMENTS},
    }
    path = in_json(tmp_path / "n.json", [row])
    done = run_command("score", path)
    assert (
        "n.json, sample 1: field 'response' must be a string, not dict. It was read from 'outputs.answer'"
        in done.stderr
    )
    assert f"ctxmetrics inspect {path} shows all columns." in done.stderr


@pytest.mark.parametrize("search", ["The tower is in Paris.", {"1": "The tower."}, [{}], [None]])
def test_error_within_a_field_names_no_other_path(tmp_path: Path, search: Any) -> None:
    row = {"user_input": QUESTION, "reference": REFERENCE, "stages": {"search": search}}
    done = run_command("score", in_json(tmp_path / "s.json", [row]))
    assert done.returncode == 2
    assert "sample 1: field 'stages', 'search': field" in done.stderr
    assert "--map" not in done.stderr


def test_documents_that_were_printed_give_their_texts(tmp_path: Path) -> None:
    path = in_json(tmp_path / "chain.json", [{**retrieval_qa(), "reference": REFERENCE}])
    assert "page_content=" in json.loads(path.read_text())[0]["source_documents"][0]
    (sample,) = read_samples(path)
    assert sample.retrieved_contexts == tuple(CONTEXTS)


@pytest.mark.parametrize(
    "row",
    [
        {"input": {"question": QUESTION}, "output": "MESSAGES", "expectedOutput": REFERENCE},
        {"inputs": {"question": QUESTION}, "outputs": {"output": "MESSAGES"}, "reference_outputs": {"answer": REFERENCE}},
        {"question": QUESTION, "reference": REFERENCE, "messages": "MESSAGES"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["role", "type"])
def test_the_messages_of_a_chat_are_not_what_was_retrieved(
    row: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    messages = pytest.importorskip("langchain_core.messages")
    chat = [messages.HumanMessage(QUESTION), messages.AIMessage(ANSWER)]
    held = (
        messages.convert_to_openai_messages(chat)
        if kind == "role"
        else [one.model_dump() for one in chat]
    )
    text = json.dumps(row).replace('"MESSAGES"', json.dumps(held))
    (tmp_path / "s.json").write_text(f"[{text}]", encoding="utf-8")
    done = run_command("score", tmp_path / "s.json")
    assert done.returncode == 2, done.stdout
    assert "=retrieved_contexts" not in done.stderr.replace("'=retrieved_contexts'", "")


def test_an_object_without_a_usual_key_is_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer = json.dumps({"satz": REFERENCE, "quelle": "S. 3"})
    row = {"question": QUESTION, "contexts": CONTEXTS, "ground_truth": answer}
    (sample,) = read_samples(in_json(tmp_path / "s.json", [row]))
    assert sample.reference == answer
    options = "--map ground_truth.satz=reference or --map ground_truth.quelle=reference"
    assert options in caplog.text


def test_the_only_text_of_an_object_is_the_reference(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer = json.dumps({"satz": REFERENCE, "seite": 3})
    row = {"question": QUESTION, "contexts": CONTEXTS, "ground_truth": answer}
    (sample,) = read_samples(in_json(tmp_path / "s.json", [row]))
    assert sample.reference == REFERENCE
    assert "ground_truth.satz -> reference" in caplog.text


@pytest.mark.parametrize(
    ("row", "options"),
    [
        ({"response": {"model": "m", "words": ANSWER}}, ["response.model", "response.words"]),
        ({"response": {"hits": CONTEXTS, "words": ANSWER}}, ["response.words"]),
        (
            {"contexts": {"titles": ["A", "B"], "texts": CONTEXTS}},
            ["contexts.titles", "contexts.texts"],
        ),
        ({"contexts": {"query": "a", "texts": CONTEXTS}}, ["contexts.texts"]),
        (
            {"contexts": [{"name": "A", "Content": CONTEXTS[0]}]},
            ["contexts[].Content", "contexts[].name"],
        ),
    ],
)
def test_a_hint_names_paths_that_can_be_meant(
    row: dict[str, Any], options: list[str], tmp_path: Path
) -> None:
    (name,) = row
    field = "retrieved_contexts" if name == "contexts" else name
    path = in_json(tmp_path / "s.json", [{"question": QUESTION, **row}])
    with pytest.raises(SampleError) as raised:
        list(read_samples(path))
    hinted = [option.strip("'") for option in re.findall(r"--map (\S+=\w+'?)", str(raised.value))]
    assert hinted == [f"{option}={field}" for option in options]
    for option in options:
        (sample,) = read_samples(path, columns={option: field})
        assert sample.has(field)


def test_several_answers_are_offered_as_references(tmp_path: Path) -> None:
    """``answers`` of a data set for question answering: those that are accepted, no response."""
    row = {"question": QUESTION, "contexts": CONTEXTS, "answers": [REFERENCE, ANSWER]}
    path = in_json(tmp_path / "s.json", [row])
    with pytest.raises(SampleError, match="--map answers=references,"):
        list(read_samples(path))
    (sample,) = read_samples(path, columns={"answers": "references"})
    assert sample.references == (REFERENCE, ANSWER)


def test_rows_of_a_data_set_with_one_passage_each_are_rows(tmp_path: Path) -> None:
    """The shape of SQuAD: its rows have the text of a document, and a question."""
    rows = [
        {
            "id": "5",
            "title": "T",
            "context": CONTEXTS[1],
            "question": QUESTION,
            "answers": {"text": [ANSWER]},
        }
    ]
    path = in_json(tmp_path / "s.json", {"version": "2", "data": rows})
    columns = {"context": "retrieved_contexts", "answers.text": "references"}
    (sample,) = read_samples(path, columns=columns)
    assert (sample.user_input, sample.references) == (QUESTION, (ANSWER,))


# --- texts that one character joins ---

TABLE = "Plan|Price\nBasic|3 euros\nFull|9 euros"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "texts",
    [
        [TABLE, *CONTEXTS],
        [*CONTEXTS, "| a | b |\n|---|---|"],
        ["The pump || the filter of the pump", CONTEXTS[0]],
    ],
    ids=["table", "markdown", "operator"],
)
def test_texts_with_the_separator_in_them_are_not_split(
    kind: str, texts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(
        SampleError, match=r"'\|' seems to be a part of the texts\. Export JSON, which keeps lists"
    ):
        list(read_samples(deepeval_file(tmp_path, kind, texts)))
    (sample,) = read_samples(deepeval_file(tmp_path, "json", texts))
    assert sample.retrieved_contexts == tuple(texts)


def test_texts_in_a_script_without_spaces_are_split(tmp_path: Path) -> None:
    texts = ["水泵保修三年，从购买之日起。", "每月清洗过滤器一次。"]
    (sample,) = read_samples(deepeval_file(tmp_path, "csv", texts))
    assert sample.retrieved_contexts == tuple(texts)


@pytest.mark.parametrize("form", ["--out", "--write-baseline"])
@pytest.mark.parametrize("command", ["score", "inspect", "agree", "label", "estimate"])
def test_results_are_no_samples(tmp_path, command, form):
    sample = {"reference": "It is red.", "retrieved_contexts": ["It is red."]}
    run_command("score", in_json(tmp_path / "in.json", [sample]), form, tmp_path / "out.jsonl")
    done = run_command(command, tmp_path / "out.jsonl")
    assert done.returncode == 2
    said = "these are results, as --out writes them. Give the file of the samples that were scored."
    assert f"out.jsonl: {said}" in done.stderr
    assert "columns read" not in done.stderr


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ('```json\n{"answer": "Anna."}\n```', "Anna."),
        ('```\n{"Answer": "Anna."}\n```\n', "Anna."),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("```json\n" + " \n" * 100_000 + "`` {", "```json\n" + " \n" * 100_000 + "`` {"),
    ],
    ids=["json", "no language", "code", "long"],
)
def test_a_reference_in_a_fence_is_read(text: str, reference: str) -> None:
    row = {"question": "Who?", "contexts": ["Anna did."], "ground_truth": text}
    values, _ = recognise([row]).apply(row)
    assert values["reference"] == reference
