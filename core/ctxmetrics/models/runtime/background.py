"""The library's own event loop: one thread a process, started on first use.

Sync calls run in it, so they work in a script, in a notebook whose own loop is running, and in any thread; no loop of
the caller is patched. The requests of the library's own models run in it too, whichever loop asks, so that one pooled
client serves the whole process. A forked child, which has no threads of its parent, starts a loop of its own.

Notebooks and some frameworks apply nest_asyncio, which replaces asyncio's class of tasks for the whole process. Since
Python 3.14, asyncio does not know the tasks of that class: ``asyncio.current_task()`` returns None or another task in
them, so that ``asyncio.timeout``, anyio, and the clients that use them fail. Tasks of the library's loop keep asyncio's
own class, and what needs a current task runs there.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

from ctxmetrics.errors import CtxMetricsError

P = ParamSpec("P")
T = TypeVar("T")

# How long unfinished tasks have to end when the interpreter exits.
_CLOSING_SECONDS = 1.0

# How long a cancelled call has to end until it is cancelled again.
_SECONDS_BETWEEN_CANCELS = 0.05

# How often a waiting thread looks whether Ctrl-C was pressed; on Windows it is noticed only then.
WAKE_SECONDS = 0.5

# Whether the code runs within `run_at_once`.
_at_once: ContextVar[bool] = ContextVar("ctxmetrics_at_once", default=False)

# The loop of each process, by process id: a forked child finds its parent's here, and must not use it.
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the library's loop of this process; it is running."""
    loop = _loops.get(os.getpid())
    if loop is None:
        new_loop = asyncio.new_event_loop()
        new_loop.set_task_factory(_make_task)
        loop = _loops.setdefault(os.getpid(), new_loop)
        if loop is new_loop:
            thread = threading.Thread(target=_serve, args=(loop,), name="ctxmetrics", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # from Python 3.12 on, if the interpreter ends
                del _loops[os.getpid()]
                new_loop.close()
                raise CtxMetricsError(
                    f"The library's event loop cannot start: {error}. Call it before the interpreter ends."
                ) from error
            atexit.register(_close, loop, os.getpid(), thread)
        else:  # another thread was faster
            new_loop.close()
    return loop


def on_background_loop() -> bool:
    """Whether the running loop is the library's."""
    try:
        return asyncio.get_running_loop() is _loops.get(os.getpid())
    except RuntimeError:
        return False


def run_sync(
    function: Callable[..., Coroutine[Any, Any, T]],
    *args: Any,
    meanwhile: Callable[[Future[Any], int], None] | None = None,
    interrupted: Callable[[], object] | None = None,
) -> T:
    """Run a coroutine function to its end on the library's loop and return its result.

    The coroutine sees the caller's context variables. Ctrl-C cancels it on every system, also within
    `asyncio.run`.

    Args:
        function: The coroutine function.
        *args: Its arguments.
        meanwhile: Called first in the waiting thread, with the future of the result, and the `count_cancellations` before the
            function was started, above which Ctrl-C was pressed.
        interrupted: Called in the library's loop at the first Ctrl-C, and the result is waited for again; a second one
            cancels.

    Raises:
        CtxMetricsError: Called in the library's loop itself, where waiting for the result would never end.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    if on_background_loop():
        raise CtxMetricsError(
            "A sync call inside the library's own event loop would wait for itself. Use await."
        )
    loop = background_loop()
    cancellations_before = count_cancellations()
    future = asyncio.run_coroutine_threadsafe(function(*args), loop)
    try:
        while True:
            try:
                if meanwhile is not None:
                    meanwhile(future, cancellations_before)
                while not wait((future,), timeout=WAKE_SECONDS).done:
                    if count_cancellations() > cancellations_before:
                        raise KeyboardInterrupt  # noqa: TRY301 - as Ctrl-C itself does
                return future.result()
            except KeyboardInterrupt:
                if interrupted is None:
                    raise
                loop.call_soon_threadsafe(interrupted)
                cancellations_before = count_cancellations()
                meanwhile = None
                interrupted = None
    except BaseException:
        future.cancel()
        raise


def sync_form(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return the sync form of an async method: for a script, a notebook, inside a running loop, any thread."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_sync(partial(function, *args, **kwargs))

    return call


async def in_loop_or_thread(in_loop: Callable[[], Awaitable[T]], sync: Callable[[], T]) -> T:
    """Call the method of a foreign model that suits the running loop: the async one in it, or the sync one in a thread.

    The library's own loop serves all threads and sync runs: a method that only looks async would hold all of them up, and
    a client that belongs to the caller's loop would not work there. Where the model says that it has no such method
    (``NotImplementedError``), the other one is called.
    """
    threaded = partial(in_thread, sync)
    first, second = (threaded, in_loop) if on_background_loop() else (in_loop, threaded)
    try:
        return await first()
    except NotImplementedError:
        return await second()


def run_at_once(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run a coroutine function that waits for nothing, in this thread, and return its result.

    `in_thread` calls its function in this thread, too. Should the coroutine wait all the same, it is begun again by
    `run_sync`.
    """
    token = _at_once.set(True)
    coroutine = function(*args)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the coroutine returned
    finally:
        coroutine.close()
        _at_once.reset(token)
    return run_sync(function, *args)


def count_cancellations() -> int:
    """Return how often the task that runs in this thread was asked to end.

    Where this grows while a thread waits, Ctrl-C was pressed: `asyncio.run` takes the first Ctrl-C as a request to
    cancel its main task, which a sync call in that task would never see.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return 0
    return task.cancelling() if task else 0


async def on_background(
    function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Await a coroutine function on the library's loop, from any loop."""
    coroutine = function(*args, **kwargs)
    if on_background_loop():
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, background_loop()))


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a worker thread, from any loop; when cancelled, do not wait for its end."""
    if _at_once.get():
        return function()
    from anyio import to_thread

    return await on_background(
        partial(to_thread.run_sync, abandon_on_cancel=True),  # `run_sync` needs a current task
        function,
    )


async def in_time(seconds: float, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Await a coroutine function in the running loop; if asyncio does not know the running task, on the library's own loop.

    Args:
        seconds: The time after which the call is cancelled.
        function: The coroutine function.

    Raises:
        TimeoutError: The call was cancelled.
    """
    caller = asyncio.current_task()
    if isinstance(caller, asyncio.Task):  # asyncio's tasks are of the class that it knows
        from anyio import fail_after

        # Not asyncio.wait_for: before Python 3.12 it can lose a cancellation.
        with fail_after(seconds):
            return await function()

    async def call() -> tuple[T | None, BaseException | None]:
        try:
            is_task_known = asyncio.current_task() not in {None, caller}
            if is_task_known:
                return await function(), None
            return await on_background(function), None
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - a task that ends with SystemExit would end its loop
            return None, error

    task = asyncio.ensure_future(call())
    try:
        await asyncio.wait((task,), timeout=seconds)
        is_late = not task.done()
        while not task.done():  # a client may swallow a cancellation
            task.cancel()
            await asyncio.wait((task,), timeout=_SECONDS_BETWEEN_CANCELS)
    finally:
        task.cancel()  # the caller itself may be cancelled while it waits
    if is_late and task.cancelled():
        raise TimeoutError
    value, error = task.result()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]  # what the function returned


def _make_task(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    """Make a task of asyncio's own class, whatever stands in its place."""
    try:
        from _asyncio import Task
    except ImportError:  # an interpreter without the compiled module
        from asyncio import Task
    return Task(coroutine, loop=loop, **options)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped. A KeyboardInterrupt that user code raises ends only its task, and goes to the caller that waits for the task."""
    while True:
        with suppress(KeyboardInterrupt):
            loop.run_forever()
            return


def _close(loop: asyncio.AbstractEventLoop, process: int, thread: threading.Thread) -> None:
    """Cancel what still runs, unless a blocking call holds the loop; a forked child leaves its parent's loop alone."""

    async def cancel_all() -> None:
        """Cancel all other tasks of the loop, and wait for their end."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_CLOSING_SECONDS) if tasks else None

    if process == os.getpid():
        _loops.pop(process, None)  # an exit handler that was registered earlier gets a loop of its own
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(cancel_all(), loop).result(_CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSING_SECONDS)
        # Without this, tasks that did not end in time would be reported as destroyed.
        if not (thread.is_alive() or asyncio.all_tasks(loop)):
            loop.close()
