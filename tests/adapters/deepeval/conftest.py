"""DeepEval's real runner, quiet, and the test case that most tests are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.later import later, skip_without

if TYPE_CHECKING:
    from collections.abc import Callable

skip_without("deepeval")

configs = later("deepeval.evaluate.configs")
deepeval = later("deepeval")


MODES = {"sync": False, "async": True}


@pytest.fixture(params=MODES)
def run(request: pytest.FixtureRequest) -> Callable[..., list[Any]]:
    """Run `deepeval.evaluate`, sync and async; results in the order of the test cases."""

    def run(test_cases: Any, metrics: Any, *, max_concurrent: int = 20, **errors: bool) -> list[Any]:
        found = deepeval.evaluate(
            test_cases,
            metrics,
            async_config=configs.AsyncConfig(
                run_async=MODES[request.param], max_concurrent=max_concurrent
            ),
            cache_config=configs.CacheConfig(write_cache=False),
            display_config=configs.DisplayConfig(show_indicator=False, print_results=False),
            error_config=configs.ErrorConfig(**errors),
        )
        return sorted(found.test_results, key=lambda result: result.index)

    run.is_async = MODES[request.param]
    return run


@pytest.fixture
def make_case() -> Callable[..., deepeval.test_case.LLMTestCase]:
    """Two of the three reference ids are among the four that were retrieved; one of two sentences is
    supported."""

    def make_case(**changes: Any) -> deepeval.test_case.LLMTestCase:
        fields: dict[str, Any] = {
            "input": "When was the Eiffel Tower built, and where?",
            "actual_output": "It stands in Paris.",
            "expected_output": "The Eiffel Tower stands in Paris. It was finished in 1889.",
            "retrieval_context": ["The Eiffel Tower stands in Paris, France.", "Bananas are yellow."],
            "context": [
                "The Eiffel Tower stands in Paris, France.",
                "Construction ended in March 1889.",
            ],
            "metadata": {
                "retrieved_context_ids": ["a", "x", 2, "y"],
                "reference_context_ids": ["a", "2", "b"],
            },
        }
        return deepeval.test_case.LLMTestCase(**{**fields, **changes})

    return make_case
