"""What every process of the tests runs first: no socket leaves the loopback.

Python runs a module of this name at its start, if its folder is on the path. It imports nothing that Python has not
imported, since other tests measure what an import costs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is not imported
if TYPE_CHECKING:
    from typing import Any

_FILE = "CTXMETRICS_TEST_DEPARTURES"
"""The variable with the file to which refused addresses are appended."""
_RECORDER = "CTXMETRICS_TEST_RECORDER"
"""The variable with the port that stands in for every other host; without it, other hosts are refused."""
_ABSENT = "CTXMETRICS_TEST_ABSENT"
"""The variable with packages that are installed, and that this process shall not find: importing them takes seconds."""
_INTERNET = (2, 10, 30)
"""AF_INET, and AF_INET6 on Linux and on macOS."""
_LOCAL = ("", "localhost", "::1", "::", "0.0.0.0")  # noqa: S104 - nothing is bound: a connection to it stays here


def is_local(host: object) -> bool:
    """Tell whether a host is this machine."""
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    return name in _LOCAL or name.startswith(("127.", "::ffff:127."))


def refuse_departures(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what Python is about to do with a socket, if it leaves this machine (an audit hook)."""
    if event in ("socket.connect", "socket.sendto"):
        connection, address = arguments
        if connection.family not in _INTERNET or is_local(address[0]):
            return
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        address = arguments[0]
        if is_local(address):
            return
    else:
        return
    if file := os.environ.get(_FILE):
        with open(file, "a", encoding="utf-8") as departures:  # noqa: PTH123 - pathlib is not imported
            departures.write(f"{address}\n")
    raise OSError(f"a test tried to leave the loopback: {address}")


def redirect_departures(port: int) -> None:
    """Send what would leave this machine to a server on the loopback, also where TLS is spoken."""
    import socket
    import ssl

    endpoint: Any = socket.socket
    context: Any = ssl.SSLContext
    getaddrinfo: Any = socket.getaddrinfo

    def stand_in(host: Any, *arguments: Any, **options: Any) -> Any:
        # An address for documentation, which no host has.
        return getaddrinfo(host if is_local(host) else "192.0.2.1", *arguments, **options)

    def to_recorder(connect: Any) -> Any:
        def redirected(self: Any, address: Any) -> Any:
            if self.family in _INTERNET and not is_local(address[0]):
                address = ("127.0.0.1", port)
            return connect(self, address)

        return redirected

    def unchecked(wrap: Any) -> Any:
        def wrapped(self: Any, *arguments: Any, **options: Any) -> Any:
            self.check_hostname = False
            self.verify_mode = ssl.CERT_NONE
            return wrap(self, *arguments, **options)

        return wrapped

    socket.getaddrinfo = stand_in
    endpoint.connect = to_recorder(endpoint.connect)
    endpoint.connect_ex = to_recorder(endpoint.connect_ex)
    context.wrap_socket = unchecked(context.wrap_socket)
    context.wrap_bio = unchecked(context.wrap_bio)


# An import of a module that is None fails.
_modules: Any = sys.modules
_modules.update(dict.fromkeys(os.environ.get(_ABSENT, "").split()))
if _RECORDER in os.environ:
    redirect_departures(int(os.environ[_RECORDER]))
else:
    sys.addaudithook(refuse_departures)
