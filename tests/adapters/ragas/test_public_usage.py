"""How public code uses Ragas' metrics, re-typed with other data: only the import differs."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("ragas", reason="the ragas extra is not installed")

from ragas import EvaluationDataset, RunConfig, SingleTurnSample
from ragas.metrics.base import MetricType

import ctxmetrics_ragas
from ctxmetrics.adapting import UnusedError
from ctxmetrics_ragas import ContextRecall, LLMContextRecall, context_precision, context_recall

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]


def test_scorer_made_for_one_sample(server: Any, llms: Any, row: Row) -> None:
    """langwatch/langevals: a scorer for each request, sync."""
    scorer = LLMContextRecall(llm=llms.langchain_wrapper(server))
    assert scorer.single_turn_score(SingleTurnSample(**row)) == 0.5


def test_lower_case_instances_get_their_llm(
    evaluate: Callable[..., Any], server: Any, llms: Any, row: Row
) -> None:
    """Many scripts: ``context_recall.llm = llm`` before ``evaluate(.., run_config=RunConfig(..))``."""
    context_recall.llm = context_precision.llm = llms.langchain_wrapper(server)
    try:
        config = RunConfig(timeout=180, max_retries=3, max_wait=90, max_workers=2)
        result = evaluate([row], [context_recall, context_precision], run_config=config)
    finally:
        context_recall.core = ctxmetrics_ragas.ContextRecall().core
        context_precision.core = ctxmetrics_ragas.ContextPrecision().core
    assert result.to_pandas()[["context_recall", "context_precision"]].iloc[0].tolist() == [0.5, 1.0]


def test_names_of_the_parameters_are_tried(server: Any, llms: Any, row: Row) -> None:
    """athina-ai/athina-evals and others: a class by its keyword, else the instance."""
    try:
        metric = ContextRecall(llm=llms.instructor_async(server))
    except TypeError:
        metric = context_recall
    assert metric.score(**row).value == 0.5


def test_columns_are_read_off_the_metric(server: Any, llms: Any, row: Row) -> None:
    metric = LLMContextRecall(llm=llms.langchain(server))
    columns = metric._required_columns[MetricType.SINGLE_TURN]
    sample = SingleTurnSample(**{column: row[column] for column in columns})
    assert asyncio.run(metric.single_turn_ascore(sample)) == 0.5


def test_samples_are_scored_in_threads_and_gathered(server: Any, llms: Any, row: Row) -> None:
    metric = LLMContextRecall(llm=llms.instructor_async(server))
    samples = [SingleTurnSample(**row)] * 4
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(metric.single_turn_score, samples)) == [0.5] * 4

    async def gather() -> list[float]:
        return await asyncio.gather(*map(metric.single_turn_ascore, samples))

    assert asyncio.run(gather()) == [0.5] * 4


def test_what_cannot_work_says_what_to_write(server: Any, llms: Any) -> None:
    """Prompts in Russian, Thai and Arabic; adapted prompts; more retries; a formula in ``_compute_score``."""
    metric = LLMContextRecall(llm=llms.langchain(server))
    changes: list[Callable[[], Any]] = [
        lambda: setattr(metric.context_recall_prompt, "instruction", ".."),
        lambda: metric.adapt_prompts("german", None),
        lambda: setattr(metric, "max_retries", 5),
        lambda: setattr(metric, "_compute_score", len),
        lambda: metric.set_prompts(recall="x"),
        lambda: metric.save_prompts("folder"),
    ]
    for change in changes:
        with pytest.raises(UnusedError, match=r"would do nothing here\. .*\.$"):
            change()


def test_rows_of_the_result_are_exported(evaluate: Callable[..., Any], row: Row) -> None:
    result = evaluate([row, row], [ContextRecall()])
    frame = result.to_pandas()
    assert frame["context_recall"].mean() == 0.5
    assert len(EvaluationDataset.from_pandas(frame.drop(columns="context_recall"))) == 2
    assert [item["context_recall"].value for item in ctxmetrics_ragas.results(result)] == [0.5, 0.5]
