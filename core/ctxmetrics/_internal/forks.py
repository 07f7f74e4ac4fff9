"""Locks, imports and computed properties that work in a forked child, which has none of its parent's threads."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

# Before a fork, the imports of these packages are waited for: this library, and the client that it imports late.
_PACKAGES = ("ctxmetrics", "openai")


def _wait_for_imports() -> None:
    """Wait until other threads have finished the imports that they have begun.

    After a fork, the child lacks those threads, so a half-done import would never finish there.
    """
    for name, module in [*sys.modules.items()]:
        package, _, _ = name.partition(".")
        spec = getattr(module, "__spec__", None)
        if package in _PACKAGES and getattr(spec, "_initializing", False):
            # Importing a module again waits for the thread that imports it now.
            with suppress(ImportError):
                importlib.import_module(name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_imports)


def make_lock() -> threading.RLock:
    """Make a lock that is free in the parent and the child after a fork, because the fork waits for it."""
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


class cached_property(Generic[T]):  # noqa: N801 - it replaces functools.cached_property, and is named like it
    """A property that is computed once for each object, without a lock.

    The property of functools holds a lock before Python 3.12. Here, two threads that read the property at once may both compute
    its value.

    Args:
        function: The method that computes the value.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value = self._function(instance)
        # The value in the object's own dict is found before this property.
        vars(instance)[self._name] = value
        return value
