"""Batches in OpenAI's form for the fake server: files, statuses, results, and what goes wrong with them."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING, Any

from support._http import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# Faults of single requests, each at the share that the plan says; a request is hit in its first batch only.
ITEM_FAULTS = ("expired", "missing", "twice", "error", "no_body", "stray", "html")
# Faults of whole batches, one after the other, each once.
BATCH_FAULTS = ("failed", "bad_line", "token_limit", "cancelled", "gone", "errors_only", "unknown")
# What the provider says of a batch that failed.
REFUSAL = "the batch was refused"
# When a batch is made: there is no room; it is made, and the answer is an error; it is refused, and the text holds the key.
STATUSES = {"busy": 429, "accepted": 500, "refused": 400}


@dataclass
class FakeBatches:
    """Batches that end when they are looked at for the first time.

    Args:
        share: The share of requests that each of `ITEM_FAULTS` hits, in their first batch.
        batch_faults: What goes wrong with the batches, in the order in which they are made; None: nothing.
        rounds: How often a batch is looked at before it has ended.

    Attributes:
        answered: How often each request was answered, and so paid.
        made: How many batches were made.
        asked: What was asked of the provider to make batches, and the requests in them.
        item_faults: The faults of single requests.
        on_request: Called when a request is answered, before the answer leaves.
        deleted: Ids of input files that were deleted.
    """

    share: float = 0.0
    batch_faults: Iterable[str | None] = ()
    rounds: int = 0
    respond: Callable[[Mapping[str, Any]], tuple[int, Any]] | None = None
    answered: Counter[str] = field(default_factory=Counter)
    deleted: list[str] = field(default_factory=list)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    hit: Counter[str] = field(default_factory=Counter)
    item_faults: Iterable[str] = ITEM_FAULTS
    on_request: Callable[[], None] | None = None
    made: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _looks: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._faults = iter(self.batch_faults)

    def answer(self, http: HttpRequest) -> HttpResponse | None:  # noqa: PLR0911 - a table of paths
        """Answer a request about files or batches; None where it is about something else."""
        parts = http.path.removeprefix("/v1/").split("/")
        if parts[0] not in ("files", "batches"):
            return None
        match http.method, parts:
            case "POST", ["files"]:
                return self._upload(http)
            case "GET", ["files"]:
                return answer_json(
                    {"object": "list", "has_more": False, "data": [*map(self._file, self.files)]}
                )
            case "GET", ["files", id_, "content"] if id_ in self.files:
                return HttpResponse(
                    status=200, body=self.files[id_][1], content_type="application/jsonl"
                )
            case "DELETE", ["files", id_] if id_ in self.files:
                del self.files[id_]
                self.deleted.append(id_)
                return answer_json({"id": id_, "object": "file", "deleted": True})
            case "POST", ["batches"]:
                return self._create(json.loads(http.body))
            case "GET", ["batches"]:
                newest = [self.batches[id_] for id_ in reversed(self.batches)]
                return answer_json({"object": "list", "has_more": False, "data": newest})
            case "GET", ["batches", id_] if (
                self.batches.get(id_, {}).get("fault", "unknown") != "unknown"
            ):
                return answer_json(self._look(id_))
            case _:
                return answer_json(
                    {"error": {"message": "no such thing", "type": "not_found_error"}}, 404
                )

    def _upload(self, http: HttpRequest) -> HttpResponse:
        head = f"content-type: {http.headers['content-type']}\r\n\r\n".encode()
        message = BytesParser(policy=HTTP).parsebytes(head + http.body)
        for part in message.iter_parts():
            if part.get_param("name", header="content-disposition") == "file":
                id_ = f"file-{len(self.files) + len(self.deleted)}-{time.monotonic_ns()}"
                content: Any = part.get_payload(decode=True)
                self.files[id_] = (str(part.get_filename()), content)
                return answer_json(self._file(id_))
        return answer_json({"error": {"message": "no file", "type": "invalid_request_error"}}, 400)

    def _file(self, id_: str) -> dict[str, Any]:
        name, content = self.files[id_]
        return {
            "id": id_, "object": "file", "bytes": len(content), "created_at": int(time.time()),
            "filename": name, "purpose": "batch", "status": "processed",
        }  # fmt: skip

    def _create(self, body: Mapping[str, Any]) -> HttpResponse:
        lines = self.files[body["input_file_id"]][1].splitlines()
        fault = self._next_fault({json.loads(line)["custom_id"] for line in lines})
        status = STATUSES.get(fault or "")
        error = {
            "error": {"message": "the batch was refused: sk-test-0123456789", "type": "server_error"}
        }
        if status and fault != "accepted":
            return answer_json(error, status)
        now = int(time.time())
        self.made += 1
        id_ = f"batch_{self.made - 1}"
        self._lines[id_] = [json.loads(line) for line in lines]
        self.asked += [dict(body), *self._lines[id_]]
        batch = {
            "id": id_, "object": "batch", "endpoint": body["endpoint"], "completion_window": "24h",
            "input_file_id": body["input_file_id"], "metadata": body["metadata"], "status": "validating",
            "created_at": now, "expires_at": now + 86400, "fault": fault,
            "request_counts": {"total": len(self._lines[id_]), "completed": 0, "failed": 0},
        }  # fmt: skip
        self.batches[id_] = batch
        return answer_json(error, status) if status else answer_json(batch)

    def _next_fault(self, ids: set[str]) -> str | None:
        """Return what goes wrong with the next batch. Where single requests have faults, too, a request is hit once in all."""
        fault = next(self._faults, None)
        if not self.share or fault is None:
            return fault
        if self._seen & ids:
            return None
        self._seen |= ids
        return fault

    def _look(self, id_: str) -> dict[str, Any]:
        batch = self.batches[id_]
        self._looks[id_] += 1
        if batch["status"] != "validating" or self._looks[id_] <= self.rounds:
            return batch
        fault = batch["fault"]
        lines = self._lines[id_]
        if fault in ("failed", "bad_line", "token_limit"):
            code = "token_limit_exceeded" if fault == "token_limit" else "invalid_request"
            line = 1 if fault == "bad_line" else None
            error = {"code": code, "message": REFUSAL, "line": line, "param": None}
            batch |= {"status": "failed", "errors": {"object": "list", "data": [error]}}
            return batch
        output: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        half = len(lines) // 2 if fault == "cancelled" else len(lines)
        for item in lines[:half]:
            self._answer_item(item, output, errors, all_fail=fault == "errors_only")
        output.reverse()
        batch |= {"status": "cancelled" if fault == "cancelled" else "completed"}
        for name, rows in (("output_file_id", output), ("error_file_id", errors)):
            batch[name] = ""
            if rows:
                batch[name] = f"file-{name}-{id_}"
                self.files[batch[name]] = (name, join_lines(rows))
        if fault == "gone":
            for name in ("output_file_id", "error_file_id"):
                self.files.pop(batch[name], None)
                for item in lines:  # what is gone was paid
                    self.answered.pop(item["custom_id"], None)
        return batch

    def _answer_item(
        self, item: Mapping[str, Any], output: list[Any], errors: list[Any], *, all_fail: bool
    ) -> None:
        custom_id = item["custom_id"]
        fault = self._fault_of(custom_id, item["body"]["messages"])
        row = {"id": f"req_{custom_id[:8]}", "custom_id": custom_id, "response": None, "error": None}
        if fault == "expired":
            expired = {
                "code": "batch_expired",
                "message": "This request could not be executed in time.",
            }
            errors.append({**row, "error": expired})
        elif fault == "missing":
            pass
        elif fault == "error" or all_fail:
            body = {"error": {"message": "The server had an error", "type": "server_error"}}
            errors.append({**row, "response": {"status_code": 500, "request_id": "r", "body": body}})
        elif fault == "no_body":
            errors.append({**row, "response": {"status_code": 0, "request_id": "", "body": {}}})
        else:
            assert self.respond is not None, "the server sets it"
            status, body = self.respond(item["body"])
            self.answered[custom_id] += 1
            row["response"] = {"status_code": status, "request_id": "r", "body": body}
            if fault == "html" and status == 200:
                row["response"]["body"] = {"choices": []}
                self.answered[custom_id] -= 1
            (output if status == 200 else errors).append(row)
            if fault == "twice":
                output.append(row)
            if fault == "stray":
                output.append({**row, "custom_id": "0" * 64})

    def _fault_of(self, custom_id: str, messages: Any) -> str | None:
        if custom_id in self._seen:
            return None
        self._seen.add(custom_id)
        # By what is asked, not by the id, in which the port of the server is.
        place = int(hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:8], 16) % 1000
        faults = [*self.item_faults]
        number = int(place // (self.share * 1000)) if self.share else len(faults)
        fault = faults[number] if number < len(faults) else None
        if fault:
            self.hit[fault] += 1
        return fault


def answer_json(body: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(status=status, body=json.dumps(body).encode())


def join_lines(rows: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
