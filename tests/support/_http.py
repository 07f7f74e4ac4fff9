"""The little HTTP/1.1 that the fake server speaks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BODY_BYTES = 64 * 1024 * 1024


class BadRequestError(Exception):
    """The bytes on the connection are not a request this server understands."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request as it came over the wire; header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    keep_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """One answer, complete before a byte of it is sent."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    def head(self, *, keep_alive: bool) -> bytes:
        """Status line and headers, up to and including the empty line."""
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"content-type: {self.content_type}",
            f"content-length: {len(self.body)}",
            f"connection: {'keep-alive' if keep_alive else 'close'}",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> HttpRequest | None:
    """Read the next request of a connection.

    Returns:
        The request, or ``None`` when the client closed the connection between two requests.

    Raises:
        BadRequestError: The bytes are not HTTP/1.x, or the body is too long.
        asyncio.IncompleteReadError: The client left in the middle of a request.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise BadRequestError("request head is too long") from error
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    request_line, *header_lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    try:
        method, target, version = request_line.split(" ")
    except ValueError as error:
        raise BadRequestError("malformed request line") from error
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (h.partition(":") for h in header_lines)
    }
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    connection = headers.get("connection", "").lower()
    return HttpRequest(
        method=method,
        path=target.partition("?")[0],
        headers=headers,
        body=await _read_body(reader, headers),
        keep_alive=connection != "close" and (version != "HTTP/1.0" or connection == "keep-alive"),
    )


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await _read_chunks(reader)
    length = _length(headers.get("content-length", "0"), base=10)
    return await reader.readexactly(length)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := _length(
        (await reader.readuntil(b"\r\n")).partition(b";")[0].decode("latin-1"), base=16
    ):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
        if len(body) > MAX_BODY_BYTES:
            raise BadRequestError("request body is too long")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers say nothing we need
    return bytes(body)


def _length(text: str, *, base: int) -> int:
    try:
        length = int(text.strip(), base)
    except ValueError as error:
        raise BadRequestError("malformed length") from error
    if not 0 <= length <= MAX_BODY_BYTES:
        raise BadRequestError("request body is too long")
    return length
