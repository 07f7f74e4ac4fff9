"""The output of commands: results on stdout, messages on stderr, the exit status, and the reason why a run is not complete."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.display import replace_invisible, without_commands
from ctxmetrics.errors import OutputFileError

if TYPE_CHECKING:
    from ctxmetrics.evaluation.batching.batch import BatchReport
    from ctxmetrics.evaluation.runs.results import Results
    from ctxmetrics.judges.base import Judge

GATE_FAILED = 1
BAD_INPUT = 2
STOPPED = 3
PENDING = 4
INTERRUPTED = 130
# Codes of failures that no server of the judge has caused.
_CODES_OF_NO_SERVER = frozenset({"budget_exceeded", "metric_error", "retriever_error"})
# The exit status of a command that another signal ended: this plus the number of the signal.
SIGNALLED = 128


def print_result(text: str | None) -> None:
    """Print a result on stdout, without commands to a CI system; None only flushes stdout.

    If the reader of a pipe has ended (``| head``), nothing more is printed, and the exit status stays.

    Raises:
        OutputFileError: Stdout cannot be written.
    """
    try:
        if text is not None:
            typer.echo(without_commands(text))
        sys.stdout.flush()
    except OSError as error:
        # From now on stdout goes nowhere: else Python would write once more at its end, and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputFileError(f"stdout cannot be written: {error.strerror or error}.") from None


def print_json(data: Any) -> None:
    """Print data as JSON, in ASCII: a terminal or a file may have another encoding. It raises the errors of `print_result`."""
    print_result(json.dumps(data, indent=1))


def print_in_format(result: Any, output_format: str, **json_entries: Any) -> None:
    """Print a result as text, as Markdown, or as JSON with further entries. It raises the errors of `print_result`."""
    if output_format == "json":
        print_json({**result.to_dict(), **json_entries})
    elif output_format == "markdown":
        print_result(result.markdown())
    else:
        print_result(str(result))


def print_message(text: str) -> None:
    """Print a message on stderr.

    It may hold text of a file, so invisible characters are replaced, and no line is a command to a CI system.
    """
    typer.echo(without_commands(replace_invisible(text, keep="\n")), err=True)


def note_unused(options: Mapping[str, object], needed_options: Mapping[str, object]) -> None:
    """Say which options have no effect, because none of the options that they need is given.

    Args:
        options: The values of options by their names.
        needed_options: The same, of the options that they need: one of them is enough.
    """
    if any(needed_options.values()):
        return
    unused_names = [name for name, value in options.items() if value]
    if unused_names:
        needed_names = " or ".join(needed_options)
        print_message(f"note: without {needed_names}, {', '.join(unused_names)} changes nothing")


def require_command(context: typer.Context) -> None:
    """Show the help of a group of commands on stderr if the user named none of them.

    Raises:
        typer.Exit: None was given.
    """
    if context.invoked_subcommand is None:
        print_message(context.get_help())
        raise typer.Exit(BAD_INPUT)


def uses_colors() -> bool:
    """Return whether results may have colours: stdout is a terminal, and NO_COLOR (no-color.org) is not set."""
    is_refused = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not is_refused


def get_line_width() -> int:
    """Return the number of characters of a line: the width of the terminal, at least 60. It is 80 if stdout is no terminal."""
    if not sys.stdout.isatty():
        return 80
    return max(60, shutil.get_terminal_size().columns)


@contextmanager
def print_warnings_at_end() -> Iterator[list[str]]:
    """Collect the library's warnings in a list while the block runs. Print at the end what the list still holds.

    Warnings that are printed at once would break the progress bar. The block may remove a warning that repeats its last line.
    """
    log = logging.getLogger("ctxmetrics")
    texts: list[str] = []
    handler = logging.Handler(logging.WARNING)
    propagate = log.propagate
    handler.emit = lambda record: texts.append(record.getMessage())  # type: ignore[method-assign]  # a handler of this call alone
    log.addHandler(handler)
    log.propagate = False
    try:
        yield texts
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
        for text in dict.fromkeys(texts):
            print_message(f"note: {text}")


def leave(results: Results, judge: Judge, *, out: Path | None, failed_gates: bool = False) -> None:
    """End the command with the exit status of a run. Print one line before it that says why the run is not complete.

    Return if the run is complete and no gate failed.

    Raises:
        typer.Exit: The status is not 0.
    """
    from ctxmetrics.evaluation.runs.engine import INTERRUPTED as BY_USER

    if results.stopped is None and not results.unanswered:
        if failed_gates:
            raise typer.Exit(GATE_FAILED)
        return
    # The most frequent failure of the run: its code, and its message.
    code, failure_message = results.failure or ("", "")
    if results.stopped == BY_USER:
        sentences = [f"interrupted: {results.describe_rest()}."]
    elif results.stopped is not None and " cannot be written" in results.stopped:
        sentences = [f"{results.stopped}. Make room, or choose another file."]
    elif results.stopped is not None:
        # If the message names the code of a failure, the advice is about this failure. Else it is about the most frequent one.
        advice_code = code
        for known_code in _read_advice():
            if f"{known_code}:" in results.stopped:
                advice_code = known_code
                break
        sentences = [
            f"stopped early: {results.stopped}{_format_address(judge, code)}.",
            f"{results.describe_rest()}.",
            _advise(advice_code, judge),
        ]
    else:
        failure = failure_message or "no reply could be used"
        sentences = [
            f"no verdict at all for {', '.join(results.unanswered)}:",
            f"{code}: {failure}{_format_address(judge, code)}.",
            _advise(code, judge),
        ]
    if out is not None:
        sentences.append("When that is done, run the same command again with --resume.")
    words = " ".join(sentences).split()
    print_message(f"ctxmetrics: {' '.join(words)}")
    raise typer.Exit(INTERRUPTED if results.stopped == BY_USER else STOPPED)


def leave_pending(results: Results, batches: BatchReport) -> NoReturn:
    """End the command while batches are not answered yet. Print which batches are open, until when, and how to continue.

    Raises:
        typer.Exit: Always.
    """
    for line in batches.lines:
        print_message(f"note: {line}")
    if results.stopped != batches.waiting:
        print_message(f"ctxmetrics: {results.stopped}.")
    print_message(f"ctxmetrics: {batches.waiting}. Run the same command again to go on.")
    raise typer.Exit(PENDING if results.stopped == batches.waiting else STOPPED)


def _format_address(judge: Judge, code: str) -> str:
    """Return the address of a judge's server in brackets. The result is empty if there is none to check."""
    model = getattr(judge, "model", None)
    address = getattr(model, "base_url", None)
    if not address or code in _CODES_OF_NO_SERVER:
        return ""
    return f" ({address})"


@cache
def _read_advice() -> Mapping[str, str]:
    """Read the advice for a run that ended early, by verdict code."""
    advice: Mapping[str, str] = read_data("evaluation.cli", "words.toml")["advice"]
    return advice


def _advise(code: str, judge: Judge) -> str:
    """Return the advice for a code. It names the variable of the environment that holds the judge's key, if there is one."""
    model = getattr(judge, "model", None)
    key = getattr(model, "api_key", None)
    variable = getattr(key, "variable", None)
    place = f" in {variable}" if variable else ""
    return _read_advice().get(code, "").format(place=place)
