"""Questions that have no answer leave the means, through file, Python and table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    IDBasedContextRecall,
    Sample,
    ScriptedJudge,
    evaluate,
    read_samples,
    score_table,
)
from ctxmetrics.samples.unanswerable import has_mark, is_unwritten, phrase_kind
from support import answer_from
from support.cases import each_case
from support.command import run_command

if TYPE_CHECKING:
    from pathlib import Path

ANSWERED = {
    "user_input": "Where does the cat sit?",
    "reference": "The cat sits on the mat.",
    "retrieved_contexts": ["The cat sits on the mat."],
    "retrieved_context_ids": ["a"],
    "reference_context_ids": ["a"],
}
METRICS = [ContextRecall(), ContextPrecision(), IDBasedContextRecall()]
CODES = ["unanswerable"] * 3


@pytest.mark.slow
@each_case("form", ["file", "python", "table"])
@each_case(
    ("columns", "codes"),
    [
        ({"unanswerable": True}, CODES),
        ({"unanswerable": "yes", "reference": None, "reference_context_ids": None}, CODES),
        ({"is_impossible": 1}, CODES),
        ({"Is Impossible": "true"}, CODES),
        ({"answerable": False}, CODES),
        ({"has_answer": "no"}, CODES),
        ({"Answerability": ["UNANSWERABLE"]}, CODES),
        ({"reference": "I don't know."}, ["unanswerable", "unanswerable", None]),
        ({"reference": "Не знаю."}, ["unanswerable", "unanswerable", None]),
        ({"is_impossible": False}, [None] * 3),
        ({"answerable": True}, [None] * 3),
    ],
)
def test_an_unanswerable_question_has_no_value(
    columns: dict[str, Any], codes: list[str | None], form: str, tmp_path: Path
) -> None:
    rows: Any = [ANSWERED, {**ANSWERED, **columns}]
    if form == "table":
        scored = score_table(pytest.importorskip("pandas").DataFrame(rows), METRICS)
        reasons = [scored[f"{metric.name}.reason_code"][1] for metric in METRICS]
        assert [reason if isinstance(reason, str) else None for reason in reasons] == codes
        assert [scored[metric.name][0] for metric in METRICS] == [1.0] * 3
        return
    if form == "file":
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        rows = read_samples(tmp_path / "rows.jsonl")
    first, second = evaluate(rows, METRICS, progress=False)
    assert [first[metric.name].value for metric in METRICS] == [1.0] * 3
    assert [second[metric.name].reason_code for metric in METRICS] == codes


LONG_MEMORY = {
    "question_id": "q1_abs",
    "question": "Where does the cat sit?",
    "answer": "You did not mention a cat.",
    "answer_session_ids": ["a"],
}


@pytest.mark.parametrize("retrieved", [True, False])
def test_long_memory_ids_say_that_there_is_no_answer(retrieved: bool, tmp_path: Path) -> None:
    """LongMemEval: the id of a question without an answer ends in ``_abs``."""
    hits = {"query": "Where?", "ranked_items": [{"corpus_id": "a", "text": "The cat sits here."}]}
    row = {**LONG_MEMORY, "retrieval_results": hits} if retrieved else LONG_MEMORY
    file = tmp_path / "rows.jsonl"
    rows = [{**row, "question_id": "q1"}, row, {**row, "question_id": "abs"}]
    file.write_text("".join(json.dumps(item) + "\n" for item in rows))
    for samples in (
        [*read_samples(file)],
        [*read_samples(file, schema="longmemeval")],
        [Sample.from_dict(item, "longmemeval") for item in rows],
    ):
        assert [sample.unanswerable for sample in samples] == [False, True, False]


def test_long_memory_in_a_table() -> None:
    """Both columns of ids are there, so that nothing else of the row would be read."""
    frame = pytest.importorskip("pandas").DataFrame(
        [
            {**LONG_MEMORY, "question_id": id_, "retrieved_context_ids": ["a"]}
            for id_ in ("q1", "q1_abs")
        ]
    )
    scored = score_table(frame, [IDBasedContextRecall()], schema="longmemeval")
    assert scored["id_based_context_recall.reason_code"][1] == "unanswerable"
    assert scored["id_based_context_recall"][0] == 1.0


def test_the_mark_alone_decides_for_ids_in_a_table() -> None:
    """Both columns of ids are there, so that nothing else of the row would be read."""
    frame = pytest.importorskip("pandas").DataFrame(
        {
            "retrieved_context_ids": [["a"], ["b"]],
            "reference_context_ids": [["a"], ["a"]],
            "is_impossible": [False, True],
        }
    )
    scored = score_table(frame, [IDBasedContextRecall()])
    assert scored["id_based_context_recall.reason_code"][1] == "unanswerable"
    assert scored["id_based_context_recall"][0] == 1.0


def test_unanswerable_questions_are_counted_apart(tmp_path: Path) -> None:
    """One of three questions has an answer; of the others one retrieved nothing. The mean is that of the first."""
    refused = {"user_input": "Why?", "reference": "Unanswerable.", "retrieved_contexts": []}
    rows = [ANSWERED, {**ANSWERED, "unanswerable": True}, refused]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    summary = evaluate(read_samples(file), [ContextRecall()], progress=False).summary()
    assert (summary["context_recall"].mean, summary["context_recall"].missing) == (
        1.0,
        {"unanswerable": 2},
    )
    text = "2 questions without an answer, not in the means; nothing was retrieved for 1"
    assert text in summary.notes
    assert text in " ".join(run_command("score", file, "--metric", "context_recall").stdout.split())


def test_a_metric_without_a_reference_still_scores() -> None:
    sample = Sample(
        user_input="Who?",
        response="The cat sits on the mat.",
        retrieved_contexts=["The cat sits on the mat."],
        labels={"unanswerable": True},
    )
    assert ContextUtilization().score(sample).value == 1.0
    assert ContextRecall().score(sample).reason_code == "unanswerable"


def test_a_label_says_that_a_refusal_is_the_answer() -> None:
    sample = Sample(reference="I don't know.", retrieved_contexts=["x"], labels={"unanswerable": False})
    assert ContextRecall().score(sample).value == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "I don’t know",
        "UNANSWERABLE",
        "No Answer Present.",
        "无法回答。",
        "Je ne sais pas !",
        "Das weiß ich nicht.",
        "CANNOTANSWER",
        "I'm sorry, but I cannot answer that.",
        "The provided documents do not mention this.",
        "No answer is possible.",
        "Keine Antwort möglich.",
    ],
)
def test_refusals(text: str) -> None:
    assert phrase_kind(text) == "refusal"


@pytest.mark.parametrize(
    "text",
    ["", "No.", "I don't know why it failed, but it did.", "The answer is 42."],
)
def test_answers_are_no_refusals(text: str) -> None:
    assert phrase_kind(text) != "refusal"


@pytest.mark.parametrize("row", [{"unanswerable": "no"}, {"unanswerable": None}, {"answer": "no"}, {}])
def test_rows_without_a_mark(row: dict[str, Any]) -> None:
    assert not has_mark(row)


@pytest.mark.parametrize("answer", ["Yes.", "no", "Да.", "Нет", "はい"])
def test_a_yes_or_no_alone_is_said_to_be_no_words(answer: str) -> None:
    row = {"user_input": "Is it open?", "reference": answer, "retrieved_contexts": ["It is open."]}
    summary = evaluate([row, ANSWERED], [ContextRecall()], progress=False).summary()
    assert summary["context_recall"].mean == 0.5
    (note,) = summary.notes
    assert note.startswith("1 reference of a yes or no alone")
    assert "reference_facts" in note


def test_a_judge_that_reads_needs_no_advice_about_a_yes() -> None:
    row = {"user_input": "Is it open?", "reference": "Yes.", "retrieved_contexts": ["It is open."]}
    judge = ScriptedJudge(answer_from({"Yes.": (True, "It is open.", "It is open")}), name="labels")
    results = evaluate([row], [ContextRecall()], judge=judge, progress=False)
    assert (results[0]["context_recall"].value, results.summary().notes) == (1.0, ())


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("TODO", True),
        ("tbd later", True),
        ("t o d o", True),
        ("Answer 1", True),
        ("à compléter", True),
        ("A COMPLETER!", True),
        ("Todavía por redactar", True),
        ("待定", True),
        ("答案待补", True),
        ("120", False),
        ("Still water.", False),
        ("Test the pump before you use it.", False),
        ("答案在第三页。", False),
    ],
)
def test_answer_that_is_still_to_be_written(reference: str, expected: bool) -> None:
    assert is_unwritten(reference) is expected
