"""A key is in no repr, pickle, result, log line, span or exception, whatever the server does with it."""

from __future__ import annotations

import json
import logging
import pickle
import traceback
from base64 import b64encode
from collections import deque
from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import asdict, fields
from html import escape
from pprint import pformat
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, OpenAIModel, Sample, evaluate
from ctxmetrics._internal.secrets import (
    mask_logs_of,
    mask_secrets,
    remember_api_keys,
    remember_key,
    safe_text,
)
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.models.openai.model import Key
from ctxmetrics.models.runtime.background import run_sync
from ctxmetrics.prompts import get_pack, render, reply_schema
from support import FAULTS, FakeOpenAIServer, Fault, answer_from
from support.chat import InvalidRequestError

KEYS = [
    "sk-proj-Zx81hQpTsecretkey0042",
    "plainsecretwithoutprefix77",
    "gsk_ABCDEF0123456789zzzz",
    "k3y/with+base64==",
]
SAMPLE = Sample(
    user_input="Which colour?",
    reference="The door is green. It weighs 40 kilos.",
    retrieved_contexts=["Birds sing.", "The door is green since 1999."],
)


def texts_of(thing):
    """Every text a program gets out of an object without reaching into private attributes."""
    yield repr(thing)
    yield str(thing)
    yield format(thing)
    yield pformat(thing)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        yield pickle.dumps(thing, protocol).decode("latin-1")


def assert_hidden(key, *texts):
    for text in texts:
        assert key not in text
        assert key[4:-4] not in text


@pytest.mark.parametrize("key", KEYS)
def test_no_object_shows_it(key):
    model = OpenAIModel("m", api_key=key, extra={"user": "x"})
    judge = LLMJudge(model)
    metric = ContextRecall(judge=judge)
    for thing in (
        model,
        judge,
        metric,
        copy(model),
        deepcopy(metric),
        pickle.loads(pickle.dumps(metric)),  # noqa: S301 - dumped in the same line
    ):
        assert_hidden(key, *texts_of(thing))
    assert_hidden(key, repr(asdict(model)), repr([getattr(model, item.name) for item in fields(model)]))
    assert_hidden(key, model.identity, judge.name, metric.name, repr(hash(model)))
    assert not hasattr(model, "__dict__")
    assert_hidden(
        key,
        repr(Key(key)),
        str(Key(key)),
        f"{Key(key)}",
        pickle.dumps(Key(key)).decode("latin-1"),
    )


def test_keys_change_neither_equality_nor_cache_keys():
    one, two = (OpenAIModel("m", api_key=key) for key in KEYS[:2])
    assert (one, hash(one), one.identity) == (two, hash(two), two.identity)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "fault",
    [
        None,
        *(kind for kind in FAULTS if kind in {"429", "500", "reset", "html", "hang", "refusal_field"}),
    ],
)
def test_no_result_and_no_log_line_shows_it(key, fault, caplog, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for name in (None, "httpx", "httpx2"):  # frameworks set these levels for the whole process
        caplog.set_level(logging.DEBUG, logger=name)
    faults = [Fault(fault)] if fault else []
    seconds = 0.3 if fault == "hang" else 60.0
    with FakeOpenAIServer(answer_from(), api_key=key, faults=faults) as server:
        judge = LLMJudge(OpenAIModel("m", base_url=server.base_url), keep_raw=True)
        results = evaluate(
            [SAMPLE],
            [ContextRecall(), ContextPrecision()],
            judge=judge,
            timeout=seconds,
            progress=False,
        )
        assert server.count
    assert (results[0]["context_recall"].value == 0.5) is (fault is None)
    rows = [score.to_dict() for row in results for score in row.values()]
    pretty = [score.pretty() + score.reason for row in results for score in row.values()]
    assert_hidden(key, json.dumps(rows), repr(rows), repr(list(results)), *pretty)
    formatter = logging.Formatter("%(name)s %(message)s")
    lines = [formatter.format(record) for record in caplog.records]
    assert fault == "hang" or any(line.startswith("httpx") for line in lines)
    assert_hidden(key, *lines)
    ours = [repr(vars(record)) for record in caplog.records if record.name.startswith("ctxmetrics")]
    assert_hidden(key, *ours)


def telling(key):
    """A server that repeats the key in its error, as some do."""

    def respond(request):
        raise InvalidRequestError(
            f"Incorrect API key provided: {key}. Header was 'Authorization: Bearer {key}'"
        )

    return respond


@pytest.mark.parametrize("key", KEYS)
def test_no_exception_shows_it(key):
    asked = render(get_pack("en"), "claims", {"text": "x"})
    with FakeOpenAIServer(telling(key)) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key=key)
        with pytest.raises(JudgeError) as caught:
            run_sync(model.generate, asked, reply_schema("claims"))
        score = ContextRecall(judge=LLMJudge(model)).score(SAMPLE)
    problem = caught.value
    assert "Incorrect API key provided: [key]" in str(problem)
    assert "[key]" in score.message
    assert_hidden(
        key,
        str(problem),
        repr(problem),
        repr(problem.args),
        repr(vars(problem)),
        json.dumps(score.to_dict()),
    )
    assert_hidden(key, "".join(traceback.format_exception(problem)))
    assert_hidden(key, pickle.dumps(problem).decode("latin-1"))
    chain = []
    link = problem
    while link is not None:
        chain.append(link)
        link = link.__cause__ or link.__context__
    assert chain == [problem]  # the client's own exception holds the request, and its headers the key
    frames = traceback.TracebackException.from_exception(problem, capture_locals=True)
    ours = [frame for frame in frames.stack if frame.filename != __file__]
    assert any(frame.filename.endswith("openai/model.py") for frame in ours)
    assert_hidden(key, *(repr(frame.locals) for frame in ours))  # as crash reporters send them


@pytest.mark.parametrize("bad", ["two words", "ключ-от-двери", "line\nbreak"])
def test_a_key_that_cannot_be_sent_is_not_repeated_in_the_error(bad, monkeypatch):
    with pytest.raises(ParameterError, match="api_key") as caught:
        OpenAIModel("m", api_key=bad)
    assert_hidden(bad, str(caught.value))
    monkeypatch.setenv("OPENAI_API_KEY", bad)
    with pytest.raises(ParameterError, match="OPENAI_API_KEY") as caught:
        OpenAIModel("m")
    assert_hidden(bad, str(caught.value))


@pytest.mark.parametrize(
    "address",
    [
        "http://user:hunter2secret@host/v1",
        "http://hunter2secret@host/v1",
        "https://host/v1?key=hunter2secret",
    ],
)
def test_address_with_a_secret_is_refused_without_repeating_it(address):
    with pytest.raises(ParameterError, match="api_key") as caught:
        OpenAIModel("m", base_url=address, api_key="k")
    assert_hidden("hunter2secret", str(caught.value))


ODD = 'Zq8/with+plus==9"amp&x7Kp2vLm0Tt4'


@pytest.mark.parametrize(
    "form",
    [
        ODD,
        quote(ODD, safe=""),
        quote(quote(ODD, safe=""), safe=""),
        escape(ODD),
        "".join(f"&#{ord(character)};" for character in ODD),
        ODD.replace("/", "\\/").replace("&", "\\u0026"),
        json.dumps(ODD)[1:-1],
        json.dumps(json.dumps(ODD))[3:-3],
        ODD[:8],
        ODD[-8:],
        ODD[5:20],
        quote(ODD[2:-2], safe=""),
        f"{ODD[:14]}***{ODD[14:]}",
    ],
)
def test_a_key_is_masked_whole_in_part_and_escaped(form):
    remember_key(ODD)
    assert (
        mask_secrets(f"before {form} after")
        == f"before {'***'.join('[key]' for _ in form.split('***'))} after"
    )


@pytest.mark.parametrize("before", ["", "m", "me:", "user:"])
def test_a_key_is_masked_in_base64(before):
    remember_key(ODD)
    shown = mask_secrets(b64encode(f"{before}{ODD}".encode()).decode())
    assert "[key]" in shown
    assert all(
        len(piece) < 11 for piece in shown.split("[key]")
    )  # eleven digits of Base64 are eight characters


def test_seven_characters_and_words_that_stand_for_no_key_stay():
    for key in (ODD, "EMPTY", "ollama", "x", ""):
        remember_key(key)
    text = f"ollama said EMPTY to x: {ODD[:7]} {ODD[-7:]}, 100%25 of \\u0041 &amp;"
    assert mask_secrets(text) == text


def test_words_and_addresses_of_a_servers_message_stay():
    httpx = pytest.importorskip("httpx", reason="the openai extra is not installed")
    from openai import AsyncOpenAI, BadRequestError

    address = "http://127.0.0.1:8123/v1"
    request = httpx.Request("POST", address, headers={"Authorization": f"Bearer {KEYS[0]}"})
    body = {"code": "invalid_value", "param": "max_tokens"}
    words = f"max_tokens is too large (invalid_value) at {address}, for"
    error = BadRequestError(
        f"{words} {KEYS[0]}", response=httpx.Response(400, request=request), body=body
    )
    remember_api_keys(
        [
            AsyncOpenAI(api_key=KEYS[1], base_url=address),
            OpenAIModel("m", base_url=address, max_tokens=9),
        ]
    )
    assert safe_text(error) == f"{words} [key]"


def test_a_short_key_with_a_digit_is_masked_as_a_word():
    remember_key("hunter2")
    assert mask_secrets("key hunter2, not hunter22") == "key [key], not hunter22"


def test_the_keys_of_clients_and_of_requests_are_found():
    httpx = pytest.importorskip("httpx", reason="the openai extra is not installed")
    from openai import AsyncOpenAI
    from pydantic import SecretStr

    request = httpx.Request(
        "POST", "http://localhost", headers={"Authorization": "Bearer of-the-request-1"}
    )
    held = SimpleNamespace(
        deep=[{"settings": SimpleNamespace(api_key="of-the-settings-2")}],
        client=AsyncOpenAI(api_key="of-the-client-3"),
        credentials=SecretStr("of-the-secret-4"),
        error=httpx.ConnectError("no", request=request),
        method=AsyncOpenAI(api_key="of-the-method-5").with_options,
    )
    held.itself = held
    held.note = b"an ordinary text of bytes"
    remember_api_keys(held)
    assert mask_secrets("an ordinary text of bytes, http://localhost, content-length") == (
        "an ordinary text of bytes, http://localhost, content-length"
    )
    names = ("request-1", "settings-2", "client-3", "secret-4", "method-5")
    assert mask_secrets(" ".join(f"of-the-{name}" for name in names)) == " ".join(
        "[key]" for _ in names
    )


@pytest.mark.parametrize("kind", [deque, lambda items: dict(enumerate(items))], ids=["deque", "dict"])
def test_an_object_that_changes_while_it_is_read_costs_nothing(kind):
    class Changing:
        """Adds to what holds it when its secret is read, as another thread may."""

        def get_secret_value(self):
            key = f"added-{len(held)}"
            held.update({key: self}) if isinstance(held, dict) else held.append(self)
            return "of-the-changing-6"

    held = kind([Changing(), "between"])
    remember_api_keys(SimpleNamespace(held=held, api_key="of-the-model-7"))
    assert mask_secrets("of-the-changing-6 of-the-model-7") == "[key] [key]"


def test_attribute_that_raises_costs_nothing_and_hides_no_key():
    class Raising(Mapping):
        def __getitem__(self, name):
            raise RuntimeError("no context")

        __iter__ = __len__ = __getitem__

    class Secret:
        def get_secret_value(self):
            raise OSError("no store")

    class Proxy:
        @property
        def __class__(self):
            raise RuntimeError("no request")

    remember_api_keys([Raising(), Secret(), Proxy(), {"api_key": "of-the-last-8"}])
    assert mask_secrets("of-the-last-8") == "[key]"


def test_the_keys_of_the_environment_are_masked(monkeypatch):
    monkeypatch.setenv("ELSEWHERE_API_KEY", "another-secret-77")
    assert str(JudgeError("x")) == "x"
    sample = Sample(reference="A door.", retrieved_contexts=["A door."])

    class Own:
        name, warnings = "own", ()

        async def attribute(self, request):
            raise RuntimeError("another-secret-77 and private-value-5 are wrong")

        rate = attribute

        def __init__(self):
            self.client = SimpleNamespace(authorization="private-value-5")

    score = ContextRecall(judge=Own()).score(sample)
    assert "RuntimeError: [key] and [key] are wrong" in score.message


def test_a_short_key_of_the_environment_is_masked_as_a_word(monkeypatch):
    monkeypatch.setenv("ELSEWHERE_TOKEN", "tiny-7")
    monkeypatch.setenv("LOCAL_API_KEY", "ollama")
    assert safe_text("tiny-7: refused by ollama; tiny-71") == "[key]: refused by ollama; tiny-71"


def test_reply_with_the_key_is_stored_without_it():
    key = KEYS[1]
    plain = answer_from()

    def respond(request):
        answer = json.loads(plain(request))
        answer["sentences"]["s2"]["missing"] = f"your key is {key[3:]}"
        return json.dumps(answer)

    with FakeOpenAIServer(respond) as server:
        judge = LLMJudge(OpenAIModel("m", base_url=server.base_url, api_key=key), keep_raw=True)
        score = ContextRecall(judge=judge).score(SAMPLE)
    assert score.value == 0.5
    assert score.verdicts[1].reason == "your key is [key]"
    assert_hidden(key, json.dumps(score.to_dict()), repr(score))


def test_the_log_of_a_client_library_is_masked(caplog):
    logger = logging.getLogger("somebodys.client")
    remember_key(ODD)
    mask_logs_of("somebodys")
    logger.error("failed with %s", ODD, exc_info=RuntimeError(f"no: {ODD}"))
    logger.warning("plain %d", 5)
    first, second = caplog.records
    assert first.getMessage() == "failed with [key]"
    assert first.exc_text.endswith("RuntimeError: no: [key]")
    assert ODD not in caplog.text
    assert second.getMessage() == "plain 5"
