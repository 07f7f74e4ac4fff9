"""Getting an answer to the client, or failing to."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from typing import TYPE_CHECKING

from support._http import HttpResponse
from support.chat import InvalidRequestError, error_body

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.faults import Fault

_HTML = b"<!doctype html><html><body><h1>502 Bad Gateway</h1><p>{upstream}</p></body></html>"
_TRICKLE_PIECES = 20


def canned(kind: str, seconds: float) -> HttpResponse | None:
    """Give the answer of a transport fault that needs no reply from the responder."""
    if kind == "html":
        return HttpResponse(status=200, body=_HTML, content_type="text/html; charset=utf-8")
    if kind == "no_content":
        return HttpResponse(status=204, body=b"")
    if kind in {"429", "429_retry_after"}:
        return rate_limited(seconds if kind == "429_retry_after" else None)
    if kind == "500":
        return rejection(
            500, "The server had an error while processing your request.", kind="server_error"
        )
    if kind == "503":
        return rejection(
            503, "The engine is currently overloaded, please try again later.", kind="server_error"
        )
    return None


def rate_limited(retry_after: float | None) -> HttpResponse:
    """Give a 429, with or without the seconds to wait."""
    body = error_body("Rate limit reached for requests.", kind="requests", code="rate_limit_exceeded")
    headers = () if retry_after is None else (("retry-after", f"{retry_after:g}"),)
    return HttpResponse(status=429, body=body, headers=headers)


def rejection(status: int, message: str, *, kind: str, code: str | None = None) -> HttpResponse:
    """Give an answer with OpenAI's error object."""
    return HttpResponse(status=status, body=error_body(message, kind=kind, code=code))


def bad_request(error: InvalidRequestError) -> HttpResponse:
    """Give the 400 for a request that names something unsupported."""
    body = error_body(error.message, kind="invalid_request_error", param=error.param, code=error.code)
    return HttpResponse(status=400, body=body)


async def send(writer: asyncio.StreamWriter, response: HttpResponse, *, keep_alive: bool) -> None:
    """Send an answer."""
    writer.write(response.head(keep_alive=keep_alive) + response.body)
    await writer.drain()


async def deliver(
    writer: asyncio.StreamWriter,
    response: HttpResponse,
    fault: Fault | None,
    *,
    keep_alive: bool,
    on_last: Callable[[], None],
) -> bool:
    """Send an answer, or as much of it as the fault lets through.

    ``on_last`` runs before the last bytes leave: what it records is there before the client knows anything.

    Returns:
        Whether the connection stays open.
    """
    kind = fault.kind if fault else None
    if fault is not None and kind == "trickle":
        await _trickle(writer, response, fault.amount, keep_alive=keep_alive, on_last=on_last)
        return keep_alive
    on_last()
    if kind not in {"cut_body", "reset"}:
        await send(writer, response, keep_alive=keep_alive)
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
    writer: asyncio.StreamWriter,
    response: HttpResponse,
    seconds: float,
    *,
    keep_alive: bool,
    on_last: Callable[[], None],
) -> None:
    writer.write(response.head(keep_alive=keep_alive))
    size = max(1, -(-len(response.body) // _TRICKLE_PIECES))
    pieces = [response.body[start : start + size] for start in range(0, len(response.body), size)]
    for left, piece in zip(range(len(pieces) - 1, -1, -1), pieces, strict=True):
        await asyncio.sleep(seconds / len(pieces))
        if not left:
            on_last()
        writer.write(piece)
        await writer.drain()
