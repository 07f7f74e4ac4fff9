"""The runner in JavaScript gives every case what it expects, and notices each mutation of its formulas."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.deadlines import LONGEST_PROCESS
from support.machine import need_program

HERE = Path(__file__).parent
RUNNER = HERE / "javascript" / "runner.mjs"
# What changes: the table of cases that notices it, the code, and what stands in its place.
MUTATIONS = {
    "average precision divides by the ranks": (
        "non_llm_context_precision",
        'convention === "ragas" ? found + 1e-10 : found',
        "relevant.length",
    ),
    "ragas has no epsilon": ("non_llm_context_precision", "found + 1e-10 : found", "found : found"),
    "share counts what is false": (
        "id_based_context_recall",
        "flags.filter(Boolean).length",
        "flags.filter((one) => !one).length",
    ),
    "a substitution costs two": (
        "non_llm_context_recall",
        "row[j] + (left !== right)",
        "row[j] + 2 * (left !== right)",
    ),
    "Jaro looks one further": ("non_llm_context_recall", "/ 2) - 1);", "/ 2));"),
    "Winkler's weight": ("non_llm_context_recall", "prefix * 0.1", "prefix * 0.2"),
    "ragas' cut is inclusive for recall": (
        "non_llm_context_recall",
        "above ? value > given",
        "above ? value >= given",
    ),
    "iou counts the common part twice": (
        "span_based_context_precision",
        "total + expected - shared",
        "total + expected",
    ),
    "a span needs all of it": (
        "span_based_context_recall",
        "given.min_cover * lengthOf(span)",
        "lengthOf(span)",
    ),
    "a supported sentence needs no quote": ("context_recall", "if (!isProven)", "if (false)"),
    "a useless context that is evidence stays useless": (
        "context_utilization",
        'inPool.has(place) ? { value: true, code: "contradicted" } : own',
        "own",
    ),
    "a source is always relevant": (
        "non_llm_context_precision",
        "one && keys[index] === key",
        "keys[index] === key",
    ),
    "one of several parts is enough": (
        "context_recall",
        "rests.length === one.rests?.length",
        "rests.length",
    ),
    "a probability of the bar is a no": ("context_recall", "p >= bar, code", "p > bar, code"),
    "a higher probability hides a failure": ("context_recall", "cells.find((one) => one.code) ??", ""),
    "a refusal is an empty reference": ("context_recall", '"unanswerable"', '"no_reference"'),
    "a number of a list stays": ("context_recall", "[.!?]\\s+)", "[!]\\s+)"),
    "ids keep their repetitions": (
        "id_based_context_precision",
        ".filter((id, index, all) => !id || all.indexOf(id) === index)",
        "",
    ),
}


@pytest.fixture(scope="module")
def node() -> str:
    found = need_program("node")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", told)[:2])) < (20, 11):
        pytest.skip(f"node is {told.strip()}; the runner needs 20.11")
    return found


def run(node: str, runner: Path, folder: Path = HERE / "v1") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node, str(runner), str(folder)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONGEST_PROCESS,
        check=False,
    )


def test_no_case_differs(node: str) -> None:
    done = run(node, RUNNER)
    assert done.returncode == 0, done.stdout + done.stderr
    (counts,) = map(json.loads, done.stdout.splitlines())
    cases = [
        case for path in (HERE / "v1").glob("*.json") for case in json.loads(path.read_bytes())["cases"]
    ]
    assert counts["compared"] + counts["left_out"] == len(cases)
    assert counts["left_out"] <= 21


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_noticed(name: str, node: str, tmp_path: Path) -> None:
    table, before, after = MUTATIONS[name]
    source = RUNNER.read_text(encoding="utf-8")
    assert source.count(before) == 1
    mutant = tmp_path / "runner.mjs"
    mutant.write_text(source.replace(before, after), encoding="utf-8")
    (tmp_path / "v1").mkdir()
    shutil.copy(HERE / "v1" / f"{table}.json", tmp_path / "v1")
    done = run(node, mutant, tmp_path / "v1")
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[-1])["failed"] > 0, done.stderr


def test_a_value_that_is_wrong_in_the_data_is_named(node: str, tmp_path: Path) -> None:
    shutil.copytree(HERE / "v1", tmp_path / "v1")
    path = tmp_path / "v1" / "id_based_context_recall.json"
    data = json.loads(path.read_bytes())
    case = next(case for case in data["cases"] if case["expected"].get("score") == 0.5)
    case["expected"]["score"] = 0.5000001
    path.write_text(json.dumps(data), encoding="utf-8")
    done = run(node, RUNNER, tmp_path / "v1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == f"{case['id']}: score"


def test_the_runner_needs_nothing() -> None:
    lines = RUNNER.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("import ")] == ['import fs from "node:fs";']
