"""Rows that are passages, ids where texts are expected, and several passages in one text."""

from __future__ import annotations

import csv
import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    IDBasedRecallAtK,
    NonLLMContextRecall,
    Sample,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.errors import InputFileError, ParameterError, SampleError
from ctxmetrics.evaluation.files.cell_values import are_comma_ids, are_sources, split_ids
from ctxmetrics.evaluation.files.headers import find_plain_field
from ctxmetrics.evaluation.files.services import find_reply
from support.cases import each_case
from support.command import run_command

QUESTIONS = {
    "How long is the guarantee?": ("The guarantee runs for three years.", (0, 1)),
    "Who may open the valve?": ("Only an engineer may open the valve.", (1, 1)),
}


def exploded() -> list[dict[str, str]]:
    """Return a row a passage: a useless one above the right one, then the right one twice."""
    return [
        {
            "question": question,
            "passage": reference if hit else "Rinse the filter weekly.",
            "answer_gold": reference,
        }
        for question, (reference, hits) in QUESTIONS.items()
        for hit in hits
    ]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


MAPPED_PASSAGE = {"passage": "retrieved_contexts"}
MAPPED = {**MAPPED_PASSAGE, "answer_gold": "reference"}


def means(samples: Any) -> list[float | None]:
    summary = evaluate(samples, [ContextRecall(), ContextPrecision()], progress=False).summary()
    return [item.mean for item in summary.values()]


# --- one row a passage ---


def test_a_row_a_passage_is_refused_and_grouped(tmp_path: Path) -> None:
    """Recall 1 and 1; precision 1/2 (the right one second) and 1 (both right)."""
    file = write_csv(tmp_path / "rows.csv", exploded())
    with pytest.raises(SampleError, match=r"--group-by question \(in Python group_by=\)"):
        list(read_samples(file, columns=MAPPED))
    samples = list(read_samples(file, columns=MAPPED, group_by="question"))
    assert [len(sample.retrieved_contexts or ()) for sample in samples] == [2, 2]
    assert means(samples) == [1.0, 0.75]
    maps = [part for column, name in MAPPED.items() for part in ("--map", f"{column}={name}")]
    refused = run_command("score", file, *maps)
    assert (refused.returncode, "--group-by question" in refused.stderr) == (2, True)
    done = run_command("score", file, *maps, "--group-by", "question")
    assert "context_precision  0.7500" in done.stdout, done.stderr


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_table_of_passages_is_grouped(kind: str) -> None:
    rows = exploded()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if kind == "pyarrow":
        table: Any = pytest.importorskip("pyarrow").table(columns)
    else:
        table = pytest.importorskip(kind).DataFrame(columns)
    with pytest.raises(SampleError, match="--group-by question"):
        score_table(table, [ContextPrecision()], columns=MAPPED)
    scored = score_table(table, [ContextPrecision()], columns=MAPPED, group_by="question")
    values = scored["context_precision"]
    assert [float(value) for value in (values.to_pylist() if kind == "pyarrow" else values)] == [
        0.5,
        1.0,
    ]


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("make", [dict, Sample])
def test_rows_of_one_text_each_in_a_list_are_passages_too(make: Any, container: Any) -> None:
    rows = [
        make(
            user_input=row["question"],
            reference=row["answer_gold"],
            retrieved_contexts=container([row["passage"]]),
        )
        for row in exploded()[:2]
    ]
    with pytest.raises(SampleError, match=r"--group-by user_input \(in Python group_by=\)"):
        evaluate(rows, [ContextRecall()], progress=False)


def test_samples_of_one_id_each_are_passages_too() -> None:
    rows = [
        Sample(user_input="Where?", retrieved_context_ids=[name], reference_context_ids=["a"])
        for name in ("a", "b")
    ]
    with pytest.raises(SampleError, match="--group-by user_input"):
        evaluate(rows, [IDBasedRecallAtK()], progress=False)


def test_samples_that_repeat_a_question_otherwise_are_scored() -> None:
    """One context that repeats, several contexts, and the last of several stages."""
    same = {"user_input": "Where?", "reference": "In the cellar."}
    contexts = (["In the cellar."], ["In the cellar."], ["In the cellar.", "The lamp."])
    rows = [Sample(**same, retrieved_contexts=texts) for texts in contexts]
    rows += [
        Sample(**same, stages={"search": ["In the cellar.", text], "rerank": [text]})
        for text in ("The lamp.", "The valve.")
    ]
    results = evaluate(rows, [ContextRecall()], progress=False)
    assert results.by_metric["context_recall"].values.tolist() == [1, 1, 1, 0, 0]


def test_rows_of_one_question_with_two_references_are_refused(tmp_path: Path) -> None:
    """The second reference would be lost."""
    rows = [
        {"question": "Where?", "ground_truth": text, "contexts": text} for text in ("Here.", "There.")
    ]
    with pytest.raises(SampleError, match=r"line 2: .*'reference' differs.*reference_facts"):
        list(read_samples(write_csv(tmp_path / "rows.csv", rows), group_by="question"))


def test_a_merged_cell_continues_the_row_above(tmp_path: Path) -> None:
    """The row above is the last one, not the first row of the newest question."""
    rows = [
        {"question": question, "passage": passage}
        for question, passage in (
            ("Who?", "First."),
            ("Where?", "Second."),
            ("Who?", "Third."),
            ("", "Fourth."),
        )
    ]
    samples = read_samples(
        write_csv(tmp_path / "rows.csv", rows), columns=MAPPED_PASSAGE, group_by="question"
    )
    assert [sample.retrieved_contexts for sample in samples] == [
        ("First.", "Third.", "Fourth."),
        ("Second.",),
    ]


BLANKS_BELOW = [
    {"question": "Who?", "passage": "", "gold": "Ann."},
    {"question": "", "passage": "Second.", "gold": " "},
    {"question": "Where?", "passage": "Third.", "gold": "Here."},
    {"question": "  ", "passage": "Fourth.", "gold": ""},
]


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.csv"])
def test_a_blank_text_continues_the_row_above(name: str, tmp_path: Path) -> None:
    """A blank text is a gap, as an absent one. A blank passage keeps its rank where the form can hold it."""
    file = tmp_path / name
    if name == "rows.csv":
        write_csv(file, BLANKS_BELOW)
    elif name == "rows.json":
        file.write_text(json.dumps(BLANKS_BELOW), encoding="utf-8")
    else:
        file.write_text("\n".join(map(json.dumps, BLANKS_BELOW)), encoding="utf-8")
    columns = {**MAPPED_PASSAGE, "gold": "reference_contexts"}
    samples = list(read_samples(file, columns=columns, group_by="question"))
    assert [sample.user_input for sample in samples] == ["Who?", "Where?"]
    assert [sample.reference_contexts for sample in samples] == [("Ann.",), ("Here.",)]
    assert [[*filter(None, sample.retrieved_contexts or ())] for sample in samples] == [
        ["Second."],
        ["Third.", "Fourth."],
    ]


def test_a_table_with_filled_gaps_is_grouped() -> None:
    """Each question has the two texts of its reference, one a row: recall 1."""
    table = pytest.importorskip("pandas").DataFrame(
        {
            "user_input": ["Who?", "", "Where?", ""],
            "retrieved_contexts": [["Ann Lee came."], ["Bob."], ["Rome."], ["In the old park."]],
            "reference": ["Ann Lee came.", "", "In the old park.", ""],
        }
    )
    scored = score_table(table, [ContextRecall()], group_by="user_input")
    assert [*scored["context_recall"]] == [1.0, 1.0]


def test_repeated_passages_keep_their_ids(tmp_path: Path) -> None:
    """Each row repeats what was retrieved. One text stands in two documents, and one document has two texts."""
    retrieved = {
        "user_input": "Who?",
        "retrieved_contexts": ["Ann.", "Ann.", "Bob."],
        "retrieved_context_ids": ["1", "2", "2"],
    }
    rows = [{**retrieved, "reference_contexts": [gold]} for gold in ("Ann.", "Bob.")]
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    [sample] = read_samples(file, group_by="user_input")
    assert (sample.retrieved_contexts, sample.retrieved_context_ids) == (
        ("Ann.", "Ann.", "Bob."),
        ("1", "2", "2"),
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_text_of_a_later_row_is_in_the_grouped_table(kind: str) -> None:
    """The second row of the first question has its reference."""
    columns = {
        "user_input": ["Who?", "Who?", "Where?"],
        "retrieved_contexts": [["Bob."], ["Ann Lee came."], ["In the old park."]],
        "reference": [None, "Ann Lee came.", "In the old park."],
    }
    if kind == "pyarrow":
        table: Any = pytest.importorskip("pyarrow").table(columns)
    else:
        table = pytest.importorskip(kind).DataFrame(columns)
    scored = score_table(table, [ContextRecall()], group_by="user_input")
    values = scored["context_recall"]
    assert [*(values.to_pylist() if kind == "pyarrow" else values)] == [1.0, 1.0]
    references = scored["reference"]
    assert [*(references.to_pylist() if kind == "pyarrow" else references)] == [
        "Ann Lee came.",
        "In the old park.",
    ]


def test_a_question_that_two_systems_answer_is_no_row_a_passage(tmp_path: Path) -> None:
    rows = [
        {"question": q, "ground_truth": r, "contexts": ["A text of it.", f"Text {n} of another."]}
        for n in range(2)
        for q, (r, _) in QUESTIONS.items()
    ]
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows))
    assert len(list(read_samples(file))) == 4


# --- ids and addresses where texts are expected ---

NO_TEXTS = [
    ["https://example.org/a.pdf", "https://example.org/b"],
    ["chunk_0012", "chunk_0013"],
    ["report-2023.pdf", "annex.docx"],
    ["s3://bucket/a.txt", "file:///tmp/b.md"],
    ["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e0-4f89-11d3-9a0c-0305e82c3302"],
    ["docs/handbook/warranty.md", "docs/handbook/pump.md"],
    ["hb:warranty:01", "hb:warranty:02"],
    ["doc#12", "doc#13"],
    ["talk.mp3", "scan.png"],
    ["12", "7043"],
]


@pytest.mark.parametrize("items", NO_TEXTS, ids=lambda items: items[0][:12])
def test_addresses_and_ids_are_no_texts(items: list[str], tmp_path: Path) -> None:
    rows = [
        {"question": f"What is {n}?", "ground_truth": "It is a pump.", "documents": items}
        for n in range(3)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    advice = r"--map documents=retrieved_context_ids \(in Python columns=\)"
    with pytest.raises(SampleError, match=advice):
        list(read_samples(file))
    with pytest.raises(SampleError, match=advice):
        score_table(pytest.importorskip("pandas").DataFrame(rows), [ContextRecall()])
    named = [{"reference": "It is a pump.", "retrieved_contexts": items} for _ in rows]
    with pytest.raises(SampleError, match="retrieved_context_ids"):
        evaluate(named, [ContextRecall()], progress=False)
    (sample, *_) = read_samples(file, columns={"documents": "retrieved_context_ids"})
    assert sample.retrieved_context_ids == tuple(items)


@pytest.mark.parametrize(
    "items", [["Yes", "No"], ["水を飲む。", "弁を閉じる。"], ["Paris.", "report-2023.pdf"]]
)
def test_short_texts_are_texts(items: list[str], tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"question": "Who?", "ground_truth": "He.", "documents": items}))
    (sample,) = read_samples(file)
    assert sample.retrieved_contexts == tuple(items)


@pytest.mark.parametrize(
    "text",
    [
        "a.pdf",
        "b.docx",
        "s3://bucket/key",
        "file:///tmp/a.txt",
        "talk.mp3",
        "<image>",
        "![A pump](p.png)",
        "![](x)",
    ],
)
def test_what_is_no_text_alone_has_no_value(text: str) -> None:
    rows = [
        {"reference": "A pump.", "retrieved_contexts": [text, "A pump stands there."]} for _ in range(2)
    ]
    row = evaluate(rows, [ContextRecall()], progress=False)[0]
    assert (row["context_recall"].value, row["context_recall"].reason_code) == (None, "not_text")


# --- several passages in one text ---

USELESS, USEFUL = "Rinse the filter once a week.", "The guarantee runs for three years."
JOINED = {
    "|": f"{USELESS} | {USEFUL}",
    "---": f"{USELESS}\n---\n{USEFUL}",
    "[Chunk 1]": f"[Chunk 1] {USELESS}\n[Chunk 2] {USEFUL}",
    "[Passage 1]": f"Passage 1: {USELESS}\nPassage 2: {USEFUL}",
    "[Document 1]": f"Document 1: {USELESS}\n\nDocument 2: {USEFUL}",
    "[1]": f"[1] {USELESS} [2] {USEFUL}",
    "1.": f"1. {USELESS}\n2. {USEFUL}",
    "list": f"['{USELESS}', '{USEFUL}']",
    "###": f"{USELESS}\n###\n{USEFUL}",
    "***": f"{USELESS}\n*****\n{USEFUL}",
    "<document>": f'<document index="1">{USELESS}</document><document index="2">{USEFUL}</document>',
}
# Each separator with its text; some are written in several ways.
FORMS = [*JOINED.items(), ("|", f"{USELESS} || {USEFUL}"), ("[1]", f"[1]: {USELESS}\n[2]: {USEFUL}")]


def joined_rows(text: str) -> list[dict[str, Any]]:
    return [
        {"question": f"How long is it, {n}?", "ground_truth": USEFUL, "contexts": [text]}
        for n in range(3)
    ]


@pytest.mark.parametrize(("separator", "text"), FORMS)
def test_several_passages_in_one_text_have_no_precision(
    separator: str, text: str, tmp_path: Path
) -> None:
    """Recall is 1. The useful passage is the second of two: precision 1/2, once the text is split."""
    rows = joined_rows(text)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    samples = list(read_samples(file))
    results = evaluate(samples, [ContextRecall(), ContextPrecision()], progress=False)
    assert means(samples) == [1.0, None]
    score = results[0]["context_precision"]
    assert score.reason_code == "joined_contexts"
    assert f"--split {separator!r}" in str(score.message) or f"--split {separator}" in str(
        score.message
    )
    assert means(read_samples(file)) == [1.0, None]
    assert means(read_samples(file, split=separator)) == [1.0, 0.5]
    one = evaluate(samples, [ContextPrecision()], progress=False, one_context=True)
    assert one.summary()["context_precision"].mean == 1.0
    frame = pytest.importorskip("pandas").DataFrame(rows)
    assert (
        score_table(frame, [ContextPrecision()])["context_precision.reason_code"].tolist()
        == ["joined_contexts"] * 3
    )
    assert (
        score_table(frame, [ContextPrecision()], split=separator)["context_precision"].tolist()
        == [0.5] * 3
    )


def test_joined_passages_on_the_command_line(tmp_path: Path) -> None:
    file = write_csv(
        tmp_path / "rows.csv",
        [{**row, "contexts": row["contexts"][0]} for row in joined_rows(JOINED["|"])],
    )
    done = run_command("score", file)
    assert "context_precision: without a value: joined_contexts 3" in done.stdout, done.stdout
    assert "--split '|'" in done.stderr
    assert "context_precision  0.5000" in run_command("score", file, "--split", "|").stdout
    assert "context_precision  1.0000" in run_command("score", file, "--one-context").stdout


def test_blank_lines_alone_are_a_note(tmp_path: Path) -> None:
    rows = joined_rows(f"{USELESS}\n\n{USEFUL}")
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(rows))
    samples = list(read_samples(file))
    assert means(samples) == [1.0, 1.0]
    assert r"--split '\n\n'" in str(evaluate(samples, [ContextPrecision()], progress=False).summary())
    assert means(read_samples(file, split=r"\n\n")) == [1.0, 0.5]


def test_sections_of_the_documentation_are_one_passage_each() -> None:
    from ctxmetrics.evaluation.files.passage_lists import find_joining_separator

    pages = sorted((Path(__file__).parents[4] / "docs").glob("*.md"))
    sections = [part for page in pages for part in page.read_text(encoding="utf-8").split("\n## ")]
    assert len(sections) > 80
    assert find_joining_separator([section] for section in sections) is None


# --- a first line that is data ---


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("run.tsv", "10\t700\t1\n10\t701\t2\n11\t5\t1\n"),
        ("topics.tsv", "1048585\twhat is a pump\n2\twhat is a valve\n3\twho\n"),
        (
            "rows.csv",
            "How long is it?,Three years.,\"['A text.']\"\nWho is it?,An engineer.,\"['B text.']\"\nWhy?,So.,\"['C.']\"\n",
        ),
        ("list.csv", "pump,\"['A text.', 'B text.']\"\nvalve,\"['C text.']\"\nlid,\"['D text.']\"\n"),
        ("scores.csv", "a;0.75\nb;0.5\nc;1\n"),
        ("dates.csv", "2024-01-01,a\n2024-01-02,b\n2024-01-03,c\n"),
        ("uuids.csv", "".join(f"9b2f0c1e-3f4a-4b7e-8f17-2c3d4e5f6a7{n},a\n" for n in range(3))),
        ("addresses.csv", "".join(f"https://x.y/{n},a\n" for n in range(3))),
    ],
)
def test_a_first_line_of_data_is_no_header(name: str, line: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(line, encoding="utf-8")
    with pytest.raises(SampleError, match="--no-header or --names"):
        list(read_samples(file))
    assert len(list(read_samples(file, header=False))) == 3
    assert "column 1" in next(read_samples(file, header=False)).metadata


def test_names_are_given_to_a_table_without_a_header(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("How long is it?,Three years.,\"['A text.']\"\n", encoding="utf-8")
    names = ["question", "ground_truth", "contexts"]
    (sample,) = read_samples(file, header=names)
    assert (sample.user_input, sample.retrieved_contexts) == ("How long is it?", ("A text.",))
    assert run_command("score", file).returncode == 2
    done = run_command("score", file, "--names", ",".join(names))
    assert "1 of 1" in done.stdout, done.stderr
    file.write_text(file.read_text(encoding="utf-8") * 2, encoding="utf-8")
    frame = pytest.importorskip("pandas").read_csv(file)
    with pytest.raises(SampleError, match="no header"):
        score_table(frame, [ContextRecall()])


# --- a value of one row ---


@pytest.mark.parametrize("form", ["file", "python", "table"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (42, "42"),
        (1.5, "1.5"),
        (["Three years."], "Three years."),
        (float("nan"), None),
        (None, None),
        ({"a": 1}, None),
        (["A.", "B."], None),
    ],
    ids=repr,
)
def test_a_value_of_one_row_never_stops_the_others(
    value: Any, text: str | None, form: str, tmp_path: Path
) -> None:
    """The other sample is scored; one without a text has no value, as a missing field."""
    context = f"It is so: {text}" if text else "A pump."
    rows = [
        {"question": "Who?", "ground_truth": value, "contexts": [context], "odd": float("nan")},
        {"question": "How long is it?", "ground_truth": USEFUL, "contexts": [USEFUL], "odd": 1},
    ]
    if form == "table":
        frame = pytest.importorskip("pandas").DataFrame(rows)
        scored = score_table(frame, [ContextRecall()])
        assert scored["context_recall"].tolist()[1] == 1.0
        assert (scored["context_recall.reason_code"][0] == "missing_field") == (text is None)
        return
    named = [
        {
            "user_input": r["question"],
            "reference": r["ground_truth"],
            "retrieved_contexts": r["contexts"],
        }
        for r in rows
    ]
    samples: Any = named
    if form == "file":
        file = tmp_path / "rows.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        samples = list(read_samples(file))
        assert samples[0].reference == text
    first, second = evaluate(samples, [ContextRecall()], progress=False)
    assert second["context_recall"].value == 1.0
    assert (first["context_recall"].reason_code == "missing_field") == (text is None)


@pytest.mark.slow
@each_case("form", ["file", "python", "table"])
@each_case(
    ("field", "value", "lost"),
    [
        ("retrieved_contexts", [USEFUL, {"x": 1}], "context_recall"),
        ("retrieved_contexts", [USEFUL, None], "context_recall"),
        ("retrieved_contexts", [USEFUL, ["a", "b"]], "context_recall"),
        ("retrieved_contexts", 42, "context_recall"),
        ("retrieved_contexts", "one text", "context_recall"),
        ("retrieved_contexts", [USEFUL, 42, True], None),
        ("reference_contexts", {"x": 1}, "non_llm_context_recall"),
        ("retrieved_context_ids", ["a", None], None),
        ("retrieved_context_ids", ["a", {"x": 1}], "id_based_context_recall"),
        ("retrieved_context_ids", ["a", 1.5], "id_based_context_recall"),
        ("retrieved_context_ids", ["a", 1], None),
    ],
)
def test_an_item_of_one_row_never_stops_the_others(
    field: str, value: Any, lost: str | None, form: str, tmp_path: Path
) -> None:
    """All metrics are 1.0 by hand; that of the field has no value where the field is unusable."""
    row = {
        "user_input": "How long is it?",
        "reference": USEFUL,
        "retrieved_contexts": [USEFUL],
        "reference_contexts": [USEFUL],
        "retrieved_context_ids": ["a"],
        "reference_context_ids": ["a"],
    }
    metrics = [ContextRecall(), NonLLMContextRecall(), IDBasedContextRecall()]
    rows: Any = [row, {**row, "user_input": "How short is it?", field: value}]
    if form == "table":
        frame = pytest.importorskip("pandas").DataFrame(rows)
        scored = score_table(frame, metrics).iloc[1]
        values = {metric.name: scored[metric.name] for metric in metrics}
        missing = {name for name in values if scored[f"{name}.reason_code"] == "missing_field"}
    else:
        if form == "file":
            file = tmp_path / "rows.jsonl"
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            rows = read_samples(file)
        first, second = evaluate(rows, metrics, progress=False)
        assert {first[metric.name].value for metric in metrics} == {1.0}
        values = {metric.name: second[metric.name].value for metric in metrics}
        missing = {name for name in values if second[name].reason_code == "missing_field"}
    assert {value for name, value in values.items() if name not in missing} == {1.0}
    if lost == "context_recall":  # both metrics of texts
        assert missing == {"context_recall", "non_llm_context_recall"}
    else:
        assert missing == ({lost} if lost else set())


# --- what was not retrieved, and doubled names ---


@pytest.mark.parametrize(
    "column",
    [
        "answer_aliases",
        "evidence",
        "relevant_passages",
        "generation_gt",
        "evidence_spans",
        "positive",
        "negative",
        "hard_negatives",
        "gold_docs",
        "expected_chunks",
        "distractors",
        "GroundTruthTexts",
        "positive_passages",
        "neg",
        "supporting_facts",
        "oracle_context",
        "true_contexts",
        "target_passages",
        "ideal_contexts",
        "citations",
        "facts",
    ],
)
def test_gold_and_negatives_are_never_offered_as_retrieved(column: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_text(
        json.dumps([{"query": f"What is {n}?", column: [USEFUL, USELESS]} for n in range(3)])
    )
    done = run_command("inspect", file)
    assert f"{column}=retrieved_contexts" not in done.stdout + done.stderr
    score = run_command("score", file)
    assert (score.returncode, f"{column}=retrieved_contexts" in score.stderr) == (2, False)


def test_a_ready_command_is_printed_where_one_reading_is_likely(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    rows = [
        {"query": f"What is {n}?", "reference": USEFUL, "hits": [USEFUL, USELESS]} for n in range(3)
    ]
    file.write_text(json.dumps(rows))
    assert "--map hits=retrieved_contexts" in run_command("inspect", file).stdout
    assert run_command("score", file, "--map", "hits=retrieved_contexts").returncode == 0
    file.write_text(json.dumps([{**row, "others": [USELESS, "B text."]} for row in rows]))
    done = run_command("inspect", file)
    assert "score it with" not in done.stdout
    assert "Say which list was retrieved: --map hits=retrieved_contexts or --map others=" in done.stdout


@pytest.mark.parametrize("form", ["parquet", "arrow", "pandas", "pyarrow"])
def test_doubled_names_are_refused(form: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    texts, lists = arrow.array([USEFUL]), arrow.array([[USEFUL]])
    table = arrow.Table.from_arrays(
        [texts, texts, lists], names=["reference", "reference", "retrieved_contexts"]
    )
    if form in {"pandas", "pyarrow"}:
        with pytest.raises(ParameterError, match="two columns are named 'reference'"):
            score_table(table if form == "pyarrow" else table.to_pandas(), [ContextRecall()])
        return
    file = tmp_path / "data.parquet"
    if form == "parquet":
        importlib.import_module("pyarrow.parquet").write_table(table, file)
    else:
        file = tmp_path / "folder"
        file.mkdir()
        with (
            arrow.OSFile(str(file / "data.arrow"), "wb") as sink,
            arrow.ipc.new_stream(sink, table.schema) as out,
        ):
            out.write_table(table)
        (file / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    with pytest.raises(InputFileError, match="two columns are named 'reference'"):
        list(read_samples(file))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,234", "2,345"], None),
        (["1,234", "234"], True),  # a piece is the id of another cell
        (["1,234", "1234"], False),  # the number is
        (["1,234", "d1,d2"], True),
        (["1,234", "d1;d2"], None),  # other separators say nothing about commas
        (["1,234", "Doe, A.pdf"], None),  # a name with a comma in it
    ],
)
def test_other_cells_show_whether_a_comma_separates_ids(
    cells: list[str], expected: bool | None
) -> None:
    assert are_comma_ids(cells) is expected


def test_documents_in_messages_are_of_one_question_only() -> None:
    sources = [{"document": ["It stands in the cellar."]}]
    question = {"role": "user", "content": "Where is the pump?"}
    answer = {"role": "assistant", "content": "In the cellar.", "sources": sources}
    in_messages = {"messages[].sources[].document[]": "retrieved_contexts"}
    assert find_reply({"messages": [question, answer]}) == in_messages
    assert find_reply({"messages": [question, answer, question, answer]}) == {}
    beside = {"messages": [question, question], "sources": sources}
    assert find_reply(beside) == {"sources[].document[]": "retrieved_contexts"}


def test_a_plain_header_means_a_field_that_can_hold_its_values() -> None:
    header = "Retrieved passages"
    for possible in ("A text.", ["A text."], [{"text": "A text."}]):
        assert find_plain_field(header, possible) == "retrieved_contexts"
    for impossible in ([{"x": [1]}], {"x": 1}):
        assert find_plain_field(header, impossible) is None


def test_commas_separate_ids_of_one_kind() -> None:
    assert split_ids("a.pdf,b.pdf") == ["a.pdf", "b.pdf"]
    assert split_ids("d1,d2") == ["d1", "d2"]
    assert split_ids("Doe,A.pdf") is None  # one name with a comma in it


def test_sources_are_objects_without_a_text() -> None:
    assert are_sources([{"title": "Pumps", "url": "https://example.org"}])
    assert not are_sources([{"title": "Pumps"}, {"text": "The pump is red."}])
    assert not are_sources([])
    assert not are_sources("Pumps")
