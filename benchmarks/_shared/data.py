"""The data of the benchmarks that stand in this repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "data"


def read_data(name: str) -> Any:
    """Read a file of the folder ``data``, by its name without an end."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
