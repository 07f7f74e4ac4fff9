"""Packages that take long to import, for tests: collecting a file of tests imports none of them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from support import missing

WITHOUT_CLIENTS = {"CTXMETRICS_TEST_ABSENT": "anthropic google.genai"}
"""A variable of a process that imports DeepEval: it finds neither package, as after ``pip install deepeval``.

DeepEval imports both where they are: half of its start.
"""


def skip_without(*packages: str) -> None:
    """Skip the test, or the file of tests that is being collected, if one of the packages is not installed."""
    if absent := missing(*packages):
        pytest.skip(f"not installed: {absent}", allow_module_level=True)


def later(module: str) -> Any:
    """Return an object that imports a module when a test first reads a name of it: ``ragas = later("ragas")``.

    ``ragas.metrics.base.Metric`` imports the modules on the way, too. A test is skipped if the package is not installed.
    """
    return _LaterModule(module)


class _LaterModule:
    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        # Pytest asks all objects of a file for private names.
        if name.startswith("_") and name != "__all__":
            raise AttributeError(name)
        pytest.importorskip(self._module.partition(".")[0])
        module = import_module(self._module)
        if hasattr(module, name) and not isinstance(getattr(module, name), ModuleType):
            return getattr(module, name)
        submodule = f"{self._module}.{name}"
        try:
            import_module(submodule)
        except ModuleNotFoundError as error:
            raise AttributeError(f"{self._module} has no {name}") from error
        return later(submodule)

    def __dir__(self) -> list[str]:
        return dir(import_module(self._module))
