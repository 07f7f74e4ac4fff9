"""The arguments and options of the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxmetrics.errors import ParameterError

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
Workers = Annotated[
    int, typer.Option("--workers", help="Processes that score; only where no request is sent.", min=1)
]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds for one request.")]
MaxCalls = Annotated[
    int | None, typer.Option("--max-calls", help="Requests in all; the rest is not judged.")
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="Tokens in all; the rest is not judged.")
]
OutFile = Annotated[Path | None, typer.Option("--out", help="One JSON line a sample and metric.")]
KeepTexts = Annotated[
    bool,
    typer.Option("--keep-texts", help="Write all fields of the samples to --out, not hashes of them."),
]
ReportFile = Annotated[Path | None, typer.Option("--report", help="A page to read: FILE.html.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on after a run that was stopped: its rows are in OUT.part, its judgements in the cache "
        "(default: OUT.cache).",
    ),
]
FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", help="NAME=VALUE: exit 1 if that mean is lower. Repeatable."),
]
MaxDoubtful = Annotated[
    float | None,
    typer.Option(
        "--max-doubtful",
        min=0,
        max=1,
        help="A share, such as 0.05: exit 1 if more of a metric's verdicts are weak, unverified, contradicted or "
        "uncertain.",
    ),
]
ShowLowest = Annotated[
    int, typer.Option("--show", help="Explain so many of the lowest scores of each metric.")
]
ShowDisputes = Annotated[
    int, typer.Option("--show", help="Show so many samples on which judge and people differ most.")
]
LabelsPath = Annotated[
    Path | None,
    typer.Option("--labels", help="People's answers: by `ctxmetrics label`, in FILE.labels.jsonl."),
]
AnnotatorName = Annotated[
    str | None,
    typer.Option("--annotator", help="Whose answers of --labels count. Without it: the majority's."),
]
MinPassRate = Annotated[
    list[str] | None,
    typer.Option(
        "--min-pass-rate", help="NAME=SHARE: exit 1 if fewer samples reach the pass mark. Repeatable."
    ),
]
JUnitFile = Annotated[Path | None, typer.Option("--junit", help="Gates as JUnit XML: FILE.xml.")]
TextOrJson = Annotated[str, typer.Option("--format", help="text, or json with every value.")]
OutputFormat = Annotated[str, typer.Option("--format", help="text, json or markdown.")]


def check_format(given: str, *choices: str) -> None:
    """Raise `ParameterError` unless ``--format`` is one of the choices."""
    if given not in choices:
        raise ParameterError(f"--format {given!r} is unknown. Choose from: {', '.join(choices)}.")
