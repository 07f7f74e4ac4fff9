"""What models write around a quote is taken off; what is in the quote stays."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.evidence.quote_matches import match_quote, take_off_marks
from ctxmetrics.text.quote_search import Effort
from support.cases import each_case

QUOTE = "the ferry was moved to the north bank"


@each_case("form", [
        "c2: {}", "c2 - {}", "[c2] {}", "(c2) {}", "{} [c2]", "{} (c2)", '"{}" (c2)', "<q>{}</q>", "**{}**",
        "1. {}", "Context 2: {}", 'c2 says: "{}"', "{} (context c2)", "{} — c2", "{}, c2", 'Quote: "{}"',
        "{} (c2, c3)", "c2, sentence 1: {}", "From c2: {}", "According to c2: {}", '**c2**: "{}"',
        '<context id="c2">{}</context>', "{} (source: c2).", "„{}“", "==={}===", "Kontext c2: {}", "Контекст c2: {}",
        "c12: {}", "{} ¹", "{}[1]",
    ])  # fmt: skip
def test_marks_and_labels_are_taken_off(form: str) -> None:
    assert take_off_marks(form.format(QUOTE)) == QUOTE


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (QUOTE, QUOTE),
        ("c2 denies that " + QUOTE, "denies that " + QUOTE),
        ("In 1890 " + QUOTE, "In 1890 " + QUOTE),
        ("2019, " + QUOTE, "2019, " + QUOTE),
        (QUOTE + " in 12 hours", QUOTE + " in 12 hours"),
    ],
)
def test_words_of_a_quote_stay(text: str, bare: str) -> None:
    assert take_off_marks(text) == bare


def test_long_runs_of_marks_are_read_once() -> None:
    assert take_off_marks("*" * 100_000 + QUOTE + " " * 100_000 + "c2" * 50_000).startswith(QUOTE)


@pytest.mark.parametrize(
    ("quote", "context"),
    [
        ("we ... regret this ... very much", "Today we ... regret this ... very much, they wrote."),
        ("we… regret this… very much", "Today we ... regret this ... very much, they wrote."),
        ("we . . . regret this", "Today we ... regret this ... very much, they wrote."),
        ("he said ... that the fare is high", "Then he said … that the fare is high."),
        ("he said [...] that the fare is high", "Then he said [...] that the fare is high."),
        ("he said ... that the fare is hihg today", "Then he said ... that the fare is high today."),
        ("Prices rose..., and then fell", "Prices rose..., and then fell."),
    ],
)
def test_dots_of_the_text_itself_break_no_quote(quote: str, context: str) -> None:
    place = match_quote(Effort(), "en", quote, context)
    assert place is not None
    assert place[2] is False


def test_dots_that_hide_a_denial_break_a_quote() -> None:
    context = "He said ... that it was not true, and the fare is high."
    place = match_quote(Effort(), "en", "He said ... and the fare is high", context)
    assert place is not None
    assert place[2] is True
