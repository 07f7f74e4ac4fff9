"""Measures of ir-measures, an independent library."""

from __future__ import annotations

from typing import Any

import pytest


def ir_measure(name: str) -> Any:
    """Return the measure of a name such as ``nDCG@10``; its own parser fails since Python 3.14."""
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is an oracle of the dev extra")
    base, _, cutoff = name.partition("@")
    measure = getattr(ir_measures, base)
    return measure @ int(cutoff) if cutoff else measure
