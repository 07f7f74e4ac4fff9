"""Where the stages of a retrieval are shown: the command line, the report's page, and the comparison of two runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ctxmetrics import ContextRecall, LexicalJudge, Results, Sample, ScriptedJudge, evaluate
from ctxmetrics.errors import InputFileError, ParameterError
from support import answer_from
from support.command import run_command
from support.rows import read_rows

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"
HEIGHT, YEAR, CITY = "It is 330 metres tall.", "It was built in 1889.", "It stands in Paris."
TEXT, OTHER = f"{HEIGHT} {YEAR} {CITY}", "Bananas are yellow."
SEARCH = [OTHER, HEIGHT, YEAR, CITY]


def row(number, **stages):
    given = stages or {"search": SEARCH, "rerank": [CITY, OTHER], "prompt": [OTHER]}
    return {"id": f"q{number}", "user_input": f"Question {number}?", "reference": TEXT, "stages": given}


def written(folder, rows, name="samples.jsonl"):
    file = folder / name
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return file


def run(rows, judge=None) -> Results:
    samples = [Sample(**one) for one in rows]
    return evaluate(samples, [ContextRecall()], judge=judge or LexicalJudge(), progress=False)


# --- the command ---


def test_the_command_prints_the_stages_and_the_first_lost_units(tmp_path):
    out = tmp_path / "out.jsonl"
    done = run_command("score", written(tmp_path, map(row, range(4))), "--stages", "--out", out)
    assert done.returncode == 0, done.stderr
    means, table, shown = done.stdout.partition("\ncontext_recall by stage:\n")
    assert means.startswith("metric ")
    assert table
    lines = shown.splitlines()
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["search", "1.000"],
        ["rerank", "0.333"],
        ["prompt", "0.000"],
    ]
    assert lines[4] == "of 12 missed of 12: 8 dropped by rerank, 4 dropped by prompt"
    assert lines[5] == f"  q0, s1: c2 of search (rank 2), dropped by rerank: {HEIGHT}"
    assert lines[7] == f"  q0, s3: c1 of rerank (rank 1), dropped by prompt: {CITY}"
    assert len(lines) == 5 + 10 + 1
    assert lines[-1] == "  and 2 more: --report FILE.html lists them, --out FILE holds all"
    assert len(Results.from_jsonl(out).stages().lost) == 12


def test_the_command_refuses_before_anything_is_judged(tmp_path):
    out = tmp_path / "out.jsonl"
    done = run_command("score", HANDBOOK, "--stages", "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stages: no sample has stages" in done.stderr
    file = written(tmp_path, [row(1)])
    done = run_command("score", file, "--stages", "--metric", "context_precision", "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stages: no metric counts the units of a reference" in done.stderr
    assert not out.exists()


def test_the_command_says_where_no_unit_was_judged(tmp_path):
    file = written(tmp_path, [{**row(1), "reference": "..."}])
    done = run_command("score", file, "--stages", "--metric", "context_recall")
    assert done.returncode == 0
    assert "by stage" not in done.stdout
    assert "no sample has units with stages" in done.stderr


# --- the page ---


def test_page_has_a_section_only_if_samples_have_stages(tmp_path):
    page = tmp_path / "page.html"
    run([row(1), row(2)]).to_html(page)
    text = page.read_text(encoding="utf-8")
    assert "Stages of the retrieval: context_recall" in text
    assert "Missed: 6 of 6: 4 <bdi>dropped by rerank</bdi>, 2 <bdi>dropped by prompt</bdi>" in text
    assert text.count("dropped by rerank") == 1 + 4
    plain = {name: value for name, value in row(1).items() if name != "stages"}
    run([{**plain, "retrieved_contexts": [CITY]}]).to_html(page)
    assert "Stages of the retrieval" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("shown", ["page", "text"])
def test_a_hostile_name_of_a_stage_stays_text(tmp_path, shown):
    hostile = "</bdi><script>window.owned=1</script>\x1b[31m\u202e"
    results = run([row(1, **{hostile: SEARCH, "prompt": [OTHER], f"{hostile}2": [CITY]})])
    page = tmp_path / "page.html"
    results.to_html(page)
    text = page.read_text(encoding="utf-8") if shown == "page" else str(results.stages())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert ("<script>window" not in text) is (shown == "page")


# --- two runs ---


def test_two_runs_are_compared_stage_by_stage(tmp_path):
    first = run([row(number, search=SEARCH, rerank=[HEIGHT, YEAR]) for number in range(12)])
    second = run(
        [row(number, search=SEARCH, rerank=[HEIGHT, CITY]) for number in range(11)]
        + [row(11, search=[OTHER, *SEARCH[1:3]], rerank=[HEIGHT])]
    )
    found = first.compare(second)
    search, rerank = found.stages.stages
    assert (search.name, search.before, search.samples, search.pools, search.lost) == (
        "search", 1.0, 12, 0, (),
    )  # fmt: skip
    assert search.after == pytest.approx((11 + 2 / 3) / 12)
    assert rerank.before == pytest.approx(2 / 3)
    assert rerank.after == pytest.approx((11 * 2 / 3 + 1 / 3) / 12)
    assert (rerank.pools, rerank.different) == (12, 1)
    # what the first run's reranker did not keep either is no loss
    assert [(lost.sample, lost.unit) for lost in rerank.lost] == [(f"q{n}", "s2") for n in range(12)]
    assert (rerank.lost[0].context, rerank.lost[0].rank) == ("c3", 3)
    said = "rerank: lost by the second run, kept by the first, the pools differ in 1 of 12 samples: 12"
    for text in (str(found), found.markdown(), found.html()):
        assert "context_recall" in text
        assert said in text
    assert f"  q0, s2: c3 of search (rank 3), dropped by rerank: {YEAR}" in str(found)
    assert "and 2 more: --format json lists all" in str(found)
    # One of 12 changed: Clopper and Pearson's upper ends for 1 and for 0 of 12.
    assert "| rerank | 0.667 | 0.639 | -0.385 to +0.265 | 12 |" in found.markdown()
    assert '<td data-name="95 % interval"><bdi>-0.385 to +0.265</bdi></td>' in found.html()
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    first.to_jsonl(files[0])
    second.to_jsonl(files[1])
    done = run_command("compare", *files, "--format", "json")
    assert json.loads(done.stdout)["stages"] == found.to_dict()["stages"]
    assert found.to_dict()["stages"]["stages"][1]["lost"][0]["context"] == "c3"


def test_the_difference_of_a_stage_has_an_interval():
    """Student's, by scipy, of 12 losses and 8 equal samples; with clusters that of their sums."""
    stats = pytest.importorskip("scipy.stats")
    rows = [{**row(n, search=SEARCH), "metadata": {"document": n // 2}} for n in range(20)]
    less = [{**one, "stages": {"search": SEARCH[:3]}} if n < 12 else one for n, one in enumerate(rows)]
    losses = [-1 / 3] * 12 + [0.0] * 8
    first, second = run(rows), run(less)
    for cluster, values in ((None, losses), ("metadata.document", losses[::2])):
        (stage,) = first.compare(second, cluster=cluster).stages.stages
        low, high = stats.ttest_1samp(values, 0).confidence_interval()
        assert stage.interval == pytest.approx((low, high), abs=1e-9)


def test_the_same_pool_is_said():
    first = run([row(1, search=SEARCH, rerank=[HEIGHT, YEAR])])
    second = run([row(1, search=SEARCH, rerank=[YEAR])])
    (*_, rerank) = first.compare(second).stages.stages
    assert rerank.said == "rerank: lost by the second run, kept by the first, from the same contexts: 1"
    (*_, rerank) = second.compare(first).stages.stages
    assert (rerank.lost, rerank.said.rpartition(": ")[2]) == ((), "0")


def test_a_stage_of_one_run_only_has_no_value_in_the_other():
    found = run([row(1, search=SEARCH)]).compare(run([row(1, search=SEARCH, rerank=[YEAR])]))
    assert [(stage.name, stage.before, stage.after) for stage in found.stages.stages] == [
        ("search", 1.0, 1.0),
        ("rerank", None, pytest.approx(1 / 3)),
    ]
    assert found.stages.stages[1].pools == 0
    assert "lost by the second run" not in str(found)
    assert re.search(r"rerank  -      0.333   -  +1$", str(found), re.MULTILINE)


def test_without_stages_in_both_runs_nothing_is_said_about_them():
    plain = {name: value for name, value in row(1).items() if name != "stages"}
    staged, bare = run([row(1)]), run([{**plain, "retrieved_contexts": [OTHER]}])
    other = run([{**plain, "retrieved_contexts": [OTHER]}, row(2)])
    both = run([row(1), {**plain, "id": "q2", "retrieved_contexts": [OTHER]}])  # never in one sample
    pairs = [(staged, bare), (bare, staged), (bare, bare), (both, other)]
    for found in (one.compare(two, accept=["question"]) for one, two in pairs):
        assert found.stages is None
        assert "stages" not in found.to_dict()
        for text in (str(found), found.markdown(), found.html()):
            assert "by stage" not in text
            assert "Stages of" not in text


def test_model_that_saw_a_pool_is_another_judge():
    plain = {name: value for name, value in row(1).items() if name != "stages"}
    judge = ScriptedJudge(answer_from(useful=lambda context, answer: context != OTHER))
    staged = run([row(1)], judge)
    bare = run([{**plain, "retrieved_contexts": [OTHER]}], judge)
    with pytest.raises(ParameterError, match=r"differ in judge .* over stages"):
        bare.compare(staged)
    assert bare.compare(staged, accept=["judge"]).stages is None
    assert staged.compare(staged).stages is not None


def test_hostile_names_of_stages_stay_text_in_a_comparison():
    hostile = "</bdi><script>window.owned=1</script>|\x1b[31m\u202e"
    first = run([row(1, search=SEARCH, **{hostile: [HEIGHT]})])
    found = first.compare(run([row(1, search=SEARCH, **{hostile: [YEAR]})]))
    for text in (str(found), found.markdown(), found.html()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "<script>" not in found.markdown()
    assert "<script>window" not in found.html()
    assert all(line.count("|") in {0, 6, 10} for line in found.markdown().splitlines())


# --- files that someone else wrote ---


@pytest.mark.parametrize(
    ("place", "made", "said"),
    [
        ("details", lambda stages: 5, "details.stages: Input should be a valid array"),
        ("details", lambda stages: [], "at least 1 item"),
        ("details", lambda stages: [{**stages[0], "name": "x"}], "are not those of the sample"),
        ("details", lambda stages: [{**stages[0], "value": "no"}], "details.stages.0.value"),
        ("details", lambda stages: [{**stages[0], "contexts": ["a"]}], "stages.0.contexts.0"),
        (
            "details",
            lambda stages: [{**stages[0], "contexts": [[1, 10**9, True, None]]}],
            "should be less than 100000",
        ),
        ("sample", lambda sizes: None, "sample.stage_sizes"),
        ("sample", lambda sizes: {}, "are not those of the sample"),
        ("sample", lambda sizes: dict.fromkeys(sizes, "a"), "sample.stage_sizes.search"),
    ],
)
def test_a_file_of_results_with_other_stages_is_refused(tmp_path, place, made, said):
    file = tmp_path / "run.jsonl"
    run([row(1)]).to_jsonl(file)
    (line,) = read_rows(file)
    if place == "sample":
        line["sample"]["stage_sizes"] = made(line["sample"]["stage_sizes"])
    for verdict in line["verdicts"] if place == "details" else ():
        verdict["details"]["stages"] = made(verdict["details"]["stages"])
    file.write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(InputFileError) as caught:
        Results.from_jsonl(file)
    assert said in str(caught.value)


def test_units_of_one_sample_with_different_stages_are_refused(tmp_path):
    file = tmp_path / "run.jsonl"
    run([row(1)]).to_jsonl(file)
    (line,) = read_rows(file)
    line["verdicts"][0]["details"]["stages"].pop()
    file.write_text(f"{json.dumps(line)}\n", encoding="utf-8")
    with pytest.raises(InputFileError, match="the stages are not those of the sample"):
        Results.from_jsonl(file)
