"""The command line in a test: in this process, which is quick, or in one of its own, as a person starts it."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

_WIDE = {"COLUMNS": "200"}


def run_command(
    *arguments: object, cwd: Path | None = None, typed: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, with what is typed as its standard input."""
    from ctxmetrics.evaluation.cli import main

    given = [*map(str, arguments)]
    out, errors, status = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**_WIDE, **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["ctxmetrics", *given])
        patch.setattr(sys, "stdin", io.StringIO(typed))
        patch.chdir(cwd or Path.cwd())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                main()
            except SystemExit as end:
                status = int(end.code or 0)
    return subprocess.CompletedProcess(given, status, out.getvalue(), errors.getvalue())


def run_process(
    *arguments: object, cwd: Path | None = None, typed: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, for signals, pipes, exits and what a process prints as it ends."""
    command = [sys.executable, "-m", "ctxmetrics", *map(str, arguments)]
    env = {**os.environ, **_WIDE, **environment}
    return subprocess.run(
        command,
        input=typed,
        capture_output=True,
        text=True,
        env=env,
        cwd=cwd,
        check=False,
        encoding="utf-8",
    )
