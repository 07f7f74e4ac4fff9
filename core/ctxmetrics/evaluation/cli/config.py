"""Options in a file: ``ctxmetrics.toml``, or ``[tool.ctxmetrics]`` in pyproject.toml."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, Unpack, get_args, get_origin

import typer

from ctxmetrics._internal.display import replace_invisible
from ctxmetrics._internal.near_names import suggest, suggest_file
from ctxmetrics._internal.secrets import is_name_of_key, looks_like_key
from ctxmetrics.errors import InputFileError
from ctxmetrics.evaluation.cli import score
from ctxmetrics.evaluation.cli._commands import COMMANDS
from ctxmetrics.evaluation.cli._options import CONFIG_NAME, Gates, Judging, SampleFile, Selection
from ctxmetrics.evaluation.cli._terminal import print_message

if TYPE_CHECKING:
    from ctxmetrics.evaluation.runs.options import RunOptions
    from ctxmetrics.evaluation.runs.results import Results

_PROJECT_FILE = "pyproject.toml"
_TABLE_BEGINNING = "[tool.ctxmetrics"
# The command whose options stand at the top of the file.
_MAIN_COMMAND = "score"
# The commands that share the options of the main command, if they have options of the same names.
_COMMANDS_WITH_MAIN_OPTIONS = ("inspect", "estimate", "doctor")
# Options of compare that are shared as well.
_SHARED_GATE_OPTIONS = {"max_drop", "not_worse"}
# The commands that take no option from a file.
_COMMANDS_WITHOUT_OPTIONS = ("demo", "init", "metrics")
_Group = TypeVar("_Group", SampleFile, Selection, Judging, Gates, score.Budget, score.Output)


@dataclass(frozen=True)
class Config:
    """The options of a configuration file.

    Attributes:
        path: The file.
        commands: The options of each command by its name, each by the name of its parameter. Paths are relative to the
            folder of the file.
    """

    path: Path
    commands: Mapping[str, Mapping[str, Any]]

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Load a configuration file.

        Args:
            path: A TOML file; None: the nearest ctxmetrics.toml, or pyproject.toml with ``[tool.ctxmetrics]``, in the
                current directory or above it.

        Raises:
            InputFileError: The file does not exist or is no TOML, or a key or a value does not belong to an option.
        """
        config_path = _find_config_file() if path is None else Path(path)
        if config_path is None:
            raise InputFileError(
                f"no {CONFIG_NAME} is here or above, and no {_PROJECT_FILE} with {_TABLE_BEGINNING}]. Write one: ctxmetrics init FILE."
            )
        return cls(config_path, _Reader(config_path).read())

    @property
    def baseline(self) -> Path | None:
        """The file that ``first`` of ``[compare]`` names."""
        return self.commands["compare"].get("first")

    @property
    def margin(self) -> dict[str, float]:
        """The margins of ``not-worse`` of ``[compare]`` by metric, as `ctxmetrics.testing.assert_not_worse` takes them."""
        from ctxmetrics.evaluation.cli._gates import read_name_and_value

        texts = self.commands["compare"].get("not_worse", ())
        return dict(read_name_and_value("not-worse", text) for text in texts)

    def evaluate(self, **options: Unpack[RunOptions]) -> Results:
        """Score the file of the configuration as ``ctxmetrics score`` does, without its gates and outputs.

        Args:
            **options: Those of `ctxmetrics.evaluate`; they win over the file.

        Raises:
            InputFileError: The configuration names no ``file``, or it cannot be read.
        """
        from ctxmetrics.evaluation.cli._run import build_judge, build_task
        from ctxmetrics.evaluation.runs.evaluate import evaluate

        if "file" not in self.commands[_MAIN_COMMAND]:
            raise InputFileError(f'{self.path}: no samples. Write file = "samples.jsonl".')
        source = self._build_group(SampleFile)
        judge = build_judge(**vars(self._build_group(Judging)))
        samples, metrics, _ = build_task(source, self._build_group(Selection), judge)
        cache = self._build_group(score.Output).cache
        controls = self._build_group(Gates).controls
        # The caller's options override the options of the file.
        run_options: dict[str, Any] = {
            **vars(self._build_group(score.Budget)),
            "cache": cache,
            **options,
        }
        results = evaluate(samples, metrics, judge=judge, controls=controls, **run_options)
        results.source = str(source.file)
        return results

    def _build_group(self, group_class: type[_Group]) -> _Group:
        """Build a group of options from the main table of the file."""
        options = self.commands[_MAIN_COMMAND]
        names = [field.name for field in fields(group_class) if field.name in options]
        return group_class(**{name: options[name] for name in names})


def _find_config_file() -> Path | None:
    """Find the nearest configuration file in the current directory or above it. Its path is relative to the current directory."""
    try:
        current_folder = Path.cwd()
    except OSError:  # it was deleted meanwhile
        return None
    for folder in (current_folder, *current_folder.parents):
        own_file = folder / CONFIG_NAME
        project = folder / _PROJECT_FILE
        with suppress(OSError):  # a file or a folder above may not be readable
            if own_file.is_file():
                return Path(os.path.relpath(own_file))
            # Another tool's broken file is no error here.
            if project.is_file() and _TABLE_BEGINNING in project.read_text(
                encoding="utf-8", errors="replace"
            ):
                return Path(os.path.relpath(project))
    return None


def with_config(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--config``: the options of a file are its defaults."""
    if function.__name__ in _COMMANDS_WITHOUT_OPTIONS:
        return function
    option = Parameter("config", Parameter.KEYWORD_ONLY, default=None, annotation=_ConfigPath)

    @wraps(function)
    def command(**arguments: Any) -> None:
        """Call a command without the option that names the file of options."""
        del arguments[option.name]
        function(**arguments)

    old_signature = signature(function)
    parameters = [*old_signature.parameters.values(), option]
    command.__signature__ = old_signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # typer and inspect read it
    return command


def _use_config(context: typer.Context, path: Path | None) -> None:
    """Make the options of a configuration file the defaults of a command, and say which file it is."""
    config_path = path or _find_config_file()
    if config_path is None:
        return
    config = Config.load(config_path)
    options = config.commands[context.info_name or ""]
    defaults: dict[str, Any] = {}
    for name, value in options.items():
        defaults[name] = str(value) if isinstance(value, Path) else value
    context.default_map = defaults
    if options:
        print_message(f"options from {replace_invisible(str(config.path))}")


_ConfigPath = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help=f"A file of options. Without it: the nearest {CONFIG_NAME} or {_PROJECT_FILE}.",
        metavar="PATH",
        callback=_use_config,
        is_eager=True,
    ),
]


class _Reader:
    """Reads the options of a file and checks each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the options of every command by the names of their parameters."""
        signatures = {name: _list_parameters(command) for name, command in COMMANDS.items()}
        for name in _COMMANDS_WITHOUT_OPTIONS:
            del signatures[name]
        # The options of the main command stand at the top of the file. Every other command has a table of its name.
        main_options: dict[str, Any] = {}
        tables: dict[str, Any] = {}
        for key, value in self._read_tables().items():
            if key in signatures and key != _MAIN_COMMAND:
                tables[key] = value
            else:
                main_options[key] = value
        commands: dict[str, dict[str, Any]] = {name: {} for name in signatures}
        commands[_MAIN_COMMAND] = self._check(main_options, signatures[_MAIN_COMMAND], _MAIN_COMMAND)
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise InputFileError(f"{self.path}: {name} is a command. Write a table: [{name}].")
            commands[name] = self._check(table, signatures[name], name)
        _share_main_options(commands, signatures)
        return commands

    def _read_tables(self) -> dict[str, Any]:
        """Read the tables of a configuration file."""
        try:
            content = tomllib.loads(self.path.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputFileError(
                f"{self.path}: {error.strerror or error}.{suggest_file(self.path)}"
            ) from error
        except ValueError as error:  # no UTF-8, or no TOML
            raise InputFileError(f"{self.path} is no TOML file: {error}.") from error
        if self.path.name == _PROJECT_FILE:
            tools = content.get("tool", {})
            content = tools.get("ctxmetrics", {}) if isinstance(tools, dict) else {}
        if not isinstance(content, dict):
            raise InputFileError(f"{self.path}: ctxmetrics must be a table: {_TABLE_BEGINNING}].")
        return content

    def _check(
        self, table: Mapping[str, Any], parameters: Mapping[str, Parameter], command: str
    ) -> dict[str, Any]:
        """Check the options of a table against the options of a command. Return their values by parameter."""
        options = {}
        for key, value in table.items():
            parameter = parameters.get(key.replace("_", "-"))
            if parameter is None:
                raise InputFileError(self._explain_unknown(key, parameters, command))
            if parameter.name in options:
                raise InputFileError(f"{self.path}: {key} is there twice. Remove one.")
            options[parameter.name] = self._convert(key, value, parameter)
        return options

    def _explain_unknown(self, key: str, option_names: Iterable[str], command: str) -> str:
        """Explain a key that is no option of the command."""
        if is_name_of_key(key):
            return (
                f"{self.path}: {replace_invisible(key)}: a key has no place in a file that is committed. Put it into the "
                "environment, such as OPENAI_API_KEY."
            )
        hint = suggest(key, option_names)
        if not hint:
            hint = f" Keys are the options of ctxmetrics {command}."
        return f"{self.path}: {replace_invisible(key)} is unknown.{hint}"

    def _convert(self, key: str, value: Any, parameter: Parameter) -> Any:
        """Convert a value of the file to the type of a parameter.

        A table stands for a list of ``NAME=VALUE``: ``fail-under = {context_recall = 0.8}``.
        """
        from pydantic import TypeAdapter, ValidationError

        if looks_like_key(str(value)):  # before any message shows the value
            raise InputFileError(
                f"{self.path}: {key} holds a key. Put it into the environment, such as OPENAI_API_KEY."
            )
        value_type = get_args(parameter.annotation)[0]  # of Annotated[type, ..]
        takes_list = any(get_origin(type_) is list for type_ in (value_type, *get_args(value_type)))
        if takes_list and isinstance(value, str):
            value = [value]
        elif takes_list and isinstance(value, dict):
            is_flat = not any(isinstance(entry, (dict, list)) for entry in value.values())
            if is_flat:
                value = [f"{name}={entry}" for name, entry in value.items()]
        reason = "no text, number or list of them"
        try:
            # Strict JSON takes a text for a path, but not for a number, and it does not take true for a number.
            text = json.dumps(value, allow_nan=False)
            converted = TypeAdapter(value_type).validate_json(text, strict=True)
        except (TypeError, ValueError) as error:
            if isinstance(error, ValidationError):
                reason = error.errors()[0]["msg"].removeprefix("Input ")
            raise InputFileError(
                f"{self.path}: {key} = {replace_invisible(str(value))[:60]}: {reason}."
            ) from None
        return self._make_relative(converted)

    def _make_relative(self, value: Any) -> Any:
        """Return paths relative to the folder of the file."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._make_relative, value))
        return self.path.parent / value if isinstance(value, Path) else value


def _share_main_options(
    commands: Mapping[str, dict[str, Any]], signatures: Mapping[str, Mapping[str, Parameter]]
) -> None:
    """Give commands about the same run the options of the main command, and the gates of the comparison after it."""
    shared_options = {**commands[_MAIN_COMMAND]}
    for gate in _SHARED_GATE_OPTIONS:
        if gate in commands["compare"]:
            shared_options[gate] = commands["compare"][gate]
    for name in _COMMANDS_WITH_MAIN_OPTIONS:
        for parameter in signatures[name].values():
            if parameter.name in shared_options:
                commands[name].setdefault(parameter.name, shared_options[parameter.name])


def _list_parameters(command: Any) -> dict[str, Parameter]:
    """List a command's parameters, by the name of the option without its dashes: ``fail-under``."""
    parameters = {}
    for parameter in signature(command).parameters.values():
        option = parameter.annotation.__metadata__[0]
        # typer keeps the first name of an option as its `default`. Names with one dash are short forms.
        names = [option.default, *(option.param_decls or ()), parameter.name]
        long_name = next(
            name for name in names if isinstance(name, str) and not re.match("-[^-]", name)
        )
        positive_name, _, _ = long_name.partition("/")  # of "--header/--no-header"
        key = positive_name.removeprefix("--").replace("_", "-")
        parameters[key] = parameter
    return parameters
