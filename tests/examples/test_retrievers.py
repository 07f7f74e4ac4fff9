"""The files of retrievers in `examples`, each run by the command as its first lines say."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from support.command import run_command
from support.trees import parse

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDED = {
    "own_store": "numpy",
    "langchain": "langchain_core",
    "llamaindex": "llama_index.core",
    "haystack": "haystack",
}
MOST_STATEMENTS = 20


@pytest.mark.parametrize("name", NEEDED)
def test_each_file_of_retrievers_is_short(name: str) -> None:
    tree = parse((EXAMPLES / f"retrievers_{name}.py").read_text(encoding="utf-8"))
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    imports = [node for node in statements if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert len(statements) - len(imports) <= MOST_STATEMENTS


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDED)
def test_each_file_of_retrievers_runs(name: str) -> None:
    pytest.importorskip(NEEDED[name])
    found = run_command(
        *("run", EXAMPLES / f"retrievers_{name}.py", "--questions", EXAMPLES / "handbook.jsonl"),
        *("-m", "context_recall", "-m", "id_based_context_recall", "--format", "json"),
    )
    assert found.returncode == 0, found.stderr
    settings = json.loads(found.stdout)["settings"]
    assert len(settings) == 2
    for setting in settings.values():
        assert setting["calls"]["errors"] == 0
        assert setting["calls"]["calls"] == 36
        assert setting["metrics"]["id_based_context_recall"]["mean"] > 0.4
