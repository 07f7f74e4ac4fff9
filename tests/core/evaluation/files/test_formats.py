"""Answers of stores, public data sets, spreadsheets and tables in other languages give the values that a person computes."""

from __future__ import annotations

import csv
import json
import re
import shlex
from datetime import date
from itertools import chain, permutations, product
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import IDBasedContextRecall, Sample, evaluate, read_samples
from ctxmetrics.errors import CtxMetricsError
from ctxmetrics.metrics.catalog import METRICS
from ctxmetrics.metrics.ids import (
    IDBasedAveragePrecision,
    IDBasedNDCG,
    IDBasedPrecisionAtK,
    IDBasedRecallAtK,
    IDBasedReciprocalRank,
)
from ctxmetrics.samples.documents import look_up
from support.cases import each_case
from support.command import run_command
from support.exports import CONTEXTS, QUESTION, REFERENCE
from support.known_files import GOLD, HEADERS, IDS, OF_IDS, ROW, SETS, STORES, TEXTS, KnownFile
from support.peers import ir_measure

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

# Their rows mix types in one list, or have an empty object.
NO_ARROW = {"langchain_pairs", "pgvector_tuples", "pgvector_pairs", "hotpotqa", "2wiki", "longmemeval"}
CELLS = [QUESTION, REFERENCE, json.dumps(CONTEXTS)]


def means_in(done: CompletedProcess[str]) -> dict[str, float]:
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"^\s*([a-z_]*context_\w+)\s+(\d\.\d+)", done.stdout, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def write(file: KnownFile, folder: Path) -> Path:
    path = folder / f"{file.name}.{'jsonl' if file.lines else 'json'}"
    path.write_text(file.text())
    return path


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text(json.dumps(rows))
    return path


@pytest.mark.slow
@each_case("file", [*STORES, *SETS])
def test_a_known_file_scores(file: KnownFile, tmp_path: Path) -> None:
    path = write(file, tmp_path)
    assert means_in(run_command("score", path, *file.options)) == file.values
    shown = run_command("inspect", path, *file.options).stdout
    (line,) = re.findall(r"^score it with: ctxmetrics (.*)$", shown, re.MULTILINE)
    assert means_in(run_command(*shlex.split(line))) == file.values


@pytest.mark.slow
@each_case("ending", ["csv", "xlsx", "parquet", "jsonl", "json"])
@each_case(
    "file",
    # The rows of "locomo" are conversations, which hold the samples.
    [file for file in (*STORES, *SETS) if file.name != "locomo"],
)
def test_what_pandas_writes_of_it_scores_alike(file: KnownFile, ending: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"rows.{ending}"
    rows = [*file.data.values()] if isinstance(file.data, dict) else file.data
    frame = pandas.DataFrame(rows)
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "xlsx": lambda: frame.to_excel(path, index=False),
        "parquet": lambda: frame.to_parquet(path),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "json": lambda: frame.to_json(path),
    }
    if ending == "parquet" and file.name in NO_ARROW:
        with pytest.raises((TypeError, ValueError, NotImplementedError)):
            writers[ending]()  # Arrow has no type for it
        return
    writers[ending]()
    columns = dict(option.rpartition("=")[::2] for option in file.options if option != "--map")
    samples = list(read_samples(path, columns=columns))
    metrics = [
        kind()
        for kind in METRICS.values()
        if any(all(map(sample.has, kind.requires)) for sample in samples)
    ]
    summary = evaluate(samples, metrics, progress=False).summary()
    assert {name: item.mean for name, item in summary.items()} == file.values


def test_rows_of_a_database_get_a_command(tmp_path: Path) -> None:
    rows = [[1, CONTEXTS[0], 0.1], [2, CONTEXTS[1], 0.2]]
    path = write_rows(tmp_path / "rows.json", {**ROW, "rows": rows})
    shown = run_command("inspect", path).stdout
    (line,) = re.findall(r"^score it with: ctxmetrics (.*)$", shown, re.MULTILINE)
    assert means_in(run_command(*shlex.split(line))) == TEXTS


@pytest.mark.slow
def test_an_answer_of_qdrants_client_scores(tmp_path: Path) -> None:
    qdrant = pytest.importorskip("qdrant_client")
    client = qdrant.QdrantClient(":memory:")
    vectors = qdrant.models.VectorParams(size=2, distance=qdrant.models.Distance.COSINE)
    client.create_collection("docs", vectors_config=vectors)
    points = [
        qdrant.models.PointStruct(id=1, vector=[1.0, 0.0], payload={"text": CONTEXTS[0]}),
        qdrant.models.PointStruct(id=2, vector=[0.8, 0.6], payload={"text": CONTEXTS[1]}),
    ]
    client.upsert("docs", points)
    answer = client.query_points("docs", query=[1.0, 0.0], limit=2)
    row = {**ROW, "found": json.loads(answer.model_dump_json()), "reference_context_ids": ["2"]}
    path = write_rows(tmp_path / "rows.json", {**row, "found": None}, row)
    done = run_command("score", path)
    assert means_in(done) == {**TEXTS, **OF_IDS}
    assert "1 of 2" in done.stdout


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hits[].text", ["a", "b"]),
        ("hits[1].text", "b"),
        ("hits[gold].text", ["b"]),
        ("hits[2].text", None),
        ("pairs[][0]", ["x", "y"]),
        ("steps[].hits[].id", [1, 2, 3]),
        ("none[].text", []),
        ("hits[].nothing", None),
        ("text[].text", None),
        ("a[].b", "a key of its own"),
    ],
)
def test_a_path_reaches_into_lists(path: str, value: Any) -> None:
    row = {
        "hits": [{"text": "a", "gold": False}, {"text": "b", "gold": True}],
        "pairs": [["x", 0], ["y", 1]],
        "steps": [{"hits": [{"id": 1}, {"id": 2}]}, {"hits": [{"id": 3}]}],
        "none": [],
        "text": "plain",
        "a[].b": "a key of its own",
    }
    assert look_up(row, path) == value


def test_a_path_serves_in_python_too(tmp_path: Path) -> None:
    hits = [{"key": id_, "body": text} for id_, text in zip(IDS, CONTEXTS, strict=True)]
    path = write_rows(tmp_path / "rows.json", {**ROW, "list": hits, "extra": 1}, {**ROW, "list": []})
    columns = {"list[].body": "retrieved_contexts", "list[].key": "retrieved_context_ids"}
    first, second = read_samples(path, columns=columns)
    assert (first.retrieved_contexts, first.retrieved_context_ids) == (tuple(CONTEXTS), IDS)
    assert (second.retrieved_contexts, dict(first.metadata)) == ((), {"extra": 1})


@pytest.mark.parametrize("name", ["hotpotqa", "musique", "longmemeval", "autorag", "flashrag"])
def test_gold_of_a_set_is_never_retrieved(name: str, tmp_path: Path) -> None:
    (file,) = (file for file in SETS if file.name == name)
    (row,) = file.data
    for key in (
        "retrieved_contexts",
        "retrieved_context_ids",
        "retrieved_contents",
        "retrieved_ids",
        "retrieval_results",
        "output",
    ):
        row = {other: value for other, value in row.items() if other != key}
    path = write_rows(tmp_path / "rows.json", row)
    (sample,) = read_samples(path)
    assert sample.retrieved_contexts is sample.retrieved_context_ids is None
    shown = run_command("inspect", path)
    assert "=retrieved_contexts" not in shown.stdout.replace("'=retrieved_contexts'", "")


@pytest.mark.parametrize(
    "name", ["evidence", "gold_hits", "negatives", "expected_results", "hard_negatives"]
)
def test_hits_that_were_expected_are_not_retrieved(name: str, tmp_path: Path) -> None:
    hits = [{"id": "d1", "score": 0.5, "payload": {"text": CONTEXTS[0]}}]
    (sample,) = read_samples(write_rows(tmp_path / "rows.json", {**ROW, name: hits}))
    assert sample.retrieved_contexts is None


@pytest.mark.parametrize("key", ["document", "title", "url"])
def test_names_of_documents_are_not_their_texts(key: str, tmp_path: Path) -> None:
    hits = [{"id": "d1", "score": 0.5, "metadata": {key: "Annual Report 2023"}, key: "Annual Report"}]
    (sample,) = read_samples(write_rows(tmp_path / "rows.json", {**ROW, "hits": hits}))
    assert sample.retrieved_contexts is None


def test_objects_without_a_common_question_are_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    row = {**ROW, "contexts": CONTEXTS}
    path.write_text(json.dumps({"run": {"query": "a", "model": "m"}, "results": {"rows": [row, row]}}))
    assert [sample.user_input for sample in read_samples(path)] == [QUESTION] * 2


def test_two_answers_of_stores_are_not_read(tmp_path: Path) -> None:
    hits = [{"id": "d1", "score": 0.5, "text": CONTEXTS[0]}]
    path = write_rows(tmp_path / "rows.json", {**ROW, "dense_hits": hits, "sparse_hits": hits})
    assert next(read_samples(path)).retrieved_contexts is None
    shown = run_command("inspect", path).stdout
    assert "--map dense_hits=retrieved_contexts or --map sparse_hits=" in shown


def test_alternatives_of_autorag_are_refused_with_the_way_out(tmp_path: Path) -> None:
    row = {"query": QUESTION, "retrieval_gt": [["d2", "d3"]], "retrieved_ids": [*IDS]}
    path = write_rows(tmp_path / "rows.json", row)
    with pytest.raises(
        CtxMetricsError, match=r"alternatives.*retrieval_gt\[\]\[\]=reference_context_ids"
    ):
        list(read_samples(path))
    (sample,) = read_samples(path, columns={"retrieval_gt[][]": "reference_context_ids"})
    assert IDBasedContextRecall().score(sample).value == 0.5  # d2 of d2 and d3


def test_embedding_qa_has_a_sample_a_query(tmp_path: Path) -> None:
    path = tmp_path / "qa.json"
    data = {
        "queries": {"q1": "One?", "q2": "Two?"},
        "corpus": {"n1": "First text.", "n2": "Second text."},
    }
    path.write_text(
        json.dumps({**data, "relevant_docs": {"q1": ["n2"], "q2": ["n1", "n2"]}, "mode": "text"})
    )
    one, two = read_samples(path)
    assert (one.id, one.user_input, one.reference_context_ids) == ("q1", "One?", ("n2",))
    assert two.reference_contexts == ("First text.", "Second text.")
    run = write_rows(
        tmp_path / "run.json",
        {"id": "q1", "retrieved_ids": ["n1", "n2"]},
        {"id": "q2", "retrieved_ids": ["n2"]},
    )
    done = run_command("score", run, "--references", path, "-m", "id_based_context_recall")
    assert means_in(done) == {"id_based_context_recall": 0.75}  # (1 + 1/2) / 2


def test_predictions_are_joined_by_order_when_asked_for(tmp_path: Path) -> None:
    gold = tmp_path / "rag_dataset.json"
    examples = [
        {"query": f"{n}?", "reference_answer": f"Text {n} is it.", "query_by": None} for n in range(3)
    ]
    gold.write_text(json.dumps({"examples": examples}))
    run = tmp_path / "predictions.json"
    answers = [{"response": "..", "contexts": [f"Text {n} is it."]} for n in range(3)]
    run.write_text(json.dumps({"predictions": answers}))
    assert run_command("score", run, "--references", gold).returncode == 2
    done = run_command("score", run, "--references", gold, "--on", "order", "-m", "context_recall")
    assert means_in(done) == {"context_recall": 1.0}
    run.write_text(json.dumps({"predictions": answers[1:]}))
    done = run_command("score", run, "--references", gold, "--on", "order", "-m", "context_recall")
    assert (done.returncode, "2 rows and 3 references" in done.stderr) == (2, True)


def test_spans_of_legalbench_are_labels(tmp_path: Path) -> None:
    snippets = [{"file_path": "nda/a.txt", "span": [10, 30], "answer": "Twenty characters .."}]
    path = tmp_path / "bench.json"
    path.write_text(json.dumps({"tests": [{"query": QUESTION, "snippets": snippets, "tags": []}]}))
    (sample,) = read_samples(path)
    assert sample.reference_context_ids == ("nda/a.txt#char=10,30",)
    assert sample.reference_contexts == ("Twenty characters ..",)


# --- tables ---


def write_table(
    path: Path, rows: list[list[str]], encoding: str, delimiter: str = ",", first: str = ""
) -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        file.write(first)
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


@pytest.mark.parametrize("language", HEADERS)
def test_headers_in_other_languages_are_read(language: str, tmp_path: Path) -> None:
    path = write_table(tmp_path / "rows.csv", [[*HEADERS[language]], CELLS], "utf-8")
    assert means_in(run_command("score", path)) == TEXTS
    shown = run_command("inspect", path).stdout
    assert shown.endswith(f"score it with: ctxmetrics score {path}\n")


def test_headers_that_nobody_knows_are_a_question(tmp_path: Path) -> None:
    path = write_table(tmp_path / "rows.csv", [["Spalte A", "Spalte B", "Spalte C"], CELLS], "utf-8")
    shown = run_command("inspect", path)
    assert "score it with" not in shown.stdout
    assert "Which column holds the expected answer" in shown.stdout
    options = re.findall(r"ctxmetrics (score .*)$", shown.stdout, re.MULTILINE)[-1]
    assert means_in(run_command(*shlex.split(options))) == TEXTS


def test_a_proposal_without_a_question_is_no_command(tmp_path: Path) -> None:
    rows = [["Spalte A", "Spalte B", "Spalte C"], ["Dauer der Garantie", *CELLS[1:]]]
    shown = run_command("inspect", write_table(tmp_path / "rows.csv", rows, "utf-8"))
    assert "Name both with --map" in shown.stdout
    assert "ctxmetrics score" not in shown.stdout


@pytest.mark.parametrize(
    ("encoding", "delimiter", "first", "options"),
    [
        ("cp1252", ";", "", ()),
        ("cp1252", ";", "sep=;\r\n", ()),
        ("utf-8", "|", "sep=|\r\n", ()),
        ("utf-16-le", ",", "", ()),
        ("utf-16-be", "\t", "", ()),
        ("utf-16", ";", "sep=;\r\n", ()),
        ("cp437", ",", "", ("--encoding", "cp437")),
        ("shift_jis", ",", "", ("--encoding", "shift_jis")),
    ],
)
def test_encodings_of_spreadsheets_are_read(
    encoding: str, delimiter: str, first: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    letter = "ガ" if encoding == "shift_jis" else "é"
    rows = [["question", "ground_truth", "contexts"], [f"{letter} {QUESTION}", *CELLS[1:]]]
    path = write_table(tmp_path / "rows.csv", rows, encoding, delimiter, first)
    done = run_command("score", path, *options)
    assert means_in(done) == TEXTS
    assert ("read as Windows-1252" in done.stderr) == (encoding == "cp1252")
    shown = run_command("inspect", path, *options).stdout
    assert shown.endswith(f"score it with: ctxmetrics score {shlex.join([str(path), *options])}\n")
    given = options[1] if options else None
    (sample,) = read_samples(path, encoding=given)
    assert sample.user_input == f"{letter} {QUESTION}"


@pytest.mark.parametrize("encoding", ["cp1251", "gbk"])
def test_tables_of_other_scripts_are_not_guessed(encoding: str, tmp_path: Path) -> None:
    text = "Гарантия три года" if encoding == "cp1251" else "保修期三年保修期三年"
    rows = [["question", "ground_truth", "contexts"], [text, text, text]]
    path = write_table(tmp_path / "rows.csv", rows * 5, encoding)
    done = run_command("score", path)
    assert (done.returncode, "--encoding" in done.stderr) == (2, True)


@pytest.mark.parametrize("text", ["Гарантия три года", "保修期三年保修期三年"])
def test_cut_utf8_of_other_scripts_is_not_windows_1252(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(f"question,reference\n{text},{text}".encode()[:-1])
    done = run_command("score", path)
    assert (done.returncode, "--encoding" in done.stderr) == (2, True)
    assert "Windows-1252" not in done.stderr


@pytest.mark.parametrize("expected", ['{"3.0": 2}', '[["3.0", 2]]', '[{"id": "3.0", "relevance": 2}]'])
def test_graded_ids_read_as_floats_lose_their_point(expected: str, tmp_path: Path) -> None:
    rows = [["question", "retrieved_context_ids", "reference_context_ids"], ["q", "3.0", expected]]
    path = write_table(tmp_path / "rows.csv", [*rows, ["r", "4", '["4"]']], "utf-8")
    (sample, _) = read_samples(path)
    assert (sample.retrieved_context_ids, sample.reference_context_ids) == (("3",), ("3",))


@pytest.mark.parametrize("retrieved", ["3", "3.0"])
@pytest.mark.parametrize("expected", ["3.0:2", "3:2.0", "3.0 (2)", "3.0 [2]", "3.0:2, 9.0:1"])
def test_grades_behind_ids_of_pandas(expected: str, retrieved: str, tmp_path: Path) -> None:
    rows = [["question", "retrieved_context_ids", "reference_context_ids"], ["q", retrieved, expected]]
    (sample,) = read_samples(write_table(tmp_path / "rows.csv", rows, "utf-8"))
    assert sample.retrieved_context_ids == ("3",)
    assert sample.reference_context_ids[0] == "3"
    assert sample.labels["relevance"]["3"] == 2
    row = {"retrieved_context_ids": [retrieved], "reference_context_ids": expected}
    (scored,) = evaluate([row], [IDBasedContextRecall()], progress=False)
    assert scored.sample == Sample(
        retrieved_context_ids=["3"],
        reference_context_ids=sample.reference_context_ids,
        labels=sample.labels,
    )


@pytest.mark.parametrize("expected", ["手册-4", ["手册-4"]])
def test_one_expected_id_shows_that_ids_are_no_texts(expected: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"query": "q", "retrieved_documents": "手册-4", "retrieval_ground_truth": expected}
    path.write_text(json.dumps(row) + "\n")
    (sample,) = read_samples(path, schema="azure")
    assert (sample.retrieved_context_ids, sample.reference_context_ids) == (("手册-4",), ("手册-4",))
    assert sample.retrieved_contexts is None


def test_a_line_of_a_table_keeps_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("sep=;\nquestion;contexts\nHow?;a b;c d\n")
    with pytest.raises(CtxMetricsError, match="line 3"):
        list(read_samples(path))


def test_excel_is_read_as_pandas_and_people_write_it(tmp_path: Path) -> None:
    pandas, openpyxl = pytest.importorskip("pandas"), pytest.importorskip("openpyxl")
    path = tmp_path / "rows.xlsx"
    pandas.DataFrame([{**ROW, "contexts": CONTEXTS, "page": 7}] * 2).to_excel(path, index=False)
    assert means_in(run_command("score", path)) == TEXTS
    assert next(read_samples(path)).metadata == {"page": "7"}

    book = openpyxl.Workbook()
    book.active.title = "empty"
    sheet = book.create_sheet("data")
    sheet.append([None, None])
    sheet.append(
        [
            "question",
            "ground_truth",
            "contexts",
            "retrieved_context_ids",
            "reference_context_ids",
            "seen",
        ]
    )
    sheet.append([*CELLS, '["1", "2"]', 2, True])
    sheet.append([None] * 6)
    book.create_sheet("notes").append(["not read"])
    book.save(path)
    done = run_command("score", path)
    assert means_in(done) == {**TEXTS, **OF_IDS}
    assert "the sheet 'data' is read; not read: 'notes'" in done.stderr


def test_a_date_in_excel_is_written_without_a_time(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["question", "relevant ids", "retrieved ids"])
    book.active.append(["Which issue?", date(2024, 1, 3), "2024-01-07; 2024-01-03"])
    book.save(tmp_path / "rows.xlsx")
    (sample,) = read_samples(tmp_path / "rows.xlsx")
    assert sample.reference_context_ids == ("2024-01-03",)
    assert sample.retrieved_context_ids == ("2024-01-07", "2024-01-03")


def test_a_text_for_a_list_names_the_option(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROW, "contexts": " ".join(CONTEXTS)}))
    list(read_samples(path))
    assert "if it holds several passages, write --split" in caplog.text
    caplog.clear()
    path.write_text(json.dumps({**ROW, "contexts": CONTEXTS[:1]}))
    list(read_samples(path))
    assert "write --split" not in caplog.text


def test_json_lines_may_be_called_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("\n".join(json.dumps({**ROW, "contexts": CONTEXTS}) for _ in range(2)))
    assert means_in(run_command("score", path)) == TEXTS
    path.write_text(path.read_text() + "\n{")
    assert "line 3: not valid JSON" in run_command("score", path).stderr


def test_arrays_of_numpy_in_cells_are_lists(tmp_path: Path) -> None:
    cell = f"array({CONTEXTS!r}, dtype=object)"
    rows = [["question", "ground_truth", "contexts"], [QUESTION, REFERENCE, cell]]
    assert means_in(run_command("score", write_table(tmp_path / "rows.csv", rows, "utf-8"))) == TEXTS


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", "git lfs pull"),
        ("a.json", b"<!DOCTYPE html>\n<html></html>", "page of HTML"),
        ("a.xlsx", b"PK\x03\x04 no workbook", "is no .xlsx file"),
        ("a.csv", b"PK\x03\x04 a workbook", "Name a spreadsheet .xlsx"),
        ("a.json", b'{"question": ["a?", "b?"], "contexts": [["c d"]]}', "'contexts' has 1"),
        ("a.jsonl", b'{"question": "\xe9"}', "--encoding"),
    ],
)
@pytest.mark.parametrize("command", ["score", "inspect"])
def test_files_that_are_no_data_are_refused(
    command: str, name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    done = run_command(command, tmp_path / name)
    assert done.returncode == 2
    assert message in done.stderr


def test_parquet_with_a_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    offsets = arrow.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00")
    text = arrow.Array.from_buffers(arrow.string(), 1, [None, offsets, arrow.py_buffer(b"\xff\xfe")])
    parquet.write_table(arrow.table({"question": text, "contexts": [["a b"]]}), tmp_path / "a.parquet")
    for command in ("score", "inspect"):
        done = run_command(command, tmp_path / "a.parquet")
        assert (done.returncode, "not UTF-8" in done.stderr) == (2, True)


@pytest.mark.parametrize("address", ["http://[::1", "http://host:port/v1"])
@pytest.mark.parametrize("command", ["score", "doctor"])
def test_addresses_that_are_none_are_refused(command: str, address: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.json", {**ROW, "contexts": CONTEXTS, **GOLD})
    done = run_command(command, path, "--judge", "openai/m", "--base-url", address, OPENAI_API_KEY="k")
    assert (done.returncode, "base_url must be an address" in done.stderr) == (2, True)


# --- equal scores ---


def order_ties(run: dict[str, float]) -> list[list[str]]:
    """Return the ids of a run in every order that its scores allow."""
    scores = sorted({*run.values()}, reverse=True)
    groups = [[id_ for id_ in run if run[id_] == score] for score in scores]
    orders = product(*map(permutations, groups))
    return [[*chain.from_iterable(order)] for order in orders]


@pytest.mark.parametrize(
    ("metric", "measure"),
    [
        (IDBasedReciprocalRank(), "RR"),
        (IDBasedNDCG(top_k=3), "nDCG@3"),
        (IDBasedPrecisionAtK(top_k=2), "P@2"),
        (IDBasedRecallAtK(top_k=2), "R@2"),
        (IDBasedAveragePrecision(), "AP"),
    ],
)
def test_ties_say_how_much_the_order_moves_the_value(metric: Any, measure: str, tmp_path: Path) -> None:
    measures = pytest.importorskip("ir_measures")
    run = {"d1": 0.9, "d2": 0.5, "d3": 0.5, "d4": 0.5, "d5": 0.25}
    grades = {"d3": 2, "d4": 1, "d5": 1}
    (tmp_path / "a.run").write_text("".join(f"q Q0 {id_} 1 {score} t\n" for id_, score in run.items()))
    (tmp_path / "a.qrels").write_text("".join(f"q 0 {id_} {grade}\n" for id_, grade in grades.items()))
    (sample,) = read_samples(tmp_path / "a.run", references=tmp_path / "a.qrels")
    values: list[float] = []
    for order in order_ties(run):
        ranked = {id_: float(len(order) - place) for place, id_ in enumerate(order)}
        by_measure = measures.calc_aggregate([ir_measure(measure)], {"q": grades}, {"q": ranked})
        values += by_measure.values()
    assert metric.score(sample).metadata["tie_range"] == pytest.approx(
        (min(values), max(values)), abs=1e-12
    )
    results = evaluate([sample], [metric], progress=False)
    assert "equal scores, whose order may move the mean" in " ".join(str(results.summary()).split())


def test_hits_with_equal_scores_have_a_range_too(tmp_path: Path) -> None:
    hits = [{"id": id_, "score": 0.5, "payload": {"text": f"Text {id_}."}} for id_ in ("d1", "d2")]
    (sample,) = read_samples(
        write_rows(tmp_path / "rows.json", {"question": QUESTION, "hits": hits, **GOLD})
    )
    score = IDBasedReciprocalRank().score(sample)
    assert (score.value, score.metadata["tie_range"]) == (0.5, (0.5, 1.0))
    assert "tie_range" not in IDBasedContextRecall().score(sample).metadata  # the order does not matter
