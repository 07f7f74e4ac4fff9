"""What servers count: figures that are none lose no sample and add up to no nonsense, on every path."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import pytest

from ctxmetrics import ContextRecall, LLMJudge, Sample, evaluate
from support import FakeOpenAIServer, Reply, answer_from

sys.path.insert(0, str(Path(__file__).parent))
from test_hostile import ADAPTERS, each_adapter

HONEST = answer_from()
SAMPLES = [
    Sample(reference=f"Door {number} is green.", retrieved_contexts=[f"Door {number} is green."])
    for number in range(2)
]
COUNTS = {
    "nan": math.nan, "text": "many", "null": None, "negative": -5, "bool": True, "huge": 10**400, "part": 1.5, "list": [1],
}  # fmt: skip
CLIENT_FAILS = {
    # pydantic_ai/models/openai.py: _validate_completion refuses the whole completion
    "pydantic_ai": {"nan", "text", "null", "part", "list"},
}
"""Where a framework's own client raises over the counts and the reply is lost before this library sees it."""


@pytest.mark.slow
@pytest.mark.parametrize("adapter", each_adapter("openai", "deepeval_openai", "langchain"))
@pytest.mark.parametrize("kind", COUNTS)
def test_counts_that_are_none_cost_no_score(adapter, kind):
    count = COUNTS[kind]
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count, "cost": count}
    with FakeOpenAIServer(lambda request: Reply(content=HONEST(request), usage=usage)) as server:
        judge = LLMJudge(ADAPTERS[adapter](server.base_url))
        results = evaluate(SAMPLES, [ContextRecall()], judge=judge, progress=False)
    scores = [row["context_recall"] for row in results]
    json.dumps([score.to_dict() for score in scores], allow_nan=False)
    assert 0 <= results.usage.total_tokens < 10_000
    assert results.usage.cost is None or 0 <= results.usage.cost < 10
    if kind in CLIENT_FAILS.get(adapter, ()):
        assert {score.value for score in scores} == {None}
        assert {verdict.code for score in scores for verdict in score.verdicts} == {"judge_error"}
    else:
        assert [score.value for score in scores] == [1.0, 1.0]
        assert results.usage.calls == 2
