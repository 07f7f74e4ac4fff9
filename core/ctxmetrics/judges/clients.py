"""The pooled clients of the ``openai`` package: one an address and key, on the background loop, for the whole process.

The only client library that the core speaks to itself: an extra, imported when a model of it is first asked.
Building a client loads certificates and costs tens of milliseconds; its connections stay open between requests.
"""

from __future__ import annotations

import atexit
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ctxmetrics.bridge import start

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_clients: dict[tuple[str, str], AsyncOpenAI] = {}
_parents: list[Any] = []
_CLOSING_SECONDS = 2.0


def client_for(base_url: str, key: str) -> Any:
    """Return the ``AsyncOpenAI`` of an address and key. Call it on the background loop only.

    It does not retry: a `Run` does.
    """
    client = _clients.get((base_url, key))
    if client is None:
        from openai import AsyncOpenAI

        if not _clients:
            atexit.register(close_all)
        client = _clients[base_url, key] = AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
    return client


def close_all() -> None:
    """Close every client and its connections."""
    clients = tuple(_clients.values())
    _clients.clear()
    if not clients:
        return
    with suppress(Exception):  # the process ends, and its connections with it
        start(_close, clients).result(_CLOSING_SECONDS)


async def _close(clients: tuple[AsyncOpenAI, ...]) -> None:
    for client in clients:
        await client.close()


def _after_fork() -> None:
    """Let the child build its own. The parent's are kept unused: dropping one could end the parent's connections."""
    _parents.extend(_clients.values())
    _clients.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
