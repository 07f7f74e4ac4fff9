"""A fake server of decision models on the loopback: both wires, honest answers, faults on demand."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from ctxmetrics import Sample
from support.loopback import LoopbackServer
from support.server import _own_address
from support.wire import Served

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MODEL = "fake-decisions-1"
TOWER = Sample(
    id="tower",
    user_input="Where is the tower?",
    reference="The tower stands in Paris. It was painted blue.",
    retrieved_contexts=["The tower stands in Paris, on the left bank.", "Bananas are yellow."],
)
"""A sample of which the first context states the first sentence, and none the second."""
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
        """The instructions by id, of either wire; one that is no text is written as JSON."""
        questions = self.body["questions"]
        items = (
            questions.items() if isinstance(questions, dict) else ((q["name"], q) for q in questions)
        )
        texts: dict[str, str] = {}
        for id_, item in items:
            text = item.get("instructions")
            texts[id_] = text if isinstance(text, str) else json.dumps(text)
        return texts


@dataclass
class DecisionServer(Served):
    """A server of both wires.

    Attributes:
        answer: The probability of a yes, by state and question.
        key: The key that requests must have; None: any.
        change: Changes the body of a reply; it may return a status and a body, or a text that is sent as it is.
        requests: Those since the start.
    """

    answer: Callable[[str, str], float] = honest
    change: Callable[[Asked, dict[str, Any]], Any] = lambda _, body: body
    model: str = MODEL
    key: str | None = None
    requests: list[Asked] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._server = LoopbackServer((_own_address(), 0), self._handler())
        self._server.daemon_threads = True
        host, port = self._server.server_address[:2]
        self.url = f"http://{host!s}:{port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def reply(self, asked: Asked) -> dict[str, Any]:
        """Answer every question of a request."""
        sent = len(json.dumps(asked.body, ensure_ascii=False)) // 4
        if asked.path.endswith("/systemone"):
            answers: Any = {}
            for id_, text in asked.questions.items():
                question = asked.body["questions"][id_]
                if question["type"] == "noul":
                    answers[id_] = {"type": "noul", "noul": self.answer(asked.state, text)}
                else:
                    answers[id_] = _answer_choice(question)
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

            def do_GET(self) -> None:
                self._send(200, {"models": [{"name": outer.model}]})

            def do_POST(self) -> None:
                payload = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("content-encoding") == "zstd":
                    payload = _decompress(payload)
                key = self.headers.get("authorization", "").removeprefix("Bearer ")
                if outer.key is not None and key != outer.key:
                    detail = {"error_type": "authentication_error", "message": "no valid key"}
                    self._send(401, {"detail": detail})
                    return
                problem = _find_problem(self.path, payload)
                if problem is not None:
                    self._send(422, {"detail": [problem]})
                    return
                asked = Asked(self.path, json.loads(payload), key)
                outer.requests.append(asked)
                self._send(200, outer.change(asked, outer.reply(asked)))

            def _send(self, status: int, body: Any) -> None:
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


def _decompress(payload: bytes) -> bytes:
    """Decompress a request of typesafe-sdk, which compresses long ones since Python 3.14."""
    zstd: Any = import_module("compression.zstd")
    return bytes(zstd.decompress(payload))


def _answer_choice(question: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a choice, or a score: the last option is the likeliest."""
    criteria = question["criteria"]
    names = [*map(str, range(len(criteria)))] if isinstance(criteria, list) else list(criteria)
    total = len(names) * (len(names) + 1) / 2
    probabilities = {name: number / total for number, name in enumerate(names, 1)}
    if question["type"] == "choice":
        body: dict[str, Any] = {"choice": names[-1]}
    else:
        score = sum(level * p for level, p in enumerate(probabilities.values()))
        body = {"score": score, "legend": dict(zip(names, criteria, strict=True))}
    peak = max(probabilities.values())
    confidence = (len(names) * peak - 1) / max(1, len(names) - 1)
    return {"type": question["type"], **body, "probabilities": probabilities, "confidence": confidence}


def _find_problem(path: str, payload: bytes) -> dict[str, Any] | None:
    """Find what a request to System One lacks, in the form of FastAPI's errors."""
    try:
        body = json.loads(payload)
    except ValueError:
        return {"loc": ["body"], "msg": "JSON decode error", "type": "json_invalid"}
    if not path.endswith("/systemone"):
        return None
    for name, kinds in (("state", (str, dict, list)), ("model", str), ("questions", dict)):
        if not isinstance(body.get(name), kinds) or (name == "questions" and not body[name]):
            return {"loc": ["body", name], "msg": "Field required", "type": "missing"}
    for id_, question in body["questions"].items():
        problem = _find_problem_of(question)
        if problem is not None:
            return {"loc": ["body", "questions", id_], "msg": problem, "type": "value_error"}
    return None


def _find_problem_of(question: Mapping[str, Any]) -> str | None:
    kind, criteria = question.get("type"), question.get("criteria")
    if kind == "choice":
        fine = isinstance(criteria, dict) and 1 <= len(criteria) <= 255
    elif kind == "score":
        fine = isinstance(criteria, list) and 1 <= len(criteria) <= 10 and None not in criteria
    else:
        fine = kind == "noul"
    return None if fine else f"wrong type or criteria of a {kind}"
