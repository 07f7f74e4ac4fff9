"""The stages of a retrieval in a comparison of two runs."""

from __future__ import annotations

import json
import re

import pytest

from ctxmetrics import ScriptedJudge
from ctxmetrics.errors import ParameterError
from support import answer_from
from support.command import run_command
from support.stages import CITY, HEIGHT, OTHER, SEARCH, YEAR, row, run


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
    """Student's, by scipy, of 24 losses and 16 equal samples; with clusters that of their sums."""
    stats = pytest.importorskip("scipy.stats")
    rows = [{**row(n, search=SEARCH), "metadata": {"document": n // 2}} for n in range(40)]
    less = [{**one, "stages": {"search": SEARCH[:3]}} if n < 24 else one for n, one in enumerate(rows)]
    losses = [-1 / 3] * 24 + [0.0] * 16
    first, second = run(rows), run(less)
    for cluster, values in ((None, losses), ("metadata.document", losses[::2])):
        (stage,) = first.compare(second, cluster=cluster).stages.stages
        low, high = stats.ttest_1samp(values, 0).confidence_interval()
        assert stage.interval == pytest.approx((low, high), abs=1e-9)


def test_the_same_pool_is_said():
    first = run([row(1, search=SEARCH, rerank=[HEIGHT, YEAR])])
    second = run([row(1, search=SEARCH, rerank=[YEAR])])
    (*_, rerank) = first.compare(second).stages.stages
    assert (
        rerank.description
        == "rerank: lost by the second run, kept by the first, from the same contexts: 1"
    )
    (*_, rerank) = second.compare(first).stages.stages
    assert (rerank.lost, rerank.description.rpartition(": ")[2]) == ((), "0")


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


def test_what_the_first_run_dropped_too_is_no_loss():
    first = run([row(1, search=SEARCH, rerank=[HEIGHT])])
    second = run([row(1, search=SEARCH, rerank=[OTHER])])
    (*_, rerank) = first.compare(second).stages.stages
    assert [lost.unit for lost in rerank.lost] == ["s1"]
