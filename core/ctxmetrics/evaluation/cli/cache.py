"""``ctxmetrics cache``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.cli._terminal import print_result, require_command
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.models.runtime.cache import VerdictCache


class _CacheCommands(TyperGroup):
    """The commands about a cache."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command.

        Raises:
            ParameterError: There is no such command.
        """
        if args and args[0] not in self.commands:
            raise ParameterError(
                f"{args[0]!r} is no command about a cache. Write ctxmetrics cache info DIR, or ctxmetrics cache clear DIR."
            )
        return super().resolve_command(ctx, args)


cache_app: typer.Typer = typer.Typer(
    cls=_CacheCommands, help="Look at a cache of judgements, or empty it."
)
Directory = Annotated[Path, typer.Argument(help="The cache's directory.")]


@cache_app.callback(invoke_without_command=True)
def cache(context: typer.Context) -> None:
    """Look at a cache of judgements, or empty it."""
    require_command(context)


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
    """Open an existing cache."""
    from ctxmetrics.models.runtime.cache import FILE_NAME, VerdictCache

    if not (directory / FILE_NAME).is_file():
        raise InputFileError(
            f"{directory}: there is no cache. Give the directory that was given as --cache."
        )
    return VerdictCache(directory)
