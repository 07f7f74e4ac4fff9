"""Facts of different importance, and credit for a part of a fact: the four nugget scores of TREC RAG."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ctxmetrics import ContextRecall, Sample, evaluate
from ctxmetrics.errors import ParameterError, SampleError
from ctxmetrics.evaluation.rows.people_answers import label_of, people_value
from ctxmetrics.evaluation.runs.results import Results
from ctxmetrics.judges.base import Judgement, JudgeRequest
from ctxmetrics.verdicts import Evidence, Verdict
from support.rows import read_rows

# What castorini/nuggetizer, core/metrics.py, calls its four scores, and the parameters that give them.
NUGGET_SCORES: dict[str, dict[str, Any]] = {
    "strict_vital": {"weighting": "vital"},
    "strict_all": {},
    "vital": {"weighting": "vital", "partial": 0.5},
    "all": {"partial": 0.5},
}


class Told:
    """States the facts as a matrix says: one row a fact, one cell a context."""

    name, warnings = "told", ()

    def __init__(self, cells: list[list[str]]) -> None:
        self.cells = cells

    async def attribute(self, request: JudgeRequest) -> Judgement:
        verdicts = []
        for id_, row in zip(request.unit_ids, self.cells, strict=True):
            spans = tuple(
                Evidence(place, 0, 4, request.contexts[place][:4], whole=cell == "whole")
                for place, cell in enumerate(row)
                if cell != "none"
            )
            verdicts.append(Verdict(id=id_, value="whole" in row, evidence=spans))
        return Judgement(verdicts=tuple(verdicts))

    async def rate(self, request: JudgeRequest) -> Judgement:
        return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))


def random_case(source: random.Random) -> tuple[list[str], list[list[str]]]:
    facts, contexts = source.randint(1, 7), source.randint(1, 6)
    importance = [source.choice(["vital", "okay"]) for _ in range(facts)]
    cells = [
        [source.choice(["whole", "part", "none", "none"]) for _ in range(contexts)] for _ in importance
    ]
    return importance, cells


def sample_of(importance: list[Any], cells: list[list[str]], **fields: Any) -> Sample:
    facts = [{"text": f"Fact {n}.", "importance": worth} for n, worth in enumerate(importance)]
    contexts = [f"Text {n}." for n in range(len(cells[0]))]
    return Sample(reference_facts=facts, retrieved_contexts=contexts, **fields)


def nugget_scores(importance: list[str], cells: list[list[str]]) -> dict[str, float]:
    """The scorer's formulas, written out: without a vital nugget its vital scores are 0."""
    support = [1.0 if "whole" in row else 0.5 if "part" in row else 0.0 for row in cells]
    vital = [points for points, worth in zip(support, importance, strict=True) if worth == "vital"]
    return {
        "strict_vital": sum(points == 1 for points in vital) / len(vital) if vital else 0.0,
        "strict_all": sum(points == 1 for points in support) / len(support),
        "vital": sum(vital) / len(vital) if vital else 0.0,
        "all": sum(support) / len(support),
    }


@pytest.mark.slow
def test_the_four_nugget_scores_on_200_matrices() -> None:
    source, without_vital = random.Random(7), 0
    for _ in range(200):
        importance, cells = random_case(source)
        expected = nugget_scores(importance, cells)
        without_vital += "vital" not in importance
        for name, parameters in NUGGET_SCORES.items():
            metric = ContextRecall(unit="fact", judge=Told(cells), **parameters)
            score = metric.score(sample_of(importance, cells))
            if "vital" in name and "vital" not in importance:
                assert (score.value, score.reason_code) == (None, "no_reference")
            else:
                assert score.value == pytest.approx(expected[name], rel=1e-12)
        strict = ContextRecall(convention="trec", judge=Told(cells)).score(sample_of(importance, cells))
        assert strict.value == pytest.approx(expected["strict_vital"], rel=1e-12)
    assert without_vital > 10  # convention trec gives the scorer's 0.0 there


def test_recall_at_k_over_facts_is_strecall_times_coverage() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="ir-measures is an oracle of the dev extra")
    pytest.importorskip("pyndeval", reason="pyndeval gives ir-measures its StRecall")
    source = random.Random(8)
    for _ in range(200):
        importance, cells = random_case(source)
        score = ContextRecall(unit="fact", judge=Told(cells)).score(sample_of(importance, cells))
        k = source.randint(1, len(cells[0]))
        qrels = [
            ir_measures.Qrel("q", f"d{place}", int(cell == "whole"), iteration=str(fact))
            for fact, row in enumerate(cells)
            for place, cell in enumerate(row)
            if cell == "whole"
        ]
        run = [
            ir_measures.ScoredDoc("q", f"d{place}", 1.0 - place / 10) for place in range(len(cells[0]))
        ]
        coverable = sum("whole" in row for row in cells) / len(cells)
        at_k = ir_measures.StRecall @ k
        covered = ir_measures.calc_aggregate([at_k], qrels, run)[at_k] if qrels else 0.0
        assert score.attribution is not None
        assert score.attribution.recall(k) == pytest.approx(covered * coverable, abs=1e-12)


def test_importance_as_numbers_is_a_weighted_mean_everywhere(tmp_path: Any) -> None:
    cells = [["whole", "none"], ["none", "part"], ["none", "whole"]]
    sample = sample_of([3, 2, "okay"], cells, id="a")
    metric = ContextRecall(unit="fact", weighting="importance", partial=0.25, judge=Told(cells))
    results = evaluate([sample], [metric], progress=False)
    expected = (3 + 0.25 * 2 + 0.5) / 5.5
    (row,) = results
    assert row[metric.name].value == expected
    assert [point.recall for point in results.curve(ks=[1, 2])] == [3 / 5.5, expected]
    results.to_jsonl(tmp_path / "run.jsonl")
    read = Results.from_jsonl(tmp_path / "run.jsonl")
    assert [point.recall for point in read.curve(ks=[1, 2])] == [3 / 5.5, expected]
    # People say yes or no: a part of a fact cannot be labelled. Without that credit their score has the weights too.
    assert label_of(metric) is None
    whole = ContextRecall(unit="fact", weighting="importance", judge=Told(cells))
    assert people_value(whole, row[metric.name], [0, 1, 0]) == 2 / 5.5


def test_facts_that_do_not_count_are_neither_counted_nor_doubted() -> None:
    cells = [["whole"], ["none"]]
    score = ContextRecall(unit="fact", weighting="vital", judge=Told(cells)).score(
        sample_of(["vital", "okay"], cells)
    )
    assert (score.value, score.count) == (1.0, "1 of 1 fact supported")
    assert score.metric == "context_recall(unit=fact, weighting=vital)"
    assert "s2" not in score.reason
    assert "\n  (✗) s2 Fact 1." in score.pretty()


def test_facts_without_vital_ones_are_no_empty_reference():
    sample = sample_of(["okay", "okay"], [["whole"], ["whole"]])
    without = ContextRecall(unit="fact", weighting="vital", judge=Told([])).score(sample)
    assert (without.value, without.reason_code) == (None, "no_reference")
    assert without.message.startswith("no fact is vital: ")
    trec = ContextRecall(convention="trec", judge=Told([])).score(sample)
    assert (trec.value, trec.message) == (0.0, "no fact is vital")
    nothing = Sample(reference_facts=[], retrieved_contexts=["Text."])
    assert ContextRecall(convention="trec", judge=Told([])).score(nothing).message == (
        "the reference side is empty"
    )


@pytest.mark.parametrize(
    "importance", ["Vital", "", 0, -1, True, float("nan"), float("inf"), 1e300, ["vital"]]
)
def test_an_importance_that_is_none_is_refused(importance: Any) -> None:
    with pytest.raises(
        SampleError, match=r"item 1: importance must be 'vital', 'okay' or a number above 0"
    ):
        Sample(reference_facts=[{"text": "A fact.", "importance": importance}])


def test_a_fact_keeps_its_importance_as_plain_data() -> None:
    sample = Sample(reference_facts=["One.", {"text": "Two.", "importance": "vital", "id": 2}])
    assert sample.to_dict()["reference_facts"] == [
        "One.",
        {"text": "Two.", "id": "2", "importance": "vital"},
    ]
    assert Sample.from_dict(sample.to_dict()) == sample


def test_weights_need_facts_with_an_importance() -> None:
    with pytest.raises(ParameterError, match="Write unit='fact' beside them"):
        ContextRecall(weighting="vital")
    with pytest.raises(ParameterError, match="partial"):
        ContextRecall(unit="fact", partial=2.0)
    sample = Sample(id="a", reference_facts=["One."], retrieved_contexts=["One."])
    (row,) = evaluate([sample], [ContextRecall(unit="fact", weighting="vital")], progress=False)
    (score,) = row.values()
    assert score.reason_code == "missing_field"
    assert "item 1 has no importance" in (score.message or "")


@pytest.mark.parametrize("detail", [{"weight": -1}, {"weight": "x"}, {"partial": 2}, {"weight": True}])
def test_a_weight_in_a_file_of_results_is_checked(tmp_path: Any, detail: dict[str, Any]) -> None:
    import json

    cells = [["whole"]]
    metric = ContextRecall(unit="fact", weighting="importance", judge=Told(cells))
    evaluate([sample_of([2], cells, id="a")], [metric], progress=False).to_jsonl(tmp_path / "run.jsonl")
    (line,) = read_rows(tmp_path / "run.jsonl")
    line["verdicts"][0]["details"].update(detail)
    (tmp_path / "run.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(ValueError, match="line 1"):
        Results.from_jsonl(tmp_path / "run.jsonl")


def test_sample_counts_as_missed_only_if_the_fact_counts(
    tmp_path: Any,
) -> None:
    metric = ContextRecall(unit="fact", weighting="vital", judge=Told([["whole"], ["none"]]))
    flags = []
    for importance in (["vital", "okay"], ["vital", "vital"]):
        page = tmp_path / "page.html"
        sample = sample_of(importance, [["whole"], ["none"]], id="a")
        evaluate([sample], [metric], progress=False).to_html(page)
        flags.append('data-f="missed' in page.read_text(encoding="utf-8"))
    assert flags == [False, True]
