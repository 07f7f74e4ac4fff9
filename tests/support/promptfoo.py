"""Installs and runs promptfoo for its test and for a benchmark. It is kept in the user's cache, since npm takes minutes.

python tests/support/promptfoo.py     install it, such as before the tests
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
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
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ctxmetrics-tests"
    folder = caches / f"{PROMPTFOO}-small"
    caches.mkdir(parents=True, exist_ok=True)
    with (caches / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # npm may be at work there for another process
        if not folder.exists():
            _run_npm(folder)
    return folder / "node_modules" / ".bin" / "promptfoo"


def run_promptfoo(
    program: Path, folder: Path, *options: str, timeout: float | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the evaluation that a folder configures; its results are in ``out.json`` there, if it wrote any.

    Args:
        program: What `install` returned.
        folder: The folder with the configuration.
        options: More options of ``promptfoo eval``.
        timeout: Seconds that it may take.
        variables: More environment variables.
    """
    environment = {
        **os.environ,
        "PROMPTFOO_CONFIG_DIR": str(folder / "config"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        **variables,
    }
    quiet = ("--no-cache", "--no-progress-bar", "--no-table")
    return subprocess.run(
        [str(program), "eval", "-o", "out.json", *quiet, *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def _run_npm(folder: Path) -> None:
    """Install it into a folder beside, which gets its name when it is whole.

    Of the optional packages, 1.2 GB for other providers, it needs the driver of its database alone.
    """
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    _npm_install(part, PROMPTFOO)
    _npm_install(part, *_list_drivers(part / "node_modules" / "libsql" / "package.json"))
    part.rename(folder)


def _npm_install(folder: Path, *packages: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not installed")
    options = ("--no-audit", "--no-fund", "--loglevel=error", "--omit=peer", "--omit=optional")
    command = [npm, "install", "--prefix", str(folder), *options, "--ignore-scripts", *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"npm did not install promptfoo within {_SECONDS} s") from None
    if done.returncode:
        raise NotInstalledError(f"npm cannot install promptfoo: {done.stderr.strip()[-300:]}")


def _list_drivers(package: Path) -> list[str]:
    """List what npm calls the database's driver for this machine, from the table of the database's package."""
    drivers: dict[str, str] = json.loads(package.read_text(encoding="utf-8"))["optionalDependencies"]
    processors = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}
    processor = processors.get(platform.machine(), platform.machine())
    own = f"@libsql/{sys.platform}-{processor}"
    return [
        f"{name}@{version}"
        for name, version in drivers.items()
        if name.startswith(own) and not name.endswith("musl")
    ]


if __name__ == "__main__":
    print(install())
