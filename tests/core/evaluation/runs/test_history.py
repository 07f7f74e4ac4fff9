"""The history of runs: means in their order, and lines that end where something else than the retriever changed."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    IDBasedContextRecall,
    LexicalJudge,
    Results,
    Sample,
    ScriptedJudge,
    evaluate,
)
from ctxmetrics.errors import InputFileError, ParameterError
from ctxmetrics.evaluation.runs.history import read_history
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
    chart = read_history(runs).draw("context_recall")
    assert [len(line.points) for line in chart.lines] == [2, 1, 2]
    # From 0 at the bottom (160) to 1 at the top (12), the runs from left (40) to right (620).
    points = [point for line in chart.lines for point in chart.place_points(line)]
    expected = [(40, 86), (185, 49), (330, 49), (475, 12), (620, 160 - 148 / 3)]
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


def various():
    """Samples with a contradiction, weights, ids, a context that no sentence names, and no sentence at all."""
    facts = [
        {"text": "Pump 9 moves water.", "importance": "vital"},
        {"text": "It is blue.", "importance": "okay"},
    ]
    ids = {"retrieved_context_ids": ["a", "a"], "reference_context_ids": ["b"]}
    return [
        Sample(
            id="a",
            reference="The pump is covered for 2 years.",
            retrieved_contexts=["The pump is covered for 1 year. Registration ends after 2 years."],
        ),
        replace(sample(1), id="b", response="Pump 1 moves water.", reference_facts=facts, **ids),
        replace(sample(2), id="c", reference="..", labels={"x": 1}, metadata={"topic": "\ud83d"}),
    ]


METRICS = [
    ContextRecall(threshold=0.5),
    ContextRecall(unit="fact", convention="trec"),
    ContextPrecision(),
    ContextPrecision(convention="aegis"),
    IDBasedContextRecall(),
]


REPLY = {
    "code": "$code",
    "sentences": {"s1": {"supported": False}},
    "useful": {"c1": {"useful": True, "quote": "Pump"}},
}


@pytest.mark.parametrize("judge", [None, ScriptedJudge({}), ScriptedJudge({"joint": [REPLY]})])
def test_summaries_are_those_of_the_whole_file(tmp_path, judge):
    results = evaluate(various(), METRICS, judge=judge, progress=False)
    results.to_jsonl(tmp_path / "a.jsonl")
    results.to_baseline(tmp_path / "b.jsonl")
    for path in (tmp_path / "a.jsonl", tmp_path / "b.jsonl"):
        (run,) = read_history([path]).runs
        assert run.metrics == dict(Results.from_jsonl(path).summary())


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (
            lambda line: line.replace('"value":1.0', '"value":"1"'),
            r"value: Input should be a valid number",
        ),
        (lambda line: line.replace('"value":1.0', '"value":7'), "value: 7 is no number from 0 to 1"),
        (
            lambda line: line.replace('"value":1.0', '"value":0.5'),
            "value: 0.5 is not what the verdicts give, 1",
        ),
        (
            lambda line: line.replace('"value":true', '"value":null,"code":"x"'),
            "value: a verdict is missing, so there is no value",
        ),
        (lambda line: line.replace('"value":true', '"value":2'), r"verdicts\.0\.value: "),
        (
            lambda line: line.replace('"provenance_id":1', '"provenance_id":9'),
            "no line before it has 9",
        ),
        (lambda line: line.replace('"value":true,', ""), r"verdicts\.0\.value: Field required"),
        (
            lambda line: line.replace('"id":"s1",', '"code":"x",'),
            r"verdicts\.0\.id: Field required",
        ),
        (lambda line: line.replace('"value":1.0,', ""), "value: Field required"),
        (
            lambda line: line.replace('"value":1.0,', '"value":null,'),
            "reason_code: there is none, and no value",
        ),
        (
            lambda line: line.replace('"value":1.0,', '"value":1.0,"metadata":{"tie_range":5},'),
            r"metadata\.tie_range: Input should be a valid array",
        ),
        (lambda line: line[:80], "the line is cut off"),
        (lambda line: f"{line},\n", r"it is no JSON at character \d+"),
    ],
)
def test_a_line_that_is_no_row_is_refused(tmp_path, edit, problem):
    path = write_run(tmp_path / "1.jsonl", {1, 2})
    start, header, line, *_ = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([start, header, edit(line)]), encoding="utf-8")
    with pytest.raises(InputFileError, match=f"line 3: .*{problem}"):
        read_history([path])
    path.write_text(f"{start}\n{header}\n{line}", encoding="utf-8")
    assert read_history([path]).runs[0].metrics["context_recall"].mean == 1


@pytest.mark.parametrize("repeats", [{"c2": "c1"}, {"c2": ["c1"]}, 5])
def test_a_repeated_context_counts_as_in_the_whole_file(tmp_path, repeats):
    twice = Sample(reference="It is blue.", retrieved_contexts=["It is blue."] * 2 + ["Bananas."])
    path = tmp_path / "1.jsonl"
    evaluate([twice], [ContextPrecision()], progress=False).to_jsonl(path)
    text = path.read_text(encoding="utf-8")
    assert '"repeats":{"c2":"c1"}' in text
    changed = text.replace('"repeats":{"c2":"c1"}', f'"repeats":{json.dumps(repeats)}')
    path.write_text(changed, encoding="utf-8")
    (run,) = read_history([path]).runs
    assert run.metrics == dict(Results.from_jsonl(path).summary())


def test_no_sample_is_built_for_a_history(runs, monkeypatch):
    monkeypatch.setattr(Sample, "__init__", lambda *_, **__: pytest.fail("a sample was built"))
    assert len(read_history(runs).runs) == 5


def test_intervals_are_drawn_beside_the_points(tmp_path):
    path = write_run(tmp_path / "1.jsonl", {1, 2, 3})
    # Wilson's interval of 3 of 4: 0.30064 to 0.95441 (see the command's table); from 1 at 12 to 0 at 160.
    (interval,) = read_history([path]).draw("context_recall").intervals
    assert interval == pytest.approx((0, 0.3006, 0.9544), abs=1e-4)
    page = read_history([path]).html()
    assert 'x1="40.0" x2="40.0" y1="115.5" y2="18.7"' in page
    assert '<td data-name="not comparable with the run before"></td>' in page  # hidden on a phone


def test_a_wrong_provenance_of_a_baseline_is_named(tmp_path):
    path = write_run(tmp_path / "base", {1, 2})
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"judge":"lexical"', '"judge":7'), encoding="utf-8")
    with pytest.raises(InputFileError, match=r"line 2: .* judge: Input should be a valid string"):
        read_history([path])


def test_a_single_file_is_no_history():
    with pytest.raises(ParameterError, match=r"paths must be a list. Write \['run.jsonl'\]"):
        read_history("run.jsonl")
