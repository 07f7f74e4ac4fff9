"""``ctxmetrics estimate``."""

from __future__ import annotations

from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    ConventionName,
    File,
    JudgeName,
    MetricNames,
    SchemaName,
)
from ctxmetrics.cli._run import judge_of, metrics_of, samples_of, schema_and_convention
from ctxmetrics.cli._terminal import print_result


def estimate(
    file: File,
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    cache: CacheDir = None,
) -> None:
    """Count the calls and tokens of a run before it is paid."""
    from ctxmetrics._runtime.cache import FILE_NAME
    from ctxmetrics.evaluation.estimate import estimate as count

    schema, convention = schema_and_convention(schema, convention)
    samples = samples_of(file, schema, columns)
    judging = judge_of(judge, base_url)
    metrics = metrics_of(metric, samples, convention, judging)
    kept = cache if cache is not None and (cache / FILE_NAME).is_file() else None  # counting makes no cache
    print_result(str(count(samples, metrics, judge=judging, cache=kept)))
