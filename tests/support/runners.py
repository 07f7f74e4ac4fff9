"""The runners of the frameworks, by name: no framework is imported while tests are collected."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from ctxmetrics.adapting import isolated_process
from ctxmetrics.errors import MissingExtraError
from ctxmetrics.evaluation.frameworks.parity import CORE, GROUP
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
_ADAPTERS = {"inspect_ai": "inspect", "langsmith": "langchain", "pydantic_evals": "pydantic-evals"}
"""The name of an adapter, where a runner's name begins in another way."""


@cache
def _load(adapter: str) -> dict[str, Runner]:
    """Load the runners of one adapter: others import their frameworks, which takes seconds."""
    (entry,) = entry_points(group=GROUP, name=adapter)
    with isolated_process({"DO_NOT_TRACK": "true"}, silent=False):
        try:
            found = {runner.name: runner for runner in entry.load()}
        except (MissingExtraError, ImportError):
            return {}
    assert set(found) <= set(RUNNERS), "a new runner belongs in the table"
    return found


def runner_of(name: str) -> Runner:
    """Return a runner, or skip the test where its framework is not installed; where it is, the runner must be there."""
    if name == CORE.name:
        return CORE
    first = name.partition(".")[0]
    runners = _load(_ADAPTERS.get(first, first))
    if name not in runners:
        assert missing(RUNNERS[name]), (
            f"{RUNNERS[name]} is installed, and its runner {name} is not found"
        )
        pytest.skip(f"no runner {name} is installed")
    return runners[name]
