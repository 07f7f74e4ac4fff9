"""The matrix units x contexts of the embedded judge is what judging each context alone, and the first k, gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.text.sentences import split_sentences

DATA = Path(__file__).resolve().parents[5] / "shared" / "data"


def attribution_of(judge, request):
    return Attribution(judge.support(request), tuple(map(len, request.contexts)))


def row(unit, *contexts, **parameters):
    """Return a unit's cells and its smallest k."""
    request = JudgeRequest(units=(unit,), contexts=contexts, answer=unit)
    found = attribution_of(LexicalJudge(**parameters), request)
    return found.cells[0], found.smallest_ks[0]


def test_each_context_that_states_the_unit_is_whole():
    # the example of support precision: two contexts state the only sentence, a third is about something else
    cells, smallest_k = row(
        "The pump was repaired in May.",
        "In May the pump was repaired.",
        "The pump was repaired in May by Hale.",
        "Bread is baked.",
    )
    assert (cells, smallest_k) == (("whole", "whole", "none"), 1)


def test_contexts_that_support_a_unit_only_together_are_parts():
    # 4 of 8 and 4 of 8 words; together 8 of 8
    cells, smallest_k = row(
        "apple bread cheese dates eggs figs grapes honey",
        "Bread is baked.",
        "apple bread cheese dates.",
        "nothing",
        "eggs figs grapes honey.",
    )
    assert (cells, smallest_k) == (("none", "part", "none", "part"), 4)


def test_parts_are_named_beside_a_later_whole_context():
    parts = ("apple bread cheese dates.", "eggs figs grapes honey.")
    unit = "apple bread cheese dates eggs figs grapes honey"
    assert row(unit, *parts, unit) == (("part", "part", "whole"), 2)
    assert row(unit, unit, *parts) == (("whole", "none", "none"), 1)


def test_a_name_that_stands_elsewhere_is_a_part():
    # novel, written, won, prize | Marlow: 4 of 5 in the first context, the name in the third only
    unit = "The novel that won the prize was written by Marlow."
    contexts = ("The novel was written and won the prize.", "Nothing.", "It is by Marlow.")
    assert row(unit, *contexts) == (("part", "none", "part"), 3)


def test_an_unsupported_unit_has_no_evidence():
    assert row("apple bread cheese dates", "apple bread", "x") == (("none", "none"), None)


def test_units_without_content_words():
    assert row("It is.", "No.", "It is.", "So it is.") == (("none", "whole", "whole"), 2)


def test_contradicting_context_states_the_unit_by_default():
    contexts = ("The pump was not repaired.", "Nothing.", "The pump was repaired.")
    assert row("The pump was repaired.", *contexts) == (("whole", "none", "whole"), 1)
    strict = row("The pump was repaired.", *contexts, contradiction="no")
    assert strict == (("none", "none", "whole"), 3)


def check(request, judge):
    """Compare the attribution with judging at each k, and each context alone."""
    whole = attribution_of(judge, request)
    for k in range(len(request.contexts) + 1):
        at_k = attribution_of(judge, replace(request, contexts=request.contexts[:k]))
        assert whole.recall(k) == at_k.recall()
        assert whole.rests_on(k) == at_k.rests_on()
        assert whole.precision(k) == at_k.precision()
        assert [smallest is not None and smallest <= k for smallest in whole.smallest_ks] == [
            verdict.value for verdict in at_k.units
        ]
    for context, text in enumerate(request.contexts):
        alone = judge.support(replace(request, contexts=(text,)))
        stated = [cells[context] == "whole" for cells in whole.cells]
        assert stated == [verdict.value for verdict in alone]


WORDS = [
    *"abcdefgh",
    "not",
    "rose",
    "fell",
    "12",
    "$12",
    "12 euros",
    "Hale",
    "Marlow",
    "May",
    "June",
    "1953",
    ". ",
]
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(
    lambda words: " ".join(word * 3 if word in "abcdefgh" else word for word in words)
)
JUDGES = st.builds(
    LexicalJudge,
    max_sentences=st.integers(1, 4),
    min_coverage=st.sampled_from((0.3, 0.625, 0.9)),
    search_weight=st.sampled_from((0.0, 0.02, 0.1)),
    number_weight=st.sampled_from((0.0, 0.2, 0.5)),
    name_weight=st.sampled_from((0.0, 0.5)),
    contradiction=st.sampled_from(("flag", "no")),
)
LENIENT = LexicalJudge(
    max_sentences=1, min_coverage=0.3, search_weight=0.0, number_weight=0.0, contradiction="no"
)
"""Supports a unit also where a context lacks its number."""


@pytest.mark.slow
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=6), JUDGES)
@example(["aaa Hale 12"], ["aaa 12 euros", "Hale", "aaa Hale 12"], LexicalJudge())
@example(["aaa 12 euros"], ["12 euros", "aaa .  $12"], LENIENT)
@example(["aaa $12"], ["12 euros", "aaa"], LENIENT)
def test_the_matrix_is_what_judging_gives(units, contexts, judge):
    check(JudgeRequest(units=tuple(units), contexts=tuple(contexts), answer=" ".join(units)), judge)


@pytest.mark.slow
@pytest.mark.parametrize("contradiction", ["flag", "no"])
@pytest.mark.parametrize("name", ["clapnq-dev", "begin-wow-dev", "mtragun"])
def test_curve_of_public_data_equals_judging_at_each_k(name, contradiction):
    path = DATA / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip("the public data is not here; benchmarks/README.md says how to get it")
    judge = LexicalJudge(contradiction=contradiction)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if number % 5 == 0:
            row = json.loads(line)
            units = split_sentences(row["reference"])
            check(
                JudgeRequest(units=units, contexts=tuple(row["retrieved_contexts"][:10]), answer="x"),
                judge,
            )
