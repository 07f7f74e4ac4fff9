"""The history of runs: means in their order, and lines that end where something else than the retriever changed."""

from __future__ import annotations

import json
import re

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, Sample, evaluate
from ctxmetrics.errors import InputFileError
from ctxmetrics.results.history import read_history
from support.command import run_command


def sample(number, stated=True):
    context = f"Pump {number} moves water." if stated else "Bananas are yellow."
    return Sample(
        id=f"q{number}", reference=f"Pump {number} moves water.", retrieved_contexts=[context]
    )


def write_run(path, stated, *, numbers=(1, 2, 3, 4), judge=None):
    samples = [sample(number, stated=number in stated) for number in numbers]
    results = evaluate(samples, [ContextRecall()], judge=judge, progress=False)
    results.to_jsonl(path) if path.suffix == ".jsonl" else results.to_baseline(path)
    return path


@pytest.fixture
def runs(tmp_path):
    other = LexicalJudge(min_coverage=0.9)
    return [
        write_run(tmp_path / "1.jsonl", {1, 2}),
        write_run(tmp_path / "2.jsonl", {1, 2, 3}),
        write_run(tmp_path / "3.jsonl", {1, 2, 3}, judge=other),
        write_run(tmp_path / "4.jsonl", {1, 2, 3}, judge=other, numbers=(1, 2, 3)),
        write_run(tmp_path / "5.jsonl", {1}, judge=other, numbers=(1, 2, 3)),
    ]


def test_means_stand_in_the_order_of_the_runs(runs):
    history = read_history(runs)
    assert [run.metrics["context_recall"].mean for run in history.runs] == [0.5, 0.75, 0.75, 1.0, 1 / 3]
    assert [bool(run.changes) for run in history.runs] == [False, False, True, True, False]
    judge, gone = history.runs[2].changes[0], history.runs[3].changes
    assert re.match(r"judge: lexical -> lexical\(min_coverage=0\.9\)", judge)
    assert gone == ("0 new samples, 1 gone",)


def test_points_of_runs_that_differ_are_not_joined(runs):
    lines = read_history(runs).draw("context_recall")
    assert [len(line) for line in lines] == [2, 1, 2]
    # From 0 at the bottom (140) to 1 at the top (20), the runs from left (40) to right (620).
    points = [point for line in lines for point in line]
    expected = [(40, 80), (185, 50), (330, 50), (475, 20), (620, 100)]
    assert points == [pytest.approx(point) for point in expected]


def test_a_baseline_is_a_run_too(runs, tmp_path):
    path = write_run(tmp_path / "baseline", {1, 2})
    history = read_history([path, runs[1]])
    assert [run.metrics["context_recall"].mean for run in history.runs] == [0.5, 0.75]
    assert history.runs[1].changes == ()


def test_the_command_shows_all_forms(runs, tmp_path):
    done = run_command("history", tmp_path, "--report", tmp_path / "h.html")
    assert done.returncode == 0, done.stderr
    assert "4 of 4   0.7500  0.3006 to 0.9544" in done.stdout
    table = run_command("history", *runs, "--format", "markdown").stdout
    assert table.startswith("**context_recall**\n\n| run | started | samples |")
    data = json.loads(run_command("history", *runs, "--format", "json").stdout)
    assert [run["metrics"]["context_recall"]["scored"] for run in data["runs"]] == [4, 4, 4, 3, 3]
    page = (tmp_path / "h.html").read_text(encoding="utf-8")
    assert page.count("<polyline") == 3
    assert page.count("<circle") == 5


def test_a_name_of_a_file_is_text_in_a_page(runs, tmp_path):
    path = tmp_path / "<script>alert(1)<"
    path.write_bytes(runs[0].read_bytes())
    assert "<script>alert" not in read_history([path]).html()


def test_files_without_results_are_refused(tmp_path):
    assert run_command("history", tmp_path).returncode == 2
    with pytest.raises(InputFileError, match="history: no results"):
        read_history([])
    (tmp_path / "x.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(InputFileError, match="no line of results"):
        read_history([tmp_path / "x.jsonl"])
