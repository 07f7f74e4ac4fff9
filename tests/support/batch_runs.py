"""Samples, and a judge whose replies have faults of their own, for runs in batches beside ordinary ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Results, Sample, evaluate
from ctxmetrics.judges.llm.judge import forget
from support import anthropic_batches, batches
from support._http import HttpResponse
from support.answers import answer_from, read_question
from support.chat import ChatRequest, Reply

if TYPE_CHECKING:
    from support.server import FakeOpenAIServer

_HONEST = answer_from()
# Characters of a reply that is too long, where a test allows half of it.
LONG_REPLY = 40_000


@dataclass(frozen=True)
class Form:
    """A form of batches.

    Attributes:
        name: The provider of whom it is.
        fake: Builds the provider.
        item_faults: What goes wrong with single requests.
        batch_faults: What goes wrong with whole batches.
    """

    name: str
    fake: Callable[..., Any]
    item_faults: tuple[str, ...]
    batch_faults: tuple[str, ...]


OPENAI = Form("openai", batches.FakeBatches, batches.ITEM_FAULTS, batches.BATCH_FAULTS)
ANTHROPIC = Form(
    "anthropic",
    anthropic_batches.FakeAnthropicBatches,
    anthropic_batches.ITEM_FAULTS,
    anthropic_batches.BATCH_FAULTS,
)


def make_samples(number: int) -> list[Sample]:
    """Make samples of which every third lacks a fact."""
    return [
        Sample(
            id=f"q{index}",
            user_input=f"What is known of house {index}?",
            reference=f"House {index} was built in {1500 + index % 400}. House {index} has {index % 7 + 2} floors of oak.",
            retrieved_contexts=[
                f"House {index} was built in {1500 + index % 400} by a mason.",
                "Cheese is made from milk in the valley.",
                "Nothing is known of it."
                if index % 3 == 0
                else f"House {index} has {index % 7 + 2} floors of oak.",
            ],
        )
        for index in range(number)
    ]


def faulty_reply(request: ChatRequest) -> str | Reply | HttpResponse:
    """Answer honestly, except for shares of the first questions: these replies are bad by their content, batch or not.

    Of each hundred, ten are cut off, ten refused, ten no JSON, ten too long for the model, ten lack ids, and ten are long.
    """
    question = read_question(request.text)
    kind = int(hashlib.sha256(question.code.encode()).hexdigest()[:8], 16) % 100 // 10
    first = "reply" not in request.user.partition("END DATA")[2] and len(request.messages) == 2
    whole = all(len(ids) > 1 for ids in question.keys.values())
    honest = _HONEST.answer(question)
    if kind == 0 and whole:
        return Reply(content='{"code": "', finish_reason="length")
    if kind == 1:
        return Reply(content=None, refusal="I cannot help with that.")
    if kind == 2 and first and whole:
        return "Sure! Here is what I think."
    if kind == 3 and len(question.contexts) > 2:
        error = {
            "message": "This model's maximum context length is 8192 tokens.",
            "code": "context_length_exceeded",
        }
        return HttpResponse(status=400, body=json.dumps({"error": error}).encode())
    if kind == 4 and "sentences" in honest and len(honest["sentences"]) > 1:
        honest["sentences"].popitem()
    if kind == 5 and first:
        honest["remark"] = "x" * LONG_REPLY
    return json.dumps(honest)


def run(server: FakeOpenAIServer, samples: Any, **options: Any) -> Results:
    """Score samples with two metrics and a judge at the server, with nothing remembered from before."""
    forget()
    model = OpenAIModel("fake-judge", base_url=server.base_url, api_key="sk-test-0123456789")
    return evaluate(
        samples, [ContextRecall(), ContextPrecision()], judge=LLMJudge(model), progress=False, **options
    )


def values_of(results: Results) -> list[dict[str, Any]]:
    """Values, reasons and verdicts, but not what they cost."""
    return [
        {
            score.metric: (
                score.value,
                score.reason_code,
                [(v.id, v.value, v.code) for v in score.verdicts],
            )
            for score in row.scores
        }
        for row in results
    ]
