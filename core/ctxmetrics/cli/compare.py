"""``ctxmetrics compare``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ctxmetrics.cli._options import JUnitFile
from ctxmetrics.cli._terminal import GATE_FAILED, print_result

if TYPE_CHECKING:
    from ctxmetrics.cli._gates import Outcome
    from ctxmetrics.results.comparison.view import Comparison

_Run = Annotated[Path, typer.Argument(help="Results that --out wrote.", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the verdict is about, and which loss fails the command."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A primary metric: it gets a verdict. Repeatable. Without it: the metrics of the gates, else the "
            "first judged metric.",
        ),
    ] = None
    max_drop: Annotated[
        list[str] | None,
        typer.Option(help="NAME=MARGIN: exit 1 if the interval shows a larger loss. Repeatable."),
    ] = None
    not_worse: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=MARGIN: exit 1 unless the interval shows at most that loss. Repeatable."
        ),
    ] = None
    junit: JUnitFile = None


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """How the samples of two runs belong together, and what may differ between the runs."""

    by: Annotated[str | None, typer.Option(help="Also compare groups of samples: metadata.KEY.")] = None
    cluster: Annotated[
        str | None, typer.Option(help="Samples that belong together have the same metadata.KEY.")
    ] = None
    accept: Annotated[
        list[str] | None,
        typer.Option(
            "--accept",
            "--allow-different",
            help="What may differ: judge, prompt, convention, formula, unit or question. Repeatable.",
        ),
    ] = None
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="People's answers about either run, by `ctxmetrics label`. Repeatable."),
    ] = None


def compare(
    first: _Run,
    second: _Run,
    verdict: Verdict,
    pairing: Pairing,
    others: Annotated[
        list[Path] | None,
        typer.Argument(help="Further runs: each is compared with the first.", show_default=False),
    ] = None,
    format: Annotated[  # noqa: A002 - the option is named so
        Literal["text", "json", "markdown"], typer.Option(help="text, json or markdown.")
    ] = "text",
    report: Annotated[
        Path | None,
        typer.Option("--report", "--page", help="Write the comparison as a page: FILE.html."),
    ] = None,
) -> None:
    """Compare runs on the same samples with the first run: which is better, and which sentences were lost?"""
    from ctxmetrics.cli._gates import name_and_value, tell_ci
    from ctxmetrics.results.comparison.compare import compare_all
    from ctxmetrics.results.writer import check_outputs, write_whole

    runs = {str(path): path for path in (second, *(others or ()))}
    check_outputs(
        {"--report": report, "--junit": verdict.junit}, {"FIRST": first, "SECOND": second, **runs}
    )
    bars = {"--max-drop": verdict.max_drop, "--not-worse": verdict.not_worse}
    gates = []
    for option, texts in bars.items():
        gates += [(option, *name_and_value(option, text)) for text in texts or ()]
    names = verdict.metric or [name for _, name, _ in gates]
    options = {name: value for name, value in vars(pairing).items() if value}
    comparisons = compare_all(first, runs, metrics=names, **options)
    several = len(runs) > 1
    result = comparisons if several else comparisons.runs[str(second)]
    outcomes: list[Outcome] = []
    for name, comparison in comparisons.runs.items():
        outcomes += _check_gates(comparison, gates, f"{name}: " if several else "")
    if format == "json":
        rows = [{"gate": outcome.gate, "problem": outcome.problem} for outcome in outcomes]
        print_result(json.dumps({**result.to_dict(), "gates": rows}, indent=1))
    elif format == "markdown":
        print_result(result.markdown())
    else:
        print_result(str(result))
    if report is not None:
        write_whole(report, [result.html()])
    if tell_ci(outcomes, "ctxmetrics compare", result.markdown(), verdict.junit):
        raise typer.Exit(GATE_FAILED)


def _check_gates(
    comparison: Comparison, gates: Sequence[tuple[str, str, float]], run: str
) -> Iterator[Outcome]:
    """Yield the outcome of each gate; the samples that lost most stand behind a problem."""
    from ctxmetrics.cli._gates import Outcome
    from ctxmetrics.results.comparison.gates import choose_gated, max_drop_problem, not_worse_problem

    for option, name, margin in gates:
        item = choose_gated(comparison, name, margin, option)
        rule = max_drop_problem if option == "--max-drop" else not_worse_problem
        problem = rule(comparison, item, margin)
        gate = f"{run}{option} {name}={margin:g}"
        if not problem:
            yield Outcome(gate, problem)
            continue
        lines = [
            f"{worse.sample_id}: {worse.before:.4g} to {worse.after:.4g}"
            for worse in comparison.worst
            if worse.metric == item.name
        ]
        yield Outcome(gate, f"{run}{problem}", tuple(lines))
