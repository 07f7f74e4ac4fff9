"""The runners of the frameworks, by name: no framework is imported while tests are collected."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from ctxmetrics.evaluation.frameworks.parity import CORE, installed_runners
from support import missing

if TYPE_CHECKING:
    from ctxmetrics.adapting.runners import Runner

RUNNERS = {
    "deepeval.evaluate": "deepeval",
    "deepeval.assert_test": "deepeval",
    "inspect_ai.eval": "inspect_ai",
    "langsmith.evaluate": "langsmith",
    "langchain.lcel": "langchain_core",
    "langchain.StringEvaluator": "langchain_classic",
    "mlflow.evaluate": "mlflow",
    "pydantic_evals.evaluate": "pydantic_evals",
    "ragas.evaluate": "ragas",
    "ragas.collections": "ragas",
}
"""The package of each runner's framework."""


@cache
def _found() -> dict[str, Runner]:
    found = {runner.name: runner for runner in installed_runners()[0] if runner != CORE}
    assert set(found) <= set(RUNNERS), "a new runner belongs in the table"
    return found


def runner_of(name: str) -> Runner:
    """Return a runner, or skip the test where its framework is not installed; where it is, the runner must be there."""
    if name == CORE.name:
        return CORE
    if name not in _found():
        assert missing(RUNNERS[name]), (
            f"{RUNNERS[name]} is installed, and its runner {name} is not found"
        )
        pytest.skip(f"no runner {name} is installed")
    return _found()[name]
