"""Calling an LLM object that has a sync and an async method, in the way that suits the running loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxmetrics._runtime.background import on_background_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def call_either(in_loop: Callable[[], Awaitable[Any]], in_thread: Callable[[], Any]) -> Any:
    """Call the method that suits the running loop: the async one in it, or the sync one in a thread.

    In a thread where the loop is the library's own: that loop serves all threads and sync runs: a method that
    only looks async would hold them all up, and a client that belongs to the caller's loop would not work
    there. Where the LLM says that it has no such method (``NotImplementedError``), the other one is called.

    Args:
        in_loop: The async method, with its arguments.
        in_thread: The sync method, with its arguments.
    """
    from anyio import to_thread

    async def threaded() -> Any:
        return await to_thread.run_sync(in_thread, abandon_on_cancel=True)

    first, second = (threaded, in_loop) if on_background_loop() else (in_loop, threaded)
    try:
        return await first()
    except NotImplementedError:
        return await second()
