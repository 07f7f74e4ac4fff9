"""A fake OpenAI-compatible server for tests: scripted answers, faults on demand, no model, no key."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import json
import secrets
import socket
import sys
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ctxmetrics.errors import ParameterError
from support._delivery import bad_request, canned, deliver, rate_limited, rejection, send
from support._http import BadRequestError, HttpRequest, HttpResponse, read_request
from support._ledger import Ledger
from support.answers import with_code
from support.chat import (
    ChatRequest,
    InvalidRequestError,
    Reply,
    check_supported,
    completion,
    completion_events,
    parse_chat,
)
from support.faults import CONTENT_FAULTS, Fault, FaultPlan, alter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from support.batches import FakeBatches

    Responder: TypeAlias = Callable[[ChatRequest], str | Reply | HttpResponse]


class FakeOpenAIServer:
    """A judge's server on the loopback address that answers what a function says, and fails on demand.

    It speaks ``POST /v1/chat/completions``, also under another prefix than ``/v1`` (plain, JSON mode, JSON schema, tool
    calls, streaming), and ``GET /v1/models``, over HTTP/1.1 with keep-alive, and runs in a thread of its own.

    Examples:
        >>> with FakeOpenAIServer(lambda request: '{"ok": true}') as server:
        ...     server.base_url.startswith("http://127.")
        True

    Args:
        responder: Gives the assistant's content for a request, or a whole HTTP response. It runs in the server's
            thread and should be quick. When it raises, the client gets a 500 and leaving the ``with`` block raises its exception.
        latency: Seconds every request takes.
        together: None is answered before this many have been here at once, or a minute has passed: a test of requests
            at once needs no latency that is longer than a busy machine's pauses.
        together_from: The number of the first request that waits so; those before are answered.
        faults: What goes wrong, and when; the first fault that hits a request is applied.
        slots: Requests that are worked on at once; the rest wait, and leave the queue with their client. None: all.
        max_parallel: With more requests at once than this, the rest get 429 with ``Retry-After``.
        retry_after: Seconds in that header.
        supports: Of ``"json_schema"``, ``"json_object"`` and ``"tools"``, what is understood; a request for
            another is answered with 400.
        models: What ``/v1/models`` lists; any name is accepted in a request.
        usage: Whether replies report tokens (characters / 4, rounded up).
        api_key: When set, requests with another key are answered with 401. It is never recorded.
        sticky_key: What makes two requests the same one for sticky faults; by default the text of the first
            user message.
        host: A loopback address; None: one of its own where the system has many (Linux). A port is soon given to
            another server, also of another process, and a late request to a server that is gone must not reach it.

        batches: The batches of the server; their requests are answered by the responder, too.

    Raises:
        ParameterError: ``host`` is not a loopback address, or a number is out of its range.
    """

    def __init__(
        self,
        responder: Responder,
        *,
        latency: float = 0.0,
        together: int = 1,
        together_from: int = 1,
        faults: Iterable[Fault] = (),
        slots: int | None = None,
        max_parallel: int | None = None,
        retry_after: float = 1.0,
        supports: frozenset[str] = frozenset({"json_schema", "json_object", "tools"}),
        models: tuple[str, ...] = ("fake-judge",),
        usage: bool = True,
        api_key: str | None = None,
        sticky_key: Callable[[ChatRequest], str] | None = None,
        host: str | None = None,
        batches: FakeBatches | None = None,
    ) -> None:
        if latency < 0 or retry_after < 0:
            raise ParameterError(
                "FakeOpenAIServer: latency and retry_after are seconds; write a number from 0"
            )
        if max_parallel is not None and max_parallel < 1:
            raise ParameterError(
                f"FakeOpenAIServer: max_parallel is {max_parallel!r}; write at least 1, or None"
            )
        self._host = _own_address() if host is None else _loopback(host)
        self._responder = responder
        self._latency = latency
        self._together = together
        self._together_from = together_from
        self._were_together = asyncio.Event()
        self._slots = None if slots is None else asyncio.Semaphore(slots)
        self._max_parallel = max_parallel
        self._retry_after = retry_after
        self._supports = frozenset(supports)
        self._models = tuple(models)
        self._usage = usage
        self._api_key = api_key
        self._sticky_key = sticky_key or (lambda request: request.opening)
        self._ledger = Ledger(FaultPlan(faults))
        self._batches = batches
        if batches is not None:
            batches.respond = self._respond_in_batch
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
            target=lambda: asyncio.run(self._serve(listener, ready)),
            name="fake-openai-server",
            daemon=True,
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
        """The ``base_url`` for a client, as ``http://127.0.0.1:PORT/v1``, with the server's own address."""
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
        """What the responder (or ``sticky_key``) raised."""
        return self._ledger.errors()

    def reset(self) -> None:
        """Forget all requests, counts, errors and hits of faults; requests under way are not recorded."""
        self._ledger.reset()

    # ---- serving ----

    async def _serve(self, listener: socket.socket, ready: threading.Event) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            server = await asyncio.start_server(self._accept, sock=listener, backlog=1024)
        finally:
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
            while await self._answer_next(reader, writer):
                pass
            writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()  # the client left or babbles
        except asyncio.CancelledError:
            writer.transport.abort()  # the server stops
            raise

    async def _answer_next(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer the next request of a connection; whether the connection stays open."""
        try:
            http = await read_request(reader, writer)
        except BadRequestError as error:
            await send(
                writer, rejection(400, str(error), kind="invalid_request_error"), keep_alive=False
            )
            return False
        if http is None:
            return False
        if http.method == "POST" and http.path.endswith("/chat/completions") and self._knows_key(http):
            try:
                request = parse_chat(http.body, http.headers, http.path)
            except InvalidRequestError as error:
                response = bad_request(error)
            else:
                return await self._chat(request, reader, writer, keep_alive=http.keep_alive)
        else:
            response = self._answer_batches(http) or self._other(http)
        if http.method == "HEAD":
            writer.write(response.head(keep_alive=http.keep_alive))
        else:
            await send(writer, response, keep_alive=http.keep_alive)
        return http.keep_alive

    def _answer_batches(self, http: HttpRequest) -> HttpResponse | None:
        """Answer a request about batches; None where it is about something else."""
        if self._batches is None:
            return None
        try:
            response = self._batches.answer(http)
            if response is not None and self._batches.on_request is not None:
                self._batches.on_request()
        except Exception as error:  # noqa: BLE001 - leaving the `with` block raises it
            self._ledger.note_error(error)
            return rejection(500, "the test's provider failed", kind="server_error")
        return response

    def _other(self, http: HttpRequest) -> HttpResponse:
        """Answer what is no chat request."""
        if not self._knows_key(http):
            message = "Incorrect API key provided."
            return rejection(401, message, kind="invalid_request_error", code="invalid_api_key")
        cards = {
            name: {"id": name, "object": "model", "created": 0, "owned_by": "fake"}
            for name in self._models
        }
        body: object = None
        if http.path == "/v1/models":
            body = {"object": "list", "data": list(cards.values())}
        elif http.path.startswith("/v1/models/"):
            body = cards.get(http.path.removeprefix("/v1/models/"))
        if body is None or http.method not in {"GET", "HEAD"}:
            return rejection(404, "This fake server has nothing there.", kind="invalid_request_error")
        return HttpResponse(status=200, body=json.dumps(body).encode())

    def _knows_key(self, http: HttpRequest) -> bool:
        sent = http.headers.get("authorization", "").removeprefix("Bearer ").encode()
        return self._api_key is None or hmac.compare_digest(sent, self._api_key.encode())

    async def _chat(
        self,
        request: ChatRequest,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        keep_alive: bool,
    ) -> bool:
        """Answer one chat request and keep its record; whether the connection stays open."""
        if self._serving + 1 >= self._together:
            self._were_together.set()
        if self._max_parallel is not None and self._serving >= self._max_parallel:
            ticket = self._ledger.open(request, None)
            self._ledger.close(ticket, fault="max_parallel", status=429)
            await send(writer, rate_limited(self._retry_after), keep_alive=keep_alive)
            return keep_alive
        ticket = self._ledger.open(request, self._key(request))
        fault = ticket.fault
        self._serving += 1

        def finish(applied: str | None = ticket.request.fault, status: int | None = None) -> None:
            if ticket.is_open:
                self._serving -= 1
                self._ledger.close(ticket, fault=applied, status=status)

        try:
            if not await self._work(reader):
                return False
            if fault is not None and fault.kind == "hang":
                while await reader.read(65536):
                    pass  # nothing comes back until the client leaves or the server stops
                return False
            response, applied = self._respond(ticket.request, fault)
            return await deliver(
                writer,
                response,
                fault,
                keep_alive=keep_alive,
                on_last=lambda: finish(applied, response.status),
            )
        finally:
            finish()

    async def _work(self, reader: asyncio.StreamReader) -> bool:
        """Take the time that a request takes; whether its client is still there."""
        if self._slots is None:
            if self.count >= self._together_from:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._were_together.wait(), 60)
            await asyncio.sleep(self._latency)
            return True

        async def work(slots: asyncio.Semaphore) -> None:
            async with slots:
                await asyncio.sleep(self._latency)

        working = asyncio.create_task(work(self._slots))
        leaving = asyncio.create_task(reader.read(1))  # a client that waits sends nothing
        tasks = {working, leaving}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return working in done

    def _key(self, request: ChatRequest) -> str:
        try:
            return self._sticky_key(request)
        except Exception as error:  # noqa: BLE001 - a caller's function; its error is raised on leaving
            self._ledger.note_error(error)
            return request.opening

    def _respond(self, request: ChatRequest, fault: Fault | None) -> tuple[HttpResponse, str | None]:
        """Give the answer to a request and the kind of the fault that is really in it."""
        applied = fault.kind if fault else None
        if fault is not None and (response := canned(fault.kind, fault.amount)) is not None:
            return response, applied
        try:
            check_supported(request, self._supports)
            reply = self._reply(request)
        except InvalidRequestError as error:
            return bad_request(error), None
        except BaseException as error:  # noqa: BLE001 - a failed assertion of pytest is no Exception
            self._ledger.note_error(error)
            return rejection(
                500, f"The responder raised {type(error).__name__}.", kind="server_error"
            ), None
        if isinstance(reply, HttpResponse):
            return reply, None
        if fault is not None and fault.kind in CONTENT_FAULTS:
            altered = alter(fault, reply)
            applied = None if altered == reply else applied
            reply = altered
        body = completion(request, reply, usage=self._usage)
        if request.stream:
            events = completion_events(body)
            return HttpResponse(status=200, body=events, content_type="text/event-stream"), applied
        return HttpResponse(status=200, body=json.dumps(body).encode()), applied

    def _respond_in_batch(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        """Give the status and the body of the answer to a request of a batch."""
        request = parse_chat(json.dumps(body).encode(), {})
        response, _ = self._respond(request, None)
        return response.status, json.loads(response.body)

    def _reply(self, request: ChatRequest) -> Reply | HttpResponse:
        answer: object = self._responder(request)
        if isinstance(answer, str):
            answer = Reply(content=answer)
        if isinstance(answer, Reply):
            return replace(answer, content=with_code(answer.content, request.text))
        if isinstance(answer, HttpResponse):
            return answer
        raise TypeError(
            f"FakeOpenAIServer: the responder gave {type(answer).__name__}; give a str, a Reply or an HttpResponse"
        )


def _own_address() -> str:
    """Return a loopback address that hardly any other server has."""
    if not sys.platform.startswith("linux"):
        return "127.0.0.1"  # the only one
    return str(ipaddress.IPv4Address("127.1.0.0") + secrets.randbelow(250 << 16))


def _loopback(host: str) -> str:
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ParameterError(
            f"FakeOpenAIServer: host is {host!r}; write a loopback address such as '127.0.0.1'"
        )
    return host
