"""A provider of batches in a process of its own, which streams: files and results stand on its disk, never whole in memory.

It speaks both forms and answers every request with the same reply. ``python batch_provider_process.py FOLDER`` prints its port.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_ID = re.compile(rb'"custom_id":\s*"([0-9a-f]{64})"')
_PIECE = 65536
_TEXT = json.dumps({"code": "", "sentences": {}, "remark": "a reply of usual length. " * 30})
_TIME = datetime.now(UTC)


class Provider(BaseHTTPRequestHandler):
    """Answers requests about files and batches."""

    protocol_version = "HTTP/1.1"
    folder: Path
    batches: dict[str, Any]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Say nothing."""

    def do_POST(self) -> None:
        path = self.path.removeprefix("/v1/")
        name = f"input-{len(list(self.folder.iterdir()))}"
        left = int(self.headers["content-length"])
        with (self.folder / name).open("wb") as file:
            while left > 0:
                piece = self.rfile.read(min(left, _PIECE))
                file.write(piece)
                left -= len(piece)
        if path == "files":
            self._send(
                {
                    "id": name,
                    "object": "file",
                    "bytes": 1,
                    "created_at": 1,
                    "filename": name,
                    "purpose": "batch",
                }
            )
        elif path == "batches":
            body = json.loads((self.folder / name).read_bytes())
            self.batches[name] = body["input_file_id"]
            self._send(self._show(name))
        else:
            self.batches[name] = name
            self._send(self._show_messages(name, ended=False))

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].removeprefix("/v1/").split("/")
        if parts[0] == "files":
            self._send_results(parts[1].removeprefix("output-"), "openai")
        elif parts[0] == "batches":
            self._send(self._show(parts[1]))
        elif parts[-1] == "results":
            self._send_results(parts[2], "anthropic")
        else:
            self._send(self._show_messages(parts[2], ended=True))

    def do_DELETE(self) -> None:
        self._send({"id": "x", "object": "file", "type": "message_batch_deleted", "deleted": True})

    def _show(self, name: str) -> dict[str, Any]:
        return {
            "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "completion_window": "24h",
            "input_file_id": self.batches[name], "status": "completed", "created_at": 1, "expires_at": 2,
            "output_file_id": f"output-{name}", "error_file_id": "",
        }  # fmt: skip

    def _show_messages(self, name: str, *, ended: bool) -> dict[str, Any]:
        host = self.headers["host"]
        return {
            "id": name, "type": "message_batch", "processing_status": "ended" if ended else "in_progress",
            "created_at": _TIME.isoformat(), "expires_at": (_TIME + timedelta(days=1)).isoformat(),
            "results_url": f"http://{host}/v1/messages/batches/{name}/results" if ended else None,
            "request_counts": {"processing": 1, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
        }  # fmt: skip

    def _send(self, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _send_results(self, name: str, form: str) -> None:
        """Stream a line for each request of a batch."""
        usage = {
            "prompt_tokens": 700,
            "completion_tokens": 200,
            "input_tokens": 700,
            "output_tokens": 200,
        }
        if form == "openai":
            choice = {"message": {"content": _TEXT}, "finish_reason": "stop"}
            body = {"model": "fake-judge", "choices": [choice], "usage": usage}
            rest = {"response": {"status_code": 200, "request_id": "r", "body": body}, "error": None}
        else:
            message = {
                "id": "m", "type": "message", "role": "assistant", "model": "fake-judge", "usage": usage,
                "content": [{"type": "text", "text": _TEXT}], "stop_reason": "end_turn", "stop_sequence": None,
            }  # fmt: skip
            rest = {"result": {"type": "succeeded", "message": message}}
        tail = json.dumps(rest)[1:].encode() + b"\n"
        self.send_response(200)
        self.send_header("content-type", "application/x-jsonl")
        self.send_header("connection", "close")
        self.end_headers()
        with (self.folder / self.batches[name]).open("rb") as file:
            content = file.read(_PIECE)
            while content:
                for key in _ID.findall(content):
                    self.wfile.write(b'{"custom_id": "' + key + b'", ' + tail)
                # An id that stands across two pieces is in the second one.
                cut = content.rfind(b'"custom_id"')
                rest_of = content[cut:] if cut >= 0 and not _ID.match(content, cut) else content[-11:]
                more = file.read(_PIECE)
                content = rest_of + more if more else b""


def main(folder: str) -> None:
    Provider.folder = Path(folder)
    Provider.batches = {}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
