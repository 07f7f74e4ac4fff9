"""Break a folder of the core in small ways and see whether its tests notice: ``python benchmarks/run.py mutants FOLDER``.

FOLDER is one of ``core/ctxmetrics`` with tests of the same name in ``tests/core``, such as ``formulas`` or ``evaluation/comparison``.
A mutant changes one comparison, operator, number or branch of one file. Each one is written into a copy of the repository, where
the quick tests of the folder run until one fails. The seed decides which mutants are drawn: two versions of the tests are compared by
the same seed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 600
"""After so long a mutant without an end is noticed."""
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    file: Path
    line: int
    before: str
    after: str
    source: str


def change(node: ast.AST) -> ast.AST | None:
    """Return what stands in place of a node; None where it is no place to change."""
    changed: ast.AST | None = None
    match node:
        case ast.Compare(left, [operator], others) if type(operator) in COMPARISONS:
            changed = ast.Compare(left, [COMPARISONS[type(operator)]()], others)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            changed = ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.BoolOp(operator, values):
            changed = ast.BoolOp(OPERATORS[type(operator)](), values)
        case ast.UnaryOp(ast.Not(), operand):
            changed = operand
        case ast.Constant(bool() as value):
            changed = ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            changed = ast.Constant(value + 1)
        case ast.IfExp(condition, then, otherwise):
            changed = ast.IfExp(condition, otherwise, then)
    return changed


def walk_code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: an annotation is never evaluated, and no f-string is taken apart."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from walk_code(child)


def list_mutants(file: Path) -> Iterator[Mutant]:
    """Yield all mutants of a file."""
    source = file.read_text(encoding="utf-8")
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for node in walk_code(ast.parse(source)):
        changed = change(node)
        if changed is None:
            continue
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        whole = source.encode()
        before = whole[begin:end].decode()
        after = f"({ast.unparse(ast.fix_missing_locations(changed))})"
        mutated = whole[:begin] + after.encode() + whole[end:]
        yield Mutant(file, node.lineno, before, after, mutated.decode())


def draw(folder: str, count: int, seed: int) -> list[Mutant]:
    """Draw mutants of all files of a folder."""
    files = sorted((ROOT / "core" / "ctxmetrics" / folder).rglob("*.py"))
    mutants = [mutant for file in files for mutant in list_mutants(file)]
    return random.Random(seed).sample(mutants, min(count, len(mutants)))


def copy_repository(place: Path) -> dict[str, str]:
    """Copy the repository; return the environment in which its tests see the copy."""
    without = shutil.ignore_patterns("__pycache__", ".*", "site", "dist")
    shutil.copytree(ROOT, place, ignore=without, dirs_exist_ok=True)
    folders = [str(place / "core"), str(place / "adapters")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    # What is compiled of unchanged files stays from run to run: to compile them takes longer than most tests.
    environment["PYTHONPYCACHEPREFIX"] = str(place / "bytecode")
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def write_source(path: Path, source: str, version: int) -> None:
    """Write a file with a time of its own: Python knows by size and second whether what it compiled is of this source."""
    path.write_text(source, encoding="utf-8")
    os.utime(path, (version, version))


def find_failure(place: Path, environment: dict[str, str], tests: list[str]) -> str:
    """Run the tests until one fails; return what pytest printed of it, empty where none fails."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
    ]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no end after {SECONDS} s"
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}"


def run(argv: list[str]) -> dict:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("folder", help="such as formulas, judges/llm or evaluation/comparison")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="+", help="in place of the folder's own")
    options = parser.parse_args(argv)
    tests = options.tests or [f"tests/core/{options.folder}"]
    mutants = draw(options.folder, options.count, options.seed)
    if not mutants:
        parser.error(f"core/ctxmetrics/{options.folder} has nothing to change")
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        place = Path(name)
        environment = copy_repository(place)
        if failure := find_failure(place, environment, tests):
            parser.error(f"the tests fail without a change: {failure[-2000:]}")
        for number, mutant in enumerate(mutants, 1):
            path = mutant.file.relative_to(ROOT)
            original = mutant.file.read_text(encoding="utf-8")
            write_source(place / path, mutant.source, version=2 * number)
            found = bool(find_failure(place, environment, tests))
            write_source(place / path, original, version=2 * number + 1)
            noticed += found
            if not found:
                print(
                    f"NOT NOTICED  {path}:{mutant.line}  {mutant.before!r} -> {mutant.after!r}",
                    flush=True,
                )
            print(f"{number} of {len(mutants)}, {noticed} noticed", file=sys.stderr, flush=True)
    return {"folder": options.folder, "seed": options.seed, "mutants": len(mutants), "noticed": noticed}
