"""The clients of the ``openai`` package: one for each address and key, on the background loop, for the whole process.

The package is an extra, and is imported when a model is first asked. To build a client takes tens of milliseconds, so it is
kept, and its connections stay open between requests. The package builds the HTTP client and the headers once. The requests
themselves are sent directly with the HTTP client, because the package takes more CPU time for a request than sending it takes.

The replies of a server are untrusted: redirects are not followed, and the size of a reply is limited, also after decompression.

The transport is aiohttp if it is installed (the ``openai`` extra installs it), else httpx. aiohttp takes less CPU time, since
httpx looks at every connection of its pool for each request.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from gzip import GzipFile
from io import BytesIO
from typing import Any
from urllib.request import getproxies

from pydantic_core import to_json

from ctxmetrics._internal.forks import make_lock
from ctxmetrics._internal.secrets import safe_text
from ctxmetrics.errors import JudgeError, raise_missing
from ctxmetrics.models.runtime.background import background_loop
from ctxmetrics.models.runtime.failures import bad_answer
from ctxmetrics.models.runtime.run import ServerReply, current_run

# The clients, by process, address, path and key. A forked child builds clients of its own. Its parent's clients stay here unused,
# since deleting one could end the parent's connections.
_clients: dict[tuple[int, str, str, str], Client] = {}
# Held while the package is imported and a client is built.
_building = make_lock()
_CLOSING_SECONDS = 2.0
# More connections than any run needs at once. A request that has to wait for a connection would lose a part of its time-out.
_MAX_CONNECTIONS = 100_000
# Bytes of a reply that are read, after decompression. Small JSON objects take thirty times their text in memory.
MOST_BYTES = 2_000_000
# Characters that a run keeps of a reply that cannot be read, to show how it begins.
_REPLY_CHARACTERS_KEPT = 2_000
# The first status that is no success.
_FIRST_FAILURE_STATUS = 300
# Bytes of an error's body that are read; the status decides, the rest is for the message.
_MAX_ERROR_BYTES = 64_000


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one address with one key. It does not retry: a `Run` does.

    Attributes:
        http: The HTTP client.
        request: An empty request, whose address and headers every request has.
    """

    http: Any
    request: Any

    async def post(self, body: Mapping[str, Any]) -> str:
        """Send a request, and return the body of its answer.

        Raises:
            APIStatusError: The status is no success; an exception of the ``openai`` package.
            JudgeError: The body is too long, or cannot be decompressed.
        """
        began = time.perf_counter()
        template = self.request
        request = type(template)(
            template.method,
            template.url,
            headers=template.headers,
            content=to_json(body),
            extensions=template.extensions,
        )
        # The body is read in pieces, so that its size can be limited. Redirects are never followed.
        response = await self.http.send(request, stream=True, follow_redirects=False)
        try:
            content = await _read_body(response)
        finally:
            await response.aclose()
        # JSON is UTF-8; some servers begin it with a byte order mark. The encoding that the server names is ignored: it could be
        # one that decompresses the text once more.
        text = content.decode("utf-8-sig", errors="replace")
        current_run().last_reply = ServerReply(
            time.perf_counter() - began, text[:_REPLY_CHARACTERS_KEPT]
        )
        if response.status_code < _FIRST_FAILURE_STATUS:
            return text
        from openai import APIStatusError

        try:
            error = json.loads(text)
            details = f"{error}"
        except (ValueError, RecursionError):
            error = details = text
        message = f"Error code: {response.status_code}"
        if details:
            message += f" - {details}"
        if isinstance(error, dict):
            error = error.get("error", error)
        raise APIStatusError(message, response=response, body=error)


def client_for(base_url: str, key: str, path: str = "chat/completions") -> Client:
    """Return the client of an address, path and key. Call it on the background loop only.

    Raises:
        MissingExtraError: The ``openai`` package is not installed.
    """
    client_key = (os.getpid(), base_url, path, key)
    client = _clients.get(client_key)
    if client is None:
        with _building:
            client = _build_client(base_url, key, path)
        if not _clients:
            atexit.register(close_all)
        _clients[client_key] = client
    return client


def _build_client(base_url: str, key: str, path: str) -> Client:
    """Build the client of an address, path and key."""
    try:
        from openai import AsyncOpenAI
    except ImportError as error:
        raise_missing("openai", error=error)
    http = _http_client()
    package = AsyncOpenAI(base_url=base_url, api_key=key, http_client=http)
    defaults = {**package.default_headers, **package.auth_headers, "Accept-Encoding": "gzip"}
    headers = {name: value for name, value in defaults.items() if isinstance(value, str)}
    request = http.build_request("POST", f"{base_url}/{path}", headers=headers)
    request.headers.pop("content-length", None)
    return Client(http, request)


def build_blocking_client(base_url: str, key: str, timeout: float) -> Any:
    """Build a client of the package for files and batches: it blocks, and follows no redirects.

    Raises:
        MissingExtraError: The ``openai`` package is not installed.
    """
    try:
        from openai import DefaultHttpxClient, OpenAI
    except ImportError as error:
        raise_missing("openai", error=error)
    http = DefaultHttpxClient(follow_redirects=False, timeout=timeout)
    return OpenAI(base_url=base_url, api_key=key, timeout=timeout, http_client=http)


def _http_client() -> Any:
    """Return an HTTP client. Its own limits are never reached, because the run has lower limits."""
    import openai

    limits_class = type(
        openai.DEFAULT_CONNECTION_LIMITS
    )  # httpx.Limits: httpx itself may not be installed
    limits = limits_class(max_connections=_MAX_CONNECTIONS, max_keepalive_connections=_MAX_CONNECTIONS)
    # aiohttp cannot use SOCKS proxies.
    if not any(proxy.startswith("socks") for proxy in getproxies().values()):
        with suppress(AttributeError, RuntimeError):  # an older package; a package without aiohttp
            return openai.DefaultAioHttpClient(limits=limits, timeout=None)
    return openai.DefaultAsyncHttpxClient(limits=limits, timeout=None)


def read_body(text: str, **reading: Any) -> dict[str, Any]:
    """Read the body of an answer with status 200 as a JSON object.

    Args:
        text: The body. Untrusted.
        **reading: Options of `json.loads`.

    Raises:
        JudgeError: It is none; the server is asked again.
    """
    try:
        body = json.loads(text, **reading)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise bad_answer(f"the server answered with no JSON object: {safe_text(text[:60])!r}")
    return body


async def _read_body(response: Any) -> bytes:
    """Read the body of a response and decompress it, within the bounds.

    Raises:
        JudgeError: The response is a success, and its body is too long or cannot be decompressed.
    """
    # The body of an error is read only for the message.
    is_error = response.status_code >= _FIRST_FAILURE_STATUS
    most_bytes = _MAX_ERROR_BYTES if is_error else MOST_BYTES
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        if is_error:
            return b""
        raise bad_answer(
            f"the server's reply is compressed as {safe_text(encoding)}, which was not asked for"
        )
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > most_bytes:
            break
    content = bytes(body)
    if encoding == "gzip":
        try:
            content = GzipFile(fileobj=BytesIO(content)).read(most_bytes + 1)
        except (OSError, EOFError, zlib.error) as error:
            if is_error:
                return b""
            raise bad_answer(f"the server's reply cannot be decompressed: {safe_text(error)}") from None
    if len(content) > most_bytes and not is_error:
        raise JudgeError(
            f"the server's reply is longer than {most_bytes:,} bytes", reason_code="invalid_reply"
        )
    return content[:most_bytes]


def close_all() -> None:
    """Close every client of this process and its connections."""
    own_keys = [client_key for client_key in _clients if client_key[0] == os.getpid()]
    clients = [_clients.pop(client_key) for client_key in own_keys]

    async def close() -> None:
        for client in clients:
            await client.http.aclose()

    if clients:
        with suppress(Exception):  # the process ends, and its connections with it
            asyncio.run_coroutine_threadsafe(close(), background_loop()).result(_CLOSING_SECONDS)
