"""docs/own-adapter.md, followed to the letter where only the library is installed; and an adapter made by it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmetrics.evaluation.frameworks.parity import find_installed_runners
from support.deadlines import LONGEST_PROCESS
from support.machine import environment_for_downloads, need_index, need_program
from support.trees import parse

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-adapter.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
((COMMAND, PRINTED),) = re.findall(
    r"^```sh no-run\npython (.*?)\n```\n\n```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)
HAYSTACK = ROOT / "examples" / "haystack_adapter.py"
MOST_STATEMENTS = 60


def proved(code: str, folder: Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Write the file that the page names, and run the page's command beside it."""
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(code, encoding="utf-8")
    command = [python, *COMMAND.split()]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST_PROCESS
    )


@pytest.mark.parametrize("code", [CODE, HAYSTACK.read_text(encoding="utf-8")], ids=["page", "haystack"])
def test_it_is_short(code: str) -> None:
    assert sum(isinstance(node, ast.stmt) for node in ast.walk(parse(code))) <= MOST_STATEMENTS


@pytest.mark.slow
def test_page_followed_in_a_bare_environment_gives_its_output(tmp_path: Path) -> None:
    uv = need_program("uv")
    python = tmp_path / "bare" / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(tmp_path / "bare")], check=True)
    command = [uv, "pip", "install", "-q", "--python", str(python), str(ROOT)]
    done = subprocess.run(
        command, env=environment_for_downloads(), capture_output=True, text=True, check=False
    )
    need_index(done)
    assert done.returncode == 0, done.stderr
    done = proved(CODE, tmp_path / "own", str(python))
    assert (done.returncode, done.stdout) == (0, PRINTED), done.stderr


@pytest.mark.slow
def test_an_adapter_for_a_framework_that_has_none_here(tmp_path: Path) -> None:
    pytest.importorskip("haystack")
    shutil.copy(HAYSTACK, tmp_path / "own.py")
    done = proved(HAYSTACK.read_text(encoding="utf-8"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED.replace("tiny.run_experiment", "haystack.Pipeline")


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
    done = proved(CODE.replace(old, new), tmp_path)
    assert done.returncode == 1
    *lines, last = done.stdout.splitlines()
    assert lines
    assert last == PRINTED.strip().replace(" 0 ", f" {len(lines)} ")


@pytest.mark.slow
def test_the_table_of_runners_is_what_is_installed() -> None:
    """It imports all frameworks."""
    found, absent = find_installed_runners()
    listed = set(re.findall(r"`(\w+\.\w+)`", PAGE.partition("## Existing adapters")[2]))
    assert {runner.name for runner in found} - {"core"} <= listed
    assert absent or {runner.name for runner in found} - {"core"} == listed
