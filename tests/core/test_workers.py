"""Scoring in several processes: the same rows, a lost process costs its own batch, Ctrl-C and --resume as with one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    LLMJudge,
    NonLLMContextRecall,
    OpenAIModel,
    Sample,
    evaluate,
    read_samples,
)
from ctxmetrics.errors import ParameterError
from ctxmetrics.evaluation.workers import BATCH
from support.command import run_process

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook.jsonl"


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_workers_is_a_whole_number_from_1(workers):
    with pytest.raises(ParameterError, match="workers"):
        evaluate([], [ContextRecall()], workers=workers)


def test_a_judge_that_sends_requests_is_refused():
    judge = LLMJudge(OpenAIModel("model", api_key="key", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ParameterError, match=r"context_recall has the judge llm:.*Leave workers out"):
        evaluate([], [ContextRecall()], judge=judge, workers=2)
    with pytest.raises(ParameterError, match="must stand in a module"):
        evaluate([], [NonLLMContextRecall(similarity=lambda one, other: 1.0)], workers=2)


@pytest.mark.slow
def test_rows_and_files_are_those_of_one_process(tmp_path):
    samples, metrics = [*read_samples(HANDBOOK)], [ContextRecall(), ContextPrecision()]
    one = evaluate(samples, metrics, progress=False, out=tmp_path / "one.jsonl")
    two = evaluate(iter(samples), metrics, progress=False, out=tmp_path / "two.jsonl", workers=2)
    assert len(samples) > 2 * BATCH
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert two.summary()["context_recall"].mean == one.summary()["context_recall"].mean


SIMILARITY = """
import os
def alike(one, other):
    if "deadly" in one + other:
        os._exit(7)
    print("not an answer")
    return 1.0
"""


@pytest.mark.slow
def test_a_process_that_ends_costs_its_own_batch(tmp_path, monkeypatch):
    (tmp_path / "alike_for_workers.py").write_text(SIMILARITY)
    monkeypatch.syspath_prepend(tmp_path)
    from alike_for_workers import alike  # type: ignore[import-not-found]  # written by this test

    texts = ["harmless"] * 4 * BATCH
    texts[BATCH + 3] = "deadly"
    samples = [Sample(retrieved_contexts=[text], reference_contexts=["x"]) for text in texts]
    results = evaluate(samples, [NonLLMContextRecall(similarity=alike)], progress=False, workers=2)
    scores = [next(iter(row.values())) for row in results]
    lost = [number for number, score in enumerate(scores) if score.value is None]
    assert lost == [*range(BATCH, 2 * BATCH)]
    assert {scores[number].reason_code for number in lost} == {"metric_error"}
    assert "ended" in scores[BATCH].message


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_a_run_with_workers_is_stopped_by_ctrl_c_and_resumed(tmp_path):
    row = json.loads(HANDBOOK.read_text(encoding="utf-8").splitlines()[0])
    rows = [json.dumps({**row, "id": f"s{number}"}) for number in range(3000)]
    (tmp_path / "many.jsonl").write_text("\n".join(rows), encoding="utf-8")
    options = ("score", "many.jsonl", "-m", "context_recall", "--workers", "2")
    command = [sys.executable, "-m", "ctxmetrics", *options, "--out", "out.jsonl"]
    part = tmp_path / "out.jsonl.part"
    process = subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    done = len(part.read_bytes().splitlines())
    assert 0 < done < 3000
    again = run_process(*options, "--out", "out.jsonl", "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [item["sample_id"] for item in found] == [f"s{number}" for number in range(3000)]
    assert len({item["value"] for item in found}) == 1
