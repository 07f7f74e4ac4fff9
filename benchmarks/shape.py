"""The shape of the core and the adapters: how much code a reader meets, and how dense its lines are.

Lines of code are without blank lines, comments and docstrings. Density is counted for a thousand statements without
docstrings. These figures have no limit: `tests/core/test_limits.py` has those of the structure. Exits with 1 where a name names
nothing, or several modules have one name.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Limits: the most of each figure.
LIMITS = {
    "participles": 300,
}
# Participles that name nothing: a name says what the thing is.
PARTICIPLES = frozenset({"found", "given", "said", "told", "asked", "shown", "seen", "kept"})
# Names that packages may share: each has the same part for its own subject.
MIRRORED = frozenset({"__init__", "__main__", "base", "judge", "model", "models", "runners"})
# A module here is named after its counterpart elsewhere: a command after what it runs, a metric's formulas after the metric,
# an adapter's module after the part of the core or of another adapter that it mirrors.
MIRRORS = (
    "adapters/",
    "core/ctxmetrics/evaluation/cli/",
    "core/ctxmetrics/formulas/",
    "core/ctxmetrics/evaluation/statistics/",
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)


@dataclass(frozen=True)
class Module:
    """What is counted in one file."""

    path: Path
    lines: int
    statements: int
    comprehensions: int
    ternaries: int
    pairs: int
    participles: int
    nested: int
    functions: tuple[tuple[int, str], ...]


def run(argv: list[str]) -> dict:
    modules = [
        measure(path)
        for folder in ("core", "adapters")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    figures = summarize(modules)
    over = []
    for name, most in LIMITS.items():
        print(f"{name}: {figures[name]} (at most {most})")
        if figures[name] > most:
            over.append(f"{name}: {figures[name]} (at most {most})")
    for name in (
        "modules",
        "statements",
        "lines of code",
        "pairs",
        "comprehensions",
        "ternaries",
        "nested",
    ):
        print(f"{name}: {figures[name]}")
    print(f"longest function: {figures['longest function']}, {figures['longest function is']}")
    repeated = f"names of several modules: {', '.join(figures['duplicate names']) or 'none'}"
    print(repeated)
    if figures["duplicate names"]:
        over.append(repeated)
    return {**figures, "over": over}


def summarize(modules: list[Module]) -> dict:
    statements = sum(module.statements for module in modules)
    paths = [module.path.relative_to(ROOT) for module in modules]
    names = Counter(path.stem for path in paths if not path.as_posix().startswith(MIRRORS))
    longest, where = max(
        (length, f"{m.path.relative_to(ROOT)}:{name}") for m in modules for length, name in m.functions
    )
    return {
        "lines of code": sum(module.lines for module in modules),
        "modules": len(modules),
        "statements": statements,
        "comprehensions": round(
            1000 * sum(module.comprehensions for module in modules) / statements, 1
        ),
        "ternaries": round(1000 * sum(module.ternaries for module in modules) / statements, 1),
        "pairs": round(1000 * sum(module.pairs for module in modules) / statements, 1),
        "nested": sum(module.nested for module in modules),
        "participles": sum(module.participles for module in modules),
        "longest function": longest,
        "longest function is": where,
        "duplicate names": sorted(
            name for name, count in names.items() if count > 1 and name not in MIRRORED
        ),
    }


def measure(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = [docstring for node in nodes if (docstring := find_docstring(node))]
    return Module(
        path=path,
        lines=count_lines(text, docstrings),
        statements=sum(isinstance(node, ast.stmt) for node in nodes) - len(docstrings),
        comprehensions=sum(isinstance(node, COMPREHENSIONS) for node in nodes),
        ternaries=sum(isinstance(node, ast.IfExp) for node in nodes),
        pairs=sum(is_pair(node) for node in nodes),
        participles=sum(is_participle(node) for node in nodes),
        nested=sum(count_nested(node) for node in nodes),
        functions=tuple(
            (count_function(node), node.name) for node in nodes if isinstance(node, FUNCTIONS)
        ),
    )


def find_docstring(node: ast.AST) -> ast.stmt | None:
    """Return the statement that is the docstring of a module, class or function."""
    if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) or ast.get_docstring(node) is None:
        return None
    return node.body[0]


def count_lines(text: str, docstrings: list[ast.stmt]) -> int:
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for docstring in docstrings:
        code.difference_update(range(docstring.lineno, docstring.end_lineno + 1))
    return len(code)


def is_pair(node: ast.AST) -> bool:
    """Whether several values are assigned in one line: ``a, b = x, y``."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def is_participle(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
    return name in PARTICIPLES


def count_nested(node: ast.AST) -> int:
    """Count what stands inside a comprehension or a ternary and is one itself."""
    if isinstance(node, COMPREHENSIONS):
        return sum(isinstance(inner, COMPREHENSIONS) for inner in ast.walk(node)) - 1
    if isinstance(node, ast.IfExp):
        return sum(isinstance(inner, ast.IfExp) for inner in ast.walk(node)) - 1
    return 0


def count_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many lines a function has without its docstring."""
    lines = function.end_lineno - function.lineno + 1
    docstring = find_docstring(function)
    if docstring is None:
        return lines
    return lines - (docstring.end_lineno - docstring.lineno + 1)
