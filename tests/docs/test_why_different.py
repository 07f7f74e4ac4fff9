"""The table of docs/why-different.md is what the frameworks give, and one row of it is 0.6, NaN and 1.0."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "why-different.md").read_text(encoding="utf-8")


def test_one_row_has_0_6_1_0_and_nan() -> None:
    assert re.search(r"\| \*\*0\.6\*\* \| \*\*NaN\*\* \| \*\*1\.0\*\* \|", PAGE)


@pytest.mark.slow
def test_the_table_is_what_the_frameworks_give() -> None:
    for name in ("ragas", "deepeval"):
        pytest.importorskip(name, reason=f"the {name} extra is not installed")
    benchmark = load_benchmark("why_different")
    shown = PAGE.split(benchmark.BEGIN)[1].split(benchmark.END)[0].strip()
    found = benchmark.measure()
    assert benchmark.table(found).split("\n\n")[0] == shown.split("\n\n")[0]
    # By hand: three of five are stated, two yeses have no evidence, one precision is 1/2.
    by_says = {row["says"]: row for row in found}
    assert by_says['the same, in the word "yes"']["ctxmetrics"] == 0.6
    assert by_says['the same, in the word "yes"']["deepeval"] == 1.0
    assert by_says['the same, in the word "yes"']["ragas"] is None
    assert by_says["the second of three contexts is useful"]["ctxmetrics"] == 0.5
