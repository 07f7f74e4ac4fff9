"""A bar for the embedded judge from people's labels; expected figures are counted by hand."""

from __future__ import annotations

import pytest

from ctxmetrics import Sample, Score
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.agreement.correction import propose_bar
from ctxmetrics.verdicts import Verdict


def score_of(*measured: float, bar: float = 0.65) -> Score:
    """A score of the embedded judge, one verdict for each measured value."""
    verdicts = tuple(
        Verdict(
            id=f"s{number}",
            value=value >= bar,
            text="x",
            details={"score": value, "smallest_k": 1 if value >= bar else None},
        )
        for number, value in enumerate(measured, 1)
    )
    return Score(metric="context_recall", value=0.0, verdicts=verdicts)


def test_a_bar_that_people_show():
    # a third .9, a third .55, a third .2; people say yes to .9 and .55, the judge to .9 only:
    # sensitivity 1/2, specificity 1, balanced accuracy .75; any bar above .2 and up to .55 gives 1
    scores = [score_of(value) for value in (0.9, 0.55, 0.2) * 20]
    said = [(value > 0.3,) for value in (0.9, 0.55, 0.2) * 20]
    found = propose_bar("reference_supported", scores, said)
    assert found is not None
    assert 0.3 <= found.bar <= 0.55
    assert found.gain == pytest.approx(0.25)
    assert found.interval[0] > 0
    assert found.labels == 60
    assert f"take LexicalJudge(min_coverage={found.bar:.2f})" in found.conclusion


def test_a_gain_that_may_be_chance_is_said_so():
    # one of seven yeses lies below the judge's bar: the gain hangs on one label
    values = (0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.6, 0.2, 0.2, 0.2, 0.2, 0.2)
    found = propose_bar(
        "reference_supported", [score_of(value) for value in values], [(v > 0.3,) for v in values]
    )
    assert found is not None
    assert found.interval[0] <= 0
    assert "12 labels are too few to prefer it" in found.conclusion


def test_a_judge_that_is_right_gains_nothing():
    values = (0.9, 0.2) * 10
    found = propose_bar(
        "unit_supported", [score_of(value) for value in values], [(v > 0.3,) for v in values]
    )
    assert found is not None
    assert found.gain == 0
    assert "it gains nothing" in found.conclusion


def test_reference_label_compares_with_the_weakest_sentence():
    scores = [score_of(0.9, 0.55), score_of(0.9, 0.2)] * 10
    found = propose_bar("reference_supported", scores, [(True,), (False,)] * 10)
    assert found is not None
    assert (found.labels, found.gain) == (
        20,
        0.5,
    )  # the judge says no to all: .5; the bar is right on all


def test_labels_of_sentences_are_compared_one_by_one():
    found = propose_bar("unit_supported", [score_of(0.9, 0.55, 0.2)] * 10, [(True, None, False)] * 10)
    assert found is not None
    assert (found.labels, found.gain) == (20, 0)


def test_no_bar_for_other_judges_one_kind_or_one_sample():
    other = Score(metric="m", value=1.0, verdicts=(Verdict(id="s1", value=True, text="x"),))
    assert propose_bar("unit_supported", [other] * 4, [(True,), (False,)] * 2) is None
    assert propose_bar("unit_supported", [score_of(0.9)] * 4, [(True,)] * 4) is None
    assert propose_bar("unit_supported", [score_of(0.9, 0.2)], [(True, False)]) is None
    assert propose_bar("unit_supported", [score_of(0.9)] * 2, [None, None]) is None


def test_agree_proposes_a_bar_on_a_lexical_run():
    samples = [
        Sample(
            reference="alpha beta gamma delta.",
            retrieved_contexts=[context],
            labels={"reference_supported": supported},
        )
        for context, supported in (("Alpha beta gamma.", 1), ("Alpha beta.", 1), ("Epsilon.", 0))
        for _ in range(15)
    ]
    report = agree(samples, progress=False)
    (bar,) = report.bars
    assert bar.gain == pytest.approx(0.25)
    assert f"reference_supported: {bar.conclusion}" in str(report)
    assert report.to_dict()["bars"][0]["bar"] == bar.bar


def test_a_bar_for_judges_that_give_probabilities():
    # The judge says yes from .5 on, people from .7: .6 is a wrong yes of every third sample.
    values = (0.9, 0.6, 0.2) * 20
    scores = []
    for value in values:
        verdict = Verdict(id="s1", value=value >= 0.5, text="x", details={"probability": value})
        scores.append(Score(metric="context_recall", value=0.0, verdicts=(verdict,)))
    proposed = propose_bar("context_useful", scores, [(value > 0.8,) for value in values])
    assert proposed is not None
    assert 0.6 < proposed.bar <= 0.9
    assert proposed.gain == pytest.approx(0.25)
    assert proposed.conclusion.endswith(f"; take bar={proposed.bar:.2f}")


def test_a_bar_is_about_one_measure():
    """The scores of the embedded judge are no probabilities: only the samples with a probability count."""
    scores = [score_of(0.9), score_of(0.2)]
    labels: list[tuple[bool | None, ...] | None] = [(True,), (False,)]
    for value in (0.9, 0.4) * 10:
        verdict = Verdict(id="s1", value=value >= 0.5, text="x", details={"probability": value})
        scores.append(Score(metric="context_recall", value=0.0, verdicts=(verdict,)))
        labels.append((value > 0.5,))
    found = propose_bar("unit_supported", scores, labels)
    assert found is not None
    assert (found.labels, found.parameter) == (20, "bar")
