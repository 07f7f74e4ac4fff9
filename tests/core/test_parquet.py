"""``ctxmetrics score FILE.parquet --out SCORES.parquet``: in batches, and the same file after a kill."""

from __future__ import annotations

import os

import pytest

from ctxmetrics import ContextRecall, IDBasedContextPrecision, IDBasedContextRecall, score_table
from ctxmetrics.errors import InputFileError, MissingFieldError, ParameterError, SampleError
from support.command import run_command

pytest.importorskip("narwhals", reason="narwhals is not installed")
pytest.importorskip("polars", reason="polars is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from pyarrow import parquet

from ctxmetrics.tables import files
from ctxmetrics.tables.batches import BatchScorer

METRICS = [IDBasedContextRecall(), IDBasedContextPrecision(formula="average_precision")]
ROWS = 10
DATA = {
    "id": [f"q{number}" for number in range(ROWS)],
    "user_input": ["?"] * ROWS,
    "retrieved_context_ids": [
        ["a", "b"],
        None,
        [],
        ["c"],
        ["a"],
        ["b", "a"],
        ["x"],
        ["y"],
        ["z"],
        ["a", "a"],
    ],
    "reference_context_ids": [["a"]] * (ROWS - 1) + [["b", "a"]],
}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(files, "_ROWS", 4)


@pytest.fixture
def file(tmp_path):
    parquet.write_table(pa.table(DATA), tmp_path / "in.parquet", row_group_size=3)
    return tmp_path / "in.parquet"


def score(file, out, metrics=METRICS, **options):
    return files.score_parquet(file, out, metrics, progress=False, **options)


def test_a_row_a_sample_with_the_values_of_score_table(file, tmp_path):
    ran = run_command(
        "score", file, "--out", tmp_path / "out.parquet", "--metric", "id_based_context_recall",
        "--metric", "id_based_context_precision(formula=average_precision)", "--fail-under", "id_based_context_recall=0.9",
    )  # fmt: skip
    assert ran.returncode == 1, ran.stderr
    assert "id_based_context_recall is 0.3889, below 0.9" in ran.stderr
    scored = score_table(pa.table(DATA), METRICS)
    written = parquet.read_table(tmp_path / "out.parquet")
    names = [*BatchScorer(metrics=METRICS).columns]
    assert written.column_names == ["id", *names]
    assert written.select(names).to_pydict() == scored.select(names).to_pydict()
    assert not (tmp_path / "out.parquet.part").exists()
    kept = score(file, tmp_path / "out.parquet", keep_texts=True)  # our own file may be replaced
    assert parquet.read_table(tmp_path / "out.parquet").column_names == [*DATA, *names]
    summary = kept.summary()["id_based_context_recall"]
    assert (summary.samples, summary.scored, summary.missing) == (ROWS, 9, {"missing_field": 1})


def test_a_run_that_was_killed_writes_the_same_file(file, tmp_path, monkeypatch):
    whole, again = tmp_path / "whole.parquet", tmp_path / "again.parquet"
    score(file, whole)
    scored, real = [], BatchScorer.score_and_look

    def killed(self, table, first_row=1):
        if first_row > 8:
            raise RuntimeError("killed")
        return real(self, table, first_row)

    def counted(self, table, first_row=1):
        scored.append(first_row)
        return real(self, table, first_row)

    monkeypatch.setattr(BatchScorer, "score_and_look", killed)
    with pytest.raises(RuntimeError, match="killed"):
        score(file, again)
    assert not again.exists()
    monkeypatch.setattr(BatchScorer, "score_and_look", counted)
    results = score(file, again, resume=True)
    assert scored == [9]
    assert len(results) == ROWS
    assert again.read_bytes() == whole.read_bytes()


def test_only_batches_of_the_same_run_are_taken_over(file, tmp_path, monkeypatch):
    out, real = tmp_path / "out.parquet", BatchScorer.score_and_look

    def stopped(self, table, first_row=1):
        if first_row > 4:
            raise KeyboardInterrupt
        return real(self, table, first_row)

    monkeypatch.setattr(BatchScorer, "score_and_look", stopped)
    assert score(file, out).stopped == "interrupted"
    monkeypatch.setattr(BatchScorer, "score_and_look", real)
    other = [IDBasedContextRecall(top_k=1)]
    score(file, out, other, resume=True)
    assert "id_based_context_recall(top_k=1)" in parquet.read_table(out).column_names


def test_another_run_of_the_same_out_is_refused(file, tmp_path):
    folder = tmp_path / "out.parquet.part"
    folder.mkdir()
    lock = files.open_locked(folder / "run.json")
    try:
        with pytest.raises(InputFileError, match="another run is writing it"):
            score(file, tmp_path / "out.parquet")
    finally:
        os.close(lock)


def test_what_is_wrong_is_said_before_anything_is_written(file, tmp_path):
    out = tmp_path / "out.parquet"
    with pytest.raises(ParameterError, match=r"--out FILE\.jsonl for context_recall"):
        score(file, out, [ContextRecall()])
    (tmp_path / "in.jsonl").write_text("{}\n")
    ran = run_command("score", tmp_path / "in.jsonl", "--out", out)
    assert (ran.returncode, "a Parquet file is made of a Parquet file" in ran.stderr) == (2, True)
    foreign = tmp_path / "foreign.parquet"
    foreign.write_bytes(file.read_bytes())
    ran = run_command("score", file, "--out", foreign)
    assert (ran.returncode, "it holds data that no run wrote" in ran.stderr) == (2, True)
    file.write_text("no Parquet")
    with pytest.raises(InputFileError, match="is no Parquet file"):
        score(file, out)
    assert not out.exists()


def test_faults_of_the_whole_file(tmp_path):
    file, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    parquet.write_table(pa.table({**DATA, "id": ["a", *DATA["id"][1:9], "a"]}), file)
    with pytest.raises(SampleError, match="Samples 1 and 10 have the same id 'a'"):
        score(file, out)
    parquet.write_table(pa.table({"retrieved_context_ids": [["a"]] * ROWS}), file)
    with pytest.raises(MissingFieldError, match="No sample has reference_context_ids"):
        score(file, out)
    assert not out.exists()
