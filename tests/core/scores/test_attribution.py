"""The attribution: the matrix units x contexts behind a recall, and what follows from it. Values are hand-computed."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from ctxmetrics import ContextPrecision, ContextRecall, ContextUtilization, Sample, evaluate
from ctxmetrics.errors import ParameterError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.scores.attribution import Attribution
from ctxmetrics.verdicts import Evidence, Verdict

CONTEXTS = ("one two three four", "five", "six", "seven", "eight")


@dataclass(frozen=True)
class MatrixJudge:
    """Judges by a matrix: for each unit a text of one letter a context (w whole, p part, - nothing), or None."""

    rows: tuple[str | None, ...]
    codes: tuple[str | None, ...] = ()
    name: str = "matrix"
    warnings: tuple[str, ...] = ()

    async def attribute(self, request):
        return Judgement(verdicts=verdicts(self.rows, request.contexts, self.codes))

    async def rate(self, request):
        return Judgement(verdicts=tuple(Verdict(id=id_, value=True) for id_ in request.context_ids))


def verdicts(rows, contexts=CONTEXTS, codes=()):
    found = []
    for number, row in enumerate(rows, 1):
        spans = tuple(
            Evidence(context, 0, len(contexts[context]), contexts[context], cell == "w")
            for context, cell in enumerate((row or "")[: len(contexts)])
            if cell in "wp"
        )
        value = None if row is None else bool(spans) and not row.endswith("!")
        code = codes[number - 1] if codes else None if row is not None else "refused"
        found.append(Verdict(id=f"s{number}", value=value, evidence=spans, code=code))
    return tuple(found)


def attribution(*rows, contexts=5):
    return Attribution(verdicts(rows), tuple(map(len, CONTEXTS[:contexts])))


def sample(units, contexts=5):
    return Sample(
        reference=" ".join(f"Sentence {number}." for number in range(1, units + 1)),
        retrieved_contexts=CONTEXTS[:contexts],
    )


@pytest.mark.parametrize(
    ("rows", "recall", "precision"),
    [
        # RAGChecker: claim recall = entailed claims / claims; context precision = chunks that entail a claim / chunks
        (("w---", "-w--", "----"), 2 / 3, 2 / 4),
        (("ww--", "-w--", "---w", "----"), 3 / 4, 3 / 4),
        (("----",), 0.0, 0.0),
        (("wwww", "wwww"), 1.0, 1.0),
        (("--w-", "----", "--w-", "----", "--w-"), 3 / 5, 1 / 4),
    ],
)
def test_claim_recall_and_context_precision_of_ragchecker(rows, recall, precision):
    judge = MatrixJudge(rows)
    found = ContextRecall(judge=judge).score(sample(len(rows), 4))
    assert found.value == recall == found.attribution.recall()
    supports = ContextPrecision(judge=judge, relevance="supports", formula="share")
    assert (
        supports.score(sample(len(rows), 4)).value
        == precision
        == found.attribution.precision(formula="share")
    )


def test_a_unit_rests_on_whole_contexts_else_on_all_its_parts():
    found = attribution("p-w-w", "p--p-", "-p---", "-----", "w---p!")
    assert found.cells[0] == ("part", "none", "whole", "none", "whole")
    assert found.smallest_ks == (3, 4, 2, None, None)
    assert found.rests_on() == ((2, 4), (0, 3), (1,), (), ())
    assert found.rests_on(3) == ((2,), (), (1,), (), ())
    assert [found.recall(k) for k in range(7)] == [0.0, 0.0, 1 / 5, 2 / 5, 3 / 5, 3 / 5, 3 / 5]
    # useful at k = 3: [no, yes, yes]; at k = 5: all but none: c1, c2, c3, c4, c5
    assert found.precision(3) == (1 / 2 + 2 / 3) / 2
    assert found.precision(3, formula="share") == 2 / 3
    assert found.precision() == 1.0
    assert (found.unused, found.redundant) == ((), (4,))
    assert found.redundancy == 1 / 5


def test_a_judge_may_know_the_smallest_k_itself():
    (verdict,) = verdicts(["pp--w"])
    verdict = Verdict(id="s1", value=True, evidence=verdict.evidence, details={"smallest_k": 2})
    found = Attribution((verdict,), (1,) * 5)
    assert [found.recall(k) for k in range(6)] == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    assert (found.rests_on(2), found.rests_on(4), found.rests_on(5)) == (((0, 1),), ((0, 1),), ((4,),))
    for nonsense in (-1, 6, "2", None, 2.0):
        broken = Verdict(
            id="s1", value=True, evidence=verdict.evidence, details={"smallest_k": nonsense}
        )
        assert Attribution((broken,), (1,) * 5).smallest_ks == (5,)


def test_context_with_part_and_whole_is_whole():
    spans = [Evidence(0, 0, 3, "one", whole) for whole in (False, True, False)]
    verdict = Verdict(id="s1", value=True, evidence=tuple(spans))
    assert Attribution((verdict,), (18,)).cells == (("whole",),)


def test_necessary_parts_are_not_redundant_but_repeats_are():
    assert attribution("p-p--", "w----").redundant == ()
    assert attribution("ww-w-", "-w---").redundant == (3,)
    assert attribution("ww-w-", "-w---").unused == (2, 4)
    assert attribution("ww-w-", "-w---").redundancy == 1 / 3
    assert attribution("-----").redundancy is None


@pytest.mark.parametrize(
    ("rows", "adds", "supports"),
    [
        # A context counts where a unit rests on it that none above it states whole.
        (("ww-w-", "-w---"), [True, True, False, False, False], [True, True, False, True, False]),
        (("w-w", "---"), [True, False, False], [True, False, True]),
        (("-ww", "w-w"), [True, True, False], [True, True, True]),
        # Parts of one unit are all needed; a part is not where a context states the whole.
        (("p-p--", "w----"), [True, False, True, False, False], [True, False, True, False, False]),
        (("p-w", "---"), [False, False, True], [False, False, True]),
        (("----", "----"), [False] * 4, [False] * 4),
    ],
)
def test_a_context_that_repeats_adds_nothing(rows, adds, supports):
    judge, request = MatrixJudge(rows), sample(len(rows), len(rows[0]))
    for relevance, expected in (("adds", adds), ("supports", supports)):
        metric = ContextPrecision(judge=judge, relevance=relevance, formula="share")
        score = metric.score(request)
        assert [verdict.value for verdict in score.verdicts] == expected
        assert score.value == sum(expected) / len(expected)
    ranked = ContextPrecision(judge=judge, relevance="adds").score(request)
    hits = [rank for rank, value in enumerate(adds, 1) if value]
    precisions = [(number / rank) for number, rank in enumerate(hits, 1)]
    assert ranked.value == (sum(precisions) / len(hits) if hits else 0.0)
    assert ranked.metric == "context_precision(relevance=adds)"


def test_what_a_context_adds_is_unknown_while_a_unit_is():
    judge = MatrixJudge(("ww-", None))
    score = ContextPrecision(judge=judge, relevance="adds").score(sample(2, 3))
    assert [verdict.value for verdict in score.verdicts] == [True, None, None]
    assert (score.value, score.reason_code) == (None, "not_judged")


def test_two_whole_contexts_and_one_about_something_else():
    score = ContextPrecision(relevance="supports", formula="share").score(
        Sample(
            reference="The pump was repaired in May.",
            retrieved_contexts=[
                "In May the pump was repaired.",
                "The pump was repaired in May by Hale.",
                "Bread is baked.",
            ],
        )
    )
    assert score.value == 2 / 3
    assert [verdict.value for verdict in score.verdicts] == [True, True, False]


def test_unit_without_verdict_leaves_the_matrix():
    found = ContextRecall(judge=MatrixJudge(("w----", None))).score(sample(2)).attribution
    assert found.cells == (("whole", *("none",) * 4), ("none",) * 5)
    assert (found.recall(), found.precision(), found.unused, found.redundant) == (
        None,
        None,
        None,
        None,
    )
    assert found.redundancy is None


def test_only_metrics_over_units_have_an_attribution():
    judge = MatrixJudge(("w----",))
    assert ContextRecall(judge=judge).score(sample(1)).attribution is not None
    assert ContextRecall(judge=judge, top_k=2).score(sample(1)).attribution.context_lengths == (18, 4)
    assert ContextPrecision(judge=judge, relevance="supports").score(sample(1)).attribution is None
    answered = Sample(response="Yes.", retrieved_contexts=["x"])
    assert ContextUtilization(judge=judge).score(answered).attribution is None


def test_quotes_plain_data_and_text():
    found = attribution("w--", "-p-", contexts=3)
    assert (found.quotes(0, 0), found.quotes(0, 1)) == (("one two three four",), ())
    assert found.to_dict() == {
        "units": ["s1", "s2"],
        "cells": [["whole", "none", "none"], ["none", "part", "none"]],
        "smallest_k": [1, 2],
        "context_lengths": [18, 4, 3],
        "unused": [2],
        "redundant": [],
    }
    assert str(found).splitlines() == [
        "       c1     c2     c3",
        "s1     whole  -      -",
        "s2     -      part   -",
    ]


def test_the_report_marks_unused_and_redundant_contexts(tmp_path):
    judge = MatrixJudge(("ww-w-", "-w---"))
    evaluate([sample(2)], [ContextRecall(judge=judge)], progress=False).to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tags = dict(re.findall(r'<h4>(c\d)(?:<span class="tag">([^<]*)</span>)?</h4>', page))
    assert tags == {"c1": "", "c2": "", "c3": "unused", "c4": "redundant", "c5": "unused"}
    judge = MatrixJudge(("-p---!",))
    evaluate([sample(1)], [ContextRecall(judge=judge)], progress=False).to_html(tmp_path / "part.html")
    assert "stated in part in c2" in (tmp_path / "part.html").read_text(encoding="utf-8")


def test_a_context_on_which_only_doubtful_units_rest_is_doubtful():
    judge = MatrixJudge(("w----", "ww---"), codes=("weak_evidence", "uncertain"))
    score = ContextPrecision(judge=judge, relevance="supports").score(sample(2))
    assert [verdict.code for verdict in score.verdicts] == [
        "weak_evidence",
        "uncertain",
        None,
        None,
        None,
    ]
    judge = MatrixJudge(("w----", "ww---"), codes=("weak_evidence", None))
    score = ContextPrecision(judge=judge, relevance="supports").score(sample(2))
    assert [verdict.code for verdict in score.verdicts] == [None] * 5


@pytest.mark.parametrize("k", [-1, "1", 1.5, True])
@pytest.mark.parametrize("figure", ["recall", "precision", "matrix", "rests_on"])
def test_a_k_that_counts_no_contexts_is_refused(figure, k):
    found = Attribution(verdicts(["w---"]), (18, 4, 3, 5))
    with pytest.raises(ParameterError, match=r"k is .*: write a whole number of at least 0"):
        getattr(found, figure)(k)


def test_an_unknown_formula_of_the_precision_is_refused():
    found = Attribution(verdicts(["w---"]), (18, 4, 3, 5))
    with pytest.raises(ParameterError, match="formula='bogus' is unknown"):
        found.precision(formula="bogus")
