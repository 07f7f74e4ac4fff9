"""What a machine may lack and no package brings: programs, and an index of packages. Tests that need them are skipped here."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def need_program(name: str, advice: str = "") -> str:
    """Return where a program is; skip the test where it is not installed."""
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed{advice and f'; {advice}'}")
    return found


def need_index(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test where an installation failed because it reached no index of packages."""
    if "ailed to fetch" in done.stderr:
        pytest.skip("no package index can be reached")
