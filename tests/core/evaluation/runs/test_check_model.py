"""A model is tried with one request before a run is paid for: each way to fail is named by its cause."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ctxmetrics import DecisionAPI, DecisionJudge, LLMJudge, OpenAIModel, Reply, check_model
from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError
from ctxmetrics.models.openai import capabilities, client
from support import FakeOpenAIServer, Fault, HttpResponse, answer_from
from support.answers import read_question
from support.command import run_command
from support.decisions import DecisionServer
from support.later import skip_without

skip_without("openai")

HONEST = answer_from()
HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"


@pytest.fixture(autouse=True)
def _no_memory_of_servers():
    capabilities._known.clear()


def refusal(status, message, **more):
    body = json.dumps({"error": {"message": message, "type": "invalid_request_error", **more}})
    return HttpResponse(status=status, body=body.encode())


def completion(content, **more):
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return HttpResponse(status=200, body=json.dumps({"choices": [choice], **more}).encode())


def without_echo(request):
    """The right answer about this data, but no code and no quote that is in its place."""
    given = HONEST.answer(read_question(request.text))
    for sentence in given["sentences"].values():
        sentence.update(supported=False, evidence=[])
    for context in given["useful"].values():
        context.update(useful=False)
    return completion(json.dumps({key: value for key, value in given.items() if key != "code"}))


def moved(_):
    headers = (("location", "http://127.0.0.1:9/v1/chat/completions"),)
    return HttpResponse(status=308, body=b"", headers=headers)


WAYS = {
    "key": {"api_key": "sk-another-key-of-nobody"},
    "path": lambda _: HttpResponse(status=404, body=b'{"detail": "Not Found"}'),
    "model_name": lambda _: refusal(
        404, "The model `judge` does not exist or you do not have access to it.", code="model_not_found"
    ),
    "reply_form": {"faults": [Fault("prose_only")]},
    "truncated": {"faults": [Fault("length")]},
    "usage": {"usage": False},
    "redirect": moved,
    "timeout": {"faults": [Fault("hang")]},
    "content_type": lambda _: HttpResponse(
        status=200, body=b"<html><body>Welcome</body></html>", content_type="text/html"
    ),
    "echo": without_echo,
    "overload": {"faults": [Fault("429_retry_after")]},
    "server": {"faults": [Fault("500")]},
    "connection": {"faults": [Fault("reset")]},
    "refused": {"faults": [Fault("refusal_field")]},
}


def server_of(way):
    options = way if isinstance(way, dict) else {}
    return FakeOpenAIServer(HONEST if isinstance(way, dict) else way, **options)


def model_at(server, **options):
    return OpenAIModel("judge", base_url=server.base_url, api_key="sk-fake-key-of-nobody", **options)


@pytest.mark.parametrize("cause", WAYS)
def test_each_way_to_fail_is_named_by_its_cause(cause):
    with server_of(WAYS[cause]) as server:
        # Short only where the server never answers: a busy machine takes more than half a second for a reply.
        found = check_model(model_at(server), timeout=0.5 if cause == "timeout" else 60)
        assert server.count <= 1
    wrong = [item for item in found.findings if item.cause]
    assert [item.cause for item in wrong] == [cause]
    assert found.ok is (cause == "usage")
    assert wrong[0].fix
    assert wrong[0].fix in str(found)
    assert "sk-" not in str(found)


REFUSALS = {
    # What providers write, with the kind of error beside it, which is none of the model's name.
    (400, "Unsupported value: 'temperature' does not support 0 with this model."): "refused_request",
    (400, "This model's maximum context length is 100 tokens."): "too_long",
    (401, "Incorrect API key provided. The model was not found."): "key",
    (404, "models/gemini-x is not found for API version v1main."): "model_name",
    (400, "some/model is not a valid model ID"): "model_name",
    (404, "The API deployment for this resource does not exist."): "model_name",
    (400, "Model Not Exist"): "model_name",
    (400, "The provided model identifier is invalid."): "model_name",
}


@pytest.mark.parametrize(("said", "cause"), REFUSALS.items())
def test_a_refusal_is_read_for_what_it_says(said, cause):
    with FakeOpenAIServer(lambda _: refusal(*said)) as server:
        found = check_model(model_at(server))
    assert [item.cause for item in found.findings] == [cause]


@pytest.mark.parametrize("code", ["model_not_found", "model_not_available", "not_found_error"])
def test_a_code_of_a_refusal_names_the_model(code):
    with FakeOpenAIServer(lambda _: refusal(404, "model: judge", code=code)) as server:
        found = check_model(model_at(server))
    assert [item.cause for item in found.findings] == ["model_name"]


@pytest.mark.parametrize(
    ("supports", "form"),
    [
        ({"json_schema", "json_object"}, "json_schema"),
        ({"json_object"}, "json_object"),
        (set(), "text"),
    ],
)
def test_an_honest_model_passes_and_the_form_is_told(supports, form):
    with FakeOpenAIServer(HONEST, supports=frozenset(supports)) as server:
        found = check_model(model_at(server))
    assert found.ok
    assert [item.name for item in found.findings] == ["answer", "form", "echo", "verdicts", "usage"]
    assert not any(item.cause for item in found.findings)
    assert form in found.findings[1].told or form == "text"
    assert "plain text" in found.findings[1].told or form != "text"
    assert found.usage.prompt_tokens > 0


def test_a_form_that_is_insisted_on_and_refused_is_named():
    with FakeOpenAIServer(HONEST, supports=frozenset()) as server:
        found = check_model(model_at(server, reply_format="json_schema"))
    assert [item.cause for item in found.findings] == ["reply_form"]


@pytest.mark.parametrize("says", [True, False])
def test_a_judge_that_says_one_thing_to_all_is_found(says):
    def respond(request):
        given = HONEST.answer(read_question(request.text))
        proof = [{"context": "c1", "quote": "The tower stands in Paris", "whole": True}]
        texts = read_question(request.text).units
        for id_, sentence in given["sentences"].items():
            missing = "" if says else texts[id_]
            sentence.update(supported=says, evidence=proof if says else [], missing=missing)
        return json.dumps(given)

    with FakeOpenAIServer(respond) as server:
        found = check_model(model_at(server))
    assert [item.cause for item in found.findings if item.cause] == ["verdict"]


def test_a_quote_that_is_nowhere_is_named():
    def respond(request):
        given = HONEST.answer(read_question(request.text))
        for sentence in given["sentences"].values():
            for item in sentence.get("evidence", ()):
                item["quote"] = "The tower was never in Paris at all, say the papers"
        return json.dumps(given)

    with FakeOpenAIServer(respond) as server:
        assert [item.cause for item in check_model(model_at(server)).findings if item.cause] == [
            "quotes"
        ]


def test_judge_settings_are_kept_and_nothing_is_remembered():
    with FakeOpenAIServer(HONEST) as server:
        judge = LLMJudge(model_at(server), language="ru")
        first, second = check_model(judge), check_model(judge)
        assert server.count == 2
        assert re.search("[а-я]", server.requests[0].text)
    assert first.ok
    assert second.ok


@pytest.mark.parametrize("given", ["lexical", 3, object()])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(ParameterError, match="is no model"):
        check_model(given)


def test_a_name_stands_for_its_model():
    with FakeOpenAIServer(HONEST) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", server.base_url)
        patch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
        assert check_model("openai/fake-judge").ok
        assert server.count == 1
    with pytest.raises(ParameterError, match=r"Did you mean openai/gpt-4o\?"):
        check_model("gpt-4o")


# --- the command ---


def doctor(server, *more):
    return run_command(
        "doctor", "--judge", "openai/judge", "--base-url", server.base_url, *more,
        OPENAI_API_KEY="sk-fake-key-of-nobody",
    )  # fmt: skip


@pytest.mark.slow
def test_the_command_exits_0_and_tells_what_a_files_run_costs():
    with FakeOpenAIServer(HONEST) as server:
        run = doctor(server, HANDBOOK, "--price-in", "1", "--price-out", "2")
        assert server.count == 1
    assert run.returncode == 0, run
    assert re.search(r"\d+ calls, about \d+ \+ \d+ tokens", run.stdout)
    assert "about $" in run.stdout


@pytest.mark.parametrize(
    ("rows", "more", "told"),
    [
        (None, (), "cannot be read"),
        ('{"user_input": "a", "retrieved_contexts": 3}', (), "'retrieved_contexts' must be a list"),
        ('{"user_input": "a"}', (), "no metric fits"),
        ('{"user_input": "a"}', ("--metric", "faithfulness"), "is unknown"),
    ],
    ids=["no file", "bad row", "no metric fits", "unknown metric"],
)
def test_a_bad_file_is_told_before_a_request_is_sent(rows, more, told, tmp_path):
    file = tmp_path / "bad.jsonl"
    if rows is not None:
        file.write_text(rows, encoding="utf-8")
    with FakeOpenAIServer(HONEST) as server:
        run = doctor(server, file, *more)
        assert server.count == 0
    assert (run.returncode, run.stdout) == (2, "")
    assert told in run.stderr


def test_the_command_exits_2_with_the_cause_and_what_to_change():
    with server_of(WAYS["model_name"]) as server:
        run = doctor(server)
    assert run.returncode == 2
    assert "model_name" in run.stdout
    assert "--judge" in run.stdout


def test_a_judge_without_a_model_needs_no_request():
    run = run_command("doctor", "--judge", "lexical")
    assert run.returncode == 0
    assert "asks no model" in run.stdout


# --- how long a request takes ---


class Clock:
    """Stands for the module `time` where a request is measured: each one takes a quarter of a second."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 0.25
        return self.now


def test_a_request_is_measured_without_the_start_of_the_client(monkeypatch):
    monkeypatch.setattr(client, "time", Clock())
    with FakeOpenAIServer(HONEST) as server:
        found = check_model(model_at(server))
    assert (found.seconds, found.with_start) == (0.25, False)
    assert "answer: in 0.25 s" in str(found)


def test_one_of_three_requests_to_a_decision_model_is_measured(monkeypatch):
    monkeypatch.setattr(client, "time", Clock())
    with DecisionServer() as server:
        model = DecisionAPI("laya", wire="systemone", base_url=server.url, api_key="k-none-of-any")
        found = check_model(DecisionJudge(model))
        assert len(server.requests) == 3
    assert (found.seconds, found.with_start) == (0.25, False)


class OwnModel:
    """A model with a client of its own, whose start nothing of ours can see."""

    identity = "own/model"

    async def generate(self, prompt, schema):
        del prompt, schema
        return Reply(content="Sure, here is what I think.")


def test_a_client_that_is_not_ours_is_measured_with_its_start():
    found = check_model(OwnModel())
    assert found.with_start
    assert "the reply begins: Sure, here is what I think." in str(found)


# --- how a reply begins that cannot be read ---


KEY = "sk-fake-key-of-nobody"
UNREAD = {
    "prose": (lambda _: completion(f"Of course! {KEY} {'long ' * 100}"), "Of course! [key] long long"),
    "page": (
        lambda _: HttpResponse(
            status=200, body=f"<html>{KEY} Log in".encode(), content_type="text/html"
        ),
        "<html>[key] Log in",
    ),
    "no choices": (
        lambda _: HttpResponse(status=200, body=json.dumps({"greeting": f"hi {KEY}"}).encode()),
        '{"greeting": "hi [key]"}',
    ),
    "nothing": (lambda _: completion(""), "(nothing)"),
    "hidden": (lambda _: completion("a\u202e\x1b[31mb\n\nc"), "a\ufffd\ufffd[31mb c"),
}


@pytest.mark.parametrize("name", UNREAD)
def test_beginning_of_an_unread_reply_is_shown_without_keys(name):
    respond, begins = UNREAD[name]
    with FakeOpenAIServer(respond) as server:
        found = check_model(model_at(server))
    (reply,) = [item.reply for item in found.findings if item.cause]
    assert reply is not None
    assert reply.startswith(begins)
    assert len(reply) <= 200
    assert KEY not in str(found)
    assert f"the reply begins: {begins}" in str(found)
    assert found.to_dict()["findings"][-1]["reply"] == reply


def test_a_reply_that_is_read_is_not_shown():
    with FakeOpenAIServer(HONEST) as server:
        found = check_model(model_at(server))
    assert [item.reply for item in found.findings] == [None] * 5


# --- what is advised can be done on the command line ---


def test_every_option_of_the_advice_is_one_of_the_command():
    judging = set(re.findall("--[a-z-]+", run_command("doctor", "--help").stdout))
    judging |= set(re.findall("--[a-z-]+", run_command("score", "--help").stdout))
    judging |= set(re.findall("--[a-z-]+", run_command("run", "--help").stdout))
    advice = {
        **read_data("evaluation.runs", "model_check.json")["fixes"],
        **read_data("evaluation.cli", "words.toml")["advice"],
    }
    for cause, text in advice.items():
        options = set(re.findall("--[a-z-]+", text)) - {"--ctx-size"}  # of a server
        assert options <= judging, cause


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (("--reply-format", "json_object"), {"response_format": {"type": "json_object"}}),
        (("--reply-format", "text"), {"response_format": None}),
        (("--judge-option", "max_tokens=4000"), {"max_tokens": 4000}),
        (
            ("--judge-option", "temperature=0.5", "--judge-option", "seed=none"),
            {"temperature": 0.5, "seed": None},
        ),
    ],
)
def test_options_of_the_model_reach_its_requests(options, sent):
    with FakeOpenAIServer(HONEST) as server:
        run = doctor(server, *options)
        (request,) = server.requests
    assert run.returncode == 0, run
    assert {name: request.body.get(name) for name in sent} == sent


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ("--judge-option", "max_token=4"),
            "there is no parameter 'max_token'. Did you mean 'max_tokens'?",
        ),
        (("--judge-option", "max_tokens"), "must be NAME=VALUE"),
        (("--judge-option", "max_tokens=none of it"), "max_tokens"),
        (("--judge-option", "joint=off"), "joint must be true or false, not 'off'"),
        (("--judge-option", "language=3"), "language=3 must be an ISO 639 code"),
        (("--judge-option", "api_key=x"), "there is no parameter 'api_key'"),
        (("--reply-format", "xml"), "--reply-format"),
    ],
)
def test_wrong_options_of_the_model_are_refused(options, says):
    with FakeOpenAIServer(HONEST) as server:
        run = doctor(server, *options)
        assert server.count == 0
    assert run.returncode == 2
    assert says in run.stderr


def test_a_judge_without_a_model_takes_no_options_of_one():
    run = run_command("doctor", "--judge", "lexical", "--reply-format", "text")
    assert (run.returncode, run.stdout) == (2, "")
    assert "--reply-format is not for --judge lexical: it asks no language model" in run.stderr
