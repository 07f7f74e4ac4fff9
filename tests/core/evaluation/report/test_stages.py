"""Where the stages of a retrieval are shown: the command line and the report's page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxmetrics import Results
from ctxmetrics.errors import InputFileError
from support.command import run_command
from support.rows import read_rows
from support.stages import CITY, HEIGHT, OTHER, SEARCH, row, run

HANDBOOK = Path(__file__).parents[4] / "examples" / "handbook.jsonl"


def written(folder, rows, name="samples.jsonl"):
    file = folder / name
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows), encoding="utf-8")
    return file


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
