"""OpenAIModel through the real client against the fake server."""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from copy import copy, deepcopy
from dataclasses import asdict, replace

import pytest
from pydantic import create_model

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics.errors import JudgeError, MissingExtraError, ParameterError
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.openai import client as clients
from ctxmetrics.models.openai.capabilities import response_format
from ctxmetrics.models.openai.decision_api import DecisionAPI
from ctxmetrics.models.openai.model import Key
from ctxmetrics.models.openai.server_answers import read_answer
from ctxmetrics.models.runtime import run
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.prompts import get_pack, render, reply_schema
from support import (
    CONTENT_FAULTS,
    FAULTS,
    TESTS,
    FakeOpenAIServer,
    Fault,
    Reply,
    answer_from,
)
from support.chat import InvalidRequestError
from support.deadlines import LONGEST_PROCESS
from support.faults import HARMLESS
from support.later import skip_without

skip_without("openai")

EVERYTHING = frozenset({"json_schema", "json_object", "tools"})
DATA = {
    "question": "When?",
    "sentences": [{"id": "s1", "text": "It was built in 1889."}],
    "contexts": [{"id": "c1", "text": "They built it in 1889."}],
}


@pytest.fixture(autouse=True)
def _new_process(monkeypatch):
    """No memory of servers."""
    capabilities._known.clear()
    monkeypatch.setattr(run, "_process_run", run.Run())


def prompt(step="joint", vote=0, data=None, attempt=0):
    data = DATA if data is None else data
    return render(get_pack("en"), step, data, vote=vote, attempt=attempt)


def schema_for(asked):
    return reply_schema(asked.step, sentences=asked.sentences, useful=asked.useful)


def ask(server, model="judge", *, vote=0, attempt=0, **options):
    """One request, without a run: no retries."""
    asked = OpenAIModel(model, base_url=server.base_url, **options)
    return run_sync(asked.generate, prompt(vote=vote, attempt=attempt), schema_for(prompt()))


def failure(server, **options):
    with pytest.raises(JudgeError) as caught:
        ask(server, **options)
    return caught.value


def samples(count):
    return [
        Sample(
            user_input=f"Which colour has door number{index}?",
            reference=f"Door number{index} is green. Door number{index} weighs 40 kilos.",
            retrieved_contexts=[
                f"Birds of kind{index} sing.",
                f"Door number{index} is green since 1999.",
            ],
        )
        for index in range(count)
    ]


def labelled():
    """Half of each sample's sentences are supported, and the second context is the useful one."""
    return answer_from(useful=lambda text, answer: text.startswith("Door"))


METRICS = [ContextRecall(), ContextPrecision()]


def judge(server, **options):
    return LLMJudge(OpenAIModel("judge", base_url=server.base_url, **options))


def values(results):
    return Counter((row["context_recall"].value, row["context_precision"].value) for row in results)


# ---- what is sent ----


def test_each_vote_and_each_attempt_has_a_seed_of_its_own():
    seeds = set()
    for vote in range(5):
        for attempt in range(3):
            with FakeOpenAIServer(answer_from()) as server:
                ask(server, vote=vote, attempt=attempt)
            seeds.add(server.requests[0].body["seed"])
    assert len(seeds) == 15


def test_the_request_holds_prompt_schema_and_parameters():
    with FakeOpenAIServer(answer_from()) as server:
        ask(server, max_tokens=500, vote=2, extra={"top_p": 0.5})
        body = server.requests[0].body
    asked = prompt()
    assert body["messages"] == [
        {"role": "system", "content": asked.system},
        {"role": "user", "content": asked.user},
    ]
    assert (body["temperature"], body["seed"], body["max_tokens"], body["top_p"]) == (0.0, 2, 500, 0.5)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert set(body) == {
        "model", "messages", "temperature", "seed", "max_tokens", "top_p", "response_format",
    }  # fmt: skip


def test_none_is_not_sent():
    with FakeOpenAIServer(answer_from()) as server:
        ask(server, temperature=None, seed=None, reply_format="text")
        assert set(server.requests[0].body) == {"model", "messages", "max_tokens"}


def test_the_reply_comes_with_the_tokens_the_server_counted():
    with FakeOpenAIServer(lambda request: '{"sentences": {}, "useful": {}}') as server:
        reply = ask(server)
    asked = prompt()
    assert reply.content == '{"sentences": {}, "useful": {}}'
    assert reply.usage.calls == 1
    assert reply.usage.prompt_tokens == math.ceil((len(asked.system) + len(asked.user)) / 4)
    assert reply.usage.completion_tokens == math.ceil(31 / 4)
    assert not reply.usage.estimated


def test_tokens_are_estimated_where_the_server_counts_none():
    with FakeOpenAIServer(lambda request: "x" * 9, usage=False) as server:
        usage = ask(server).usage
    assert usage.estimated
    assert usage.prompt_tokens == math.ceil(len(prompt().text) / 4)
    assert usage.completion_tokens == 3


# ---- the schema ----


def test_strict_schema_of_the_joint_reply():
    text, flag = {"type": "string"}, {"type": "boolean"}

    def closed(**properties):
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def named(name):
        return {"$ref": f"#/$defs/{name}"}

    schema = reply_schema("joint", sentences=["s1", "s2"], useful=["c1"])
    evidence = {"type": "array", "items": closed(context=text, quote=text, whole=flag)}
    assert response_format(schema)["json_schema"]["schema"] == {
        "$defs": {
            "C": closed(quote=text, useful=flag),
            "S": closed(evidence=evidence, missing=text, supported=flag),
        },
        **closed(
            code=text,
            sentences=closed(s1=named("S"), s2=named("S")),
            useful=closed(c1=named("C")),
        ),
    }


@pytest.mark.parametrize("step", ["joint", "attribution", "usefulness", "claims"])
def test_a_strict_server_takes_every_schema(step):
    data = {
        "joint": DATA,
        "attribution": DATA,
        "usefulness": {"question": None, "answer": "x", "contexts": DATA["contexts"]},
        "claims": {"text": "It is."},
    }[step]
    with FakeOpenAIServer(answer_from()) as server:
        model = OpenAIModel("judge", base_url=server.base_url, reply_format="json_schema")
        asked = prompt(step, data=data)
        run_sync(model.generate, asked, schema_for(asked))
        assert [request.status for request in server.requests] == [200]


# ---- what the server takes ----


@pytest.mark.parametrize(
    ("supports", "forms"),
    [
        (EVERYTHING, ["json_schema"]),
        ({"json_object"}, ["json_schema", "json_object"]),
        (set(), ["json_schema", "json_object", None]),
    ],
)
def test_the_form_is_found_out_once_an_endpoint_and_model(supports, forms):
    with FakeOpenAIServer(answer_from(), supports=frozenset(supports)) as server:
        assert ask(server).usage.calls == len(forms)
        assert (
            ask(server, temperature=0.5).usage.calls == 1
        )  # another object, the same server and model
        assert ask(server, "other").usage.calls == len(forms)
        assert [r.response_format for r in server.requests] == [*forms, forms[-1], *forms]


@pytest.mark.parametrize(("supports", "refused"), [(EVERYTHING, 0), ({"json_object"}, 1), (set(), 2)])
def test_concurrent_first_requests_share_the_discovery(supports, refused, monkeypatch):
    monkeypatch.setattr(
        capabilities, "_DISCOVERY_SECONDS", 60.0
    )  # a slow machine waits for the first request, too
    with FakeOpenAIServer(answer_from(), supports=frozenset(supports), latency=0.05) as server:
        results = evaluate(samples(30), METRICS, judge=judge(server), progress=False)
        assert values(results) == {(0.5, 0.5): 30}
        assert Counter(request.status for request in server.requests) == (
            {200: 30, 400: refused} if refused else {200: 30}
        )


@pytest.mark.slow
def test_a_first_request_that_hangs_does_not_hold_up_the_others(monkeypatch):
    monkeypatch.setattr(capabilities, "_DISCOVERY_SECONDS", 0.2)
    with FakeOpenAIServer(answer_from(), faults=[Fault("hang", times=1)]) as server:
        results = evaluate(samples(8), METRICS, judge=judge(server), timeout=5.0, progress=False)
        assert values(results) == {(0.5, 0.5): 8}
        hung = server.requests[0]
        assert all(request.arrived < hung.finished for request in server.requests[1:8])


@pytest.mark.slow
def test_requests_that_wait_for_another_are_not_timed_meanwhile(monkeypatch):
    monkeypatch.setattr(capabilities, "_DISCOVERY_SECONDS", 60.0)
    with FakeOpenAIServer(answer_from(), faults=[Fault("hang", times=1)]) as server:
        # Seven requests have to be answered within it on a busy machine.
        results = evaluate(samples(8), METRICS, judge=judge(server), timeout=6.0, progress=False)
        assert values(results) == {(0.5, 0.5): 8}
        assert results.usage.calls == len(server.requests) == 9  # one hung


@pytest.mark.parametrize(("most", "judged"), [(1, 0), (2, 0), (3, 1), (4, 2)])
def test_finding_out_the_form_is_part_of_the_budget(most, judged):
    with FakeOpenAIServer(answer_from(), supports=frozenset()) as server:
        results = evaluate(samples(8), METRICS, judge=judge(server), max_calls=most, progress=False)
        assert len(server.requests) == results.usage.calls == most
        assert values(results)[0.5, 0.5] == judged
        assert results.stopped == f"max_calls={most} is used up"


THINKING = Reply(
    content="<think>",
    finish_reason="length",
    usage={"prompt_tokens": 1000, "completion_tokens": 896},
)
COUNTED = {"prompt_tokens": 1000, "completion_tokens": 200}


def score_after_thinking(last_reply, **options):
    """One sample; the first answer runs into the limit while the model thinks. Return the results and the requests."""

    def reply(request):
        return THINKING if request.index == 0 else last_reply(request)

    with FakeOpenAIServer(reply) as server:
        results = evaluate(samples(1), METRICS[:1], judge=judge(server), progress=False, **options)
        return results, server.count


def test_tokens_of_a_thinking_reply_are_counted():
    answer = answer_from()
    results, requests = score_after_thinking(
        lambda request: Reply(content=answer(request), usage=COUNTED)
    )
    usage = results.usage
    assert (requests, usage.calls) == (2, 2)
    assert (usage.prompt_tokens, usage.completion_tokens) == (2000, 1096)
    assert results[0].scores[0].value == 0.5


def test_thinking_counts_against_the_budget():
    answer = answer_from()
    results, requests = score_after_thinking(answer, max_tokens=1500)
    assert requests == 1
    assert (results.usage.calls, results.usage.total_tokens) == (1, 1896)
    assert results.stopped == "max_tokens=1500 is used up"


def test_thinking_counts_where_the_next_reply_fails():
    refusal = Reply(refusal="I cannot", usage=COUNTED)
    results, requests = score_after_thinking(lambda request: refusal)
    usage = results.usage
    assert requests == usage.calls == 3  # the judge asks again after a refusal
    assert (usage.prompt_tokens, usage.completion_tokens) == (3000, 896 + 200 + 200)


def test_a_refused_request_counts_where_the_next_one_fails():
    """The server refuses the schema and the JSON mode; then the request without them fails."""
    faults = [Fault("500", every=3)]
    with FakeOpenAIServer(answer_from(), supports=frozenset(), faults=faults) as server:
        problem = failure(server)
        assert problem.reason_code == "server_error"
        assert problem.usage.calls == server.count == 3


def test_explicit_form_is_sent_at_once_and_never_changed():
    with FakeOpenAIServer(answer_from(), supports=frozenset({"json_object"})) as server:
        ask(server, reply_format="json_object")
        ask(server, reply_format="text")
        problem = failure(server, reply_format="json_schema")
        assert (problem.reason_code, problem.retryable) == ("client_error", False)
        assert [r.response_format for r in server.requests] == ["json_object", None, "json_schema"]


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5.4-mini"])
def test_reasoning_models_are_known_by_name(model):
    with FakeOpenAIServer(answer_from()) as server:
        assert ask(server, model, max_tokens=900).usage.calls == 1
        body = server.requests[0].body
    assert body["max_completion_tokens"] == 900
    assert "temperature" not in body
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("model", "known"),
    [("gpt-4o", False), ("gpt-5-chat-latest", False), ("openai/o3", True), ("o3x", False), ("o2-pro", True),
     ("olmo-2", False), ("gpt-4.1", False), ("some/gpt-6.1", True)],
)  # fmt: skip
def test_which_names_are_reasoning_models(model, known):
    assert ("temperature" in capabilities.Capabilities(model).refused) is known


def refusing(*refusals):
    """A server that answers 400 for as long as the request holds what it refuses: (holds it?, message, param, code)."""

    def respond(request):
        for holds, message, param, code in refusals:
            if holds(request.body):
                raise InvalidRequestError(message, param=param, code=code)
        return answer_from()(request)

    return respond


def wants_schema(body):
    return body.get("response_format", {}).get("type") == "json_schema"


def has(name):
    return lambda body: name in body


@pytest.mark.parametrize(
    ("name", "message", "param", "code"),
    [
        ("seed", "Unsupported parameter: 'seed' is not supported.", "seed", "unsupported_parameter"),
        ("seed", "Unrecognized request argument supplied: seed", None, None),
        ("seed", "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted'}]", None, None),
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.", "temperature", "unsupported_value"),
        ("temperature", "invalid temperature: only 1 is allowed for this model", None, None),
        ("response_format", "This response_format type is unavailable now", None, "invalid_request_error"),
        ("response_format", "Invalid schema for response_format 'JointReply': 'anyOf' is not permitted.", "response_format", None),
        ("response_format", "json_schema is not supported with this model", None, None),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_left_out_and_remembered(name, message, param, code):
    with FakeOpenAIServer(refusing((has(name), message, param, code))) as server:
        ask(server)
        ask(server)
        statuses = [request.status for request in server.requests]
        assert statuses == ([400, 400, 200, 200] if name == "response_format" else [400, 200, 200])
        kept = {"seed", "temperature", "response_format"} - {name}
        assert kept < set(server.requests[-1].body)


def test_a_limit_of_tokens_is_tried_under_both_names():
    unsupported = "Unsupported parameter: '{}' is not supported with this model."
    old = (has("max_tokens"), unsupported.format("max_tokens") + " Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")  # fmt: skip
    new = (has("max_completion_tokens"), unsupported.format("max_completion_tokens"), None, None)
    with FakeOpenAIServer(refusing(old)) as server:
        ask(server, max_tokens=9)
        assert server.requests[-1].body["max_completion_tokens"] == 9
    with FakeOpenAIServer(refusing(old, new)) as server:
        assert ask(server, max_tokens=9).usage.calls == 3
        assert not {"max_tokens", "max_completion_tokens"} & set(server.requests[-1].body)


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "System role not supported",
        "Only user and assistant roles are supported!",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ],
)
def test_a_server_without_system_messages_gets_one_message(message):
    system = (lambda body: body["messages"][0]["role"] == "system", message, None, None)
    with FakeOpenAIServer(refusing(system)) as server:
        ask(server)
        assert server.requests[-1].body["messages"] == [{"role": "user", "content": prompt().text}]


@pytest.mark.parametrize(
    ("message", "param", "code"),
    [
        ("max_tokens is too large: 99999. This model supports at most 16384 completion tokens.", "max_tokens", "invalid_value"),
        ("Invalid 'seed': integer above maximum value.", "seed", "integer_above_max_value"),
        ("you must provide a model parameter", "model", None),
    ],
)  # fmt: skip
def test_other_mistakes_in_a_request_are_told_not_worked_around(message, param, code):
    with FakeOpenAIServer(refusing((lambda body: True, message, param, code))) as server:
        problem = failure(server, max_tokens=99999)
        assert (problem.reason_code, problem.retryable) == ("client_error", False)
        assert message[:40] in str(problem)
        assert server.count == 1


def test_possible_schema_mistake_is_sent_once_without_it():
    message = "The model `judge` does not exist or you do not have access to it."
    with FakeOpenAIServer(refusing((lambda body: True, message, None, "model_not_found"))) as server:
        problem = failure(server)
        assert (problem.reason_code, problem.usage.calls) == ("client_error", 2)
        assert [request.response_format for request in server.requests] == [
            "json_schema",
            "json_object",
        ]
        failure(server)
        assert server.requests[-2].response_format == "json_schema"  # nothing was learnt


# The refusals of a schema of llama.cpp, Anthropic and Gemini: the message, and the fields beside it.
SCHEMA_REFUSALS = [
    ("JSON schema error at #/properties/code", None, None),
    ("JSON schema conversion failed", None, None),
    ("Schemas contains too many parameters with union types (20 parameters exceed limit: 16 parameters)", None, "invalid_request_error"),
    ("Schema is too complex for compilation", None, "invalid_request_error"),
    ("The compiled grammar is too large", None, "invalid_request_error"),
    ("The specified schema produces a constraint that has too many states for serving.", None, "INVALID_ARGUMENT"),
    ("Request contains an invalid argument.", None, "INVALID_ARGUMENT"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "param", "code"), SCHEMA_REFUSALS)
def test_a_schema_that_is_refused_in_any_words_is_left_out(message, param, code):
    with FakeOpenAIServer(refusing((wants_schema, message, param, code))) as server:
        assert ask(server).content
        assert ask(server).content
        forms = [request.response_format for request in server.requests]
        assert forms == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize(("message", "param", "code"), SCHEMA_REFUSALS)
def test_refused_large_schema_does_not_switch_off_small_ones(message, param, code):
    large = create_model("Large", **{f"s{number}": (str, ...) for number in range(500)})

    def is_large(body):
        return len(str(body.get("response_format"))) > 10_000

    with FakeOpenAIServer(refusing((is_large, message, param, code))) as server:
        model = OpenAIModel("judge", base_url=server.base_url)
        asked = prompt()
        small = schema_for(asked)
        for schema in (small, large, small, large):
            run_sync(model.generate, asked, schema)
        forms = [request.response_format for request in server.requests]
        assert forms == ["json_schema", "json_schema", "json_object", "json_schema", "json_object"]
        assert model.form == "json_schema"


def test_next_form_may_be_refused_after_an_unknown_one():
    grammar = (wants_schema, "Request contains an invalid argument.", None, None)
    mode = (has("response_format"), "response_format json_object is not supported", None, None)
    with FakeOpenAIServer(refusing(grammar, mode)) as server:
        assert ask(server).usage.calls == 3
        assert ask(server).usage.calls == 1
        assert server.requests[-1].response_format is None


def test_free_text_under_a_schema_is_read_as_plain_text_is():
    def with_prose(request):
        return f"Here is my judgement:\n\n{labelled()(request)}\n\nI hope this helps."

    with FakeOpenAIServer(with_prose) as server:
        results = evaluate(samples(1), METRICS, judge=judge(server), progress=False)
        assert values(results) == {(0.5, 0.5): 1}
        assert server.requests[0].response_format == "json_schema"


def test_a_server_that_refuses_everything_is_not_asked_for_ever():
    message = "Unsupported: response_format, temperature, seed, max_tokens, max_completion_tokens, the system role"
    with FakeOpenAIServer(refusing((lambda body: True, message, None, None))) as server:
        assert failure(server, max_tokens=9).reason_code == "client_error"
        assert server.count == 8  # two forms, five parameters and a role refused, then told
        assert server.requests[-1].body.keys() == {"model", "messages"}


@pytest.mark.parametrize(
    ("code", "reason"), [("json_validate_failed", "invalid_reply"), ("content_filter", "refused")]
)
def test_some_400s_are_about_the_reply(code, reason):
    with FakeOpenAIServer(
        refusing((lambda body: True, "Failed to generate JSON", None, code))
    ) as server:
        assert failure(server).reason_code == reason


# ---- replies ----


@pytest.mark.parametrize(
    ("reply", "reason", "retryable"),
    [
        (Reply(refusal="I cannot\nhelp"), "refused", False),
        (Reply(content="{", finish_reason="content_filter"), "refused", False),
        (Reply(content='{"sentences": {', finish_reason="length"), "truncated", False),
        (Reply(no_choices=True), "server_error", True),
    ],
)
def test_a_reply_without_an_answer_has_a_code_and_what_it_cost(reply, reason, retryable):
    with FakeOpenAIServer(lambda request: reply) as server:
        problem = failure(server)
    assert (problem.reason_code, problem.retryable) == (reason, retryable)
    assert problem.usage.calls == 1
    assert (problem.usage.prompt_tokens > 0) is (reason != "server_error")


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_message_is_a_reply_to_ask_again_about(content):
    with FakeOpenAIServer(lambda request: Reply(content=content)) as server:
        assert ask(server).content == ""


def body_of(**message):
    return {"choices": [{"message": message, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (body_of(content="{}"), "{}"),
        (body_of(content=[{"type": "text", "text": "{"}, {"type": "text", "text": "}"}]), "{}"),
        (body_of(content=[{"type": "thinking", "text": "{no}"}, {"text": "{}"}, 3]), "{}"),
        (body_of(), ""),
        ({"choices": [{"message": None}]}, ""),
        ({"choices": [{}], "usage": {"prompt_tokens": "many", "completion_tokens": -1}}, ""),
        ({**body_of(content="{}"), "error": {"message": "late", "code": 500}}, "{}"),
    ],
)
def test_answers_of_other_shapes_are_read(answer, content):
    reply = read_answer(json.dumps(answer), prompt())
    assert reply.content == content
    assert reply.usage.estimated


@pytest.mark.parametrize(
    ("text", "reason", "retryable"),
    [
        ("", "server_error", True),
        ("<!doctype html><h1>502</h1>", "server_error", True),
        ('{"choices": [{"mess', "server_error", True),
        ("[" * 100_000, "server_error", True),
        ("null", "server_error", True),
        ('{"choices": {}}', "server_error", True),
        ('{"choices": ["x"]}', "server_error", True),
        ('{"error": {"message": "slow down", "code": 429}}', "rate_limited", True),
        ('{"error": {"message": "no credit", "code": 402}}', "client_error", False),
        ('{"error": {"message": "broken", "code": true}}', "server_error", True),
        ('{"error": {"message": "broken"}}', "server_error", True),
    ],
)
def test_an_answer_that_is_none_is_the_servers_fault(text, reason, retryable):
    with pytest.raises(JudgeError) as caught:
        read_answer(text, prompt())
    assert (caught.value.reason_code, caught.value.retryable) == (reason, retryable)


def test_a_cost_is_taken_over():
    answer = {
        **body_of(content="{}"),
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.25},
    }
    usage = read_answer(json.dumps(answer), prompt()).usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost) == (1, 7, 2, 0.25)
    assert not usage.estimated


# ---- faults, through judge and run ----

CODES = {
    "429": "rate_limited",
    "429_retry_after": "rate_limited",
    "500": "server_error",
    "503": "overloaded",
    "reset": "connection_error",
    "hang": "timeout",
    "cut_body": "connection_error",
    "html": "server_error",
    "no_choices": "server_error",
    "no_content": "server_error",
    "refusal_field": "refused",
    "length": "truncated",
}


def seconds(kind):
    """Return a timeout: short where a request hangs, else long enough for a slow machine."""
    return 2.0 if kind == "hang" else 60.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_passing_fault_costs_no_score(kind):
    fault = Fault(kind, times=1, param=1 if kind in CONTENT_FAULTS else 0.05)
    with FakeOpenAIServer(labelled(), faults=[fault]) as server:
        results = evaluate(
            samples(1), METRICS, judge=judge(server), timeout=seconds(kind), progress=False
        )
        assert values(results) == {(0.5, 0.5): 1}
        assert (server.count == 1) is (kind in HARMLESS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_a_lasting_fault_is_told_and_never_a_wrong_number(kind):
    fault = Fault(kind, param=1 if kind in CONTENT_FAULTS else 0.05)
    with FakeOpenAIServer(labelled(), faults=[fault]) as server:
        results = evaluate(
            samples(1), METRICS, judge=judge(server), timeout=seconds(kind), progress=False
        )
        assert server.count <= 8
    score = results[0]["context_recall"]
    if kind in HARMLESS:
        assert values(results) == {(0.5, 0.5): 1}
        return
    assert values(results) == {(None, None): 1}
    assert score.reason_code == "not_judged"
    assert {verdict.code for verdict in score.verdicts} <= {
        CODES.get(kind), "invalid_reply", "missing_id", "conflicting_verdicts",
    }  # fmt: skip
    if kind in CODES:
        assert {verdict.code for verdict in score.verdicts} == {CODES[kind]}


@pytest.mark.slow
def test_a_server_with_room_for_eight_loses_nothing():
    with FakeOpenAIServer(labelled(), latency=0.05, max_parallel=8, retry_after=0.1) as server:
        results = evaluate(
            samples(200), METRICS, judge=judge(server), max_concurrency=16, progress=False
        )
        assert values(results) == {(0.5, 0.5): 200}
        rejected = sum(request.status == 429 for request in server.requests)
        assert rejected <= 0.15 * 200  # of a machine so slow that there are never nine at once: none


def test_retry_after_is_waited_out():
    fault = Fault("429_retry_after", times=1, param=1)
    with FakeOpenAIServer(labelled(), faults=[fault]) as server:
        evaluate(samples(1), METRICS, judge=judge(server), progress=False)
        first, second = server.requests
        assert second.arrived - first.finished >= 1


def test_a_server_that_asks_for_a_wait_of_years_has_refused(caplog):
    with FakeOpenAIServer(labelled(), faults=[Fault("429_retry_after", param=1e9)]) as server:
        results = evaluate(samples(40), METRICS, judge=judge(server), progress=False)
        assert server.count <= 10 + 16  # ten judgements given up, and what was on its way by then
    codes = Counter(row["context_recall"].verdicts[0].code for row in results)
    assert codes["rate_limited"] >= 10
    assert set(codes) <= {"rate_limited", "judge_down"}
    told = [record.getMessage() for record in caplog.records if "1000000000 s" in record.getMessage()]
    assert any("not asked again (rate_limited)" in message for message in told)
    assert len(told) <= 2  # this, and that the judge is down


@pytest.mark.slow
def test_a_server_that_always_fails_is_given_up():
    with FakeOpenAIServer(labelled(), faults=[Fault("500")]) as server:
        results = evaluate(samples(200), METRICS, judge=judge(server), progress=False)
        assert 60 <= server.count <= 60 + 16  # ten times six attempts, and what was on its way by then
    assert values(results) == {(None, None): 200}
    codes = Counter(row["context_recall"].verdicts[0].code for row in results)
    assert set(codes) <= {"server_error", "judge_down"}
    assert "not asked any more" in results.stopped


# ---- one client ----


@pytest.mark.slow
def test_two_hundred_samples_use_sixteen_connections():
    with FakeOpenAIServer(labelled(), latency=0.02) as server:
        results = evaluate(
            samples(200), METRICS, judge=judge(server), max_concurrency=16, progress=False
        )
        assert values(results) == {(0.5, 0.5): 200}
        assert server.count == 200
        assert server.max_in_flight <= 16
        assert server.connections <= 32  # 16, and some more where the machine stalls; not 200


def test_scripts_loops_and_threads_share_the_connection():
    with FakeOpenAIServer(labelled()) as server:
        metric = ContextRecall(judge=judge(server))
        first, second, third, *rest = samples(7)
        assert metric.score(first).value == 0.5
        assert asyncio.run(metric.ascore(second)).value == 0.5

        async def notebook():
            return metric.score(third)  # a sync call in a running loop

        assert asyncio.run(notebook()).value == 0.5
        with ThreadPoolExecutor(1) as pool:
            assert [score.value for score in pool.map(metric.score, rest)] == [0.5] * 4
        assert (server.count, server.connections) == (7, 1)


@pytest.mark.slow
def test_many_threads_with_loops_of_their_own():
    def loop(chunk):
        async def main():
            return await asyncio.gather(*(metric.ascore(sample) for sample in chunk))

        return [score.value for score in asyncio.run(main())]

    with FakeOpenAIServer(labelled(), latency=0.01) as server:
        metric = ContextRecall(judge=judge(server))
        given = samples(80)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(loop, [given[start::4] for start in range(4)]))
        assert found == [[0.5] * 20] * 4
        assert server.max_in_flight <= 4 * 16  # each loop has a bound of its own
        assert server.connections < 80  # fewer than requests: all loops share one pool


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_a_client_of_its_own():
    with FakeOpenAIServer(labelled()) as server:
        metric = ContextRecall(judge=judge(server))
        first, second, third = samples(3)
        assert metric.score(first).value == 0.5
        fork = multiprocessing.get_context("fork")
        results = fork.Queue()
        child = fork.Process(target=lambda: results.put(metric.score(second).value))
        child.start()
        assert results.get(timeout=300) == 0.5
        child.join(60)
        assert child.exitcode == 0
        assert metric.score(third).value == 0.5
        assert (server.count, server.connections) == (3, 2)


def test_other_keys_and_servers_have_other_clients():
    with FakeOpenAIServer(labelled(), api_key="right") as one, FakeOpenAIServer(labelled()) as two:
        assert failure(one, api_key="wrong").reason_code == "client_error"
        ask(one, api_key="right")
        ask(two)
        assert (one.count, two.count) == (1, 1)


def test_closed_clients_are_built_anew():
    with FakeOpenAIServer(labelled()) as server:
        ask(server)
        clients.close_all()
        ask(server)
        assert (server.count, server.connections) == (2, 2)


@pytest.mark.slow
def test_a_script_ends_quietly():
    script = """
        from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample
        from support import FakeOpenAIServer, answer_from
        server = FakeOpenAIServer(answer_from()).start()
        judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
        sample = Sample(reference="A door is green.", retrieved_contexts=["A door is green."])
        print(ContextRecall(judge=judge).score(sample).value)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", textwrap.dedent(script)],
        capture_output=True, text=True, timeout=LONGEST_PROCESS, check=False, env={**os.environ, "PYTHONPATH": TESTS},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.0\n", "")


def test_no_thread_of_ours_is_left_behind_by_a_model():
    before = {thread.name for thread in threading.enumerate()}
    with FakeOpenAIServer(labelled()) as server:
        ask(server)
    assert {thread.name for thread in threading.enumerate()} <= before | {"ctxmetrics"}


# ---- the object ----


def test_identity_names_what_changes_the_answers():
    model = OpenAIModel("gpt-4.1", api_key="k")
    assert model.identity == "openai/gpt-4.1"
    assert model.name == "gpt-4.1"
    assert replace(model, base_url="https://api.openai.com/v1/").identity == "openai/gpt-4.1"
    assert replace(model, timeout=3.0, api_key="other").identity == "openai/gpt-4.1"
    assert (
        replace(model, base_url="http://localhost:8000/v1/", temperature=0.5, seed=None).identity
        == "openai/gpt-4.1@localhost:8000/v1(temperature=0.5, seed=None)"
    )
    changed = [
        replace(model, temperature=None),
        replace(model, seed=1),
        replace(model, max_tokens=5),
        replace(model, reply_format="text"),
        replace(model, extra={"top_p": 0.1}),
        replace(model, extra={"top_p": 0.2}),
        replace(model, base_url="https://example.org/v1"),
        replace(model, base_url="https://example.org/other/v1"),
    ]
    assert len({m.identity for m in [model, *changed]}) == 9


def test_equal_parameters_are_equal_models_whatever_the_key():
    one, two = (
        OpenAIModel("m", api_key="a", extra={"x": [1]}),
        OpenAIModel("m", api_key="b", extra={"x": [1]}),
    )
    assert one == two
    assert hash(one) == hash(two)
    assert one != OpenAIModel("m", api_key="a")
    assert LLMJudge(one) == LLMJudge(two)


def test_copies_share_the_key_and_pickles_read_the_environment(monkeypatch):
    with FakeOpenAIServer(answer_from(), api_key="right") as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="right", extra={"user": "x"})
        for same in (
            copy(model),
            deepcopy(model),
            replace(model),
            OpenAIModel(**asdict_shallow(model)),
        ):
            assert same == model
            run_sync(same.generate, prompt(), schema_for(prompt()))
        sent = pickle.loads(pickle.dumps(model))  # noqa: S301 - dumped in the same line
        assert sent == model
        with pytest.raises(JudgeError, match="401"):
            run_sync(sent.generate, prompt(), schema_for(prompt()))
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        run_sync(sent.generate, prompt(), schema_for(prompt()))


def asdict_shallow(model):
    return {name: getattr(model, name) for name in asdict(model)}


def test_a_pickled_metric_scores_elsewhere():
    with FakeOpenAIServer(answer_from()) as server:
        metric = ContextRecall(judge=judge(server, seed=3))
        again = pickle.loads(pickle.dumps(metric))  # noqa: S301 - dumped in the same line
        assert again == metric
        assert again.score(samples(1)[0]).value == 0.5


def test_the_key_comes_from_the_environment_at_each_request(monkeypatch):
    with FakeOpenAIServer(answer_from(), api_key="second") as server:
        monkeypatch.setenv("OPENAI_API_KEY", " first\n")
        model = OpenAIModel("m", base_url=server.base_url)
        with pytest.raises(JudgeError, match="401"):
            run_sync(model.generate, prompt(), schema_for(prompt()))
        monkeypatch.setenv("OPENAI_API_KEY", "second\n")
        run_sync(model.generate, prompt(), schema_for(prompt()))


def test_openai_needs_a_key_and_other_servers_do_not(monkeypatch):
    with pytest.raises(ParameterError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt-4.1")
    with pytest.raises(ParameterError, match="OPENAI_API_KEY"):
        OpenAIModel("gpt-4.1", base_url="https://API.openai.com/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert OpenAIModel("m").base_url == "http://127.0.0.1:9/v1"
    monkeypatch.delenv("OPENAI_BASE_URL")
    unpickled = pickle.loads(pickle.dumps(OpenAIModel("m", api_key="k")))  # noqa: S301 - dumped in the same line
    with pytest.raises(ParameterError, match="OPENAI_API_KEY"):
        run_sync(unpickled.generate, prompt(), schema_for(prompt()))
    with pytest.raises(ParameterError, match="OPENAI_API_KEY"):
        ContextRecall(judge=LLMJudge(unpickled)).score(samples(1)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": " "}, "model must be"),
        ({"temperature": -1}, "temperature=-1"),
        ({"temperature": "0"}, "temperature='0'"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"seed": True}, "seed=True"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"timeout": 0}, "timeout=0"),
        ({"reply_format": "xml"}, "reply_format='xml'"),
        ({"extra": {"messages": []}}, "'messages'"),
        ({"extra": {"x": object()}}, "JSON values only"),
        ({"extra": {"x": float("nan")}}, "JSON values only"),
        ({"extra": ["x"]}, "extra must map"),
        ({"base_url": "localhost:8000"}, "base_url must be"),
        ({"base_url": "ftp://x/v1"}, "base_url must be"),
        ({"base_url": "http://local host/v1"}, "base_url must be"),
        ({"base_url": "http://h/v1 /x"}, "base_url must be"),
        ({"base_url": "http://h/v1?"}, "base_url holds"),
        ({"base_url": "http://h/v1#"}, "base_url holds"),
        ({"base_url": " "}, "base_url must be"),
        ({"base_url": 5}, "base_url must be"),
        ({"base_url": ["x"]}, "base_url must be"),
        ({"base_url": b"http://h/v1"}, "base_url must be"),
        ({"api_key": "not a key"}, "api_key holds a character"),
        ({"api_key": "sk-ключ"}, "api_key holds a character"),
    ],
)
def test_misuse_is_told_at_once(options, message):
    with pytest.raises(ParameterError, match=message):
        OpenAIModel(**{"model": "m", "api_key": "k", **options})


def test_blanks_around_an_address_are_no_part_of_it(monkeypatch):
    assert OpenAIModel("m", base_url=" http://h/v1 ").base_url == "http://h/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v2 ")
    assert OpenAIModel("m").base_url == "http://h/v2"
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/ ")
    model = OpenAIModel.preset("azure", "m", api_key="k")
    assert model.base_url == "https://r.openai.azure.com/openai/v1"
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", " ")
    with pytest.raises(ParameterError, match="set AZURE_OPENAI_ENDPOINT"):
        OpenAIModel.preset("azure", "m", api_key="k")


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    sample = Sample(
        user_input="q", reference="The pump hums.", retrieved_contexts=["The filter is clean."]
    )
    model = OpenAIModel("never-asked", base_url="http://127.0.0.1:9/v1", api_key="k")
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openai\]'"):
        evaluate([sample], [ContextRecall()], judge=LLMJudge(model), progress=False)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[openai\]'"):
        ContextRecall(judge=LLMJudge(model)).score(sample)


def test_a_key_object_of_pydantic_is_taken():
    from pydantic import SecretStr

    assert Key(SecretStr("s3cret")).reveal() == "s3cret"
    with FakeOpenAIServer(answer_from(), api_key="s3cret") as server:
        ask(server, api_key=SecretStr("s3cret"))


def test_the_models_own_timeout_counts():
    with FakeOpenAIServer(answer_from(), latency=0.6) as server:
        slow = judge(server, timeout=30.0)
        assert values(evaluate(samples(1), METRICS, judge=slow, timeout=0.1, progress=False)) == {
            (0.5, 0.5): 1
        }
        hasty = judge(server, timeout=0.1, seed=1)
        results = evaluate(samples(1), METRICS, judge=hasty, timeout=30.0, progress=False)
        assert {verdict.code for verdict in results[0]["context_recall"].verdicts} == {"timeout"}
        assert "no answer within 0.1 s" in results[0]["context_recall"].message


@pytest.mark.parametrize(
    "path",
    [
        "/v1/sk-0123456789abcdef",
        "/gsk_0123456789abcdef/v1",
        "/v1/sk%2D0123456789abcdef",
        "/my-known-secret/v1",
    ],
)
def test_a_key_in_the_path_of_an_address_is_refused(path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "my-known-secret")
    with pytest.raises(ParameterError, match="base_url seems to hold a key") as raised:
        OpenAIModel("m", base_url=f"http://localhost:8000{path}", api_key="k")
    assert path not in str(raised.value)


@pytest.mark.parametrize("address", ["http://localhost:8000/{}/v1", "http://{}.localhost:8000/v1"])
@pytest.mark.parametrize("key", ["own-secret-4711-0815", "Own.Secret.4711.0815"])
def test_the_own_key_in_an_address_or_a_model_is_refused(address, key):
    with pytest.raises(ParameterError, match="OpenAIModel: base_url seems to hold a key"):
        OpenAIModel("m", base_url=address.format(key), api_key=key)
    with pytest.raises(ParameterError, match="DecisionAPI: base_url seems to hold a key"):
        DecisionAPI("m", wire="systemone", base_url=address.format(key), api_key=key)
    with pytest.raises(ParameterError, match="OpenAIModel: model seems to be a key"):
        OpenAIModel(f"org/{key}", base_url="http://localhost:8000/v1", api_key=key)
    with pytest.raises(ParameterError, match="DecisionAPI: model seems to be a key"):
        DecisionAPI(key, wire="systemone", base_url="http://localhost:8000/v1", api_key=key)


@pytest.mark.parametrize("name", ["hf-org/model-7b", "xai-grok-beta/small", "org/sk-tiny"])
def test_a_model_whose_name_begins_as_keys_do_is_no_key(name):
    model = OpenAIModel(name, base_url="http://localhost:8000/v1", api_key="k")
    assert name in LLMJudge(model).name


@pytest.mark.parametrize("model", ["sk-0123456789abcdef", "my-known-secret"])
def test_a_key_in_place_of_the_model_is_refused(model, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "my-known-secret")
    with pytest.raises(ParameterError, match="model seems to be a key") as raised:
        OpenAIModel(model, base_url="http://localhost:8000/v1", api_key="k")
    assert model not in str(raised.value)


@pytest.mark.parametrize(
    "path", ["/v1", "/openai/deployments/gpt-4o-mini", "/v1beta/openai", "/task-runner/v1"]
)
def test_an_ordinary_address_is_no_key(path):
    assert OpenAIModel("hf-internal-testing/m", base_url=f"http://localhost:8000{path}", api_key="k")
