"""``ctxmetrics doctor`` and ``estimate``: what is known of a run before it is paid for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.cli._options import (
    CacheFolder,
    Columns,
    ControlCount,
    Help,
    Judging,
    Pace,
    Prices,
    SampleFile,
    Selection,
)
from ctxmetrics.evaluation.cli._terminal import BAD_INPUT, note_unused, print_message, print_result
from ctxmetrics.scores.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.evaluation.runs.results import Results
    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics.base import Metric
    from ctxmetrics.samples.sample import Sample


@dataclass(frozen=True, slots=True)
class RequestTime:
    """How long one request takes.

    Attributes:
        seconds: The time.
        note: How the time is known, in words after it; empty if the caller gave it.
    """

    seconds: float
    note: str = ""


def doctor(
    judging: Judging,
    selection: Selection,
    columns: Columns,
    pace: Pace,
    prices: Prices,
    file: Annotated[
        Path | None, Help("Samples, to say what a run over them costs.", argument=True)
    ] = None,
) -> None:
    """Try a judge's model with one small request: does it answer, in the form that a judge needs?"""
    from ctxmetrics.evaluation.cli._run import build_judge, build_task
    from ctxmetrics.evaluation.runs.check_model import check_model
    from ctxmetrics.judges.decision import DecisionJudge
    from ctxmetrics.judges.llm.judge import LLMJudge

    note_unused(
        {
            "--map": columns.columns,
            "--schema": columns.schema,
            "--references": columns.references,
            "--metric": selection.metric,
            "--price-in": prices.price_in,
        },
        {"FILE": file},
    )
    judge = build_judge(**vars(judging))
    request_time = RequestTime(0.0)
    # An error in the file is raised before anything is paid.
    task = None
    if file is not None:
        task = build_task(SampleFile(file=file, **vars(columns)), selection, judge)
    if isinstance(judge, (DecisionJudge, LLMJudge)):
        check = check_model(judge, timeout=pace.timeout, max_retries=pace.max_retries or 0)
        print_result(str(check))
        if not check.ok:
            raise typer.Exit(BAD_INPUT)
        note = " (as measured now)"
        if check.with_start:
            note = " (as measured now, with the start of the client)"
        rounded_seconds = float(f"{check.seconds:.2g}")
        request_time = RequestTime(rounded_seconds, note)
    else:
        print_result(f"{judge.name} asks no model. How well it judges: ctxmetrics check-judge")
    if task is not None:
        _print_cost(task, judge, pace, prices, request_time)


def estimate(
    source: SampleFile,
    selection: Selection,
    judging: Judging,
    pace: Pace,
    prices: Prices,
    cache: CacheFolder = None,
    controls: ControlCount = 0,
    request_seconds: Annotated[
        float | None, Help("Seconds that one request takes. Without it: 3.", lowest=0)
    ] = None,
    detect: Annotated[
        float | None,
        Help(
            "A difference of two means, such as 0.05: say how many samples a comparison needs to show"
            " it. FILE may be results of --out; else the embedded judge scores the samples for it."
        ),
    ] = None,
    changed: Annotated[
        float | None,
        Help(
            "With --detect, --max-drop and --not-worse: the share of samples whose value changes, up "
            "or down. Without it: no more than a loss needs; a fifth for --not-worse."
        ),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        Help("NAME=VALUE, a gate of score: say which difference the samples show. Repeatable."),
    ] = None,
    max_drop: Annotated[
        list[str] | None,
        Help("NAME=MARGIN, a gate of compare: say which loss the samples show. Repeatable."),
    ] = None,
    not_worse: Annotated[
        list[str] | None,
        Help(
            "NAME=MARGIN, a gate of compare: say the smallest margin that the samples can test. Repeatable."
        ),
    ] = None,
    labels: Annotated[
        list[int] | None,
        Help(
            (
                "With --max-drop and --not-worse: say how the gate changes if people label this number of samples, such as 40. "
                "Repeatable."
            ),
            lowest=2,
        ),
    ] = None,
) -> None:
    """Count the calls and tokens of a run before you pay for it, or say what its samples can show."""
    from ctxmetrics.evaluation.cli._gates import read_name_and_value
    from ctxmetrics.evaluation.cli._run import build_judge, build_task
    from ctxmetrics.evaluation.runs.estimate import samples_for
    from ctxmetrics.evaluation.runs.power import GATES, describe_gate
    from ctxmetrics.models.openai.model import NO_KEY

    # Each gate: its option, the metric and the value.
    gates: list[tuple[str, str, float]] = []
    for option, texts in zip(GATES, (fail_under, max_drop, not_worse), strict=True):
        for text in texts or ():
            name, value = read_name_and_value(option, text)
            gates.append((option, name, value))
    if labels and not (max_drop or not_worse):
        raise ParameterError(
            "--labels says what labels add to a gate. Give --max-drop NAME=MARGIN or --not-worse NAME=MARGIN."
        )
    note_unused({"--changed": changed}, {"--detect": detect, "--max-drop or --not-worse": gates})
    if detect is not None or gates:
        results = _read_or_score(source, selection)
        lines: list[str] = []
        if detect is not None:
            needs = samples_for(results, detect, changed=changed)
            lines += [str(need) for need in needs]
        for option, name, bar in gates:
            lines.append(describe_gate(results, option, name, bar, changed=changed))
            if labels and option != "--fail-under":
                lines += _describe_labels(results, (option, name, bar), changed, labels)
        print_result("\n".join(lines))
        if detect is not None or results.source:
            return
    judge = build_judge(**vars(judging), api_key=NO_KEY)  # nothing is sent
    request_time = RequestTime(3.0, " (assumed; give --request-seconds)")
    if request_seconds is not None:
        request_time = RequestTime(request_seconds)
    task = build_task(source, selection, judge)
    _print_cost(task, judge, pace, prices, request_time, cache, controls)


def _describe_labels(
    results: Results, gate: tuple[str, str, float], changed: float | None, labels: Sequence[int]
) -> list[str]:
    """Describe the effect of labels on a gate of a comparison: its option, its metric and its margin."""
    from ctxmetrics.evaluation.comparison.compare import choose_metric
    from ctxmetrics.evaluation.runs.labelled_power import describe_labels
    from ctxmetrics.evaluation.runs.power import read_values

    option, name, margin = gate
    run = read_values(results, choose_metric(results.metrics, name, option))
    return [
        f"  {describe_labels(run, option, margin, count, changed=changed)}"
        for count in sorted(set(labels))
    ]


def _read_or_score(source: SampleFile, selection: Selection) -> Results:
    """Read the results of a file, or let the embedded judge score its samples."""
    from ctxmetrics.evaluation.cli._run import build_task
    from ctxmetrics.evaluation.runs.evaluate import evaluate
    from ctxmetrics.evaluation.runs.results import Results
    from ctxmetrics.judges.lexical.judge import LexicalJudge

    try:
        results = Results.from_jsonl(source.file)
    except InputFileError:  # it holds samples
        samples, metrics, _ = build_task(source, selection, LexicalJudge())
        return evaluate(samples, metrics, judge=LexicalJudge(), progress=False)
    if selection.metric:
        print_message(
            f"note: {source.file} holds results: all of its metrics count, and --metric changes nothing"
        )
    return results


def _print_cost(
    task: tuple[Any, ...],
    judge: Judge,
    pace: Pace,
    prices: Prices,
    request_time: RequestTime,
    cache: Path | None = None,
    controls: int = 0,
) -> None:
    """Print the cost of a run.

    Args:
        task: The samples and metrics of the run (`ctxmetrics.evaluation.cli._run.build_task`).
        judge: The judge of the run.
        pace: The number of requests at a time.
        prices: The prices of tokens.
        request_time: The time of one request.
        cache: The directory of the cache.
        controls: The number of labelled samples that are judged in between.
    """
    from ctxmetrics.evaluation.runs.estimate import estimate as count
    from ctxmetrics.models.runtime.cache import FILE_NAME

    samples, metrics, _ = task
    if cache is not None and not (cache / FILE_NAME).is_file():
        cache = None  # counting makes no cache
    costs = count(samples, metrics, judge=judge, cache=cache, controls=controls)
    lines = [str(costs)]
    lines += _list_shares(samples, metrics, judge, cache)
    if costs.calls:
        seconds = costs.seconds(
            pace.max_concurrency,
            request_time.seconds,
            requests_per_minute=pace.requests_per_minute,
            tokens_per_minute=pace.tokens_per_minute,
        )
        requests_at_a_time = plural(pace.max_concurrency, "request")
        time_of_each = f"{request_time.seconds:g} s each{request_time.note}"
        lines.append(f"about {seconds:,.0f} s: {requests_at_a_time} at a time, {time_of_each}")
        if prices.price_in is None or prices.price_out is None:
            lines.append("dollars: give --price-in and --price-out, the prices of a million tokens")
        else:
            dollars = costs.cost(prices.price_in, prices.price_out)
            lines.append(f"about ${dollars:,.4f}")
            share = _find_batch_price(judge)
            if share is not None:
                lines.append(
                    f"about ${share * dollars:,.4f} as batches, an answer within a day (score --batch)"
                )
    print_result("\n".join(lines))


def _find_batch_price(judge: Judge) -> float | None:
    """Find the price of a batch as a share of the ordinary price. Return None if the model's server is not known to have batches."""
    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.models.openai.model import OpenAIModel
    from ctxmetrics.models.openai.providers import get_batch_terms

    if not isinstance(judge, LLMJudge) or not isinstance(judge.model, OpenAIModel):
        return None
    _, price = get_batch_terms(str(judge.model.base_url))
    return price


def _list_shares(
    samples: list[Sample], metrics: Sequence[Metric], judge: Judge, cache: Path | None
) -> list[str]:
    """List the number of calls that each metric adds to the metrics before it. It is empty if one metric causes all calls."""
    from ctxmetrics.evaluation.runs.estimate import estimate as count
    from ctxmetrics.metrics.judging import JudgedMetric

    judged_metrics = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
    if len(judged_metrics) < 2:  # noqa: PLR2004 - one causes all
        return []
    lines = []
    calls_before = 0
    for number, metric in enumerate(judged_metrics, 1):
        calls = count(samples, judged_metrics[:number], judge=judge, cache=cache).calls
        added_calls = calls - calls_before
        if added_calls > 0:
            lines.append(f"{metric.name}: {plural(added_calls, 'call')}")
        calls_before = calls
    return lines if len(lines) > 1 else []
