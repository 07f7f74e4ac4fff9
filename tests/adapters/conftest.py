"""What the tests of several adapters need."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.deadlines import LONGEST_PROCESS

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
            timeout=LONGEST_PROCESS,
            check=False,
        )
        return run.stdout + run.stderr

    return python


@pytest.fixture
def refusal(request: pytest.FixtureRequest) -> str:
    """What ``public_usages.toml`` says is the sentence with which this test's usage is refused."""
    table = tomllib.loads((Path(__file__).parent / "public_usages.toml").read_text(encoding="utf-8"))
    name = request.function.__name__.removeprefix("test_")
    return str(table[request.path.parent.name][name]["result"])
