"""A rank metric is added in a copy of the project: what changes is listed, and the tests that know all metrics pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.deadlines import LONGEST_PROCESS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

DEFINITION = '''

@dataclass(frozen=True, kw_only=True)
class IDBasedRPrecision(IDMetric):
    """Reference ids among the first R, where R is how many there are.

    Nothing retrieved: 0.0. No reference ids: None, ``no_reference``. Source: ``Rprec`` of trec_eval.
    """

    base_name: ClassVar[str] = "id_based_r_precision"
    formula_name = "r_precision"

    def compare(
        self, retrieved: Sequence[str], reference: Iterable[str]
    ) -> tuple[float | None, Sequence[bool]]:
        """Count the hits down to the rank that is the number of reference ids."""
        _, hits = super().compare(retrieved, reference)
        return precision_at_k(hits, len({*reference} - {""})), hits
'''
TEST = """

def test_r_precision() -> None:
    from ctxmetrics import IDBasedRPrecision

    assert IDBasedRPrecision().score(RANKED).value == 2 / 3
"""
# Each file that a new rank metric touches, the text before which something is inserted, and what. None: the end.
EDITS: dict[str, list[tuple[str | None, str]]] = {
    "core/ctxmetrics/metrics/ids.py": [
        ('    "IDBasedRecallAtK",\n', '    "IDBasedRPrecision",\n'),
        (None, DEFINITION),
    ],
    "core/ctxmetrics/metrics/__init__.py": [
        ('    "SpanBasedContextRecall"', '    "IDBasedRPrecision": "ctxmetrics.metrics.ids",\n')
    ],
    "tests/core/metrics/test_ranks.py": [(None, TEST)],
    "CHANGELOG.md": [("- ", "- `IDBasedRPrecision`.\n")],
}
# These are written by a command.
WRITTEN = {"docs/metrics.md": "docs/reference.py"}
# The tests that know all metrics, those of each adapter among them.
TESTS = (
    "tests/core/test_imports.py",
    "tests/core/test_metrics.py",
    "tests/core/test_layout.py",
    "tests/core/metrics/test_ranks.py",
    "tests/docs/test_reference.py",
    "tests/docs/test_site.py::test_every_public_name_has_a_place_in_the_reference",
    "tests/adapters/deepeval/test_metric.py::test_every_metric_has_its_class",
    "tests/adapters/inspect/test_scorers.py::test_there_is_a_scorer_for_every_metric",
    "tests/adapters/langchain/test_package.py::test_it_has_every_metric_under_its_name",
    "tests/adapters/mlflow/test_scorer.py::test_every_metric_has_its_class",
    "tests/adapters/pydantic_evals/test_evaluator.py::test_every_metric_has_its_class",
    "tests/adapters/ragas/test_parameters.py::test_every_metric_has_its_class",
)


def run_in(folder: Path, *command: str) -> str:
    paths = os.pathsep.join(str(folder / name) for name in ("core", "adapters"))
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_PROCESS,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_a_rank_metric_touches_at_most_six_files(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed")
    assert len(EDITS) + len(WRITTEN) <= 6
    copy = tmp_path / "project"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "site", "dist"))
    for name, edits in EDITS.items():
        text = (copy / name).read_text(encoding="utf-8")
        for before, added in edits:
            place = len(text) if before is None else text.index(before)
            text = text[:place] + added + text[place:]
        (copy / name).write_text(text, encoding="utf-8")
    for script in WRITTEN.values():
        run_in(copy, script)
    assert "| `IDBasedRPrecision` | Reference ids among the first R" in (
        copy / "docs/metrics.md"
    ).read_text(encoding="utf-8")
    run_in(copy, "-m", "pytest", "-q", "-n", "0", "--assert=plain", "-p", "no:cacheprovider", *TESTS)
