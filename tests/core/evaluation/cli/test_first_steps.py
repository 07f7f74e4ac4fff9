"""A newcomer's path from an empty folder: init, score, other data, score, compare, history, a red gate and a green one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import run_command

TEXTS = [
    "The warranty lasts 2 years. It begins on the day of delivery.",
    "Shipping costs 5 euros. It is free above 50 euros.",
    "The workshop in Ghent repairs pumps.",
    "The shop is open from Monday to Friday.",
]


def write_samples(lost=0):
    """Write twelve samples; the contexts of the first ones hold nothing of their references."""
    rows = []
    for number in range(12):
        text = f"{TEXTS[number % 4]} Case {number} is closed."
        contexts = ["Bananas are yellow."] if number < lost else [text, "Milk is white."]
        question = f"What is known of case {number}?"
        rows.append(
            {
                "id": f"q{number}",
                "user_input": question,
                "reference": text,
                "retrieved_contexts": contexts,
            }
        )
    Path("samples.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def run(*arguments, code=0):
    done = run_command(*arguments)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.slow
def test_the_first_steps_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_samples()
    assert "Next: ctxmetrics score" in run("init", "samples.jsonl").stderr
    # The file has the gates as comments.
    text = Path("ctxmetrics.toml").read_text(encoding="utf-8")
    for line in ("fail-under", "[compare]", "first", "second", "not-worse"):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    Path("ctxmetrics.toml").write_text(text, encoding="utf-8")

    first = run("score", "--write-baseline", "baseline.jsonl")
    assert "context_recall     1.0000  12 of 12" in first.stdout
    assert "passes down to 0.2 below the baseline's 1.0000" in first.stderr
    power = run("estimate").stdout
    assert "--not-worse context_recall=0.02: all values of 12 samples are equal" in power

    write_samples(lost=10)  # 2 of 12: 0.1667
    second = run("score", code=1)
    assert "context_recall     0.1667  12 of 12" in second.stdout
    assert "gate: context_recall is 0.1667, below 0.8" in second.stderr
    worse = run("compare", "--report", "comparison.html", code=1)
    assert "first   baseline.jsonl, 12 samples, lexical" in worse.stdout
    assert "context_recall: worse" in worse.stdout
    assert "gate: context_recall fell by 0.833, more than 0.02" in worse.stderr
    history = run("history", "baseline.jsonl", "results.jsonl", "--report", "history.html")
    means = [line.split()[7] for line in history.stdout.split("\n\n")[0].splitlines()[2:]]
    assert means == ["1.0000", "0.1667"]

    write_samples()
    run("score", "--write-baseline", "baseline.jsonl.best")
    assert "Lost, supported by the first run only: 0" in run("compare").stdout
    for page in ("report.html", "comparison.html", "history.html"):
        assert Path(page).read_text(encoding="utf-8").startswith("<!doctype html>")
