"""Files as people have them: each scores, or the one line of the error says what to write, and that works."""

from __future__ import annotations

import csv
import gzip
import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextUtilization,
    NonLLMContextRecall,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import CtxMetricsError, InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.cli import main
from ctxmetrics.evaluation.files import text_files
from ctxmetrics.samples.cells import _STRING, list_in
from support.exports import ANSWER, CONTEXTS, EXPECTED, FILES, QUESTION, RAGAS_V1

if TYPE_CHECKING:
    from pathlib import Path

# Files that need one option, which the error names: the folder of one split, or what a column holds.
FOLLOWED = {
    "rag_dataset.jsonl": "--map context=retrieved_contexts",
    "halubench.jsonl": "--map passage=retrieved_contexts",
}
# Files with one text in each row, whose name does not tell that it was retrieved: no column is named.
ONE_TEXT = {
    "phoenix_qa_with_reference.csv": "--map reference=retrieved_contexts",
}


def scored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object
) -> tuple[Any, dict[str, float], str]:
    """Run ``score``; return its status, the means that it prints and its messages."""
    monkeypatch.setattr(sys, "argv", ["ctxmetrics", "score", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr()
    means = re.findall(r"^\s*(context_\w+)\s+(\d\.\d+)", told.out, re.MULTILINE)
    return end.value.code or 0, {name: float(value) for name, value in means}, told.err


def needs_arrow(name: str) -> None:
    if "." not in name or name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the tables extra is not installed")


@pytest.mark.parametrize(
    "name", [name for name in FILES if name not in {*FOLLOWED, *ONE_TEXT, "two_splits"}]
)
def test_a_file_scores_without_options(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_arrow(name)
    FILES[name](tmp_path / name)
    status, means, told = scored(monkeypatch, capsys, tmp_path / name)
    assert status == 0, told
    expected = {
        "ragbench.parquet": {"context_utilization": 0.5},  # it has no reference
        "promptfoo_output.json": {
            **EXPECTED,
            "context_precision": 1.0,
            "context_utilization": 1.0,
        },  # one text
    }
    assert means == expected.get(name, EXPECTED)


@pytest.mark.parametrize("name", [*FOLLOWED, *ONE_TEXT])
def test_the_option_that_an_error_names_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FILES[name](tmp_path / name)
    status, _, told = scored(monkeypatch, capsys, tmp_path / name)
    assert status == 2
    option = FOLLOWED.get(name) or ONE_TEXT[name]
    assert (option in told.splitlines()[-1]) == (name in FOLLOWED)
    assert name in FOLLOWED or "before '=retrieved_contexts' behind --map" in told.splitlines()[-1]
    status, means, told = scored(monkeypatch, capsys, tmp_path / name, *option.split())
    assert (status, means) == (0, {"context_utilization": 1.0}), (
        told
    )  # one context, which states the answer


def test_of_several_splits_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_arrow("two_splits")
    FILES["two_splits"](tmp_path / "two")
    status, _, told = scored(monkeypatch, capsys, tmp_path / "two")
    named = re.search(r"with the splits train, test\. Name one: (\S+)\.", told)
    assert (status, named is not None) == (2, True), told
    assert named
    assert scored(monkeypatch, capsys, named[1])[:2] == (0, EXPECTED)


def test_there_are_as_many_files_as_promised() -> None:
    assert len(FILES) >= 25
    assert len(FILES) - len(FOLLOWED) - len(ONE_TEXT) - 1 >= 20


# --- what is said ---


def test_what_was_decided_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.jsonl"
    rows = [
        {**RAGAS_V1, "team": "x"},
        {**RAGAS_V1, "team": "y"},
        *[RAGAS_V1] * 150,
        {**RAGAS_V1, "late": 1},
        {**RAGAS_V1, **{f"extra_{number:02}": number for number in range(15)}},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _, _, told = scored(monkeypatch, capsys, file, "--metric", "context_utilization")
    assert told.count("question -> user_input, answer -> response, ground_truth -> reference") == 1
    assert told.count("no field, carried along as metadata: team") == 1
    assert told.count("carried along as metadata: late") == 1
    some = ", ".join(f"extra_{number:02}" for number in range(12))
    assert told.count(f"carried along as metadata: {some} and 3 more\n") == 1
    *_, last, _ = read_samples(file)
    assert last.metadata == {"late": 1}


def test_labels_and_metadata_of_other_kinds_are_carried_along(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    row = {**RAGAS_V1, "labels": "good", "metadata": "web"}
    (tmp_path / "s.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (sample,) = read_samples(tmp_path / "s.jsonl")
    assert (sample.labels, sample.metadata) == ({}, {"labels": "good", "metadata": "web"})
    assert "no field, carried along as metadata: labels, metadata" in caplog.text


def test_a_nested_key_is_named_by_its_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    FILES["promptfoo_output.json"](tmp_path / "o.json")
    (sample,) = read_samples(tmp_path / "o.json")
    assert sample.metadata["response"] == {"tokenUsage": {"total": 40}}
    assert "response.tokenUsage" in caplog.text
    assert "the samples are those in 'results.results'" in caplog.text


# --- columns ---


def test_a_column_is_mapped_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps({"asked": {"text": "q"}, "found": ["c"], "note": "n"}), encoding="utf-8")
    given = {"asked.text": "user_input", "found": "retrieved_contexts", "note": "metadata"}
    (sample,) = read_samples(file, columns=given)
    assert sample == Sample(user_input="q", retrieved_contexts=["c"], metadata={"note": "n"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"nowhere": "user_input"}, "no row has 'nowhere'.* There is: question, ground_truths, answer"),
        ({"question": "user_imput"}, "there is no field 'user_imput'. Did you mean 'user_input'"),
    ],
)
def test_a_mapping_that_is_wrong(given: dict[str, str], message: str, tmp_path: Path) -> None:
    FILES["ragas_v1_truths.jsonl"](tmp_path / "s.jsonl")
    with pytest.raises(ParameterError, match=message):
        list(read_samples(tmp_path / "s.jsonl", columns=given))


def test_a_map_without_a_field_is_bad_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FILES["ragas_dataset.jsonl"](tmp_path / "s.jsonl")
    status, _, told = scored(monkeypatch, capsys, tmp_path / "s.jsonl", "--map", "question")
    assert status == 2
    assert "--map 'question' must be COLUMN=FIELD" in told


def test_a_misspelt_column_is_an_error_whose_line_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.jsonl"
    row = {key: value for key, value in RAGAS_V1.items() if key != "contexts"}
    file.write_text(json.dumps({**row, "retreived_contexts": CONTEXTS}), encoding="utf-8")
    status, _, told = scored(monkeypatch, capsys, file)
    option = re.search(r"write (--map \S+=retrieved_contexts), or", told)
    assert (status, option is not None) == (2, True), told
    assert option
    assert scored(monkeypatch, capsys, file, *shlex.split(option[1]))[:2] == (0, EXPECTED)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_numbered_columns_are_one_list(ending: str, tmp_path: Path) -> None:
    """With the first alone, precision and recall would be those of one context."""
    file = tmp_path / f"s.{ending}"
    texts = {f"Context {number}": text for number, text in enumerate(CONTEXTS, 1)}
    row = {
        "Question": QUESTION,
        **texts,
        "Answer": ANSWER,
        "Ground Truth": RAGAS_V1["ground_truth"],
    }
    short = {**row, "Context 1": CONTEXTS[0], **dict.fromkeys([*texts][1:])}
    if ending == "csv":
        with file.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, row)
            writer.writeheader()
            writer.writerows([row, short])
    else:
        file.write_text("\n".join(map(json.dumps, [row, short])), encoding="utf-8")
    first, second = read_samples(file)
    assert (first.retrieved_contexts, first.metadata) == (tuple(CONTEXTS), {})
    assert second.retrieved_contexts == (CONTEXTS[0],)
    assert (
        evaluate([first], [ContextUtilization()])[0]["context_utilization"].value
        == (EXPECTED["context_utilization"])
    )


def test_differing_columns_for_a_scalar_field_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps({"a": "One.", "b": "Two.", "c": ["Text."]}), encoding="utf-8")
    given = {"a": "reference", "b": "reference", "c": "retrieved_contexts"}
    with pytest.raises(SampleError, match="both 'a' and 'b' are given for 'reference'"):
        list(read_samples(file, columns=given))
    several = {**given, "a": "references", "b": "references"}
    (sample,) = read_samples(file, columns=several)
    assert sample.references == ("One.", "Two.")


@pytest.mark.parametrize(
    ("misspelt", "field"), [("ground_trth", "reference"), ("contxts", "retrieved_contexts")]
)
def test_a_misspelt_key_of_a_schema_is_mapped_to_our_field(
    misspelt: str, field: str, tmp_path: Path
) -> None:
    """--map takes our fields, not the words of the schema that the key is close to."""
    right = {"reference": "ground_truth", "retrieved_contexts": "contexts"}[field]
    row = {misspelt if key == right else key: value for key, value in RAGAS_V1.items()}
    (tmp_path / "s.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(SampleError, match=f"Did you mean '{right}'.* --map {misspelt}={field}, or"):
        list(read_samples(tmp_path / "s.jsonl"))
    (sample,) = read_samples(tmp_path / "s.jsonl", columns={misspelt: field})
    assert sample.has(field)


def test_mappings_in_python_are_recognised_too() -> None:
    results = evaluate([RAGAS_V1, {**RAGAS_V1, "x": 1}], [ContextUtilization()], progress=False)
    assert [row.sample.user_input for row in results] == [QUESTION, QUESTION]
    assert results[1].sample.metadata == {"x": 1}


# --- lists in texts ---


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['it''s', \"b's\"]", None),  # Python would join the first two
        ("['a, [b]', \"it's\"]", ["a, [b]", "it's"]),
        ("['a'\n 'b' \"c\"]", ["a", "b", "c"]),  # a numpy array
        ("[{'page_content': 'a'}]", [{"page_content": "a"}]),
        ("[]", []),
        ("['a' if 1 else 'b']", None),
        ("[__import__('os')]", None),
        ("[" * 5000 + "]" * 5000, None),
        ("[1] A footnote.", None),
        (
            "[Document(metadata={'n': 1}, page_content='a')]",
            [{"metadata": {"n": 1}, "page_content": "a"}],
        ),
        ("[Document(page_content=__import__('os'))]", None),
        ("[Document(page_content='a'), Image(url='b')]", None),
        ("[(Document(page_content='a'), 0.5)]", [[{"page_content": "a"}, 0.5]]),
        ("[np.str_('a'), np.str_(\"b's\")]", ["a", "b's"]),
        (
            "[{'text': 'a', 'score': nan, 'rank': np.int64(1)}]",
            [{"text": "a", "score": None, "rank": 1}],
        ),
        ("('a', \"b's\")", ["a", "b's"]),
        ("('a',)", ["a"]),
        ("('a')", None),
        ("(See a.)", None),
        ("{'a', 'b'}", None),
    ],
)
def test_a_list_in_a_text(text: str, found: Any) -> None:
    assert list_in(text) == found


@pytest.mark.parametrize("name", ["reference_id", "responseId", "user_input_id"])
def test_the_id_of_a_field_is_no_misspelt_field(name: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps([{name: "x", "contexts": CONTEXTS}]), encoding="utf-8")
    (sample,) = read_samples(tmp_path / "s.json")
    assert sample.metadata == {name: "x"}


def test_a_string_that_is_not_closed_is_gone_through_once() -> None:
    """Each quote behind a backslash began a search to the end: 40 kB in a cell took 15 seconds."""
    text = "[" + "\\'" * 100_000 + "]"
    assert [len(found) for found in _STRING.findall(text)] == [len(text) - 2]
    assert list_in(text) is None


def test_a_cell_that_looks_like_a_list_and_is_none(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("question,contexts\nq,\"[Document('a')]\"\n", encoding="utf-8")
    with pytest.raises(
        SampleError, match=r"line 2: field 'retrieved_contexts' must be a JSON list in its cell"
    ):
        list(read_samples(tmp_path / "c.csv"))
    (tmp_path / "i.csv").write_text(
        'retrieved_context_ids,reference_context_ids\n"a b, c",a\n', encoding="utf-8"
    )
    with pytest.raises(SampleError, match=r"line 2: field 'retrieved_context_ids' must be a JSON list"):
        list(read_samples(tmp_path / "i.csv"))


def test_objects_that_pandas_wrote_are_read(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    numpy = pytest.importorskip("numpy")
    outputs = {"answer": ANSWER, "documents": numpy.array(CONTEXTS, dtype=object)}
    row = {
        "inputs": {"question": QUESTION},
        "outputs": outputs,
        "reference_outputs": {"answer": "A b."},
    }
    pandas.DataFrame([row]).to_csv(tmp_path / "s.csv", index=False)
    (sample,) = read_samples(tmp_path / "s.csv")
    assert (sample.user_input, sample.response, sample.reference) == (QUESTION, ANSWER, "A b.")
    assert sample.retrieved_contexts == tuple(CONTEXTS)


@pytest.mark.parametrize("write", [json.dumps, repr])
def test_a_list_of_references_in_a_cell_is_no_text(write: Any, tmp_path: Path) -> None:
    def read(references: list[Any]) -> Any:
        with (tmp_path / "s.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["question", "ground_truths"], [QUESTION, write(references)]])
        (sample,) = read_samples(tmp_path / "s.csv")
        return sample.reference

    assert read(["The pump."]) == "The pump."
    assert read([7]) == "[7]"
    with pytest.raises(SampleError, match="field 'reference' holds 2 answers"):
        read(["The pump.", "A pump."])


@pytest.mark.parametrize(
    "gap", ["nan", "NaN", "None", "null", "NULL", "<NA>", "N/A", "n/a", "#N/A", "NA", "NaT"]
)
def test_a_gap_that_is_written_as_a_word_is_a_gap(gap: str, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(
        f"question,contexts,ground_truth\nq a,{gap},{gap}\nq b,['a b'],a b\n", encoding="utf-8"
    )
    first, second = read_samples(tmp_path / "s.csv")
    assert (first.retrieved_contexts, first.reference) == (None, None)
    assert (second.retrieved_contexts, second.reference) == (("a b",), "a b")


@pytest.mark.parametrize("names", [("Contexts", "contexts"), ("Contexts", "CONTEXTS")])
def test_columns_that_differ_in_case_alone_are_two(names: tuple[str, str], tmp_path: Path) -> None:
    row = {"question": QUESTION, **dict(zip(names, (CONTEXTS, ["Another text."]), strict=True))}
    (tmp_path / "s.json").write_text(json.dumps([row]), encoding="utf-8")
    with pytest.raises(SampleError) as raised:
        list(read_samples(tmp_path / "s.json"))
    for name in names:
        assert f"--map {name}=retrieved_contexts" in str(raised.value)
        (sample,) = read_samples(tmp_path / "s.json", columns={name: "retrieved_contexts"})
        assert sample.retrieved_contexts == tuple(row[name])


def test_a_text_in_place_of_a_list_needs_that_in_every_row(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "s.jsonl").write_text(
        json.dumps(RAGAS_V1) + "\n" + json.dumps({**RAGAS_V1, "contexts": "one"}), encoding="utf-8"
    )
    _, second = read_samples(tmp_path / "s.jsonl")
    assert second.retrieved_contexts is None
    assert (
        "line 2: field 'retrieved_contexts' is a str, and no list, unlike in other rows" in caplog.text
    )


@pytest.mark.slow
def test_unusable_fields_are_named_in_one_order(tmp_path: Path) -> None:
    """Strings have another hash in each process, so the order of a set is no order."""
    wrong = {**RAGAS_V1, "contexts": "one", "ground_truth": ["a", "b"]}
    rows = "\n".join(map(json.dumps, (RAGAS_V1, RAGAS_V1, wrong)))
    (tmp_path / "s.jsonl").write_text(rows, encoding="utf-8")
    code = f"import ctxmetrics as cm; *_, last = cm.read_samples({str(tmp_path / 's.jsonl')!r}); print(*last.metadata)"
    orders = set()
    for seed in range(6):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        orders.add((done.stdout, done.stderr))
    assert len(orders) == 1
    assert set(done.stdout.split()) >= {"reference", "retrieved_contexts"}


# --- files that are not what they promise ---


def test_cells_of_parquet_that_json_does_not_know_are_texts(tmp_path: Path) -> None:
    needs_arrow("x.parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    cells = {
        "day": date(2024, 1, 2),
        "at": datetime(2024, 1, 2, 3, 4, 5),  # noqa: DTZ001 - as files have it
        "price": Decimal("1.50"),
        "picture": b"abc",
        "score": {"value": math.nan, "all": [0.5]},
    }
    row = {"question": QUESTION, "contexts": CONTEXTS, **cells, "empty": math.nan}
    pq.write_table(pa.table({name: [cell] for name, cell in row.items()}), tmp_path / "c.parquet")
    (sample,) = read_samples(tmp_path / "c.parquet")
    assert sample.metadata == {
        "day": "2024-01-02",
        "at": "2024-01-02T03:04:05",
        "price": "1.50",
        "picture": "3 bytes",
        "score": {"value": None, "all": [0.5]},
    }


@pytest.mark.parametrize(
    ("name", "start", "filler"),
    [
        ("a.jsonl.gz", b"", b" "),
        ("a.jsonl.gz", b'{"reference": "', b"a"),
        ("a.json.gz", b"[", b"\n"),
        ("a.csv.gz", b"reference\n", b"x,\n"),
    ],
)
def test_a_compressed_file_that_becomes_too_large_is_refused(
    tmp_path, monkeypatch, name, start, filler
):
    monkeypatch.setattr(text_files, "_FREE_BYTES", 1 << 20)
    with gzip.open(tmp_path / name, "wb") as file:
        file.write(start)
        for _ in range(64):
            file.write(filler * (1 << 16))
    with pytest.raises(InputFileError, match=r"becomes more than 200 times as large.*gunzip"):
        list(read_samples(tmp_path / name))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_the_size_of_a_file_allows_no_larger_line(tmp_path, monkeypatch, ending):
    """Its first part alone decides: the memory for one line does not grow with the file."""
    if ending == ".zst":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(text_files, "_FREE_BYTES", 1 << 20)
    path = tmp_path / f"a.jsonl{ending}"
    filler = random.Random(0).randbytes(1 << 20)
    path.write_bytes(b"".join(text_files.compress([b" " * (1 << 26), filler], path)))
    with pytest.raises(InputFileError, match="becomes more than 200 times as large"):
        list(read_samples(path))


@pytest.mark.slow
def test_a_compressed_file_of_samples_may_be_repetitive(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_FREE_BYTES", 1 << 20)
    line = json.dumps({"reference": "The mill is in Ghent.", "retrieved_contexts": ["Rain fell."]})
    lines = [f'{{"id": "{number * 7919 % 20_011}", {line[1:]}\n' for number in range(20_000)]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    assert sum(1 for _ in read_samples(tmp_path / "a.jsonl.gz")) == 20_000


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"reference": "x"}')[:-9])
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        with pytest.raises(InputFileError, match="cannot be decompressed"):
            list(read_samples(tmp_path / name))
    needs_arrow("x.parquet")
    (tmp_path / "c.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputFileError, match=r"c\.parquet: is no Parquet file"):
        list(read_samples(tmp_path / "c.parquet"))
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputFileError, match=r"no dataset that Hugging Face's save_to_disk wrote"):
        list(read_samples(folder))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../c.parquet"}]}))
    with pytest.raises(InputFileError, match="names a file outside of itself"):
        list(read_samples(folder))


def test_a_dataset_of_hugging_face_is_scored() -> None:
    datasets = pytest.importorskip("datasets", reason="Hugging Face's datasets is not installed")
    data = datasets.Dataset.from_dict(
        {
            "question": [QUESTION] * 3,
            "contexts": [CONTEXTS] * 3,
            "reference_contexts": [CONTEXTS, CONTEXTS[:1], []],
        }
    ).select([2, 0])
    scored_ = score_table(data, [NonLLMContextRecall()])
    assert type(scored_) is type(data)
    assert scored_["non_llm_context_recall"][:] == [None, 1.0]
    assert scored_["non_llm_context_recall.reason_code"][:] == ["no_reference", None]
    assert [
        row["non_llm_context_recall"].value
        for row in evaluate(data, [NonLLMContextRecall()], progress=False)
    ] == [
        None,
        1.0,
    ]
    with pytest.raises(ParameterError, match=r"several datasets\. Give one, such as dataset\['test'\]"):
        score_table(datasets.DatasetDict({"test": data}), [NonLLMContextRecall()])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("s.jsonl", '{"user_input": "a"}\n{"user_input": "a", "user_input": "b"}', "line 2: the key 'user_input' stands twice"),
        ("s.json", '[{"user_input": "a", "metadata": {"k": 1, "k": 2}}]', "the key 'k' stands twice"),
        ("t.json", '{"columns": ["user_input", "reference", "reference"], "data": [["a", "b", "c"]]}', "two columns are named 'reference'"),
        ("s.csv", "user_input,reference,user_input\na,b,c\n", "line 1: two columns are named 'user_input'"),
        ("c.csv", 'user_input,metadata\na,"{""k"": 1, ""k"": 2}"\n', "the key 'k' stands twice"),
        ("d.csv", 'user_input,reference_facts\na,"[{""text"": ""b"", ""text"": ""c""}]"\n', "the key 'text' stands twice"),
    ],
)  # fmt: skip
def test_a_name_that_stands_twice_is_an_error(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(CtxMetricsError, match=f"{name}.*{message}"):
        list(read_samples(tmp_path / name))


@pytest.mark.parametrize("row", [["Q?"], ["Q?", "It is red.", "lost"]])
def test_a_row_of_a_table_by_columns_has_a_cell_for_each(tmp_path: Path, row: list[str]) -> None:
    table = {"columns": ["question", "ground_truth"], "data": [["Q?", "It is red."], row]}
    (tmp_path / "t.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(
        InputFileError, match=r"t\.json, sample 2: the row has not as many cells as 'columns'"
    ):
        list(read_samples(tmp_path / "t.json"))


@pytest.mark.parametrize(
    "data", [{"columns": 1, "data": 2}, {"columns": [1], "data": 2}, {"data": [[1]], "columns": None}, [1], 7, "x", None]
)  # fmt: skip
def test_a_file_without_rows_says_so(data: Any, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(CtxMetricsError, match=r"s\.json.* must be a (list of samples|JSON object)"):
        list(read_samples(tmp_path / "s.json"))


@pytest.mark.parametrize("column", ["Context", "Ground Truth"])
def test_a_column_is_mapped_by_the_name_that_the_file_has(column: str, tmp_path: Path) -> None:
    row = {"question": QUESTION, "answer": ANSWER, column: CONTEXTS}
    (tmp_path / "s.json").write_text(json.dumps([row]), encoding="utf-8")
    (sample,) = read_samples(tmp_path / "s.json", columns={column: "retrieved_contexts"})
    assert sample.retrieved_contexts == tuple(CONTEXTS)


def test_an_error_names_a_column_as_the_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.csv").write_text(f"question,Context,answer\nq,{CONTEXTS[0]},a\n", encoding="utf-8")
    status, _, told = scored(monkeypatch, capsys, tmp_path / "s.csv")
    options = re.findall(r"--map (Context=\w+)", told)
    assert (status, len(options)) == (2, 3), told
    for option in options[:2]:
        status, _, told = scored(monkeypatch, capsys, tmp_path / "s.csv", "--map", option)
        assert "means the retrieved text in some systems" not in told


@pytest.mark.parametrize("key", ["data", "samples", "examples", "rows", "output", "results"])
def test_samples_under_one_key_are_read(key: str, tmp_path: Path) -> None:
    rows = [
        {"question": f"{QUESTION} {n}", "ground_truth": "A b.", "contexts": ["A b."]} for n in "xyz"
    ]
    (tmp_path / "s.json").write_text(json.dumps({key: rows}), encoding="utf-8")
    samples = list(read_samples(tmp_path / "s.json"))
    assert [sample.user_input for sample in samples] == [row["question"] for row in rows]
    assert {sample.reference for sample in samples} == {"A b."}


@pytest.mark.parametrize("path", [None, 3, [{"question": "q"}], {"question": ["q"]}])
def test_a_source_that_is_no_path_is_named(path: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"path must be .*not \w+\. Write evaluate\(rows, metrics\)"
    ):
        read_samples(path)
