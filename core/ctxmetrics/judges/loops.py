"""Waiting across threads and event loops, without trusting that the other loop goes on turning.

A notebook's loop stands still while a sync call runs in it, and some loops are left half-way. Whoever waits for
something that such a loop must do first would wait for ever, so those who wait look now and then whether it answers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

PATIENCE = 2.0
"""Seconds after which a silent loop is asked for a sign of life, and what it has to give one."""


def wake(loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[None]) -> bool:
    """Resolve a future of any thread's loop; return whether the loop is there to see it."""
    try:
        loop.call_soon_threadsafe(_resolve, waiter)
    except RuntimeError:  # the loop is closed
        return False
    return True


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def any_alive(loops: Iterable[asyncio.AbstractEventLoop]) -> bool:
    """Whether at least one of the loops turns; the running one does."""
    import asyncio

    here = asyncio.get_running_loop()
    others = set(loops)
    if here in others:
        return True
    sign = here.create_future()
    for loop in others:
        with suppress(RuntimeError):  # closed
            loop.call_soon_threadsafe(wake, here, sign)
    done, _ = await asyncio.wait((sign,), timeout=PATIENCE)
    return bool(done)
