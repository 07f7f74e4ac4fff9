"""``ctxmetrics explain-difference``."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.cli._options import (
    BaseUrl,
    CacheDir,
    Columns,
    ConventionName,
    File,
    JudgeName,
    MetricNames,
    SchemaName,
    TextOrJson,
    check_format,
)
from ctxmetrics.cli._run import judge_of, metrics_of, samples_of, schema_and_convention
from ctxmetrics.cli._terminal import print_result
from ctxmetrics.cli.parity import UPLOADS


def explain_difference(
    file: File,
    against: Annotated[str, typer.Option("--against", help="ragas or deepeval.", show_default=False)],
    metric: MetricNames = None,
    judge: JudgeName = "lexical",
    base_url: BaseUrl = None,
    convention: ConventionName = None,
    schema: SchemaName = None,
    columns: Columns = None,
    cache: CacheDir = None,
    format: TextOrJson = "text",  # noqa: A002 - the option is named so
) -> None:
    """A framework's own metrics beside ours, with the same verdicts: which rule moved each value."""
    from ctxmetrics.adapting.natives import explain_difference as explained
    from ctxmetrics.adapting.natives import native_of
    from ctxmetrics.adapting.runners import aside

    check_format(format, "text", "json")
    schema, convention = schema_and_convention(schema, convention)
    samples = samples_of(file, schema, columns)
    asked = judge_of(judge, base_url)
    metrics = metrics_of(metric, samples, convention, asked)
    # What the framework prints itself goes to stderr; it gets no key, since it asks no model.
    hidden = dict.fromkeys(filter(UPLOADS.search, os.environ)) if judge == "lexical" else {}
    with contextlib.redirect_stdout(sys.stderr), aside(hidden, Path.cwd(), silent=False):
        native = native_of(against)
        found = explained(samples, metrics, native, judge=asked, cache=cache)
    print_result(json.dumps(found.to_dict(), indent=1) if format == "json" else str(found))
