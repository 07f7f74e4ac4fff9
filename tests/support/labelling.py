"""`ctxmetrics label` as a process of its own, and its page in a browser, as a person uses them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, Self

from support.browser import Browser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# How long a page may take.
_SECONDS = 60


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


class LabelPage(Browser):
    """The page in a browser, and what a person does to it."""

    def open(self, address: str) -> None:
        """Open the page, and wait for its first question."""
        self.driver.get(address)
        self.wait(lambda: self.run("return shown !== null && !busy"))

    def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until a condition holds."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, _SECONDS, poll_frequency=0.02).until(lambda _: condition())

    def press(self, *keys: str) -> None:
        """Press keys one by one, each when the page is ready for it."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.wait(lambda: not self.run("return busy && !ended"))

    def text(self, identifier: str) -> str:
        """Return the text of an element."""
        found: str = self.run("return document.getElementById(arguments[0]).textContent", identifier)
        return found

    @property
    def question(self) -> tuple[str, str]:
        """The id of the sample and the item that is asked about."""
        name, item = self.run("return [shown.name, shown.item]")
        return name, item
