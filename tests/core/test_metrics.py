"""What all metrics have in common: their registration, their types, and where they run."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from ctxmetrics import (
    ContextRecall,
    IDBasedContextPrecision,
    IDMetric,
    Judgement,
    LexicalJudge,
    NonLLMContextPrecision,
    NonLLMContextRecall,
    Sample,
    SpanBasedContextPrecision,
)
from ctxmetrics.errors import CannotDecomposeError, ParameterError
from ctxmetrics.metrics.base import Metric
from ctxmetrics.metrics.catalog import ALL_METRICS, METRICS
from support.cases import each_case
from support.deadlines import LONGEST_PROCESS

SAMPLE = Sample(reference="The tower is 330 m high.", retrieved_contexts=["The tower is 330 m high."])


def test_default_metrics_come_first_each_recall_before_precision() -> None:
    assert list(METRICS) == [
        "context_recall",
        "context_precision",
        "context_utilization",
        "non_llm_context_recall",
        "non_llm_context_precision",
        "id_based_context_recall",
        "id_based_context_precision",
    ]
    assert list(ALL_METRICS)[: len(METRICS)] == list(METRICS)


def test_a_metric_that_is_not_registered_is_not_known_by_name() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Own(IDMetric):
        base_name = "own"
        formula_name = "share"

    assert Own().name == "own"
    assert "own" not in ALL_METRICS


@each_case("metric", ALL_METRICS.values())
@each_case("convention", ["default", "deepeval", "trec"])
def test_no_class_variable_is_written_on_an_object(metric: type[Metric], convention: str) -> None:
    hints: dict[str, object] = {}
    for kind in reversed(metric.__mro__):
        hints.update(inspect.get_annotations(kind))
    assert "ClassVar" in str(hints["base_name"])
    own = vars(metric(convention=convention))
    assert {"name", "convention_data", "pass_mark"} <= own.keys()
    assert [name for name in own if "ClassVar" in str(hints[name])] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        (ContextRecall, {"strict": "false"}),
        (ContextRecall, {"strict": 1}),
        (NonLLMContextRecall, {"explain": "no"}),
    ],
)
def test_a_switch_is_true_or_false(metric: Any, parameters: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"must be True or False"):
        metric(**parameters)


def test_a_switch_of_numpy_is_one_of_python() -> None:
    assert ContextRecall(strict=np.bool_(True)) == ContextRecall(strict=True)


def test_equal_metrics_have_one_name() -> None:
    assert NonLLMContextRecall(min_similarity=1) == NonLLMContextRecall(min_similarity=1.0)
    assert NonLLMContextRecall(min_similarity=1).name == "non_llm_context_recall(min_similarity=1.0)"


def test_a_name_holds_no_address_in_memory() -> None:
    metric = NonLLMContextRecall(similarity=partial(max, 0.5))
    assert metric.name == "non_llm_context_recall(similarity=partial)"


@pytest.mark.parametrize(
    "metric",
    [
        NonLLMContextPrecision(convention="ragas", strict=True),
        IDBasedContextPrecision(convention="ragas", strict=True, formula="average_precision"),
        SpanBasedContextPrecision(convention="ragas", strict=True, formula="ap"),
    ],
    ids=lambda metric: metric.base_name,
)
def test_a_perfect_ranking_of_ragas_is_perfect_if_strict(metric: Metric) -> None:
    sample = Sample(
        retrieved_contexts=["Paris is large."],
        reference_contexts=["Paris is large."],
        retrieved_context_ids=["a#char=0,15"],
        reference_context_ids=["a#char=0,15"],
    )
    score = metric.score(sample)
    assert (score.value, score.passed) == (1.0, True)


@pytest.mark.parametrize("language", ["", "english", "DE", "de_CH", " de"])
def test_a_language_is_a_code(language: str) -> None:
    with pytest.raises(ParameterError, match="must be an ISO 639 code"):
        ContextRecall(language=language)


def test_the_embedded_judge_needs_no_thread_in_score() -> None:
    code = (
        "import threading\n"
        "from ctxmetrics import ContextRecall, ContextPrecision, LexicalJudge, Sample\n"
        "text = 'The tower is 330 m high. ' * 4_000\n"
        "sample = Sample(reference='The tower is 330 m high.', retrieved_contexts=[text])\n"
        "for metric in (ContextRecall(), ContextPrecision(judge=LexicalJudge())):\n"
        "    assert metric.score(sample).value == 1.0\n"
        "assert threading.active_count() == 1, threading.enumerate()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LONGEST_PROCESS)


def test_a_judge_that_says_it_does_not_wait_is_awaited() -> None:
    import asyncio

    class Waiting(LexicalJudge):
        waits: ClassVar[bool] = False

        async def attribute(self, request: typing.Any) -> Judgement:
            await asyncio.sleep(0)
            return await super().attribute(request)

    assert ContextRecall(judge=Waiting()).score(SAMPLE).value == 1.0


def test_claims_of_the_default_judge_are_refused() -> None:
    with pytest.raises(CannotDecomposeError, match="lexical cannot break a text into claims"):
        ContextRecall(unit="claim").score(SAMPLE)
