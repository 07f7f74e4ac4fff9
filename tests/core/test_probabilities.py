"""Verdicts from probabilities: the bar, the band of doubt, parts together, failures. No judge is asked."""

from __future__ import annotations

import pytest

from ctxmetrics.judges.probabilities import (
    Bar,
    ProbabilityCell,
    UnitProbabilities,
    judge_contexts,
    judge_units,
    to_cell,
)
from ctxmetrics.verdicts import Evidence

BAR = Bar(0.5)


def span(context, *, whole=True):
    return Evidence(context, 0, 4, "text", whole)


def row(*probabilities, together=None, parts=(0, 1)):
    cells = tuple(to_cell(value, span(place)) for place, value in enumerate(probabilities))
    if together is None:
        return UnitProbabilities(cells)
    return UnitProbabilities(
        cells, to_cell(together), tuple(span(place, whole=False) for place in parts)
    )


def judge_unit(*probabilities, bar=BAR, **options):
    (verdict,) = judge_units(["s1"], [row(*probabilities, **options)], bar)
    return verdict


def test_every_context_at_the_bar_states_the_unit():
    verdict = judge_unit(0.5, 0.49, 0.9)
    assert verdict.value is True
    assert [item.context for item in verdict.evidence] == [0, 2]
    assert verdict.details == {"probability": 0.9, "probabilities": (0.5, 0.49, 0.9)}
    assert verdict.reason == "probability 0.900 in context 3"


def test_below_the_bar_nothing_is_evidence():
    verdict = judge_unit(0.1, 0.3)
    assert (verdict.value, verdict.evidence, verdict.code) == (False, (), None)
    assert verdict.reason == "probability 0.300 at best, in context 2"


def test_without_a_sentence_there_is_no_yes():
    (verdict,) = judge_units(["s1"], [UnitProbabilities((ProbabilityCell(0.9),))], BAR)
    assert (verdict.value, verdict.reason) == (False, "no context has a sentence")


def test_parts_count_where_no_context_states_the_unit_alone():
    verdict = judge_unit(0.2, 0.3, together=0.8)
    assert verdict.value is True
    assert [(item.context, item.whole) for item in verdict.evidence] == [(0, False), (1, False)]
    assert verdict.details["probability"] == 0.8
    assert verdict.reason == "probability 0.800 in contexts 1, 2 together"


def test_parts_do_not_count_beside_a_whole_context():
    verdict = judge_unit(0.2, 0.6, together=0.9)
    assert [(item.context, item.whole) for item in verdict.evidence] == [(1, True)]
    assert verdict.details["probability"] == 0.6
    assert judge_unit(0.2, 0.6, together="no answer") == judge_unit(0.2, 0.6)


def test_parts_below_the_bar_are_no_evidence():
    verdict = judge_unit(0.2, 0.3, together=0.4)
    assert (verdict.value, verdict.evidence) == (False, ())
    assert verdict.details["probability"] == 0.4


@pytest.mark.parametrize(
    ("probability", "value", "code"),
    [
        (0.5, True, "near_bar"),
        (0.64, True, "near_bar"),
        (0.36, False, "near_bar"),
        (0.66, True, None),
        (0.34, False, None),
    ],
)
def test_a_probability_near_the_bar_is_doubtful(probability, value, code):
    bar = Bar(0.5, doubt=0.15)
    unit = judge_unit(probability, bar=bar)
    (context,) = judge_contexts(["c1"], [row(probability)], bar)
    assert (unit.value, unit.code) == (context.value, context.code) == (value, code)


def test_another_bar_needs_no_other_probabilities():
    rows = [row(0.6, 0.8), row(0.3, 0.2, together=0.75)]
    values = {}
    for bar in (0.5, 0.7, 0.9):
        values[bar] = [verdict.value for verdict in judge_units(["s1", "s2"], rows, Bar(bar))]
    assert values == {0.5: [True, True], 0.7: [True, True], 0.9: [False, False]}


@pytest.mark.parametrize("options", [{}, {"together": 0.9}])
def test_a_cell_that_failed_leaves_its_unit_unjudged(options):
    verdict = judge_unit(0.9, "no answer", **options)
    assert (verdict.value, verdict.code, verdict.reason) == (None, "judge_error", "no answer")


def test_parts_that_failed_leave_an_open_unit_unjudged():
    verdict = judge_unit(0.1, 0.2, together="no answer")
    assert (verdict.value, verdict.code) == (None, "judge_error")


def test_a_context_is_useful_by_its_best_row_or_as_a_part():
    rows = [row(0.9, 0.1, 0.2, 0.1), row(0.2, 0.3, 0.4, 0.1, together=0.7, parts=(1, 2))]
    verdicts = judge_contexts(["c1", "c2", "c3", "c4"], rows, BAR)
    assert [verdict.value for verdict in verdicts] == [True, True, True, False]
    assert [verdict.details["probability"] for verdict in verdicts] == [0.9, 0.3, 0.4, 0.1]
    assert verdicts[0].reason == "probability 0.900"
    assert verdicts[1].reason == "probability 0.300 alone, needed with others"
    assert [item.whole for item in verdicts[1].evidence] == [False]
    assert verdicts[3].evidence == ()


def test_a_failed_cell_costs_a_verdict_where_no_other_is_a_yes():
    rows = [row("no answer", "no answer"), row(0.8, 0.2)]
    useful, unknown = judge_contexts(["c1", "c2"], rows, BAR)
    assert useful.value is True
    assert (unknown.value, unknown.code, unknown.reason) == (None, "judge_error", "no answer")


def test_a_failed_cell_leaves_contexts_open_that_may_be_parts():
    """Three contexts; with all answers c1 and c3 are parts of the unit. Without the first answer nobody knows that.

    A no for c3 would raise average precision from 5/6 to 1: it stood below c2, which is useless.
    """
    known = row(0.2, 0.1, 0.3, together=0.8, parts=(0, 2))
    assert [v.value for v in judge_contexts(["c1", "c2", "c3"], [known], BAR)] == [True, False, True]
    for options in ({"together": 0.8}, {"together": "no answer"}):
        first = "no answer" if options["together"] == 0.8 else 0.2
        lacking = row(first, 0.1, 0.3, parts=(0, 2), **options)
        verdicts = judge_contexts(["c1", "c2", "c3"], [lacking], BAR)
        assert [verdict.value for verdict in verdicts] == [None, False, None]
        assert verdicts[2].reason == "no answer"
    # Where a context states the unit alone, or all together do not, no context can be a part.
    for other in (row("no answer", 0.6, 0.3, together=0.8), row("no answer", 0.1, 0.3, together=0.1)):
        assert judge_contexts(["c1", "c2", "c3"], [other], BAR)[2].value is False
