"""Importing the core loads the standard library and nothing else; every public name is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import ctxmetrics
from ctxmetrics import reading

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


def test_judging_loads_no_framework() -> None:
    code = "from ctxmetrics import ContextRecall, Sample; ContextRecall().score(Sample(reference='A b c.', retrieved_contexts=['A b c.']))"
    assert loaded_by(code).isdisjoint(
        {"ragas", "deepeval", "langchain_core", "langsmith", "openai", "pandas"}
    )


def test_the_options_of_commands_load_no_readers() -> None:
    code = "from ctxmetrics.cli._options import Missing; from typing import get_args; print(*get_args(Missing))"
    loaded = loaded_by(code)
    assert "ctxmetrics.reading" not in loaded
    assert loaded >= set(get_args(reading.Missing))  # what the statement printed


def test_a_score_without_a_baseline_loads_no_comparison(tmp_path: Path) -> None:
    file = tmp_path / "ids.jsonl"
    file.write_text('{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]}\n')
    code = (
        "import atexit; from ctxmetrics.cli import main; sys.argv[1:] = ['score', "
        f"{str(file)!r}]; atexit.register(lambda: print(*sys.modules)); main()"
    )
    loaded = loaded_by(code)
    assert "ctxmetrics.cli.score" in loaded
    assert "ctxmetrics.results.comparison.compare" not in loaded


@pytest.mark.parametrize("name", ctxmetrics.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ctxmetrics, name) is not None
    assert name in dir(ctxmetrics)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ContextRecal'"):
        ctxmetrics.ContextRecal  # noqa: B018 - the access is the test
