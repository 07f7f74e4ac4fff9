"""The adapter of docs/own-adapter.md: short, and only right as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "own-adapter.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MOST_LINES = 60


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "own.py"
    script.write_text(code, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_it_is_short() -> None:
    assert len(CODE.splitlines()) < MOST_LINES


@pytest.mark.slow
def test_it_proves_itself(tmp_path: Path) -> None:
    done = run(CODE, tmp_path)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"score": score.value,', '"score": score.value or 0.0,'),
        ("Wrapper.of(metric, judge, keys, SCHEMA)", "Wrapper.of(type(metric)(), judge, keys, SCHEMA)"),
        ("for sample in samples]", "for sample in reversed(samples)]"),
        ("rows = [SCHEMA.record(sample.to_dict())", 'rows = [{**SCHEMA.record(sample.to_dict()), "inputs": {}}'),
        ("scorer(**row)", 'scorer(inputs=row["inputs"], outputs=row["outputs"])'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_it_is_found(old: str, new: str, tmp_path: Path) -> None:
    assert CODE.count(old) == 1, "the page has changed"
    done = run(CODE.replace(old, new), tmp_path)
    assert done.returncode == 1
    assert "AssertionError" in done.stderr


def test_the_table_of_runners_is_what_is_installed() -> None:
    from ctxmetrics.adapting.runners import installed_runners

    found, absent = installed_runners()
    listed = set(re.findall(r"`(\w+\.\w+)`", PAGE.partition("## Those that are there")[2]))
    assert {runner.name for runner in found} - {"core"} <= listed
    assert absent or {runner.name for runner in found} - {"core"} == listed
