"""The matrix units x contexts of the embedded judge is what judging each context alone, and the first k, gives."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxmetrics.attribution import Attribution
from ctxmetrics.judges.base import JudgeRequest
from ctxmetrics.judges.lexical import LexicalJudge
from ctxmetrics.text import split_sentences

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def rows(*units, contexts, **parameters):
    request = JudgeRequest(units=units, contexts=tuple(contexts), answer=" ".join(units))
    return LexicalJudge(**parameters).matrix(request)


def test_each_context_that_states_the_unit_is_whole():
    # the example of support precision: two contexts state the only sentence, a third is about something else
    (row,) = rows(
        "The pump was repaired in May.",
        contexts=(
            "In May the pump was repaired.",
            "The pump was repaired in May by Hale.",
            "Bread is baked.",
        ),
    )
    assert row.cells == ("whole", "whole", "none")
    assert (row.smallest_k, row.certain_k) == (1, 1)


def test_contexts_that_support_a_unit_only_together_are_parts():
    # 4 of 8 and 4 of 8 words; together 8 of 8 - 0.25
    (row,) = rows(
        "apple bread cheese dates eggs figs grapes honey",
        contexts=("Bread is baked.", "apple bread cheese dates.", "nothing", "eggs figs grapes honey."),
    )
    assert row.cells == ("none", "part", "none", "part")
    assert row.smallest_k == 4
    assert [row.supported_at(k) for k in range(1, 5)] == [False, False, False, True]


def test_a_name_that_stands_elsewhere_is_a_part():
    # novel, written, won, prize | Marlow: 4 of 5 in the first context, the name in the third only
    (row,) = rows(
        "The novel that won the prize was written by Marlow.",
        contexts=("The novel was written and won the prize.", "Nothing.", "It is by Marlow."),
    )
    assert (row.cells, row.smallest_k) == (("part", "none", "part"), 3)


def test_an_unsupported_unit_has_parts_where_half_of_the_bar_is_held():
    assert rows("apple bread cheese dates", contexts=("apple bread", "x"))[0].cells == ("part", "none")
    assert rows("apple bread cheese dates", contexts=("apple", "x"))[0].cells == ("none", "none")


def test_units_without_content_words():
    (row,) = rows("It is.", contexts=("No.", "It is.", "So it is."))
    assert (row.cells, row.smallest_k, row.certain_k) == (("none", "whole", "whole"), 2, 2)


def test_from_which_k_a_yes_is_certain():
    contexts = ("The pump was not repaired.", "Nothing.", "The pump was repaired.")
    (row,) = rows("The pump was repaired.", contexts=contexts)
    assert (row.cells, row.smallest_k, row.certain_k) == (("whole", "none", "whole"), 1, 3)
    assert [row.uncertain_at(k) for k in (1, 2, 3)] == [True, True, False]
    (strict,) = rows("The pump was repaired.", contexts=contexts, contradiction="no")
    assert (strict.cells, strict.smallest_k, strict.certain_k) == (("none", "none", "whole"), 3, 3)


def attribution_of(verdicts, request):
    return Attribution(verdicts, tuple(map(len, request.contexts)))


def check(request, judge):
    """Compare the matrix with judging at each k, and each context alone."""
    n = len(request.contexts)
    whole_request = attribution_of(judge.support(request), request)
    for k in range(n + 1):
        first = replace(request, contexts=request.contexts[:k])
        at_k = attribution_of(judge.support(first), first)
        assert whole_request.recall(k) == at_k.recall()
        assert whole_request.rests_on(k) == at_k.rests_on()
        assert whole_request.precision(k) == at_k.precision()
    matrix = judge.matrix(request)
    verdicts = [judge.support(replace(request, contexts=request.contexts[:k])) for k in range(n + 1)]
    alone = [judge.support(replace(request, contexts=(context,))) for context in request.contexts]
    for unit, row in enumerate(matrix):
        for k in range(n + 1):
            assert row.supported_at(k) is verdicts[k][unit].value
            assert row.uncertain_at(k) is (verdicts[k][unit].code == "uncertain")
        whole = [cell == "whole" for cell in row.cells]
        assert whole == [verdict[unit].value for verdict in alone]
        parts = [context for context, cell in enumerate(row.cells) if cell == "part"]
        if row.smallest_k is not None and not any(whole):
            assert max(parts) == row.smallest_k - 1
        if any(whole):
            assert row.smallest_k <= whole.index(True) + 1
            assert bool(parts) is (row.smallest_k <= whole.index(True))
        if row.smallest_k is not None:
            assert whole_request.cells[unit] == row.cells


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
    scatter_weight=st.sampled_from((0.0, 0.1, 0.25)),
    number_weight=st.sampled_from((0.0, 0.2, 0.5)),
    name_weight=st.sampled_from((0.0, 0.5)),
    contradiction=st.sampled_from(("flag", "no")),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, max_size=6), JUDGES)
@example(["aaa Hale 12"], ["aaa 12 euros", "Hale", "aaa Hale 12"], LexicalJudge())
def test_the_matrix_is_what_judging_gives(units, contexts, judge):
    check(JudgeRequest(units=tuple(units), contexts=tuple(contexts), answer=" ".join(units)), judge)


@pytest.mark.parametrize("contradiction", ["flag", "no"])
@pytest.mark.parametrize("name", ["clapnq-dev", "begin-wow-dev", "mtragun"])
def test_the_curve_of_public_data_is_what_judging_at_each_k_gives(name, contradiction):
    path = DATA / f"{name}.jsonl"
    if not path.is_file():
        pytest.skip("the public data is not here; benchmarks/README.md says how to get it")
    judge = LexicalJudge(contradiction=contradiction)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if number % 5 == 0:
            row = json.loads(line)
            units = split_sentences(row["reference"])
            check(
                JudgeRequest(units=units, contexts=tuple(row["retrieved_contexts"][:10]), answer="x"), judge
            )
