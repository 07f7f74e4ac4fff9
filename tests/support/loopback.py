"""The server that the tests' own services are built on."""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from typing import Any


class LoopbackServer(ThreadingHTTPServer):
    """Says nothing about a client that has closed its connection.

    The standard server prints such an error to the process' standard error. Another test may be reading that at the time.
    """

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print an error that is not the client's end."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)
