"""``ctxmetrics score``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ctxmetrics._runtime.cache import FILE_NAME
from ctxmetrics.aegis_payload import Payload
from ctxmetrics.cli._ci import fenced, tell_ci
from ctxmetrics.cli._gates import Gate, doubtful, gates_of, outcomes_of
from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    Concurrency,
    ConventionName,
    FailUnder,
    File,
    JudgeName,
    JUnitFile,
    KeepTexts,
    MaxCalls,
    MaxDoubtful,
    MaxTokens,
    MetricNames,
    MinPassRate,
    OutFile,
    ReportFile,
    Resume,
    SchemaName,
    ShowLowest,
    Timeout,
    Workers,
)
from ctxmetrics.cli._run import (
    columns_of,
    judge_of,
    metric_of,
    metrics_of,
    sample_file,
    schema_and_convention,
)
from ctxmetrics.cli._status import leave
from ctxmetrics.cli._terminal import collected_warnings, colored, message, print_result
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.engine import Evaluation, run_in_caller
from ctxmetrics.evaluation.options import RunOptions
from ctxmetrics.evaluation.results import Results
from ctxmetrics.evaluation.writer import check_outputs
from ctxmetrics.judges.base import Judge
from ctxmetrics.metrics import METRICS
from ctxmetrics.metrics.base import Metric, on_scale
from ctxmetrics.metrics.judged import JudgedMetric


def score(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    out: OutFile = None,
    keep_texts: KeepTexts = False,
    report: ReportFile = None,
    cache: CacheDir = None,
    resume: Resume = False,
    max_concurrency: Concurrency = 16,
    timeout: Timeout = 120.0,
    max_calls: MaxCalls = None,
    max_tokens: MaxTokens = None,
    fail_under: FailUnder = None,
    min_pass_rate: MinPassRate = None,
    max_doubtful: MaxDoubtful = None,
    junit: JUnitFile = None,
    show: ShowLowest = 0,
    workers: Workers = 1,
) -> None:
    """Score a file of samples. Without --metric: every metric whose fields the file has."""
    from ctxmetrics.report.text import render_text

    schema, convention = schema_and_convention(schema, convention)
    verdicts = {"--report": report, "--cache": cache, "--show": show, "--max-doubtful": max_doubtful}
    outputs = {"--out": out, "--report": report, "--junit": junit}
    cache = _cache_of(file, outputs, cache, judge, resume=resume)
    judging = judge_of(judge, base_url)
    options: RunOptions = {
        "out": out,
        "cache": cache,
        "max_concurrency": max_concurrency,
        "timeout": timeout,
        "max_calls": max_calls,
        "max_tokens": max_tokens,
        "keep_texts": keep_texts,
        "workers": workers,
    }
    read = file, schema, columns
    if out is not None and out.suffix.lower() == ".parquet":
        plan = _in_columns(*read, metric, convention, out, verdicts, keep_texts=keep_texts, resume=resume)
    else:
        keep = report is not None or show > 0 or out is None
        plan = _in_rows(*read, metric, convention, judge, judging, options, keep=keep, resume=resume)
    gates = [*gates_of(plan.metrics, fail_under, min_pass_rate), *plan.gates]
    results = plan.run()
    print_result(render_text(results.report(curves=False), lowest=show, color=colored()))
    _write_report(results, report)
    outcomes = [*outcomes_of(gates, results), *doubtful(max_doubtful, results)]
    failed = tell_ci(outcomes, "ctxmetrics score", fenced(str(results.summary())), junit)
    leave(results, judging, out=out, failed_gates=failed)


class _Plan(NamedTuple):
    """A run that can begin: its metrics, what does it, and the gates that the file asks for."""

    metrics: Sequence[Metric]
    run: Callable[[], Results]
    gates: Sequence[Gate] = ()


def _in_rows(
    file: Path,
    schema: str,
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
    convention: str,
    judge: str,
    judging: Judge,
    options: RunOptions,
    *,
    keep: bool,
    resume: bool,
) -> _Plan:
    """Plan the run of a file whose samples are scored one by one; ``keep``: the rows are needed after the run."""
    samples: Any = sample_file(file, schema, columns)
    payload = samples.payload
    if keep or not names:
        with collected_warnings():
            samples = list(samples)
    chosen = [] if names or payload is None else _asked_for(payload, convention)
    metrics = chosen or metrics_of(names, samples, convention, judging)
    gates = [] if names or payload is None else _gates_of(payload, metrics)
    if payload is not None:
        _tell_unused(payload, judge, chosen=bool(names))
    run = Evaluation(samples, metrics, judge=judging, in_caller=True, keep=keep, resume=resume, **options)
    return _Plan(metrics, partial(_run, run, file), gates)


def _in_columns(
    file: Path,
    schema: str,
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
    convention: str,
    out: Path,
    not_used: Mapping[str, Any],
    *,
    keep_texts: bool,
    resume: bool,
) -> _Plan:
    """Plan the run of a Parquet file with metrics that ask no judge, which writes a Parquet file.

    Raises:
        ParameterError: The file is of another kind, or an option does not go with it.
    """
    from ctxmetrics.tables.files import ENDING, column_names, reading_of, score_parquet

    if file.suffix.lower() != ENDING:
        raise ParameterError(
            f"--out {out}: a Parquet file is made of a Parquet file. Write --out FILE.jsonl."
        )
    if wrong := [name for name, value in not_used.items() if value]:
        raise ParameterError(
            f"{wrong[0]} needs verdicts, which Parquet does not hold. Write --out FILE.jsonl."
        )
    metrics = [metric_of(name, convention) for name in names or ()]
    reading = reading_of(file, schema, columns_of(columns))
    for note in reading.notes:
        message(f"note: {file}: {note}")
    if not names:
        there, find = column_names(file), reading.column_of
        kinds = [kind(convention=convention) for kind in METRICS.values()]
        fitting = [metric for metric in kinds if all(find(name, there) for name in metric.requires)]
        metrics = [metric for metric in fitting if not isinstance(metric, JudgedMetric)]
        if left := [metric.name for metric in fitting if metric not in metrics]:
            message(f"note: {', '.join(left)}: write --out FILE.jsonl for metrics that ask a judge")
    run = partial(score_parquet, file, out, metrics, schema=reading, keep_texts=keep_texts, resume=resume)
    return _Plan(metrics, run)


def _cache_of(
    file: Path, outputs: Mapping[str, Path | None], cache: Path | None, judge: str, *, resume: bool
) -> Path | None:
    """Return the cache of a run: where none is given, that of an LLM judge stands beside --out.

    Raises:
        InputFileError: An output cannot be written or is an input.
        ParameterError: --resume has nowhere to look.
    """
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


# --- a request to Aegis ---


def _asked_for(payload: Payload, convention: str) -> list[Metric]:
    """Return the metrics that the file asks for, with its pass mark on the convention's scale."""
    from ctxmetrics.aegis_payload import SCALE

    metrics = [metric_of(name, convention) for name in payload.metrics]
    if payload.threshold is None:
        return metrics
    share = payload.threshold / SCALE
    return [replace(metric, threshold=on_scale(share, metric.rules.scale)) for metric in metrics]


def _gates_of(payload: Payload, metrics: Sequence[Metric]) -> list[Gate]:
    """Return a gate a metric, where the file says that a mean below the pass mark is a failure."""
    return [
        Gate(metric.name, metric.pass_mark, text=f"is_blocking {metric.name}")
        for metric in metrics
        if payload.blocking and metric.pass_mark is not None
    ]


def _tell_unused(payload: Payload, judge: str, *, chosen: bool) -> None:
    unused = [f"{key}={value!r}" for key, value in payload.unused.items()]
    if chosen:
        unused.append("metrics, threshold and is_blocking (--metric is given)")
    if unused:
        message(f"note: of the file's settings these are not used: {', '.join(unused)}")
    model = payload.unused.get("model_slug")
    if isinstance(model, str) and judge != f"openai/{model}":
        message(f"note: to ask the model that the file names, write --judge openai/{model}")
