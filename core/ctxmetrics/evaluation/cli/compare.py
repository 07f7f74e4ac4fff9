"""``ctxmetrics compare``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ctxmetrics.evaluation.cli._options import AuditPath, Cluster, Help, JUnitFile, PageTitle
from ctxmetrics.evaluation.cli._terminal import (
    GATE_FAILED,
    note_unused,
    print_in_format,
    print_message,
)
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.comparison.view import Comparison
    from ctxmetrics.evaluation.rows.outcome import Outcome


@dataclass(frozen=True, kw_only=True)
class VerdictOptions:
    """The metrics of the verdict, and the loss that fails the command."""

    metric: Annotated[
        list[str] | None,
        Help(
            (
                "A primary metric: it gets a verdict. Repeatable. Without it: the metrics of the gates, "
                "else the first judged metric."
            ),
            names=("--metric", "-m"),
        ),
    ] = None
    max_drop: Annotated[
        list[str] | None, Help("NAME=MARGIN: exit 1 if the interval shows a larger loss. Repeatable.")
    ] = None
    not_worse: Annotated[
        list[str] | None,
        Help("NAME=MARGIN: exit 1 unless the interval shows at most that loss. Repeatable."),
    ] = None
    keep_gates: Annotated[
        bool,
        Help(
            "Also write what became of the gates into the results of the later run, for `ctxmetrics view`."
        ),
    ] = False
    junit: JUnitFile = None


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """The options that pair the samples of two runs, and the differences that are allowed between the runs."""

    by: Annotated[str | None, Help("Also compare groups of samples: metadata.KEY.")] = None
    cluster: Cluster = None
    accept: Annotated[
        list[str] | None,
        Help(
            "What may differ: judge, prompt, convention, formula, unit or question. Repeatable.",
            names=("--accept", "--allow-different"),
        ),
    ] = None
    labels: Annotated[
        list[Path] | None, Help("People's answers about either run, by `ctxmetrics label`. Repeatable.")
    ] = None
    audit: AuditPath = None


def compare(
    first: Annotated[Path, Help("Results that --out wrote.", argument=True)],
    second: Annotated[Path, Help("Results that --out wrote.", argument=True)],
    verdict: VerdictOptions,
    pairing: Pairing,
    others: Annotated[
        list[Path] | None, Help("Further runs: each is compared with the first.", argument=True)
    ] = None,
    format: Annotated[Literal["text", "json", "markdown"], Help("text, json or markdown.")] = "text",  # noqa: A002 - the option is named so
    report: Annotated[
        Path | None, Help("Write the comparison as a page: FILE.html.", names=("--report", "--page"))
    ] = None,
    title: PageTitle = None,
) -> None:
    """Compare runs on the same samples with the first run: which is better, and which sentences were lost?"""
    from ctxmetrics.evaluation.cli._gates import read_name_and_value, write_ci_reports
    from ctxmetrics.evaluation.comparison.compare import compare_all
    from ctxmetrics.evaluation.pages import name_page
    from ctxmetrics.evaluation.rows.output_files import write_gates, write_whole
    from ctxmetrics.evaluation.rows.output_paths import check_outputs

    note_unused({"--title": title}, {"--report": report})
    gate_options = {"--max-drop": verdict.max_drop, "--not-worse": verdict.not_worse}
    note_unused({"--keep-gates": verdict.keep_gates}, gate_options)
    runs = {str(path): path for path in (second, *(others or ()))}
    inputs = {"FIRST": first, "SECOND": second, "--audit": pairing.audit, **runs}
    check_outputs({"--report": report, "--junit": verdict.junit}, inputs)
    gates = []
    for option, texts in gate_options.items():
        gates += [(option, *read_name_and_value(option, text)) for text in texts or ()]
    names = verdict.metric or [name for _, name, _ in gates]
    options = {name: value for name, value in vars(pairing).items() if value}
    comparisons = compare_all(first, runs, metrics=names, **options)
    outcomes: list[Outcome] = []
    for name, comparison in comparisons.runs.items():
        outcomes_of_run = list(_check_gates(comparison, gates))
        if verdict.keep_gates:
            write_gates(runs[name], outcomes_of_run)
        if len(runs) > 1:
            outcomes_of_run = [outcome.in_setting(name) for outcome in outcomes_of_run]
        outcomes += outcomes_of_run
    result = comparisons if len(runs) > 1 else comparisons.runs[str(second)]
    gate_rows = [(outcome.gate, outcome.problem) for outcome in outcomes]
    rows = [{"gate": gate, "problem": problem} for gate, problem in gate_rows]
    print_in_format(result, format, gates=rows)
    if report is not None:
        write_whole(
            report, [result.html(title=title or name_page(report, first, *runs), gates=gate_rows)]
        )
    if write_ci_reports(outcomes, "ctxmetrics compare", result.markdown(), verdict.junit):
        raise typer.Exit(GATE_FAILED)


def _check_gates(comparison: Comparison, gates: Sequence[tuple[str, str, float]]) -> Iterator[Outcome]:
    """Yield the outcome of each gate. A failed gate lists the samples that lost most."""
    from ctxmetrics.evaluation.comparison.difference_sentences import describe_power
    from ctxmetrics.evaluation.comparison.difference_table import format_number
    from ctxmetrics.evaluation.runs.gates import check_difference, describe_overruled

    for option, name, margin in gates:
        outcome = check_difference(comparison, option, name, margin)
        item = comparison[outcome.metric or name]
        if outcome.passed and option == "--max-drop":
            overruled = describe_overruled(item, margin)
            if overruled:
                print_message(f"note: {outcome.gate}: {overruled}")
            # This gate fails only if the whole interval is beyond the margin. So a drop is found if it is larger than the margin
            # and the detectable difference together.
            if item.detectable:
                power = describe_power(format_number(margin + item.detectable, item))
                print_message(
                    f"note: {outcome.gate}: {power} comparisons of {plural(item.samples, 'sample')}"
                )
        fallen_samples = [fallen for fallen in comparison.worst if fallen.metric == item.name]
        lines = [
            f"{fallen.sample_id}: {fallen.before:.4g} to {fallen.after:.4g}"
            for fallen in fallen_samples
        ]
        yield replace(outcome, samples=() if outcome.passed else tuple(lines))
