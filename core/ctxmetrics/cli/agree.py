"""``ctxmetrics agree``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    Concurrency,
    ConventionName,
    File,
    LabelsPath,
    SchemaName,
)
from ctxmetrics.cli._terminal import collected_warnings, leave, print_result
from ctxmetrics.errors import ParameterError


def agree(
    file: File,
    labels: LabelsPath = None,
    annotator: Annotated[
        str | None,
        typer.Option("--annotator", help="Whose answers of --labels count. Without it: the majority's."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            help="lexical (the default), PROVIDER/MODEL or MODULE:NAME. Repeatable: side by side.",
        ),
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            "--results", help="Verdicts of a run over FILE, by --out, in place of a judge. Repeatable."
        ),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="Also for each system: metadata.KEY says which one.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Samples that belong together have the same metadata.KEY."),
    ] = None,
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    cache: CacheDir = None,
    max_concurrency: Concurrency = 16,
    show: Annotated[
        int, typer.Option("--show", help="Show so many samples on which judge and people differ most.")
    ] = 0,
) -> None:
    """Compare the verdicts of judges with people's labels, and correct the means by them."""
    from ctxmetrics.agreement.agree import agree as compare
    from ctxmetrics.cli._run import convention_of, judge_of, sample_file, samples_of

    convention = convention_of(schema, convention)
    if annotator is not None and labels is None:
        raise ParameterError("--annotator needs --labels FILE, which says who answered what.")
    names = judge or ([] if results else ["lexical"])
    judges = [judge_of(name, base_url) for name in dict.fromkeys(names)]
    samples = samples_of(sample_file(file, schema, columns))
    measured = partial(
        compare, samples, labels=labels, annotator=annotator, system=system, cluster=cluster
    )
    reports = [measured(results=path) for path in results or ()]
    with collected_warnings() as warnings:
        reports += [
            measured(judge=judging, convention=convention, cache=cache, max_concurrency=max_concurrency)
            for judging in judges
        ]
        if any(report.results.stopped or report.results.unanswered for report in reports):
            warnings.clear()
    if len(reports) > 1:
        print_result(f"{reports[0].beside(*reports[1:])}\n")
    for place, report in enumerate(reports):
        print_result(f"{'' if place == 0 else chr(10)}{report}")
        for dispute in report.disputes[: max(show, 0)]:
            print_result(f"\n{dispute}")
    for judging, report in zip(judges, reports[len(results or ()) :], strict=True):
        leave(report.results, judging, out=None)
