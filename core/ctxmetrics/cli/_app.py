"""The program `ctxmetrics`: its commands, and what becomes of errors."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from ctxmetrics._version import __version__
from ctxmetrics.cli._status import BAD_INPUT, INTERRUPTED, STOPPED
from ctxmetrics.cli._terminal import message, print_result, show_help
from ctxmetrics.cli.agree import agree
from ctxmetrics.cli.cache import cache_app
from ctxmetrics.cli.check_judge import check_judge
from ctxmetrics.cli.compare import compare
from ctxmetrics.cli.demo import demo
from ctxmetrics.cli.estimate import estimate
from ctxmetrics.cli.explain_difference import explain_difference
from ctxmetrics.cli.label import label
from ctxmetrics.cli.parity import parity
from ctxmetrics.cli.score import score
from ctxmetrics.cli.spans import spans
from ctxmetrics.cli.sweep import sweep
from ctxmetrics.errors import CtxMetricsError, OutputFileError

app: typer.Typer = typer.Typer(name="ctxmetrics", add_completion=False, pretty_exceptions_enable=False)
for command in (
    demo,
    score,
    compare,
    parity,
    estimate,
    agree,
    label,
    spans,
    sweep,
    check_judge,
    explain_difference,
):
    app.command()(command)
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
    if context.invoked_subcommand is None:
        show_help(context)
        raise typer.Exit(BAD_INPUT)


def main() -> NoReturn:
    """Run the command line; an error is one line on stderr."""
    try:
        status = app(standalone_mode=False)
        print_result(None)
    except OutputFileError as error:
        _fail(str(error), STOPPED)
    except CtxMetricsError as error:
        _fail(str(error), BAD_INPUT)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except Exception as error:
        explain = getattr(
            error, "format_message", None
        )  # click's usage errors have it, whichever click typer brings
        if explain is None:
            raise
        _fail(f"{explain()} Try: ctxmetrics --help", BAD_INPUT)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(text: str, status: int) -> NoReturn:
    message(f"ctxmetrics: {' '.join(text.split())}")
    sys.exit(status)
