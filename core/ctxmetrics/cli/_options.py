"""The arguments and options that several commands have, each written once.

Options that belong together are a frozen dataclass, a group. A command takes the group as one parameter; `with_options`
puts the options in its place for typer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ctxmetrics.conventions import CONVENTIONS
from ctxmetrics.errors import ParameterError
from ctxmetrics.reading import Missing
from ctxmetrics.running.options import DEFAULTS

# The file whose options are the defaults of the commands.
CONFIG_NAME = "ctxmetrics.toml"

ConventionName = Annotated[
    str | None,
    typer.Option("--convention", help=f"{', '.join(CONVENTIONS)}. Without it: that of --schema."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url", help="Another address of the provider or server, such as http://gpu:8000/v1."
    ),
]
MaxCharacters = Annotated[
    int | None,
    typer.Option(
        "--max-characters",
        help="Characters of data in one request to the judge's model; more is split. Without it: 60000.",
    ),
]
ControlCount = Annotated[
    int,
    typer.Option(
        "--controls",
        min=0,
        help="How many labelled samples of the library the judge judges in between, to say how often it is "
        "right.",
    ),
]
CacheDir = Annotated[
    Path | None, typer.Option("--cache", help="Keep finished judgements in this directory.")
]
LabelsPath = Annotated[
    Path | None,
    typer.Option(
        "--labels", help="People's answers, which `ctxmetrics label` writes to FILE.labels.jsonl."
    ),
]


def labels_beside(file: Path) -> Path:
    """Name the file that `ctxmetrics label` writes about a file of samples."""
    return file.with_name(file.name + ".labels.jsonl")


JUnitFile = Annotated[
    Path | None, typer.Option("--junit", help="Write the gates as JUnit XML: FILE.xml.")
]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """How a file of samples is read."""

    schema: Annotated[
        str | None,
        typer.Option(
            help="The system whose field names the file has: ragas, deepeval, axion .. Without it, the columns "
            "are recognised."
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="COLUMN=FIELD, such as question=user_input, vars.q=user_input or 'hits[].text=retrieved_contexts'. "
            "Repeatable.",
        ),
    ] = None
    references: Annotated[
        Path | None,
        typer.Option(
            help="A second file with what is expected: answers, contexts or ids of each question, TREC qrels, or a folder in "
            "BEIR's form."
        ),
    ] = None
    on: Annotated[
        str | None,
        typer.Option(
            help="The field or column that joins both files. Without it: the id, else the question. order: the rows, one by one."
        ),
    ] = None
    missing: Annotated[
        Missing,
        typer.Option(
            help="A question of --references that FILE does not answer counts as one with nothing retrieved (zero), or is "
            "left out of the means (drop)."
        ),
    ] = "zero"
    group_by: Annotated[
        str | None,
        typer.Option(
            help="The column of the question, where each row is one passage: its rows become one sample."
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            help="What separates the passages, where one text holds several: '|', '\\n\\n', '[Chunk 1]' (any number)."
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV or TSV file names its columns.",
        ),
    ] = None
    names: Annotated[
        str | None,
        typer.Option(
            help="The names of the columns of a CSV or TSV file without a header: id,question."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(help="The encoding of a text file, such as cp1252. Without it, it is recognised."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Input(Columns):
    """A file of samples, and how it is read."""

    file: Annotated[
        Path,
        typer.Argument(
            help="Samples: .jsonl, .json, .csv, .tsv (also .gz), .xlsx, .parquet, a folder of a Hugging Face dataset, or a TREC run.",
            show_default=False,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The metrics to compute."""

    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="A metric, such as context_recall or 'context_recall(top_k=5)'. Repeatable.",
        ),
    ] = None
    convention: ConventionName = None


@dataclass(frozen=True, kw_only=True)
class Judging:
    """Who judges."""

    judge: Annotated[
        str,
        typer.Option(
            help="lexical, PROVIDER/MODEL such as openai/gpt-4o-mini (docs/llm-judges.md has a list), or MODULE:NAME."
        ),
    ] = "lexical"
    base_url: BaseUrl = None
    max_characters: MaxCharacters = None


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What must hold of a run, else the exit status is 1."""

    fail_under: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE: exit 1 if that mean is lower. Repeatable.")
    ] = None
    min_pass_rate: Annotated[
        list[str] | None,
        typer.Option(help="NAME=SHARE: exit 1 if fewer samples reach the pass mark. Repeatable."),
    ] = None
    controls: ControlCount = 0
    min_controls: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="A share, such as 0.8: exit 1 if fewer verdicts about the samples of --controls are right.",
        ),
    ] = None
    max_doubtful: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="A share, such as 0.05: exit 1 if more of a metric's verdicts are weak, unverified, contradicted, "
            "uncertain or near the bar.",
        ),
    ] = None
    calibration: Annotated[
        Path | None, typer.Option(help="Correct the means by this card of agree --write: CARD.json.")
    ] = None
    require_calibration: Annotated[
        bool, typer.Option("--require-calibration", help="Exit 1 without a valid card.")
    ] = False
    max_age: Annotated[
        str | None, typer.Option(help="A card that is older than this, such as 90d, is not valid.")
    ] = None
    junit: JUnitFile = None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How many requests there are at a time and in a minute, how long each may take, and how often it is sent again."""

    max_concurrency: Annotated[int, typer.Option(help="The most requests in flight at once.")] = (
        DEFAULTS["max_concurrency"]
    )
    timeout: Annotated[float, typer.Option(help="Seconds for one request.")] = DEFAULTS["timeout"]
    max_retries: Annotated[
        int | None,
        typer.Option(
            help="How often a request that failed is sent again. Without it: as long as it may help."
        ),
    ] = DEFAULTS["max_retries"]
    requests_per_minute: Annotated[
        int | None, typer.Option(help="The most requests in any 60 seconds; the others wait.")
    ] = DEFAULTS["requests_per_minute"]
    tokens_per_minute: Annotated[
        int | None, typer.Option(help="The most tokens in any 60 seconds; other requests wait.")
    ] = DEFAULTS["tokens_per_minute"]


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What tokens cost."""

    price_in: Annotated[
        float | None, typer.Option(min=0, help="Dollars for a million tokens that are sent.")
    ] = None
    price_out: Annotated[
        float | None, typer.Option(min=0, help="Dollars for a million tokens that are received.")
    ] = None

    def __post_init__(self) -> None:
        if (self.price_in is None) != (self.price_out is None):
            raise ParameterError("--price-in and --price-out belong together. Give both.")


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the form that typer takes: with the options of a group in the place of the group."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(function, eval_str=True).parameters.items():
        kind: Any = parameter.annotation
        options = [parameter]
        if is_dataclass(parameter.annotation):
            options = list(signature(kind, eval_str=True).parameters.values())
            groups[name] = (kind, [option.name for option in options])
        parameters += [option.replace(kind=Parameter.KEYWORD_ONLY) for option in options]

    @wraps(function)
    def command(**arguments: Any) -> None:
        for name, (kind, options) in groups.items():
            values = {option: arguments.pop(option) for option in options}
            arguments[name] = kind(**values)
        function(**arguments)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer and inspect read it
    command.__annotations__ = {}
    return command
