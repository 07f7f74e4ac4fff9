"""``public_usages.toml`` and the tests of its calling forms say the same."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from support.trees import parse

FOLDER = Path(__file__).parent
TABLE = tomllib.loads((FOLDER / "public_usages.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("framework", ["ragas", "deepeval", "langchain"])
def test_each_usage_has_its_test_and_the_reverse(framework: str) -> None:
    module = parse((FOLDER / framework / "test_public_code.py").read_text(encoding="utf-8"))
    tests = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            tests[node.name.removeprefix("test_")] = [argument.arg for argument in node.args.args]
    assert tests.keys() == TABLE[framework].keys()
    refused = {name for name, usage in TABLE[framework].items() if usage["result"] != "works"}
    assert refused == {name for name, arguments in tests.items() if "refusal" in arguments}


def test_there_are_forty_usages_each_with_its_columns() -> None:
    usages = [usage for usages in TABLE.values() for usage in usages.values()]
    assert len(usages) >= 40
    assert all(usage.keys() == {"repository", "does", "result"} for usage in usages)
