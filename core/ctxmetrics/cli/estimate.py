"""``ctxmetrics estimate``."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    Concurrency,
    ConventionName,
    File,
    JudgeName,
    MetricNames,
    SchemaName,
)
from ctxmetrics.cli._terminal import print_result
from ctxmetrics.errors import ParameterError

_ASSUMED_SECONDS = 3.0


def estimate(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    cache: CacheDir = None,
    max_concurrency: Concurrency = 16,
    request_seconds: Annotated[
        float | None,
        typer.Option("--request-seconds", min=0, help="How long one request takes; 3 is assumed."),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option("--price-in", min=0, help="Dollars for a million tokens that are sent."),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option("--price-out", min=0, help="Dollars for a million tokens that are received."),
    ] = None,
) -> None:
    """Count the calls and tokens of a run before it is paid."""
    from ctxmetrics._runtime.cache import FILE_NAME
    from ctxmetrics.cli._run import convention_of, judge_of, metrics_of, sample_file, samples_of
    from ctxmetrics.evaluation.estimate import estimate as count

    if (price_in is None) != (price_out is None):
        raise ParameterError("--price-in and --price-out belong together. Give both.")
    convention = convention_of(schema, convention)
    source = sample_file(file, schema, columns)
    samples = samples_of(source)
    judging = judge_of(judge, base_url)
    metrics = metrics_of(metric, samples, convention, judging, source.reading.unread)
    kept = (
        cache if cache is not None and (cache / FILE_NAME).is_file() else None
    )  # counting makes no cache
    found = count(samples, metrics, judge=judging, cache=kept)
    print_result(str(found))
    if not found.calls:
        return
    each = _ASSUMED_SECONDS if request_seconds is None else request_seconds
    assumed = " (assumed; give --request-seconds)" if request_seconds is None else ""
    seconds = found.seconds(max_concurrency, each)
    print_result(
        f"about {seconds:,.0f} s: {max_concurrency} requests at a time, {each:g} s each{assumed}"
    )
    if price_in is None or price_out is None:
        print_result("dollars: give --price-in and --price-out, the prices of a million tokens")
    else:
        print_result(f"about ${found.cost(price_in, price_out):,.4f}")
