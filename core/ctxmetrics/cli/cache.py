"""``ctxmetrics cache``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmetrics.cli._terminal import needs_a_command, print_result
from ctxmetrics.errors import InputFileError
from ctxmetrics.presentation.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.models.runtime.cache import VerdictCache

cache_app: typer.Typer = typer.Typer(help="Look at a cache of judgements, or empty it.")
Directory = Annotated[Path, typer.Argument(help="The cache's directory.")]


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Look at a cache of judgements, or empty it."""
    needs_a_command(context)


@cache_app.command("info")
def cache_info(directory: Directory) -> None:
    """Say what a cache holds."""
    info = _open_cache(directory).info()
    print_result(f"{info.path}: {plural(info.entries, 'judgement')}, {info.size:,} bytes")


@cache_app.command("clear")
def cache_clear(directory: Directory) -> None:
    """Delete every judgement of a cache."""
    store = _open_cache(directory)
    number = store.info().entries
    store.clear()
    print_result(f"{store.path}: {plural(number, 'judgement')} deleted")


def _open_cache(directory: Path) -> VerdictCache:
    from ctxmetrics.models.runtime.cache import FILE_NAME, VerdictCache

    if not (directory / FILE_NAME).is_file():
        raise InputFileError(
            f"{directory}: there is no cache. Give the directory that was given as --cache."
        )
    return VerdictCache(directory)
