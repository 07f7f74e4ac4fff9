"""`ctxmetrics label` as a process of its own, for the tests of its page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path


class LabelProcess:
    """Runs the command and knows the address of its page.

    Args:
        file: The samples; None: the options name what is labelled.
        options: Of the command.

    Attributes:
        address: Of the page.
    """

    def __init__(self, file: Path | None, *options: str) -> None:
        files = [] if file is None else [str(file)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ctxmetrics", "label", *files, "--no-browser", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._process.stderr is not None
        first = ""
        found = None
        for line in self._process.stderr:
            first += line
            found = re.search(r"http://\S+", line)
            if found:
                break
        assert found is not None, first
        self.address = found[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def host(self) -> str:
        """Its name and port."""
        return self.address.split("/")[2]

    @property
    def path(self) -> str:
        """The path of the page: the token between slashes."""
        return "/" + self.address.split("/", 3)[3]

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self._process.kill()
        self._process.communicate()

    def interrupt(self) -> tuple[int, str]:
        """End it as Ctrl-C does; returns the exit status and what it printed."""
        self._process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait for its end; returns the exit status and what it printed."""
        printed, _ = self._process.communicate()
        return self._process.returncode, printed

    def request(
        self, path: str, data: Any = None, *, method: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request; returns status, headers and body.

        Args:
            path: The whole path, or what stands behind the token where it does not begin with a slash.
            data: Sent as JSON, or as it is where it is bytes; None: a GET.
            method: Another one.
            **headers: Further ones, or others than those of the page; ``_`` stands for a hyphen.
        """
        connection = HTTPConnection(self.host)
        sent = {"Host": self.host, **{name.replace("_", "-"): value for name, value in headers.items()}}
        body = None
        if data is not None:
            body = data if isinstance(data, bytes) else json.dumps(data).encode()
            sent.setdefault("Content-Type", "application/json")
        target = path if path.startswith(("/", "http:", "*")) else self.path + path
        try:
            connection.request(method or ("GET" if body is None else "POST"), target, body, sent)
            reply = connection.getresponse()
            return reply.status, dict(reply.getheaders()), reply.read()
        finally:
            connection.close()

    def ask(self, path: str, data: Any = None) -> dict[str, Any]:
        """Send a request as the page does; returns the reply's data."""
        status, _, body = self.request(path, data)
        assert status == 200, body
        found: dict[str, Any] = json.loads(body)
        return found
