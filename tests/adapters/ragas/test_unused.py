"""What Ragas' own metrics have is the same here, ours, or refused with a sentence that names the way."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import LexicalJudge
from ctxmetrics.adapting import UnusedError
from support.later import later
from support.offers import Offers, check_offers, list_offers, write_offers

if TYPE_CHECKING:
    from collections.abc import Callable

metrics_base = later("ragas.metrics.base")
ours = later("ctxmetrics_ragas")
ragas = later("ragas")


Row = dict[str, Any]
TABLE = Path(__file__).with_name("offers.tsv")

NAMES = [
    *("LLMContextRecall", "LLMContextPrecisionWithReference", "LLMContextPrecisionWithoutReference"),
    *("ContextRecall", "ContextPrecision", "ContextUtilization"),
    *("NonLLMContextRecall", "NonLLMContextPrecisionWithReference"),
    *("IDBasedContextRecall", "IDBasedContextPrecision"),
]
PROMPTS = (
    r" would do nothing here\. language= names another language, and a prompt pack other words: .*\.$"
)


def make(name: str, /, **params: Any) -> Any:
    kind = getattr(ours, name)
    if issubclass(kind, ours.JudgedMetric):
        params = {"judge": LexicalJudge(), **params}
    return kind(**params)


@pytest.mark.parametrize("name", NAMES)
def test_subclass_overriding_unused_method_is_refused(name: str) -> None:
    """It would be the parent's number that comes back."""
    with pytest.raises(
        UnusedError, match=r"Own: _ascore would do nothing here\. Override _single_turn"
    ):
        type("Own", (getattr(ours, name),), {"_ascore": lambda *_: 0.25})


@pytest.mark.parametrize("name", NAMES)
def test_overridden_single_turn_ascore_is_called(
    name: str, evaluate: Callable[..., Any], row: Row
) -> None:
    async def own(self: Any, sample: Any, callbacks: Any) -> float:
        return 0.25

    kind = type("Own", (getattr(ours, name),), {"_single_turn_ascore": own})
    metric = kind(judge=LexicalJudge()) if issubclass(kind, ours.JudgedMetric) else kind()
    assert evaluate([row], [metric])[metric.name] == [0.25]
    assert metric.single_turn_score(ragas.dataset_schema.SingleTurnSample(**row)) == 0.25


@pytest.mark.parametrize("judge", [LexicalJudge(), "framework"])
def test_prompts_are_refused_with_the_way_here(judge: Any) -> None:
    metric = ours.LLMContextRecall(judge=judge)
    with pytest.raises(UnusedError, match="context_recall_prompt" + PROMPTS):
        metric.context_recall_prompt.instruction = "Answer in Thai."
    with pytest.raises(UnusedError, match="context_recall_prompt" + PROMPTS):
        metric.context_recall_prompt = "Answer in Thai."
    with pytest.raises(UnusedError, match="context_recall_prompt" + PROMPTS):
        ours.LLMContextRecall(judge=judge, context_recall_prompt="Answer in Thai.")
    with pytest.raises(UnusedError, match="adapt_prompts" + PROMPTS):
        asyncio.run(metric.adapt_prompts("german", None))
    for method in ("get_prompts", "set_prompts", "save_prompts", "load_prompts", "train"):
        assert not hasattr(metric, method)


def test_max_retries_is_refused_with_the_way_here() -> None:
    for change in (
        lambda: setattr(ours.context_recall, "max_retries", 3),
        lambda: ours.LLMContextRecall(max_retries=3),
    ):
        with pytest.raises(UnusedError, match=r"max_retries .* evaluate\(run_config=RunConfig\("):
            change()


@pytest.mark.parametrize("name", NAMES)
def test_required_columns_are_those_of_ragas(name: str, row: Row) -> None:
    """Code looks each of these names up in its rows."""
    theirs = getattr(ragas.metrics, name)()
    columns = make(name)._required_columns[metrics_base.MetricType.SINGLE_TURN]
    assert columns == theirs._required_columns[metrics_base.MetricType.SINGLE_TURN]
    assert {column: row[column] for column in columns}.keys() == columns


def offers() -> Offers:
    metrics = {}
    for name in NAMES:
        theirs = getattr(ragas.metrics, name)
        metrics[name] = (theirs, theirs(), partial(make, name))
    return list_offers(metrics, "ragas", skip="__|_abc")


def test_every_attribute_of_ragas_is_here_or_refused() -> None:
    """`python tests/adapters/ragas/test_unused.py` writes the column of the version that is installed."""
    check_offers(TABLE, version("ragas"), offers())
    refused = {name for (name, _), outcome in offers().items() if outcome not in {"same", "ours"}}
    assert {"single_turn_ascore", "single_turn_score", "init", "name", "name="}.isdisjoint(refused)


def test_result_says_who_judged(evaluate: Callable[..., Any], row: Row) -> None:
    """`ContextRecall` promises no LLM, and that of ``evaluate(llm=..)`` is not asked: a warning, and the result, say so."""
    result = evaluate([row], [ours.ContextRecall()])
    assert result.traces[0]["context_recall"]["score"]["input"] == "lexical"
    assert [item.judge for item in ours.results(result).summary().provenances] == ["lexical"]


if __name__ == "__main__":
    write_offers(TABLE, version("ragas"), offers())
