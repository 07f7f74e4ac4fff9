"""Loads the public names of a package on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_on_first_use(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package.

    Args:
        package: The package's ``__name__``.
        modules: The module that defines each public name.
    """

    def __getattr__(name: str) -> Any:  # noqa: N807 - it becomes the package's
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
