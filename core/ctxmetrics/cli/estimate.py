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
from ctxmetrics.cli._run import judge_of, metrics_of, samples_of, schema_and_convention
from ctxmetrics.cli._terminal import print_result
from ctxmetrics.errors import ParameterError


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
        float, typer.Option("--request-seconds", min=0, help="How long one request takes.")
    ] = 3.0,
    price_in: Annotated[
        float | None, typer.Option("--price-in", min=0, help="Dollars for a million tokens that are sent.")
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option("--price-out", min=0, help="Dollars for a million tokens that are received."),
    ] = None,
) -> None:
    """Count the calls and tokens of a run before it is paid."""
    from ctxmetrics._runtime.cache import FILE_NAME
    from ctxmetrics.evaluation.estimate import estimate as count

    if (price_in is None) != (price_out is None):
        raise ParameterError("--price-in and --price-out belong together. Give both.")
    schema, convention = schema_and_convention(schema, convention)
    samples = samples_of(file, schema, columns)
    judging = judge_of(judge, base_url)
    metrics = metrics_of(metric, samples, convention, judging)
    kept = cache if cache is not None and (cache / FILE_NAME).is_file() else None  # counting makes no cache
    found = count(samples, metrics, judge=judging, cache=kept)
    print_result(str(found))
    if found.calls and max_concurrency > 0:
        seconds = found.seconds(max_concurrency, request_seconds)
        print_result(
            f"about {seconds:,.0f} seconds, {max_concurrency} requests at a time of {request_seconds:g} seconds each"
        )
    if price_in is not None and price_out is not None:
        print_result(f"about ${found.cost(price_in, price_out):,.4f}")
