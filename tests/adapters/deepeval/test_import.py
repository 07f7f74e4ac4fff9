"""Importing the adapter: without DeepEval, with one that is too old, and what it brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ctxmetrics.errors import install_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IMPORT = """
try:
    import ctxmetrics_deepeval
except ImportError as error:
    print(type(error).__name__, error)
"""
MESSAGE = (
    "MissingExtraError deepeval 4.2 or newer is not installed. "
    f"Install it with: {install_command('deepeval')}\n"
)


def test_without_deepeval_the_error_names_the_install_command(python: Callable[..., str]) -> None:
    assert python("import sys; sys.modules['deepeval'] = None" + IMPORT) == MESSAGE


def test_an_old_deepeval_is_told_from_a_new_one(tmp_path: Path, python: Callable[..., str]) -> None:
    (tmp_path / "deepeval").mkdir()
    (tmp_path / "deepeval" / "__init__.py").touch()
    (tmp_path / "deepeval" / "test_case.py").write_text("class LLMTestCaseParams: ...")
    assert python(IMPORT, tmp_path) == MESSAGE


@pytest.mark.slow
def test_loads_no_other_framework_and_core_loads_no_adapter(python: Callable[..., str]) -> None:
    code = """
import sys
import ctxmetrics
assert not [name for name in sys.modules if name.startswith(("ctxmetrics_", "deepeval"))]
import deepeval
before = set(sys.modules)
import ctxmetrics_deepeval
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(loaded & {"ragas", "langchain", "langchain_core", "langsmith", "pandas", "mlflow"}))
"""
    assert python(code).splitlines()[-1] == "[]"
