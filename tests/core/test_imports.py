"""Importing the core loads the standard library and nothing else; every public name is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import ctxmetrics
import ctxmetrics.adapting
from ctxmetrics.evaluation.files.joining import Missing
from support.cases import each_case
from support.trees import parse

HEAVY = {
    "ragas", "deepeval", "langchain_core", "langchain", "langsmith", "openai", "pandas", "polars", "pyarrow", "numpy",
    "pydantic", "rapidfuzz", "sentencex", "anyio", "typer", "rich", "json_repair", "asyncio", "sqlite3", "mlflow",
    "pydantic_evals", "inspect_ai", "tenacity",
}  # fmt: skip


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import ctxmetrics").isdisjoint(HEAVY)


def test_id_metrics_load_nothing_heavy() -> None:
    code = (
        "from ctxmetrics import IDBasedContextRecall, Sample; "
        "IDBasedContextRecall().score(Sample(retrieved_context_ids=[1], reference_context_ids=[1]))"
    )
    assert loaded_by(code).isdisjoint(HEAVY - {"numpy"})


@pytest.mark.slow
def test_judging_loads_no_framework() -> None:
    code = "from ctxmetrics import ContextRecall, Sample; ContextRecall().score(Sample(reference='A b c.', retrieved_contexts=['A b c.']))"
    assert loaded_by(code).isdisjoint(
        {"ragas", "deepeval", "langchain_core", "langsmith", "openai", "pandas"}
    )


def test_the_options_of_commands_load_no_readers() -> None:
    code = "from ctxmetrics.evaluation.cli._options import MissingChoice; from typing import get_args; print(*get_args(MissingChoice))"
    loaded = loaded_by(code)
    assert "ctxmetrics.evaluation.files.joining" not in loaded
    assert loaded >= set(get_args(Missing))  # what the statement printed


@pytest.mark.slow
def test_a_score_without_a_baseline_loads_no_comparison(tmp_path: Path) -> None:
    file = tmp_path / "ids.jsonl"
    file.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n')
    code = (
        "import atexit; from ctxmetrics.evaluation.cli import main; sys.argv[1:] = ['score', "
        f"{str(file)!r}]; atexit.register(lambda: print(*sys.modules)); main()"
    )
    loaded = loaded_by(code)
    assert "ctxmetrics.evaluation.cli.score" in loaded
    assert "ctxmetrics.evaluation.comparison.compare" not in loaded


def names_of_import(alias: ast.alias, module: str | None) -> list[str]:
    if alias.name == "*":
        return [*import_module(module or "").__all__]
    return [alias.asname or alias.name]


def read_modules(stub: str) -> dict[str, str | None]:
    """Return the module of each name that a stub imports."""
    return {
        name: node.module
        for node in parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        for name in names_of_import(alias, node.module)
    }


@pytest.mark.parametrize("package", [ctxmetrics, ctxmetrics.adapting])
def test_stub_and_table_have_the_same_public_names(package: ModuleType) -> None:
    """Type checkers read the stub, and Python reads the table."""
    stub = Path(package.__file__ or "").with_suffix(".pyi").read_text(encoding="utf-8")
    modules = read_modules(stub)
    modules.pop("__version__", None)
    assert modules == package._MODULES


def test_public_names_of_an_import_over_several_lines() -> None:
    stub = "from ctxmetrics.verdicts import (\n    Evidence as Evidence,\n    Verdict as Verdict,\n)\n"
    assert read_modules(stub) == {"Evidence": "ctxmetrics.verdicts", "Verdict": "ctxmetrics.verdicts"}


@each_case("name", ctxmetrics.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ctxmetrics, name) is not None
    assert name in dir(ctxmetrics)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ContextRecal'"):
        ctxmetrics.ContextRecal  # noqa: B018 - the access is the test
