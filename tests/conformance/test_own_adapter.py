"""docs/own-adapter.md: an adapter made by it, and what is wrong with one. Its own is run by tests/core/test_distribution.py."""

from __future__ import annotations

import ast
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ctxmetrics.evaluation.frameworks.parity import find_installed_runners
from support.deadlines import LONGEST_PROCESS
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
def test_what_is_wrong_with_it_is_found(
    old: str,
    new: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The page's command, in this process: in one of its own it is run by the test above."""
    assert CODE.count(old) == 1, "the page has changed"
    (tmp_path / "own.py").write_text(CODE.replace(old, new), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own", raising=False)
    _, module, *arguments = COMMAND.split()
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_module(module, run_name="__main__")
    monkeypatch.delitem(sys.modules, "own")
    assert end.value.code == 1
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines
    assert last == PRINTED.strip().replace(" 0 ", f" {len(lines)} ")


@pytest.mark.slow
def test_the_table_of_runners_is_what_is_installed() -> None:
    """It imports all frameworks."""
    found, absent = find_installed_runners()
    listed = set(re.findall(r"`(\w+\.\w+)`", PAGE.partition("## Existing adapters")[2]))
    assert {runner.name for runner in found} - {"core"} <= listed
    assert absent or {runner.name for runner in found} - {"core"} == listed
