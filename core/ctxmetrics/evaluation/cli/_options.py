"""The arguments and options that several commands have, each written once.

Options that belong together are a frozen dataclass, a group. A command takes the group as one parameter; `with_options`
puts the options in its place for typer. The help of each option stands beside its type.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from ctxmetrics._internal.data_files import read_data
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.cli._suggestions import explain_extra
from ctxmetrics.evaluation.runs.options import DEFAULTS
from ctxmetrics.scores.conventions import CONVENTIONS

T = TypeVar("T")
# The types of the defaults of options that take one value.
_TYPES_OF_DEFAULTS = frozenset((type(None), bool, int, float, str))
# The file whose options are the defaults of the commands.
CONFIG_NAME = "ctxmetrics.toml"
# The options that come last in the help, as they are written: the name of the parameter of --help depends on the version of click.
_OPTIONS_OF_EVERY_COMMAND = ("--config", "--help")
# A copy of the type in `joining`: --help does not load that module.
MissingChoice = Literal["zero", "drop"]
# A copy of the type in `hit_order`.
OrderChoice = Literal["given", "rank", "score"]
# A copy of the type in `ctxmetrics.models.openai.capabilities`.
ReplyFormat = Literal["auto", "json_schema", "json_object", "text"]
_CONVENTION_HELP = f"{', '.join(CONVENTIONS)}. Without it: that of --schema."


@dataclass(frozen=True, slots=True)
class Help:
    """The help of an option, and the values that the option accepts.

    Attributes:
        text: The purpose of the option.
        argument: Whether it is given by its place, not by a name.
        names: The names of the option on the command line. By default, it has the name of its parameter.
        lowest: The lowest number that it takes.
        highest: The highest number that it takes.
    """

    text: str
    argument: bool = False
    names: tuple[str, ...] = ()
    lowest: float | None = None
    highest: float | None = None


# Options that several groups or commands have.
CacheFolder: TypeAlias = Annotated[Path | None, Help("Keep finished judgements in this directory.")]
Cluster: TypeAlias = Annotated[
    str | None, Help("Samples that belong together have the same metadata.KEY.")
]
ControlCount: TypeAlias = Annotated[
    int,
    Help(
        (
            "How many labelled samples of the library the judge judges in between, to say how often "
            "it is right."
        ),
        lowest=0,
    ),
]
ConventionName: TypeAlias = Annotated[str | None, Help(_CONVENTION_HELP)]
JUnitFile: TypeAlias = Annotated[Path | None, Help("Write the gates as JUnit XML: FILE.xml.")]
PageTitle: TypeAlias = Annotated[
    str | None, Help("The title of the page. Without it: the names of the files that it is about.")
]
Tags: TypeAlias = Annotated[
    list[str] | None,
    Help(
        "A group that `ctxmetrics view` puts the run in, such as nightly. Repeatable.", names=("--tag",)
    ),
]
LabelsPath: TypeAlias = Annotated[
    Path | None, Help("People's answers, which `ctxmetrics label` writes to FILE.labels.jsonl.")
]
AuditPath: TypeAlias = Annotated[
    Path | None,
    Help(
        "An audit of the gold that people labelled (`ctxmetrics check-gold --audit`): means by it, with wider intervals."
    ),
]


def split_pair(
    option: str, text: str, form: str, *, read: Callable[[str], T], split_at_last: bool = False
) -> tuple[str, T]:
    """Split the text of an option, ``NAME=VALUE``, and read the value.

    Args:
        option: The option, for the message.
        text: The text that the user typed.
        form: The form that it must have, with an example.
        read: Reads the value; a `ValueError` says that it has another form.
        split_at_last: Split at the last ``=``, not at the first.

    Raises:
        ParameterError: The text is not ``NAME=VALUE``.
    """
    name, equals, written = text.rpartition("=") if split_at_last else text.partition("=")
    if name and equals:
        with suppress(ValueError):
            return name, read(written)
    raise ParameterError(f"{option} {text!r} must be {form}.")


def read_text(text: str) -> str:
    """Return a value that is a text.

    Raises:
        ValueError: The value is empty.
    """
    if not text:
        raise ValueError
    return text


@dataclass(frozen=True, kw_only=True)
class Columns:
    """How a file of samples is read."""

    schema: Annotated[
        str | None,
        Help(
            "The system whose field names the file has: ragas, deepeval, axion .. Without it, the "
            "columns are recognised."
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        Help(
            (
                "COLUMN=FIELD, such as question=user_input, vars.q=user_input or "
                "'hits[].text=retrieved_contexts'. Repeatable."
            ),
            names=("--map",),
        ),
    ] = None
    references: Annotated[
        Path | None,
        Help(
            "A second file with what is expected: answers, contexts or ids of each question, TREC "
            "qrels, or a folder in BEIR's form."
        ),
    ] = None
    on: Annotated[
        str | None,
        Help(
            "The field or column that joins both files. Without it: the id, else the question. order:"
            " the rows, one by one."
        ),
    ] = None
    missing: Annotated[
        MissingChoice,
        Help(
            "A question of --references that FILE does not answer counts as one with nothing "
            "retrieved (zero), or is left out of the means (drop)."
        ),
    ] = "zero"
    group_by: Annotated[
        str | None,
        Help("The column of the question, where each row is one passage: its rows become one sample."),
    ] = None
    split: Annotated[
        str | None,
        Help(
            "What separates the passages, where one text holds several: '|', '\\n\\n', '[Chunk 1]' (any"
            " number)."
        ),
    ] = None
    order: Annotated[
        OrderChoice | None,
        Help(
            "What decides the order of what was retrieved: given (the list), rank or score. Without it: a"
            " rank, else a score, else the list."
        ),
    ] = None
    header: Annotated[
        bool | None,
        Help(
            "Whether the first line of a CSV or TSV file names its columns.",
            names=("--header/--no-header",),
        ),
    ] = None
    names: Annotated[
        str | None, Help("The names of the columns of a CSV or TSV file without a header: id,question.")
    ] = None
    encoding: Annotated[
        str | None, Help("The encoding of a text file, such as cp1252. Without it, it is recognised.")
    ] = None
    sheet: Annotated[
        str | None,
        Help("The sheet of an .xlsx file. Without it: the first whose header has known names."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SampleFile(Columns):
    """A file of samples, and how it is read."""

    only: Annotated[
        list[str] | None,
        Help(
            "COLUMN=VALUE, such as system=bm25: one of several retrievals of each question. Repeatable. Of "
            "score also RESULTS.failed: the samples without a value, or below a pass mark, in the results of an "
            "earlier run."
        ),
    ] = None
    file: Annotated[
        Path,
        Help(
            (
                "Samples: .jsonl, .json, .csv, .tsv (also .gz), .xlsx, .parquet, a folder of a Hugging "
                "Face dataset, or a TREC run."
            ),
            argument=True,
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class QuestionFile(Columns):
    """The questions with their expected items, and how the file of questions is read."""

    questions: Annotated[
        Path,
        Help(
            "Questions with references, facts, contexts or ids that are expected.",
            names=("--questions", "-q"),
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The metrics to compute."""

    metric: Annotated[
        list[str] | None,
        Help(
            "A metric, such as context_recall or 'context_recall(top_k=5)'; `ctxmetrics metrics` lists all. Repeatable.",
            names=("--metric", "-m"),
        ),
    ] = None
    convention: ConventionName = None


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a judge asks its model."""

    base_url: Annotated[
        str | None, Help("Another address of the provider or server, such as http://gpu:8000/v1.")
    ] = None
    max_characters: Annotated[
        int | None,
        Help(
            "Characters of data in one request to the judge's model; more is split. Without it: 60000."
        ),
    ] = None
    reply_format: Annotated[
        ReplyFormat | None,
        Help(
            "How the model is asked for its reply. Without it, the library finds out what the server takes."
        ),
    ] = None
    judge_option: Annotated[
        list[str] | None,
        Help(
            "NAME=VALUE, a parameter of the judge or of its model: max_tokens=4000, temperature=0.2, votes=3, "
            "max_questions=32 .. Repeatable."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Judging(Asking):
    """Who judges, and how it asks its model."""

    judge: Annotated[
        str,
        Help(
            "lexical, PROVIDER/MODEL such as openai/gpt-4o-mini (docs/llm-judges.md has a list), or "
            "MODULE:NAME."
        ),
    ] = "lexical"


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What must hold of a run, else the exit status is 1."""

    fail_under: Annotated[
        list[str] | None, Help("NAME=VALUE: exit 1 if that mean is lower. Repeatable.")
    ] = None
    min_pass_rate: Annotated[
        list[str] | None, Help("NAME=SHARE: exit 1 if fewer samples reach the pass mark. Repeatable.")
    ] = None
    controls: ControlCount = 0
    min_controls: Annotated[
        float | None,
        Help(
            (
                "A share, such as 0.8: exit 1 if fewer verdicts about the samples of --controls are "
                "right."
            ),
            lowest=0,
            highest=1,
        ),
    ] = None
    max_doubtful: Annotated[
        float | None,
        Help(
            (
                "A share, such as 0.05: exit 1 if more of a metric's verdicts are weak, unverified, "
                "contradicted, uncertain or near the bar."
            ),
            lowest=0,
            highest=1,
        ),
    ] = None
    calibration: Annotated[
        Path | None, Help("Correct the means by this card of agree --write: CARD.json.")
    ] = None
    require_calibration: Annotated[bool, Help("Exit 1 without a valid card.")] = False
    max_age: Annotated[
        str | None, Help("A card that is older than this, such as 90d, is not valid.")
    ] = None
    junit: JUnitFile = None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How many requests are sent at a time and in a minute, how long each may take, and how often each is sent again."""

    max_concurrency: Annotated[int, Help("The most requests in flight at once.")] = DEFAULTS[
        "max_concurrency"
    ]
    timeout: Annotated[float, Help("Seconds for one request.")] = DEFAULTS["timeout"]
    max_retries: Annotated[
        int | None,
        Help("How often a request that failed is sent again. Without it: as long as it may help."),
    ] = DEFAULTS["max_retries"]
    requests_per_minute: Annotated[
        int | None, Help("The most requests in any 60 seconds; the others wait.", lowest=1)
    ] = DEFAULTS["requests_per_minute"]
    tokens_per_minute: Annotated[
        int | None, Help("The most tokens in any 60 seconds; other requests wait.", lowest=1)
    ] = DEFAULTS["tokens_per_minute"]


@dataclass(frozen=True, kw_only=True)
class Prices:
    """What tokens cost."""

    price_in: Annotated[float | None, Help("Dollars for a million tokens that are sent.", lowest=0)] = (
        None
    )
    price_out: Annotated[
        float | None, Help("Dollars for a million tokens that are received.", lowest=0)
    ] = None

    def __post_init__(self) -> None:
        if (self.price_in is None) != (self.price_out is None):
            raise ParameterError("--price-in and --price-out belong together. Give both.")


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the form that typer takes: with the options of a group in the place of the group."""
    # For each parameter of a command that takes a group of options: the class of the group, and the names of its options.
    groups: dict[str, tuple[Any, list[str]]] = {}
    # Options that only this command has come first in its help.
    own_options: list[Parameter] = []
    shared_options: list[Parameter] = []
    for name, parameter in signature(function, eval_str=True).parameters.items():
        if not is_dataclass(parameter.annotation):
            own_options.append(_to_typer_option(parameter, None))
            continue
        group_class: Any = parameter.annotation
        # A group may have the options of a group in another module: its annotations are read there.
        annotations = get_type_hints(group_class, include_extras=True)
        options = [
            option.replace(annotation=annotations[option.name])
            for option in signature(group_class).parameters.values()
        ]
        groups[name] = (group_class, [option.name for option in options])
        title = getdoc(group_class)
        typer_options = [_to_typer_option(option, title) for option in options]
        if group_class.__module__ == __name__:
            shared_options += typer_options
        else:
            own_options += typer_options

    @wraps(function)
    def command(**arguments: Any) -> None:
        """Gather the options of each group in one object, and call the command."""
        for name, (group_class, option_names) in groups.items():
            values = {option_name: arguments.pop(option_name) for option_name in option_names}
            arguments[name] = group_class(**values)
        function(**arguments)

    command.__signature__ = Signature(own_options + shared_options)  # type: ignore[attr-defined]  # typer and inspect read it
    command.__annotations__ = {}
    return command


def _to_typer_option(option: Parameter, title: str | None) -> Parameter:
    """Convert an option to a parameter of typer, in the group with a title."""
    value_type, help_ = get_args(option.annotation)
    settings: dict[str, Any] = {"help": help_.text, "min": help_.lowest, "max": help_.highest}
    names = help_.names
    if help_.argument:
        settings |= {"show_default": False, "metavar": option.name.upper()}
    else:
        settings |= {"rich_help_panel": title, "metavar": _find_metavar(value_type)}
    if value_type is bool and not names:  # else typer adds --no-NAME
        names = (f"--{option.name.replace('_', '-')}",)
    build: Any = typer.Argument if help_.argument else typer.Option
    annotation = Annotated[value_type, build(*names, **settings)]  # type: ignore[valid-type]  # a type that is known at run time only
    return option.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation)


def _find_metavar(annotation: Any) -> str | None:
    """Return the word for a value of an option. Return None if typer lists the choices, or there is no value."""
    # The type itself, the members of a union such as `int | None`, and the types of the items of a list.
    types = {annotation}
    for inner in get_args(annotation):
        types.add(inner)
        types.update(get_args(inner))
    if Path in types:
        return "PATH"
    if str in types:
        return "TEXT"
    if int in types or float in types:
        return "NUMBER"
    return None


@dataclass(frozen=True)
class _Conversion:
    """Converts the values of one parameter. It leaves to typer only what cannot be converted by a plain rule.

    typer makes a validator of pydantic for each parameter. Loading pydantic takes a tenth of the start of ``score``.

    Attributes:
        load_typer_conversion: Load the conversion of typer.
    """

    load_typer_conversion: Callable[[], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value of the command line, or a default, as a value of the parameter's type; typer calls this method."""
        source = ctx.get_parameter_source(param.name)
        is_default = source is None or source.name == "DEFAULT"
        # An option that takes two values is None if it is left out.
        takes_several = param.multiple or param.nargs == -1
        if is_default and type(value) in _TYPES_OF_DEFAULTS:
            return () if takes_several and value is None else value
        annotation = param.type_descriptor.annotation
        if annotation is str and isinstance(value, str):
            return value
        if annotation is Path and isinstance(value, str):
            return Path(value)
        if annotation == list[str] and isinstance(value, (list, tuple)):
            return list(value)
        return self.load_typer_conversion().coerce(value, param=param, ctx=ctx)


def convert_without_pydantic(parameters: list[Any]) -> list[Any]:
    """Let the parameters of a command convert their values as `_Conversion` says, and return the parameters."""
    for parameter in parameters:
        load_typer_conversion = getattr(parameter, "get_runtime_param", None)
        # An old typer, which does not use pydantic, has no such method.
        if load_typer_conversion is not None and "get_runtime_param" not in vars(parameter):
            parameter.get_runtime_param = partial(_Conversion, load_typer_conversion)
    return parameters


class GroupedCommand(TyperCommand):
    """A command whose help begins with what it does and an example, and lists the options in their groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them. typer calls this method before it reads the command line."""
        return convert_without_pydantic(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the command.

        Raises:
            ParameterError: There is a word too many. The message has a suggestion.
        """
        ctx.allow_extra_args = True
        extra_words: list[str] = super().parse_args(ctx, args)
        if extra_words:
            explanation = explain_extra(extra_words[0], self)
            raise ParameterError(f"{explanation} Try: {ctx.command_path} --help")
        return extra_words

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does, an example, how it is called, and its options."""
        formatter.write_text(self.help or "")
        example = read_data("evaluation.cli", "words.toml")["examples"].get(self.name)
        if example:
            formatter.write(f"\n  {example}\n\n")
        self.format_usage(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the required arguments, then the options of each group under its title. Options of every command come last."""
        required: list[tuple[str, str]] = []
        # The lines of each section, by its title. A line has the option and its purpose.
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": required, "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:  # a hidden option
                continue
            if parameter.param_type_name == "argument":
                _, text = record
                required.append((parameter.metavar or "", text))
            elif parameter.required:
                required.append(record)
            elif any(name in _OPTIONS_OF_EVERY_COMMAND for name in parameter.opts):
                sections.setdefault("Options of every command", []).append(record)
            else:
                title = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault(title.rstrip("."), []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
