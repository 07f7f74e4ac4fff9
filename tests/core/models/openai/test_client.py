"""What a server may not do: send a request elsewhere, fill the memory, or answer twice."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import socketserver
import subprocess
import sys
import textwrap
import threading
import zlib
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, check_model, evaluate
from ctxmetrics.models.openai import capabilities
from ctxmetrics.models.openai.client import MOST_BYTES
from support import FakeOpenAIServer, HttpResponse, Reply, answer_from
from support.deadlines import LONGEST_PROCESS
from support.later import skip_without
from support.loopback import LoopbackServer

skip_without("openai")

SAMPLE = Sample(reference="The door is green.", retrieved_contexts=["The door is green."])
HONEST = answer_from()


@pytest.fixture(autouse=True, params=["aiohttp", "httpx"])
def transport(request, monkeypatch):
    """Each transport, with no memory of servers."""
    capabilities._known.clear()
    if request.param == "httpx":
        monkeypatch.delattr("openai.DefaultAioHttpClient")  # as in older versions of the package
    elif not importlib.util.find_spec("aiohttp"):
        pytest.skip("aiohttp is not installed")
    return request.param


def score(server):
    judge = LLMJudge(OpenAIModel("judge", base_url=server.base_url))
    return evaluate([SAMPLE], [ContextRecall()], judge=judge, progress=False)[0]["context_recall"]


def codes(score):
    return score.value, {verdict.code for verdict in score.verdicts}


def completion(content, **fields):
    message = {"role": "assistant", "content": content}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **fields}


def honest_body(request):
    return json.dumps(completion(HONEST(request))).encode()


def bomb(megabytes, filling=b"{},"):
    """Compress a JSON list of many small objects."""
    deflate = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    million = filling * (1_000_000 // len(filling))
    pieces = [b'{"choices": [', *[million] * megabytes, b"{}]}"]
    return b"".join([*map(deflate.compress, pieces), deflate.flush()])


def compressed(body, encoding="gzip", status=200):
    return HttpResponse(status=status, body=body, headers=(("content-encoding", encoding),))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_prompt_nowhere(status):
    with FakeOpenAIServer(HONEST) as elsewhere:
        target = (("location", f"{elsewhere.base_url}/chat/completions"),)
        with FakeOpenAIServer(
            lambda _: HttpResponse(status=status, body=b"", headers=target)
        ) as server:
            found = score(server)
            assert (elsewhere.connections, server.count) == (0, 1)
    assert codes(found) == (None, {"client_error"})
    assert f"redirects ({status})" in found.verdicts[0].reason


def test_a_redirect_on_the_same_server_is_not_followed_either():
    def respond(request):
        return HttpResponse(status=308, body=b"", headers=(("location", "/v1/chat/completions"),))

    with FakeOpenAIServer(respond) as server:
        assert codes(score(server)) == (None, {"client_error"})
        assert server.count == 1


def test_a_compressed_reply_is_read():
    with FakeOpenAIServer(lambda request: compressed(gzip.compress(honest_body(request)))) as server:
        assert codes(score(server)) == (1.0, {None})
        assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "deflate", "zstd", "\x1b[31m"])
def test_what_is_compressed_in_another_form_is_not_read(encoding):
    def respond(request):
        return compressed(gzip.compress(gzip.compress(honest_body(request))), encoding)

    with FakeOpenAIServer(respond) as server:
        found = score(server)
    assert codes(found) == (None, {"server_error"})
    assert "\x1b" not in found.verdicts[0].reason


def test_what_is_not_compressed_though_it_says_so_is_asked_again():
    replies = iter([compressed(b"no gzip at all")])
    with FakeOpenAIServer(lambda request: next(replies, None) or HONEST(request)) as server:
        assert codes(score(server)) == (1.0, {None})


@pytest.mark.parametrize(
    "body", [lambda: compressed(bomb(60)), lambda: HttpResponse(status=200, body=b" " * (MOST_BYTES + 1))],
    ids=["compressed", "plain"],
)  # fmt: skip
def test_a_reply_that_is_too_long_is_told(body):
    sent = body()
    with FakeOpenAIServer(lambda _: sent) as server:
        found = score(server)
        assert server.count == 2  # asked again once: the second request would be sent a third time
    assert codes(found) == (None, {"invalid_reply"})
    assert f"longer than {MOST_BYTES:,} bytes" in found.verdicts[0].reason


def test_the_longest_reply_is_read():
    def respond(request):
        body = honest_body(request)
        return HttpResponse(status=200, body=body + b" " * (MOST_BYTES - len(body)))

    with FakeOpenAIServer(respond) as server:
        assert codes(score(server)) == (1.0, {None})


@pytest.mark.slow
def test_the_status_counts_whatever_the_body_of_an_error_is():
    for body in (
        compressed(bomb(60), status=429),
        compressed(b"x", "br", 429),
        compressed(b"x", "gzip", 429),
    ):
        with FakeOpenAIServer(lambda _, body=body: body) as server:
            assert codes(score(server)) == (None, {"rate_limited"})


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of the memory is read from /proc"
)
def test_a_bomb_takes_little_memory(transport):
    """A bomb as a reply, and as the body of an error."""
    script = """
        import openai, sys
        from pathlib import Path
        if sys.argv[1] == "httpx":
            del openai.DefaultAioHttpClient
        from ctxmetrics import ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
        def score(url):
            sample = Sample(reference="A door is green.", retrieved_contexts=["A door is green."])
            judge = LLMJudge(OpenAIModel("judge", base_url=url))
            return evaluate([sample], [ContextRecall()], judge=judge, progress=False)[0]["context_recall"]
        def peak():
            lines = Path("/proc/self/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000
        good, *bombs = sys.argv[2:]
        assert score(good).value == 1.0
        before = peak()
        for bomb in bombs:
            assert score(bomb).value is None
        print(peak() - before)
    """
    reply, error = compressed(bomb(64)), compressed(bomb(64), status=400)
    assert len(reply.body) < 100_000
    with (
        FakeOpenAIServer(HONEST) as good,
        FakeOpenAIServer(lambda _: reply) as first,
        FakeOpenAIServer(lambda _: error) as second,
    ):
        addresses = [server.base_url for server in (good, first, second)]
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), transport, *addresses],
            capture_output=True, text=True, timeout=LONGEST_PROCESS, check=True,
        )  # fmt: skip
        assert first.count >= 1
        assert second.count >= 1
    assert float(done.stdout) < 150


def test_the_mark_of_utf_8_before_a_reply_is_no_part_of_it():
    def respond(request):
        return HttpResponse(status=200, body=b"\xef\xbb\xbf" + honest_body(request))

    with FakeOpenAIServer(respond) as server:
        assert codes(score(server)) == (1.0, {None})
        assert server.count == 1


def test_the_name_of_a_model_that_answered_shows_as_itself():
    name = "judge\x1b[31m \u202e\ud800 7"

    def respond(request):
        return HttpResponse(
            status=200, body=json.dumps(completion(HONEST(request), model=name)).encode()
        )

    with FakeOpenAIServer(respond) as server:
        told = str(check_model(OpenAIModel("judge", base_url=server.base_url)))
        assert score(server).provenance.served_model == "judge\ufffd[31m \ufffd\ufffd 7"
    assert "by judge\ufffd[31m \ufffd\ufffd 7\n" in told
    assert told.replace("\n", "").isprintable()


def test_the_name_of_a_codec_decompresses_nothing():
    def respond(request):
        return HttpResponse(
            status=200, body=honest_body(request), content_type="application/json; charset=zlib_codec"
        )

    with FakeOpenAIServer(respond) as server:
        assert codes(score(server)) == (1.0, {None})


def test_of_several_choices_none_counts():
    def respond(request):
        return Reply(content=HONEST(request), others=('{"sentences": {}, "useful": {}}',))

    with FakeOpenAIServer(respond) as server:
        found = score(server)
        assert server.count == 2
    assert codes(found) == (None, {"invalid_reply"})
    assert "2 choices" in found.verdicts[0].reason


def test_several_choices_are_asked_again():
    def respond(request):
        wrong = HONEST(request).replace('"supported": true', '"supported": false')
        return Reply(content=HONEST(request), others=(wrong,) if len(server.requests) == 1 else ())

    with FakeOpenAIServer(respond) as server:
        found = score(server)
        assert server.count == 2
    assert codes(found) == (1.0, {None})
    assert found.usage.calls == 2


def test_thousands_of_quotes_are_asked_again_and_then_not_judged():
    quotes = [
        {"context": "c1", "quote": f"quote {number} that stands nowhere"} for number in range(5000)
    ]
    sentences = {"s1": {"supported": True, "evidence": quotes}}

    def respond(request):
        useful = {"c1": {"useful": True}}
        return json.dumps({"code": "$code", "sentences": sentences, "useful": useful})

    with FakeOpenAIServer(respond) as server:
        assert codes(score(server)) == (None, {"too_many_quotes"})
        assert 1 < server.count <= 5
        assert "Give fewer and shorter quotes for: s1." in server.requests[-1].text


# ---- replies that are no HTTP ----

YES = (
    '{"code": "CODE", "sentences": {"s1": {"evidence": [{"context": "c1", "quote": "door is green", "whole": true}],'
    '"missing": "", "supported": true}}}'
)


def ok(head, body):
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%b\r\n\r\n%b" % (head, body)


def of_length(body, length=None):
    return ok(b"Content-Length: %d" % (len(body) if length is None else length), body)


GARBLED = {
    "bad chunk": lambda body: ok(b"Transfer-Encoding: chunked", b"zz\r\n%b\r\n0\r\n\r\n" % body),
    "bad end of a chunk": lambda body: ok(
        b"Transfer-Encoding: chunked", b"%x\r\n%bxx" % (len(body), body)
    ),
    "no last chunk": lambda body: ok(
        b"Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(body), body)
    ),
    "two lengths": lambda body: ok(b"Content-Length: 5\r\nContent-Length: %d" % len(body), body),
    "length too short": lambda body: of_length(body, len(body) - 9),
    "length too long": lambda body: of_length(body, len(body) + 9),
    "length below zero": lambda body: of_length(body, -1),
    "long header": lambda body: ok(b"X: %b\r\nContent-Length: %d" % (b"a" * 200_000, len(body)), body),
    "header without a colon": lambda body: ok(b"no colon\r\nContent-Length: %d" % len(body), body),
    "header with a zero byte": lambda body: ok(b"X: a\0b\r\nContent-Length: %d" % len(body), body),
    "no status": lambda body: b"HTTP/1.1 abc\r\n\r\n" + body,
    "no HTTP": lambda body: body,
    "nothing": lambda body: b"",
    "gzip that is cut off": lambda body: ok(b"Content-Encoding: gzip", gzip.compress(body)[:-20]),
    "gzip with a wrong sum": lambda body: ok(
        b"Content-Encoding: gzip", gzip.compress(body)[:-8] + b"\1" * 8
    ),
}


@contextmanager
def answering(*answers):
    """Serve bytes: each is a function from a good body to what is sent; the last one answers all further requests."""
    seen = []

    class Connection(socketserver.StreamRequestHandler):
        def handle(self):
            length = 0
            if self.rfile.peek(1)[:1] == b"\x16":  # TLS, which this server does not speak
                self.wfile.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            while (line := self.rfile.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            code = re.search(rb"code: (\w{8})", self.rfile.read(length))
            if code is None:
                return  # no request
            seen.append(code[1])
            body = json.dumps(completion(YES.replace("CODE", code[1].decode()))).encode()
            self.wfile.write(answers[min(len(seen), len(answers)) - 1](body))

    with LoopbackServer(("127.0.0.1", 0), Connection) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1", seen
        finally:
            server.shutdown()
            thread.join()


def score_at(address):
    judge = LLMJudge(OpenAIModel("judge", base_url=address), joint=False)
    return evaluate([SAMPLE], [ContextRecall()], judge=judge, progress=False)[0]["context_recall"]


@pytest.mark.parametrize("garbled", GARBLED.values(), ids=GARBLED)
def test_a_garbled_reply_is_asked_for_again(garbled):
    with answering(garbled, garbled, of_length) as (address, seen):
        assert score_at(address).value == 1.0
    assert len(seen) == 3


@pytest.mark.parametrize("name", ["bad chunk", "two lengths", "long header", "no status"])
def test_a_server_that_speaks_no_http_is_a_connection_error(name):
    with answering(GARBLED[name]) as (address, seen):
        assert codes(score_at(address)) == (None, {"connection_error"})
    assert len(seen) == 6


def test_broken_tls_is_a_connection_error():
    with answering(of_length) as (address, _):
        found = score_at(address.replace("http:", "https:"))
    assert codes(found) == (None, {"connection_error"})


@pytest.mark.parametrize("end", [b"", b"\0" * 512])
@pytest.mark.parametrize("cuts", [(), (1,), (60,), (60, 60, 61)])
def test_gzip_of_several_members_is_read(cuts, end):
    def members(body):
        edges = [0, *cuts, len(body)]
        pieces = [body[start:stop] for start, stop in pairwise(edges)]
        data = b"".join(map(gzip.compress, pieces)) + end
        return ok(b"Content-Encoding: gzip\r\nContent-Length: %d" % len(data), data)

    with answering(members) as (address, seen):
        assert score_at(address).value == 1.0
    assert len(seen) == 1


def test_members_of_gzip_are_bounded_together():
    many = gzip.compress(b" " * (MOST_BYTES // 4)) * 8
    with answering(lambda _: ok(b"Content-Encoding: gzip", many)) as (address, _):
        assert codes(score_at(address)) == (None, {"invalid_reply"})
