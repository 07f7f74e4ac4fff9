"""Under trio: what works, and what says how to do it."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmetrics import (
    ContextRecall,
    LexicalJudge,
    LLMJudge,
    OpenAIModel,
    Sample,
    ScriptedJudge,
    aevaluate,
    evaluate,
)
from ctxmetrics.errors import CtxMetricsError
from support import FakeOpenAIServer, answer_from
from support.later import later

anyio = later("anyio")
trio = later("trio")

TEXT = "The pump is red."
SAMPLE = Sample(id="a", reference=TEXT, retrieved_contexts=[TEXT])
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {"supported": True, "evidence": [{"context": "c1", "quote": TEXT, "whole": True}]}
    },
    "useful": {"c1": {"useful": True}},
}


@pytest.fixture(autouse=True)
def needs_trio() -> None:
    pytest.importorskip("trio", reason="trio is not installed")


def scripted() -> ContextRecall:
    return ContextRecall(judge=ScriptedJudge({"joint": [REPLY]}))


def test_sync_calls_work_inside_it() -> None:
    async def main() -> list[Any]:
        run = evaluate([SAMPLE], [scripted()], progress=False)
        thread = await trio.to_thread.run_sync(scripted().score, SAMPLE)
        embedded = await ContextRecall(judge=LexicalJudge()).ascore(SAMPLE)
        return [scripted().score(SAMPLE), run[0]["context_recall"], thread, embedded]

    assert [score.value for score in trio.run(main)] == [1.0] * 4


def test_async_calls_with_a_model_say_what_to_write() -> None:
    score = trio.run(scripted().ascore, SAMPLE)
    assert score.value is None
    assert "Under trio: await trio.to_thread.run_sync(metric.score, sample)." in score.message

    async def main() -> Any:
        return await aevaluate([SAMPLE], [scripted()], progress=False)

    with pytest.raises(CtxMetricsError, match=r"Under trio: await trio\.to_thread"):
        trio.run(main)


def test_a_judge_behind_a_server_is_never_asked_in_vain() -> None:
    """By anyio, too: the sync forms ask the server, and the async ones say what to write before anything is paid."""
    honest = answer_from(supported=lambda *_: True, useful=lambda *_: True)
    with FakeOpenAIServer(honest) as server:
        metric = ContextRecall(judge=LLMJudge(OpenAIModel("m", base_url=server.base_url, api_key="k")))
        refused = anyio.run(metric.ascore, SAMPLE, backend="trio")
        assert (refused.value, server.count) == (None, 0)
        assert "Under trio: await trio.to_thread.run_sync(metric.score, sample)." in refused.message

        async def main() -> list[Any]:
            thread = await anyio.to_thread.run_sync(metric.score, SAMPLE)
            (row,) = evaluate([SAMPLE], [metric], progress=False)
            return [thread, row["context_recall"]]

        assert [score.value for score in anyio.run(main, backend="trio")] == [1.0, 1.0]
        assert server.count == 1
