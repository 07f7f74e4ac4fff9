"""``ctxmetrics agree`` and ``check-judge``: how good a judge is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.evaluation.cli._options import (
    Asking,
    CacheFolder,
    Cluster,
    ConventionName,
    Help,
    LabelsPath,
    Pace,
    SampleFile,
)
from ctxmetrics.evaluation.cli._terminal import (
    STOPPED,
    leave,
    print_json,
    print_message,
    print_result,
    print_warnings_at_end,
)
from ctxmetrics.evaluation.rows.file_names import labels_beside
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.agreement.agree import AgreementReport
    from ctxmetrics.samples.sample import Sample


@dataclass(frozen=True, kw_only=True)
class People:
    """Whose labels count, and which samples belong together."""

    labels: LabelsPath = None
    annotator: Annotated[
        str | None, Help("Whose answers of --labels count. Without it: the majority's.")
    ] = None
    system: Annotated[str | None, Help("Also show each system. metadata.KEY holds its name.")] = None
    cluster: Cluster = None


@dataclass(frozen=True, kw_only=True)
class VerdictSources:
    """Whose verdicts are compared with people's."""

    judge: Annotated[
        list[str] | None,
        Help("lexical (the default), PROVIDER/MODEL or MODULE:NAME. Repeatable, to compare judges."),
    ] = None
    results: Annotated[
        list[Path] | None, Help("Results of a run over FILE (--out), in place of a judge. Repeatable.")
    ] = None


def _find_labels(file: Path) -> Path | None:
    """Find the file that `ctxmetrics label` writes beside the samples, if it is there."""
    path = labels_beside(file)
    return path if path.is_file() else None


def agree(
    source: SampleFile,
    people: People,
    verdicts: VerdictSources,
    pace: Pace,
    asking: Asking,
    convention: ConventionName = None,
    cache: CacheFolder = None,
    show: Annotated[
        int, Help("How many of the samples to show on which judge and people differ most.", lowest=0)
    ] = 0,
    write: Annotated[
        Path | None, Help("Write a calibration card, for score --calibration: CARD.json.")
    ] = None,
) -> None:
    """Compare the verdicts of judges with people's labels, and correct the means by them."""
    from ctxmetrics.evaluation.agreement.agree import agree as compare
    from ctxmetrics.evaluation.cli._run import build_judge, choose_convention, load_samples
    from ctxmetrics.evaluation.rows.output_paths import check_outputs

    samples = list(load_samples(source))
    labels = people.labels or _find_labels(source.file)
    if people.annotator is not None and labels is None:
        raise ParameterError("--annotator needs --labels FILE, which says who answered what.")
    if labels is not None:
        print_message(_describe_labels(labels, samples, source.file))
    results = verdicts.results or []
    default_names = [] if results else ["lexical"]
    names = verdicts.judge or default_names
    if write is not None and len(names) + len(results) > 1:
        raise ParameterError("--write: a card is about one judge. Give one --judge or one --results.")
    if write is not None and people.cluster is not None:
        raise ParameterError("--write is not possible with --cluster: a card counts single samples.")
    check_outputs({"--write": write}, {"FILE": source.file, "--labels": labels})
    distinct_names = dict.fromkeys(names)
    judges = [build_judge(name, **vars(asking)) for name in distinct_names]
    compare_with_people = partial(
        compare,
        samples,
        labels=labels,
        annotator=people.annotator,
        system=people.system,
        cluster=people.cluster,
    )
    reports_of_files = [compare_with_people(results=path) for path in results]
    reports_of_judges: list[AgreementReport] = []
    with print_warnings_at_end() as warnings:
        convention_name = choose_convention(source.schema, convention)
        for judge in judges:
            report = compare_with_people(
                judge=judge, convention=convention_name, cache=cache, **vars(pace)
            )
            reports_of_judges.append(report)
        reports = [*reports_of_files, *reports_of_judges]
        if any(report.results.stopped or report.results.unanswered for report in reports):
            warnings.clear()  # the report of such a run says the same
    _print_reports(reports, show)
    for judge, report in zip(judges, reports_of_judges, strict=True):
        leave(report.results, judge, out=None)
    if write is not None:
        from ctxmetrics.evaluation.agreement.card import read_card, write_card

        write_card(write, reports[0])
        metrics = read_card(write).metrics
        print_message(f"the card: {write}, about {', '.join(item.metric for item in metrics)}")


def _print_reports(reports: Sequence[AgreementReport], show: int) -> None:
    """Print a table of several reports, then each report with the samples on which its judge and people differ most."""
    if len(reports) > 1:
        print_result(f"{reports[0].beside(*reports[1:])}\n")
    texts: list[str] = []
    for report in reports:
        texts.append(str(report))
        texts += [str(dispute) for dispute in report.disputes[:show]]
    print_result("\n\n".join(texts))


def _describe_labels(labels: Path, samples: Sequence[Sample], file: Path) -> str:
    """Say which labels count, and that the labels of the samples themselves do not count."""
    from ctxmetrics.evaluation.agreement.labels import KINDS

    labelled_samples = [sample for sample in samples if not sample.labels.keys().isdisjoint(KINDS)]
    if not labelled_samples:
        return f"labels: {labels}"
    return f"labels: {labels}, not those of {plural(len(labelled_samples), 'sample')} in {file}"


def check_judge(
    judge: Annotated[
        str,
        Help(
            (
                "lexical, PROVIDER/MODEL such as openai/gpt-4o-mini (docs/llm-judges.md has a list), or "
                "MODULE:NAME."
            ),
            argument=True,
        ),
    ],
    pace: Pace,
    asking: Asking,
    repetitions: Annotated[int, Help("How often each sample is judged.")] = 3,
    samples: Annotated[
        int | None, Help("Judge only so many of the samples, to try a slow judge.")
    ] = None,
    format: Annotated[Literal["text", "json"], Help("text or json.")] = "text",  # noqa: A002 - the option's name
) -> None:
    """Let a judge judge the labelled samples of the library, and compare its verdicts with the labels."""
    from ctxmetrics.evaluation.agreement.check_judge import check_judge as check
    from ctxmetrics.evaluation.cli._run import build_judge

    judging = build_judge(judge, **vars(asking))
    try:
        with print_warnings_at_end() as warnings:
            report = check(
                judging, repetitions=repetitions, samples=samples, announce=print_message, **vars(pace)
            )
            warnings.clear()  # the report says the same
    except JudgeError as error:
        print_message(f"ctxmetrics: {error}")
        raise typer.Exit(STOPPED) from None
    if format == "json":
        print_json(report.to_dict())
    else:
        print_result(str(report))
