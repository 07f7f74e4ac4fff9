"""DeepEval's own names: what its metrics have is the same here, or refused with a sentence that names the way."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics import LexicalJudge
from ctxmetrics.adapting import UnusedError
from ctxmetrics.testing import differences, load_cases
from support.later import later
from support.offers import Offers, check_offers, list_offers, write_offers
from support.runners import runner_of

deepeval = later("deepeval")
ours = later("ctxmetrics_deepeval")


TABLE = Path(__file__).with_name("offers.tsv")
NAMES = {
    "ContextualRecallMetric": "Contextual Recall",
    "ContextualPrecisionMetric": "Contextual Precision",
}


def make_silent_llm() -> Any:
    class Silent(deepeval.models.DeepEvalBaseLLM):
        """A model that is never asked."""

        def load_model(self) -> Any:
            return self

        def generate(self, *_: Any, **__: Any) -> str:
            raise AssertionError

        a_generate = generate

        def get_model_name(self) -> str:
            return "silent"

    return Silent()


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def metric(name: str) -> Any:
    return getattr(ours, name)(judge=LexicalJudge())


def test_results_are_collected_by_deepevals_name(
    name: str, metric: Any, run: Any, make_case: Any
) -> None:
    theirs = getattr(deepeval.metrics, name)(model=make_silent_llm())
    (result,) = run([make_case()], [metric])
    scores = [data.score for data in result.metrics_data if data.name == theirs.__name__]
    assert metric.__name__ == theirs.__name__ == NAMES[name]
    assert scores == [{"ContextualRecallMetric": 0.5, "ContextualPrecisionMetric": 1.0}[name]]


def test_parameters_that_change_the_number_stand_in_the_name(name: str) -> None:
    assert getattr(ours, name)(judge=LexicalJudge(), top_k=1).__name__ == f"{NAMES[name]}(top_k=1)"


def test_verdicts_are_yes_or_no_with_a_reason(name: str, metric: Any, make_case: Any) -> None:
    assert metric.verdicts is None
    metric.measure(make_case())
    assert [verdict.verdict for verdict in metric.verdicts] == ["yes", "no"]
    assert all(verdict.reason for verdict in metric.verdicts)
    assert metric.score_breakdown["metric"] == metric.core.name


def test_default_judge_is_deepevals_where_it_has_one(
    name: str, monkeypatch: Any, make_case: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key-5")
    assert getattr(ours, name)().core.judge.model.llm.get_model_name() == (
        getattr(deepeval.metrics, name)().evaluation_model
    )
    monkeypatch.delenv("OPENAI_API_KEY")
    metric = getattr(ours, name)()
    assert metric.core.judge is None
    with pytest.warns(match="embedded judge answers"):
        metric.measure(make_case())


@pytest.mark.parametrize(
    "method", ["_generate_verdicts", "_a_generate_verdicts", "_calculate_score", "_generate_reason"]
)
def test_overridden_private_methods_are_refused(name: str, method: str) -> None:
    with pytest.raises(UnusedError, match=rf"Strict: {method} would do nothing here\. \w.*\.$"):
        type("Strict", (getattr(ours, name),), {method: lambda *_: None})


def test_a_template_is_refused_with_the_way_here(name: str, metric: Any) -> None:
    words = r"evaluation_template would do nothing here\. language= names another language"
    with pytest.raises(UnusedError, match=words):
        getattr(ours, name)(evaluation_template=object)
    with pytest.raises(UnusedError, match=words):
        metric.evaluation_template = object
    with pytest.raises(UnusedError, match=words):
        type("Worded", (getattr(ours, name),), {"evaluation_template": object})


def test_model_set_afterwards_judges(metric: Any) -> None:
    assert metric.model is None
    metric.model = llm = make_silent_llm()
    assert metric.model is llm
    assert metric.core.judge.model.llm is llm
    assert "silent" in metric.evaluation_model


def test_strict_mode_set_afterwards_counts(name: str, metric: Any, make_case: Any) -> None:
    case = make_case(
        retrieval_context=["Bananas are yellow.", "The Eiffel Tower stands in Paris, France."]
    )
    assert metric.measure(case) == 0.5
    metric.strict_mode = True
    assert (metric.measure(case), metric.strict_mode) == (0.0, True)
    assert asyncio.run(metric.a_measure(case)) == 0.0


def test_an_overridden_measure_is_called(name: str, run: Any, make_case: Any) -> None:
    class Halved(getattr(ours, name)):  # type: ignore[misc]  # a class that the test's parameter names
        def measure(self, test_case: Any, *args: Any, **options: Any) -> Any:
            super().measure(test_case, *args, **options)
            self.score /= 2
            return self.score

        async def a_measure(self, test_case: Any, *args: Any, **options: Any) -> Any:
            await super().a_measure(test_case, *args, **options)
            self.score /= 2
            return self.score

    (result,) = run([make_case()], [Halved(judge=LexicalJudge())])
    assert (
        result.metrics_data[0].score
        == {"ContextualRecallMetric": 0.25, "ContextualPrecisionMetric": 0.5}[name]
    )


def test_assert_test_names_it(metric: Any, make_case: Any) -> None:
    metric.threshold = 1.1
    with pytest.raises(AssertionError, match=metric.__name__):
        deepeval.assert_test(make_case(), [metric], run_async=False)


def offers() -> Offers:
    metrics = {}
    for name in NAMES:
        theirs = getattr(deepeval.metrics, name)
        make = partial(getattr(ours, name), judge=LexicalJudge())
        metrics[name] = (theirs, theirs(model=make_silent_llm()), make)
    return list_offers(metrics, "deepeval", skip="__")


def test_every_attribute_of_deepevals_is_here_or_refused() -> None:
    """`python tests/adapters/deepeval/test_own_names.py` writes the column of the version that is installed."""
    check_offers(TABLE, version("deepeval"), offers())
    refused = {name for (name, _), outcome in offers().items() if outcome not in {"same", "ours"}}
    assert {"measure", "a_measure", "score", "threshold=", "model="}.isdisjoint(refused)


@pytest.mark.slow
@pytest.mark.parametrize("runner", ["deepeval.evaluate", "deepeval.assert_test"])
def test_golden_cases_under_deepevals_names(runner: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("ctxmetrics_deepeval.ContextRecallMetric", ours.ContextualRecallMetric)
    monkeypatch.setattr("ctxmetrics_deepeval.ContextPrecisionMetric", ours.ContextualPrecisionMetric)
    cases = [case for case in load_cases() if case.metric in ("context_recall", "context_precision")]
    assert cases
    assert differences(runner_of(runner), cases) == []


def test_model_may_stand_second_without_its_name(name: str) -> None:
    silent = make_silent_llm()
    metric = getattr(ours, name)(0.7, silent)
    assert (metric.threshold, metric.model) == (0.7, silent)


if __name__ == "__main__":
    write_offers(TABLE, version("deepeval"), offers())
