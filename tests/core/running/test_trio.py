"""Under trio: what works, and what says how to do it."""

from __future__ import annotations

from typing import Any

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, Sample, ScriptedJudge, aevaluate, evaluate
from ctxmetrics.errors import CtxMetricsError

trio = pytest.importorskip("trio", reason="trio is not installed")

TEXT = "The pump is red."
SAMPLE = Sample(id="a", reference=TEXT, retrieved_contexts=[TEXT])
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {"supported": True, "evidence": [{"context": "c1", "quote": TEXT, "whole": True}]}
    },
    "useful": {"c1": {"useful": True}},
}


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
