"""``ctxmetrics compare``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from ctxmetrics.cli._options import JUnitFile
from ctxmetrics.cli._terminal import GATE_FAILED, print_result

_Run = Annotated[Path, typer.Argument(help="Results that --out wrote.", show_default=False)]


def compare(
    first: _Run,
    second: _Run,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A primary metric: it gets a verdict and may be gated. Repeatable. Else those of the gates, "
            "else the first judged one.",
        ),
    ] = None,
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
    format: Annotated[  # noqa: A002 - the option is named so
        Literal["text", "json", "markdown"], typer.Option("--format", help="text, json or markdown.")
    ] = "text",
    report: Annotated[
        Path | None, typer.Option("--report", "--page", help="A page to read: FILE.html.")
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        typer.Option(
            "--max-drop",
            help="NAME=MARGIN: exit 1 if the interval shows a larger loss. Repeatable.",
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
    from ctxmetrics.cli._gates import Outcome, name_and_value, tell_ci
    from ctxmetrics.comparison.compare import compare as compared
    from ctxmetrics.comparison.compare import gated, max_drop_problem, not_worse_problem
    from ctxmetrics.evaluation.writer import check_outputs, write_whole

    check_outputs({"--report": report, "--junit": junit}, {"FIRST": first, "SECOND": second})
    given = {"--max-drop": max_drop or (), "--not-worse": not_worse or ()}
    asked = [(option, *name_and_value(option, text)) for option, texts in given.items() for text in texts]
    found = compared(
        first,
        second,
        metrics=metric or [name for _, name, _ in asked],
        by=by,
        cluster=cluster,
        allow_different=allow_different or (),
        labels=labels or (),
    )
    outcomes = []
    for option, name, margin in asked:
        item = gated(found, name, margin, option)
        rule = max_drop_problem if option == "--max-drop" else not_worse_problem
        problem = rule(found, item, margin)
        samples = [worse for worse in found.worst if problem and worse.metric == item.name]
        lines = (f"{worse.sample_id}: {worse.before:.4g} to {worse.after:.4g}" for worse in samples)
        outcomes.append(Outcome(f"{option} {name}={margin:g}", problem, tuple(lines)))
    if format == "json":
        told = [{"gate": outcome.gate, "problem": outcome.problem} for outcome in outcomes]
        print_result(json.dumps({**found.to_dict(), "gates": told}, ensure_ascii=True, indent=1))
    else:
        print_result(found.markdown() if format == "markdown" else str(found))
    if report is not None:
        write_whole(report, [found.html()])
    if tell_ci(outcomes, "ctxmetrics compare", found.markdown(), junit):
        raise typer.Exit(GATE_FAILED)
