"""Golden cases through every installed framework's own runner: the expected score, and the core's under ``==``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import Sample
from ctxmetrics.evaluation.frameworks.parity import find_installed_runners
from ctxmetrics.metrics.catalog import ALL_METRICS
from ctxmetrics.testing import golden
from ctxmetrics.testing.golden import Case, differences, load_cases
from support.runners import runner_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxmetrics import Score
    from ctxmetrics.errors import CtxMetricsError

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
CASES = load_cases(GOLDEN)
ID_FIELDS = ("retrieved_context_ids", "reference_context_ids")
SCORED = [case for case in CASES if case.error is None]
RUNNERS = [
    "core",
    "ragas.evaluate",
    "ragas.collections",
    "deepeval.evaluate",
    pytest.param("deepeval.assert_test", marks=pytest.mark.slow),
    "langsmith.evaluate",
    "langchain.lcel",
    pytest.param("langchain.StringEvaluator", marks=pytest.mark.slow),
    pytest.param("mlflow.evaluate", marks=pytest.mark.slow),
    "pydantic_evals.evaluate",
    pytest.param("inspect_ai.eval", marks=pytest.mark.slow),
]
"""By name, so that no framework is imported before its turn, and none can go missing unnoticed."""
FEWEST = 40
"""Cases each metric has for each runner, at least."""
MOST = {"mlflow.evaluate": 40, "inspect_ai.eval": 60}
"""Cases each metric has, at most, for runners that take long for a row: evenly spread over the table. The others run all cases."""


@pytest.fixture(scope="module", autouse=True)
def core_scores_each_case_once() -> Iterator[None]:
    """Each runner is compared with the core: what it says of a case is kept from one runner to the next."""
    outcomes: dict[str, Score | CtxMetricsError] = {}
    run = golden.run

    def remember(case: Case) -> Score | CtxMetricsError:
        if case.id not in outcomes:
            outcomes[case.id] = run(case)
        return outcomes[case.id]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(golden, "run", remember)
        yield


def names() -> list[str]:
    return [item if isinstance(item, str) else item.values[0] for item in RUNNERS]


@pytest.mark.slow
def test_no_runner_is_left_out() -> None:
    """It imports all frameworks."""
    runners, absent = find_installed_runners()
    found = {runner.name for runner in runners}
    assert found <= set(names())
    assert absent or found == set(names())


@pytest.mark.parametrize("metric", dict.fromkeys(case.metric for case in CASES))
@pytest.mark.parametrize("name", RUNNERS)
def test_golden_cases(name: str, metric: str, record_property: Callable[[str, object], None]) -> None:
    runner = runner_of(name)
    cases = [case for case in SCORED if case.metric == metric and not case.is_refused_by(name)]
    most = min(MOST.get(name, len(cases)), len(cases))
    cases = [cases[number * len(cases) // most] for number in range(most)]
    record_property("cases", len(cases))
    assert len(cases) >= FEWEST
    assert differences(runner, cases) == []


@pytest.mark.parametrize("name", RUNNERS)
def test_metrics_on_request_have_the_same_value_everywhere(name: str) -> None:
    runner = runner_of(name)
    sample = Sample(
        user_input="q",
        response="r",
        retrieved_context_ids=["x", "a", "b"],
        reference_context_ids=["a", "b", "c"],
    )
    for base_name in ALL_METRICS.keys() - {case.metric for case in CASES}:
        metric = ALL_METRICS[base_name]()
        assert runner.score(metric, [sample]) == [metric.score(sample).value]


def test_every_case_that_has_a_score_runs_everywhere() -> None:
    """Frameworks' own types refuse malformed samples, null ids, and references, stages and searches without a place."""
    refused = [case for case in SCORED if case.refused_by]
    assert {refuser for case in refused for refuser in case.refused_by} == {"ragas.evaluate"}
    for case in refused:
        has_null = any(None in (case.sample.get(name) or ()) for name in ID_FIELDS)
        assert has_null or {"references", "stages", "searches"} & {*case.tags}
    assert [case.id for case in CASES if case.refused_by] != []
