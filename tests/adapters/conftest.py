"""What the tests of several adapters need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def python() -> Callable[..., str]:
    """Run code in a process of its own; returns what it printed. Folders are looked into before the project's."""

    def python(code: str, *folders: Path) -> str:
        path = os.pathsep.join(map(str, (*folders, REPOSITORY / "core", REPOSITORY / "adapters")))
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        return run.stdout + run.stderr

    return python
