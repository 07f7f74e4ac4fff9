"""What a machine may lack and no package brings: programs, and an index of packages. Tests that need them are skipped here."""

from __future__ import annotations

import os
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


def environment_for_downloads() -> dict[str, str]:
    """Return the variables of this process, with the machine's certificates in place of the one that the tests read."""
    variables = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
    if certificates := os.environ["CTXMETRICS_TEST_CERTIFICATES"]:
        variables["SSL_CERT_FILE"] = certificates
    return variables


def need_index(done: subprocess.CompletedProcess[str]) -> None:
    """Skip the test where an installation failed because it reached no index of packages."""
    if "ailed to fetch" in done.stderr:
        pytest.skip("no package index can be reached")
