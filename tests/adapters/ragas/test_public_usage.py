"""How public code uses Ragas' metrics, re-typed with other data: only the import differs."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics.adapting import UnusedError
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable

metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


Row = dict[str, Any]


def test_scorer_made_for_one_sample(server: Any, llms: Any, row: Row) -> None:
    """langwatch/langevals: a scorer for each request, sync."""
    scorer = ours.LLMContextRecall(llm=llms.langchain_wrapper(server))
    assert scorer.single_turn_score(ragas.SingleTurnSample(**row)) == 0.5


def test_lower_case_instances_get_their_llm(
    evaluate: Callable[..., Any], server: Any, llms: Any, row: Row
) -> None:
    """Many scripts: ``context_recall.llm = llm`` before ``evaluate(.., run_config=RunConfig(..))``."""
    ours.context_recall.llm = ours.context_precision.llm = llms.langchain_wrapper(server)
    try:
        config = ragas.RunConfig(timeout=180, max_retries=3, max_wait=90, max_workers=2)
        result = evaluate([row], [ours.context_recall, ours.context_precision], run_config=config)
    finally:
        ours.context_recall.core = ours.ContextRecall().core
        ours.context_precision.core = ours.ContextPrecision().core
    assert result.to_pandas()[["context_recall", "context_precision"]].iloc[0].tolist() == [0.5, 1.0]


def test_names_of_the_parameters_are_tried(server: Any, llms: Any, row: Row) -> None:
    """athina-ai/athina-evals and others: a class by its keyword, else the instance."""
    try:
        metric = ours.ContextRecall(llm=llms.instructor_async(server))
    except TypeError:
        metric = ours.context_recall
    assert metric.score(**row).value == 0.5


def test_columns_are_read_off_the_metric(server: Any, llms: Any, row: Row) -> None:
    metric = ours.LLMContextRecall(llm=llms.langchain(server))
    columns = metric._required_columns[metrics_base.MetricType.SINGLE_TURN]
    sample = ragas.SingleTurnSample(**{column: row[column] for column in columns})
    assert asyncio.run(metric.single_turn_ascore(sample)) == 0.5


def test_samples_are_scored_in_threads_and_gathered(server: Any, llms: Any, row: Row) -> None:
    metric = ours.LLMContextRecall(llm=llms.instructor_async(server))
    samples = [ragas.SingleTurnSample(**row)] * 4
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(metric.single_turn_score, samples)) == [0.5] * 4

    async def gather() -> list[float]:
        return await asyncio.gather(*map(metric.single_turn_ascore, samples))

    assert asyncio.run(gather()) == [0.5] * 4


def test_what_cannot_work_says_what_to_write(server: Any, llms: Any) -> None:
    """Prompts in Russian, Thai and Arabic; adapted prompts; more retries; a formula in ``_compute_score``."""
    metric = ours.LLMContextRecall(llm=llms.langchain(server))
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
    result = evaluate([row, row], [ours.ContextRecall()])
    frame = result.to_pandas()
    assert frame["context_recall"].mean() == 0.5
    assert len(ragas.EvaluationDataset.from_pandas(frame.drop(columns="context_recall"))) == 2
    assert [item["context_recall"].value for item in ours.results(result)] == [0.5, 0.5]
