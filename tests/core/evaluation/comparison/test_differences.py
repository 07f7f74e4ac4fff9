"""In which direction a difference is shown."""

from __future__ import annotations

import pytest

from ctxmetrics.evaluation.comparison.differences import Difference, find_direction


@pytest.mark.parametrize(
    ("difference", "p", "direction"),
    [(0.2, 0.05, 1), (-0.2, 0.05, -1), (0.2, 0.051, 0), (-0.2, 0.051, 0), (0.0, 0.01, 0)],
)
def test_a_difference_is_shown_up_to_p_05(difference: float, p: float, direction: int) -> None:
    item = Difference(
        name="context_recall",
        samples=20,
        unpaired=0,
        values_lost=0,
        before=0.5,
        after=0.5 + difference,
        difference=difference,
        interval=None,
        p=p,
        p_adjusted=p,
        better=10,
        worse=10,
        equal=0,
        detectable=None,
    )
    assert find_direction(item) == direction
