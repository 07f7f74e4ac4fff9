"""``ctxmetrics check-gold``: what a file of samples expects, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli._options import (
    CacheFolder,
    Help,
    Judging,
    LabelsPath,
    Pace,
    PageTitle,
    SampleFile,
    read_text,
    split_pair,
)
from ctxmetrics.evaluation.cli._terminal import (
    leave,
    note_unused,
    print_json,
    print_message,
    print_result,
    print_warnings_at_end,
)
from ctxmetrics.evaluation.rows.file_names import labels_beside

# The number of questions that an audit draws at random, unless --sample says another one.
_DEFAULT_AUDIT_SIZE = 40


@dataclass(frozen=True, kw_only=True)
class GoldSources:
    """What the gold is compared with."""

    corpus: Annotated[
        Path | None,
        Help(
            "All passages that a retriever can find. Without it: what was retrieved and expected, which proves less."
        ),
    ] = None
    run: Annotated[
        list[str] | None,
        Help("NAME=FILE: what a retriever returned for the same questions. Repeatable."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Auditing:
    """The part of the questions that people look at."""

    audit: Annotated[
        Path | None,
        Help(
            "Write the questions that people label with `ctxmetrics label`: AUDIT.jsonl. With --labels: the labelled ones."
        ),
    ] = None
    sample: Annotated[
        int,
        Help("How many questions to draw at random; as many questions in doubt are added.", lowest=1),
    ] = _DEFAULT_AUDIT_SIZE
    seed: Annotated[int, Help("The seed of the draw.")] = 0
    labels: LabelsPath = None
    corrected: Annotated[
        Path | None,
        Help("With --labels: write the samples with the gold by people, and each change beside it."),
    ] = None


def check_gold(
    source: SampleFile,
    sources: GoldSources,
    judging: Judging,
    pace: Pace,
    auditing: Auditing,
    cache: CacheFolder = None,
    format: Annotated[Literal["text", "json"], Help("text or json.")] = "text",  # noqa: A002 - the option's name
    page: Annotated[
        Path | None, Help("Write the findings as a page: FILE.html.", names=("--report", "--page"))
    ] = None,
    title: PageTitle = None,
) -> None:
    """Check what samples expect: gold ids and passages, references, and the questions themselves."""
    from ctxmetrics.evaluation.cli._run import build_judge, load_samples
    from ctxmetrics.evaluation.gold.check_gold import check_gold as check
    from ctxmetrics.evaluation.gold.gold_audit import name_inputs, name_outputs
    from ctxmetrics.evaluation.pages import name_page
    from ctxmetrics.evaluation.rows.output_paths import check_outputs

    note_unused({"--title": title}, {"--report": page})
    note_unused(
        {"--sample": auditing.sample != _DEFAULT_AUDIT_SIZE, "--seed": auditing.seed},
        {"--audit": auditing.audit},
    )
    judge = build_judge(**vars(judging))
    samples = load_samples(source)
    runs = _read_runs(sources.run or ())
    audited = name_outputs(auditing.audit, auditing.labels, auditing.corrected)
    outputs = {f"--{name}": path for name, path in audited.items()}
    inputs: dict[str, Path | None] = {"FILE": source.file, "--corpus": sources.corpus}
    inputs.update({f"--run {name}": path for name, path in runs.items()})
    audit_inputs = name_inputs(auditing.audit, auditing.labels)
    inputs.update({f"--{name}": path for name, path in audit_inputs.items()})
    check_outputs({**outputs, "--report": page}, inputs)
    with print_warnings_at_end() as warnings:
        report = check(
            samples,
            corpus=sources.corpus,
            runs=runs,
            judge=judge,
            announce=print_message,
            cache=cache,
            **vars(auditing),
            **vars(pace),
        )
        if report.is_complete:
            warnings.clear()  # the report says who judged
    if auditing.audit is not None and auditing.labels is None and report.is_complete:
        labels = labels_beside(auditing.audit)
        with auditing.audit.open(encoding="utf-8") as lines:
            count = sum(1 for _ in lines)
        print_message(
            f"the audit: {auditing.audit}. Next: ctxmetrics label {auditing.audit} --n {count} --ask context_useful "
            f"--annotator NAME, then this command with --labels {labels}"
        )
    if page is not None:
        report.to_html(page, title=title or name_page(page, source.file))
    if format == "json":
        print_json(report.to_dict())
    else:
        print_result(str(report))
    if report.results is not None:
        leave(report.results, judge, out=None)


def _read_runs(texts: Sequence[str]) -> dict[str, Path]:
    """Read each ``NAME=FILE``.

    Raises:
        ParameterError: A text is not ``NAME=FILE``, or a name is given twice.
    """
    runs: dict[str, Path] = {}
    for text in texts:
        form = "NAME=FILE, such as bm25=bm25.jsonl"
        name, file = split_pair("--run", text.lstrip(), form, read=read_text)
        name = name.rstrip()
        if name in runs:
            raise ParameterError(f"--run {name}=.. is there twice. Give each run a name of its own.")
        runs[name] = Path(file)
    return runs
