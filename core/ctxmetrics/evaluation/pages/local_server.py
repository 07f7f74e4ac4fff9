"""A web server for one person on this machine, which the labelling page and the view of runs share.

It listens on 127.0.0.1 alone. Every address begins with a random token; another one is refused with
403. The Host header must be the server's own address, so that a page of another site cannot reach this
server under its own name.
"""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import InputFileError

_LOCAL_ADDRESS = "127.0.0.1"
# The headers of every reply.
_REPLY_HEADERS: Mapping[str, str] = read_data("evaluation.pages", "headers.json")


class LocalServer(ThreadingHTTPServer):
    """Serves the pages of a handler.

    Args:
        handler: Answers the requests.
        subject: What the pages are about.
        command: The command that serves, for messages.
        port: The port to listen on; 0: any free port.

    Attributes:
        address: Of the first page, with the token. Whoever has it can read the pages.

    Raises:
        InputFileError: The port cannot be used.
    """

    daemon_threads = True

    def __init__(self, handler: type[LocalHandler], subject: Any, command: str, port: int = 0) -> None:
        self.subject = subject
        self.token: str = secrets.token_urlsafe(24)
        try:
            super().__init__((_LOCAL_ADDRESS, port), handler)
        except (OSError, OverflowError) as error:
            raise InputFileError(
                f"{command}: port {port} cannot be used: {getattr(error, 'strerror', None) or error}. Choose another --port."
            ) from None
        self.host: str = f"{_LOCAL_ADDRESS}:{self.server_port}"
        self.address: str = f"http://{self.host}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser closes its connection."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class LocalHandler(BaseHTTPRequestHandler):
    """Checks each request, and sends replies with the headers that protect a page.

    Attributes:
        target: The path of a request: the token, what is asked for, and further groups.
    """

    server: LocalServer  # pyright: ignore[reportIncompatibleVariableOverride] - the one that makes it
    server_version = "ctxmetrics"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float | None] = 30  # seconds that a connection may say nothing
    target: ClassVar[re.Pattern[str]]

    def check(self) -> list[str | None]:
        """Return the parts of the path after the token: the requested page and its parameters. All are None after a refusal."""
        match = self.target.fullmatch(self.path)
        token, *parts = match.groups(None) if match else ("", *[None] * (self.target.groups - 1))
        has_token = secrets.compare_digest((token or "").encode(), self.server.token.encode())
        if not has_token or self.headers.get_all("Host") != [self.server.host]:
            self.refuse(HTTPStatus.FORBIDDEN)
            return [None] * len(parts)
        return parts

    def refuse(self, status: HTTPStatus) -> None:
        """Send a status and nothing else, and close the connection."""
        self.close_connection = True
        self.send(status, f"{status} {status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def send(self, status: HTTPStatus, body: bytes, kind: str, policy: str | None = None) -> None:
        """Send a reply. ``policy`` replaces the usual content security policy."""
        self.send_response(status)
        headers = {**_REPLY_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
        if policy is not None:
            headers["Content-Security-Policy"] = policy
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Print nothing: a request's address holds the token."""
