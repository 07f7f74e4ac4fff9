"""A number as the least and as the most are contrary, in every language of the list."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.contradiction import find_contradiction, find_other_value

CONTRARY = [
    ("It weighs over 20 kg.", "It weighs under 20 kg."),
    ("It weighs no more than 20 kg.", "It weighs more than 20 kg."),
    ("Open to those aged 18 or over.", "Open to those aged 18 or under."),
    ("Open to those aged 18+.", "Open to those under 18."),
    ("20 guests or more", "20 guests or fewer"),
    ("Er wiegt nicht mehr als 20 kg.", "Er wiegt mehr als 20 kg."),
    ("荷物は20キロ以上です。", "荷物は20キロ未満です。"),
]
ALIKE = [
    ("It weighs over 20 kg.", "It weighs at least 20 kg."),
    ("It weighs over 20 kg.", "It weighs 20 kg."),
    ("It weighs over 20 kg.", "It weighs 20 kg; all bags are under 30 kg."),
    ("It weighs over 20 kg.", "It weighs over 20 kg, seldom under 20 kg."),
    ("The bridge over 20 rivers", "Overall 20 rivers"),
]


@pytest.mark.parametrize(("unit", "evidence"), CONTRARY)
def test_contrary_bounds_are_found_from_both_sides(unit, evidence):
    assert find_contradiction(unit, [evidence], "en") is not None
    assert find_contradiction(evidence, [unit], "en") is not None


@pytest.mark.parametrize(("unit", "evidence"), ALIKE)
def test_other_bounds_do_not_contradict(unit, evidence):
    assert find_contradiction(unit, [evidence], "en") is None


def test_a_quote_with_the_contrary_bound_is_doubted():
    match = find_other_value("Bags up to 20 kg are free.", ["Bags of at least 20 kg are free."], "en")
    assert str(match) == "number: 'up to 20 kg' against 'at least 20 kg'"


@pytest.mark.parametrize(
    ("unit", "evidence", "doubted"),
    [
        ("The fair begins on Tuesday.", "The fair begins on Thursday.", True),
        ("The fair begins on Tuesday.", "The fair begins on Tuesdays.", False),
        ("The fair begins on Tuesday.", "The mayor resigned on Thursday.", False),
    ],
)
def test_another_day_counts_in_a_sentence_like_the_unit(unit, evidence, doubted):
    assert (find_other_value(unit, [evidence], "en") is not None) is doubted
