"""Locks and values that a forked child can use."""

from __future__ import annotations

import threading

from ctxmetrics._internal.forks import cached_property


class Text:
    def __init__(self, *, ready: bool = True) -> None:
        self.asked = 0
        self.ready = threading.Event()
        if ready:
            self.ready.set()

    @cached_property
    def length(self) -> int:
        """Its length."""
        self.asked += 1
        self.ready.wait()
        return 3


def test_a_cached_property_is_computed_once() -> None:
    text = Text()
    assert (text.length, text.length, text.asked) == (3, 3, 1)
    assert Text.length.__doc__ == "Its length."


def test_a_cached_property_waits_for_no_other_thread() -> None:
    other = Text(ready=False)
    thread = threading.Thread(target=lambda: other.length)
    thread.start()
    while not other.asked:
        pass
    assert Text().length == 3
    other.ready.set()
    thread.join()
