"""How much code the core and the adapters are: statements, the longest functions, the mean line.

Statements are what Python's parser counts (``ast.stmt``), so that denser lines gain nothing; the mean line shows where
lines become denser. Exits with 1 above a limit. ``--list`` prints the statements of each folder.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

STATEMENTS = 15_700
"""The most statements in all."""
FUNCTION = 50
"""The most lines of a function without its docstring."""
LINE = 48.7
"""The most characters of the mean line that is not blank."""


def run(argv: list[str]) -> dict:
    sizes, over, lines = Counter(), [], []
    for path in sorted([*(ROOT / "core").rglob("*.py"), *(ROOT / "adapters").rglob("*.py")]):
        text = path.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        sizes[path] = sum(isinstance(node, ast.stmt) for node in nodes)
        lines += [line for line in text.splitlines() if line.strip()]
        over += [
            f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines (at most {FUNCTION})"
            for node in nodes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and (length := lines_of(node)) > FUNCTION
        ]
    if "--list" in argv:
        folders = Counter()
        for path, size in sizes.items():
            folders[path.parent.relative_to(ROOT)] += size
        for folder, size in folders.most_common():
            print(f"{size:6}  {folder}")
    figures = {
        "statements": sizes.total(),
        "modules": len(sizes),
        "mean_line": round(sum(map(len, lines)) / len(lines), 1),
    }
    for name, most in {"statements": STATEMENTS, "mean_line": LINE}.items():
        print(f"{name}: {figures[name]} (at most {most})")
        if figures[name] > most:
            over.append(f"{name}: {figures[name]} (at most {most})")
    return {**figures, "over": over}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (function.body[0].end_lineno - function.body[0].lineno + 1)
