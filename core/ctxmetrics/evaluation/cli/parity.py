"""``ctxmetrics parity``."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from typing import Annotated

import typer

from ctxmetrics.errors import InputFileError, install_command
from ctxmetrics.evaluation.cli._options import Help, SampleFile, Selection
from ctxmetrics.evaluation.cli._terminal import GATE_FAILED, print_message, print_result

# Environment variables that let a framework upload data: OPENAI_API_KEY, LANGSMITH_TRACING, OTEL_SERVICE_NAME.
_UPLOAD_VARIABLE_PATTERN = re.compile(r"_API_KEY$|_TRACING|^OTEL_")


def parity(
    source: SampleFile,
    selection: Selection,
    numbers: Annotated[bool, Help("Also print every value.")] = False,
) -> None:
    """Score the same samples in every installed framework, and compare the values with ==: for authors of adapters."""
    from ctxmetrics.adapting.runners import isolated_process
    from ctxmetrics.evaluation.cli._run import build_task
    from ctxmetrics.evaluation.frameworks.parity import compare
    from ctxmetrics.metrics.judging import get_default_judge

    samples, metrics, _ = build_task(source, selection, get_default_judge())
    is_at_terminal = sys.stderr.isatty()  # only a person needs the progress
    upload_names = [name for name in os.environ if _UPLOAD_VARIABLE_PATTERN.search(name)]
    without_uploads = dict.fromkeys(upload_names)  # None removes a variable
    # What frameworks print themselves (banners, bars) goes to stderr, away from the results.
    with (
        contextlib.redirect_stdout(sys.stderr),
        isolated_process(without_uploads, silent=False),
    ):
        comparison = compare(samples, metrics, progress=print_message if is_at_terminal else None)
    if len(comparison.runners) == 1:
        absent = "; ".join(f"{name}: {reason}" for name, reason in comparison.absent.items())
        raise InputFileError(
            "nothing to compare with: no framework is installed. Install one with: "
            f"{install_command('ragas')} (or deepeval, langchain). {absent}"
        )
    if numbers:
        print_result(f"{comparison.numbers()}\n")
    print_result(str(comparison))
    if comparison.differences:
        raise typer.Exit(GATE_FAILED)
