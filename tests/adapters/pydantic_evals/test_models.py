"""Models of pydantic-ai as judges: what they are asked, and what may come back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ctxmetrics import ContextRecall, LLMJudge, Sample
from ctxmetrics.errors import ParameterError
from support import FakeOpenAIServer, answer_from
from support.later import later

if TYPE_CHECKING:
    from collections.abc import Callable

function = later("pydantic_ai.models.function")
messages = later("pydantic_ai.messages")
ours = later("ctxmetrics_pydantic_evals")
pydantic_evals = later("pydantic_evals")


SAMPLE = Sample(
    user_input="Where?",
    reference="Paris is in France. It is old.",
    retrieved_contexts=["Bananas.", "Paris is in France."],
)
REPLY = {
    "code": "$code",
    "sentences": {
        "s1": {
            "supported": True,
            "evidence": [{"context": "c2", "quote": "Paris is in France", "whole": True}],
        },
        "s2": {"supported": False, "missing": "no age"},
    },
    "useful": {"c1": {"useful": False}, "c2": {"useful": True}},
}


def model(*parts: Any, seen: list[Any] | None = None, **response: Any) -> function.FunctionModel:
    def answer(asked: list[Any], info: Any) -> messages.ModelResponse:
        if seen is not None:
            seen.append((asked, info))
        return messages.ModelResponse(parts=list(parts), **response)

    return function.FunctionModel(answer)


def score(judge: Any) -> Any:
    return ContextRecall(judge=judge).score(SAMPLE)


@pytest.mark.parametrize(
    "make_parts",
    [
        lambda: [messages.ToolCallPart("reply", REPLY)],
        lambda: [messages.ToolCallPart("reply", json.dumps(REPLY))],
        lambda: [
            messages.TextPart("I shall reply."),
            messages.ToolCallPart("reply", REPLY),
        ],
        lambda: [messages.TextPart(f"```json\n{json.dumps(REPLY)}\n```")],
        lambda: [messages.ThinkingPart("{hm}"), messages.TextPart(json.dumps(REPLY))],
    ],
    ids=["call", "call as text", "text and call", "text", "thoughts"],
)
def test_replies_of_any_kind(make_parts: Callable[[], list[Any]]) -> None:
    found = score(LLMJudge(ours.PydanticAIModel(model(*make_parts()))))
    assert (found.value, found.usage.calls) == (0.5, 1)
    assert found.provenance.judge.startswith("llm:pydantic-ai:FunctionModel/")


@pytest.mark.parametrize(
    "make_parts",
    [
        lambda: [messages.TextPart("I cannot.")],
        list,
        lambda: [messages.ToolCallPart("reply", {"x": 1})],
    ],
    ids=["prose", "nothing", "another object"],
)
def test_what_cannot_be_read_is_not_judged(make_parts: Callable[[], list[Any]]) -> None:
    found = score(LLMJudge(ours.PydanticAIModel(model(*make_parts()))))
    assert (found.value, found.reason_code) == (None, "not_judged")
    assert {verdict.code for verdict in found.verdicts} <= {"invalid_reply", "missing_id"}


def test_a_reply_that_was_cut_off_is_known_as_such() -> None:
    found = score(
        LLMJudge(
            ours.PydanticAIModel(model(messages.ToolCallPart("reply", REPLY), finish_reason="length"))
        )
    )
    assert {verdict.code for verdict in found.verdicts} == {"truncated"}


def test_what_it_is_asked() -> None:
    seen: list[Any] = []
    score(LLMJudge(ours.PydanticAIModel(model(messages.ToolCallPart("reply", REPLY), seen=seen))))
    ((asked, info),) = seen
    (request,) = asked
    assert [part.part_kind for part in request.parts] == ["system-prompt", "user-prompt"]
    assert "Bananas." in request.parts[1].content
    (tool,) = info.output_tools
    assert {"code", "sentences", "useful"} == set(tool.parameters_json_schema["properties"])
    assert info.allow_text_output is False


def test_without_tools_it_is_asked_for_text() -> None:
    seen: list[Any] = []
    asked = ours.PydanticAIModel(model(messages.TextPart(json.dumps(REPLY)), seen=seen), tools=False)
    assert score(LLMJudge(asked)).value == 0.5
    assert seen[0][1].output_tools == []
    assert asked.identity.endswith(" text")


def test_one_request_for_both_metrics_of_a_case() -> None:
    seen: list[Any] = []
    judge = model(messages.ToolCallPart("reply", REPLY), seen=seen)
    case = pydantic_evals.Case(name="a", inputs="Where?", expected_output=SAMPLE.reference)
    evaluators = [ours.ContextRecallEvaluator(judge=judge), ours.ContextPrecisionEvaluator(judge=judge)]
    data: pydantic_evals.Dataset[Any, Any, Any] = pydantic_evals.Dataset(
        name="test", cases=[case], evaluators=evaluators
    )
    (found,) = data.evaluate_sync(lambda _: list(SAMPLE.retrieved_contexts or ()), progress=False).cases
    assert {name: result.value for name, result in found.scores.items()} == {
        "context_recall": 0.5,
        "context_precision": 0.5,
    }
    assert len(seen) == 1
    assert (
        found.scores["context_recall"].source.arguments["judge"] == f"{judge.system}:{judge.model_name}"
    )


def test_a_real_client_against_a_server_and_its_token_counts() -> None:
    openai = pytest.importorskip("pydantic_ai.models.openai", reason="pydantic-ai has no openai here")
    from pydantic_ai.providers.openai import OpenAIProvider

    with FakeOpenAIServer(answer_from(), models=("fake-judge",)) as server:
        chat = openai.OpenAIChatModel(
            "fake-judge", provider=OpenAIProvider(base_url=server.base_url, api_key="sk-fake")
        )
        asked = ours.PydanticAIModel(chat)
        found = score(LLMJudge(asked))
        assert (found.value is None, found.usage.calls, found.usage.prompt_tokens > 0) == (
            False,
            1,
            True,
        )
        assert "sk-fake" not in asked.identity
        assert server.base_url.split("//")[1].rstrip("/") in asked.identity


@pytest.mark.slow
def test_a_model_s_name_is_enough_and_a_wrong_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    assert "gpt-4o-mini" in ours.ContextRecallEvaluator(judge="openai:gpt-4o-mini").metric.judge.name
    assert ours.ContextRecallEvaluator(judge="lexical").metric.judge.name == "lexical"
    with pytest.raises(ParameterError, match="pydantic-ai cannot make judge='nobody:knows'"):
        _ = ours.ContextRecallEvaluator(judge="nobody:knows").metric


def test_no_key_is_a_failure_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ParameterError, match="pydantic-ai cannot make judge="):
        _ = ours.ContextRecallEvaluator(judge="anthropic:claude-sonnet-4-5").metric
