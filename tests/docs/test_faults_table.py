"""The table of faults in the docs: our columns are what a run gives, and say no wrong number."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("silently_wrong")


def _rows():
    table = BENCHMARK.docs.table_of("silently_wrong")
    head, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
    names = [cell.strip() for cell in head.strip("|").split("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {(row[0], row[1]): dict(zip(names, row, strict=True)) for row in cells}


ROWS = _rows()


def test_the_table_has_a_row_for_every_fault_and_metric():
    assert list(ROWS) == [(fault, metric) for fault in BENCHMARK.FAULTS for metric in BENCHMARK.METRICS]


@pytest.mark.parametrize("metric", BENCHMARK.METRICS)
@pytest.mark.parametrize("fault", BENCHMARK.FAULTS)
def test_our_cells_are_what_a_run_gives(fault, metric):
    truth = {"recall": 0.6, "precision": (1 + 2 / 3) / 2}[metric]
    for column, found in BENCHMARK.our_cells(fault, metric).items():
        assert found["value"] in (None, truth)
        assert found["told"] is None or found["told"].startswith("not_judged (")
        shown = BENCHMARK.cell(found, truth, ours=True)
        assert ROWS[fault, metric][BENCHMARK.TITLES[column]] == shown
        assert "silent" not in shown
