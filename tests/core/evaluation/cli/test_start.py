"""The start of a command loads only what the command needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ctxmetrics.evaluation.cli._commands import COMMANDS, load_function

# Prints which of some modules ``score`` has loaded at its end.
_SCRIPT = """
import contextlib, io, sys
from ctxmetrics.evaluation.cli._app import app
with contextlib.redirect_stdout(io.StringIO()):
    app(["score", "examples/handbook.jsonl", "--metric", "id_based_context_recall"], standalone_mode=False)
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_score_loads_neither_pydantic_nor_other_commands():
    unneeded = ["pydantic", "ctxmetrics.evaluation.cli.label", "ctxmetrics.evaluation.report.searches"]
    command = [sys.executable, "-c", _SCRIPT, *unneeded]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_a_function_of_its_name(name):
    assert load_function(name).__name__.replace("_", "-") == name
