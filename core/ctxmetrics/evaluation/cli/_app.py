"""The program `ctxmetrics`: its commands, and how errors are printed."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from ctxmetrics import __version__
from ctxmetrics.errors import CtxMetricsError, OutputFileError, ParameterError
from ctxmetrics.evaluation.cli._commands import COMMANDS, load_function
from ctxmetrics.evaluation.cli._options import GroupedCommand, convert_without_pydantic
from ctxmetrics.evaluation.cli._suggestions import explain_command, explain_option
from ctxmetrics.evaluation.cli._terminal import (
    BAD_INPUT,
    INTERRUPTED,
    SIGNALLED,
    STOPPED,
    print_message,
    print_result,
    require_command,
)
from ctxmetrics.evaluation.cli.cache import cache_app
from ctxmetrics.evaluation.cli.config import with_config

# Help without the frames that rich draws: they take twice the CPU time of the rest of the start.
_PLAIN_HELP: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"max_content_width": 120},
}


class _BuiltCommands(MutableMapping[str, Any]):
    """The commands of the program by their names. Each is built when it is first used: to build all doubles the start.

    Args:
        groups: The groups of commands, which are built already.
    """

    def __init__(self, groups: Mapping[str, Any]) -> None:
        self._built = dict(groups)
        self._names = list(dict.fromkeys((*COMMANDS, *groups)))

    def __getitem__(self, name: str) -> Any:
        """Return a command."""
        if name not in self._built:
            program = typer.Typer(**_PLAIN_HELP)
            program.command(name=name, cls=GroupedCommand)(with_config(COMMANDS[name]))
            self._built[name] = typer.main.get_command(program)
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        """Add or replace a command."""
        if name not in self._names:
            self._names.append(name)
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command."""
        self._names.remove(name)
        self._built.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names in the order of the help."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(self._names)


class _Program(TyperGroup):
    """The program. For a word that is no command, it suggests one."""

    def __init__(self, *, commands: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _BuiltCommands(commands or {})

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click calls it with the context
        """List the names of the commands."""
        return list(self.commands)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the program itself, ``--help`` among them."""
        return convert_without_pydantic(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table of commands: it needs their names and docstrings, and no option."""
        commands: dict[str, Any] = {
            name: TyperCommand(name, help=getdoc(load_function(name))) for name in COMMANDS
        }
        for name in self.commands.keys() - commands.keys():
            commands[name] = self.commands[name]
        TyperGroup(name=self.name, commands=commands).format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command.

        Raises:
            ParameterError: There is no such command.
        """
        if args and args[0] not in self.commands:
            raise ParameterError(explain_command(args, self.commands))
        return super().resolve_command(ctx, args)


app: typer.Typer = typer.Typer(name="ctxmetrics", cls=_Program, **_PLAIN_HELP)
app.add_typer(cache_app, name="cache")


@app.callback(invoke_without_command=True)
def ctxmetrics(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Context recall and context precision: one definition, one number in every framework."""
    if version:
        print_result(f"ctxmetrics {__version__}")
        raise typer.Exit
    require_command(context)


class _ProcessSignals:
    """Ends the command at SIGTERM and SIGHUP as Ctrl-C does. A signal that the shell ignores stays ignored (`nohup`).

    Attributes:
        last: The signal that arrived last, or None.
    """

    def __init__(self) -> None:
        self.last: int | None = None

    def install(self) -> None:
        """Handle the signals, also as process 1 of a container, which ignores them by default."""
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _frame: object) -> NoReturn:
        """Note a signal, and interrupt the command as Ctrl-C does."""
        self.last = number
        raise KeyboardInterrupt

    def to_status(self, status: int) -> int:
        """Return the exit status. If a signal ended the command, it is the status of the signal."""
        if status == INTERRUPTED and self.last is not None:
            return SIGNALLED + self.last
        return status


def _prepare_streams() -> None:
    """Prepare the streams so that every text can be printed. The text of a closed stream is dropped.

    Characters that the encoding of stdout lacks are printed as escapes, as Python does on stderr.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def main() -> NoReturn:
    """Run the command line; an error is one line on stderr."""
    _prepare_streams()
    signals = _ProcessSignals()
    signals.install()
    try:
        status = app(standalone_mode=False)
        print_result(None)
    except CtxMetricsError as error:
        _fail(str(error), STOPPED if isinstance(error, OutputFileError) else BAD_INPUT)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", signals.to_status(INTERRUPTED))
    except Exception as error:
        # Usage errors of click have this method, in every version of click.
        if not hasattr(error, "format_message"):
            raise
        _fail(_explain_usage_error(error), BAD_INPUT)
    sys.exit(signals.to_status(status) if isinstance(status, int) else 0)


def _explain_usage_error(error: Any) -> str:
    """Explain a usage error of click, and name the command whose help says more."""
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if context is None:
        command = "ctxmetrics"
        if sys.argv[1:] and sys.argv[1] in COMMANDS:
            command += f" {sys.argv[1]}"
        return f"{_format_sentence(error)} Try: {command} --help"
    if option is None or not hasattr(error, "possibilities"):  # not about an unknown option
        return f"{_format_sentence(error)} Try: {context.command_path} --help"
    other_commands = context.parent.command.commands if context.parent else {}
    explanation = explain_option(option, context.command, other_commands)
    return f"{explanation} Try: {context.command_path} --help"


def _format_sentence(error: Any) -> str:
    """Format a usage error of click as a sentence: some of its messages have no full stop."""
    message: str = error.format_message()
    return message if message.endswith((".", "?", "!", "'", ")")) else f"{message}."


def _fail(text: str, status: int) -> NoReturn:
    """Print an error in one line, and exit."""
    print_message(f"ctxmetrics: {' '.join(text.split())}")
    sys.exit(status)
