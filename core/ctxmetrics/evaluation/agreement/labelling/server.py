"""The server of the labelling page: the page, the questions as JSON, and the answers.

An answer must be JSON that the page itself sent. See `ctxmetrics.evaluation.pages.local_server` for what protects it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from threading import Thread
from typing import Any, ClassVar

from ctxmetrics.errors import CtxMetricsError, OutputFileError
from ctxmetrics.evaluation.agreement.labelling.session import Session
from ctxmetrics.evaluation.pages.local_server import LocalHandler
from ctxmetrics.scores import pages
from ctxmetrics.scores.pages import read_file

_PAGE = {
    "": ("page.html", "html"),
    "page.css": ("page.css", "css"),
    "page.js": ("page.js", "javascript"),
}
# The maximum number of bytes of an answer: a number, a word and the names of contexts.
_MAX_ANSWER_BYTES = 64 * 1024


class LabelHandler(LocalHandler):
    """Serves one session until the page asks it to stop."""

    # The token, what is asked for, and the number of a question.
    target: ClassVar[re.Pattern[str]] = re.compile(r"/([^/?]*)/([^?]*)(?:\?number=([0-9]{1,9}))?")

    def do_GET(self) -> None:  # noqa: N802 - the base class' name
        """Send the page, a question or a verdict."""
        path, number = self.check()
        query = None if number is None else int(number)
        session: Session = self.server.subject
        if path in _PAGE:
            name, kind = _PAGE[path]
            body = read_file("ctxmetrics.evaluation.agreement.labelling", name)
            if kind == "css":
                body = read_file(pages.__name__, name) + body
            self.send(HTTPStatus.OK, body.encode(), f"text/{kind}; charset=utf-8")
        elif path == "question":
            shown_number = session.next_after(-1) if query is None else query
            self._send_json(lambda: session.show(shown_number))
        elif path == "verdict" and query is not None:
            self._send_json(lambda: {"verdict": session.verdict(query)})
        elif path is not None:
            self.refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:  # noqa: N802 - the base class' name
        """Take an answer, or stop."""
        path, _ = self.check()
        if path is None:
            return
        own_origin = f"http://{self.server.host}"
        if self.headers.get("Origin", own_origin) != own_origin:
            self.refuse(HTTPStatus.FORBIDDEN)
        elif self.headers.get_content_type() != "application/json":
            self.refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif (data := self._read_body()) is None:
            self.refuse(HTTPStatus.BAD_REQUEST)
        elif path == "answer":
            self._send_json(lambda: self._save_answer(data))
        elif path == "stop":
            self._send_json(dict)
            # In a thread of its own: it waits for the end of `serve_forever`.
            Thread(target=self.server.shutdown, daemon=True).start()
        else:
            self.refuse(HTTPStatus.NOT_FOUND)

    def _read_body(self) -> dict[str, Any] | None:
        """Read the JSON object that the page sent. Return None if it is none, or too long."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or not length.isascii() or int(length) > _MAX_ANSWER_BYTES:
            self.close_connection = True
            return None
        try:
            data = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return data if isinstance(data, dict) else None

    def _save_answer(self, data: dict[str, Any]) -> dict[str, Any]:
        """Save an answer that the page sent, and return the state of the session."""
        number = data.get("number")
        answer = data.get("answer")
        contexts = data.get("contexts", [])
        if type(number) is not int:
            number = -1
        if not isinstance(contexts, list):
            contexts = []
        session: Session = self.server.subject
        session.answer(number, str(answer), [str(name) for name in contexts])
        return session.show(session.next_after(data["number"]))

    def _send_json(self, make_data: Callable[[], object]) -> None:
        """Send data as JSON. If making the data fails with an error of this library, send the text of the error instead."""
        try:
            status = HTTPStatus.OK
            data = make_data()
        except OutputFileError as error:
            status = HTTPStatus.INSUFFICIENT_STORAGE
            data = {"error": str(error)}
        except CtxMetricsError as error:
            status = HTTPStatus.BAD_REQUEST
            data = {"error": str(error)}
        self.send(status, json.dumps(data).encode(), "application/json")
