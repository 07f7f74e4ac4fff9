"""A fake server of decision models on the loopback: both wires, honest answers, faults on demand."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from support.server import _own_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

MODEL = "fake-decisions-1"
_DATA = re.compile(r"BEGIN DATA \w+\n(.*)\nEND DATA")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"\w{3,}")


def shared(unit: str, text: str) -> float:
    """Return the share of a text's words of three letters that another text holds."""
    words = set(_WORD.findall(unit.lower()))
    return len(words & set(_WORD.findall(text.lower()))) / len(words) if words else 0.0


def honest(state: str, question: str) -> float:
    """Answer a question by the words that its texts share: .05 to .95."""
    match = _DATA.search(state)
    if match is None:
        return 0.5
    data = json.loads(match[1])
    quoted = _QUOTED.search(question)
    if quoted is not None:
        unit = json.loads(quoted[0])
        contexts = data.get("contexts", [data.get("context", "")])
        return _scale(shared(unit, " ".join(contexts)))
    sentences = data.get("sentences") or {"answer": data["answer"]}
    named = re.findall(r"\b([sc]\d+)\b", question)
    units = [sentences[id_] for id_ in named if id_[0] == "s"] or list(sentences.values())
    texts = [data["contexts"][id_] for id_ in named if id_[0] == "c"] or list(data["contexts"].values())
    return _scale(max(shared(unit, " ".join(texts)) for unit in units))


def _scale(share: float) -> float:
    return round(0.05 + 0.9 * share, 4)


@dataclass(frozen=True)
class Asked:
    """One request: its path, and its body as it came."""

    path: str
    body: Mapping[str, Any]
    key: str

    @property
    def state(self) -> str:
        """The state, of either wire."""
        return str(self.body.get("state", self.body.get("input")))

    @property
    def questions(self) -> dict[str, str]:
        """The instructions by id, of either wire."""
        questions = self.body["questions"]
        if isinstance(questions, dict):
            return {id_: item.get("instructions", "") for id_, item in questions.items()}
        return {item["name"]: item["instructions"] for item in questions}


@dataclass
class DecisionServer:
    """A server of both wires.

    Attributes:
        answer: The probability of a yes, by state and question.
        change: Changes the body of a reply; it may return a status and a body, or a text that is sent as it is.
        requests: Those since the start.
    """

    answer: Callable[[str, str], float] = honest
    change: Callable[[Asked, dict[str, Any]], Any] = lambda _, body: body
    model: str = MODEL
    requests: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer((_own_address(), 0), self._handler())
        self._server.daemon_threads = True
        host, port = self._server.server_address[:2]
        self.url = f"http://{host!s}:{port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, asked: Asked) -> dict[str, Any]:
        """Answer every question of a request."""
        sent = len(json.dumps(asked.body, ensure_ascii=False)) // 4
        if asked.path.endswith("/systemone"):
            answers: Any = {}
            for id_, text in asked.questions.items():
                answers[id_] = {"type": "noul", "noul": self.answer(asked.state, text)}
            usage: dict[str, Any] = {"input_tokens": sent, "output_tokens": 0}
        else:
            answers = []
            for id_, text in asked.questions.items():
                probability = self.answer(asked.state, text)
                answers.append({"type": "predicate", "name": id_, "probability": probability})
            usage = {
                "input_tokens": sent,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": sent,
            }
        return {"model": self.model, "answers": answers, "usage": usage}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                payload = self.rfile.read(int(self.headers.get("content-length", 0)))
                key = self.headers.get("authorization", "").removeprefix("Bearer ")
                asked = Asked(self.path, json.loads(payload), key)
                outer.requests.append(asked)
                status, body = 200, outer.change(asked, outer.reply(asked))
                headers: dict[str, str] = {}
                if isinstance(body, tuple):
                    status, body, *rest = body
                    headers = rest[0] if rest else {}
                text = body if isinstance(body, str) else json.dumps(body)
                self.send_response(status)
                written = text.encode()
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(written)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(written)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                """Print nothing."""

        return Handler
