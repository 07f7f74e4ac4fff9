"""A server that speaks the wire formats of the usual providers: one honest answer, in the envelope of each.

What is asked is read from all texts of a request, whatever stands around them; a format is a row of `FORMATS`.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, TypeAlias

from support.answers import HasText, answer_from
from support.chat import (
    InvalidRequestError,
    Reply,
    check_supported,
    completion,
    completion_events,
    parse_chat,
)
from support.loopback import LoopbackServer

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

Body: TypeAlias = Mapping[str, Any]

TEXT, JSON_MODE, JSON_SCHEMA = "text", "JSON mode", "JSON schema"
"""The forms in which a reply is asked for, beside a tool call."""

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as every provider describes it, in its own words."""

    name: object
    schema: object


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for.

    Attributes:
        body: The whole body.
        form: `TEXT`, `JSON_MODE` or `JSON_SCHEMA`, where no tool is offered.
        tools: The tools that are offered.
    """

    body: Body
    form: str
    tools: tuple[Tool, ...] = ()

    @property
    def shown(self) -> str:
        """The form in which the reply is asked for, as the table of the docs names it."""
        return "tool call" if self.tools else self.form


@dataclass(frozen=True, slots=True)
class Format:
    """A wire format.

    Attributes:
        name: What the table of the docs calls it.
        path: The paths of its requests.
        keys: Headers of which one must hold the key.
        needed: Fields without which the provider refuses a request.
        read: What a body asks for.
        say: The envelope of an answer: of a call of its first tool where there is one, else of text. The two numbers
            are the tokens of the request and of the answer.
    """

    name: str
    path: str
    keys: tuple[str, ...]
    needed: tuple[str, ...]
    read: Callable[[Body], Asked]
    say: Callable[[Asked, str, int, int], Body]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it.

    Attributes:
        format: The name of its format; None where no format has its path.
        path: Its path.
        form: What `Asked.shown` says of it.
        status: The status of the answer.
        problem: Why it was refused.
    """

    format: str | None
    path: str
    form: str
    status: int = 200
    problem: str | None = None


def _of(value: object, *keys: str) -> Any:
    """Return what stands under nested keys; None where one of them is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _tools(body: Body, key: str, *inside: str, schema: str = "parameters") -> tuple[Tool, ...]:
    offered = (_of(tool, *inside) for tool in body.get(key) or ())
    return tuple(Tool(_of(tool, "name"), _of(tool, schema)) for tool in offered)


def _form(kind: object) -> str:
    return {"json_schema": JSON_SCHEMA, "json_object": JSON_MODE}.get(str(kind), TEXT)


# --- OpenAI ---


def _read_chat(body: Body) -> Asked:
    request = parse_chat(json.dumps(body).encode(), {})
    check_supported(request, frozenset({"json_schema", "json_object", "tools"}))
    return Asked(body, _form(request.response_format), _tools(body, "tools", "function"))


def _say_chat(asked: Asked, text: str, sent: int, received: int) -> Body:
    request = parse_chat(json.dumps({**asked.body, "tool_choice": "required"}).encode(), {})
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    # OpenRouter's field; others ignore it.
    return {**completion(request, Reply(content=text, usage=usage), usage=True), "provider": "fake"}


def _read_responses(body: Body) -> Asked:
    return Asked(body, _form(_of(body, "text", "format", "type")), _tools(body, "tools"))


def _say_responses(asked: Asked, text: str, sent: int, received: int) -> Body:
    if asked.tools:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": asked.tools[0].name}
        item |= {"arguments": text, "status": "completed"}
    else:
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        item |= {"content": [part]}
    usage: dict[str, Any] = {"input_tokens": sent, "output_tokens": received}
    usage |= {
        "total_tokens": sent + received,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": asked.body["model"],
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "prompt_cache_diagnostics": None,
        "usage": usage,
    }


# --- Anthropic, by itself and behind Bedrock's InvokeModel ---


def _read_anthropic(body: Body) -> Asked:
    wanted = _of(body, "output_config", "format", "type") or _of(body, "output_format", "type")
    return Asked(body, _form(wanted), _tools(body, "tools", schema="input_schema"))


def _say_anthropic(asked: Asked, text: str, sent: int, received: int) -> Body:
    if asked.tools:
        part = {"type": "tool_use", "id": "toolu_1", "name": asked.tools[0].name}
        part |= {"input": json.loads(text)}
    else:
        part = {"type": "text", "text": text}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.body.get("model", "-"),
        "content": [part],
        "stop_reason": "tool_use" if asked.tools else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": received},
    }


# --- Gemini ---


_GEMINI_SCHEMA = ("parameters", "parametersJsonSchema", "parameters_json_schema")


def _read_gemini(body: Body) -> Asked:
    wanted = body.get("generationConfig") or {}
    declared = [
        item for group in body.get("tools") or () for item in group.get("functionDeclarations") or ()
    ]
    tools = tuple(
        Tool(item.get("name"), next((item[key] for key in _GEMINI_SCHEMA if item.get(key)), None))
        for item in declared
    )
    if wanted.get("responseSchema") or wanted.get("responseJsonSchema"):
        return Asked(body, JSON_SCHEMA, tools)
    return Asked(
        body, JSON_MODE if wanted.get("responseMimeType") == "application/json" else TEXT, tools
    )


def _say_gemini(asked: Asked, text: str, sent: int, received: int) -> Body:
    call = {"name": asked.tools[0].name, "args": json.loads(text)} if asked.tools else None
    part = {"functionCall": call} if call else {"text": text}
    return {
        "candidates": [
            {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {
            "promptTokenCount": sent,
            "candidatesTokenCount": received,
            "totalTokenCount": sent + received,
        },
        "modelVersion": "fake",
    }


# --- Ollama ---


def _read_ollama(body: Body) -> Asked:
    wanted = body.get("format")
    form = JSON_MODE if wanted == "json" else JSON_SCHEMA if wanted else TEXT
    return Asked(body, form, _tools(body, "tools", "function"))


def _say_ollama(asked: Asked, text: str, sent: int, received: int) -> Body:
    message: dict[str, Any] = {"role": "assistant", "content": "" if asked.tools else text}
    if asked.tools:
        function = {"name": asked.tools[0].name, "arguments": json.loads(text)}
        message["tool_calls"] = [{"function": function}]
    return {
        "model": asked.body["model"],
        "created_at": "2026-01-01T00:00:00Z",
        "message": message,
        "done": True,
        "done_reason": "stop",
        "total_duration": 1,
        "prompt_eval_count": sent,
        "eval_count": received,
    }


# --- Bedrock's Converse ---


def _read_converse(body: Body) -> Asked:
    offered = [_of(tool, "toolSpec") for tool in _of(body, "toolConfig", "tools") or ()]
    tools = tuple(Tool(_of(tool, "name"), _of(tool, "inputSchema", "json")) for tool in offered if tool)
    return Asked(body, _form(_of(body, "outputConfig", "textFormat", "type")), tools)


def _say_converse(asked: Asked, text: str, sent: int, received: int) -> Body:
    if asked.tools:
        call = {"toolUseId": "tool_1", "name": asked.tools[0].name, "input": json.loads(text)}
        part: Body = {"toolUse": call}
    else:
        part = {"text": text}
    return {
        "output": {"message": {"role": "assistant", "content": [part]}},
        "stopReason": "tool_use" if asked.tools else "end_turn",
        "usage": {"inputTokens": sent, "outputTokens": received, "totalTokens": sent + received},
        "metrics": {"latencyMs": 1},
    }


# --- Cohere ---


def _read_cohere(body: Body) -> Asked:
    wanted = body.get("response_format") or {}
    has_schema = wanted.get("json_schema") or wanted.get("schema")
    form = JSON_SCHEMA if has_schema else _form(wanted.get("type"))
    return Asked(body, form, _tools(body, "tools", "function"))


def _say_cohere(asked: Asked, text: str, sent: int, received: int) -> Body:
    message: dict[str, Any] = {"role": "assistant"}
    if asked.tools:
        function = {"name": asked.tools[0].name, "arguments": text}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    else:
        message["content"] = [{"type": "text", "text": text}]
    counted = {"input_tokens": sent, "output_tokens": received}
    return {
        "id": "c1",
        "finish_reason": "TOOL_CALL" if asked.tools else "COMPLETE",
        "message": message,
        "usage": {"billed_units": counted, "tokens": counted},
    }


_BEARER = ("authorization",)
_CHAT = ("model", "messages")
FORMATS = (
    Format(
        "OpenAI chat", r".*/chat/completions", ("authorization", "api-key"), (), _read_chat, _say_chat
    ),
    Format(
        "OpenAI Responses",
        r".*/responses",
        _BEARER,
        ("model", "input"),
        _read_responses,
        _say_responses,
    ),
    Format(
        "Anthropic Messages",
        r"/v1/messages",
        ("x-api-key", "authorization"),
        (*_CHAT, "max_tokens"),
        _read_anthropic,
        _say_anthropic,
    ),
    Format(
        "Gemini generateContent",
        r"/v1(beta)?/models/[^/]+:generateContent",
        ("x-goog-api-key",),
        ("contents",),
        _read_gemini,
        _say_gemini,
    ),
    Format("Ollama", r"/api/chat", (), _CHAT, _read_ollama, _say_ollama),
    Format(
        "Bedrock Converse",
        r"/model/[^/]+/converse",
        _BEARER,
        ("messages",),
        _read_converse,
        _say_converse,
    ),
    Format(
        "Bedrock InvokeModel",
        r"/model/[^/]+/invoke",
        _BEARER,
        ("messages", "max_tokens", "anthropic_version"),
        _read_anthropic,
        _say_anthropic,
    ),
    Format("Cohere", r"/v2/chat", _BEARER, _CHAT, _read_cohere, _say_cohere),
)


_FIXED: Mapping[str, Body] = {
    "/api/show": {"capabilities": ["completion"], "model_info": {"fake.context_length": 8192}}
}
"""What clients ask before they ask a model."""


@dataclass(frozen=True, slots=True)
class _Said:
    """All that a request says."""

    text: str


class Served:
    """A server in a thread of its own; it ends with the ``with`` block."""

    _server: LoopbackServer
    _thread: threading.Thread

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class WireServer(Served):
    """An honest judge on the loopback that answers in the format in which it is asked.

    A request is refused as the providers refuse it: without a key, without a field that is needed, with a tool that has
    no name or whose schema is no object.

    Attributes:
        url: Its address, without a path.
        exchanges: The requests since the start or the last ``clear()`` of the list.
    """

    def __init__(self, responder: Callable[[HasText], str] | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self._responder = responder or answer_from()
        self._server = LoopbackServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self.url: str = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def answer(self, path: str, headers: Mapping[str, str], payload: bytes) -> Body:
        """Answer a request, and note it."""
        known = next((one for one in FORMATS if re.fullmatch(one.path, path)), None)
        form = "-"
        if known is None:
            problem = f"nothing is at {path}"
            self.exchanges.append(Exchange(None, path, form, 404, problem))
            raise InvalidRequestError(problem)
        try:
            body = {**json.loads(payload), **_in_path(path)}
            _check(known, headers, body)
            asked = known.read(body)
            form = asked.shown
            _check_tools(asked.tools)
            text = self._responder(_Said("\n".join(_texts(body))))
        except (InvalidRequestError, ValueError) as error:
            self.exchanges.append(Exchange(known.name, path, form, 400, str(error).splitlines()[0]))
            raise
        self.exchanges.append(Exchange(known.name, path, form))
        return known.say(asked, text, len(payload) // 4, len(text) // 4)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                payload = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                path = self.path.partition("?")[0]
                status, kind = 200, "application/json"
                try:
                    body = _FIXED.get(path) or outer.answer(path, headers, payload)
                except (InvalidRequestError, ValueError) as error:
                    status, body = outer.exchanges[-1].status, {"error": {"message": str(error)}}
                written = json.dumps(body).encode()
                if status == 200 and json.loads(payload).get("stream") is True:
                    written, kind = _streamed(body)
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(written)))
                self.end_headers()
                self.wfile.write(written)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                """Print nothing."""

        return Handler


def _streamed(body: Body) -> tuple[bytes, str]:
    """Give an answer as a stream of one piece: events, or a line of Ollama's."""
    if body.get("object") == "chat.completion":
        return completion_events(body), "text/event-stream"
    if body.get("type") == "message":
        return _anthropic_events(body), "text/event-stream"
    return json.dumps(body).encode(), "application/x-ndjson"


def _anthropic_events(body: Body) -> bytes:
    (part,) = body["content"]
    if part["type"] == "tool_use":
        start, delta = {**part, "input": {}}, {"type": "input_json_delta"}
        delta["partial_json"] = json.dumps(part["input"])
    else:
        start, delta = {**part, "text": ""}, {"type": "text_delta", "text": part["text"]}
    ended = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    events = (
        {"type": "message_start", "message": {**body, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": body["usage"]},
        {"type": "message_stop"},
    )
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode()


def _in_path(path: str) -> Body:
    """What Azure's paths say instead of the body."""
    deployment = re.search(r"/deployments/([^/]+)/", path)
    return {"model": deployment[1]} if deployment else {}


def _check(known: Format, headers: Mapping[str, str], body: Body) -> None:
    if known.keys and not any(headers.get(name) for name in known.keys):
        raise InvalidRequestError(f"no key in {' or '.join(known.keys)}")
    missing = [name for name in known.needed if not body.get(name)]
    if missing:
        raise InvalidRequestError(f"{known.name} needs {', '.join(missing)}")


def _check_tools(tools: tuple[Tool, ...]) -> None:
    for tool in tools:
        if not _TOOL_NAME.fullmatch(str(tool.name or "")):
            raise InvalidRequestError(f"{tool.name!r} is no name of a tool")
        if str(_of(tool.schema, "type")).lower() != "object":
            raise InvalidRequestError(f"the schema of {tool.name} is no object")


def _texts(value: object) -> Iterator[str]:
    """All texts of a body, in order."""
    if isinstance(value, str):
        yield value
    children = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    )
    for child in children:
        yield from _texts(child)


__all__ = ["FORMATS", "JSON_MODE", "JSON_SCHEMA", "TEXT", "Asked", "Exchange", "Format", "WireServer"]
