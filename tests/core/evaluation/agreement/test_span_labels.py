"""Where chunks stand in their sources, and the command ``ctxmetrics spans``: found, or said, and never guessed."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from ctxmetrics import Sample, SpanBasedContextRecall, label_spans
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.agreement.span_labels import locate, read_sources
from ctxmetrics.evaluation.cli import app
from support.command import run_command

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

TEXT = "The tower was built in 1889.\nIt is 330 metres high, and stands in Paris.\n\nStraße der Sonne 😀 ist lang.\n"


def spans_of(chunk: str, *texts: str) -> list[tuple[str, int, int]]:
    (places,) = locate([chunk], [(f"{number}.md", text) for number, text in enumerate(texts)])
    return places.within(None)


@pytest.mark.parametrize(
    "chunk",
    [TEXT, TEXT[4:9], TEXT[:28], TEXT[29:60], TEXT[72:], "😀", "Straße der Sonne 😀 ist", "\n\nStraße"],
)
def test_an_exact_chunk_is_found_with_its_white_space(chunk: str) -> None:
    start = TEXT.index(chunk)
    assert spans_of(chunk, TEXT) == [("0.md", start, start + len(chunk))]


@pytest.mark.parametrize(
    ("chunk", "text"),
    [
        ("IT IS 330 METRES HIGH", "It is 330 metres high"),
        ("built in 1889. It is 330 metres", "built in 1889.\nIt is 330 metres"),
        ("  strasse   der sonne 😀 ist lang. ", "Straße der Sonne 😀 ist lang."),
        ("STANDS\tIN", "stands in"),
    ],
)
def test_white_space_and_case_do_not_matter(chunk: str, text: str) -> None:
    start = TEXT.index(text)
    assert spans_of(chunk, TEXT) == [("0.md", start, start + len(text))]


def test_an_exact_place_counts_before_others() -> None:
    assert spans_of("the tower of Paris", "The tower of Paris", "see the tower of Paris") == [
        ("1.md", 4, 22)
    ]


def test_several_places_are_several() -> None:
    assert len(spans_of("the tower of Paris", "the tower of Paris", "the tower of Paris")) == 2
    assert len(spans_of("aba", "xabababax")) == 2
    assert (
        len(
            spans_of(
                "the same long sentence again",
                "the same long sentence again, the same long sentence again",
            )
        )
        == 2
    )


@pytest.mark.parametrize("chunk", ["", "  \n", "nowhere in the text, really", "xyz", TEXT + "more"])
def test_what_is_not_there_is_not_found(chunk: str) -> None:
    assert spans_of(chunk, TEXT) == []


@pytest.mark.slow
def test_chunks_of_any_length_are_located_as_by_str_find() -> None:
    random_ = random.Random(18)
    text = "".join(random_.choices("abcABC \n.ßİ😀é", k=9_000))  # longer than two blocks
    chunks = []
    for _ in range(400):
        start = random_.randrange(len(text))
        chunks.append(text[start : start + random_.randint(1, 90)])
    for chunk, places in zip(chunks, locate(chunks, [("t", text)]), strict=True):
        if chunk.strip():
            first = text.find(chunk)
            assert ("t", first, first + len(chunk)) in places.exact
            assert (len(places.exact) == 1) == (text.find(chunk, first + 1) < 0)
        for _, start, end in places.exact + places.loose:
            assert "".join(text[start:end].casefold().split()) == "".join(chunk.casefold().split())


def test_sources_are_the_text_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.md").write_bytes("é\r\nx".encode())
    (tmp_path / "a.md").write_text("a", encoding="utf-8")
    (tmp_path / ".hidden").write_bytes(b"\xff")
    assert list(read_sources(tmp_path)) == [("a.md", "a"), ("b/x.md", "é\nx")]
    (tmp_path / "c.bin").write_bytes(b"\xff")
    with pytest.raises(InputFileError, match=r"c\.bin: not UTF-8 at byte 0"):
        list(read_sources(tmp_path))
    with pytest.raises(InputFileError, match="no such folder"):
        list(read_sources(tmp_path / "none"))


# --- the command ---


def command(folder: Path, rows: list[Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts" / "tower.md").write_text(TEXT, encoding="utf-8")
    (folder / "texts" / "copy.md").write_text(TEXT[29:60], encoding="utf-8")
    return run_command("spans", "rows.jsonl", "--sources", "texts", *arguments, cwd=folder)


def test_the_command_writes_the_ids(tmp_path: Path) -> None:
    row = {
        "id": "q1",
        "retrieved_contexts": [TEXT[:28], "STANDS in  Paris"],
        "reference_contexts": [TEXT[4:28]],
    }
    done = command(tmp_path, [row], "--out", "out.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "3 of 3 contexts found in 2 sources.\n"
    sample = Sample.from_dict(json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8")))
    start = TEXT.index("stands in Paris")
    assert sample.retrieved_context_ids == ("tower.md#char=0,28", f"tower.md#char={start},{start + 15}")
    assert sample.reference_context_ids == ("tower.md#char=4,28",)
    assert SpanBasedContextRecall().score(sample).value == 1.0


def test_what_stands_twice_or_nowhere_is_listed_and_gets_no_id(tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "retrieved_contexts": [TEXT[29:60], TEXT[:28]]},
        {"retrieved_contexts": ["nowhere to be found"], "retrieved_context_ids": ["chunk-7"]},
    ]
    done = command(tmp_path, rows)
    written = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert "retrieved_context_ids" not in written[0]
    assert written[1]["retrieved_context_ids"] == ["chunk-7"]
    assert done.stderr.splitlines() == [
        "Sample 'q1': field 'retrieved_contexts', item 1: stands in copy.md#char=0,31, tower.md#char=29,60: \"It is 330 metres high, and stan\"",
        "Sample 2: field 'retrieved_contexts', item 1: not found: \"nowhere to be found\"",
        "1 of 3 contexts found in 2 sources.",
    ]
    assert command(tmp_path, rows, "--fail-missing").returncode == 1
    assert command(tmp_path, [{"retrieved_contexts": [TEXT[:28]]}], "--fail-missing").returncode == 0


def test_an_id_that_names_the_source_says_which_of_several(tmp_path: Path) -> None:
    row = {"retrieved_contexts": [{"text": TEXT[29:60], "source": "/data/texts/tower.md"}]}
    done = command(tmp_path, [row])
    assert json.loads(done.stdout)["retrieved_context_ids"] == ["tower.md#char=29,60"]


def test_ids_that_are_spans_stay(tmp_path: Path) -> None:
    row = {"retrieved_contexts": ["nowhere"], "retrieved_context_ids": ["x.md#char=0,7"]}
    done = command(tmp_path, [row], "--fail-missing")
    assert done.returncode == 0
    assert json.loads(done.stdout)["retrieved_context_ids"] == ["x.md#char=0,7"]


def test_the_input_is_never_the_output(tmp_path: Path) -> None:
    done = command(tmp_path, [{"retrieved_contexts": [TEXT[:28]]}], "--out", "rows.jsonl")
    assert done.returncode == 2
    assert "are the same file" in done.stderr


def test_score_says_what_id_metrics_do_with_spans(tmp_path: Path) -> None:
    row = {"retrieved_context_ids": ["t.md#char=0,9"], "reference_context_ids": ["t.md#char=0,7"]}
    done = run_command("score", written(tmp_path, "rows.jsonl", [row]))
    assert (
        "note: reference_context_ids are spans, which id metrics compare as whole ids." in done.stderr
    )
    asked = run_command("score", tmp_path / "rows.jsonl", "--metric", "span_based_context_recall")
    assert "are spans" not in asked.stderr


# --- labels that exist ---

CHUNKS = [
    {"id": "k1", "text": TEXT[:28], "source": "tower.md", "start_index": 0},
    {
        "id_": "k2",
        "text": TEXT[29:60],
        "start_char_idx": 29,
        "end_char_idx": 60,
        "metadata": {"file_path": "tower.md"},
    },
]


def written(folder: Path, name: str, rows: list[Any]) -> Path:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder / name


def test_ids_of_chunks_become_spans(tmp_path: Path) -> None:
    rows = [
        {"id": "q1", "retrieved_context_ids": ["k2", "k1"], "reference_context_ids": ["k1"]},
        {"id": "q2", "retrieved_context_ids": ["k1"], "reference_context_ids": ["k1", "k9"]},
    ]
    file = written(tmp_path, "rows.jsonl", rows)
    done = run_command("spans", file, "--chunks", written(tmp_path, "chunks.jsonl", CHUNKS))
    first, second = (Sample.from_dict(json.loads(line)) for line in done.stdout.splitlines())
    assert first.retrieved_context_ids == ("tower.md#char=29,60", "tower.md#char=0,28")
    assert first.reference_context_ids == ("tower.md#char=0,28",)
    assert first.metadata["reference_spans"] == "ids of chunks, spans of chunks.jsonl"
    assert (second.reference_context_ids, dict(second.metadata)) == (("k1", "k9"), {})
    assert "Sample 'q2': field 'reference_context_ids': 'k9' is the id of no chunk" in done.stderr
    (again,) = label_spans([Sample.from_dict(rows[0])], chunks=CHUNKS)
    assert again.reference_context_ids == first.reference_context_ids
    assert (
        run_command("spans", file, "--chunks", tmp_path / "chunks.jsonl", "--fail-missing").returncode
        == 1
    )
    assert run_command("spans", file).returncode == 2


@pytest.mark.parametrize(
    ("samples", "given", "told"),
    [
        ([{"reference_context_ids": ["k9"]}], {"chunks": CHUNKS}, "'k9' is the id of no chunk"),
        ([], {"chunks": [{"text": "a", "source": "s", "start_index": 0}]}, "chunk 1: it has no id"),
        ([], {"chunks": [{"id": "k1", "text": "a"}]}, "chunk 1: it has no source and start"),
        (
            [],
            {"chunks": [*CHUNKS, {**CHUNKS[0], "start_index": 4}]},
            "chunk 3: another chunk has the id 'k1'",
        ),
        ([], {}, "give chunks= or labels="),
    ],
)
def test_chunks_that_do_not_say_where_they_stand_are_refused(
    samples: list[Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises((SampleError, ParameterError), match=told):
        label_spans(map(Sample.from_dict, samples), **given)


def labelled_by_hand(folder: Path, ids: list[str], keys: str = "y 2\nn\ny\n") -> Path:
    """A person finds the first sentence stated by the second context, and this one useful."""
    row = {
        "id": "q1",
        "reference": "It is high.",
        "retrieved_contexts": [TEXT[:28], TEXT[29:60]],
        "retrieved_context_ids": ids,
    }
    file = written(folder, "rows.jsonl", [row])
    done = CliRunner().invoke(
        app, ["label", str(file), "--terminal", "--n", "1", "--annotator", "ann"], input=keys
    )
    assert done.exit_code == 0, done.output
    return file.with_name("rows.jsonl.labels.jsonl")


def test_what_a_person_marked_is_a_label_of_any_chunking(tmp_path: Path) -> None:
    labels = labelled_by_hand(tmp_path, ["tower.md#char=0,28", "tower.md#char=29,60"])
    other = written(
        tmp_path, "other.jsonl", [{"id": "q1", "retrieved_context_ids": ["tower.md#char=20,60"]}]
    )
    done = run_command("spans", other, "--labels", labels)
    sample = Sample.from_dict(json.loads(done.stdout))
    assert sample.reference_context_ids == ("tower.md#char=29,60",)
    assert sample.metadata["reference_spans"] == "marked by ann"
    assert SpanBasedContextRecall().score(sample).value == 1.0
    (again,) = label_spans([Sample(id="q1")], labels=labels)
    assert again.reference_context_ids == sample.reference_context_ids


def test_answers_about_contexts_without_spans_are_listed(tmp_path: Path) -> None:
    labels = labelled_by_hand(tmp_path, ["k1", "k2"])
    with pytest.raises(
        SampleError, match=r"Sample 'q1': 2 answers of rows.jsonl.labels.jsonl have no span"
    ):
        label_spans([Sample(id="q1")], labels=labels)


SPANS = ["tower.md#char=0,28", "tower.md#char=29,60"]


def change_answers(labels: Path, **changes: Any) -> list[dict[str, Any]]:
    """Return the answers of a labels file with other fields, and write nothing."""
    lines = [json.loads(line) for line in labels.read_text(encoding="utf-8").splitlines()]
    return [{**line, **changes} for line in lines if "answer" in line]


def add_lines(labels: Path, lines: list[dict[str, Any]]) -> None:
    with labels.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_a_tie_keeps_the_labels_of_a_sample(tmp_path: Path) -> None:
    """Ann says yes to the sentence and to the second context; Bob says no to all. A tie is no label."""
    labels = labelled_by_hand(tmp_path, SPANS)
    add_lines(labels, change_answers(labels, annotator="bob", answer="no", spans=[]))
    sample = Sample(id="q1", reference_context_ids=["a.txt#char=100,200"])
    assert label_spans([sample], labels=labels) == [sample]


def test_only_who_decided_a_question_is_named(tmp_path: Path) -> None:
    """Bob answers the second context only, and says no to what Ann calls useful: the sentence is left."""
    labels = labelled_by_hand(tmp_path, SPANS)
    answers = change_answers(labels, annotator="bob", answer="no", spans=[])
    add_lines(labels, [answer for answer in answers if answer["item"] == "c2"])
    (sample,) = label_spans([Sample(id="q1")], labels=labels)
    assert sample.reference_context_ids == (SPANS[1],)
    assert sample.metadata["reference_spans"] == "marked by ann"


@pytest.mark.parametrize("keys", ["n\nn\n", "y\nn\n"])
def test_answers_that_mark_no_span_keep_the_labels(tmp_path: Path, keys: str) -> None:
    """The sentence is stated by none, or by a context that is not named; the first context is not useful."""
    labels = labelled_by_hand(tmp_path, SPANS, keys=keys)
    sample = Sample(id="q1", reference_context_ids=["a.txt#char=100,200"])
    assert label_spans([sample], labels=labels) == [sample]


@pytest.mark.parametrize("id_", ["other", None])
def test_answers_about_no_sample_are_listed(tmp_path: Path, id_: str | None) -> None:
    labels = labelled_by_hand(tmp_path, SPANS)
    sample = Sample.from_dict(json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8")))
    changed = replace(sample, id=id_)
    with pytest.raises(SampleError, match=r"answers about sample 'q1' .* none of the samples"):
        label_spans([changed], labels=labels)
    file = written(tmp_path, "other.jsonl", [changed.to_dict()])
    done = run_command("spans", file, "--labels", labels, "--fail-missing")
    assert done.returncode == 1
    assert "without a span or a sample: 1." in done.stderr


def test_samples_may_be_dicts_and_an_empty_id_is_no_id() -> None:
    chunks = [{"id": "k1", "source": "a.txt", "start_index": 3, "text": "abc"}]
    sample = {"user_input": "Where?", "reference_context_ids": ["", "k1"]}
    (found,) = label_spans([sample], chunks=chunks)
    assert found.reference_context_ids == ("", "a.txt#char=3,6")
