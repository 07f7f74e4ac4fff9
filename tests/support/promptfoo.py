"""Installs promptfoo for its test. It is kept in the user's cache, since npm takes minutes.

python tests/support/promptfoo.py     install it, such as before the tests
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

PROMPTFOO = "promptfoo@0.121.20"
_SECONDS = 600


class NotInstalledError(Exception):
    """Says why npm did not install it."""


def install() -> Path:
    """Install it where it is not there yet, and return the program.

    Raises:
        NotInstalledError: There is no npm, or it fails.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "ctxmetrics-tests" / PROMPTFOO
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # npm may be at work there for another process
        program = folder / "node_modules" / ".bin" / "promptfoo"
        if not program.exists():
            _run_npm(folder)
    return program


def _run_npm(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not installed")
    quiet = ("--no-audit", "--no-fund", "--loglevel=error", "--omit=peer")
    command = [npm, "install", "--prefix", str(folder), *quiet, PROMPTFOO]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"npm did not install promptfoo within {_SECONDS} s") from None
    if done.returncode:
        raise NotInstalledError(f"npm cannot install promptfoo: {done.stderr.strip()[-300:]}")


if __name__ == "__main__":
    print(install())
