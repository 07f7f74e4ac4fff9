"""The one bridge from sync to async: a background thread with an event loop, started on first use.

Sync calls run there, so they work in a script, in a notebook whose own loop is running, and in any thread;
nothing of anybody's loop is patched. Our own models' requests run there too, whichever loop asks, so that one
pooled client serves the whole process. After a fork the child starts a thread of its own.
"""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ctxmetrics.errors import CtxMetricsError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from contextlib import AbstractContextManager

    from anyio.from_thread import BlockingPortal

P = ParamSpec("P")
T = TypeVar("T")


_PATIENCE = 1.0
"""Seconds that what still runs has to end when the interpreter goes."""


class _Background:
    """The thread and its loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._context: AbstractContextManager[BlockingPortal] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def portal(self) -> BlockingPortal:
        """Return the running portal, starting it if need be."""
        with self._lock:
            if self._portal is None:
                from anyio.from_thread import start_blocking_portal

                self._context = start_blocking_portal("asyncio")
                self._portal = self._context.__enter__()
                self._loop, self._thread = self._portal.call(_whereabouts)
                atexit.register(self._stop, os.getpid())
            return self._portal

    def _stop(self, pid: int) -> None:
        """End the thread before the interpreter goes, unless something blocks it; a forked child never had it."""
        portal, loop, thread = self._portal, self._loop, self._thread
        if pid != os.getpid() or portal is None or loop is None or thread is None or loop.is_closed():
            return

        def stop() -> None:
            loop.create_task(portal.stop(cancel_remaining=True))

        loop.call_soon_threadsafe(stop)
        thread.join(_PATIENCE)

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop, once it runs."""
        return self._loop


async def _whereabouts() -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    import asyncio

    threading.current_thread().name = "ctxmetrics"
    return asyncio.get_running_loop(), threading.current_thread()


_background = _Background()
_parents: list[_Background] = []
"""Kept in a forked child: dropping a portal stops it, and would wait for ever for a thread that is not there."""


def _after_fork() -> None:
    """Let the child start its own: threads do not survive a fork."""
    global _background  # noqa: PLW0603 - the one state of this module
    _parents.append(_background)
    _background = _Background()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def start(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> Future[T]:
    """Start a coroutine function on the background loop, with the caller's context variables.

    Cancelling the future cancels it.

    Raises:
        CtxMetricsError: Called from the background loop itself, where waiting for it would never end.
    """
    from contextvars import copy_context

    if on_background_loop():
        raise CtxMetricsError(
            "A sync call inside the library's own event loop would wait for itself. Use await."
        )
    context = copy_context()

    async def call() -> T:
        import asyncio

        task = context.run(lambda: asyncio.get_running_loop().create_task(function(*args)))
        try:
            return await task
        except asyncio.CancelledError:
            task.cancel()
            raise

    return _background.portal().start_task_soon(call)


def run_sync(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run a coroutine function to its end on the background loop and return its result.

    Context variables of the caller are visible in it. Ctrl-C cancels it. Raises as `start` does.
    """
    future = start(function, *args)
    try:
        return future.result()
    except BaseException:
        cancel(future)
        raise


def cancel(future: Future[Any]) -> None:
    """Cancel what `start` started, without waiting: some releases of anyio wait until the loop, maybe blocked, hears."""
    threading.Thread(target=future.cancel, name="ctxmetrics-cancel", daemon=True).start()


async def on_background(
    function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Await a coroutine function on the background loop, from whatever loop this is."""
    if on_background_loop():
        return await function(*args, **kwargs)
    import asyncio

    portal = _background.portal()

    async def call() -> T:
        return await function(*args, **kwargs)

    future = portal.start_task_soon(call)
    return await asyncio.wrap_future(future)


def on_background_loop() -> bool:
    """Whether the running loop is the background one."""
    import asyncio

    try:
        return asyncio.get_running_loop() is _background.loop
    except RuntimeError:
        return False
