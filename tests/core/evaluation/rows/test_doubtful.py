"""Doubtful verdicts are counted wherever a mean is shown, and a gate may forbid them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from ctxmetrics import ContextRecall, IDBasedContextRecall, Sample, evaluate
from ctxmetrics.adapting.kept_scores import to_json_details
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import DOUBTFUL, Evidence, Verdict
from support.command import run_command
from support.rows import read_rows

CODES = ("weak_evidence", "unverified_evidence", "contradicted", "uncertain", "no_echo", None)


@dataclass(frozen=True)
class CodeJudge:
    """Supports every unit and gives the unit's verdict the code that its text names."""

    name: str = "codes"
    warnings: tuple[str, ...] = ("this label",)

    async def attribute(self, request):
        span = Evidence(0, 0, 4, request.contexts[0][:4], whole=False)
        return Judgement(
            verdicts=tuple(
                Verdict(id=id_, value=code != "unverified_evidence", evidence=(span,), code=code)
                for id_, code in zip(request.unit_ids, CODES, strict=False)
            )
        )

    rate = attribute


def sample(units, name=None):
    reference = " ".join(f"Sentence {number}." for number in range(1, units + 1))
    return Sample(id=name, reference=reference, retrieved_contexts=["Some text."])


@pytest.fixture(scope="module")
def results():
    metrics = [ContextRecall(judge=CodeJudge())]
    return evaluate([sample(6, "six"), sample(2, "two")], metrics, progress=False)


def test_the_summary_counts_them(results):
    summary = results.summary()["context_recall"]
    counts = {"weak_evidence": 2, "unverified_evidence": 2, "contradicted": 1, "uncertain": 1}
    assert {*counts, "near_bar"} == DOUBTFUL  # its own test is in test_decision.py
    assert (summary.verdicts, summary.doubtful, summary.doubtful_share) == (8, counts, 6 / 8)
    assert summary.to_dict()["doubtful"] == counts
    assert summary.to_dict()["doubtful_share"] == 6 / 8
    table = str(results.summary()).splitlines()
    assert " ".join(map(str.strip, table[2:])) == (
        "context_recall: doubtful: contradicted 1, uncertain 1, unverified_evidence 2, weak_evidence 2 "
        "(6 of 8 verdicts)"
    )


def test_rows_of_files_and_tables_count_them(results, tmp_path):
    assert list(results.to_pandas()["context_recall.doubtful"]) == [4, 2]
    results.to_jsonl(tmp_path / "rows.jsonl")
    rows = read_rows(tmp_path / "rows.jsonl")
    assert rows[1]["doubtful"] == {"weak_evidence": 1, "unverified_evidence": 1}
    streamed = evaluate(
        [sample(6)], [ContextRecall(judge=CodeJudge())], out=tmp_path / "out.jsonl", progress=False
    )
    assert list(streamed.to_pandas()["context_recall.doubtful"]) == [4]  # also where rows are not kept
    assert streamed.summary()["context_recall"].doubtful_share == 4 / 6


def test_the_reason_and_the_text_of_a_score_name_them(results):
    score = results[1]["context_recall"]
    assert "doubtful: unverified_evidence 1, weak_evidence 1." in score.reason.splitlines()
    assert "  doubtful: unverified_evidence 1, weak_evidence 1" in score.pretty().splitlines()
    assert to_json_details(score)["doubtful"] == {"weak_evidence": 1, "unverified_evidence": 1}
    assert to_json_details(score)["score"] == json.loads(json.dumps(score.to_dict()))
    assert "Some" in score.pretty()
    assert "(part)" in score.pretty()
    assert "weak evidence: look at it" in score.pretty()
    assert score.pretty().endswith("! this label")
    assert "this label" not in score.pretty(warnings=False)


def test_the_page_shows_them(results, tmp_path):
    results.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "6 of 8: contradicted 1, uncertain 1, unverified_evidence 2, weak_evidence 2" in page
    assert "doubtful: unverified_evidence 1, weak_evidence 1" in page


def test_nothing_doubtful_is_not_shown():
    ids = Sample(retrieved_context_ids=["a"], reference_context_ids=["a"])
    results = evaluate([ids], [IDBasedContextRecall()], progress=False)
    assert len(str(results.summary()).splitlines()) == 2
    assert "id_based_context_recall.doubtful" not in results.to_pandas().columns
    assert results.summary()["id_based_context_recall"].doubtful_share == 0.0


@pytest.mark.parametrize(("share", "status"), [("0.49", 1), ("0.5", 0), ("1.5", 2), ("-1", 2)])
def test_the_gate_of_the_command_line(tmp_path, share, status):
    file = tmp_path / "data.jsonl"
    rows = [
        {
            "id": text,
            "reference": "The pump was repaired.",
            "retrieved_contexts": [f"The pump was {text}repaired."],
        }
        for text in ("", "not ")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ["score", file, "--metric", "context_recall", "--max-doubtful", share, "--show", "2"]
    run = run_command(*options)
    assert run.returncode == status, run.stderr
    gate = "gate: context_recall has 1 of 2 verdicts doubtful, more than 0.49"
    assert (gate in run.stderr.splitlines()) is (status == 1)
    if status == 2:
        assert "Invalid value for '--max-doubtful'" in run.stderr
    else:
        assert "1 of 2" in run.stdout
        assert (run.stdout + run.stderr).count(
            "Embedded lexical judge"
        ) == 1  # once a run, not once a score
