"""The lines of a labels file: what is no answer is refused with its line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.rows.people_answers import PeopleAnswers

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
