"""``ctxmetrics agree`` and ``check-judge``: how good a judge is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import typer

from ctxmetrics.cli._options import Input, Pace, labels_beside
from ctxmetrics.cli._terminal import STOPPED, collected_warnings, leave, message, print_result
from ctxmetrics.errors import JudgeError, ParameterError
from ctxmetrics.presentation.wording import plural


@dataclass(frozen=True, kw_only=True)
class People:
    """Whose labels count, and which samples belong together."""

    labels: Path | None = None
    annotator: str | None = None
    system: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """Whose verdicts are compared with people's."""

    judge: list[str] | None = None
    results: list[Path] | None = None


def _find_labels(file: Path) -> Path | None:
    """Find the file that `ctxmetrics label` writes beside the samples, where it is there."""
    path = labels_beside(file)
    return path if path.is_file() else None


def agree(
    source: Input,
    people: People,
    verdicts: Verdicts,
    pace: Pace,
    base_url: str | None = None,
    max_characters: int | None = None,
    convention: str | None = None,
    cache: Path | None = None,
    show: int = 0,
    write: Path | None = None,
) -> None:
    """Compare the verdicts of judges with people's labels, and correct the means by them."""
    from ctxmetrics.agreement.agree import agree as compare
    from ctxmetrics.agreement.labels import KINDS
    from ctxmetrics.cli._run import build_judge, choose_convention, load_samples
    from ctxmetrics.results.writer import check_outputs

    samples = list(load_samples(source))
    labels = people.labels or _find_labels(source.file)
    if people.annotator is not None and labels is None:
        raise ParameterError("--annotator needs --labels FILE, which says who answered what.")
    if labels is not None:
        own = sum(not sample.labels.keys().isdisjoint(KINDS) for sample in samples)
        beside = f", not those of {plural(own, 'sample')} in {source.file}" if own else ""
        message(f"labels: {labels}{beside}")
    results = verdicts.results or []
    names = verdicts.judge or ([] if results else ["lexical"])
    if write is not None and len(names) + len(results) > 1:
        raise ParameterError("--write: a card is about one judge. Give one --judge or one --results.")
    if write is not None and people.cluster is not None:
        raise ParameterError("--write is not possible with --cluster: a card counts single samples.")
    check_outputs({"--write": write}, {"FILE": source.file, "--labels": labels})
    judges = [build_judge(name, base_url, max_characters) for name in dict.fromkeys(names)]
    measure = partial(compare, samples, **{**vars(people), "labels": labels})
    reports = [measure(results=path) for path in results]
    with collected_warnings() as warnings:
        name = choose_convention(source.schema, convention)
        run = partial(measure, convention=name, cache=cache, **vars(pace))
        reports += [run(judge=judging) for judging in judges]
        if any(report.results.stopped or report.results.unanswered for report in reports):
            warnings.clear()
    if len(reports) > 1:
        print_result(f"{reports[0].beside(*reports[1:])}\n")
    parts: list[object] = []
    for report in reports:
        parts += [report, *report.disputes[: max(show, 0)]]
    print_result("\n\n".join(map(str, parts)))
    for judging, report in zip(judges, reports[len(results) :], strict=True):
        leave(report.results, judging, out=None)
    if write is not None:
        from ctxmetrics.agreement.card import read_card, write_card

        write_card(write, reports[0])
        metrics = read_card(write).metrics
        message(f"the card: {write}, about {', '.join(item.metric for item in metrics)}")


def check_judge(
    judge: str,
    pace: Pace,
    base_url: str | None = None,
    max_characters: int | None = None,
    repetitions: int = 3,
    samples: int | None = None,
    format: Literal["text", "json"] = "text",  # noqa: A002 - the option's name
) -> None:
    """Let a judge judge the labelled samples of the library, and compare its verdicts with the labels."""
    from ctxmetrics.agreement.check_judge import check_judge as check
    from ctxmetrics.cli._run import build_judge

    judging = build_judge(judge, base_url, max_characters)
    try:
        with collected_warnings() as warnings:
            report = check(
                judging, repetitions=repetitions, samples=samples, announce=message, **vars(pace)
            )
            warnings.clear()  # the report says the same
    except JudgeError as error:
        message(f"ctxmetrics: {error}")
        raise typer.Exit(STOPPED) from None
    if format == "json":
        print_result(json.dumps(report.to_dict(), ensure_ascii=False, indent=1))
    else:
        print_result(str(report))
