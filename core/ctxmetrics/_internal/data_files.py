"""Reads the data files beside the code: word lists, tables and texts."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_data(package: str, name: str) -> Any:
    """Read a TOML or JSON file of a package of the library. An empty ``package`` stands for the library itself.

    A file is read once in a process. All callers share its data, and must not change it.
    """
    text = files("ctxmetrics").joinpath(*package.split("."), name).read_text(encoding="utf-8")
    if name.endswith(".toml"):
        import tomllib

        return tomllib.loads(text)
    return json.loads(text)
