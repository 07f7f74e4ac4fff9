"""Facts that the user gives as units: the denominator is what people wrote."""

from __future__ import annotations

import pytest

from ctxmetrics import (
    ContextPrecision,
    ContextRecall,
    ContextUtilization,
    LexicalJudge,
    Sample,
    evaluate,
)
from ctxmetrics.errors import MissingFieldError
from ctxmetrics.judges.base import Judgement
from ctxmetrics.verdicts import Evidence, Verdict

FACTS = ("The pump was repaired.", {"text": "It costs 20 euros. It is red.", "id": "nugget-7"})
CONTEXTS = ("Bread is baked.", "In May the pump was repaired.")


class Recorder:
    """Supports the first unit, calls the second context useful, and keeps what it was asked."""

    name, warnings = "recorder", ()

    def __init__(self):
        self.requests = []

    async def attribute(self, request):
        self.requests.append(request)
        span = Evidence(1, 0, 2, request.contexts[1][:2])
        first = Verdict(id="s1", value=True, evidence=(span,))
        return Judgement(
            verdicts=(first, *(Verdict(id=id_, value=False) for id_ in request.unit_ids[1:]))
        )

    async def rate(self, request):
        self.requests.append(request)
        return Judgement(verdicts=(Verdict(id="c1", value=False), Verdict(id="c2", value=True)))


def test_each_fact_is_one_unit_as_it_was_written():
    judge = Recorder()
    sample = Sample(reference_facts=FACTS, retrieved_contexts=CONTEXTS)
    score = ContextRecall(unit="fact", judge=judge).score(sample)
    assert score.value == 1 / 2
    (request,) = judge.requests
    assert request.units == ("The pump was repaired.", "It costs 20 euros. It is red.")  # not split
    assert request.answer == "The pump was repaired.\nIt costs 20 euros. It is red."
    assert [verdict.id for verdict in score.verdicts] == ["s1", "s2"]
    assert [verdict.details.get("fact_id") for verdict in score.verdicts] == [None, "nugget-7"]
    assert (score.metric, score.count) == ("context_recall(unit=fact)", "1 of 2 facts supported")
    assert score.provenance.splitter == "facts"
    assert score.attribution.smallest_ks == (2, None)


def test_precisions_over_facts_ask_about_the_reference():
    judge = Recorder()
    sample = Sample(reference="The whole answer.", reference_facts=FACTS, retrieved_contexts=CONTEXTS)
    assert ContextPrecision(unit="fact", judge=judge).score(sample).value == 1 / 2
    assert judge.requests[0].answer == "The whole answer."
    assert len(judge.requests[0].units) == 2
    supports = ContextPrecision(unit="fact", relevance="supports", judge=judge)
    assert supports.score(sample).value == 1 / 2


def test_the_embedded_judge_and_russian_words():
    sample = Sample(reference_facts=FACTS, retrieved_contexts=CONTEXTS)
    score = ContextRecall(unit="fact", judge=LexicalJudge(), convention="ru").score(sample)
    assert (score.value, score.count) == (0.5, "подтверждено фактов: 1 из 2")


def test_degenerate_facts():
    metric = ContextRecall(unit="fact", judge=LexicalJudge())
    nothing = Sample(reference_facts=[], retrieved_contexts=CONTEXTS)
    assert (metric.score(nothing).value, metric.score(nothing).reason_code) == (None, "no_reference")
    empty = Sample(reference="Something.", reference_facts=[], retrieved_contexts=CONTEXTS)
    assert metric.score(empty).reason_code == "no_reference"  # the reference is not what is counted
    assert metric.score(Sample(reference_facts=FACTS, retrieved_contexts=[])).value == 0.0
    picture = Sample(
        reference_facts=["data:image/png;base64,iVBORw0KGgo="], retrieved_contexts=CONTEXTS
    )
    assert metric.score(picture).reason_code == "not_text"


def test_missing_facts():
    metric = ContextRecall(unit="fact", judge=LexicalJudge())
    sentences = Sample(id="a", reference="The pump was repaired.", retrieved_contexts=CONTEXTS)
    facts = Sample(id="b", reference_facts=FACTS, retrieved_contexts=CONTEXTS)
    with pytest.raises(MissingFieldError, match="has no reference_facts, which"):
        metric.score(sentences)
    with pytest.raises(MissingFieldError, match="Count its facts with unit='fact'"):
        ContextRecall(judge=LexicalJudge()).score(facts)
    with pytest.raises(MissingFieldError, match="No sample has reference_facts"):
        evaluate([sentences], [metric], progress=False)
    results = evaluate([sentences, facts], [metric], progress=False)
    assert [row[metric.name].reason_code for row in results] == ["missing_field", None]


def test_what_a_metric_needs_depends_on_its_unit():
    assert ContextRecall.requires == ContextRecall().requires == ("reference", "retrieved_contexts")
    assert ContextRecall(unit="fact").requires == ("reference_facts", "retrieved_contexts")
    assert "reference" in ContextPrecision(unit="fact").uses
    assert ContextUtilization(unit="fact").requires == ("response", "retrieved_contexts")
    assert ContextRecall(unit="fact") == ContextRecall(unit="fact") != ContextRecall()
