"""Break a module in every small way and see whether its tests notice.

    python tests/mutation/run.py [TARGET] [--sample N]

The targets are those of `TARGETS`; without one, the formulas. It works on a copy in a temporary folder, takes some
minutes for the formulas and hours for the others (``--sample`` tries N changes, drawn at random), prints every change that
no test noticed, and ends with 1 when fewer than 95 % were noticed. Changes that change nothing (`EQUIVALENT`) count as not
noticed all the same. Needs the dev extra.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AT_LEAST = 0.95

# Each target's module, and the tests that must notice a change in it. The quickest come first: they end most changes.
TARGETS = {
    # No oracles: numba takes its time.
    "formulas": (
        "formulas",
        "tests/core/formulas/test_formulas.py tests/properties/test_formulas_properties.py",
    ),
    "checking": (
        "judges/llm/checking.py",
        "tests/core/judges/llm/test_replies.py tests/conformance/test_core.py tests/core/judges/llm/test_judge.py",
    ),
    "splitting": (
        "judges/llm/splitting.py",
        "tests/core/judges/llm/test_splitting.py tests/core/judges/llm/test_judge.py",
    ),
    "figures": ("agreement/figures.py", "tests/core/evaluation/agreement/test_agree.py"),
    "means": ("results/labels/means.py", "tests/core/evaluation/statistics/test_paired.py"),
    "paired": ("statistics/paired.py", "tests/core/evaluation/statistics/test_paired.py"),
    "engine": (
        "running/engine.py",
        "tests/core/evaluation/runs/test_engine.py tests/core/evaluation/runs/test_results.py",
    ),
}

CONFIG = """
[cosmic-ray]
module-path = "core/ctxmetrics/{module}"
timeout = 120.0
excluded-modules = []
test-command = "python -m pytest -x -q {tests}"

[cosmic-ray.distributor]
name = "local"

[cosmic-ray.filters.operators-filter]
# The only `|` are `float | None` in annotations, which are never evaluated.
exclude-operators = ["core/ReplaceBinaryOperator_BitOr_.*"]
"""

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
    "if batch and (size > limit or len(batch) == most or batch[-1].rank is piece.rank):": (
        "all pieces of a context have one object as their rank"
    ),
    "units = [] if alone else [_Piece(index, 1, text) for index, text in enumerate(request.units)]": (
        "evidence stands in contexts: the place of a unit's first character is not read"
    ),
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
        "PYTHONPYCACHEPREFIX": str(folder / "none"),  # tests/conftest.py would write it elsewhere
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the frameworks' plugins double the time of a start
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", choices=TARGETS, default="formulas")
    parser.add_argument("--sample", type=int, metavar="N", help="try N changes, drawn at random")
    options = parser.parse_args()
    module, tests = TARGETS[options.target]
    if importlib.util.find_spec("cosmic_ray") is None:
        print("cosmic-ray is not installed. Install it with: pip install cosmic-ray", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        folder = Path(name)
        environment = copy_to(folder)
        (folder / "config.toml").write_text(CONFIG.format(module=module, tests=tests), encoding="utf-8")

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

        run("cosmic_ray.cli", "baseline", "config.toml")  # the tests pass on the unbroken file
        run("cosmic_ray.cli", "init", "config.toml", "session.sqlite")
        run("cosmic_ray.tools.filters.operators_filter", "session.sqlite", "config.toml")
        if options.sample:
            keep_some(folder / "session.sqlite", options.sample)
        run("cosmic_ray.cli", "exec", "config.toml", "session.sqlite")
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


def keep_some(session: Path, count: int) -> None:
    """Delete all changes of a session but some, drawn with a fixed seed."""
    with sqlite3.connect(session) as database:
        skipped = {job for (job,) in database.execute("SELECT job_id FROM work_results")}
        jobs = sorted(
            job for (job,) in database.execute("SELECT job_id FROM work_items") if job not in skipped
        )
        kept = set(random.Random(0).sample(jobs, min(count, len(jobs))))
        for table in ("work_results", "mutation_specs", "work_items"):
            found = database.execute(f"SELECT job_id FROM {table}")  # noqa: S608 - names from here
            rows = [(job,) for (job,) in found if job not in kept]
            database.executemany(f"DELETE FROM {table} WHERE job_id = ?", rows)  # noqa: S608 - names from here


def added_lines(diff: str) -> set[str]:
    return {line[1:].strip() for line in diff.splitlines() if line.startswith("+")}


if __name__ == "__main__":
    sys.exit(main())
