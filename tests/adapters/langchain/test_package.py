"""The package itself: what it loads, what it says without its framework, and that it holds no logic of its own."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmetrics.errors import install_command
from ctxmetrics.metrics.catalog import ALL_METRICS
from support.deadlines import LONGEST_PROCESS
from support.later import later
from support.trees import parse

ours = later("ctxmetrics_langchain")


PACKAGE = Path(__file__).parents[3] / "adapters" / "ctxmetrics_langchain"
SOURCES = sorted(PACKAGE.glob("*.py"))


def run(code: str) -> str:
    paths = [str(PACKAGE.parents[1] / "core"), str(PACKAGE.parent)]
    prologue = f"import sys; sys.path[:0] = {paths!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", prologue + code],
        capture_output=True,
        text=True,
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_has_every_metric_under_its_name():
    for metric in ALL_METRICS.values():
        evaluator = getattr(ours, f"{metric.__name__}Evaluator")
        assert evaluator.core_class is metric
        assert evaluator.__name__ in ours.__all__
        assert metric.__name__ in evaluator.__doc__


@pytest.mark.slow
def test_import_loads_no_other_framework_nor_classic():
    names = ("ragas", "deepeval", "langchain", "langchain_classic", "openai", "pandas")
    loaded = run(
        "import langchain_core.globals\n"  # before 1.0 it loads langchain itself, where that is installed
        "before = set(sys.modules)\n"
        "import ctxmetrics_langchain\n"
        f"print([n for n in {names} if n in sys.modules and n not in before])"
    )
    assert loaded == "[]"


def test_message_without_the_framework_holds_install_command():
    for missing in (["langchain_core"], ["langchain_core", "langsmith"]):
        text = run(
            f"sys.modules.update(dict.fromkeys({missing!r}))\n"
            "try:\n    import ctxmetrics_langchain\n"
            "except ImportError as error:\n    print(type(error).__name__, error)"
        )
        assert (
            text
            == f"MissingExtraError langchain-core is not installed. Install it with: {install_command('langchain')}"
        )


@pytest.mark.slow
def test_only_string_evaluators_need_langchain_classic():
    text = run(
        "sys.modules['langchain_classic'] = None\n"
        "from ctxmetrics_langchain import ContextRecallEvaluator\n"
        "try:\n    ContextRecallEvaluator().as_string_evaluator()\n"
        "except ImportError as error:\n    print(error)"
    )
    assert (
        text
        == f"langchain-classic is not installed. Install it with: {install_command('langchain-classic')}"
    )


def test_package_computes_nothing_and_switches_on_no_metric():
    for path in SOURCES:
        tree = parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitOr):
                text = isinstance(node.op, ast.Add) and all(
                    isinstance(side, (ast.Call, ast.IfExp, ast.JoinedStr, ast.Constant))
                    for side in (node.left, node.right)
                )
                assert text, f"{path.name}:{node.lineno} calculates"
        code = re.sub(r'""".*?"""', "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\bif .*(metric|core)\w*\.(name|base_name)|isinstance\(.*core\.", code)
        assert not [name for name in ALL_METRICS if f'"{name}"' in code]
