"""A new user's path from an empty folder to the page of a comparison: the five commands of docs/retrievers.md."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.machine import environment_for_downloads, need_index, need_program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "retrievers.md").read_text(encoding="utf-8")


def read_commands() -> list[str]:
    (block,) = re.findall(r"^```sh new-user\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return block.splitlines()


def test_five_commands_lead_to_the_page() -> None:
    assert len(read_commands()) == 5
    assert read_commands()[-1].endswith("--report retrievers.html")


@pytest.mark.slow
def test_the_five_commands_run_in_an_empty_folder(tmp_path: Path) -> None:
    """They run in one shell, with uv in the place of pip. The seconds are printed, not asserted."""
    bash, uv = need_program("bash"), need_program("uv")
    text = "\n".join(read_commands())
    for word, replacement in (
        ("python3 ", f"{shlex.quote(sys.executable)} "),
        ("pip install ", f"{shlex.quote(uv)} pip install "),
        ("PATH/TO/ctxmetrics", shlex.quote(str(ROOT))),
    ):
        assert text.count(word) == 1
        text = text.replace(word, replacement)
    began = time.monotonic()
    done = subprocess.run(
        [bash, "-ec", text],
        cwd=tmp_path,
        env=environment_for_downloads(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    need_index(done)
    print(f"from an empty folder to the page: {time.monotonic() - began:.1f} s")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "1 question, the first 10 contexts; differences are those to first" in done.stdout
    page = (tmp_path / "retrievers.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
