"""Answers with status 200 in the forms that gateways give them: read where they hold a reply, else their error is said."""

from __future__ import annotations

import json

import pytest

from ctxmetrics import ContextRecall, LLMJudge, Sample
from ctxmetrics.errors import JudgeError
from ctxmetrics.judges.llm.judge import forget
from ctxmetrics.models.base import Prompt, Reply, reply_text
from ctxmetrics.models.openai.server_answers import read_answer

PROMPT = Prompt(step="joint", version="", system="", user="")
TEXT = '{"code": "12345678"}'


def answer(**message):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    return json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}})


def stream(*pieces, end="stop", index=0):
    chunks = [{"choices": [{"index": index, "delta": {"content": piece}}]} for piece in pieces]
    chunks += [{"choices": [{"index": index, "delta": {}, "finish_reason": end}]}]
    chunks += [{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}]
    lines = [f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks]
    return "".join([*lines, ": ping\n\n", "data: [DONE]\n\n"])


@pytest.mark.parametrize(
    "body",
    [
        answer(content=None, tool_calls=[{"function": {"name": "reply", "arguments": TEXT}}]),
        answer(content=None, function_call={"name": "reply", "arguments": TEXT}),
        answer(content=json.loads(TEXT)),
        answer(content=[{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": TEXT}]),
        answer(content=TEXT, tool_calls=[]),
        answer(content=TEXT, tool_calls=["no object"], function_call=[]),
        stream(TEXT[:5], TEXT[5:]),
    ],
)
def test_a_reply_is_read_in_each_form(body):
    reply = read_answer(body, PROMPT)
    assert reply.content == TEXT
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (9, 2)


def test_two_tool_calls_follow_each_other():
    calls = [{"function": {"arguments": text}} for text in ("{}", TEXT)]
    assert read_answer(answer(content="", tool_calls=calls), PROMPT).content == "{}\n" + TEXT


@pytest.mark.parametrize(
    ("body", "code", "retryable", "words"),
    [
        ({"error": "model is loading"}, "server_error", True, "model is loading"),
        ({"errors": [{"message": "blocked"}], "success": False}, "server_error", True, "blocked"),
        ({"detail": "Not Found"}, "server_error", True, "Not Found"),
        (
            {"object": "error", "message": "no model x", "code": 404},
            "client_error",
            False,
            "no model x",
        ),
        ({"error": {"message": "slow down", "code": "429"}}, "rate_limited", True, "slow down"),
        ({"error": {"message": "spent", "code": "insufficient_quota"}}, "client_error", False, "spent"),
        ({"error": {"message": "upstream", "code": 502}}, "server_error", True, "upstream"),
        ({"error": {"message": "odd", "code": [1]}}, "server_error", True, "odd"),
        ({"error": {"type": "overloaded"}}, "server_error", True, "overloaded"),
        ({"error": None, "choices": []}, "server_error", True, "holds no choices"),
        ({"choices": {"0": 1}}, "server_error", True, "holds no choices"),
        ({"choices": ["text"]}, "server_error", True, "holds no choices"),
    ],
)
def test_an_error_in_place_of_choices_is_said(body, code, retryable, words):
    with pytest.raises(JudgeError, match=words) as caught:
        read_answer(json.dumps(body), PROMPT)
    assert (caught.value.reason_code, caught.value.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (stream(TEXT, end=None), "server_error"),
        (stream(TEXT, end="length"), "truncated"),
        ('data: {"choices": [{"index": 0}, 3]}\n', "server_error"),
        ("data: nothing\n", "server_error"),
        ('data: {"error": {"message": "no", "code": 401}}\n', "client_error"),
    ],
)
def test_a_stream_without_an_end_is_no_answer(body, code):
    with pytest.raises(JudgeError) as caught:
        read_answer(body, PROMPT)
    assert caught.value.reason_code == code


@pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "content_filter"])
def test_a_filter_is_a_refusal(reason):
    body = json.loads(answer(content=""))
    body["choices"][0]["finish_reason"] = reason
    with pytest.raises(JudgeError) as caught:
        read_answer(json.dumps(body), PROMPT)
    assert caught.value.reason_code == "refused"


class ParsedModel:
    """A model whose client gives objects, with a number of too many digits in the first reply."""

    identity = "parsed/huge"

    def __init__(self) -> None:
        self.count = 0

    async def generate(self, prompt, schema):
        self.count += 1
        evidence = [{"context": "c1", "quote": "The tower is red.", "whole": True}]
        cell = {"evidence": evidence, "missing": "", "supported": True}
        content = {
            "code": prompt.data_code,
            "sentences": {"s1": cell},
            "useful": {"c1": {"quote": "", "useful": True}},
        }
        if self.count == 1:
            content["tokens"] = 10**5000
        return Reply(content=content)


def test_a_parsed_reply_with_a_huge_number_is_asked_again():
    forget()
    model = ParsedModel()
    sample = Sample(reference="The tower is red.", retrieved_contexts=["The tower is red."])
    score = ContextRecall(judge=LLMJudge(model)).score(sample)
    assert score.value == 1.0
    assert model.count == 2
    assert score.usage.calls == 2


def test_content_without_a_text_is_no_reply():
    with pytest.raises(JudgeError, match="cannot be read") as caught:
        reply_text({"n": 10**5000})
    assert caught.value.reason_code == "invalid_reply"
