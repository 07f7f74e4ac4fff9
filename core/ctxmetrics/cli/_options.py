"""Arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[Path, typer.Argument(help="Samples: .jsonl, .json or .csv.", show_default=False)]
MetricNames = Annotated[
    list[str] | None,
    typer.Option(
        "--metric", "-m", help="A metric, such as context_recall or 'context_recall(top_k=5)'. Repeatable."
    ),
]
JudgeName = Annotated[str, typer.Option("--judge", help="lexical, or openai/MODEL (key: OPENAI_API_KEY).")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Of an OpenAI-compatible server.")]
ConventionName = Annotated[
    str | None,
    typer.Option(
        "--convention", help="default, ragas, deepeval, axion, aegis or ru. Without it: that of --schema."
    ),
]
SchemaName = Annotated[
    str | None, typer.Option("--schema", help="Whose field names the file has: ragas, deepeval, axion ..")
]
CacheDir = Annotated[Path | None, typer.Option("--cache", help="Keep finished judgements in this directory.")]
Concurrency = Annotated[int, typer.Option("--max-concurrency", help="Requests in flight at most.")]
