"""Intervals for a mean over samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_Z = 1.959963984540054
_BOOTSTRAP_FROM = 50


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of a mean of per-sample scores, the sample being the unit. Placeholder replaced below."""
    del values
    return None
