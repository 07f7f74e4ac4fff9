"""``ctxmetrics compare``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxmetrics.cli._ci import Outcome, tell_ci
from ctxmetrics.cli._gates import name_and_value
from ctxmetrics.cli._options import JUnitFile, OutputFormat, check_format
from ctxmetrics.cli._status import GATE_FAILED
from ctxmetrics.cli._terminal import print_result
from ctxmetrics.evaluation.writer import check_outputs, write_whole

if TYPE_CHECKING:
    from ctxmetrics.comparison.compare import Comparison

_Run = Annotated[Path, typer.Argument(help="Results that --out wrote.", show_default=False)]


def compare(
    first: _Run,
    second: _Run,
    by: Annotated[
        str | None, typer.Option("--by", help="Also by groups of samples: metadata.KEY.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Samples that hang together have the same metadata.KEY."),
    ] = None,
    allow_different: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-different",
            help="judge, prompt, convention, formula, unit or question may differ. Repeatable.",
        ),
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            "--labels", help="People's answers about either run, by `ctxmetrics label`. Repeatable."
        ),
    ] = None,
    format: OutputFormat = "text",  # noqa: A002 - the option is named so
    page: Annotated[Path | None, typer.Option("--page", help="A page to read: FILE.html.")] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            "--max-drop",
            help="NAME=MARGIN: exit 1 if the mean fell by more and the interval excludes zero. Repeatable.",
        ),
    ] = None,
    not_worse: Annotated[
        list[str] | None,
        typer.Option(
            "--not-worse",
            help="NAME=MARGIN: exit 1 unless the interval shows at most that loss. Repeatable.",
        ),
    ] = None,
    junit: JUnitFile = None,
) -> None:
    """Compare two runs on the same samples: is the second better, and what was lost?"""
    from ctxmetrics.comparison.compare import compare as compared

    check_format(format, "text", "json", "markdown")
    check_outputs({"--page": page, "--junit": junit}, {"FIRST": first, "SECOND": second})
    found = compared(
        first, second, by=by, cluster=cluster, allow_different=allow_different or (), labels=labels or ()
    )
    outcomes = outcomes_of(found, max_drop or (), not_worse or ())
    if format == "json":
        gates = [{"gate": item.gate, "problem": item.problem} for item in outcomes]
        print_result(json.dumps({**found.to_dict(), "gates": gates}, ensure_ascii=True, indent=1))
    else:
        print_result(found.markdown() if format == "markdown" else str(found))
    if page is not None:
        write_whole(page, [found.html()])
    if tell_ci(outcomes, "ctxmetrics compare", found.markdown(), junit):
        raise typer.Exit(GATE_FAILED)


def outcomes_of(found: Comparison, max_drop: Sequence[str], not_worse: Sequence[str]) -> list[Outcome]:
    """Return what becomes of the gates.

    Raises:
        ParameterError: A gate is not ``NAME=MARGIN``, or the comparison has no such metric.
    """
    from ctxmetrics.comparison import gates

    outcomes = []
    for option, texts, rule in (
        ("--max-drop", max_drop, gates.max_drop),
        ("--not-worse", not_worse, gates.not_worse),
    ):
        for text in texts:
            name, margin = name_and_value(option, text)
            metric = gates.metric_in(found, name, margin, option)
            problem = rule(found, metric, margin)
            samples = [item for item in found.worst if problem and item.metric == metric.name]
            lines = tuple(f"{item.sample_id}: {item.before:.4g} to {item.after:.4g}" for item in samples)
            outcomes.append(Outcome(f"{option} {text}", problem, lines))
    return outcomes
