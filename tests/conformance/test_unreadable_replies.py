"""Replies that a client cannot read cost their samples only, on every path."""

from __future__ import annotations

import asyncio
import itertools
import json
import math

import pytest

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.models.base import Reply
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.runtime import run
from support import FakeOpenAIServer, answer_from
from support._http import HttpResponse
from support.later import later, skip_without

skip_without("openai")

openai = later("openai")

COUNT, UNREADABLE = 60, 16
SAMPLES = [
    Sample(
        id=f"n{number}",
        user_input=f"What is number {number}?",
        reference=f"Number {number} is red.",
        retrieved_contexts=[f"Number {number} is red."],
    )
    for number in range(COUNT)
]
# Bodies of status 200 that are JSON and no chat completion that a client can read.
BODIES = {
    "message is null": {"object": "chat.completion", "choices": [{"index": 0, "message": None}]},
    "choice is a number": {"object": "chat.completion", "choices": [5]},
    "choices is an object": {"object": "chat.completion", "choices": {"a": 1}},
}


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    capabilities._known.clear()
    monkeypatch.setattr(run, "_process_run", run.Run())


def unreadable_at_first(body):
    """Build a server whose first replies have this body."""
    numbers, answer = itertools.count(), answer_from()

    def respond(asked):
        if next(numbers) < UNREADABLE:
            return HttpResponse(status=200, body=json.dumps(body).encode())
        return answer(asked)

    return FakeOpenAIServer(respond)


@pytest.fixture
def server():
    with unreadable_at_first(BODIES["message is null"]) as running:
        yield running


def judged(values):
    return sum(value is not None for value in values)


def rows(samples=SAMPLES):
    return [
        {name: value for name, value in sample.to_dict().items() if value and name != "id"}
        for sample in samples
    ]


def evaluated(model):
    return [
        row["context_recall"].value
        for row in evaluate(SAMPLES, [ContextRecall()], judge=LLMJudge(model), progress=False)
    ]


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_core(body):
    with unreadable_at_first(body) as server:
        values = evaluated(OpenAIModel("judge", base_url=server.base_url))
    assert judged(values) >= COUNT - UNREADABLE


class OwnModel:
    """A model that a user writes, over a blocking client."""

    def __init__(self, base_url):
        self.identity, self.client = f"own/{base_url}", openai.OpenAI(base_url=base_url, api_key="x")

    async def generate(self, prompt, schema):
        raw = self.client.chat.completions.with_raw_response.create(
            model="judge", messages=[{"role": "user", "content": prompt.text}]
        )
        return Reply(content=json.loads(raw.text)["choices"][0]["message"]["content"])


@pytest.mark.slow
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_model_of_ones_own(body):
    with unreadable_at_first(body) as server:
        assert judged(evaluated(OwnModel(server.base_url))) == COUNT - UNREADABLE


def test_model_with_only_unreadable_replies_ends_the_run():
    class Unread:
        identity, calls = "own/unread", 0

        async def generate(self, prompt, schema):
            self.calls += 1
            await asyncio.sleep(0.001)
            raise KeyError("choices")

    model = Unread()
    assert judged(evaluated(model)) == 0
    assert 30 <= model.calls <= 30 + 16  # and what was on its way by then


@pytest.mark.slow
def test_ragas(server):
    pytest.importorskip("ragas")
    from openai import AsyncOpenAI
    from ragas import EvaluationDataset
    from ragas import evaluate as run_ragas
    from ragas.llms import llm_factory

    from ctxmetrics_ragas import ContextRecall as OfRagas

    client = AsyncOpenAI(base_url=server.base_url, api_key="x", max_retries=0)
    metric = OfRagas(llm=llm_factory("judge", client=client))
    found = run_ragas(EvaluationDataset.from_list(rows()), metrics=[metric], show_progress=False)
    values = [row[metric.name] for row in found.scores]
    assert sum(not math.isnan(value) for value in values) >= COUNT - UNREADABLE


@pytest.mark.slow
def test_deepeval(server):
    pytest.importorskip("deepeval")
    from deepeval.models import LocalModel

    import ctxmetrics_deepeval.runners as deepeval
    from ctxmetrics_deepeval import DeepEvalModel

    model = DeepEvalModel(LocalModel(model="judge", base_url=server.base_url, api_key="x"))
    runner = next(item for item in deepeval.RUNNERS if item.name == "deepeval.evaluate")
    assert judged(runner.score(ContextRecall(judge=LLMJudge(model)), SAMPLES)) >= COUNT - UNREADABLE


@pytest.mark.slow
def test_langchain(server):
    pytest.importorskip("langchain_openai")
    from langchain_openai import ChatOpenAI

    from ctxmetrics_langchain import ChatModel

    chat_model = ChatOpenAI(model="judge", base_url=server.base_url, api_key="x", max_retries=0)
    assert judged(evaluated(ChatModel(chat_model))) >= COUNT - UNREADABLE
