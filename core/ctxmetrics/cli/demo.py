"""``ctxmetrics demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.cli._terminal import message
from ctxmetrics.cli.score import score
from ctxmetrics.errors import InputFileError

_PLACES = (
    Path(__file__).parent / "handbook.jsonl",
    Path(__file__).parents[3] / "examples" / "handbook.jsonl",
)
"""Where the sample data is: in an installed library, and in a checkout."""


def demo(
    report: Annotated[Path, typer.Option("--report", help="The page to write.")] = Path(
        "ctxmetrics-demo.html"
    ),
) -> None:
    """Score the sample data that comes with the library, explain the lowest scores, and write the report."""
    samples = next((path for path in _PLACES if path.is_file()), None)
    if samples is None:
        raise InputFileError(
            "the sample data is missing from this installation; install ctxmetrics again."
        )
    score(samples, report=report, show=1)
    message(f"the report: {report}")
