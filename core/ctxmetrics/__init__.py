"""Context recall and context precision for retrieval: one definition, one number in every framework.

    from ctxmetrics import ContextRecall, Sample

    score = ContextRecall().score(Sample(reference="..", retrieved_contexts=[".."]))
    print(score.pretty())

The names in ``__init__.pyi`` are the public surface, with five documented packages and modules: `ctxmetrics.errors`,
`ctxmetrics.formulas`, `ctxmetrics.prompts`, `ctxmetrics.adapting` and `ctxmetrics.testing`. Everything else is private.

Nothing but the standard library is loaded by importing this package; everything else loads on first use.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ctxmetrics._internal.version import __version__ as __version__

__all__: list[str]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that ``__init__.pyi`` says."""
    from importlib import import_module

    modules = _read_modules()
    if name == "__all__":
        value: Any = list(modules)
    elif name in modules:
        value = getattr(import_module(modules[name]), name)
    else:
        raise AttributeError(f"module 'ctxmetrics' has no attribute {name!r}")
    globals()[name] = value
    return value


@cache
def _read_modules() -> dict[str, str]:
    """Read the module of each public name."""
    from importlib.resources import files

    stub = files("ctxmetrics").joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = [line.split() for line in stub.splitlines() if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
