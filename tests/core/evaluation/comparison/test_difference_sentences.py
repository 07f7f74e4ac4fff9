"""The clauses about one metric of a comparison."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxmetrics.evaluation.comparison.difference_sentences import build_clauses
from ctxmetrics.evaluation.comparison.differences import Difference

SHOWN = Difference(
    name="context_recall",
    samples=40,
    unpaired=0,
    values_lost=0,
    before=0.9,
    after=0.8,
    difference=-0.1,
    interval=(-0.15, -0.05),
    p=0.001,
    p_adjusted=0.001,
    better=2,
    worse=18,
    equal=20,
    detectable=0.07,
)
POWER = "a true difference of 0.070 is found in 4 of 5 such comparisons"


@pytest.mark.parametrize(
    ("fields", "clauses"),
    [
        ({}, ["context_recall: worse by 0.100"]),
        ({"difference": 0.1}, ["context_recall: better by 0.100"]),
        ({"p_adjusted": 0.2}, ["context_recall: no difference shown", POWER]),
        ({"p_adjusted": 0.2, "detectable": None}, ["context_recall: no difference shown"]),
        ({"p_adjusted": None}, ["context_recall: secondary, no verdict"]),
        (
            {"better": 1, "worse": 7, "equal": 32},
            [
                "context_recall: few changed",
                "8 samples changed; a run is called better or worse from 10 on",
            ],
        ),
        (
            {"unpaired": 1, "passed": (30, 20)},
            [
                "context_recall: worse by 0.100",
                "pass mark reached by 30 of 40, then by 20",
                "1 sample has no value in one of the runs",
            ],
        ),
    ],
)
def test_what_decides_is_said_once(fields: dict[str, object], clauses: list[str]) -> None:
    assert build_clauses(replace(SHOWN, **fields)) == clauses
