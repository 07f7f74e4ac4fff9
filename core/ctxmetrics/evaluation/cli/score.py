"""``ctxmetrics score``, and ``ctxmetrics demo``, which scores sample data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.cli._options import (
    AuditPath,
    CacheFolder,
    Gates,
    Help,
    Judging,
    Pace,
    PageTitle,
    SampleFile,
    Selection,
    Tags,
)
from ctxmetrics.evaluation.cli._terminal import (
    STOPPED,
    get_line_width,
    leave,
    leave_pending,
    note_unused,
    print_message,
    print_result,
    print_warnings_at_end,
    uses_colors,
)
from ctxmetrics.evaluation.runs.options import DEFAULTS
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from ctxmetrics.evaluation.cli._gates import Gate
    from ctxmetrics.evaluation.files.aegis import Payload
    from ctxmetrics.evaluation.runs.engine import Evaluation
    from ctxmetrics.evaluation.runs.results import Results
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples.sample import Sample

# The path of the demo samples: in an installed library, and in a checkout.
_DEMO_FILE_PLACES = (
    Path(__file__).parent / "handbook.jsonl",
    Path(__file__).parents[4] / "examples" / "handbook.jsonl",
)
# The ending of --write-baseline that keeps a better baseline.
_BEST_ENDING = ".best"
# The maximum number of printed units that were lost between stages.
_MAX_LOST_UNITS = 10


@dataclass(frozen=True, kw_only=True)
class Budget(Pace):
    """The pace of a run, and the most that it may cost."""

    max_calls: Annotated[int | None, Help("The most requests in all. The rest is not judged.")] = (
        DEFAULTS["max_calls"]
    )
    max_tokens: Annotated[int | None, Help("The most tokens in all. The rest is not judged.")] = (
        DEFAULTS["max_tokens"]
    )
    one_context: Annotated[
        bool, Help("The one context of each sample is one passage, whatever stands in it.")
    ] = False
    drop_self: Annotated[
        bool,
        Help(
            "Drop retrieved contexts that are the question itself, by its id or its text (ArguAna, Quora), as "
            "BEIR does."
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is written beside the text that is printed, and kept for a later run."""

    out: Annotated[
        Path | None,
        Help(
            "Write one JSON line for each sample and metric: FILE.jsonl; or a table with a row for "
            "each sample: FILE.csv, .xlsx or .parquet."
        ),
    ] = None
    keep_texts: Annotated[
        bool,
        Help("Write all fields of the samples to --out, in place of hashes, and texts to --otel."),
    ] = False
    otel: Annotated[
        bool,
        Help("Send each score as an OpenTelemetry event to OTEL_EXPORTER_OTLP_ENDPOINT."),
    ] = False
    write_baseline: Annotated[
        Path | None,
        Help(
            "Write values and hashes without texts, to commit; compare reads them: FILE.jsonl. With "
            "FILE.jsonl.best, FILE.jsonl is replaced only if no mean fell."
        ),
    ] = None
    report: Annotated[Path | None, Help("Write the report: FILE.html.")] = None
    title: PageTitle = None
    tags: Tags = None
    by: Annotated[
        str | None,
        Help(
            "Also show the means of groups of samples: metadata.KEY. Where a file has several retrievals of a "
            "question, the column that says which: each of its values is a run of its own."
        ),
    ] = None
    audit: AuditPath = None
    batch: Annotated[
        Literal["submit", "wait"] | None,
        Help(
            "Send the requests as the provider's batches, at half the price where the provider says so. submit: end once "
            "they are submitted; the same command again goes on. wait: wait for the answers."
        ),
    ] = None
    stages: Annotated[
        bool, Help("Also show the stages of the retrieval, and at which of them sentences were lost.")
    ] = False
    cache: CacheFolder = None
    resume: Annotated[
        bool,
        Help(
            "Go on after a run that was stopped: its rows are in OUT.part, its judgements in the "
            "cache (default: OUT.cache)."
        ),
    ] = False

    @property
    def baseline(self) -> Path | None:
        """The path of the baseline, without the ending ``.best``, which asks to keep the best run."""
        path = self.write_baseline
        if path is not None and path.suffix == _BEST_ENDING:
            return path.with_suffix("")
        return path


def score(
    source: SampleFile,
    selection: Selection,
    judging: Judging,
    output: Output,
    budget: Budget,
    gates: Gates,
    show: Annotated[
        int, Help("How many of the lowest scores of each metric to explain.", lowest=0)
    ] = 0,
) -> None:
    """Score a file of samples. Without --metric: every metric whose fields the file has."""
    from ctxmetrics.evaluation.cli._gates import (
        check_controls,
        check_gates,
        correct_means,
        fence_text,
        format_corrections,
        load_card,
        read_gates,
        write_ci_reports,
    )
    from ctxmetrics.evaluation.cli._run import FAILED_ENDING, build_judge, build_task, open_samples
    from ctxmetrics.evaluation.cli._telemetry import deliver_events
    from ctxmetrics.evaluation.rows.output_files import write_gates
    from ctxmetrics.evaluation.runs.engine import Evaluation

    note_unused({"--title": output.title}, {"--report": output.report})
    note_unused({"--keep-texts": output.keep_texts}, {"--out": output.out, "--otel": output.otel})
    note_unused(
        {"--tag": output.tags}, {"--out": output.out, "--write-baseline": output.write_baseline}
    )
    cache = _choose_cache(source.file, output, gates, judging.judge)
    judge = build_judge(**vars(judging))
    keeps_rows = _needs_rows(output, gates, show)
    earlier_results = [Path(text) for text in source.only or () if text.endswith(FAILED_ENDING)]
    samples, metrics, payload = build_task(
        source, selection, judge, as_list=keeps_rows or bool(earlier_results), by=output.by
    )
    for path in earlier_results:
        samples = _choose_failed(samples, path)
    _check_choice(samples, metrics, output)
    metric_gates = read_gates(metrics, gates, None if selection.metric else payload)
    card = load_card(gates, judge.name, metrics)
    if payload is not None:
        _print_unused(payload, judging.judge, metrics_are_chosen=bool(selection.metric))
    options: dict[str, Any] = {**vars(budget)}
    if output.batch is not None:
        from ctxmetrics.evaluation.batching.batch import Batch

        options["batch"] = Batch(mode=output.batch)
    with deliver_events(wanted=output.otel) as delivery:
        run = Evaluation(
            samples,
            metrics,
            judge=judge,
            controls=gates.controls,
            in_caller=True,
            keep=keeps_rows,
            resume=output.resume,
            out=output.out,
            cache=cache,
            keep_texts=output.keep_texts,
            tags=output.tags,
            telemetry=delivery.provider,
            reopen=None if isinstance(samples, Sequence) else partial(open_samples, source),
            **options,
        )
        results = _run_evaluation(run, source.file)
    delivery.report()
    if results.batches is not None and results.batches.is_open:
        leave_pending(results, results.batches)
    if output.audit is not None and not results.stopped:
        results.apply_audit(output.audit)
    _print_results(results, output, show)
    corrections, uncalibrated = correct_means(gates, card, results)
    means = format_corrections(gates, card, corrections)
    print_result(means or None)
    outcomes = [
        *check_gates(metric_gates, gates, results, uncalibrated),
        *check_controls(gates, results.controls),
    ]
    _write_page(results, output, [(outcome.gate, outcome.problem) for outcome in outcomes])
    _write_baseline(results, output, metric_gates)
    # Without a complete run, the file is still that of an earlier run.
    if output.out is not None and not (results.stopped or results.unanswered):
        write_gates(output.out, outcomes)
    has_failed = write_ci_reports(
        outcomes, "ctxmetrics score", fence_text(f"{results.summary()}{means}"), gates.junit
    )
    leave(results, judge, out=output.out, failed_gates=has_failed)
    if delivery.lost:
        raise typer.Exit(STOPPED)
    if output.out is None and output.report is None and not show:
        print_message(
            "next: --show 3 explains the lowest scores, --report FILE.html shows every sample"
        )


def demo(report: Annotated[Path, Help("The page to write.")] = Path("ctxmetrics-demo.html")) -> None:
    """Score the sample data that comes with the library, explain the lowest scores, and write the report."""
    paths = [path for path in _DEMO_FILE_PLACES if path.is_file()]
    if not paths:
        raise InputFileError(
            "the sample data is missing from this installation; install ctxmetrics again."
        )
    score(
        SampleFile(file=paths[0]),
        Selection(),
        Judging(),
        Output(report=report),
        Budget(),
        Gates(),
        show=1,
    )
    print_message(f"the report: {report}")


def _choose_cache(source: Path, output: Output, gates: Gates, judge: str) -> Path | None:
    """Choose the cache of a run: without --cache, the cache of an LLM judge stands beside --out.

    Raises:
        InputFileError: An output cannot be written or is an input.
        ParameterError: --resume has neither --out nor --cache, or --out is no file of JSON lines.
    """
    from ctxmetrics.evaluation.rows.output_paths import check_outputs
    from ctxmetrics.evaluation.rows.table_files import check_ending
    from ctxmetrics.models.runtime.cache import FILE_NAME

    out = output.out
    cache = output.cache
    if cache is None and (output.resume or judge != "lexical") and out is not None:
        cache = out.with_name(out.name + ".cache")
    if output.resume and cache is None:
        raise ParameterError(
            "--resume needs --out FILE or --cache DIR: that is where the judgements are."
        )
    check_outputs(
        {
            "--out": out,
            "--report": output.report,
            "--junit": gates.junit,
            "--write-baseline": output.baseline,
        },
        {
            "FILE": source,
            "--cache": None if cache is None else cache / FILE_NAME,
            "--calibration": gates.calibration,
            "--audit": output.audit,
        },
    )
    if out is not None and out.absolute().parts[1:2] != ("dev",):
        check_ending(out)
    return cache


def _needs_rows(output: Output, gates: Gates, show: int) -> bool:
    """Tell whether the rows are needed after the run. If not, those of a long file are not kept in memory."""
    options_needing_rows = (
        show,
        output.stages,
        output.report,
        output.write_baseline,
        output.by,
        output.audit,
        gates.calibration,
    )
    return output.out is None or any(options_needing_rows)


def _choose_failed(samples: Sequence[Sample], path: Path) -> list[Sample]:
    """Choose the samples that failed in an earlier run, by their ids, else by question and reference.

    Raises:
        InputFileError: There are no such results.
        ParameterError: None of them failed there.
    """
    from ctxmetrics.evaluation.rows.sample_record import question_hash
    from ctxmetrics.evaluation.runs.results import Results

    results = Results.from_jsonl(str(path).removesuffix(".failed"))
    failed_keys: set[Any] = set()
    for row in results.failed():
        record = row.record or {}
        failed_keys.add(row.sample_id or record.get("hash"))
    failed_samples = [
        sample for sample in samples if (sample.id or question_hash(sample)) in failed_keys
    ]
    if not failed_samples:
        raise ParameterError(f"--only {path}: no sample of the file failed there.")
    print_message(
        f"{len(failed_samples)} of {plural(len(samples), 'sample')}: those that failed in {path}"
    )
    return failed_samples


def _run_evaluation(run: Evaluation, file: Path) -> Results:
    """Run an evaluation, and print the warnings of the library at the end."""
    from ctxmetrics.evaluation.runs.evaluate import run_in_caller

    with print_warnings_at_end() as warnings:
        results = run_in_caller(run)
        if results.stopped or results.unanswered:  # the last line says what went wrong
            warnings[:] = [text for text in warnings if "the rows of this run are in" in text]
    results.source = str(file)
    return results


def _check_choice(samples: Sequence[Sample], metrics: Iterable[Metric], output: Output) -> None:
    """Check all that --by, --stages and --audit need before anything is paid.

    Raises:
        InputFileError: The audit cannot be read, or has no answers.
        ParameterError: A sample has no group for --by. Or --stages is given, and no sample has stages, or no metric counts
            their contexts or ids.
    """
    from ctxmetrics.evaluation.report.stage_means import ID_RECALL_METRIC
    from ctxmetrics.evaluation.rows.sample_groups import read_groups

    if output.by:
        read_groups(samples, output.by, "score")
    if output.audit:
        from ctxmetrics.evaluation.rows.gold_answers import counts_gold, read_gold_answers

        if not any(counts_gold(metric) for metric in metrics):
            raise ParameterError(
                "--audit: no metric counts gold passages or ids. Write --metric id_based_context_recall."
            )
        read_gold_answers(output.audit)
    if not output.stages:
        return
    if not any(sample.stages for sample in samples):
        raise ParameterError(
            '--stages: no sample has stages. Write "stages": {"search": [..], "rerank": [..]} in the rows of the file.'
        )
    has_metric_of_stages = False
    for metric in metrics:
        if metric.name.startswith(ID_RECALL_METRIC) or getattr(metric, "counts_units", False):
            has_metric_of_stages = True
    if not has_metric_of_stages:
        raise ParameterError(
            f"--stages: no metric counts the units of a reference. Write --metric context_recall, or --metric {ID_RECALL_METRIC}."
        )


def _print_results(results: Results, output: Output, lowest: int) -> None:
    """Print the means, the means of groups, and the stages with the first units that were lost."""
    from ctxmetrics.evaluation.report.means_table import format_groups
    from ctxmetrics.evaluation.report.report import render_text

    print_result(
        render_text(
            results.report(curves=False), lowest=lowest, color=uses_colors(), width=get_line_width()
        )
    )
    if output.by:
        results_by_group = results.by(output.by)
        summaries = {name: group_results.summary() for name, group_results in results_by_group.items()}
        print_result(f"\n{format_groups(summaries, results.summary().language)}")
    if output.stages:
        try:
            stages = results.stages()
        except ParameterError as error:
            print_message(f"note: {error}")
        else:
            lines = ["", str(stages), *(f"  {unit}" for unit in stages.lost[:_MAX_LOST_UNITS])]
            unlisted = len(stages.lost) - _MAX_LOST_UNITS
            if unlisted > 0:
                lines.append(
                    f"  and {unlisted} more: --report FILE.html lists them, --out FILE holds all"
                )
            print_result("\n".join(lines))


def _write_page(results: Results, output: Output, gates: Sequence[tuple[str, str | None]]) -> None:
    """Write the page. Keep an older page if the run stopped early without a value for a metric, or has a metric without any verdict."""
    if output.report is not None:
        lacks_values = any(not summary.scored for summary in results.summary().values())
        has_too_little = results.unanswered or (results.stopped and lacks_values)
        if output.report.exists() and has_too_little:
            print_message(
                f"note: {output.report} is that of an earlier run; this run has too little to show and did not replace it"
            )
        else:
            results.to_html(output.report, title=output.title, by=output.by, gates=gates)


def _write_baseline(results: Results, output: Output, gates: Sequence[Gate]) -> None:
    """Write the baseline of a complete run. Print by how much a later mean may be lower and still pass the gates.

    If the file name ends in ``.best`` and the run is worse than the older baseline in one metric or more, nothing is written.
    """
    path = output.baseline
    if path is None or results.stopped or results.unanswered:
        return
    from ctxmetrics.evaluation.runs.gates import find_worse  # most runs write none
    from ctxmetrics.evaluation.runs.results import Results

    best_results = results
    if path != output.write_baseline and path.exists():
        earlier = Results.from_jsonl(path)
        problem = find_worse(earlier, results)
        if problem is not None:
            print_message(f"note: {path} stays: {problem}")
            best_results = earlier
    if best_results is results:
        results.to_baseline(path)
    summary = best_results.summary()
    for gate in gates:
        if gate.name not in summary:
            continue
        metric_summary = summary[gate.name]
        value = metric_summary.pass_rate if gate.is_pass_rate else metric_summary.mean
        if value is not None and value >= gate.minimum:
            margin = value - gate.minimum  # a later value may be lower by so much
            print_message(
                f"note: {gate.text}: passes down to {margin:.4g} below the baseline's {value:.4f}"
            )


def _print_unused(payload: Payload, judge_name: str, *, metrics_are_chosen: bool) -> None:
    """Print which settings of a request to Aegis have no effect here.

    Args:
        payload: The request.
        judge_name: The judge, as ``--judge`` names it.
        metrics_are_chosen: Whether ``--metric`` is given: then the metrics of the request have no effect.
    """
    unused_settings = [f"{key}={value!r}" for key, value in payload.unused.items()]
    if metrics_are_chosen:
        unused_settings.append("metrics, threshold and is_blocking (--metric is given)")
    if unused_settings:
        settings = ", ".join(unused_settings)
        print_message(f"note: of the file's settings these are not used: {settings}")
    model = payload.unused.get("model_slug")
    if isinstance(model, str) and judge_name != f"openai/{model}":
        print_message(f"note: to ask the model that the file names, write --judge openai/{model}")
