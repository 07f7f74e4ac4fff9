"""That a judge was down is a fact about one run: the next one asks it and scores."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.judges.llm.judge import _memo, forget
from ctxmetrics.models.runtime import run
from support import FakeOpenAIServer, Fault, answer_from
from support.runners import runner_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOW_THEIR_RUNS = [
    "core",
    "ragas.evaluate",
    "ragas.collections",
    "langsmith.evaluate",
    "mlflow.evaluate",
]
"""Where two runs of one metric object can be told apart."""
OTHERS = [
    "deepeval.evaluate", "deepeval.assert_test", "langchain.lcel", "langchain.StringEvaluator", "pydantic_evals.evaluate",
]  # fmt: skip
"""As in `test_runners`: by name, so that no framework is imported before its test runs."""
WORD = "Yesterday"
"""In the questions of the runs that fail."""


def each(names: list[str], *quick: str) -> pytest.MarkDecorator:
    """One test a runner; those that are not quick are marked slow."""
    values = [name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in names]
    return pytest.mark.parametrize("name", values)


def serving(kind: str) -> FakeOpenAIServer:
    return FakeOpenAIServer(answer_from(), faults=[Fault(kind, contains=WORD)])


def metric(server: FakeOpenAIServer) -> ContextRecall:
    """A new judge each time; its model has the same identity."""
    return ContextRecall(judge=LLMJudge(OpenAIModel("judge", base_url=server.base_url)))


def samples(word: str, count: int = 14) -> list[Sample]:
    """Of each sample's two sentences the contexts state one."""
    return [
        Sample(
            user_input=f"{word}: when was tower {number} built?",
            reference=f"Tower {number} was built in 1889. It is painted brown.",
            retrieved_contexts=[f"Tower {number} was built in 1889.", "Cheese is made from milk."],
        )
        for number in range(count)
    ]


def score(name: str, metric: ContextRecall, word: str) -> list[float | None]:
    return list(runner_of(name).score(metric, samples(word)))


@pytest.mark.slow
@each(SHOW_THEIR_RUNS + OTHERS, "core", "langsmith.evaluate")
def test_the_next_run_with_a_new_judge_asks_and_scores(name: str) -> None:
    with serving("500") as server:
        assert score(name, metric(server), WORD) == [None] * 14
        before = server.count
        assert score(name, metric(server), "Today") == [0.5] * 14
        assert server.count == before + 14


@pytest.mark.slow
@each(SHOW_THEIR_RUNS, "core")
def test_the_next_run_with_the_same_metric_asks_and_scores(name: str) -> None:
    with serving("500") as server:
        same = metric(server)
        assert score(name, same, WORD) == [None] * 14
        assert score(name, same, "Today") == [0.5] * 14


@each(SHOW_THEIR_RUNS[:-1] + OTHERS, "core", "langchain.lcel")
def test_replies_without_content_never_outlast_a_run(name: str) -> None:
    with serving("refusal_text") as server:
        same = metric(server)
        assert score(name, same, WORD) == [None] * 14
        assert score(name, same, "Today") == [0.5] * 14


@pytest.mark.slow
@each(OTHERS, "langchain.lcel")
def test_where_no_run_shows_all_are_scored_after_the_cool_down(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that are scored while the first one tries whether the judge answers."""
    monkeypatch.setattr(run, "COOL_DOWN", 0.0)
    with serving("500") as server:
        same = metric(server)
        assert score(name, same, WORD) == [None] * 14
        assert score(name, same, "Today") == [0.5] * 14


def scored(metric: ContextRecall, word: str) -> Iterator[tuple[float | None, str | None]]:
    for sample in samples(word):
        found = metric.score(sample)
        yield found.value, found.verdicts[0].code


@pytest.mark.slow
def test_sync_scores_one_after_the_other() -> None:
    """Outside of runs a judge that is down is not asked for each sample; another metric object asks it."""
    with serving("500") as server:
        first = metric(server)
        codes = [code for _, code in scored(first, WORD)]
        assert codes[0] == "server_error"
        assert codes[-1] == "judge_down"
        for other in (replace(first), ContextPrecision(judge=first.judge), metric(server)):
            _memo.clear()
            assert other.score(samples("Today")[0]).value is not None


@pytest.mark.slow
def test_forget_forgets_that_a_judge_is_down() -> None:
    with serving("500") as server:
        down = metric(server)
        assert list(scored(down, WORD))[-1] == (None, "judge_down")
        forget()
        assert [value for value, _ in scored(down, "Today")] == [0.5] * 14


def test_replies_without_content_are_asked_for_outside_of_runs() -> None:
    with serving("refusal_text") as server:
        assert {code for _, code in scored(metric(server), WORD)} == {"invalid_reply"}


def test_replies_without_content_end_a_run() -> None:
    with serving("refusal_text") as server:
        results = evaluate(samples(WORD, 200), [metric(server)], max_concurrency=1, progress=False)
        assert "not asked any more" in results.stopped
        assert server.count < 200
        assert evaluate(samples("Today"), [metric(server)], progress=False).stopped is None


@pytest.mark.slow
def test_what_follows_a_run_of_ragas_in_the_same_task() -> None:
    ragas = pytest.importorskip("ragas")
    ours = pytest.importorskip("ctxmetrics_ragas")
    fields = ("user_input", "reference", "retrieved_contexts")
    rows = [{name: getattr(sample, name) for name in fields} for sample in samples(WORD, 30)]

    async def main(server: FakeOpenAIServer) -> tuple[list[float], float, float]:
        recall = ours.ContextRecall(judge=metric(server).judge)
        result = await ragas.aevaluate(
            ragas.EvaluationDataset.from_list(rows), [recall], show_progress=False
        )
        fresh = {name: getattr(samples("Today")[0], name) for name in fields}
        by_fields = (await recall.ascore(**fresh)).value
        fresh["user_input"] += " "
        return (
            result["context_recall"],
            by_fields,
            await recall.single_turn_ascore(ragas.SingleTurnSample(**fresh)),
        )

    with serving("500") as server:
        values, by_fields, by_sample = asyncio.run(main(server))
    assert all(value != value for value in values)  # noqa: PLR0124 - NaN
    assert (by_fields, by_sample) == (0.5, 0.5)
