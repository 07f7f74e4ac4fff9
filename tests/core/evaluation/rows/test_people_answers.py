"""The lines of a labels file: what is no answer is refused with its line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import Sample
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.rows.file_names import key_beside, labels_beside
from ctxmetrics.evaluation.rows.gold_answers import read_gold_answers
from ctxmetrics.evaluation.rows.people_answers import CONTEXTS, PeopleAnswers
from ctxmetrics.evaluation.rows.sample_record import key_of

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = {"sample_id": "a", "hash": "h", "stratum": None, "weight": 1.0}
DRAW = {"draw": {"seed": 1, "by": None, "samples": 1}, "drawn": [DRAWN]}
ANSWER = {
    "sample_id": "a",
    "hash": "h",
    "label": "unit_supported",
    "item": "s1",
    "text": "It is red.",
    "answer": "yes",
    "annotator": "ann",
    "weight": 1.0,
    "contexts": [],
    "verdict_shown": False,
}


def read(path: Path, *lines: dict[str, Any]) -> PeopleAnswers:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return PeopleAnswers(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("sample_id", 5), ("sample_id", ["a"]), ("hash", 5), ("hash", None)],
)
def test_a_key_that_is_no_text_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / "labels.jsonl"
    with pytest.raises(InputFileError, match="line 2: this is no line of labels"):
        read(path, DRAW, {**ANSWER, field: value})
    with pytest.raises(InputFileError, match="line 1: this is no line of labels"):
        read(path, {**DRAW, "drawn": [{**DRAWN, field: value}]}, ANSWER)


@pytest.mark.parametrize("item", ["", "s", "sX", "x1", "s0", "s-1", "s１", "s1234567", 5, None])
def test_an_item_that_names_nothing_is_refused(tmp_path: Path, item: Any) -> None:
    with pytest.raises(InputFileError, match="line 2: this is no line of labels"):
        read(tmp_path / "labels.jsonl", DRAW, {**ANSWER, "item": item})


def test_an_answer_is_read(tmp_path: Path) -> None:
    answers = read(tmp_path / "labels.jsonl", DRAW, ANSWER)
    ((question, answer),) = answers.majority()["a", "h"].items()
    assert (question.item, question.text, answer) == ("s1", "It is red.", True)


def test_an_audit_with_fewer_ids_than_texts_is_read(tmp_path: Path) -> None:
    """The ids belong to no text then: people's answers are about the texts."""
    texts = ["It is red.", "It is blue."]
    sample = Sample(id="q", user_input="Red?", retrieved_contexts=texts, retrieved_context_ids=["a"])
    audit = tmp_path / "audit.jsonl"
    audit.write_text(json.dumps(sample.to_dict()) + "\n", encoding="utf-8")
    key_beside(audit).write_text('{"random": ["q"]}', encoding="utf-8")
    sample_id, texts_hash = key_of(sample)
    drawn = {**DRAWN, "sample_id": sample_id, "hash": texts_hash}
    answer = {**ANSWER, "sample_id": sample_id, "hash": texts_hash, "label": CONTEXTS, "text": ""}
    answers = [{**answer, "item": "c1"}, {**answer, "item": "c2", "answer": "no"}]
    read(labels_beside(audit), {**DRAW, "drawn": [drawn]}, *answers)
    verdicts = read_gold_answers(audit).verdicts["q"]
    assert [(passage.id, passage.text, useful) for passage, useful in verdicts] == [
        (None, "It is red.", True),
        (None, "It is blue.", False),
    ]
