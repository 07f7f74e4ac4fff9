"""The values of one metric over many rows, as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one metric.

    Attributes:
        values: One a row; NaN where there is none.
        codes: For each row, which of the reasons is why there is none.
        reasons: Reason codes, each once; the first is None.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int8]
    reasons: tuple[str | None, ...]


def values_of(scores: Sequence[tuple[float | None, str | None]]) -> Values:
    """Return what pairs of a value and a reason code hold."""
    reasons = tuple(dict.fromkeys([None, *(reason for _, reason in scores)]))
    places = {reason: place for place, reason in enumerate(reasons)}
    return Values(
        np.array([math.nan if value is None else value for value, _ in scores], np.float64),
        np.array([places[reason] for _, reason in scores], np.int8),
        reasons,
    )


def joined(parts: Sequence[Values]) -> Values:
    """Return the values of several parts of a table as one."""
    reasons = tuple(dict.fromkeys(reason for part in parts for reason in part.reasons))
    codes = [
        np.array([reasons.index(reason) for reason in part.reasons], np.int8)[part.codes] for part in parts
    ]
    return Values(np.concatenate([part.values for part in parts]), np.concatenate(codes), reasons)
