"""Run a benchmark by name: ``python benchmarks/run.py NAME [args]``.

NAME is a file of `FOLDERS`, one question a folder, or of this one. Every one has ``run(argv) -> dict``. What it prints is for reading; its figures are printed last,
as one line of JSON. Where they have ``over``, a list of what is above its limit, the exit status is 1.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("speed", "faults", "validity", "decisions", ".")
# The fake server is in tests/support.
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]


def scripts() -> dict[str, Path]:
    paths = [path for folder in FOLDERS for path in (HERE / folder).glob("[!_]*.py")]
    return {path.stem: path for path in sorted(paths) if path.stem != "run"}


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"ctxmetrics_benchmark_{name}", scripts()[name])
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main(argv: list[str]) -> int:
    if not argv or argv[0] not in scripts():
        print(
            f"usage: python benchmarks/run.py NAME [args]; NAME is one of: {', '.join(scripts())}",
            file=sys.stderr,
        )
        return 2
    figures = load(argv[0]).run(argv[1:])
    print(json.dumps(figures, ensure_ascii=False))
    for line in figures.get("over", ()):
        print(f"above its limit: {line}", file=sys.stderr)
    return int(bool(figures.get("over")))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
