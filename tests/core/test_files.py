"""Files as people have them: each scores, or the one line of the error says what to write, and that works."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import sys
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
from ctxmetrics.cli import main
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.fields.cells import list_in
from support.exports import CONTEXTS, EXPECTED, FILES, QUESTION, RAGAS_V1

if TYPE_CHECKING:
    from pathlib import Path

# Files that need one option, which the error names: the folder of one split, or what a column holds.
FOLLOWED = {
    "phoenix_qa_with_reference.csv": "--map reference=retrieved_contexts",
    "rag_dataset.jsonl": "--map context=retrieved_contexts",
    "halubench.jsonl": "--map passage=retrieved_contexts",
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


@pytest.mark.parametrize("name", [name for name in FILES if name not in {*FOLLOWED, "two_splits"}])
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


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_option_that_an_error_names_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FILES[name](tmp_path / name)
    status, _, told = scored(monkeypatch, capsys, tmp_path / name)
    assert status == 2
    assert FOLLOWED[name] in told.splitlines()[-1]
    status, means, told = scored(monkeypatch, capsys, tmp_path / name, *FOLLOWED[name].split())
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
    assert len(FILES) - len(FOLLOWED) - 1 >= 20


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
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _, _, told = scored(monkeypatch, capsys, file, "--metric", "context_utilization")
    assert told.count("question -> user_input, answer -> response, ground_truth -> reference") == 1
    assert told.count("no field, carried along as metadata: team") == 1
    assert told.count("carried along as metadata: late") == 1
    *_, last = read_samples(file)
    assert last.metadata == {"late": 1}


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
    option = re.search(r"write (--map '[^']+=retrieved_contexts')", told)
    assert (status, option is not None) == (2, True), told
    assert option
    assert scored(monkeypatch, capsys, file, *shlex.split(option[1]))[:2] == (0, EXPECTED)


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
        ("[Document(page_content='a')]", None),
    ],
)
def test_a_list_in_a_text(text: str, found: Any) -> None:
    assert list_in(text) == found


def test_a_cell_that_looks_like_a_list_and_is_none(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("question,contexts\nq,\"[Document('a')]\"\n", encoding="utf-8")
    with pytest.raises(
        SampleError, match=r"line 2: field 'retrieved_contexts' must be a JSON list in its cell"
    ):
        list(read_samples(tmp_path / "c.csv"))
    (tmp_path / "i.csv").write_text(
        'retrieved_context_ids,reference_context_ids\n"a,b",a\n', encoding="utf-8"
    )
    with pytest.raises(SampleError, match=r"line 2: field 'retrieved_context_ids' must be a JSON list"):
        list(read_samples(tmp_path / "i.csv"))


def test_a_text_in_place_of_a_list_needs_that_in_every_row(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(
        json.dumps(RAGAS_V1) + "\n" + json.dumps({**RAGAS_V1, "contexts": "one"}), encoding="utf-8"
    )
    with pytest.raises(
        SampleError, match="line 2: field 'retrieved_contexts' must be a list, not one string"
    ):
        list(read_samples(tmp_path / "s.jsonl"))


# --- files that are not what they promise ---


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
