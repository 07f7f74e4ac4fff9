"""The embedded judge does not look for the mark of a list in a context."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LexicalJudge, Sample
from ctxmetrics.judges.base import JudgeRequest

MARKS = [
    "Step 1. ",
    "1.1. ",
    "1.1 ",
    "(a) ",
    "II. ",
    "§ 3. ",
    "Article 5. ",
    "1) ",
    "Step 4: ",
    "2.10.3 ",
]


def score(reference: str, context: str) -> float | None:
    return ContextRecall().score(Sample(reference=reference, retrieved_contexts=[context])).value


@pytest.mark.parametrize("mark", MARKS)
def test_a_list_mark_of_the_reference_is_not_missing(mark: str) -> None:
    assert score(f"{mark}Press the button.", "Press the button.") == 1.0


@pytest.mark.parametrize("mark", MARKS)
def test_a_list_mark_is_not_missing_in_a_later_sentence(mark: str) -> None:
    assert score(f"Fill the tank. {mark}Press the button.", "Fill the tank. Press the button.") == 1.0


def test_a_list_mark_of_a_fact_is_not_missing() -> None:
    request = JudgeRequest(units=("3. Press the button.",), contexts=("Press the button.",), answer="")
    assert LexicalJudge().support(request)[0].details["missing_numbers"] == ()


def test_a_list_mark_stays_in_the_text_of_the_unit() -> None:
    sample = Sample(reference="Step 1. Press the button.", retrieved_contexts=["Press the button."])
    assert ContextRecall().score(sample).verdicts[0].text == "Step 1. Press the button."


@pytest.mark.parametrize(
    ("reference", "context"),
    [
        ("Article 5 forbids smoking.", "Article 6 forbids smoking."),
        ("1.1 billion people live there.", "1.2 billion people live there."),
        ("3.5 is the limit.", "4.5 is the limit."),
        ("Step 1. Press 2 buttons.", "Step 1. Press 3 buttons."),
    ],
)
def test_a_number_of_the_sentence_is_still_missing(reference: str, context: str) -> None:
    assert score(reference, context) == 0.0


def test_another_list_mark_is_no_contradiction() -> None:
    sample = Sample(reference="1.1 Press the button.", retrieved_contexts=["1.2 Press the button."])
    verdict = ContextRecall().score(sample).verdicts[0]
    assert verdict.value is True
    assert verdict.details["contradiction"] is None


def test_a_list_mark_is_no_word_of_the_answer() -> None:
    sample = Sample(
        user_input="How?",
        reference="Step 1. Press it.",
        retrieved_contexts=["Step 7 is short.", "Press."],
    )
    verdicts = ContextPrecision().score(sample).verdicts
    assert verdicts[0].details["matched_words"] == ()
