"""The embedded judge against people, on the public data sets where they are at hand."""

from __future__ import annotations

import pytest

from support.benchmarks import load_benchmark

benchmark = load_benchmark("agreement")


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
