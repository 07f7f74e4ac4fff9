"""Suggestions for a word that is no command, and for an option that its command does not have."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ctxmetrics._internal.data_files import read_data
from ctxmetrics._internal.near_names import find_near


def explain_command(words: Sequence[str], commands: Iterable[str]) -> str:
    """Say that the first word is no command. Suggest the nearest command, or `score` if the word is a file or a metric."""
    from ctxmetrics.metrics.metric_names import list_possible_names

    first_word, *other_words = words
    command_names = list(commands)
    problem = f"{first_word!r} is no command."
    if first_word == "help":
        return f"{problem} Did you mean: ctxmetrics {shlex.join([*other_words, '--help'])}"
    if first_word == "version":
        return f"{problem} Did you mean: ctxmetrics --version"
    if Path(first_word).is_file():
        return f"{problem} Did you mean: ctxmetrics {shlex.join(['score', *words])}"
    suggestion = find_near(first_word, command_names)
    if suggestion is None:
        suggestion = _read_user_words("other_commands").get(first_word.lower())
    if suggestion is not None:
        return f"{problem} Did you mean: ctxmetrics {shlex.join([suggestion, *other_words])}"
    if list_possible_names(first_word):
        metric = shlex.quote(first_word)
        return f"{problem} It names a metric: ctxmetrics score FILE --metric {metric}"
    return f"{problem} Choose from: {', '.join(command_names)}. Try: ctxmetrics --help"


def explain_extra(word: str, command: Any) -> str:
    """Say that a command takes no further word. Suggest the option or command that may be meant."""
    from ctxmetrics.metrics.metric_names import list_possible_names

    problem = f"{word!r} is one word too many."
    if list_possible_names(word) and "--metric" in _list_options(command):
        return f"{problem} It names a metric. Write --metric {word}."
    if command.name == "score" and Path(word).is_file():
        return f"{problem} Score one file after the other; `ctxmetrics compare` compares their results."
    return problem


def explain_option(option: str, command: Any, others: Mapping[str, Any]) -> str:
    """Say that a command has no such option. Suggest another option, a metric's parameter or another command."""
    problem = f"No such option: {option}."
    word = option.lstrip("-")
    options = _list_options(command)
    if f"--{word}" in options:
        return f"{problem} Did you mean --{word}?"
    parameter = _read_user_words("metric_parameters").get(word)
    if parameter is not None and "--metric" in options:
        return f"{problem} It is a parameter of metrics: --metric 'context_recall({parameter})'"
    commands_with_option = [name for name, other in others.items() if option in _list_options(other)]
    if commands_with_option:
        return f"{problem} It is an option of: {', '.join(commands_with_option)}."
    suggestion = find_near(option, options)
    if suggestion is None:
        # An option, perhaps with a value.
        our_words = _read_user_words("other_options").get(word.lower(), "")
        our_option = f"--{our_words}".split(" ")[0]
        if our_option in options:
            suggestion = f"--{our_words}"
    return problem if suggestion is None else f"{problem} Did you mean {suggestion}?"


def _list_options(command: Any) -> list[str]:
    """List the long options of a command."""
    return [name for parameter in command.params for name in parameter.opts if name.startswith("--")]


@cache
def _read_user_words(table: str) -> Mapping[str, str]:
    """Read a table of the words that users write instead of ours."""
    words: Mapping[str, str] = read_data("evaluation.cli", "words.toml")[table]
    return words
