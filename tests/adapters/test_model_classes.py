"""Every model class of the frameworks with one real request; the table in benchmarks/model-classes.md is what came of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, ScriptedJudge, check_model, evaluate
from support.benchmarks import load_benchmark

BENCHMARK = load_benchmark("model_classes")
ROWS = BENCHMARK.rows()
TABLE = BENCHMARK.docs.table_of("model_classes", BENCHMARK.PAGE)


def parameters() -> list[Any]:
    """The rows that can be tried; the first of each framework is quick, the others are slow, as is the import of MLflow."""
    seen = {"MLflow"}
    found = []
    for row in ROWS:
        if row.tried:
            marks = pytest.mark.slow if row.framework in seen else ()
            seen.add(row.framework)
            found.append(pytest.param(row, id=f"{row.framework}: {row.name}", marks=marks))
    return found


@pytest.mark.parametrize("row", parameters())
def test_a_class_gives_what_the_table_says(row: Any) -> None:
    if row.missing:
        pytest.skip(f"not installed: {', '.join(row.missing)}")
    assert BENCHMARK.line(row, BENCHMARK.attempt(row)) in TABLE


@pytest.mark.parametrize("row", parameters())
def test_one_request_finds_out_whether_a_class_can_be_used(row: Any) -> None:
    """A class that works is told to work; another one is named with its reason, before anything is paid for."""
    if row.missing:
        pytest.skip(f"not installed: {', '.join(row.missing)}")
    found = None
    # Some classes that cannot be used refuse what they are given before there is a model.
    with BENCHMARK.served(row) as server, suppress(*([Exception] if row.why else [])):
        found = check_model(row.model(server.url), timeout=60)
    if row.why:
        assert found is None or (not found.ok and found.findings[-1].fix)
    elif row.requests:
        assert found is not None
        assert (found.ok, len(server.exchanges)) == (True, 1), str(found)


def test_the_true_values_are_those_of_the_core() -> None:
    judge = ScriptedJudge(BENCHMARK.JUDGE, name="labels")
    metrics = [ContextRecall(), ContextPrecision()]
    (row,) = evaluate([BENCHMARK.sample("-")], metrics, judge=judge, progress=False)
    assert (row["context_recall"].value, row["context_precision"].value) == BENCHMARK.TRUTH


def test_the_table_has_each_class_once_and_no_other() -> None:
    lines = [line for line in TABLE.splitlines() if line.startswith("| ")][1:]
    shown = [tuple(cell.strip() for cell in line.split(" | "))[:2] for line in lines]
    assert shown == [(f"| {row.framework}", f"`{row.name}`") for row in ROWS]
    assert len(ROWS) == len({(row.framework, row.name) for row in ROWS})


def test_no_class_fails_without_a_known_reason() -> None:
    assert "fails:" not in TABLE
    assert len({row.framework for row in ROWS}) == 6
    assert TABLE.count("| works |") >= 60


def test_a_class_that_was_not_tried_says_why() -> None:
    for row in ROWS:
        if not row.tried:
            assert BENCHMARK.line(row, None) in TABLE
