"""A server that hands every request on to another one, and records both sides: what a client asked, what came back."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import urlsplit

from support.loopback import LoopbackServer

_CODE = re.compile(r"^code: ([0-9a-f]{8})\r?$", re.MULTILINE)
_KEYS = re.compile(r"(?:Keys of|Ключи) (\w+): ([^.\n]*)\.")
_FENCE = re.compile(r"^\s*```(?:json)?\s*(\{.*\})\s*```\s*$", re.DOTALL)
_SECONDS = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and its reply, as they went over the wire.

    Attributes:
        path: The path that was asked for.
        request: The body of the request.
        status: The HTTP status of the reply.
        response: The body of the reply; None where it is no JSON.
        seconds: How long the server took.
    """

    path: str
    request: dict[str, Any]
    status: int
    response: dict[str, Any] | None
    seconds: float

    @property
    def prompt(self) -> str:
        """The text of all messages."""
        texts = [message.get("content") for message in self.request.get("messages", ())]
        return "\n".join(text if isinstance(text, str) else json.dumps(text) for text in texts)

    @property
    def text(self) -> str:
        """The text of the reply, or the arguments of its tool call."""
        choices = (self.response or {}).get("choices") or [{}]
        message = choices[0].get("message") or {}
        calls = message.get("tool_calls")
        if calls:
            return str(calls[0]["function"]["arguments"])
        return str(message.get("content") or "")

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of the request and of the reply, as the server counts them."""
        usage = (self.response or {}).get("usage") or {}
        names = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
        read, written = (int(usage.get(chat) or usage.get(other) or 0) for chat, other in names)
        return read, written

    @property
    def form(self) -> str:
        """What holds the reply to a form: ``"json_schema"``, ``"json_object"``, ``"tool"`` or ``"text"``."""
        if self.request.get("tools"):
            return "tool"
        form: str = (self.request.get("response_format") or {}).get("type", "text")
        return form

    @property
    def code(self) -> str | None:
        """The code that this library's request asks for; None for a request of another library."""
        codes = _CODE.findall(self.prompt)
        return codes[-1] if codes else None

    @property
    def ids(self) -> dict[str, list[str]]:
        """The ids that this library's request asks for, by the part of the reply."""
        _, _, tail = self.prompt.rpartition("END DATA")
        return {part: ids.split(", ") for part, ids in _KEYS.findall(tail)}

    def read_object(self) -> dict[str, Any] | None:
        """Read the reply as one JSON object, without a fence around it and with no repair; None for all else."""
        fence = _FENCE.match(self.text)
        try:
            data = json.loads(fence[1] if fence else self.text)
        except ValueError:
            return None
        return data if isinstance(data, dict) else None


class RecordingProxy:
    """Hands requests on to the server at an address; ``exchanges`` holds them in the order of their replies.

    Args:
        target: The address of the other server, such as ``http://127.0.0.1:8080/v1``.
        replay: Answer a request that was answered before with the same reply: two paths that send the same request are
            then compared without the noise of the server's arithmetic, and a slow model answers once.
        most_tokens: No reply may have more tokens, whatever a request allows: a small model may write without an end.

    Attributes:
        base_url: The address to ask in its place.
    """

    def __init__(self, target: str, *, replay: bool = False, most_tokens: int | None = None) -> None:
        self.exchanges: list[Exchange] = []
        self._most_tokens = most_tokens
        self._replay = replay
        self._replies: dict[str, tuple[int, bytes]] = {}
        self._target = urlsplit(target)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                proxy._forward(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Print nothing."""

        self._server = LoopbackServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}{self._target.path}"

    def reset(self) -> list[Exchange]:
        """Forget the exchanges so far, and return them."""
        exchanges, self.exchanges = self.exchanges, []
        return exchanges

    def _forward(self, handler: BaseHTTPRequestHandler) -> None:
        payload = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        headers = {
            name: value
            for name, value in handler.headers.items()
            if name.lower() in ("authorization", "content-type", "accept")
        }
        begin = time.monotonic()
        request = _read(payload) or {}
        question = _question(request)
        if self._replay and question in self._replies:
            status, body = self._replies[question]
        else:
            status, body = self._ask(
                handler.command, handler.path, self._limit(payload, request), headers
            )
            if status == HTTPStatus.OK:
                self._replies[question] = status, body
        if handler.command == "POST":
            self.exchanges.append(
                Exchange(
                    path=handler.path,
                    request=request,
                    status=status,
                    response=_read(body),
                    seconds=time.monotonic() - begin,
                )
            )
        try:
            handler.send_response(status)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:  # the client did not wait
            handler.close_connection = True

    def _limit(self, payload: bytes, request: dict[str, Any]) -> bytes:
        """Return a request whose reply is not longer than this proxy allows."""
        if self._most_tokens is None or not request:
            return payload
        limits = [request.get(name) for name in ("max_tokens", "max_completion_tokens")]
        fewest = min([self._most_tokens, *(limit for limit in limits if limit)])
        limited = {**request, "max_tokens": fewest}
        limited.pop("max_completion_tokens", None)
        return json.dumps(limited).encode()

    def _ask(
        self, method: str, path: str, payload: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        kind: type[http.client.HTTPConnection] = http.client.HTTPSConnection
        if self._target.scheme == "http":
            kind = http.client.HTTPConnection
        connection = kind(self._target.netloc, timeout=_SECONDS)
        try:
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except OSError as error:
            return HTTPStatus.BAD_GATEWAY, json.dumps({"error": {"message": str(error)}}).encode()
        finally:
            connection.close()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _question(request: dict[str, Any]) -> str:
    """Write what decides a reply at temperature 0; the seed does not."""
    fields = ("model", "messages", "response_format", "tools", "temperature", "max_tokens")
    return json.dumps({name: request.get(name) for name in fields}, sort_keys=True)


def _read(body: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(body)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
