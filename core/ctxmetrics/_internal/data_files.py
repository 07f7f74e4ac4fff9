"""Word lists, tables and texts that stand in data files beside the code."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def read_data(package: str, name: str) -> Any:
    """Read a data file of a package of the library (of the library itself without one): TOML or JSON, by its ending."""
    text = files("ctxmetrics").joinpath(*package.split("."), name).read_text(encoding="utf-8")
    if name.endswith(".toml"):
        import tomllib

        return tomllib.loads(text)
    return json.loads(text)


def read_words(package: str, name: str, table: str) -> dict[str, tuple[str, ...]]:
    """Read a table of a data file whose values are words in a line."""
    return {key: tuple(line.split()) for key, line in read_data(package, name)[table].items()}
