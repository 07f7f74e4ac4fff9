"""A text that is looked for in another one begins and ends at whole numbers, in each place that looks: one rule, one table."""

from __future__ import annotations

import pytest

from ctxmetrics import ContextRecall, Sample, ScriptedJudge
from ctxmetrics.judges.lexical.usefulness import find_literal
from ctxmetrics.text.quote_search import find_quote, stands_in
from support import answer_from
from support.cases import each_case

# The end of a sentence, and of a context where it is the same number or another one.
ENDS = [
    ("3", "3", True),
    ("3", "3 metres", True),
    ("3", "3, and more", True),
    ("3", "3; 5 at sea", True),
    ("3", "3.", True),
    ("3", "3.5", False),
    ("3", "3,5 m", False),
    ("3", "3½", False),
    ("3", "35", False),
    ("3", "3:5", False),
    ("3", "3/4", False),
    ("3", "3-5 metres", False),
    ("3", "3–5 metres", False),
    ("3", "3-fold", True),
    ("3", "3%", False),
    ("3", "3 %", False),
    ("1", "1,000", False),
    ("1,000", "1,000,000", False),
    ("1", "1'000", False),
    ("1", "1’000", False),
    ("1,000", "1,000 metres", True),
    ("2024", "20245", False),
    ("2024", "2024,1991", True),  # columns
    ("v1.2", "v1.20", False),
    ("v1.2", "v1.2.1", False),
    ("v1.2", "v1.2 or so", True),
    ("am 1.5.", "am 1.5.2024", False),
    ("am 1.5.", "am 1.5. in Bonn", True),
    ("5 m", "5 m in all", True),
    ("٣", "٣٫٥", False),
    ("3", "3年", True),
]


@each_case(("end", "context", "is_same"), ENDS)
def test_sentence_ends_at_a_whole_number(end: str, context: str, is_same: bool) -> None:
    sentence = f"The old mast there measures {end}"
    assert stands_in(sentence, f"The old mast there measures {context}") is is_same
    assert stands_in(sentence.upper(), f"the  old mast there measures {context}") is is_same


# The beginning of a quote, and of a context.
STARTS = [
    ("5", "5", True),
    ("5", "-5", False),
    ("5", "−5", False),
    ("-5", "-5", True),
    ("5", "3.5", False),
    ("5", "3,5", False),
    ("5", "3/5", False),
    ("5", "3-5", False),
    ("5", "15", False),
    ("000", "1,000", False),
    ("1991", "2024,1991", True),
    ("2", "v1.2", False),
    ("5", "(5", True),
]


@pytest.mark.parametrize(("start", "context", "is_same"), STARTS)
def test_quote_begins_at_a_whole_number(start: str, context: str, is_same: bool) -> None:
    text = f"It was {context} degrees colder in the valley."
    assert bool(find_quote(f"{start} degrees colder in the valley", text)) is is_same
    assert bool(find_quote(f"{start} DEGREES colder in the valley", text)) is is_same


@each_case(("end", "context", "is_same"), ENDS)
def test_quote_ends_at_a_whole_number(end: str, context: str, is_same: bool) -> None:
    text = f"The old mast there measures {context} there."
    assert bool(find_quote(f"measures {end}", text)) is is_same
    assert bool(find_quote(f"MEASURES  {end}", text)) is is_same
    # A quote that is long enough is aligned, and its evidence is widened to the per cent sign.
    aligned = find_quote(f"old mast there measures {end}", text)
    assert bool(aligned) is (is_same or "%" in context)
    if "%" in context:
        assert text[aligned[0].start : aligned[0].end].endswith(context)


@pytest.mark.parametrize(("end", "context"), [("3", "3e5"), ("3", "3rd"), ("5 m", "5 mm"), ("5", "5m")])
def test_sentence_ends_at_a_whole_word(end: str, context: str) -> None:
    """A quote may end inside a word: it is flagged as a fragment."""
    assert not stands_in(f"The old mast there measures {end}", f"The old mast there measures {context}")


def test_line_may_begin_with_a_dash() -> None:
    assert find_quote("5 eggs", "You need:\n-5 eggs\n-200 g flour")


@pytest.mark.parametrize(
    ("text", "context", "is_same"),
    [
        ("3", "3", True),
        ("3", "3.5", False),
        ("5", "3.5", False),
        ("3", "3%", False),
        ("5", "by -5", False),
    ],
)
def test_literal_answer_is_a_whole_number(text: str, context: str, is_same: bool) -> None:
    assert (find_literal(text, context, 0) is not None) is is_same


# Only a whole sentence contradicts a no: "3 metres" goes on.
@pytest.mark.parametrize(
    ("context", "code"), [("3.5 metres", None), ("3 metres", None), ("3", "contradicted")]
)
def test_right_no_about_another_number_is_no_contradiction(context: str, code: str | None) -> None:
    unit = "The old mast there measures 3."
    judge = ScriptedJudge(answer_from({unit: False}), name="no")
    sample = Sample(reference=unit, retrieved_contexts=[f"The old mast there measures {context}."])
    (verdict,) = ContextRecall(judge=judge).score(sample).verdicts
    assert (verdict.value, verdict.code) == (False, code)
