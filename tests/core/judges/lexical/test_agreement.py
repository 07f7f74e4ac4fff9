"""The embedded judge against people, on the public data sets where they are at hand."""

from __future__ import annotations

import pytest

from ctxmetrics import LexicalJudge
from ctxmetrics.judges.base import JudgeRequest
from support.benchmarks import load_benchmark

benchmark = load_benchmark("agreement")
embedded = load_benchmark("embedded")

# For each part of the ablation a claim and evidence of which the judge says something else without it.
WITHOUT = {
    "stems": ("The pumps leaked oil.", "A pump leaks oil."),
    "number words": ("It has 21 pumps.", "There are twenty-one pumps."),
    "stop words": ("There are some pumps which were blue.", "Blue pumps."),
    "lead-ins": ("According to the retrieved text, the pump is blue.", "A blue pump."),
    "words that may deny": ("The pump does not pass the test.", "The pump hardly passes the test."),
    "words before which a negation denies nothing": (
        "There is doubt about the blue pump.",
        "No doubt about the blue pump.",
    ),
    "words skipped after a negation": ("The pump is blue.", "The pump is no longer blue."),
    "the word after a comparative": ("The pump runs 3 years.", "The pump runs no longer than 3 years."),
    "negation": ("The pump is guaranteed.", "The pump is not guaranteed."),
    "number": ("You are covered for 2 years.", "Rust is for 2 years. You are covered for 1 year."),
}


@pytest.mark.parametrize("part", embedded.PARTS)
def test_the_ablation_judges_without_each_part(part):
    claim, evidence = WITHOUT[part]
    request = JudgeRequest(units=(claim,), contexts=(evidence,), answer=claim)
    everything = LexicalJudge().support(request)
    with embedded.without(part):
        assert LexicalJudge().support(request) != everything
    assert LexicalJudge().support(request) == everything


def test_agreement_by_hand():
    # people yes yes yes no no, judge yes yes no no yes: sensitivity 2/3, specificity 1/2, agreement 3/5,
    # by chance 3/5 * 3/5 + 2/5 * 2/5 = 13/25, kappa (15/25 - 13/25) / (12/25) = 1/6
    figures = benchmark.agreement([True, True, True, False, False], [True, True, False, False, True])
    assert figures == pytest.approx(
        {
            "n": 5,
            "balanced_accuracy": 7 / 12,
            "sensitivity": 2 / 3,
            "specificity": 1 / 2,
            "kappa": 1 / 6,
            "human_rate": 3 / 5,
            "judge_rate": 3 / 5,
        }
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not (benchmark.DATA / benchmark.CLAPNQ).is_file()
    or not (benchmark.DATA / benchmark.BEGIN).is_file(),
    reason="the public data is not here; benchmarks/README.md says how to get it",
)
def test_reaches_the_bars():
    figures = benchmark.measure(benchmark.DATA)
    assert figures["clapnq_usefulness"]["n"] == 2030
    assert figures["begin_support"]["n"] == 430
    reached = {name: figures[name]["balanced_accuracy"] for name in benchmark.BARS}
    assert all(reached[name] >= bar for name, bar in benchmark.BARS.items()), reached
