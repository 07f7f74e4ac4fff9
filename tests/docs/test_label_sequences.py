"""The commands that a page prints about labelling, one after the other, on a file of question, reference and contexts only."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from support.command import run_command

DOCS = Path(__file__).parents[2] / "docs"
SENTENCES = ("Leave is {} days.", "It is paid in March.")


def write_plain(path: Path, contexts: int) -> Path:
    """Write 30 samples, each with so many contexts and nothing that people said."""
    rows = [
        {
            "user_input": f"Question {n}?",
            "reference": " ".join(SENTENCES).format(n),
            "retrieved_contexts": [text.format(n) for text in SENTENCES[: contexts if n < 20 else 2]],
        }
        for n in range(30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def commands_of(page: str) -> list[list[str]]:
    """Return the commands of every block of a page that labels a file or reads its labels."""
    blocks = re.findall(r"```sh[^\n]*\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    wanted = [block for block in blocks if re.search(r"ctxmetrics (label|agree)", block)]
    lines = (line for block in wanted for line in block.splitlines())
    return [shlex.split(line, comments=True)[1:] for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["trust.md", "labelling.md", "comparing.md"])
def test_the_sequence_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, contexts in (("FILE", 2), ("A", 2), ("B", 1)):
        write_plain(tmp_path / f"{name}.jsonl", contexts)
    commands = commands_of(page)
    assert {"label", "agree"} <= {command[0] for command in commands}
    for command in commands:
        labels = command[0] == "label"
        done = run_command(
            *command, *(["--terminal"] if labels else []), typed="y\n" * 150 if labels else None
        )
        # The gate of a comparison in which a sentence was lost fails.
        expected = 1 if "--max-drop" in command else 0
        assert done.returncode == expected, (command, done.stdout, done.stderr)


def test_the_last_screen_of_labelling_prints_a_command_that_runs(tmp_path):
    file = write_plain(tmp_path / "my file.jsonl", 2)
    done = run_command("label", file, "--n", 30, "--terminal", typed="y\n" * 150)
    printed = re.search(r"ctxmetrics (agree .*)", done.stdout)
    assert printed is not None, done.stdout
    assert run_command(*shlex.split(printed[1])).returncode == 0
