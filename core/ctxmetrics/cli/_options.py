"""The arguments and options of the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[
    Path,
    typer.Argument(
        help="Samples: .jsonl, .json, .csv, .tsv (also .gz), .parquet, or a folder of a Hugging Face dataset.",
        show_default=False,
    ),
]
MetricNames = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="A metric, such as context_recall or 'context_recall(top_k=5)'. Repeatable.",
    ),
]
JudgeName = Annotated[
    str,
    typer.Option(
        "--judge",
        help="lexical, PROVIDER/MODEL such as openai/gpt-4o-mini (docs/providers.md has a list), or MODULE:NAME.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", help="Another address of the provider or server, such as http://gpu:8000/v1."
    ),
]
ConventionName = Annotated[
    str | None,
    typer.Option(
        "--convention", help="default, ragas, deepeval, axion, aegis or ru. Without it: that of --schema."
    ),
]
SchemaName = Annotated[
    str | None,
    typer.Option(
        "--schema",
        help="Whose field names the file has: ragas, deepeval, axion .. Without it they are found out.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="COLUMN=FIELD, such as question=user_input or vars.q=user_input. Repeatable."
    ),
]
CacheDir = Annotated[
    Path | None, typer.Option("--cache", help="Keep finished judgements in this directory.")
]
Concurrency = Annotated[int, typer.Option("--max-concurrency", help="Requests in flight at most.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds for one request.")]
LabelsPath = Annotated[
    Path | None,
    typer.Option("--labels", help="People's answers: by `ctxmetrics label`, in FILE.labels.jsonl."),
]
JUnitFile = Annotated[Path | None, typer.Option("--junit", help="Gates as JUnit XML: FILE.xml.")]
