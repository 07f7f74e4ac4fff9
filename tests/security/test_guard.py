"""The guards of the tests: no process of theirs reaches another machine, and none reads what another test logs."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

ASK = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError as error:
    print(error)
"""


@pytest.fixture
def take_departures() -> Callable[[], list[str]]:
    """Return the refused addresses and forget them: these tests make them on purpose."""
    file = Path(os.environ["CTXMETRICS_TEST_DEPARTURES"])

    def take() -> list[str]:
        text = file.read_text(encoding="utf-8")
        file.write_text("", encoding="utf-8")
        return text.splitlines()

    return take


async def connect_async() -> None:
    await asyncio.open_connection("192.0.2.1", 80)


WAYS = {
    "connect": lambda: socket.create_connection(("192.0.2.1", 80)),
    "IPv6": lambda: socket.create_connection(("2001:db8::1", 80)),
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "gethostbyname": lambda: socket.gethostbyname("example.org"),
    "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"?", ("192.0.2.1", 53)),
    "asyncio": lambda: asyncio.run(connect_async()),
}


@pytest.mark.parametrize("way", WAYS)
def test_departures_of_this_process_are_refused(way, take_departures) -> None:
    with pytest.raises(OSError, match="tried to leave the loopback"):
        WAYS[way]()
    assert take_departures()


@pytest.mark.parametrize("environment", [None, {"PYTHONPATH": "elsewhere"}, {}])
def test_departures_of_other_processes_are_refused(environment, take_departures) -> None:
    inherited = {name: os.environ[name] for name in ("PATH", "CTXMETRICS_TEST_DEPARTURES")}
    env = None if environment is None else {**inherited, **environment}
    run = subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True
    )
    assert "tried to leave the loopback" in run.stdout
    assert take_departures() == ["192.0.2.1"]


def test_loopback_is_open(take_departures) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        socket.create_connection(address).close()
        socket.create_connection(("localhost", address[1])).close()
    assert take_departures() == []


def test_logs_of_a_thread_of_a_test_before_are_left_out(request) -> None:
    wanted = threading.Event()

    def send_later() -> None:
        wanted.wait(60)
        for name in ("langsmith.client", "ctxmetrics"):
            logging.getLogger(name).warning("The server is gone.")

    older = threading.Thread(target=send_later, daemon=True)
    older.start()
    caplog = request.getfixturevalue("caplog")
    wanted.set()
    older.join(60)
    logging.getLogger("langsmith.client").warning("of this test")
    told = [(record.name, record.getMessage()) for record in caplog.records]
    assert told == [("ctxmetrics", "The server is gone."), ("langsmith.client", "of this test")]
