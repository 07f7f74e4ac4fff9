"""Anthropic's batches of messages for the fake server: what is asked and answered in its form, and what goes wrong with it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from support._http import HttpRequest, HttpResponse
from support.batches import STATUSES, FakeBatches, answer_json, join_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Faults of single requests, each at the share that the plan says; a request is hit in its first batch only.
ITEM_FAULTS = ("expired", "canceled", "missing", "twice", "error", "no_body", "stray")
# Faults of whole batches, one after the other, each once.
BATCH_FAULTS = ("cancelled", "gone", "errors_only", "unknown", "bad_line")
_PATH = "/v1/messages/batches"
_STOPPED = {"length": "max_tokens", "stop": "end_turn", "content_filter": "refusal"}


@dataclass
class FakeAnthropicBatches(FakeBatches):
    """Batches of messages that end when they are looked at for the first time. See `FakeBatches`."""

    item_faults: Iterable[str] = ITEM_FAULTS
    _results: dict[str, bytes] = field(default_factory=dict)

    def answer(self, http: HttpRequest) -> HttpResponse | None:  # noqa: PLR0911 - a table of paths
        """Answer a request about batches; None where it is about something else."""
        path = http.path.partition("?")[0]
        if not path.startswith(_PATH):
            return None
        # Older clients send the key in a header of its own.
        sent = http.headers.get("x-api-key") or http.headers["authorization"]
        assert sent.removeprefix("Bearer ") == "sk-test-0123456789"
        parts = path.removeprefix(_PATH).strip("/").split("/")
        id_ = parts[0]
        known = self.batches.get(id_, {}).get("fault", "unknown") != "unknown"
        match http.method, parts:
            case "POST", [""]:
                return self._make(json.loads(http.body)["requests"], http.headers["host"])
            case "GET", [""]:
                newest = [self._show(id_) for id_ in reversed(self.batches)]
                return answer_json(
                    {"data": newest, "has_more": False, "first_id": None, "last_id": None}
                )
            case "GET", [_] if known:
                self._look_at(id_)
                return answer_json(self._show(id_))
            case "GET", [_, "results"] if id_ in self._results:
                content = self._results[id_]
                return HttpResponse(status=200, body=content, content_type="application/x-jsonl")
            case "DELETE", [_] if known:
                assert self.batches[id_]["processing_status"] == "ended"
                self.deleted.append(id_)
                del self.batches[id_]
                return answer_json({"id": id_, "type": "message_batch_deleted"})
            case _:
                return answer_json(_error("not_found_error", "no such thing"), 404)

    def _make(self, requests: list[dict[str, Any]], host: str) -> HttpResponse:
        fault = self._next_fault({item["custom_id"] for item in requests})
        status = STATUSES.get(fault or "")
        error = _error("api_error", "the batch was refused: sk-test-0123456789")
        if status and fault != "accepted":
            return answer_json(error, status)
        now = datetime.now(UTC)
        self.made += 1
        id_ = f"batch_{self.made - 1}"
        self.asked += requests
        self._lines[id_] = requests
        self.batches[id_] = {
            "id": id_, "type": "message_batch", "processing_status": "in_progress", "fault": fault,
            "created_at": now.isoformat(), "expires_at": (now + timedelta(days=1)).isoformat(),
            "archived_at": None, "cancel_initiated_at": None, "ended_at": None, "results_url": None,
            "url": f"http://{host}{_PATH}/{id_}/results",
            "request_counts": {"processing": len(requests), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        }  # fmt: skip
        return answer_json(error, status) if status else answer_json(self._show(id_))

    def _show(self, id_: str) -> dict[str, Any]:
        return {
            name: value for name, value in self.batches[id_].items() if name not in ("fault", "url")
        }

    def _look_at(self, id_: str) -> None:
        batch = self.batches[id_]
        self._looks[id_] += 1
        if batch["processing_status"] == "ended" or self._looks[id_] <= self.rounds:
            return
        items = self._lines[id_]
        rows: list[dict[str, Any]] = []
        for number, item in enumerate(items):
            fault = batch["fault"]
            if fault == "cancelled":
                fault = "canceled" if number >= len(items) // 2 else None
            elif fault == "bad_line":
                fault = "bad_line" if number == 0 else None
            elif fault == "errors_only":
                fault = "error"
            rows += self._answer_request(item, fault)
        rows.reverse()
        kinds = Counter(row["result"]["type"] for row in rows)
        batch["request_counts"] = {name: kinds[name] for name in batch["request_counts"]}
        batch |= {"processing_status": "ended", "results_url": batch["url"]}
        if batch["fault"] == "gone":
            for item in items:  # what is gone was paid
                self.answered.pop(item["custom_id"], None)
        else:
            self._results[id_] = join_lines(rows)

    def _answer_request(self, item: Mapping[str, Any], fault: str | None) -> list[dict[str, Any]]:
        custom_id = item["custom_id"]
        body = _to_chat(item["params"])
        fault = fault or self._fault_of(custom_id, body["messages"])
        row = {"custom_id": custom_id, "result": {"type": fault}}
        if fault in ("expired", "canceled"):
            return [row]
        if fault == "missing":
            return []
        if fault in ("error", "bad_line"):
            kind = "api_error" if fault == "error" else "invalid_request_error"
            return [
                {**row, "result": {"type": "errored", "error": _error(kind, "the batch was refused")}}
            ]
        if fault == "no_body":
            return [{**row, "result": {"type": "succeeded", "message": {}}}]
        assert self.respond is not None, "the server sets it"
        status, answer = self.respond(body)
        self.answered[custom_id] += 1
        if status != 200:
            error = _error("invalid_request_error", answer["error"]["message"])
            return [{**row, "result": {"type": "errored", "error": error}}]
        row["result"] = {"type": "succeeded", "message": _to_message(answer)}
        copies: dict[str | None, list[dict[str, Any]]] = {
            "twice": [row, row],
            "stray": [row, {**row, "custom_id": "0" * 64}],
        }
        return copies.get(fault, [row])


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "request_id": None, "error": {"type": kind, "message": message}}


def _to_chat(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked as the body of a chat completion."""
    system = {"role": "system", "content": params["system"]}
    return {**params, "messages": [system, *params["messages"]]}


def _to_message(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return a chat completion as a message."""
    choice = answer["choices"][0]
    usage = answer["usage"]
    refusal = choice["message"].get("refusal")
    text = choice["message"]["content"] or ""
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": answer["model"],
        "content": [] if refusal else [{"type": "text", "text": text}],
        "stop_reason": "refusal" if refusal else _STOPPED[choice["finish_reason"]], "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }  # fmt: skip
