"""Run a framework without a trace of it: elsewhere, in silence, with an environment of its own."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def aside(environment: Mapping[str, str | None], folder: str | Path | None = None) -> Iterator[None]:
    """Work in another folder, keep what is printed, and give it all back. It changes the whole process.

    Args:
        environment: Variables for the time; those that are None are taken away.
        folder: Where to work; None: a folder that is deleted afterwards.
    """
    here, before = Path.cwd(), {name: os.environ.get(name) for name in environment}
    with ExitStack() as stack:
        stack.callback(_set, before)
        os.chdir(stack.enter_context(TemporaryDirectory()) if folder is None else folder)
        stack.callback(os.chdir, here)
        stack.enter_context(redirect_stdout(StringIO()))
        stack.enter_context(redirect_stderr(StringIO()))
        _set(environment)
        yield


def _set(environment: Mapping[str, str | None]) -> None:
    for name, value in environment.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
