"""A request that is longer than the model can read: recognised on every server, no fault of the judge."""

from __future__ import annotations

import json

import pytest

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample
from ctxmetrics.evaluation.runs.engine import Evaluation
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.runtime import run
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.models.runtime.failures import classify, from_status
from support import FakeOpenAIServer, answer_from
from support._http import HttpResponse
from support.later import skip_without

skip_without("openai")


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    capabilities._known.clear()
    monkeypatch.setattr(run, "_process_run", run.Run())


# Status, the body as it comes, and the limit that it states. The texts are those of the servers' documentation, their
# source code and reports of users.
ANSWERS = {
    "llama.cpp": (400, {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}, 4096),
    "vLLM": (400, {"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the messages, 100 in the completion). Please reduce the length of the messages or completion.", "type": "BadRequestError", "param": None, "code": 400}, 4096),
    "vLLM prompt": (400, {"error": {"message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.", "type": "BadRequestError", "param": None, "code": 400}}, 4096),
    "OpenAI": (400, {"error": {"message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9999 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}, 8192),
    "OpenAI input": (400, {"error": {"message": "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}, 272000),
    "OpenAI minute": (429, {"error": {"message": "Request too large for gpt-4o in organization x on tokens per min (TPM): Limit 30000, Requested 50000. The input or output tokens must be reduced in order to run successfully.", "type": "tokens", "param": None, "code": "rate_limit_exceeded"}}, 30000),
    "Groq": (413, {"error": {"message": "Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 9000", "type": "tokens", "code": "rate_limit_exceeded"}}, 6000),
    "Anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 250000 tokens > 200000 maximum"}}, 200000),
    "Anthropic bytes": (413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}, None),
    "Gemini": (400, [{"error": {"code": 400, "message": "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}], 1048576),
    "Mistral": (400, {"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_prompt", "param": None, "code": "3051"}, 32768),
    "Ollama": (400, {"error": {"message": "the input length exceeds the context length", "type": "api_error", "param": None, "code": None}}, None),
    "LM Studio": (400, {"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}, 4096),
    "SGLang": (400, {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens).", "type": "BadRequestError", "code": 400}, 4096),
    "xAI": (400, {"code": "invalid-argument", "error": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, 131072),
    "OpenRouter": (400, {"error": {"message": "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.", "code": 400}}, 32768),
    "TGI": (422, {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000", "error_type": "validation"}, 4096),
    "Moonshot": (400, {"error": {"message": "Invalid request: Your request exceeded model token limit: 8192", "type": "invalid_request_error"}}, 8192),
    "DashScope": (400, {"error": {"code": "invalid_parameter_error", "param": None, "message": "Range of input length should be [1, 98304]", "type": "invalid_request_error"}}, 98304),
}  # fmt: skip


@pytest.mark.parametrize(("status", "body", "limit"), ANSWERS.values(), ids=ANSWERS)
def test_servers_say_that_a_request_is_too_long(status, body, limit):
    response = HttpResponse(status=status, body=json.dumps(body).encode())
    with FakeOpenAIServer(lambda request: response) as server:
        verdict, state = judged_once(server)
        assert verdict.code == "too_long"
        # A server that counts the bound of the reply is asked once more without it.
        assert server.count == (2 if "completion" in json.dumps(body) else 1)
    assert list(state.token_limits.values()) == ([limit] if limit else [])


def judged_once(server):
    state = run.Run(ends=True)
    judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url), max_repairs=0, reuse=False)
    with run.using(state):
        score = ContextRecall(judge=judge).score(SHORT)
    return score.verdicts[0], state


SHORT = Sample(user_input="Which?", reference="It is red.", retrieved_contexts=["It is red."])


class ClientError(Exception):
    """botocore's error, by its name and attributes."""

    def __init__(self, code, message):
        super().__init__(f"An error occurred ({code}) when calling the Converse operation: {message}")
        self.response = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": 400},
        }


class GoogleError(Exception):
    """An error of a client that gives no status."""


@pytest.mark.parametrize(
    ("error", "limit"),
    [
        (ClientError("ValidationException", "Input is too long for requested model."), None),
        (ClientError("ValidationException", "prompt is too long: 210000 tokens > 200000 maximum"), 200000),
        (ClientError("ValidationException", "Too many input tokens. Max input tokens: 8192, request input token count: 9000"), 8192),
        (GoogleError("400 The input token count (40000) exceeds the maximum number of tokens allowed (32768)."), 32768),
    ],
)  # fmt: skip
def test_clients_of_frameworks_say_so(error, limit):
    problem = classify(error)
    assert (problem.reason_code, problem.retryable, problem.limit) == ("too_long", False, limit)


@pytest.mark.parametrize(
    ("status", "message", "details"),
    [
        (400, "max_tokens is too large: 99999. This model supports at most 16384 completion tokens.", [{"param": "max_tokens"}]),
        (400, "Schema is too complex for compilation", []),
        (400, "The compiled grammar is too large", []),
        (429, "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", [{"code": "rate_limit_exceeded"}]),
        (401, "Your prompt is too long for a request without a key", []),
        (500, "The server had an error while processing your request.", []),
    ],
)  # fmt: skip
def test_other_refusals_are_not_about_the_length(status, message, details):
    assert from_status(status, message, details=details).reason_code != "too_long"


@pytest.mark.slow
def test_long_samples_cost_the_short_ones_nothing():
    """Eleven samples are longer than the model can read, and three that follow are not."""
    overflow = {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 2048}}  # fmt: skip
    answer = answer_from()

    def respond(request):
        if len(request.text) > 12_000:
            return HttpResponse(status=400, body=json.dumps(overflow).encode())
        return answer(request)

    samples = [
        Sample(
            user_input=f"What is number {number}?",
            reference=f"Number {number} is red.",
            # A text that cannot be cut further by its sentences or halves below the limit.
            retrieved_contexts=[f"Number {number} is red." + (" word" * 8000 if number < 11 else "")],
        )
        for number in range(14)
    ]
    with FakeOpenAIServer(respond) as server:
        judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
        evaluation = Evaluation(
            samples, [ContextRecall(judge=judge)], progress=False, max_concurrency=1
        )
        results = run_sync(evaluation.score_samples)
        state = evaluation._run
    values = [row["context_recall"].value for row in results]
    assert values[11:] == [1.0, 1.0, 1.0]
    assert results.stopped is None
    codes = {
        row["context_recall"].verdicts[0].code for row in results if row["context_recall"].value is None
    }
    assert codes <= {"too_long"}
    assert state.token_limits == {judge.model.identity: 2048}


def test_the_refused_request_and_its_halves_are_counted():
    answer = answer_from()
    overflow = {"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}  # fmt: skip

    def respond(request):
        if len(request.text) > 12_000:
            return HttpResponse(status=400, body=json.dumps(overflow).encode())
        return answer(request)

    contexts = [f"Number {number} is red." + " word" * 1400 for number in range(2)]
    sample = Sample(reference="Number 1 is red.", retrieved_contexts=contexts)
    with FakeOpenAIServer(respond) as server:
        judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
        score = ContextRecall(judge=judge).score(sample)
        assert (score.value, score.usage.calls, server.count) == (1.0, 3, 3)
