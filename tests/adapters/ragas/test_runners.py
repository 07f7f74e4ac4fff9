"""What the conformance suite and ``ctxmetrics parity`` run."""

from __future__ import annotations

import pytest

from ctxmetrics import Metric, Sample
from ctxmetrics.evaluation.frameworks.parity import CORE, find_installed_runners
from ctxmetrics.metrics.catalog import METRICS
from support.runners import runner_of


@pytest.mark.slow
def test_they_are_found() -> None:
    """It imports all frameworks."""
    found, _ = find_installed_runners()
    assert [runner.name for runner in found if runner.name.startswith("ragas")] == [
        "ragas.evaluate",
        "ragas.collections",
    ]


@pytest.mark.filterwarnings("ignore:a?evaluate:DeprecationWarning")  # Ragas' runner itself
@pytest.mark.parametrize("name", ["ragas.evaluate", "ragas.collections"])
@pytest.mark.parametrize("metric", METRICS.values(), ids=lambda metric: metric.base_name)
def test_they_give_the_cores_values_and_none_for_nan(name: str, metric: type[Metric]) -> None:
    fields = {
        "response": "It is red.",
        "reference": "It is red. It is blue.",
        "retrieved_contexts": ["It is red.", "It is old."],
        "reference_contexts": ["It is red!", "Nothing of the kind, and nothing else either."],
        "retrieved_context_ids": ["a", "b"],
        "reference_context_ids": ["b", "c"],
    }
    empty = {
        **fields,
        "response": "",
        "reference": "",
        "reference_contexts": [],
        "reference_context_ids": [],
    }
    samples = [
        Sample(id="one", metadata={"a": 1}, **fields),
        Sample(**empty),
        Sample(user_input="What?", **fields),
    ]
    runner = runner_of(name)
    values = runner.score(metric(top_k=2), samples)
    assert values == CORE.score(metric(top_k=2), samples)
    assert values[1] is None
    assert None not in (values[0], values[2])
