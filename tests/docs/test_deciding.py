"""The whole way of docs/comparing.md, command by command: score A, label 50, agree, score B, compare, gate."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.labelling import LabelProcess

ROOT = Path(__file__).parents[2]
SAMPLES = [
    json.loads(line)
    for line in (ROOT / "examples" / "handbook.jsonl").read_text(encoding="utf-8").splitlines()
]


def commands() -> list[list[str]]:
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh no-run\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def written(name: str, samples: list[dict]) -> None:
    Path(name).write_text("".join(json.dumps(one) + "\n" for one in samples), encoding="utf-8")


def run(words: list[str], status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert done.returncode == status, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def answer_all(words: list[str], said: dict[str, dict[str, list[bool]]]) -> str:
    """Answer every question of the page as the labels say; returns what the command prints at its end."""
    with LabelProcess(Path(words[2]), *words[3:]) as page:
        question = page.ask("question")
        while question["number"] is not None:
            yes = said[question["name"]][question["label"]][int(question["item"][1:]) - 1]
            answer = "cannot_say" if yes is None else "yes" if yes else "no"
            question = page.ask("answer", {"number": question["number"], "answer": answer})
        page.ask("stop", {})
        return page.wait()[1]


@pytest.mark.slow
def test_from_a_number_to_a_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labelled = [
        one for one in SAMPLES if {"unit_supported", "context_useful"} <= one.get("labels", {}).keys()
    ]
    said = {one["id"]: one["labels"] for one in labelled}
    # 54 samples: each of the example data's, half of them a second time under another id.
    a = [{**one, "id": f"{one['id']}{copy}", "labels": {}} for copy in ("", "x") for one in labelled][
        :54
    ]
    said |= {f"{name}x": labels for name, labels in list(said.items())}
    written("A.jsonl", a)
    written("B.jsonl", [{**one, "retrieved_contexts": one["retrieved_contexts"][-1:]} for one in a])
    label, agree, score_a, score_b, gate, label_both, corrected, history = commands()

    assert "0 of " in answer_all(label, said)
    lines = Path("A.jsonl.labels.jsonl").read_text(encoding="utf-8").splitlines()
    drawn = {one["sample_id"] for one in json.loads(lines[0])["drawn"]}
    assert len(drawn) == 50
    table = [row for line in run(agree).splitlines() if len(row := re.split(" {2,}", line)) == 3]
    found = {row[0]: dict(zip(table[0][1:], row[1:], strict=True)) for row in table}
    for kind in ("unit_supported", "context_useful"):
        given = [[answer for answer in said[name][kind] if answer is not None] for name in drawn]
        assert found["samples"][kind] == str(sum(map(bool, given)))
        assert found["answers"][kind] == str(sum(map(len, given)))
        assert found["people"][kind] == f"{sum(map(sum, given)) / sum(map(len, given)):.3f}"
    assert "context_recall" in run(score_a)
    run(score_b)
    run(gate, status=1)
    assert Path("comparison.html").stat().st_size
    assert "failure" in Path("compare.xml").read_text(encoding="utf-8")
    run([word.replace("b.jsonl", "a.jsonl") for word in gate])
    with LabelProcess(None, *label_both[2:]) as page:
        question = page.ask("question")
        while question["number"] is not None:
            question = page.ask("answer", {"number": question["number"], "answer": "no"})
        page.ask("stop", {})
        assert page.wait()[0] == 0
    assert "labels" in run(corrected)
    assert len(re.findall(r"^[ab].jsonl ", run(history), re.MULTILINE)) == 4  # two runs, two metrics
    assert Path("history.html").stat().st_size
