"""The package itself: what it loads, what it says without its framework, how small and how dumb it is."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import ctxmetrics_langchain
from ctxmetrics.metrics import ALL_METRICS

PACKAGE = Path(ctxmetrics_langchain.__file__).parent
SOURCES = sorted(PACKAGE.glob("*.py"))


def run(code: str) -> str:
    paths = [str(PACKAGE.parents[1] / "core"), str(PACKAGE.parent)]
    prologue = f"import sys; sys.path[:0] = {paths!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", prologue + code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def code_lines(path: Path) -> int:
    """Lines with code: no blank ones, no comments, no docstrings."""
    source = path.read_text(encoding="utf-8")
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for statement in (
            getattr(node, "body", None) or () if isinstance(getattr(node, "body", None), list) else ()
        ):
            value = getattr(statement, "value", None)
            if (
                isinstance(statement, ast.Expr)
                and isinstance(value, ast.Constant)
                and isinstance(value.value, str)
            ):
                texts.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    layout = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - texts)


def test_it_has_every_metric_under_its_name():
    for metric in ALL_METRICS.values():
        evaluator = getattr(ctxmetrics_langchain, f"{metric.__name__}Evaluator")
        assert evaluator.core_class is metric
        assert evaluator.__name__ in ctxmetrics_langchain.__all__
        assert metric.__name__ in evaluator.__doc__


def test_importing_it_loads_no_other_framework_and_not_langchain_classic():
    assert (
        run(
            "import ctxmetrics_langchain\n"
            "print([n for n in ('ragas', 'deepeval', 'langchain', 'langchain_classic', 'openai', 'pandas') if n in sys.modules])"
        )
        == "[]"
    )


def test_without_the_framework_the_message_holds_the_install_command():
    for missing in (["langchain_core"], ["langchain_core", "langsmith"]):
        text = run(
            f"sys.modules.update(dict.fromkeys({missing!r}))\n"
            "try:\n    import ctxmetrics_langchain\n"
            "except ImportError as error:\n    print(type(error).__name__, error)"
        )
        assert (
            text
            == "MissingExtraError langchain-core is not installed. Install it with: pip install 'ctxmetrics[langchain]'"
        )


def test_without_langchain_classic_only_string_evaluators_are_missing():
    text = run(
        "sys.modules['langchain_classic'] = None\n"
        "from ctxmetrics_langchain import ContextRecallEvaluator\n"
        "try:\n    ContextRecallEvaluator().as_string_evaluator()\n"
        "except ImportError as error:\n    print(error)"
    )
    assert (
        text
        == "langchain-classic is not installed. Install it with: pip install 'ctxmetrics[langchain-classic]'"
    )


def test_it_is_small():
    sizes = {path.name: code_lines(path) for path in SOURCES}
    print(sizes, sum(sizes.values()))
    assert sum(sizes.values()) <= 260


def test_it_computes_nothing_asks_nothing_and_switches_on_no_metric():
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
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
