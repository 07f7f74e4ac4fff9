"""A fake OpenAI-compatible server for tests: scripted answers, faults on demand, no model, no key."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import os
import socket
import struct
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from ctxmetrics.testing._http import BadRequestError, HttpRequest, HttpResponse, read_request
from ctxmetrics.testing.chat import (
    ChatRequest,
    InvalidRequestError,
    Reply,
    check_supported,
    completion,
    completion_events,
    error_body,
    parse_chat,
)
from ctxmetrics.testing.faults import CONTENT_FAULTS, Fault, FaultPlan, alter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import TypeAlias

    from typing_extensions import Self

    Responder: TypeAlias = Callable[[ChatRequest], str | Reply]

_HTML = b"<!doctype html><html><body><h1>502 Bad Gateway</h1><p>{upstream}</p></body></html>"
_STATUS_FAULTS = {
    "429": (429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    "429_retry_after": (429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    "500": (500, "The server had an error while processing your request.", "server_error", None),
    "503": (503, "The engine is currently overloaded, please try again later.", "server_error", None),
}
_TRICKLE_PIECES = 20


class FakeOpenAIServer:
    """A judge's server on the loopback address that answers what a function says, and fails on demand.

    It speaks ``POST /v1/chat/completions`` (plain, JSON mode, JSON schema, tool calls, streaming) and
    ``GET /v1/models``, over HTTP/1.1 with keep-alive, and runs in a thread of its own.

    Examples:
        >>> with FakeOpenAIServer(lambda request: '{"ok": true}') as server:
        ...     server.base_url.startswith("http://127.0.0.1:")
        True

    Args:
        responder: Gives the assistant's content for a request. It runs in the server's thread and should be
            quick. When it raises, the client gets a 500 and leaving the ``with`` block raises its exception.
        latency: Seconds every request takes.
        faults: What goes wrong, and when; the first fault that hits a request is applied.
        max_parallel: With more requests at once than this, the rest get 429 with ``Retry-After``.
        retry_after: Seconds in that header.
        supports: Of ``"json_schema"``, ``"json_object"`` and ``"tools"``, what is understood; a request for
            another is answered with 400.
        models: What ``/v1/models`` lists; any name is accepted in a request.
        usage: Whether replies report tokens (characters / 4, rounded up).
        api_key: When set, requests with another key are answered with 401. It is never recorded.
        sticky_key: What makes two requests the same one for sticky faults; by default the text of the first
            user message.
        host: A loopback address.

    Raises:
        ValueError: ``host`` is not a loopback address, or a number is out of its range.
    """

    def __init__(
        self,
        responder: Responder,
        *,
        latency: float = 0.0,
        faults: Iterable[Fault] = (),
        max_parallel: int | None = None,
        retry_after: float = 1.0,
        supports: frozenset[str] = frozenset({"json_schema", "json_object", "tools"}),
        models: tuple[str, ...] = ("fake-judge",),
        usage: bool = True,
        api_key: str | None = None,
        sticky_key: Callable[[ChatRequest], str] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        if latency < 0 or retry_after < 0:
            raise ValueError("FakeOpenAIServer: latency and retry_after are seconds, from 0")
        if max_parallel is not None and max_parallel < 1:
            raise ValueError(f"FakeOpenAIServer: max_parallel is {max_parallel!r}; write at least 1, or None")
        self._host = _loopback(host)
        self._responder = responder
        self._latency = latency
        self._max_parallel = max_parallel
        self._retry_after = retry_after
        self._supports = frozenset(supports)
        self._models = tuple(models)
        self._usage = usage
        self._api_key = api_key
        self._sticky_key = sticky_key or (lambda request: request.opening)
        self._ledger = _Ledger(FaultPlan(faults))
        self._serving = 0
        self._port = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- life ----

    def start(self) -> Self:
        """Bind a free port and serve until ``stop()``; ``with`` does both."""
        if self._thread is not None:
            raise RuntimeError("FakeOpenAIServer: it is already running")
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.create_server((self._host, 0), family=family, backlog=1024)
        self._port = listener.getsockname()[1]
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listener, ready)), name="fake-openai-server", daemon=True
        )
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """Close every connection and end the thread; a second call does nothing."""
        thread, loop, stopping = self._thread, self._loop, self._stopping
        if thread is None or loop is None or stopping is None:
            return
        loop.call_soon_threadsafe(stopping.set)
        thread.join()
        self._thread = self._loop = self._stopping = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None and self.errors:
            raise self.errors[0]

    # ---- what it saw ----

    @property
    def base_url(self) -> str:
        """The ``base_url`` for a client, as ``http://127.0.0.1:PORT/v1``."""
        if self._thread is None:
            raise RuntimeError("FakeOpenAIServer: it is not running; use it in a with block")
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/v1"

    @property
    def requests(self) -> list[ChatRequest]:
        """Chat requests so far in order of arrival, also those refused or still running."""
        return self._ledger.requests()

    @property
    def count(self) -> int:
        """Number of chat requests so far, also those refused or still running."""
        return len(self._ledger.requests())

    @property
    def max_in_flight(self) -> int:
        """The most chat requests that were open at the same time, refused ones included."""
        return self._ledger.max_in_flight

    @property
    def connections(self) -> int:
        """Number of TCP connections accepted."""
        return self._ledger.connections

    @property
    def errors(self) -> list[BaseException]:
        """What the responder raised."""
        return list(self._ledger.errors)

    def reset(self) -> None:
        """Forget all requests, counts and hits of faults; requests still running are not recorded."""
        self._ledger.reset()

    # ---- serving ----

    async def _serve(self, listener: socket.socket, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        server = await asyncio.start_server(self._accept, sock=listener, backlog=1024)
        ready.set()
        await self._stopping.wait()
        server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ledger.count_connection()
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        try:
            while (request := await read_request(reader, writer)) is not None:
                if not await self._answer(request, reader, writer):
                    break
            writer.close()
        except BadRequestError as error:
            await _send(writer, _error(400, str(error), "invalid_request_error"), keep_alive=False)
            writer.close()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()  # the client left or babbles
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops
            raise

    async def _answer(
        self, http: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection stays open."""
        if http.method == "POST" and http.path == "/v1/chat/completions" and self._knows_key(http):
            try:
                request = parse_chat(http.body, http.headers)
            except InvalidRequestError as error:
                response = _invalid(error)
            else:
                return await self._chat(request, http, reader, writer)
        else:
            response = self._other(http)
        if http.method == "HEAD":
            writer.write(response.head(keep_alive=http.keep_alive))
            await writer.drain()
        else:
            await _send(writer, response, keep_alive=http.keep_alive)
        return http.keep_alive

    def _other(self, http: HttpRequest) -> HttpResponse:
        if not self._knows_key(http):
            return _error(401, "Incorrect API key provided.", "invalid_request_error", code="invalid_api_key")
        cards = {
            name: {"id": name, "object": "model", "created": 0, "owned_by": "fake"} for name in self._models
        }
        body: object = None
        if http.path == "/v1/models":
            body = {"object": "list", "data": list(cards.values())}
        elif http.path.startswith("/v1/models/"):
            body = cards.get(http.path.removeprefix("/v1/models/"))
        if body is None or http.method not in {"GET", "HEAD"}:
            return _error(404, "Invalid URL or method for this fake server.", "invalid_request_error")
        return HttpResponse(status=200, body=json.dumps(body).encode())

    def _knows_key(self, http: HttpRequest) -> bool:
        sent = http.headers.get("authorization", "").removeprefix("Bearer ").encode()
        return self._api_key is None or hmac.compare_digest(sent, self._api_key.encode())

    async def _chat(
        self,
        request: ChatRequest,
        http: HttpRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """Answer one chat request and keep the record of it."""
        if self._max_parallel is not None and self._serving >= self._max_parallel:
            ticket, _ = self._ledger.open(request, None)
            try:
                response = _status_fault("429_retry_after", self._retry_after)
                await _send(writer, response, keep_alive=http.keep_alive)
            finally:
                self._ledger.close(ticket, fault="max_parallel", status=429)
            return http.keep_alive
        ticket, fault = self._ledger.open(request, self._sticky_key(request))
        applied, status, keep_alive = fault.kind if fault else None, None, http.keep_alive
        self._serving += 1
        try:
            await asyncio.sleep(self._latency)
            if fault is not None and fault.kind == "hang":
                while await reader.read(65536):
                    pass  # nothing comes back until the client leaves or the server stops
                return False
            response, applied = self._respond(ticket.request, fault)
            status = response.status
            keep_alive = await _deliver(writer, response, fault, keep_alive=keep_alive)
        finally:
            self._serving -= 1
            self._ledger.close(ticket, fault=applied, status=status)
        return keep_alive

    def _respond(self, request: ChatRequest, fault: Fault | None) -> tuple[HttpResponse, str | None]:
        """Give the answer to a request and the kind of the fault that is really in it."""
        applied = fault.kind if fault else None
        if fault is not None and fault.kind in _STATUS_FAULTS:
            return _status_fault(fault.kind, fault.amount), applied
        if fault is not None and fault.kind == "html":
            return HttpResponse(status=200, body=_HTML, content_type="text/html; charset=utf-8"), applied
        try:
            check_supported(request, self._supports)
            answer = self._responder(request)
        except InvalidRequestError as error:
            return _invalid(error), None
        except BaseException as error:  # noqa: BLE001 - a failed assertion of a test framework is no Exception
            self._ledger.note_error(error)
            return _error(500, f"The responder raised {type(error).__name__}.", "server_error"), None
        reply = answer if isinstance(answer, Reply) else Reply(content=answer)
        if fault is not None and fault.kind in CONTENT_FAULTS:
            altered = alter(fault, reply)
            applied = None if altered == reply else applied
            reply = altered
        body = completion(request, reply, usage=self._usage)
        if request.stream:
            events = completion_events(body)
            return HttpResponse(status=200, body=events, content_type="text/event-stream"), applied
        return HttpResponse(status=200, body=json.dumps(body).encode()), applied


class _Ticket:
    """An open request: where its record stands, unless the ledger was reset since."""

    __slots__ = ("generation", "request")

    def __init__(self, request: ChatRequest, generation: int) -> None:
        self.request = request
        self.generation = generation


class _Ledger:
    """Requests, counts and fault hits; the server's thread writes, any thread reads or resets."""

    def __init__(self, plan: FaultPlan) -> None:
        self._lock = threading.Lock()
        self._plan = plan
        self._requests: list[ChatRequest] = []
        self._generation = 0
        self._in_flight = 0
        self.max_in_flight = 0
        self.connections = 0
        self.errors: list[BaseException] = []

    def open(self, request: ChatRequest, key: str | None) -> tuple[_Ticket, Fault | None]:
        """Record a request and pick its fault; without a key none is picked."""
        with self._lock:
            request = replace(request, index=len(self._requests))
            self._requests.append(request)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
            fault = None if key is None else self._plan.choose(request.index, request.text, key)
            return _Ticket(request, self._generation), fault

    def close(self, ticket: _Ticket, *, fault: str | None, status: int | None) -> None:
        with self._lock:
            self._in_flight -= 1
            if ticket.generation == self._generation:
                done = replace(ticket.request, finished=time.monotonic(), fault=fault, status=status)
                self._requests[done.index] = done

    def count_connection(self) -> None:
        with self._lock:
            self.connections += 1

    def note_error(self, error: BaseException) -> None:
        with self._lock:
            self.errors.append(error)

    def requests(self) -> list[ChatRequest]:
        with self._lock:
            return list(self._requests)

    def reset(self) -> None:
        with self._lock:
            self._requests.clear()
            self._plan.reset()
            self._generation += 1
            self.max_in_flight = self._in_flight
            self.connections = 0
            self.errors.clear()


async def _send(writer: asyncio.StreamWriter, response: HttpResponse, *, keep_alive: bool) -> None:
    writer.write(response.head(keep_alive=keep_alive) + response.body)
    await writer.drain()


async def _deliver(
    writer: asyncio.StreamWriter, response: HttpResponse, fault: Fault | None, *, keep_alive: bool
) -> bool:
    """Send an answer, or as much of it as the fault lets through; whether the connection stays open."""
    kind = fault.kind if fault else None
    if fault is not None and kind == "trickle":
        await _trickle(writer, response, fault.amount, keep_alive=keep_alive)
        return keep_alive
    if kind not in {"cut_body", "reset"}:
        await _send(writer, response, keep_alive=keep_alive)
        return keep_alive
    writer.write(response.head(keep_alive=keep_alive) + response.body[: len(response.body) // 2])
    await writer.drain()
    if kind == "reset":
        # Closing with a linger time of zero sends RST instead of FIN.
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
    return False


async def _trickle(
    writer: asyncio.StreamWriter, response: HttpResponse, seconds: float, *, keep_alive: bool
) -> None:
    writer.write(response.head(keep_alive=keep_alive))
    size = max(1, -(-len(response.body) // _TRICKLE_PIECES))
    for start in range(0, len(response.body), size):
        await asyncio.sleep(seconds / _TRICKLE_PIECES)
        writer.write(response.body[start : start + size])
        await writer.drain()


def _status_fault(kind: str, seconds: float) -> HttpResponse:
    status, message, error_type, code = _STATUS_FAULTS[kind]
    headers = (("retry-after", f"{seconds:g}"),) if kind == "429_retry_after" else ()
    return HttpResponse(status=status, body=error_body(message, kind=error_type, code=code), headers=headers)


def _error(status: int, message: str, kind: str, *, code: str | None = None) -> HttpResponse:
    return HttpResponse(status=status, body=error_body(message, kind=kind, code=code))


def _invalid(error: InvalidRequestError) -> HttpResponse:
    body = error_body(error.message, kind="invalid_request_error", param=error.param, code=error.code)
    return HttpResponse(status=400, body=body)


def _loopback(host: str) -> str:
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ValueError(f"FakeOpenAIServer: host is {host!r}; write a loopback address such as '127.0.0.1'")
    return host
