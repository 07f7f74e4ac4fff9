"""What docs/start.md shows beside its Python blocks: the explained score, and the file for ``deepeval test run``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmetrics import ContextRecall, Sample
from support.deadlines import LONGEST_PROCESS
from support.later import WITHOUT_CLIENTS, skip_without

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")


def block(fence: str) -> str:
    found = re.findall(rf"^```{re.escape(fence)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, fence
    return found[0]


def test_the_score_that_is_shown_is_the_one_that_is_printed() -> None:
    shown = block("text").splitlines()
    sample = Sample(
        id="boiler-7",
        reference="The pump is guaranteed for three years. Only a certified installer may connect it.",
        retrieved_contexts=[
            "Cleaning: rinse the filter once a month with cold water.",
            "Warranty: the pump is guaranteed for three years from the date of purchase.",
        ],
    )
    printed = ContextRecall(threshold=0.8).score(sample).pretty().splitlines()
    assert shown == printed


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["deepeval.cli.main", "test", "run"], ["pytest", "-q"]], ids=["deepeval", "pytest"]
)
def test_the_file_for_deepeval_runs(command: list[str], tmp_path: Path) -> None:
    skip_without("deepeval")
    (tmp_path / "test_retriever.py").write_text(
        block("python file=test_retriever.py"), encoding="utf-8"
    )
    environment = {name: value for name, value in os.environ.items() if name != "DEEPEVAL_FILE_SYSTEM"}
    environment.update(WITHOUT_CLIENTS)
    environment["PYTHONPATH"] = os.pathsep.join(str(ROOT / part) for part in ("core", "adapters"))
    run = subprocess.run(
        [sys.executable, "-m", *command, "test_retriever.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST_PROCESS,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    assert "1 passed" in run.stdout
