"""Evidence with another name or number in the place of one of the unit, and what only looks so."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.replaced_words import find_replaced_word

DESIGN = "It was designed in Graz by two brothers."
HALL = "The hall has 12 windows."


@pytest.mark.parametrize(
    ("unit", "sentence", "language"),
    [
        (DESIGN, "It was designed in Turin by two brothers.", "en"),
        (DESIGN, "In 1901 it was designed in Turin by two brothers from Lyon.", "en"),
        ("The bridge was built by Maud.", "The bridge was built by Anna.", "en"),
        (HALL, "The hall has 14 windows.", "en"),
        ("12 windows face north.", "14 windows face north.", "en"),
        (HALL, "The hall has fourteen windows and a stage.", "en"),
        ("The house stands at number 12.", "The house stands at number 14.", "en"),
        ("Мост построил мастер Иван в городе.", "Мост построил мастер Пётр в городе.", "ru"),
        ("Die Halle hat 12 Fenster.", "Die Halle hat 14 Fenster.", "de"),
        # The sentence goes on behind the name or number.
        (
            "The award was given to Dr. Amara Osei.",
            "The award was given to Dr. Lena Voss at the gala.",
            "en",
        ),
        (
            "The office of the bank is in Leeds.",
            "The office of the bank is in Bradford, near the station.",
            "en",
        ),
        ("The hall was opened by Queen Maud.", "The hall was opened by Queen Ida on a cold day.", "en"),
        ("The tank holds 40 gallons.", "The tank holds 40 litres of fuel.", "en"),
    ],
)
def test_another_name_or_number_in_its_place(unit, sentence, language):
    assert find_replaced_word(unit, [sentence], [sentence], language) is not None


@pytest.mark.parametrize(
    ("unit", "sentences", "contexts", "language"),
    [
        (DESIGN, ["It was designed in Graz by two brothers."], [], "en"),
        (DESIGN, ["It was designed in Turin by two brothers."], ["The brothers lived in Graz."], "en"),
        (DESIGN, ["It was designed in Turin by two brothers, and in Graz."], [], "en"),
        (DESIGN, ["It was designed by two brothers."], [], "en"),
        (DESIGN, ["It was drawn in Turin by three sisters and their father."], [], "en"),
        ("Porsches finished last in the race.", ["Porsche finished last in the race."], [], "en"),
        ("The last were Porsches in the race.", ["The last were Porsche in the race."], [], "en"),
        (HALL, ["The hall has twelve windows."], [], "en"),
        (HALL, ["The hall has high windows."], [], "en"),
        (HALL, ["The kitchen has 14 doors."], [], "en"),
        (HALL, ["The hall of the other house has 14 doors."], [], "en"),
        ("Es wurde mit Erfolg gebaut.", ["Es wurde mit Gewinn gebaut."], [], "de"),
        (HALL, [], [], "en"),
        (
            "The office of the bank is in Leeds.",
            ["The office of the bank is in Bradford and Leeds."],
            [],
            "en",
        ),
        (
            "The prize of the fair went to Graz.",
            ["The prize for a book went to Turin in May."],
            [],
            "en",
        ),
        ("The trail is 10 miles long.", ["The trail is 16 km long."], [], "en"),
        ("", [""], [], "en"),
    ],
)
def test_what_is_no_other_name_or_number(unit, sentences, contexts, language):
    assert find_replaced_word(unit, sentences, [*sentences, *contexts], language) is None
