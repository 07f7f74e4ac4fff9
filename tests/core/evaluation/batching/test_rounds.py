"""A run in batches ends with the values of the ordinary run, and pays for each request once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmetrics import Batch
from ctxmetrics.judges.llm.judge import forget
from support import FakeOpenAIServer, answer_from
from support.batch_runs import make_samples, run, values_of
from support.batches import FakeBatches
from support.command import run_command


@pytest.fixture
def server():
    batches = FakeBatches()
    with FakeOpenAIServer(answer_from(), batches=batches) as server:
        yield server, batches


@pytest.mark.slow
def test_a_run_in_batches_has_the_values_of_a_run(server, tmp_path):
    fake, batches = server
    samples = make_samples(20)
    ordinary = run(fake, samples)
    online = fake.count
    results = run(fake, samples, batch=Batch(poll=0.01, folder=tmp_path / "run.batch"))
    assert values_of(results) == values_of(ordinary)
    assert {row["context_recall"].value for row in ordinary} == {0.5, 1.0}
    assert fake.count == online + 1
    assert results.stopped is None
    assert sum(batches.answered.values()) == online - 1
    assert len(batches.deleted) == 1


def write_samples(path: Path, samples) -> Path:
    path.write_text("".join(json.dumps(sample.to_dict()) + "\n" for sample in samples))
    return path


def score(server, file: Path, out: Path, *options: str):
    forget()
    judge = ("--judge", "openai/fake-judge", "--base-url", server.base_url)
    metrics = ("-m", "context_recall", "-m", "context_precision")
    return run_command("score", file, *judge, *metrics, "--out", out, *options, OPENAI_API_KEY="sk-1")


@pytest.mark.slow
def test_submit_ends_and_the_same_command_goes_on(server, tmp_path):
    fake, batches = server
    batches.rounds = 1
    file = write_samples(tmp_path / "samples.jsonl", make_samples(5))
    out = tmp_path / "run.jsonl"
    first = score(fake, file, out, "--batch", "submit")
    assert first.returncode == 4, first.stderr
    assert "4 requests in 1 batch without an answer yet, until " in first.stderr
    assert "Run the same command again" in first.stderr
    assert not out.exists()
    second = score(fake, file, out, "--batch", "submit")
    assert second.returncode == 4
    third = score(fake, file, out, "--batch", "submit")
    assert third.returncode == 0, third.stderr
    assert out.exists()
    assert sum(batches.answered.values()) == 4
    assert "in batches: 4 requests" in third.stdout
    assert [path.name for path in (tmp_path / "run.jsonl.batch").iterdir()] == ["journal.sqlite3"]
    journal = (tmp_path / "run.jsonl.batch" / "journal.sqlite3").read_bytes()
    assert b"sk-1" not in journal
    assert b"House" not in journal
