"""What is printed: results on stdout, messages on stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import typer

from ctxmetrics._display import visible
from ctxmetrics.errors import OutputFileError


def print_result(text: str | None) -> None:
    """Print a result; None only makes sure that all is out.

    A reader that has gone away (``| head``) is no error: nothing more is printed, and the exit status is as it would be.

    Raises:
        OutputFileError: Stdout cannot be written.
    """
    try:
        if text is not None:
            typer.echo(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputFileError(f"stdout cannot be written: {error.strerror or error}.") from None


def message(text: str) -> None:
    """Print a message; it may name a field or an id of the file, so every character shows as itself."""
    typer.echo(visible(text, keep="\n"), err=True)


def show_help(context: typer.Context) -> None:
    """Show a command's help on stderr, as an answer to a command line that is not complete."""
    with redirect_stdout(sys.stderr):  # typer's own formatter prints, and returns nothing
        text = context.get_help()
    if text:
        message(text)


def hint(text: str) -> None:
    """Print what only a person at a terminal needs."""
    if sys.stderr.isatty():
        message(text)


def colored() -> bool:
    """Whether results may have colours: stdout is a terminal, and NO_COLOR (no-color.org) is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the library's warnings while a run goes on; what is left of them at the end is printed.

    They would cut through the progress bar, and one of them may say what the run's last line says.
    """
    log, texts = logging.getLogger("ctxmetrics"), list[str]()
    handler, propagate = logging.Handler(logging.WARNING), log.propagate
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]  # a handler of this call alone
    log.addHandler(handler)
    log.propagate = False
    try:
        yield texts
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
        for text in dict.fromkeys(texts):
            message(f"note: {text}")
