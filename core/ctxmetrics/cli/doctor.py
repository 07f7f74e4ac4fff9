"""``ctxmetrics doctor`` and ``estimate``: what is known of a run before it is paid for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ctxmetrics.cli._options import Columns, Input, Judging, Pace, Prices, Selection
from ctxmetrics.cli._terminal import BAD_INPUT, print_result
from ctxmetrics.errors import InputFileError
from ctxmetrics.presentation.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxmetrics.judges.base import Judge
    from ctxmetrics.metrics import Metric
    from ctxmetrics.results.results import Results
    from ctxmetrics.samples import Sample


def doctor(
    judging: Judging,
    selection: Selection,
    columns: Columns,
    pace: Pace,
    prices: Prices,
    file: Path | None = None,
) -> None:
    """Try a judge's model with one tiny request: does it answer, and as a judge must?"""
    from ctxmetrics.cli._run import build_judge, build_task
    from ctxmetrics.judges.decision import DecisionJudge
    from ctxmetrics.judges.llm.judge import LLMJudge
    from ctxmetrics.running.check_model import check_model

    judge = build_judge(**vars(judging))
    each = 0.0, ""
    # An error in the file is raised before anything is paid.
    task = None
    if file is not None:
        task = build_task(Input(file=file, **vars(columns)), selection, judge)
    if isinstance(judge, (DecisionJudge, LLMJudge)):
        check = check_model(judge, timeout=pace.timeout, max_retries=pace.max_retries or 0)
        print_result(str(check))
        if not check.ok:
            raise typer.Exit(BAD_INPUT)
        each = round(check.seconds, 1), " (as measured now, with the start of the client)"
    else:
        print_result(f"{judge.name} asks no model. How well it judges: ctxmetrics check-judge")
    if task is not None:
        _print_cost(task, judge, pace, prices, each)


def estimate(
    source: Input,
    selection: Selection,
    judging: Judging,
    pace: Pace,
    prices: Prices,
    cache: Path | None = None,
    controls: int = 0,
    request_seconds: float | None = None,
    detect: float | None = None,
    changed: float = 1.0,
    fail_under: list[str] | None = None,
    max_drop: list[str] | None = None,
    not_worse: list[str] | None = None,
) -> None:
    """Count the calls and tokens of a run before you pay for it, or say what its samples can show."""
    from ctxmetrics.cli._gates import name_and_value
    from ctxmetrics.cli._run import build_judge, build_task
    from ctxmetrics.models.openai.model import NO_KEY
    from ctxmetrics.running.estimate import samples_for
    from ctxmetrics.running.power import GATES, describe_gate

    gates = []
    for option, texts in zip(GATES, (fail_under, max_drop, not_worse), strict=True):
        gates += [(option, *name_and_value(option, text)) for text in texts or ()]
    if detect is not None or gates:
        scored = _read_or_score(source, selection)
        lines = [] if detect is None else [*map(str, samples_for(scored, detect, changed=changed))]
        lines += [describe_gate(scored, *gate, changed=changed) for gate in gates]
        print_result("\n".join(lines))
        if detect is not None or scored.source:
            return
    judge = build_judge(**vars(judging), api_key=NO_KEY)  # nothing is sent
    each = 3.0, " (assumed; give --request-seconds)"
    if request_seconds is not None:
        each = request_seconds, ""
    _print_cost(build_task(source, selection, judge), judge, pace, prices, each, cache, controls)


def _read_or_score(source: Input, selection: Selection) -> Results:
    """Read the results of a file, or let the embedded judge score its samples."""
    from ctxmetrics.cli._run import build_task
    from ctxmetrics.judges.lexical.judge import LexicalJudge
    from ctxmetrics.results.results import Results
    from ctxmetrics.running.engine import evaluate

    try:
        return Results.from_jsonl(source.file)
    except InputFileError:  # it holds samples
        samples, metrics, _ = build_task(source, selection, LexicalJudge())
        return evaluate(samples, metrics, judge=LexicalJudge(), progress=False)


def _print_cost(
    task: tuple[Any, ...],
    judge: Judge,
    pace: Pace,
    prices: Prices,
    each: tuple[float, str],
    cache: Path | None = None,
    controls: int = 0,
) -> None:
    """Print what a run will cost.

    Args:
        task: Its samples and metrics (`ctxmetrics.cli._run.build_task`).
        judge: Who will judge.
        pace: How many requests there are at a time.
        prices: What tokens cost.
        each: The seconds of one request, and how they are known, in words.
        cache: The directory of the cache.
        controls: How many labelled samples are judged in between.
    """
    from ctxmetrics.models.runtime.cache import FILE_NAME
    from ctxmetrics.running.estimate import estimate as count

    samples, metrics, _ = task
    if cache is not None and not (cache / FILE_NAME).is_file():
        cache = None  # counting makes no cache
    costs = count(samples, metrics, judge=judge, cache=cache, controls=controls)
    lines = [str(costs)]
    lines += _list_shares(samples, metrics, judge, cache)
    if costs.calls:
        most = pace.max_concurrency
        seconds = costs.seconds(
            most,
            each[0],
            requests_per_minute=pace.requests_per_minute,
            tokens_per_minute=pace.tokens_per_minute,
        )
        lines.append(
            f"about {seconds:,.0f} s: {plural(most, 'request')} at a time, {each[0]:g} s each{each[1]}"
        )
        if prices.price_in is None or prices.price_out is None:
            lines.append("dollars: give --price-in and --price-out, the prices of a million tokens")
        else:
            lines.append(f"about ${costs.cost(prices.price_in, prices.price_out):,.4f}")
    print_result("\n".join(lines))


def _list_shares(
    samples: list[Sample], metrics: Sequence[Metric], judge: Judge, cache: Path | None
) -> list[str]:
    """List the calls that each metric adds to those before it; empty where one metric causes all."""
    from ctxmetrics.metrics.judging import JudgedMetric
    from ctxmetrics.running.estimate import estimate as count

    judged = [metric for metric in metrics if isinstance(metric, JudgedMetric)]
    if len(judged) < 2:  # noqa: PLR2004 - one causes all
        return []
    shares, before = [], 0
    for number, metric in enumerate(judged, 1):
        calls = count(samples, judged[:number], judge=judge, cache=cache).calls
        if calls > before:
            shares.append(f"{metric.name}: {plural(calls - before, 'call')}")
        before = calls
    return shares if len(shares) > 1 else []
