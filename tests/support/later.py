"""Modules that take long to import, for tests: collecting a file of tests imports none of them."""

from __future__ import annotations

from typing import Any

import pytest


def later(module: str) -> Any:
    """Return what imports a module when a test first reads it. Where it is not installed, that test is skipped."""
    return _Module(module)


class _Module:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks each object of a file of tests for some
            raise AttributeError(name)
        return getattr(pytest.importorskip(self._name), name)
