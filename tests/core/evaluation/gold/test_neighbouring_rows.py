"""Faults that show only beside other rows: columns that were pasted one row off, answers of another question, references cut off."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmetrics import check_gold

CORPUS = {
    "tram": "The tram museum opens on Wednesday. Its oldest car was found in a barn near Lesum.",
    "cafe": "The cafe in the ticket hall serves soup until three. Dogs may lie under its tables.",
    "club": "The chess club meets on Friday in the library. Its members play with wooden pieces.",
    "pool": "The outdoor pool is heated by the sun. Children swim in the shallow basin.",
    "farm": "The sheep farm sells cheese at the gate. Lambs are born in the first weeks of March.",
    "mill": "The water mill grinds rye for two bakers. Its wheel was renewed by a carpenter.",
    "dyke": "The dyke protects the village from floods. Cycling on its crown is forbidden.",
    "inn": "The inn has nine rooms above the brewery. Guests borrow umbrellas at the desk.",
}
ROWS = [
    (
        "tram",
        "Where was the oldest car of the tram museum found?",
        "The oldest car was found in a barn.",
    ),
    ("cafe", "May dogs lie under the tables of the cafe?", "Yes, dogs may lie under the tables."),
    ("club", "What do members of the chess club play with?", "They play with wooden pieces."),
    ("pool", "How is the outdoor pool heated?", "The pool is heated by the sun."),
    ("farm", "When are lambs born on the sheep farm?", "Lambs are born in the first weeks of March."),
    ("mill", "Who renewed the wheel of the water mill?", "A carpenter renewed the wheel."),
    ("dyke", "Is cycling on the crown of the dyke allowed?", "No, cycling on its crown is forbidden."),
    ("inn", "Where do guests of the inn borrow umbrellas?", "Guests borrow umbrellas at the desk."),
]


def build_samples(**columns: list[Any]) -> list[dict[str, Any]]:
    """Build the right samples, with other values in some columns."""
    samples = []
    for row, (id_, question, reference) in enumerate(ROWS):
        sample = {
            "id": f"q{row}",
            "user_input": question,
            "reference": reference,
            "reference_context_ids": [id_],
        }
        samples.append({**sample, **{name: values[row] for name, values in columns.items()}})
    return samples


def list_rows(samples: list[dict[str, Any]], code: str) -> list[str]:
    findings = check_gold(samples, corpus=CORPUS, progress=False).findings
    return [finding.sample for finding in findings if finding.code == code]


GOLD = [[id_] for id_, _, _ in ROWS]
REFERENCES = [reference for _, _, reference in ROWS]


def test_right_rows_have_no_finding() -> None:
    assert check_gold(build_samples(), corpus=CORPUS, progress=False).findings == ()


@pytest.mark.parametrize(
    "columns",
    [
        {"reference": [*REFERENCES[:2], *REFERENCES[3:7], *REFERENCES[6:]]},
        {"reference_context_ids": [*GOLD[:2], *GOLD[3:7], *GOLD[6:]]},
        {
            "reference": [*REFERENCES[:2], *REFERENCES[3:7], *REFERENCES[6:]],
            "reference_context_ids": [*GOLD[:2], *GOLD[3:7], *GOLD[6:]],
        },
    ],
    ids=["references", "gold", "both"],
)
def test_column_that_was_pasted_one_row_too_high(columns: dict[str, list[Any]]) -> None:
    assert list_rows(build_samples(**columns), "shifted_rows") == ["q2", "q3", "q4", "q5"]


def test_column_that_was_pasted_one_row_too_low() -> None:
    references = [*REFERENCES[:2], *REFERENCES[1:5], *REFERENCES[6:]]
    assert list_rows(build_samples(reference=references), "shifted_rows") == ["q2", "q3", "q4", "q5"]


def test_two_rows_in_wrong_order_are_no_shift() -> None:
    references = [REFERENCES[1], REFERENCES[0], *REFERENCES[2:]]
    assert list_rows(build_samples(reference=references), "shifted_rows") == []


def test_several_questions_about_one_passage_are_no_shift() -> None:
    """Each question has more words of the passage than the question before it."""
    passage = (
        "The tram museum opens on Wednesday and shuts at five. Its oldest car was found in a barn near Lesum. "
        "Local pupils get in free, others pay twelve euros."
    )
    rows = [
        ("Which fee do visitors of the exhibition owe?", "Twelve euros."),
        ("Do pupils of local schools obtain free entry?", "Yes, it is free."),
        ("When does the tram museum shut its gates on Wednesday?", "It closes at five."),
        ("Where was the oldest car of the tram museum found?", "In a barn near Lesum."),
    ]
    samples = build_samples()[:4]
    for row, (question, reference) in enumerate(rows):
        sample = {"id": f"x{row}", "user_input": question, "reference": reference}
        samples.append({**sample, "reference_context_ids": ["x"]})
    findings = check_gold(samples, corpus={**CORPUS, "x": passage}, progress=False).findings
    assert "shifted_rows" not in [finding.code for finding in findings]


def test_gold_and_reference_of_another_subject() -> None:
    samples = build_samples()
    samples[3] |= {"reference": REFERENCES[7], "reference_context_ids": GOLD[7]}
    assert list_rows(samples, "other_subject") == ["q3"]


@pytest.mark.parametrize(
    ("reference", "retrieved", "expected"),
    [
        (REFERENCES[3], None, ["q3"]),
        (REFERENCES[3], ["pool"], []),  # a hole, which names the passage
        ("Yes.", None, []),
    ],
)
def test_another_passage_states_the_reference(
    reference: str, retrieved: list[str] | None, expected: list[str]
) -> None:
    samples = build_samples()
    samples[3] |= {"reference": reference, "reference_context_ids": ["inn"]}
    if retrieved:
        samples[3]["retrieved_context_ids"] = retrieved
    assert list_rows(samples, "stated_elsewhere") == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When are lambs sold on the sheep farm?", []),
        ("When is cheese born on the sheep farm?", ["q8"]),
        ("When are lambs born on this sheep farm?", []),
    ],
)
def test_question_that_differs_by_one_word_of_the_gold(question: str, expected: list[str]) -> None:
    samples = build_samples()
    samples.append({**samples[4], "id": "q8", "user_input": question})
    assert list_rows(samples, "similar_question") == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("Lambs are born in the", ["q4"]),
        ("Lambs are born in the first", ["q4"]),
        ("Lambs are born in the first weeks of March", []),
        ("In the first weeks of March", []),
    ],
)
def test_reference_that_stops_within_its_sentence(reference: str, expected: list[str]) -> None:
    samples = build_samples()
    samples[4]["reference"] = reference
    assert list_rows(samples, "unfinished") == expected


def test_short_answers_without_marks_are_finished() -> None:
    references = [reference.rstrip(".") for reference in REFERENCES]
    references[4] = "Lambs are born in the first"
    assert list_rows(build_samples(reference=references), "unfinished") == []


@pytest.mark.parametrize(
    ("question", "reference", "passage"),
    [
        (
            "What do they lack?",
            "The patients lack vitamin A",
            "The patients in the ward lack vitamin A.",
        ),
        ("Wann kommt er an?", "Der Zug kommt um acht Uhr an", "Der Zug kommt um acht Uhr in Lesum an."),
        ("Où est le chat ?", "Le chat est resté là", "Le chat noir est resté là."),
        (
            "Who founded the museum?",
            "The members of the chess club",
            "The museum is old. The members of the chess club founded it.",
        ),
        (
            "Who paid for the museum?",
            "the members of the chess club",
            "In 1950 the members of the chess club bought the museum.",
        ),
        ("Wer leitet den Verein?", "Jürgen Müller", "Seit 2019 hat Jürgen Müller den Vorsitz."),
        (
            "博物馆什么时候开门？",
            "城市北边的那座博物馆每天上午大约在九点钟开门",
            "城市北边的那座博物馆每天上午大约在九点钟开门和下午五点关门。",
        ),
        (
            "博物馆什么时候开门？",
            "城市北边的那座博物馆每天上午大约在九点钟开门",
            "城市北边的那座博物馆每天上午大约在九点钟开门，下午五点关门。",
        ),
        ("Müze hangi gün kapalı?", "Müze her pazartesi kapalı", "Müze her pazartesi kapalıdır."),
        (
            "회장은 누구입니까?",
            "회장은 2019년부터 지금까지 김철수",
            "회장은 2019년부터 지금까지 김철수입니다.",
        ),
    ],
)
def test_whole_answers_without_a_mark(question: str, reference: str, passage: str) -> None:
    """A letter, a verb's particle, a phrase and a word that may take an ending are no ends of a text that was cut off."""
    sample = {
        "id": "q8",
        "user_input": question,
        "reference": reference,
        "reference_context_ids": ["new"],
    }
    findings = check_gold(
        [*build_samples(), sample], corpus={**CORPUS, "new": passage}, progress=False
    ).findings
    assert "unfinished" not in [finding.code for finding in findings]


def test_names_of_products_have_no_language() -> None:
    question = "它支持哪种接口？"
    passage = "它支持第三代接口，采用C型插头。"
    for reference, expected in (
        ("USB 3.0 Type-C", False),
        ("It has a socket of the third generation.", True),
    ):
        sample = {"user_input": question, "reference": reference, "reference_contexts": [passage]}
        findings = check_gold([sample], progress=False).findings
        assert ("other_language" in [finding.code for finding in findings]) is expected
