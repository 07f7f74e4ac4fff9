"""The layout: imports point down, and no circle of them is hidden by a late import or under TYPE_CHECKING."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the top down. A module may import from its own layer and from those below it.
LAYERS = (
    ("cli", "__main__"),
    ("testing",),
    ("adapting",),
    ("tables", "agreement"),
    ("evaluation",),
    ("comparison",),
    ("report",),
    ("metrics",),
    ("judges",),
    ("prompts",),
    ("models", "_runtime"),
    ("files",),
    ("samples",),
    ("fields",),
    ("scores",),
    ("_wording",),
    ("conventions", "formulas", "text"),
    ("errors",),
    ("verdicts",),
    ("_frozen",),
)


def modules() -> dict[str, Path]:
    """Every module of the core and the adapters by its dotted name."""
    found = {}
    for folder in (ROOT / "core", ROOT / "adapters"):
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules that a file imports anywhere: at its top, in a function, under TYPE_CHECKING."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else node.module for name in inner}
    return found & known.keys()


def graph() -> dict[str, set[str]]:
    known = modules()
    # `ctxmetrics` itself loads its public names on first use, from all over the package.
    return {name: imports_of(path, known) - {name, "ctxmetrics"} for name, path in known.items()}


def test_the_graph_sees_late_imports_and_those_for_types(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ctxmetrics.samples import Sample\n"
        "def f():\n    from ctxmetrics import scores\n    import ctxmetrics.errors\n"
    )
    assert imports_of(file, modules()) == {"ctxmetrics.samples", "ctxmetrics.scores", "ctxmetrics.errors"}


def test_no_circle_of_imports():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' <- '.join(error.args[1])}")


def layer_of(module: str) -> int | None:
    part = module.removeprefix("ctxmetrics.").partition(".")[0]
    return next((level for level, names in enumerate(LAYERS) if part in names), None)


def test_imports_point_down():
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        if name.startswith("ctxmetrics.")
        for other in others
        if None not in (here := layer_of(name), there := layer_of(other)) and there < here
    ]
    assert not wrong


def test_the_core_imports_no_adapter():
    assert not {
        name
        for name, others in graph().items()
        if name.partition(".")[0] == "ctxmetrics"
        and any(not other.startswith("ctxmetrics.") for other in others)
    }
