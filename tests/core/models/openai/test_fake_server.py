"""The fake server, each behaviour as the real OpenAI client sees it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import sys
import threading
import time
import urllib.parse

import pytest

from support.later import later, skip_without

pytestmark = pytest.mark.slow  # the tests of a tool of tests

from ctxmetrics.errors import ParameterError
from support import (
    CONTENT_FAULTS,
    FAULTS,
    TRANSPORT_FAULTS,
    FakeOpenAIServer,
    Fault,
    Reply,
)

skip_without("openai")

openai = later("openai")

KEY = "sk-very-secret-0123"
REPLY = {
    "sentences": {
        "s1": {"supported": True, "evidence": [{"context": "c2", "quote": 'it\'s "so"'}]},
        "s2": {"supported": False, "reason": "no year"},
    },
    "useful": {"c1": {"useful": False}, "c2": {"useful": True}},
}
TEXT = json.dumps(REPLY)
TOOLS = [{"type": "function", "function": {"name": "Verdicts", "parameters": {"type": "object"}}}]
FORCED = {"type": "function", "function": {"name": "Verdicts"}}


def reply(request):
    return TEXT


def client(server, **kwargs):
    return openai.OpenAI(base_url=server.base_url, api_key=KEY, max_retries=0, **kwargs)


def ask(server, text="hello", *, timeout=60.0, model="judge", **kwargs):
    with client(server, timeout=timeout) as api:
        return api.chat.completions.create(
            model=model, messages=[{"role": "user", "content": text}], **kwargs
        )


def content(server, text="hello", **kwargs):
    return ask(server, text, **kwargs).choices[0].message.content


def threads():
    return {thread.name for thread in threading.enumerate()}


# ---- plain answers ----


def test_sync_and_async_clients_get_the_content():
    async def main(server):
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as api:
            answer = await api.chat.completions.create(
                model="judge", messages=[{"role": "user", "content": "привет"}]
            )
            return answer.choices[0].message.content

    with FakeOpenAIServer(lambda request: f"you said {request.user}") as server:
        assert content(server, "hi") == "you said hi"
        assert asyncio.run(main(server)) == "you said привет"
        assert server.count == 2


def test_the_request_is_recorded_in_parts_and_without_the_key():
    with FakeOpenAIServer(reply) as server, client(server) as api:
        before = time.monotonic()
        api.chat.completions.create(
            model="judge",
            messages=[
                {"role": "system", "content": "be exact"},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
                },
                {"role": "assistant", "content": "three"},
                {"role": "user", "content": "four"},
            ],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"type": "object"}},
            },
            temperature=0.5,
            extra_headers={"x-api-key": KEY, "x-trace": "t1"},
        )
        (request,) = server.requests
        assert (request.index, request.model, request.status, request.fault) == (0, "judge", 200, None)
        assert (request.system, request.user) == ("be exact", "one\ntwo\nfour")
        assert request.opening == "one\ntwo"
        assert request.text == "be exact\none\ntwo\nthree\nfour"
        assert (request.response_format, request.schema) == ("json_schema", {"type": "object"})
        assert request.body["temperature"] == 0.5
        assert before <= request.arrived <= request.finished <= time.monotonic()
        assert request.headers["x-trace"] == "t1"
        assert KEY not in repr(request)
        assert KEY not in repr(vars(server))


def test_usage_is_a_quarter_of_characters_and_can_be_off():
    with FakeOpenAIServer(lambda request: "123456789") as server:
        usage = ask(server, "12345").usage
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 3, 5)
    with FakeOpenAIServer(reply, usage=False) as server:
        assert ask(server).usage is None


def test_forced_tool_gets_content_as_arguments_free_one_as_text():
    with FakeOpenAIServer(reply) as server:
        for choice in (FORCED, "required"):
            answer = ask(server, tools=TOOLS, tool_choice=choice).choices[0]
            (call,) = answer.message.tool_calls
            assert (call.function.name, call.function.arguments) == ("Verdicts", TEXT)
            assert answer.message.content is None
            assert answer.finish_reason == "tool_calls"
        answer = ask(server, tools=TOOLS, tool_choice="auto").choices[0]
        assert (answer.message.content, answer.message.tool_calls) == (TEXT, None)
        assert [request.tool for request in server.requests] == ["Verdicts", "Verdicts", None]


def test_a_reply_sets_refusal_and_finish_reason():
    with FakeOpenAIServer(
        lambda request: Reply(refusal="no", finish_reason="content_filter")
    ) as server:
        choice = ask(server).choices[0]
        assert (choice.message.content, choice.message.refusal) == (None, "no")
        assert choice.finish_reason == "content_filter"


def test_n_gives_that_many_choices():
    with FakeOpenAIServer(reply) as server:
        assert [choice.message.content for choice in ask(server, n=3).choices] == [TEXT] * 3


def test_streaming_gives_the_content_in_one_chunk():
    with FakeOpenAIServer(reply) as server:
        chunks = list(ask(server, stream=True))
        assert [chunk.choices[0].delta.content for chunk in chunks] == [TEXT]
        (chunk,) = list(ask(server, stream=True, tools=TOOLS, tool_choice=FORCED))
        assert chunk.choices[0].delta.tool_calls[0].function.arguments == TEXT
        assert [request.stream for request in server.requests] == [True, True]


def test_text_with_lone_surrogates_survives():
    with FakeOpenAIServer(
        lambda request: "\ud800 ok", faults=[Fault("500", rate=0.0, sticky=True)]
    ) as server:
        body = {"model": "judge", "messages": [{"role": "user", "content": "\udfff"}]}
        status, answer = send(server, json.dumps(body))
        assert status == 200
        assert b"\\ud800 ok" in answer


# ---- what it refuses ----


@pytest.mark.parametrize(
    ("supports", "kwargs", "param"),
    [
        ({"tools"}, {"response_format": {"type": "json_object"}}, "response_format"),
        (
            {"json_object"},
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}}},
            "response_format",
        ),
        ({"json_object"}, {"tools": TOOLS}, "tools"),
    ],
)
def test_an_unsupported_output_form_is_a_400_that_names_it(supports, kwargs, param):
    with FakeOpenAIServer(reply, supports=frozenset(supports)) as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, "as json", **kwargs)
        assert (caught.value.param, caught.value.code) == (param, "unsupported_value")
        assert server.requests[0].status == 400


def test_json_mode_needs_the_word_json_as_with_openai():
    with FakeOpenAIServer(reply) as server:
        with pytest.raises(openai.BadRequestError, match="must contain the word 'json'"):
            ask(server, "hello", response_format={"type": "json_object"})
        assert content(server, "hello in JSON", response_format={"type": "json_object"}) == TEXT


@pytest.mark.parametrize(
    ("inner", "good"),
    [
        (
            {
                "type": "object",
                "properties": {"a": {}},
                "required": ["a"],
                "additionalProperties": False,
            },
            True,
        ),
        ({"type": "object", "properties": {"a": {}}, "required": ["a"]}, False),
        (
            {"type": "object", "properties": {"a": {}}, "required": [], "additionalProperties": False},
            False,
        ),
    ],
)
def test_a_strict_schema_is_held_to_openais_rule(inner, good):
    outer = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": inner}},
        "required": ["items"],
        "additionalProperties": False,
    }
    with FakeOpenAIServer(reply) as server:
        for strict in (True, False):
            wanted = {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": outer, "strict": strict},
            }
            if good or not strict:
                assert content(server, response_format=wanted) == TEXT
            else:
                with pytest.raises(openai.BadRequestError, match="Invalid schema"):
                    ask(server, response_format=wanted)


@pytest.mark.parametrize("model", ["o1-mini", "o3", "o4-mini", "gpt-5.4"])
def test_reasoning_models_refuse_temperature_and_max_tokens(model):
    with FakeOpenAIServer(reply) as server:
        for name, value in (("temperature", 0.0), ("max_tokens", 100)):
            with pytest.raises(openai.BadRequestError) as caught:
                ask(server, model=model, **{name: value})
            assert (caught.value.param, caught.value.code) == (name, "unsupported_parameter")
        assert content(server, model=model, temperature=1, max_completion_tokens=100) == TEXT
        assert content(server, model="gpt-4o", temperature=0.0, max_tokens=100) == TEXT


def test_a_wrong_key_is_a_401_and_not_recorded():
    with FakeOpenAIServer(reply, api_key="sk-right-key") as server:
        with pytest.raises(openai.AuthenticationError) as caught:
            ask(server)
        assert caught.value.code == "invalid_api_key"
        assert KEY not in str(caught.value)
        assert server.count == 0
    with FakeOpenAIServer(reply, api_key=KEY) as server:
        assert content(server) == TEXT


def test_more_than_max_parallel_is_a_429_with_retry_after():
    async def main(server):
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as api:
            held = [asyncio.create_task(say(api, f"hold {n}")) for n in range(3)]
            await auntil(lambda: server.count == 3)
            with pytest.raises(openai.RateLimitError) as caught:
                await say(api, "one too many")
            await cancel(held)
            await auntil(lambda: all(request.finished for request in server.requests))
            return caught.value.response.headers["retry-after"], await say(api, "now there is room")

    with FakeOpenAIServer(
        reply, max_parallel=3, retry_after=7, faults=[Fault("hang", contains="hold")]
    ) as server:
        assert asyncio.run(main(server)) == ("7", TEXT)
        assert [request.fault for request in server.requests] == ["hang"] * 3 + ["max_parallel", None]
        assert [request.status for request in server.requests] == [None] * 3 + [429, 200]


def test_latency_is_added_to_every_request():
    with FakeOpenAIServer(reply, latency=0.2, faults=[Fault("500", every=2)]) as server:
        assert hits(server, "ab") == [False, True]
        assert all(request.finished - request.arrived >= 0.2 for request in server.requests)


def test_one_request_after_the_other_never_counts_as_parallel():
    with FakeOpenAIServer(reply, max_parallel=1) as server:
        for _ in range(50):  # a new connection each
            assert content(server) == TEXT
        assert server.max_in_flight == 1
        assert server.connections == 50


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "localhost", ""])  # noqa: S104 - must be refused
def test_only_loopback_addresses_are_bound(host):
    with pytest.raises(ParameterError, match="loopback"):
        FakeOpenAIServer(reply, host=host)


@pytest.mark.parametrize("kwargs", [{"latency": -1}, {"max_parallel": 0}, {"retry_after": -1}])
def test_numbers_out_of_range_are_refused(kwargs):
    with pytest.raises(ParameterError, match="FakeOpenAIServer"):
        FakeOpenAIServer(reply, **kwargs)


# ---- HTTP ----


def test_models_can_be_listed_and_other_paths_are_404_json():
    with FakeOpenAIServer(reply, models=("a", "b")) as server, client(server) as api:
        assert [model.id for model in api.models.list()] == ["a", "b"]
        assert api.models.retrieve("b").id == "b"
        with pytest.raises(openai.NotFoundError):
            api.models.retrieve("c")
        with pytest.raises(openai.NotFoundError):
            api.post("/responses", body={"model": "a", "input": "hi"}, cast_to=object)
        head = b"HEAD /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n"
        with socket.create_connection(address(server)) as connection:
            connection.sendall(head)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        assert received.startswith(b"HTTP/1.1 200 OK\r\n")
        assert received.endswith(b"\r\n\r\n")
        assert server.count == 0


def test_one_connection_serves_many_requests():
    with FakeOpenAIServer(reply) as server, client(server) as api:
        for _ in range(5):
            api.chat.completions.create(model="judge", messages=[{"role": "user", "content": "x"}])
        assert (server.count, server.connections) == (5, 1)


def test_chunked_bodies_and_pipelined_requests_are_read():
    body = json.dumps({"model": "judge", "messages": [{"role": "user", "content": "chunked"}]}).encode()

    def pieces():
        yield body[:10]
        yield body[10:]

    with FakeOpenAIServer(lambda request: request.user) as server:
        _, answer = send(server, pieces())
        assert json.loads(answer)["choices"][0]["message"]["content"] == "chunked"
        raw = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        with socket.create_connection(address(server)) as connection:
            connection.sendall(raw + raw.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            received = b"".join(iter(lambda: connection.recv(65536), b""))
        assert received.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_a_400_and_the_server_lives_on(raw):
    with FakeOpenAIServer(reply) as server:
        with socket.create_connection(address(server)) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
        assert content(server) == TEXT


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"model": "m"}',
        b'{"model": "m", "messages": "hi"}',
        b'{"model": "m", "messages": ["hi"]}',
        b'{"model": "m", "messages": [{"role": []}], "tools": [1]}',
        b'{"model": "m", "messages": [{"role": []}], "response_format": {"type": []}}',
        b'{"model": "m", "messages": [{"role": []}], "response_format": 1}',
    ],
)
def test_a_body_that_is_no_chat_request_is_a_400_in_openais_form(body):
    with FakeOpenAIServer(reply) as server:
        status, answer = send(server, body)
        assert status == 400
        assert json.loads(answer)["error"]["type"] == "invalid_request_error"


def test_200_concurrent_requests_each_get_their_own_answer():
    async def main(server):
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key=KEY, max_retries=0) as api:
            held = [asyncio.create_task(say(api, f"hold {n}")) for n in range(200)]
            await auntil(lambda: server.count == 200)
            assert (server.max_in_flight, server.connections) == (200, 200)
            await cancel(held)
            server.reset()
            return await asyncio.gather(*(say(api, f"q{n}") for n in range(200)))

    with FakeOpenAIServer(
        lambda request: request.user, faults=[Fault("hang", contains="hold")]
    ) as server:
        assert asyncio.run(main(server)) == [f"q{n}" for n in range(200)]
        assert sorted(request.user for request in server.requests) == sorted(
            f"q{n}" for n in range(200)
        )
        assert [request.index for request in server.requests] == list(range(200))


# ---- life ----


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is one loopback address")
def test_late_request_to_a_closed_server_reaches_no_other():
    """Linux gives a port again after some milliseconds, to any process."""
    places = []
    for _ in range(50):
        with FakeOpenAIServer(reply) as server:
            places.append(address(server))
    assert (
        len({host for host, _ in places}) > 1
    )  # all equal by chance: once in 16 million, 49 times in a row
    for where in places:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(where)


def test_leaving_the_block_closes_the_socket_and_ends_the_thread():
    before = threads()
    with FakeOpenAIServer(reply) as server:
        where = address(server)
        assert "fake-openai-server" in threads() - before
        idle = [socket.create_connection(where) for _ in range(100)]  # closing them takes a moment
        content(server)
    assert threads() <= before  # one of an earlier test may have ended
    for connection in idle:
        assert connection.recv(1) == b""
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where)
    server.stop()  # a second time does nothing
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url


def test_stopping_frees_a_client_that_hangs():
    caught = []

    def hang(server):
        try:
            ask(server, timeout=60)
        except openai.APIConnectionError as error:
            caught.append(error)

    with FakeOpenAIServer(reply, faults=[Fault("hang")]) as server:
        thread = threading.Thread(target=hang, args=(server,))
        thread.start()
        until(lambda: server.count == 1)
        assert (server.requests[0].fault, server.requests[0].finished) == ("hang", None)
    thread.join(30)
    assert len(caught) == 1
    assert not isinstance(caught[0], openai.APITimeoutError)


def test_a_server_can_be_started_again_and_not_twice():
    server = FakeOpenAIServer(reply)
    for _ in range(2):
        with server:
            assert content(server) == TEXT
            with pytest.raises(RuntimeError, match="already"):
                server.start()


def test_responder_error_is_a_500_to_the_client():
    def broken(request):
        raise KeyError("boom")

    for responder, error in ((broken, KeyError), (lambda request: {}, TypeError)):
        with (
            pytest.raises(error, match=r"boom|dict"),
            FakeOpenAIServer(responder) as server,
            pytest.raises(openai.InternalServerError, match=error.__name__),
        ):
            ask(server)


def test_reset_forgets_requests_and_hits():
    with FakeOpenAIServer(reply, faults=[Fault("500", times=1)]) as server:
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                ask(server)
            assert content(server) == TEXT
            assert [(request.index, request.fault) for request in server.requests] == [
                (0, "500"),
                (1, None),
            ]
            server.reset()
            assert (server.count, server.connections, server.max_in_flight) == (0, 0, 0)


# ---- when a fault hits ----


def hits(server, texts):
    server.reset()
    with client(server) as api:
        for text in texts:
            with contextlib.suppress(openai.InternalServerError):
                api.chat.completions.create(model="judge", messages=[{"role": "user", "content": text}])
    return [request.status == 500 for request in server.requests]


def test_rate_is_deterministic_by_order_and_seed():
    with FakeOpenAIServer(reply, faults=[Fault("500", rate=0.3)]) as server:
        first = hits(server, ["same"] * 40)
        assert 4 <= sum(first) <= 20  # 12 expected; six sigma of a binomial is 17
        assert hits(server, ["other"] * 40) == first
    with FakeOpenAIServer(reply, faults=[Fault("500", rate=0.3, seed=1)]) as server:
        assert hits(server, ["same"] * 40) != first


def test_sticky_goes_by_the_text_and_hits_every_retry():
    texts = [f"question {n}" for n in range(30)]
    with FakeOpenAIServer(reply, faults=[Fault("500", rate=0.3, sticky=True)]) as server:
        first = dict(zip(texts, hits(server, texts), strict=True))
        assert 0 < sum(first.values()) < 30
        assert hits(server, texts[::-1] * 2) == [first[text] for text in texts[::-1] * 2]


def test_sticky_fault_holds_if_asked_again_in_the_conversation():
    with (
        FakeOpenAIServer(reply, faults=[Fault("500", rate=0.5, sticky=True)]) as server,
        client(server) as api,
    ):
        (bad, *_) = [text for text in map(str, range(20)) if hits(server, [text]) == [True]]
        again = [
            {"role": "user", "content": bad},
            {"role": "assistant", "content": "{}"},
            {"role": "user", "content": "that was wrong"},
        ]
        with pytest.raises(openai.InternalServerError):
            api.chat.completions.create(model="judge", messages=again)


def test_sticky_key_says_what_is_the_same_request():
    with FakeOpenAIServer(
        reply, faults=[Fault("500", rate=0.5, sticky=True)], sticky_key=lambda request: request.user[:1]
    ) as server:
        names = [f"{letter}{n}" for letter in "abcdefgh" for n in range(3)]
        by_letter = [tuple(hits(server, names)[place : place + 3]) for place in range(0, 24, 3)]
        assert set(by_letter) == {(True,) * 3, (False,) * 3}


def test_every_times_and_contains():
    with FakeOpenAIServer(reply, faults=[Fault("500", every=3)]) as server:
        assert hits(server, "abcdefg") == [False, False, True, False, False, True, False]
    with FakeOpenAIServer(reply, faults=[Fault("500", times=2)]) as server:
        assert hits(server, "abcd") == [True, True, False, False]
    with FakeOpenAIServer(reply, faults=[Fault("500", times=1, sticky=True)]) as server:
        assert hits(server, "abab") == [True, True, False, False]
    with FakeOpenAIServer(reply, faults=[Fault("500", contains="x7")]) as server:
        assert hits(server, ["x7 a", "b", "x7 a"]) == [True, False, True]


def test_the_first_fault_that_hits_is_applied():
    with FakeOpenAIServer(reply, faults=[Fault("500", contains="b"), Fault("fence")]) as server:
        assert hits(server, "abc") == [False, True, False]
        assert [request.fault for request in server.requests] == ["fence", "500", "fence"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"kind": "429_retry"}, "did you mean '429_retry_after'"),
        ({"kind": "500", "rate": 1.5}, "rate"),
        ({"kind": "500", "rate": -0.1}, "rate"),
        ({"kind": "500", "every": 0}, "every"),
        ({"kind": "500", "times": 0}, "times"),
        ({"kind": "500", "param": -1}, "param"),
        ({"kind": "500", "every": 2, "sticky": True}, "only one"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(kwargs, message):
    with pytest.raises(ParameterError, match=message):
        Fault(**kwargs)


# ---- transport faults, as the client sees them ----


@pytest.mark.parametrize(
    ("kind", "error", "status"),
    [
        ("429", "RateLimitError", 429),
        ("429_retry_after", "RateLimitError", 429),
        ("500", "InternalServerError", 500),
        ("503", "InternalServerError", 503),
    ],
)
def test_status_faults(kind, error, status):
    with FakeOpenAIServer(reply, faults=[Fault(kind, times=1, param=2.5)]) as server:
        with pytest.raises(getattr(openai, error)) as caught:
            ask(server)
        assert caught.value.status_code == status
        wait = caught.value.response.headers.get("retry-after")
        assert wait == ("2.5" if kind == "429_retry_after" else None)
        assert (server.requests[0].fault, server.requests[0].status) == (kind, status)
        assert content(server) == TEXT


@pytest.mark.parametrize(
    ("kind", "cause"), [("reset", "ReadError"), ("cut_body", "RemoteProtocolError")]
)
def test_broken_connections(kind, cause):
    with FakeOpenAIServer(reply, faults=[Fault(kind, times=1)]) as server:
        with pytest.raises(openai.APIConnectionError) as caught:
            ask(server)
        assert type(caught.value.__cause__).__name__ == cause
        assert server.requests[0].fault == kind
        assert content(server) == TEXT


def test_reset_is_a_real_reset_and_cut_body_is_not():
    for kind, error in (("reset", ConnectionResetError), ("cut_body", http.client.IncompleteRead)):
        with FakeOpenAIServer(reply, faults=[Fault(kind)]) as server:
            body = json.dumps({"model": "judge", "messages": [{"role": "user", "content": "x"}]})
            with pytest.raises(error):
                send(server, body)


def test_hang_ends_when_the_client_leaves():
    with FakeOpenAIServer(reply, faults=[Fault("hang", times=1)]) as server:
        with pytest.raises(openai.APITimeoutError):
            ask(server, timeout=0.2)
        until(lambda: server.count == 1 and server.requests[0].finished is not None)
        assert (server.requests[0].fault, server.requests[0].status) == ("hang", None)
        assert content(server) == TEXT


def test_trickle_gives_the_whole_reply_in_its_time():
    with FakeOpenAIServer(reply, faults=[Fault("trickle", param=0.5)]) as server:
        assert content(server) == TEXT
        (request,) = server.requests
        assert (request.fault, request.status) == ("trickle", 200)
        assert request.finished - request.arrived >= 0.5


def test_html_is_a_page_with_status_200():
    with FakeOpenAIServer(reply, faults=[Fault("html")]) as server, client(server) as api:
        raw = api.chat.completions.with_raw_response.create(
            model="judge", messages=[{"role": "user", "content": "x"}]
        )
        assert raw.status_code == 200
        assert raw.headers["content-type"].startswith("text/html")
        assert raw.text.startswith("<!doctype html>")
        with pytest.raises(AttributeError):  # what users of the client meet: it returns a string
            _ = ask(server).choices


# ---- content faults, as the client sees them ----


def spoiled(kind, original=TEXT, **kwargs):
    """The whole first choice (or None) that the client gets when a fault meets a reply."""
    with FakeOpenAIServer(lambda request: original, faults=[Fault(kind, **kwargs)]) as server:
        choices = ask(server).choices
        assert [request.fault for request in server.requests] == [kind]
        return choices[0] if choices else None


def spoiled_json(kind, original=REPLY, **kwargs):
    return json.loads(spoiled(kind, json.dumps(original), **kwargs).message.content)


def test_faults_of_the_text():
    assert spoiled("fence").message.content == f"```json\n{TEXT}\n```"
    prose = spoiled("prose").message.content
    assert TEXT in prose
    assert "{" not in prose.replace(TEXT, "")
    prose = spoiled("prose_brace").message.content
    assert TEXT in prose
    assert "{" in prose.split(TEXT)[0]
    assert spoiled("null_json").message.content == "null"
    cut = spoiled("truncated_json").message.content
    assert TEXT.startswith(cut)
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut)


def test_the_draft_in_a_think_block_says_the_opposite():
    text = spoiled("think").message.content
    block, answer = text.split("</think>")
    assert answer.strip() == TEXT
    assert block.startswith("<think>")
    draft = json.loads(block[block.index("{") : block.rindex("}") + 1])
    assert [cell["supported"] for cell in draft["sentences"].values()] == [False, True]
    assert "{" in spoiled("think", "no json").message.content


def test_single_quotes():
    text = spoiled("single_quotes", '{"a": "it\'s \\"so\\"", "b": [true, null]}').message.content
    assert text == "{'a': 'it\\'s \"so\"', 'b': [true, null]}"


def test_faults_of_the_whole_reply():
    assert "sorry" in spoiled("refusal_text").message.content
    refused = spoiled("refusal_field").message
    assert refused.content is None
    assert "sorry" in refused.refusal
    assert spoiled("empty").message.content == ""
    assert spoiled("null").message.content is None
    assert "{" not in spoiled("prose_only").message.content
    assert spoiled("no_choices") is None
    cut = spoiled("length")
    assert cut.finish_reason == "length"
    assert TEXT.startswith(cut.message.content)
    assert 0 < len(cut.message.content) < len(TEXT)


def test_faults_of_the_items():
    s1, s2 = REPLY["sentences"].values()
    c1, c2 = REPLY["useful"].values()
    assert spoiled_json("missing_items") == {"sentences": {"s1": s1}, "useful": {"c1": c1}}
    assert spoiled_json("missing_items", param=5) == {"sentences": {}, "useful": {}}
    assert spoiled_json("extra_items") == {
        "sentences": {"s1": s1, "s2": s2, "s9002": s2},
        "useful": {"c1": c1, "c2": c2, "c9002": c2},
    }
    twice = spoiled("duplicate_items").message.content
    assert json.loads(twice) == REPLY  # of one key twice, the last counts here
    assert [twice.count(f'"{id_}": {{') for id_ in ("s1", "s2", "c1", "c2")] == [1, 2, 1, 2]
    both = spoiled("conflicting_items").message.content
    assert json.loads(both) == {
        "sentences": {"s1": s1, "s2": {**s2, "supported": True}},
        "useful": {"c1": c1, "c2": {**c2, "useful": False}},
    }
    assert [both.count(f'"{id_}": {{') for id_ in ("s1", "s2", "c1", "c2")] == [1, 2, 1, 2]
    assert spoiled_json("empty_lists") == {"sentences": {}, "useful": {}}
    assert spoiled_json("wrong_ids") == {
        "sentences": {"s2": s1, "s3": s2},
        "useful": {"c2": c1, "c3": c2},
    }


@pytest.mark.parametrize(
    ("kind", "yes", "no"),
    [("string_bools", "yes", "no"), ("number_bools", 2, -1), ("idk", "idk", "idk")],
)
def test_faults_of_the_verdicts(kind, yes, no):
    changed = spoiled_json(kind)
    assert [cell["supported"] for cell in changed["sentences"].values()] == [yes, no]
    assert [cell["useful"] for cell in changed["useful"].values()] == [no, yes]
    assert changed["sentences"]["s1"]["evidence"] == REPLY["sentences"]["s1"]["evidence"]


def test_faults_of_the_verdicts_know_ragas_and_deepevals_forms():
    ragas = {"classifications": [{"statement": "a", "reason": "1", "attributed": 1}]}
    deepeval = {"verdicts": [{"verdict": "no", "reason": "yes"}]}
    assert spoiled_json("number_bools", ragas)["classifications"][0]["attributed"] == 2
    assert spoiled_json("idk", deepeval) == {"verdicts": [{"verdict": "idk", "reason": "yes"}]}
    assert spoiled_json("conflicting_items", deepeval)["verdicts"][1]["verdict"] == "yes"
    assert len(spoiled_json("duplicate_items", ragas)["classifications"]) == 2
    assert spoiled_json("missing_items", deepeval) == {"verdicts": []}


def test_faults_of_the_fields():
    changed = spoiled_json("missing_fields")
    assert changed["sentences"]["s2"] == {"reason": "no year"}
    assert changed["useful"] == {"c1": {}, "c2": {}}
    claims = {"claims": [{"id": "a", "text": "b"}]}
    assert spoiled_json("missing_fields", claims) == {"claims": [{"id": "a"}]}
    assert spoiled_json("wrong_keys") == {
        "my_sentences": REPLY["sentences"],
        "my_useful": REPLY["useful"],
    }


def test_content_fault_without_target_is_not_recorded():
    with FakeOpenAIServer(lambda request: '{"reason":"x"}', faults=[Fault("number_bools")]) as server:
        assert content(server) == '{"reason":"x"}'
        assert server.requests[0].fault is None
    with FakeOpenAIServer(lambda request: "plain text", faults=[Fault("missing_items")]) as server:
        assert content(server) == "plain text"
        assert server.requests[0].fault is None


def test_content_faults_reach_tool_calls_too():
    with FakeOpenAIServer(reply, faults=[Fault("missing_items")]) as server:
        message = ask(server, tools=TOOLS, tool_choice=FORCED).choices[0].message
        assert len(json.loads(message.tool_calls[0].function.arguments)["sentences"]) == 1
    for kind in ("refusal_text", "prose_only", "empty", "null", "refusal_field"):
        with FakeOpenAIServer(reply, faults=[Fault(kind)]) as server:
            assert ask(server, tools=TOOLS, tool_choice=FORCED).choices[0].message.tool_calls is None


@pytest.mark.parametrize("kind", CONTENT_FAULTS)
def test_every_content_fault_changes_the_reply(kind):
    choice = spoiled(kind)
    assert choice is None or choice.message.content != TEXT


def test_the_kinds_are_listed_once():
    assert len(set(FAULTS)) == len(FAULTS) == len(TRANSPORT_FAULTS) + len(CONTENT_FAULTS)
    assert FAULTS == TRANSPORT_FAULTS + CONTENT_FAULTS


# ---- helpers ----


def address(server):
    where = urllib.parse.urlsplit(server.base_url)
    return where.hostname, where.port


def send(server, body):
    """One chat request without the OpenAI client: status and body."""
    connection = http.client.HTTPConnection(*address(server), timeout=60)
    try:
        connection.request("POST", "/v1/chat/completions", body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


async def say(api, text):
    answer = await api.chat.completions.create(
        model="judge", messages=[{"role": "user", "content": text}]
    )
    return answer.choices[0].message.content


async def cancel(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def auntil(condition):
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")
