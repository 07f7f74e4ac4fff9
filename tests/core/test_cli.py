"""The command line as a person uses it: in a process of its own."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxmetrics.testing import FakeOpenAIServer, answer_from

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"
GOOD = {
    "id": "a",
    "reference": "Paris is the capital of France.",
    "retrieved_contexts": ["Paris is the capital of France."],
}


def ctxmetrics(
    *arguments: object, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ctxmetrics", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=env, check=False, encoding="utf-8"
    )


def refused(*arguments: object) -> str:
    """Run a command that must be refused; return its one line."""
    run = ctxmetrics(*arguments)
    assert run.returncode == 2, run
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    assert run.stderr.count("\n") == 1
    return run.stderr


def written(folder: Path, name: str, *lines: Any) -> Path:
    file = folder / name
    file.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines),
        encoding="utf-8",
    )
    return file


def test_every_metric_whose_fields_the_file_has(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    run = ctxmetrics("score", HANDBOOK, "--out", out)
    assert run.returncode == 0, run.stderr
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    samples = HANDBOOK.read_text(encoding="utf-8").count("\n")
    assert len(rows) == 7 * samples
    assert set(rows[0]) == {
        "sample_id", "metric", "value", "reason_code", "message", "threshold", "passed", "band", "verdicts", "signals",
        "metadata", "usage", "provenance",
    }  # fmt: skip
    assert f"{samples} of {samples}" in run.stdout
    assert "lexical judge" in run.stderr
    assert [row["sample_id"] for row in rows[::7]] == [
        json.loads(line)["id"] for line in HANDBOOK.open(encoding="utf-8")
    ]


def test_json_and_csv_give_the_same_numbers_as_json_lines(tmp_path: Path) -> None:
    samples = [json.loads(line) for line in HANDBOOK.open(encoding="utf-8")]
    (tmp_path / "h.json").write_text(json.dumps(samples), encoding="utf-8")
    with (tmp_path / "h.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(samples[0]))
        writer.writeheader()
        for sample in samples:
            writer.writerow(
                {key: value if isinstance(value, str) else json.dumps(value) for key, value in sample.items()}
            )
    tables = [
        ctxmetrics("score", file).stdout for file in (HANDBOOK, tmp_path / "h.json", tmp_path / "h.csv")
    ]
    assert tables[0] == tables[1] == tables[2] != ""


def test_a_metric_with_parameters_and_a_gate(tmp_path: Path) -> None:
    file = written(
        tmp_path, "s.jsonl", {**GOOD, "retrieved_contexts": ["Lyon.", *GOOD["retrieved_contexts"]]}
    )
    name = "context_recall(top_k=1)"
    assert ctxmetrics("score", file, "--metric", name, "--fail-under", f"{name}=0.0").returncode == 0
    run = ctxmetrics("score", file, "--metric", name, "--fail-under", f"{name}=0.5")
    assert run.returncode == 1
    assert f"gate: {name} is 0.0000, below 0.5" in run.stderr


def test_a_gate_on_a_metric_without_a_value_fails(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", {"retrieved_context_ids": ["a"], "reference_context_ids": []})
    run = ctxmetrics("score", file, "--fail-under", "id_based_context_recall=0.0")
    assert run.returncode == 1
    assert "without a value" in run.stderr
    assert "no_reference 1" in run.stdout


def test_a_gate_on_a_part_of_the_samples_fails(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD, {**GOOD, "id": "b", "reference": "Lyon is a city."})
    with FakeOpenAIServer(answer_from()) as server:
        gate = (
            "--fail-under",
            "context_recall=0.0",
            "--max-calls",
            1,
            "--max-concurrency",
            1,
            "--metric",
            "context_recall",
        )
        run = ctxmetrics(
            "score", file, "--judge", "openai/m", "--base-url", server.base_url, *gate, OPENAI_API_KEY="sk-x"
        )
    assert run.returncode == 1, run
    assert "gate: context_recall has 1 of 2 samples not judged" in run.stderr


def test_the_lowest_scores_can_be_explained(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD, {**GOOD, "id": "b", "retrieved_contexts": ["Lyon."]})
    run = ctxmetrics("score", file, "--metric", "context_recall", "--show", 1)
    assert "context_recall: 0.0  [b]" in run.stdout
    assert "✗ s1 Paris is the capital of France." in run.stdout


def test_a_schema_translates_field_names(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "s.jsonl",
        {"input": "q", "expected_output": "A red fox.", "retrieval_context": ["A red fox."]},
    )
    run = ctxmetrics("score", file, "--schema", "deepeval", "--convention", "deepeval")
    assert run.returncode == 0, run.stderr
    assert "1 of 1 (>= 0.5)" in run.stdout


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([{"retrieved_contexts": ["x"]}], "no metric fits"),
        (
            [GOOD, {**GOOD, "retrieved_contexts": "x"}],
            "Sample 'a': field 'retrieved_contexts' must be a list",
        ),
        (
            [GOOD, {"reference": "x", "retrieved_contexts": [1]}],
            "line 2: field 'retrieved_contexts', item 1 must be a string",
        ),
        ([{**GOOD, "retrieved_context": []}], "unknown field 'retrieved_context'"),
        ([{**GOOD, "context": []}], "schema="),
        ([], "the file is empty"),
        ([*[GOOD] * 6, '{"reference": '], "line 7: not valid JSON"),
        ([GOOD, "[1]"], "line 2: a sample must be a JSON object"),
        ([{**GOOD, "retrieved_contexts": ["x" * 52_428_800]}], "item 1 is 52,428,800 characters long"),
        ([{**GOOD, "retrieved_context_ids": ["a", None]}], "item 2 must be a string or an integer, not None"),
        ([{**GOOD, "reference": float("nan")}], "line 1: not valid JSON: NaN"),
    ],
    ids=[
        "no field",
        "bare string",
        "wrong type",
        "unknown key",
        "ambiguous",
        "empty",
        "line 7",
        "no object",
        "50 MB",
        "None id",
        "NaN",
    ],
)
def test_bad_input_is_one_line_with_place_field_and_fix(
    tmp_path: Path, lines: list[Any], expected: str
) -> None:
    assert expected in refused("score", written(tmp_path, "bad.jsonl", *lines))


def test_a_field_that_no_sample_has(tmp_path: Path) -> None:
    line = refused("score", written(tmp_path, "s.jsonl", GOOD), "--metric", "non_llm_context_recall")
    assert "No sample has reference_contexts, which non_llm_context_recall needs" in line


def test_bad_usage(tmp_path: Path) -> None:
    file = written(tmp_path, "s.jsonl", GOOD)
    assert "cannot be read: No such file" in refused("score", tmp_path / "none.jsonl")
    assert "end in .jsonl, .json or .csv" in refused("score", written(tmp_path, "s.txt", GOOD))
    assert "Did you mean 'context_recall'?" in refused("score", file, "--metric", "context_recal")
    assert "no parameter 'topk'. It has: convention" in refused(
        "score", file, "--metric", "context_recall(topk=1)"
    )
    assert "top_k=-1 must be a whole number" in refused("score", file, "--metric", "context_recall(top_k=-1)")
    assert "convention='rags' is unknown" in refused("score", file, "--convention", "rags")
    assert "schema='rags' is unknown" in refused("score", file, "--schema", "rags")
    assert "--judge 'gpt' is unknown" in refused("score", file, "--judge", "gpt")
    assert "no metric of this run is named 'x'" in refused("score", file, "--fail-under", "x=1")
    assert "must be NAME=VALUE" in refused("score", file, "--fail-under", "context_recall")
    assert "unit='sentence'" in refused("score", file, "--convention", "axion")
    assert "needs --out FILE or --cache DIR" in refused("score", file, "--resume")
    assert "cannot be written" in refused(
        "score", file, "--metric", "context_recall", "--out", tmp_path / "no" / "o.jsonl"
    )
    assert re.search("No such option:? '?--nope", refused("score", file, "--nope"))  # click's words differ
    assert "there is no cache" in refused("cache", "info", tmp_path)
    assert "OPENAI_API_KEY" in refused("score", file, "--judge", "openai/gpt-x")


def test_broken_json_names_the_line(tmp_path: Path) -> None:
    assert "line 3: not valid JSON" in refused("score", written(tmp_path, "s.json", "[", "{}", "nope]"))
    assert "the top level must be a list" in refused("score", written(tmp_path, "t.json", "{}"))


def test_csv_errors_name_line_and_field(tmp_path: Path) -> None:
    ragged = written(tmp_path, "r.csv", "reference,retrieved_contexts", '"A.","[""A.""]",x')
    assert "line 2: the row has not as many cells as the header" in refused("score", ragged)
    bare = written(tmp_path, "b.csv", "reference,retrieved_contexts", "A.,A.")
    assert "line 2: field 'retrieved_contexts' must be a JSON list" in refused("score", bare)


def test_output_into_a_closed_pipe_is_no_traceback() -> None:
    command = f'"{sys.executable}" -m ctxmetrics score "{HANDBOOK}" --show 30 | head -n 1'
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in run.stderr
