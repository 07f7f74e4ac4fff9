"""``ctxmetrics score``, and ``ctxmetrics demo``, which scores sample data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    Concurrency,
    ConventionName,
    File,
    JudgeName,
    JUnitFile,
    MetricNames,
    SchemaName,
    Timeout,
)
from ctxmetrics.cli._terminal import collected_warnings, colored, leave, message, print_result
from ctxmetrics.errors import InputFileError, ParameterError

if TYPE_CHECKING:
    from ctxmetrics.evaluation.engine import Evaluation
    from ctxmetrics.evaluation.results import Results
    from ctxmetrics.fields import Payload

# Where the sample data is: in an installed library, and in a checkout.
_PLACES = (
    Path(__file__).parent / "handbook.jsonl",
    Path(__file__).parents[3] / "examples" / "handbook.jsonl",
)


def score(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    out: Annotated[Path | None, typer.Option("--out", help="One JSON line a sample and metric.")] = None,
    keep_texts: Annotated[
        bool,
        typer.Option(
            "--keep-texts", help="Write all fields of the samples to --out, not hashes of them."
        ),
    ] = False,
    report: Annotated[Path | None, typer.Option("--report", help="A page to read: FILE.html.")] = None,
    cache: CacheDir = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on after a run that was stopped: its rows are in OUT.part, its judgements in the cache "
            "(default: OUT.cache).",
        ),
    ] = False,
    max_concurrency: Concurrency = 16,
    timeout: Timeout = 120.0,
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", help="Requests in all; the rest is not judged.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Tokens in all; the rest is not judged.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", help="NAME=VALUE: exit 1 if that mean is lower. Repeatable."),
    ] = None,
    min_pass_rate: Annotated[
        list[str] | None,
        typer.Option(
            "--min-pass-rate", help="NAME=SHARE: exit 1 if fewer samples reach the pass mark. Repeatable."
        ),
    ] = None,
    max_doubtful: Annotated[
        float | None,
        typer.Option(
            "--max-doubtful",
            min=0,
            max=1,
            help="A share, such as 0.05: exit 1 if more of a metric's verdicts are weak, unverified, contradicted or "
            "uncertain.",
        ),
    ] = None,
    junit: JUnitFile = None,
    show: Annotated[
        int, typer.Option("--show", help="Explain so many of the lowest scores of each metric.")
    ] = 0,
) -> None:
    """Score a file of samples. Without --metric: every metric whose fields the file has."""
    from ctxmetrics.cli._gates import doubtful, fenced, gates_asked, gates_of, outcomes_of, tell_ci
    from ctxmetrics.cli._run import (
        convention_of,
        judge_of,
        metrics_asked,
        metrics_of,
        sample_file,
        samples_of,
    )
    from ctxmetrics.evaluation.engine import Evaluation
    from ctxmetrics.report.report import render_text

    convention = convention_of(schema, convention)
    outputs = {"--out": out, "--report": report, "--junit": junit}
    cache = _cache_of(file, outputs, cache, judge, resume=resume)
    judging = judge_of(judge, base_url)
    if out is not None and out.suffix.lower() == ".parquet":
        raise ParameterError(f"--out {out}: rows are JSON lines. Write --out FILE.jsonl.")
    keep = report is not None or show > 0 or out is None
    source = sample_file(file, schema, columns)
    payload = source.payload
    samples: Any = samples_of(source) if keep or not metric else source
    unread = () if metric else source.reading.unread
    asked = [] if metric or payload is None else metrics_asked(payload, convention)
    metrics = asked or metrics_of(metric, samples, convention, judging, unread)
    gates = gates_of(metrics, fail_under, min_pass_rate)
    if payload is not None:
        gates += [] if metric else gates_asked(payload, metrics)
        _tell_unused(payload, judge, chosen=bool(metric))
    run = Evaluation(
        samples,
        metrics,
        judge=judging,
        in_caller=True,
        keep=keep,
        resume=resume,
        out=out,
        cache=cache,
        max_concurrency=max_concurrency,
        timeout=timeout,
        max_calls=max_calls,
        max_tokens=max_tokens,
        keep_texts=keep_texts,
    )
    results = _run(run, file)
    print_result(render_text(results.report(curves=False), lowest=show, color=colored()))
    _write_report(results, report)
    outcomes = [*outcomes_of(gates, results), *doubtful(max_doubtful, results)]
    failed = tell_ci(outcomes, "ctxmetrics score", fenced(str(results.summary())), junit)
    leave(results, judging, out=out, failed_gates=failed)


def demo(
    report: Annotated[Path, typer.Option("--report", help="The page to write.")] = Path(
        "ctxmetrics-demo.html"
    ),
) -> None:
    """Score the sample data that comes with the library, explain the lowest scores, and write the report."""
    samples = next((path for path in _PLACES if path.is_file()), None)
    if samples is None:
        raise InputFileError(
            "the sample data is missing from this installation; install ctxmetrics again."
        )
    score(samples, report=report, show=1)
    message(f"the report: {report}")


def _cache_of(
    file: Path, outputs: Mapping[str, Path | None], cache: Path | None, judge: str, *, resume: bool
) -> Path | None:
    """Return the cache of a run: where none is given, that of an LLM judge stands beside --out.

    Raises:
        InputFileError: An output cannot be written or is an input.
        ParameterError: --resume has nowhere to look.
    """
    from ctxmetrics._runtime.cache import FILE_NAME
    from ctxmetrics.evaluation.writer import check_outputs

    out = outputs["--out"]
    if cache is None and (resume or judge != "lexical") and out is not None:
        cache = out.with_name(out.name + ".cache")
    if resume and cache is None:
        raise ParameterError(
            "--resume needs --out FILE or --cache DIR: that is where the judgements are."
        )
    inputs = {"FILE": file, "--cache": None if cache is None else cache / FILE_NAME}
    check_outputs(outputs, inputs)
    return cache


def _run(run: Evaluation, file: Path) -> Results:
    """Run it, and print the warnings of the library at the end."""
    from ctxmetrics.evaluation.engine import run_in_caller

    with collected_warnings() as warnings:
        results = run_in_caller(run)
        if results.stopped or results.unanswered:  # the last line says what went wrong
            warnings[:] = [text for text in warnings if "the rows of this run are in" in text]
    results.source = str(file)
    return results


def _write_report(results: Results, report: Path | None) -> None:
    """Write the page; an older one stays where a run broke off and has nothing to show for some metric."""
    if report is None:
        return
    without = [item for item in results.summary().values() if not item.scored]
    if report.exists() and (results.unanswered or (results.stopped and without)):
        message(
            f"note: {report} is that of an earlier run; this run has too little to show and did not replace it"
        )
    else:
        results.to_html(report)


def _tell_unused(payload: Payload, judge: str, *, chosen: bool) -> None:
    """Say which settings of a request to Aegis mean nothing here."""
    unused = [f"{key}={value!r}" for key, value in payload.unused.items()]
    if chosen:
        unused.append("metrics, threshold and is_blocking (--metric is given)")
    if unused:
        message(f"note: of the file's settings these are not used: {', '.join(unused)}")
    model = payload.unused.get("model_slug")
    if isinstance(model, str) and judge != f"openai/{model}":
        message(f"note: to ask the model that the file names, write --judge openai/{model}")
