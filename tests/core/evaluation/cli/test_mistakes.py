"""Mistakes that people make on the command line and in Python, and what is said: `mistakes.toml` has the table.

A script obeys each message that holds a command, an option or a name: then the command is right, or the next message is the
one that the table names.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import ctxmetrics
from support.cases import each_case
from support.command import run_command

TABLE = tomllib.loads(Path(__file__).with_name("mistakes.toml").read_text(encoding="utf-8"))
SAMPLES = [
    {
        "id": "a",
        "user_input": "What does the pump do?",
        "response": "It moves water.",
        "reference": "The pump moves water. It stops at noon.",
        "retrieved_contexts": ["The pump moves water.", "Snow is white."],
        "retrieved_context_ids": ["d1", "d2"],
        "reference_context_ids": ["d1"],
        "metadata": {"system": "x"},
    },
    {
        "id": "b",
        "user_input": "Who built the mill?",
        "response": "Ada.",
        "reference": "Ada built the mill.",
        "retrieved_contexts": ["Ada built the mill.", "Rain is wet."],
        "retrieved_context_ids": ["d3", "d4"],
        "reference_context_ids": ["d4"],
        "metadata": {"system": "y"},
    },
]
FILES = {
    "table.csv": "Question,Expected answer,Chunks\n"
    'Where is the tower?,In Paris.,"[""The tower is in Paris.""]"\n'
    'Who built it?,Eiffel built it.,"[""Eiffel built it.""]"\n',
    "texts.csv": "Question,Answer (expected),Passage found\nWhere?,In Paris.,It is in Paris.\nWho?,Eiffel.,Eiffel did.\n",
    "plain.csv": "Question,Answer (expected)\nWhere?,In Paris.\n",
    "ids.csv": 'Question,retrieved ids,relevant ids\nWhere?,d1,d1\nWho?,"d 1, d2",d1\n',
    "truth.jsonl": '{"user_input": "What does the pump do?", "reference": "The pump moves water. It stops at noon."}\n',
    "typo.jsonl": '{"user_input": "q", "refrence": "a b", "retrieved_contexts": ["a b"]}\n',
    "context.jsonl": '{"question": "q", "answer": "a b", "context": "a b c"}\n',
    "broken.jsonl": '{"user_input": "q", "reference": \n',
    "empty.jsonl": "",
    "options.toml": "metrics = ['context_recall']\n",
}
# A wrong word and the one that is meant.
MEANT = re.compile(
    r"""
      '(?P<quoted>[^']+)'  [^'?]*?  (?: Did\ you\ mean | may\ be | Write\b(?!\ one) ) \ '?(?P<right>[^'\s?]+(?:\ [^'\s?]+)*)'?
    | (?P<file>[\w./]+):\ (?:cannot\ be\ read:\ )?No\ such\ file[^?]*Did\ you\ mean\ '(?P<beside>[^']+)'
    | option:\ (?P<option>[\w-]+)\.\ Did\ you\ mean\ (?P<other>[\w-]+)
    """,
    re.VERBOSE,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that the mistakes are about, with the results of two runs."""
    files = tmp_path_factory.mktemp("files")
    rows = "".join(json.dumps(sample) + "\n" for sample in SAMPLES)
    for name, text in {"samples.jsonl": rows, **FILES}.items():
        (files / name).write_text(text, encoding="utf-8")
    for name in ("results.jsonl", "other.jsonl"):
        assert run_command("score", "samples.jsonl", "--out", name, cwd=files).returncode == 0
    return files


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the files the current one."""
    for file in files.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def obey(typed: list[str], said: str) -> list[str]:
    """Do what a message says: its command, else its names in place of the wrong ones, else its options beside the words."""
    command = re.search(r"(?:Did you mean|first|metric): ctxmetrics (.+?)(?: \(in Python|$)", said)
    if command:
        return shlex.split(command[1].replace("FILE", "samples.jsonl"))
    if model := re.search(r"write (\S+/\S+), which needs no key", said):
        return [model[1] if "/" in word and ":" not in word else word for word in typed]
    words = list(typed)
    for match in MEANT.finditer(said):
        wrong = match["quoted"] or match["file"] or match["option"]
        right = match["right"] or match["beside"] or match["other"]
        words = [word.replace(wrong, right.rstrip(".")) for word in words]
    if words != typed:
        return words
    if options := re.findall(r"(--(?:map|metric) (?:'[^']+'|[^\s',]+?))\.?(?=\s|$)", said):
        words += [part for option in options if "COLUMN" not in option for part in shlex.split(option)]
    return words


@pytest.mark.slow
@each_case("row", TABLE["command"])
def test_a_mistake_on_the_command_line(row: dict[str, Any], folder: Path) -> None:
    words = shlex.split(row["typed"])
    run = run_command(*words)
    assert run.returncode == 2, run
    for text in row["says"]:
        assert text in run.stderr
    assert "Traceback" not in run.stderr
    if "obeyed" not in row:
        return
    obeyed = shlex.split(row["obeyed"])
    said = run.stderr.splitlines()[-1]
    assert row.get("by_a_person") or obey(words, said) == obeyed
    then = run_command(*obeyed)
    if "then" in row:
        assert then.returncode in {2, 3}
        assert row["then"] in then.stderr
        assert then.stderr != run.stderr
    else:
        assert then.returncode == 0, then.stderr


def test_the_table_has_sixty_and_forty_mistakes() -> None:
    commands = [row["typed"] for row in TABLE["command"]]
    code = [row["typed"] for row in TABLE["python"]]
    assert len(set(commands)) == len(commands) >= 60
    assert len(set(code)) == len(code) >= 40
    obeyed = [row for row in TABLE["command"] if "obeyed" in row and not row.get("by_a_person")]
    assert len(obeyed) >= 30


def run_code(code: str) -> None:
    """Run a line of Python as a user writes it, after ``from ctxmetrics import *``."""
    names: dict[str, Any] = {name: getattr(ctxmetrics, name) for name in ctxmetrics.__all__}
    samples = [ctxmetrics.Sample(**fields) for fields in SAMPLES]
    exec(code, {**names, "samples": samples})  # noqa: S102 - the table's own code


@pytest.mark.slow
@each_case("row", TABLE["python"])
def test_a_mistake_in_python(row: dict[str, Any], folder: Path) -> None:
    with pytest.raises((ctxmetrics.CtxMetricsError, TypeError)) as error:
        run_code(row["typed"])
    said = str(error.value)
    for text in row["says"]:
        assert text in said
    if "obeyed" not in row:
        return
    for match in MEANT.finditer(said):
        wrong = match["quoted"] or match["file"]
        right = match["right"] or match["beside"]
        if not row.get("by_a_person"):
            assert row["typed"].replace(wrong, right) == row["obeyed"]
    if "then" in row:
        with pytest.raises((ctxmetrics.CtxMetricsError, TypeError)) as next_error:
            run_code(row["obeyed"])
        assert row["then"] in str(next_error.value)
    else:
        run_code(row["obeyed"])
