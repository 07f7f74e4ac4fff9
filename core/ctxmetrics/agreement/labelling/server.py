"""A web server for one person on this machine: the page, the questions as JSON, and the answers.

It listens on 127.0.0.1 alone. Every address begins with a random token; another one is refused with
403. The Host header must be the server's own address, so that a page of another site cannot reach this
server under its own name. An answer must be JSON that the page itself sent.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Thread
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.agreement.labelling.session import Session
from ctxmetrics.errors import CtxMetricsError, InputFileError, OutputFileError

_ADDRESS = "127.0.0.1"
_PAGE = {
    "": ("page.html", "html"),
    "page.css": ("page.css", "css"),
    "page.js": ("page.js", "javascript"),
}
# Of every reply.
_HEADERS: Mapping[str, str] = read_data("agreement.labelling", "headers.json")
# The path of a request: the token, what is asked for, and the number of a question.
_TARGET = re.compile(r"/([^/?]*)/([^?]*)(?:\?number=([0-9]{1,9}))?")
# Bytes of an answer: a number, a word and the names of contexts.
_LONGEST_ANSWER = 64 * 1024


class LabelServer(ThreadingHTTPServer):
    """Serves one session until the page asks it to stop.

    Args:
        session: The questions.
        port: Where to listen; 0: a free one.

    Attributes:
        address: Of the page, with the token. Whoever has it can read the samples and answer.

    Raises:
        InputFileError: The port cannot be used.
    """

    daemon_threads = True

    def __init__(self, session: Session, port: int = 0) -> None:
        self.session = session
        self.token: str = secrets.token_urlsafe(24)
        try:
            super().__init__((_ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            raise InputFileError(
                f"label: port {port} cannot be used: {getattr(error, 'strerror', None) or error}. Choose another --port."
            ) from None
        self.host: str = f"{_ADDRESS}:{self.server_port}"
        self.address: str = f"http://{self.host}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser closes its connection."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: LabelServer  # pyright: ignore[reportIncompatibleVariableOverride] - the one that makes it
    server_version, sys_version = "ctxmetrics", ""
    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that a connection may say nothing

    def do_GET(self) -> None:
        """Send the page, a question or a verdict."""
        path, query = self._checked()
        session = self.server.session
        if path in _PAGE:
            name, kind = _PAGE[path]
            body = (files("ctxmetrics.agreement.labelling") / name).read_bytes()
            self._send(HTTPStatus.OK, body, f"text/{kind}; charset=utf-8")
        elif path == "question":
            self._json(lambda: session.show(session.next_after(-1) if query is None else query))
        elif path == "verdict" and query is not None:
            self._json(lambda: {"verdict": session.verdict(query)})
        elif path is not None:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take an answer, or stop."""
        path, _ = self._checked()
        if path is None:
            return
        if self.headers.get("Origin", f"http://{self.server.host}") != f"http://{self.server.host}":
            self._refuse(HTTPStatus.FORBIDDEN)
        elif self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif (data := self._body()) is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        elif path == "answer":
            self._json(lambda: self._answered(data))
        elif path == "stop":
            self._json(dict)
            # In a thread of its own: it waits for the end of `serve_forever`.
            Thread(target=self.server.shutdown, daemon=True).start()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _checked(self) -> tuple[str | None, int | None]:
        """Return the path behind the token and the number of the question that it asks for; None after a refusal."""
        match = _TARGET.fullmatch(self.path)
        token, path, number = match.groups() if match else ("", None, None)
        right = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not right or self.headers.get_all("Host") != [self.server.host]:
            self._refuse(HTTPStatus.FORBIDDEN)
            return None, None
        return path, None if number is None else int(number)

    def _body(self) -> dict[str, Any] | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or not length.isascii() or int(length) > _LONGEST_ANSWER:
            self.close_connection = True
            return None
        try:
            data = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return data if isinstance(data, dict) else None

    def _answered(self, data: dict[str, Any]) -> dict[str, Any]:
        number, answer, contexts = data.get("number"), data.get("answer"), data.get("contexts", [])
        if type(number) is not int:
            number = -1
        if not isinstance(contexts, list):
            contexts = []
        session = self.server.session
        session.answer(number, str(answer), [str(name) for name in contexts])
        return session.show(session.next_after(data["number"]))

    def _json(self, make: Any) -> None:
        try:
            status, data = HTTPStatus.OK, make()
        except OutputFileError as error:
            status, data = HTTPStatus.INSUFFICIENT_STORAGE, {"error": str(error)}
        except CtxMetricsError as error:
            status, data = HTTPStatus.BAD_REQUEST, {"error": str(error)}
        self._send(status, json.dumps(data).encode(), "application/json")

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._send(status, f"{status} {status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Print nothing: a request's address holds the token."""
