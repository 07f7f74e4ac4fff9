"""``ctxmetrics cache``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics._runtime.cache import FILE_NAME, VerdictCache
from ctxmetrics.cli._status import BAD_INPUT
from ctxmetrics.cli._terminal import print_result, show_help
from ctxmetrics.errors import InputFileError

cache_app: typer.Typer = typer.Typer(help="Look at a cache of judgements, or empty it.")
Directory = Annotated[Path, typer.Argument(help="The cache's directory.")]


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Look at a cache of judgements, or empty it."""
    if context.invoked_subcommand is None:
        show_help(context)
        raise typer.Exit(BAD_INPUT)


@cache_app.command("info")
def cache_info(directory: Directory) -> None:
    """Say what a cache holds."""
    info = VerdictCache(_existing(directory)).info()
    print_result(f"{info.path}: {info.entries} judgements, {info.size:,} bytes")


@cache_app.command("clear")
def cache_clear(directory: Directory) -> None:
    """Delete every judgement of a cache."""
    found = VerdictCache(_existing(directory))
    number = found.info().entries
    found.clear()
    print_result(f"{found.path}: {number} judgements deleted")


def _existing(directory: Path) -> Path:
    if not (directory / FILE_NAME).is_file():
        raise InputFileError(
            f"{directory}: there is no cache. Give the directory that was given as --cache."
        )
    return directory
