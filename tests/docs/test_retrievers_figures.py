"""The figures of docs/retrievers.md about judging settings together: the benchmark is run, and finds them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.benchmarks import load_benchmark
from support.promptfoo import NotInstalledError, install

PAGE = " ".join(
    (Path(__file__).parents[2] / "docs" / "retrievers.md").read_text(encoding="utf-8").split()
)


def read_figures(pattern: str) -> list[int]:
    """Read the numbers of a sentence, which stands on the page once."""
    (match,) = re.finditer(pattern, PAGE)
    return [int(figure.replace(",", "")) for figure in match.groups()]


@pytest.mark.slow
def test_requests_and_tokens_are_those_of_the_benchmark() -> None:
    benchmark = load_benchmark("retrievers")
    figures = benchmark.measure_cost(benchmark.make_world(200, 5, 3, seed=3), 5)
    assert figures["equal"]
    costs = []
    for kind in ("together", "apart"):
        costs += [figures[kind]["requests"], round(figures[kind]["sent"], -3)]
    number = r"([\d,]+)"
    words = (
        rf"200 questions cost {number} requests and {number} tokens in place of {number} and {number},"
    )
    assert costs == read_figures(words)


@pytest.mark.slow
@pytest.mark.parametrize(("common", "words"), [(3, "three"), (4, "four")])
def test_worth_is_that_of_the_benchmark(common: int, words: str) -> None:
    benchmark = load_benchmark("retrievers")
    world = benchmark.make_world(200, 5, common, seed=common)
    worth = [benchmark.measure_worth(world, 5, 5, share)["worth"] for share in benchmark.REPEATED]
    pattern = rf"(\d+) judged apart with {words} of five in common \((\d+) if it repeats nine in ten"
    assert worth == read_figures(pattern)


@pytest.mark.slow
def test_promptfoo_asks_eight_times_as_often() -> None:
    """It asks twice for each setting, and finds the same recalls: 1,600 requests for 200 questions."""
    try:
        install()
    except NotInstalledError as error:
        pytest.skip(str(error))
    benchmark = load_benchmark("retrievers")
    world = benchmark.make_world(5, 5, 3, seed=3)
    own = benchmark.measure_cost(world, 5)
    figures = benchmark.measure_promptfoo(world, 5)
    assert figures["requests"] == 8 * own["together"]["requests"] == 40
    assert figures["recalls"] == pytest.approx(own["recalls"])
    assert read_figures(r"promptfoo asks ([\d,]+) times") == [200 * 8]
