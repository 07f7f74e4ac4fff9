"""Deadlines of runs and processes in tests: how fast a machine is decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

DEADLINE = 1800.0
"""Seconds to give a run whose deadline the test brings itself."""

LONGEST_PROCESS = 1800
"""Seconds after which a process of a test is stopped: it hangs, since on a busy machine the slowest takes eight minutes."""


class HeldDeadline:
    """Hold the timer of a run with `deadline=DEADLINE`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._timers: list[tuple[Any, Callable[[], object]]] = []
        call_later = asyncio.BaseEventLoop.call_later

        def hold(loop: Any, delay: float, callback: Any, *arguments: Any, **options: Any) -> Any:
            if delay == DEADLINE:
                self._timers.append((loop, partial(callback, *arguments)))
            return call_later(loop, delay, callback, *arguments, **options)

        monkeypatch.setattr(asyncio.BaseEventLoop, "call_later", hold)

    def bring(self) -> None:
        """End the run: at once in its loop, soon from another thread."""
        ((loop, end),) = self._timers
        if asyncio._get_running_loop() is loop:
            end()
        else:
            loop.call_soon_threadsafe(end)
