"""What leaves a run, and to whom: a server that stands in for every host, runs in processes of their own, and the table."""

from __future__ import annotations

import gzip
import json
import re
import ssl
import threading
import zlib
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from support.loopback import LoopbackServer

if TYPE_CHECKING:
    import socket

ROOT = Path(__file__).parents[2]
GUARD = Path(__file__).with_name("guard")

_TLS_HANDSHAKE = b"\x16"


@dataclass(frozen=True, slots=True)
class Request:
    """One request that arrived.

    Attributes:
        host: The host that was asked for.
        line: Method and path.
        body: The body, decompressed.
    """

    host: str
    line: str
    body: bytes

    def holds(self, word: str) -> bool:
        """Tell whether a word stands in the request."""
        return word in self.line or word.encode() in self.body


class Recorder:
    """A server on the loopback that speaks HTTP and HTTPS for any host, and keeps what arrives.

    Args:
        replies: JSON replies by a pattern of method and path; the reply to the rest is ``{}``.

    Attributes:
        requests: What arrived.
    """

    def __init__(self, replies: dict[str, Any] | None = None) -> None:
        self.requests: list[Request] = []
        self._replies = replies or {}
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                recorder._answer(self)

            do_GET = do_PATCH = do_PUT = do_DELETE = do_HEAD = do_POST

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Print nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def clear(self) -> list[Request]:
        """Forget what arrived, and return it."""
        requests, self.requests = self.requests, []
        return requests

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = _read_body(handler)
        line = f"{handler.command} {handler.path}"
        host = (handler.headers.get("Host") or "").partition(":")[0]
        self.requests.append(Request(host, line, _decompress(body, handler)))
        reply: Any = next((data for end, data in self._replies.items() if re.search(end, line)), {})
        data = json.dumps(reply).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(LoopbackServer):
    request_queue_size = 128  # connections that wait while the machine is busy; 5 by default

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Speak TLS to a client that begins with it."""
        connection: socket.socket = request
        if connection.recv(1, 2) == _TLS_HANDSHAKE:  # MSG_PEEK: the byte stays to be read
            connection = _tls_context().wrap_socket(connection, server_side=True)
        super().finish_request(connection, client_address)


def _read_body(handler: BaseHTTPRequestHandler) -> bytes:
    if handler.headers.get("Transfer-Encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
    body = b""
    while size := int(handler.rfile.readline().partition(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body


def _decompress(body: bytes, handler: BaseHTTPRequestHandler) -> bytes:
    encoding = handler.headers.get("Content-Encoding", "")
    if encoding == "gzip" or body.startswith(b"\x1f\x8b"):
        return gzip.decompress(body)
    if encoding == "deflate":
        return zlib.decompress(body)
    assert encoding in ("", "identity"), f"the recorder cannot read {encoding}"
    return body


@cache
def _tls_context() -> ssl.SSLContext:
    """Return a context with a certificate of its own for any host; clients in a run do not check it."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "recorder")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pem"
        file.write_bytes(pem)
        context.load_cert_chain(file)
    return context
