"""Which origins of scores keep two runs from being compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.comparison.pairing import (
    Comparability,
    OriginDifference,
    ScoreOrigin,
    find_differences,
)
from ctxmetrics.evaluation.rows.row import Row
from ctxmetrics.scores.score import Provenance, Score

_PROVENANCE = Provenance(
    judge="j", prompt="p1", served_model="m1", formula="share", library="ctxmetrics 1"
)
JUDGED = ScoreOrigin(_PROVENANCE, judged=True)
UNJUDGED = ScoreOrigin(replace(_PROVENANCE, prompt=None, served_model=None), judged=False)


def change(origin: ScoreOrigin, **fields: str | None) -> ScoreOrigin:
    return replace(origin, provenance=replace(origin.provenance, **fields))


@pytest.mark.parametrize(
    ("before", "after", "differences"),
    [
        ((JUDGED,), (JUDGED,), []),
        ((JUDGED,), (), []),
        ((JUDGED,), (change(JUDGED, library="ctxmetrics 2"),), []),
        ((JUDGED,), (change(JUDGED, served_model=None),), []),
        ((JUDGED, UNJUDGED), (JUDGED,), []),
        ((UNJUDGED,), (change(UNJUDGED, prompt="p2"),), []),
        ((JUDGED,), (change(JUDGED, prompt="p2"),), [OriginDifference("prompt", "p1", "p2")]),
        (
            (JUDGED, UNJUDGED),
            (change(JUDGED, served_model="m2"), UNJUDGED),
            [OriginDifference("judge", "j (m1)", "j (m2)")],
        ),
        (
            (JUDGED,),
            (JUDGED, change(JUDGED, formula="f2")),
            [OriginDifference("formula", "share", "f2")],
        ),
        (
            (change(JUDGED, prompt=None, served_model=None),),
            (change(JUDGED, prompt=None, served_model=None, library="ctxmetrics 2"),),
            [OriginDifference("judge", "j (ctxmetrics 1)", "j (ctxmetrics 2)")],
        ),
    ],
)
def test_each_origin_needs_an_equal_one_in_the_other_run(
    before: tuple[ScoreOrigin, ...],
    after: tuple[ScoreOrigin, ...],
    differences: list[OriginDifference],
) -> None:
    assert find_differences(before, after) == differences
    swapped = [OriginDifference(item.field, item.after, item.before) for item in differences]
    assert find_differences(after, before) == swapped


@pytest.mark.parametrize(
    ("value", "code", "is_refused"), [(0.5, None, True), (None, "no_reference", False)]
)
def test_scores_without_a_value_have_no_origin(
    value: float | None, code: str | None, is_refused: bool
) -> None:
    score = Score(metric="m", value=0.5, provenance=_PROVENANCE)
    other = replace(score, value=value, reason_code=code, provenance=replace(_PROVENANCE, formula="f2"))
    comparability = Comparability(["m"], [])
    comparability.add(Row(0, None, "a", (score,)), Row(0, None, "a", (other,)))
    if is_refused:
        with pytest.raises(ParameterError, match="the runs differ in formula"):
            comparability.describe()
    else:
        assert comparability.describe() == []
