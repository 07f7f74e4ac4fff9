"""Batches of dicts: what is wrong with one is in its own score."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest

from ctxmetrics import ScriptedJudge
from ctxmetrics.errors import CtxMetricsError, MissingFieldError, SampleError
from ctxmetrics.models.runtime.run import current_run
from support.later import later

ours = later("ctxmetrics_ragas")
ragas = later("ragas")


def _scores(inputs: list[Any], metric: Any = None, **options: Any) -> list[Any]:
    results = asyncio.run((metric or ours.IDBasedContextRecall()).abatch_score(inputs, **options))
    return [result.details for result in results]


GOOD = {"retrieved_context_ids": [1], "reference_context_ids": [1, 2]}


def test_order_and_isolation() -> None:
    inputs = [
        GOOD,
        {"unheard_of": 1},
        {"retrieved_context_ids": [1]},
        {**GOOD, "id": "x", "metadata": {"a": 1}},
        5,
    ]
    scores = _scores(inputs)
    assert [score.value for score in scores] == [0.5, None, None, 0.5, None]
    codes = [score.reason_code for score in scores]
    assert codes == [None, "metric_error", "missing_field", None, "metric_error"]
    assert scores[1].message.startswith("UnknownFieldError: Sample 2: unknown field 'unheard_of'")
    assert scores[3].sample_id == "x"
    assert "Sample 5 must be a mapping" in scores[4].message
    assert {score.metric for score in scores} == {"id_based_context_recall"}


def test_nothing_in_nothing_out() -> None:
    assert _scores([]) == []


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ([{"x": 1}, {"y": 1}], SampleError, "Sample 1: unknown field 'x'"),
        (
            [{"retrieved_context_ids": [1]}] * 2,
            MissingFieldError,
            "No sample has reference_context_ids",
        ),
    ],
)
def test_wrong_as_a_whole_raises(inputs: list[Any], error: type[CtxMetricsError], words: str) -> None:
    with pytest.raises(error, match=words):
        _scores(inputs)


def test_request_has_the_time_of_run_config_by_default() -> None:
    times: list[float] = []

    def note(prompt: Any) -> str:
        times.append(current_run().timeout)
        return '{"code": "$code", "sentences": {"s1": {"supported": false}}, "useful": {}}'

    rows = [{"reference": "It is red.", "retrieved_contexts": ["It is blue."]}]
    metric = ours.ContextRecall(judge=ScriptedJudge(note, joint=False, reuse=False))

    async def run() -> None:
        await metric.abatch_score(rows)
        metric.init(ragas.run_config.RunConfig(timeout=600))
        await metric.abatch_score(rows)
        await metric.abatch_score(rows, timeout=30)

    contextvars.Context().run(asyncio.run, run())  # without the run of a test before
    assert times == [120, 600, 30]


def test_options_are_those_of_evaluate() -> None:
    with pytest.raises(CtxMetricsError, match="max_concurrency=0"):
        _scores([GOOD], max_concurrency=0)
    rows = [{"reference": "It is red.", "retrieved_contexts": ["It is red."]}] * 3
    assert [score.value for score in _scores(rows, ours.ContextRecall(), max_concurrency=2)] == [
        1.0
    ] * 3
