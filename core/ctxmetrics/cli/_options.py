"""The arguments and options that several commands have, each written once.

Options that belong together are a frozen dataclass, a group. A command takes the group as one parameter; `with_options`
puts the options in its place for typer. The help of each option stands in options.json, by its group or its command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, getdoc, signature
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer
from typer.core import TyperCommand

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.conventions import CONVENTIONS
from ctxmetrics.errors import ParameterError
from ctxmetrics.running.options import DEFAULTS

# The file whose options are the defaults of the commands.
CONFIG_NAME = "ctxmetrics.toml"
# As in `ctxmetrics.reading`, which --help does not load.
Missing = Literal["zero", "drop"]
# What options.json calls the options that several groups or commands have.
_SHARED = "shared"


def labels_beside(file: Path) -> Path:
    """Name the file that `ctxmetrics label` writes about a file of samples."""
    return file.with_name(file.name + ".labels.jsonl")


@dataclass(frozen=True, kw_only=True)
class Columns:
    """How a file of samples is read."""

    schema: str | None = None
    columns: list[str] | None = None
    references: Path | None = None
    on: str | None = None
    missing: Missing = "zero"
    group_by: str | None = None
    split: str | None = None
    header: bool | None = None
    names: str | None = None
    encoding: str | None = None


@dataclass(frozen=True, kw_only=True)
class Input(Columns):
    """A file of samples, and how it is read."""

    file: Path


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The metrics to compute."""

    metric: list[str] | None = None
    convention: str | None = None


@dataclass(frozen=True, kw_only=True)
class Judging:
    """Who judges."""

    judge: str = "lexical"
    base_url: str | None = None
    max_characters: int | None = None


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What must hold of a run, else the exit status is 1."""

    fail_under: list[str] | None = None
    min_pass_rate: list[str] | None = None
    controls: int = 0
    min_controls: float | None = None
    max_doubtful: float | None = None
    calibration: Path | None = None
    require_calibration: bool = False
    max_age: str | None = None
    junit: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How many requests there are at a time and in a minute, how long each may take, and how often it is sent again."""

    max_concurrency: int = DEFAULTS["max_concurrency"]
    timeout: float = DEFAULTS["timeout"]
    max_retries: int | None = DEFAULTS["max_retries"]
    requests_per_minute: int | None = DEFAULTS["requests_per_minute"]
    tokens_per_minute: int | None = DEFAULTS["tokens_per_minute"]


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What tokens cost."""

    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        if (self.price_in is None) != (self.price_out is None):
            raise ParameterError("--price-in and --price-out belong together. Give both.")


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the form that typer takes: with the options of a group in the place of the group."""
    groups: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(function, eval_str=True).parameters.items():
        kind: Any = parameter.annotation
        owners, options, title = [function.__name__], [parameter], None
        if is_dataclass(parameter.annotation):
            owners = [base.__name__ for base in kind.__mro__]
            options = list(signature(kind, eval_str=True).parameters.values())
            groups[name] = (kind, [option.name for option in options])
            title = getdoc(kind)
        parameters += [_describe(option, owners, title) for option in options]

    @wraps(function)
    def command(**arguments: Any) -> None:
        for name, (kind, options) in groups.items():
            values = {option: arguments.pop(option) for option in options}
            arguments[name] = kind(**values)
        function(**arguments)

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer and inspect read it
    command.__annotations__ = {}
    return command


def _describe(option: Parameter, owners: Sequence[str], title: str | None) -> Parameter:
    """Give an option the help, the names and the limits that it has in options.json, and the title of its group."""
    texts = _read_texts()
    places = [texts[owner] for owner in (*owners, _SHARED) if option.name in texts.get(owner, ())]
    entry = places[0][option.name] if places else ""
    settings: dict[str, Any] = {"help": entry} if isinstance(entry, str) else {**entry}
    names = settings.pop("names", ())
    kind: Any = typer.Option
    if settings.pop("argument", False):
        kind, settings["show_default"], settings["metavar"] = typer.Argument, False, option.name.upper()
    else:
        settings["rich_help_panel"] = title
        settings["metavar"] = _find_metavar(option.annotation)
    if option.annotation is bool:  # else typer adds --no-NAME
        names = names or (f"--{option.name.replace('_', '-')}",)
    annotation = Annotated[option.annotation, kind(*names, **settings)]  # type: ignore[name-defined]  # a type that is known at run time only
    return option.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation)


def _find_metavar(annotation: Any) -> str | None:
    """Return the word for a value of an option; None where typer lists the choices, or there is no value."""
    types = {
        annotation,
        *get_args(annotation),
        *chain.from_iterable(map(get_args, get_args(annotation))),
    }
    for kind, word in ((Path, "PATH"), (str, "TEXT"), (int, "NUMBER"), (float, "NUMBER")):
        if kind in types:
            return word
    return None


class GroupedCommand(TyperCommand):
    """A command whose help lists the options in their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options of each group under its title."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            title = getattr(parameter, "rich_help_panel", None) or "Options"
            record = parameter.get_help_record(ctx)
            if record and parameter.param_type_name == "argument":
                sections["Arguments"].append((parameter.metavar or "", record[1]))
            elif record:
                sections.setdefault(title.rstrip("."), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


@cache
def _read_texts() -> dict[str, dict[str, Any]]:
    texts: dict[str, dict[str, Any]] = read_data("cli", "options.json")
    texts[_SHARED]["convention"] = texts[_SHARED]["convention"].format(names=", ".join(CONVENTIONS))
    return texts
