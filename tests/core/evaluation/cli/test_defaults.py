"""Options that are not given take their defaults as they are."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main
from typer.core import TyperCommand

from ctxmetrics.evaluation.cli._app import app
from ctxmetrics.evaluation.cli._commands import COMMANDS

PROGRAM: Any = typer.main.get_command(app)


def build_context(command: str, *words: str) -> Any:
    built = PROGRAM.commands[command]
    assert isinstance(built, TyperCommand)
    return built.make_context(command, [*words])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_default_is_what_typer_makes_of_it(command: str) -> None:
    built = PROGRAM.commands[command]
    context = build_context("score", "samples.jsonl")
    source = context.get_parameter_source("max_calls")
    assert source.name == "DEFAULT"
    for parameter in built.params:
        if parameter.required or parameter.callback is not None:
            continue
        default = parameter.default
        context.set_parameter_source(parameter.name, source)
        taken = parameter.process_value(context, default)
        converted = type(parameter).process_value(parameter, context, default)
        assert (taken, type(taken)) == (converted, type(converted)), parameter.name


def test_a_value_that_is_given_is_converted() -> None:
    given = build_context("score", "samples.jsonl", "--timeout", "5", "--max-calls", "3").params
    assert (given["timeout"], given["max_calls"]) == (5.0, 3)
    assert isinstance(given["timeout"], float)


def test_a_default_that_a_file_of_options_names_is_converted(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxmetrics.toml").write_text("timeout = 7\nmax_calls = 3\n", encoding="utf-8")
    given = build_context("score", "samples.jsonl").params
    assert (given["timeout"], type(given["timeout"]), given["max_calls"]) == (7.0, float, 3)
