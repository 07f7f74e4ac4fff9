"""``ctxmetrics compare``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from ctxmetrics.cli._terminal import GATE_FAILED, message, print_in_format
from ctxmetrics.presentation.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.cli._gates import Outcome
    from ctxmetrics.results.comparison.view import Comparison


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the verdict is about, and which loss fails the command."""

    metric: list[str] | None = None
    max_drop: list[str] | None = None
    not_worse: list[str] | None = None
    junit: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """How the samples of two runs belong together, and what may differ between the runs."""

    by: str | None = None
    cluster: str | None = None
    accept: list[str] | None = None
    labels: list[Path] | None = None


def compare(
    first: Path,
    second: Path,
    verdict: Verdict,
    pairing: Pairing,
    others: list[Path] | None = None,
    format: Literal["text", "json", "markdown"] = "text",  # noqa: A002 - the option is named so
    report: Path | None = None,
) -> None:
    """Compare runs on the same samples with the first run: which is better, and which sentences were lost?"""
    from ctxmetrics.cli._gates import name_and_value, tell_ci
    from ctxmetrics.results.comparison.compare import compare_all
    from ctxmetrics.results.writer import check_outputs, write_whole

    runs = {str(path): path for path in (second, *(others or ()))}
    inputs = {"FIRST": first, "SECOND": second, **runs}
    check_outputs({"--report": report, "--junit": verdict.junit}, inputs)
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
    gate_rows = [(outcome.gate, outcome.problem) for outcome in outcomes]
    rows = [{"gate": gate, "problem": problem} for gate, problem in gate_rows]
    print_in_format(result, format, gates=rows)
    if report is not None:
        write_whole(report, [result.html(gates=gate_rows)])
    if tell_ci(outcomes, "ctxmetrics compare", result.markdown(), verdict.junit):
        raise typer.Exit(GATE_FAILED)


def _check_gates(
    comparison: Comparison, gates: Sequence[tuple[str, str, float]], run: str
) -> Iterator[Outcome]:
    """Yield the outcome of each gate; the samples that lost most stand behind a problem."""
    from ctxmetrics.cli._gates import Outcome
    from ctxmetrics.results.comparison.gates import choose_gated, max_drop_problem, not_worse_problem
    from ctxmetrics.results.comparison.view import describe_power, number

    for option, name, margin in gates:
        item = choose_gated(comparison, name, margin, option)
        rule = max_drop_problem if option == "--max-drop" else not_worse_problem
        problem = rule(comparison, item, margin)
        gate = f"{run}{option} {name}={margin:g}"
        if not problem:
            # This gate fails where the interval ends below the margin.
            if option == "--max-drop" and item.detectable:
                power = describe_power(number(margin + item.detectable, item))
                message(f"note: {gate}: {power} comparisons of {plural(item.samples, 'sample')}")
            yield Outcome(gate, problem)
            continue
        lines = [
            f"{worse.sample_id}: {worse.before:.4g} to {worse.after:.4g}"
            for worse in comparison.worst
            if worse.metric == item.name
        ]
        yield Outcome(gate, f"{run}{problem}", tuple(lines))
