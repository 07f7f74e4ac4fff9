"""Questions and references that are wrong by themselves, and right ones that look like them."""

from __future__ import annotations

import pytest

from ctxmetrics import check_gold


def list_codes(question: str, reference: str) -> list[str]:
    sample = {
        "user_input": question,
        "reference": reference,
        "reference_contexts": [f"This stands in the manual. {reference}"],
    }
    findings = check_gold([sample], progress=False).findings
    return [finding.code for finding in findings if finding.kind == "questions"]


ANSWERS = [
    "Todos los empleados deben registrar sus horas.",
    "Todo empleado debe registrar sus horas.",
    "Insert the cartridge and close the lid.",
    "Tbdata is the name of the table.",
    "AAA",
    "III",
    "Bar",
    "Rinse the filter monthly;",
    "As an AI language modelling tool it writes texts.",
]


@pytest.mark.parametrize("reference", ANSWERS)
def test_right_answer_is_no_placeholder_or_question(reference: str) -> None:
    assert list_codes("How is it done?", reference) == []


PLACEHOLDERS = [
    "todo",
    "TODO: write the answer",
    "Tbd：later",
    "FIXME",
    "lorem ipsum dolor sit amet",
    "xxxx",
    "aaaaaa",
    "As an AI language model, it is red.",
    "insert answer here",
]


@pytest.mark.parametrize("reference", PLACEHOLDERS)
def test_text_that_waits_for_an_answer_is_named(reference: str) -> None:
    assert list_codes("How is it done?", reference) == ["placeholder"]


def test_greek_question_mark_asks() -> None:
    assert list_codes("How is it done?", "Ποια αντλία εννοείτε\u037e") == ["asks"]


def test_heading_of_a_reference_is_no_answer() -> None:
    reference = "Here are the steps to mount a bucket using S3fs:\n1. First, install the client."
    question = "What are the steps involved for mounting a bucket using S3fs."
    assert list_codes(question, reference) == []


def test_answer_that_ends_with_a_question_is_an_answer() -> None:
    assert list_codes("When was it?", "The last one was in 2022. Which year do you mean?") == []


# In each language the question offers the answer beside another one, or only names it.
CHOICES = [
    ("Is the filter of the pump red?", "red", ["answer_in_question"]),
    ("Is the filter of the pump red or blue?", "red", []),
    ("Is de kleur van het filter rood of is de kleur blauw?", "rood", []),
    ("¿Es el filtro de la bomba rojo o es verde?", "rojo", []),
    ("Ist das Filter der Pumpe rot oder blau?", "rot", []),
    ("Est-ce que le filtre de la pompe est en or ?", "en or", ["answer_in_question"]),
    ("Est-ce que le filtre de la pompe est rouge ou bleu ?", "rouge", []),
    # Too short for its language to be clear.
    ("Is de motor rood of blauw?", "blauw", []),
    ("¿Es rojo o verde?", "verde", []),
    ("Pompa mavi mi siyah mi?", "mavi", []),
    ("Onko pumppu musta vai sininen?", "sininen", []),
    ("Is the capital of France Paris?", "Paris", ["answer_in_question"]),
]


@pytest.mark.parametrize(("question", "reference", "codes"), CHOICES)
def test_choice_words_count_in_their_language(question: str, reference: str, codes: list[str]) -> None:
    assert list_codes(question, reference) == codes
