"""Break `formulas.py` in every small way and see whether the tests notice.

    python tests/mutation/run.py

It works on a copy in a temporary folder, takes some minutes, prints every change that no test noticed, and ends
with 1 when fewer than 95 % were noticed. Changes that change nothing (`EQUIVALENT`) count as not noticed all the
same. Needs cosmic-ray (``pip install cosmic-ray``) beside the dev extra.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIG = "tests/mutation/formulas.toml"
AT_LEAST = 0.95

# The changed line -> why no test can notice it.
EQUIVALENT = {
    "if not TYPE_CHECKING:": "the imports are for annotations, which are never evaluated",
    "if ideal_sum >= math.inf:": "nothing is greater than infinity",
    'return grades if gain >= "linear" else [_exponential(grade) for grade in grades]': (
        "of the two names that get here, 'exponential' sorts before 'linear'"
    ),
    'if denominator is "k":': "CPython keeps one object for every string of one ASCII character",
    "if not 0.0 <= number != math.inf:  # false for NaN too": "nothing is greater than infinity",
    "largest = sorted((gain for gain in gains if gain != 0), reverse=True)": "no gain is negative here",
    "return tuple(True in column for column in zip(*_matrix(matrix), strict=False))": "the rows are equally long",
    "for context, column in enumerate(zip(*_matrix(matrix), strict=False)):": "the rows are equally long",
}


def copy_to(folder: Path) -> dict[str, str]:
    """Copy what the tests need, and return the environment in which they see the copy."""
    without = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("core", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=without)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(folder / "core"),
        "PYTHONDONTWRITEBYTECODE": "1",  # a changed file of the same size and second would run from the old one
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the frameworks' plugins double the time of a start
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    if importlib.util.find_spec("cosmic_ray") is None:
        print("cosmic-ray is not installed. Install it with: pip install cosmic-ray", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        folder = Path(name)
        environment = copy_to(folder)

        def run(*command: str) -> str:
            done = subprocess.run(
                [sys.executable, "-m", *command],
                cwd=folder,
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            return done.stdout

        run("cosmic_ray.cli", "baseline", CONFIG)  # the tests pass on the unbroken file
        run("cosmic_ray.cli", "init", CONFIG, "session.sqlite")
        run("cosmic_ray.tools.filters.operators_filter", "session.sqlite", CONFIG)
        run("cosmic_ray.cli", "exec", CONFIG, "session.sqlite")
        lines = run("cosmic_ray.cli", "dump", "session.sqlite").splitlines()

    tested = [result for _, result in map(json.loads, lines) if result["worker_outcome"] != "skipped"]
    survivors = [result["diff"] for result in tested if result["test_outcome"] == "survived"]
    unnoticed = [diff for diff in survivors if not EQUIVALENT.keys() & added_lines(diff)]
    for diff in unnoticed:
        print(diff, end="\n\n")
    killed = len(tested) - len(survivors)
    print(
        f"{killed} of {len(tested)} changes noticed ({killed / len(tested):.1%}); "
        f"{len(survivors) - len(unnoticed)} change nothing, {len(unnoticed)} went unnoticed"
    )
    return 0 if killed >= AT_LEAST * len(tested) else 1


def added_lines(diff: str) -> set[str]:
    return {line[1:].strip() for line in diff.splitlines() if line.startswith("+")}


if __name__ == "__main__":
    sys.exit(main())
