"""The scripts of `benchmarks/`, as modules in a test."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load_benchmark(name: str) -> Any:
    """Load a script by its name, each time as a new module: what a test changes in one is gone in the next."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    (path,) = (*FOLDER.glob(f"{name}.py"), *FOLDER.glob(f"*/{name}.py"))
    spec = spec_from_file_location(f"benchmark_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
