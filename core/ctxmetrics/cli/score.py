"""``ctxmetrics score``, and ``ctxmetrics demo``, which scores sample data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ctxmetrics.cli._options import Gates, Input, Judging, Pace, Selection
from ctxmetrics.cli._terminal import collected_warnings, colored, columns, leave, message, print_result
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.presentation.wording import plural
from ctxmetrics.running.options import DEFAULTS

if TYPE_CHECKING:
    from ctxmetrics.cli._gates import Gate
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.reading import Payload
    from ctxmetrics.results.results import Results
    from ctxmetrics.running.engine import Evaluation
    from ctxmetrics.samples import Sample

# Where the sample data is: in an installed library, and in a checkout.
_PLACES = (
    Path(__file__).parent / "handbook.jsonl",
    Path(__file__).parents[3] / "examples" / "handbook.jsonl",
)
# The ending of --write-baseline that keeps a better baseline.
_BEST = ".best"
# Units that were lost between stages which are printed.
_MOST_LOST = 10


@dataclass(frozen=True, kw_only=True)
class Budget(Pace):
    """The pace of a run, and what all may cost."""

    max_calls: int | None = DEFAULTS["max_calls"]
    max_tokens: int | None = DEFAULTS["max_tokens"]
    one_context: bool = False


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is written beside the text that is printed, and kept for a later run."""

    out: Path | None = None
    keep_texts: bool = False
    write_baseline: Path | None = None
    report: Path | None = None
    by: str | None = None
    stages: bool = False
    cache: Path | None = None
    only: Path | None = None
    resume: bool = False

    @property
    def baseline(self) -> Path | None:
        """The file of the baseline, without the ending that asks for the best run."""
        path = self.write_baseline
        return path.with_suffix("") if path is not None and path.suffix == _BEST else path


def score(
    source: Input,
    selection: Selection,
    judging: Judging,
    output: Output,
    budget: Budget,
    gates: Gates,
    show: int = 0,
) -> None:
    """Score a file of samples. Without --metric: every metric whose fields the file has."""
    from ctxmetrics.cli._gates import (
        check_gates,
        correct_means,
        fence_text,
        load_card,
        read_gates,
        tell_ci,
    )
    from ctxmetrics.cli._run import build_judge, build_task
    from ctxmetrics.running.engine import Evaluation

    cache = _choose_cache(source.file, output, gates, judging.judge)
    judge = build_judge(**vars(judging))
    keep = output.out is None or any(
        (show, output.stages, output.report, output.write_baseline, output.by, gates.calibration)
    )
    samples, metrics, payload = build_task(source, selection, judge, listed=keep or bool(output.only))
    samples = _choose_samples(samples, metrics, output)
    bars = read_gates(metrics, gates, None if selection.metric else payload)
    card = load_card(gates, judge.name, metrics)
    if payload is not None:
        _tell_unused(payload, judging.judge, chosen=bool(selection.metric))
    run = Evaluation(
        samples,
        metrics,
        judge=judge,
        controls=gates.controls,
        in_caller=True,
        keep=keep,
        resume=output.resume,
        out=output.out,
        cache=cache,
        keep_texts=output.keep_texts,
        **vars(budget),
    )
    results = _run(run, source.file)
    _show(results, output, show)
    means, problem = correct_means(gates, card, results)
    print_result(means or None)
    outcomes = list(check_gates(bars, gates, results, problem))
    _write_page(results, output, [(outcome.gate, outcome.problem) for outcome in outcomes])
    _write_baseline(results, output, bars)
    failed = tell_ci(
        outcomes, "ctxmetrics score", fence_text(f"{results.summary()}{means}"), gates.junit
    )
    leave(results, judge, out=output.out, failed_gates=failed)
    if output.out is None and output.report is None and not show:
        message("next: --show 3 explains the lowest scores, --report FILE.html shows every sample")


def demo(report: Path = Path("ctxmetrics-demo.html")) -> None:
    """Score the sample data that comes with the library, explain the lowest scores, and write the report."""
    paths = [path for path in _PLACES if path.is_file()]
    if not paths:
        raise InputFileError(
            "the sample data is missing from this installation; install ctxmetrics again."
        )
    score(
        Input(file=paths[0]), Selection(), Judging(), Output(report=report), Budget(), Gates(), show=1
    )
    message(f"the report: {report}")


def _choose_cache(source: Path, output: Output, gates: Gates, judge: str) -> Path | None:
    """Choose the cache of a run: without --cache, that of an LLM judge stands beside --out.

    Raises:
        InputFileError: An output cannot be written or is an input.
        ParameterError: --resume has nowhere to look, or --out is no file of JSON lines.
    """
    from ctxmetrics.models.runtime.cache import FILE_NAME
    from ctxmetrics.results.table_files import check_ending
    from ctxmetrics.results.writer import check_outputs

    out, cache = output.out, output.cache
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
        },
    )
    if out is not None and out.absolute().parts[1:2] != ("dev",):
        check_ending(out)
    if output.report is not None and output.report.suffix.lower() not in (".html", ".htm", ""):
        raise ParameterError(
            f"--report {output.report}: the report is a page. Write --report FILE.html."
        )
    return cache


def _choose_failed(samples: Sequence[Sample], path: Path) -> list[Sample]:
    """Choose the samples that failed in an earlier run, by their ids, else by question and reference.

    Raises:
        InputFileError: There are no such results.
        ParameterError: None of them failed there.
    """
    from ctxmetrics.results.results import Results
    from ctxmetrics.results.rows_file import question_hash

    results = Results.from_jsonl(str(path).removesuffix(".failed"))
    failed = {row.sample_id or (row.record or {}).get("hash") for row in results.failed()}
    chosen = [sample for sample in samples if (sample.id or question_hash(sample)) in failed]
    if not chosen:
        raise ParameterError(f"--only {path}: no sample of the file failed there.")
    message(f"{len(chosen)} of {plural(len(samples), 'sample')}: those that failed in {path}")
    return chosen


def _run(run: Evaluation, file: Path) -> Results:
    """Run it, and print the warnings of the library at the end."""
    from ctxmetrics.running.engine import run_in_caller

    with collected_warnings() as warnings:
        results = run_in_caller(run)
        if results.stopped or results.unanswered:  # the last line says what went wrong
            warnings[:] = [text for text in warnings if "the rows of this run are in" in text]
    results.source = str(file)
    return results


def _choose_samples(
    samples: Sequence[Sample], metrics: Iterable[Metric], output: Output
) -> Sequence[Sample]:
    """Choose the samples of --only; check all that --by and --stages need before anything is paid.

    Raises:
        ParameterError: A sample has no group, or the stages that are to be shown are nowhere: they can be shown where a
            sample has stages and a metric counts what they hold.
    """
    from ctxmetrics.results.groups import read_groups
    from ctxmetrics.results.report.stage_means import IDS

    if output.only is not None:
        samples = _choose_failed(samples, output.only)
    if output.by:
        read_groups(samples, output.by, "score")
    if not output.stages:
        return samples
    if not any(sample.stages for sample in samples):
        raise ParameterError(
            '--stages: no sample has stages. Write "stages": {"search": [..], "rerank": [..]} in the rows of the file.'
        )
    if not any(
        metric.name.startswith(IDS) or getattr(metric, "counts_units", False) for metric in metrics
    ):
        raise ParameterError(
            f"--stages: no metric counts the units of a reference. Write --metric context_recall, or --metric {IDS}."
        )
    return samples


def _show(results: Results, output: Output, lowest: int) -> None:
    """Print the means, also those of groups, and the stages with the first units that were lost."""
    from ctxmetrics.results.means_table import format_groups
    from ctxmetrics.results.report.report import render_text

    print_result(
        render_text(results.report(curves=False), lowest=lowest, color=colored(), width=columns())
    )
    if output.by:
        groups = {name: part.summary() for name, part in results.by(output.by).items()}
        print_result(f"\n{format_groups(groups, results.summary().language)}")
    if output.stages:
        try:
            stages = results.stages()
        except ParameterError as error:
            message(f"note: {error}")
        else:
            lines = ["", str(stages), *(f"  {unit}" for unit in stages.lost[:_MOST_LOST])]
            more = len(stages.lost) - _MOST_LOST
            if more > 0:
                lines.append(f"  and {more} more: --report FILE.html lists them, --out FILE holds all")
            print_result("\n".join(lines))


def _write_page(results: Results, output: Output, gates: Sequence[tuple[str, str | None]]) -> None:
    """Write the page. An older page stays where a run stopped early and has no value for some metric."""
    if output.report is not None:
        has_empty = not all(item.scored for item in results.summary().values())
        if output.report.exists() and (results.unanswered or (results.stopped and has_empty)):
            message(
                f"note: {output.report} is that of an earlier run; this run has too little to show and did not replace it"
            )
        else:
            results.to_html(output.report, by=output.by, gates=gates)


def _write_baseline(results: Results, output: Output, gates: Sequence[Gate]) -> None:
    """Write the baseline of a whole run, and say how far below it the gates still pass.

    With the ending ``.best`` an older baseline stays where the run is worse.
    """
    path = output.baseline
    if path is None or results.stopped or results.unanswered:
        return
    from ctxmetrics.results.comparison.gates import find_worse  # most runs write none
    from ctxmetrics.results.results import Results

    best = results
    if path != output.write_baseline and path.exists():
        earlier = Results.from_jsonl(path)
        problem = find_worse(earlier, results)
        if problem is not None:
            message(f"note: {path} stays: {problem}")
            best = earlier
    if best is results:
        results.to_baseline(path)
    summary = best.summary()
    for gate in gates:
        if gate.name not in summary:
            continue
        item = summary[gate.name]
        value = item.pass_rate if gate.rate else item.mean
        if value is not None and value >= gate.least:
            message(
                f"note: {gate.text}: passes down to {value - gate.least:.4g} below the baseline's {value:.4f}"
            )


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
