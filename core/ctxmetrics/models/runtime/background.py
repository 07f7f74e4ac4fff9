"""The library's own event loop: one thread in each process, started on first use.

Sync calls run in it. So they work in a script, in a notebook with a running loop, and in any thread, and no loop of the caller is
patched. The requests of the library's own models run in it, too, so that one client serves the whole process. A forked child has
no threads of its parent, and starts a loop of its own.

Notebooks and some frameworks apply nest_asyncio, which replaces asyncio's class of tasks for the whole process. Since
Python 3.14, asyncio does not know the tasks of that class: in such a task, ``asyncio.current_task()`` returns None or another
task, so that ``asyncio.timeout``, anyio, and the clients that use them fail. The tasks of the library's loop keep asyncio's own
class, and code that needs the current task runs there.
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

# Seconds that unfinished tasks get to end when the interpreter exits.
_CLOSING_SECONDS = 1.0

# Seconds after which a call that has not ended is cancelled again.
_SECONDS_BETWEEN_CANCELS = 0.05

# The interval in seconds at which a waiting thread checks whether Ctrl-C was pressed. Windows does not interrupt a waiting thread.
WAKE_SECONDS = 0.5

# Whether the code runs within `run_at_once`.
_at_once: ContextVar[bool] = ContextVar("ctxmetrics_at_once", default=False)

# The loop of each process, by process id. A forked child must not use its parent's loop, which is here, too.
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
        meanwhile: Called first in the waiting thread, with the future of the result, and with the result of
            `count_cancellations` before the start. A higher count means that Ctrl-C was pressed.
        interrupted: Called in the library's loop at the first Ctrl-C. The call then goes on; a second Ctrl-C cancels it.

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
    """Call a foreign model: in the library's own loop its sync method in a thread, in any other loop its async method.

    The library's own loop serves all threads and sync runs. An async method that blocks would stop all of them, and a client that
    belongs to the caller's loop would not work there. If the model lacks the method (``NotImplementedError``), the other one is
    called.
    """
    methods: list[Callable[[], Awaitable[T]]] = [in_loop, partial(in_thread, sync)]
    if on_background_loop():
        methods.reverse()
    first_method, second_method = methods
    try:
        return await first_method()
    except NotImplementedError:
        return await second_method()


def run_at_once(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run a coroutine function that waits for nothing, in this thread, and return its result.

    Inside it, `in_thread` calls its function in this thread, too. If the coroutine waits after all, it is started again with `run_sync`.
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

    If the number grows while a thread waits, Ctrl-C was pressed: at the first Ctrl-C, `asyncio.run` only cancels its main task, and a
    sync call in that task does not notice this.
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
    """Call a function in a worker thread, from any loop. If the call is cancelled, the thread is not waited for."""
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
    if isinstance(caller, asyncio.Task):  # the class of tasks was not replaced
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
    """Make a task of asyncio's own class, also if nest_asyncio has replaced the class."""
    try:
        from _asyncio import Task
    except ImportError:  # an interpreter without the compiled module
        from asyncio import Task
    return Task(coroutine, loop=loop, **options)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped. A KeyboardInterrupt in user code ends only its task: the caller of the task gets it."""
    while True:
        with suppress(KeyboardInterrupt):
            loop.run_forever()
            return


def _close(loop: asyncio.AbstractEventLoop, process: int, thread: threading.Thread) -> None:
    """Cancel the tasks that still run, and stop the loop. In a forked child, its parent's loop is not touched."""

    async def cancel_all() -> None:
        """Cancel all other tasks of the loop, and wait for their end."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=_CLOSING_SECONDS) if tasks else None

    if process == os.getpid():
        _loops.pop(process, None)  # exit handlers that run after this one start a new loop
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(cancel_all(), loop).result(_CLOSING_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSING_SECONDS)
        # Without this, tasks that did not end in time would be reported as destroyed.
        if not (thread.is_alive() or asyncio.all_tasks(loop)):
            loop.close()
