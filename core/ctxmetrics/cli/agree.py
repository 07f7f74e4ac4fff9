"""``ctxmetrics agree``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxmetrics.cli._options import (
    AnnotatorName,
    BaseUrl,
    CacheDir,
    Concurrency,
    ConventionName,
    File,
    JudgeName,
    LabelsPath,
    SchemaName,
    ShowDisputes,
)
from ctxmetrics.cli._run import judge_of, schema_and_convention
from ctxmetrics.cli._status import leave
from ctxmetrics.cli._terminal import collected_warnings, print_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxmetrics.samples import Sample


def agree(
    file: File,
    labels: LabelsPath = None,
    annotator: AnnotatorName = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    cache: CacheDir = None,
    max_concurrency: Concurrency = 16,
    show: ShowDisputes = 0,
) -> None:
    """Compare a judge's verdicts with people's labels, and correct the means by them."""
    from ctxmetrics.agreement.agree import agree as compare
    from ctxmetrics.agreement.labelling.reading import read_labelled
    from ctxmetrics.agreement.people import among_people
    from ctxmetrics.errors import ParameterError
    from ctxmetrics.files import read_samples

    schema, convention = schema_and_convention(schema, convention)
    if annotator is not None and labels is None:
        raise ParameterError("--annotator needs --labels FILE, which says who answered what.")
    judging = judge_of(judge, base_url)
    samples: Iterable[Sample] = read_samples(file, schema)
    if labels is not None:
        samples = read_labelled(samples, labels, annotator=annotator)
    with collected_warnings() as warnings:
        report = compare(
            samples,
            judge=judging,
            convention=convention,
            cache=cache,
            max_concurrency=max_concurrency,
        )
        if report.results.stopped or report.results.unanswered:
            warnings.clear()
    print_result(str(report))
    for people in () if labels is None else among_people(labels):
        print_result(str(people))
    for dispute in report.disputes[: max(show, 0)]:
        print_result(f"\n{dispute}")
    leave(report.results, judging, out=None)
