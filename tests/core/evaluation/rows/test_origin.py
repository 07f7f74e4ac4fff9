"""What a file says of its run: when it began, and the commit that CI names; a comparison and a history show it."""

from __future__ import annotations

import json
import math
import re

import pytest

from ctxmetrics import ContextRecall, Results, Sample, compare, evaluate
from ctxmetrics.evaluation.rows.provenances import read_start
from ctxmetrics.evaluation.runs.history import read_history
from support.command import run_command

# SOURCE_DATE_EPOCH of all tests, in UTC.
STARTED = "2026-09-21 14:13 UTC"
SAMPLES = [
    Sample(
        id=f"q{n}", reference="Pumps move water.", retrieved_contexts=["Pumps move water." * (n % 2)]
    )
    for n in range(4)
]
CI = [
    {"GITHUB_SHA": "0123456789abcdef", "GITHUB_REF_NAME": "main"},
    {"GITHUB_SHA": "0123456789abcdef", "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "main"},
    {"CI_COMMIT_SHA": "0123456789abcdef", "CI_COMMIT_REF_NAME": "main", "GITHUB_SHA": ""},
]


@pytest.fixture(autouse=True)
def _no_ci(monkeypatch):
    for name in ("GITHUB_SHA", "GITHUB_REF_NAME", "GITHUB_HEAD_REF", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)


def score(**options) -> Results:
    return evaluate(SAMPLES, [ContextRecall(threshold=0.5)], progress=False, **options)


@pytest.mark.parametrize("variables", CI)
def test_each_file_names_commit_and_branch(tmp_path, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    results = score(out=tmp_path / "out.jsonl")
    assert results.summary().started == STARTED
    results = score()
    results.to_jsonl(tmp_path / "written.jsonl")
    results.to_baseline(tmp_path / "base.jsonl")
    expected = {"started": STARTED, "commit": "0123456789abcdef", "branch": "main"}
    for path in tmp_path.iterdir():
        assert Results.from_jsonl(path).start == expected
    Results.from_jsonl(tmp_path / "base.jsonl").to_jsonl(tmp_path / "again.jsonl")
    assert read_start(tmp_path / "again.jsonl") == expected


@pytest.mark.parametrize(
    "line",
    ["", "{}", "[1]", '{"run": 7}', '{"run": ["a"]}', "\udcff", '{"provenance_id": 1}', "{" * 2000],
)
def test_a_first_line_that_says_nothing_of_the_run(tmp_path, line):
    path = tmp_path / "x.jsonl"
    path.write_bytes(line.encode(errors="surrogateescape") + b"\n")
    assert read_start(path) == {}
    assert read_start(tmp_path / "nowhere.jsonl") == {}


@pytest.mark.parametrize("epoch", ["9" * 30, "-1", "now", "²", ""])
def test_a_time_that_is_none_is_the_present(monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert score().start["started"] > STARTED


def test_a_comparison_says_what_was_compared(tmp_path, monkeypatch):
    score().to_baseline(tmp_path / "a.jsonl")
    monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")
    score().to_jsonl(tmp_path / "b.jsonl")
    comparison = compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    first, second = comparison.origins
    assert (first.name, first.commit, first.samples) == (str(tmp_path / "a.jsonl"), None, 4)
    assert (second.started, second.commit) == (STARTED, "0123456789abcdef")
    assert second.judges == ("lexical",)
    for text in (str(comparison), comparison.markdown(), comparison.html()):
        assert re.search(
            r"a\.jsonl, 4 samples, lexical, answered as lexical-\w+, ctxmetrics [\d.]+", text
        )
        assert f"{STARTED}, commit 0123456789ab" in re.sub("&#\\d+;", ":", text)
    assert compare(score(), score()).origins[0].name == ""


def test_hostile_words_of_ci_stay_on_their_line(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_SHA", "a\n\x1b[31m<script>" + "b" * 300)
    monkeypatch.setenv("GITHUB_HEAD_REF", "main\n| x |")
    score().to_jsonl(tmp_path / "a.jsonl")
    comparison = compare(tmp_path / "a.jsonl", tmp_path / "a.jsonl")
    for text in (str(comparison), comparison.markdown(), comparison.html()):
        (line,) = [line for line in text.splitlines() if "commit" in line and "second" in line]
        assert "\x1b" not in line
    assert "<script>b" not in comparison.html()
    assert "\x1b" not in str(read_history([tmp_path / "a.jsonl"]))


def test_the_history_shows_start_commit_and_branch(tmp_path, monkeypatch):
    monkeypatch.setenv("GITHUB_SHA", "0123456789abcdef")
    monkeypatch.setenv("GITHUB_REF_NAME", "main")
    score().to_jsonl(tmp_path / "a.jsonl")
    history = read_history([tmp_path / "a.jsonl"])
    cell = f"{STARTED} 0123456789ab main"
    assert history.build_table(history.metrics[0]).list_texts()[1][1] == cell
    assert cell in history.html()
    assert history.to_dict()["runs"][0]["origin"]["branch"] == "main"


def test_a_pass_mark_is_counted_in_both_runs(tmp_path):
    better = [Sample(id=s.id, reference=s.reference, retrieved_contexts=[s.reference]) for s in SAMPLES]
    before = score()
    after = evaluate(better, [ContextRecall(threshold=0.5)], progress=False)
    comparison = compare(before, after)
    assert comparison.metrics[0].passed == (2, 4)
    assert "pass mark reached by 2 of 4, then by 4" in str(comparison)
    unmarked = evaluate(better, [ContextRecall()], progress=False)
    assert compare(unmarked, unmarked).metrics[0].passed is None


def test_the_page_of_a_comparison_has_its_gates(tmp_path):
    score().to_jsonl(tmp_path / "a.jsonl")
    options = ("--not-worse", "context_recall=0.1", "--max-drop", "context_recall=0.1")
    files = (tmp_path / "a.jsonl", tmp_path / "a.jsonl")
    done = run_command("compare", *files, *options, "--report", tmp_path / "c.html")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    gates = json.loads(run_command("compare", *files, *options, "--format", "json").stdout)["gates"]
    assert len(gates) == 2
    assert done.returncode in (0, 1)
    for gate in gates:
        assert f"<bdi>{gate['gate']}</bdi>: <bdi>{gate['problem'] or 'passed'}</bdi>" in page


def test_a_gate_that_passes_says_which_loss_it_finds(tmp_path):
    """Six samples of 20 fall from 1 to 0, six rise: t(19) at 0.975 and 0.8 is 2.0930 and 0.8610."""
    supported_in = {"a": [*range(6), *range(12, 20)], "b": range(6, 20)}
    for name, supported in supported_in.items():
        samples = [
            Sample(
                id=str(number),
                reference="It is red.",
                retrieved_contexts=["It is red." if number in supported else "x"],
            )
            for number in range(20)
        ]
        evaluate(samples, [ContextRecall()], progress=False).to_jsonl(tmp_path / f"{name}.jsonl")
    gate = ("--max-drop", "context_recall=0.02")
    done = run_command("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", *gate)
    assert done.returncode == 0
    standard_error = math.sqrt(12 / 19 / 20)
    loss = 0.02 + (2.0930 + 0.8610) * standard_error
    expected = f"a true difference of {loss:.3f} is found in 4 of 5 comparisons of 20 samples"
    assert f"note: --max-drop context_recall=0.02: {expected}" in done.stderr


def test_the_report_has_the_gates_of_its_run(tmp_path):
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(s.to_dict()) + "\n" for s in SAMPLES))
    options = ("--metric", "context_recall", "--fail-under", "context_recall=0.8")
    done = run_command("score", tmp_path / "s.jsonl", *options, "--report", tmp_path / "r.html")
    assert done.returncode == 1
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<li class="no"><bdi>--fail-under context_recall=0.8</bdi>: <bdi>' in page


def test_notebooks_show_summary_curve_and_comparison():
    results = evaluate(SAMPLES, [ContextRecall()], progress=False)
    summary = results.summary()._repr_html_()
    assert '<td data-name="mean"><bdi>0.5000</bdi> ' in summary
    assert "<pre>metric          k" in results.curve()._repr_html_()
    page = results.compare(results)._repr_html_()
    assert page.startswith('<div class="ctxmetrics">')
    assert "4 samples in both runs" in page
