"""A context that states a unit in nearly its own words, and what only looks so."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.restatements import find_restatement

SONG = "The song was written by Abbot Lull."
PUMP = "The X200 pump weighs 12 kg."


@pytest.mark.parametrize(
    ("unit", "context"),
    [
        (
            PUMP,
            "Data sheet\nThe X200 pump weighs 12 kg without its cable. The box weighs as much again.",
        ),
        (PUMP, "Of both, the X200 pump weighs about 12 kilograms."),
        (SONG, "The song, which Maud liked, was written by Abbot Lull in 1200."),
        ("Visitors of the old mill arrive by tram.", "Most visitors of the old mill arrive by tram."),
        # Two sentences about one thing.
        (PUMP, "The X200 is a pump. It weighs 12 kg."),
        (
            "The mill was finished in 1701 after six years of work.",
            "Work on the mill took six years. It was finished in 1701.",
        ),
    ],
)
def test_the_words_of_a_unit_in_its_context(unit, context):
    assert find_restatement(unit, context, "en") is not None


@pytest.mark.parametrize(
    ("unit", "context"),
    [
        (PUMP, "The X210 pump weighs 12 kg."),
        (PUMP, "The X200 pump weighs 13 kg."),
        (PUMP, "The X200 pump never weighs 12 kg."),
        (PUMP, "The X200 pump is blue. Another one weighs 12 kg."),
        (PUMP, "The X200 is a pump. It does not weigh 12 kg."),
        (PUMP, "The X210 is a pump, as is the X200. It weighs 13 kg."),
        (PUMP, "Does the X200 pump weigh 12 kg?"),
        (SONG, "Critics have long disputed the claim that the song was written by Abbot Lull."),
        (SONG, "It is a myth that the song was written by Abbot Lull."),
        (SONG, "Nobody knows whether the song was written by Abbot Lull."),
        (SONG, "If the song was written by Abbot Lull, it is old."),
        (SONG, "Abbot Lull was written about in the song."),
        ("Does the X200 pump weigh 12 kg?", "The X200 pump weighs 12 kg."),
        ("It hums.", "It hums at night."),  # too few words
    ],
)
def test_what_states_something_else(unit, context):
    assert find_restatement(unit, context, "en") is None


def test_a_long_context_is_not_read():
    assert find_restatement(PUMP, f"{PUMP} {'It hums. ' * 5_000}", "en") is None
