"""Six judges, one number: the figures are those of an outside computation, and the page shows what is measured.

The computation here has plain formulas and reads the file itself; it imports nothing of the library.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import pytest

from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]
USEFUL = 2
FEWEST = 25  # with fewer labels, people's mean alone


BENCHMARK = load_benchmark("six_judges")
with (ROOT / "benchmarks" / "data" / "trec-rag24-judges.csv").open(
    encoding="utf-8", newline=""
) as FILE:
    ROWS = list(csv.DictReader(FILE))
COMPLETE = [name for name in list(ROWS[0])[3:] if all(row[name] for row in ROWS)]


def shares(column: str) -> list[float]:
    """The share of useful passages of each query, in the file's order of queries."""
    grades = defaultdict(list)
    for row in ROWS:
        grades[row["query_id"]].append(int(row[column]) >= USEFUL)
    return [sum(flags) / len(flags) for flags in grades.values()]


def corrected(people: list[float], judge: list[float], others: list[float]) -> float:
    """PPI++ for a mean: Angelopoulos, Duchi, Zrnic, arXiv 2311.01453, with the trust cut to [0, 1].

    With fewer than 25 labels, people's mean.
    """
    n, more = len(people), len(others)
    if n < FEWEST:
        return fmean(people)
    people_mean, judge_mean = fmean(people), fmean(judge)
    together = fmean((p - people_mean) * (j - judge_mean) for p, j in zip(people, judge, strict=True))
    trust = together / ((1 + n / more) * variance([*judge, *others]))
    trust = min(1.0, max(0.0, trust))
    mean = people_mean + trust * (fmean(others) - judge_mean)
    return min(1.0, max(0.0, mean))


def kappa(one: list[int], other: list[int]) -> float:
    """Cohen's weighted kappa from the table of grades, weights (i - j) ** 2."""
    n, grades = len(one), range(4)
    table = [
        [sum(a == i and b == j for a, b in zip(one, other, strict=True)) for j in grades]
        for i in grades
    ]
    rows, columns = [sum(row) for row in table], [sum(row[j] for row in table) for j in grades]
    seen = sum((i - j) ** 2 * table[i][j] for i in grades for j in grades)
    by_chance = sum((i - j) ** 2 * rows[i] * columns[j] / n for i in grades for j in grades)
    return 1 - seen / by_chance


@pytest.fixture(scope="module")
def measured() -> Any:
    return BENCHMARK.measure(30)


def test_the_published_kappas_are_found_again() -> None:
    nist = [int(row["nist_grade"]) for row in ROWS]
    found = [kappa(nist, [int(row[name]) for row in ROWS]) for name in COMPLETE]
    assert tuple(round(value, 4) for value in found) == BENCHMARK.PUBLISHED
    records = BENCHMARK.read()
    theirs = [BENCHMARK.quadratic_kappa(records.nist, grades) for grades in records.models.values()]
    assert theirs == pytest.approx(found, abs=1e-12)


@pytest.mark.slow
def test_corrected_means_are_those_of_plain_formulas(measured: Any) -> None:
    people = shares("nist_grade")
    assert measured.people == people
    names = dict(zip(measured.records.models, COMPLETE, strict=True))
    assert len(names) == 6
    for name, column in names.items():
        judge = shares(column)
        assert measured.scores[name] == judge
        for n, draws in measured.draws.items():
            for found in draws:
                said = [people[place] for place in found.queries[:n]]
                its = [judge[place] for place in found.queries]
                assert found.corrected[name][0] == pytest.approx(
                    corrected(said, its[:n], its[n:]), abs=1e-9
                )


def test_a_draw_is_what_agree_gives(measured: Any) -> None:
    """`agree` over the samples of a draw, labels on the first 30, prints the same mean and interval."""
    from dataclasses import replace

    from ctxmetrics import agree, evaluate

    samples = BENCHMARK.samples_of(measured.records)
    judge = BENCHMARK.judges_of(measured.records)[0]
    found = measured.draws[30][0]
    drawn = [
        replace(samples[place], id=str(rank), labels=samples[place].labels if rank < 30 else {})
        for rank, place in enumerate(found.queries)
    ]
    results = evaluate(drawn, [BENCHMARK.METRIC], judge=judge, progress=False)
    (correction,) = agree(drawn, results=results, progress=False).corrections
    assert correction.labelled == 30
    assert (correction.mean, correction.interval) == found.corrected[judge.name]


def test_each_draw_has_its_own_queries(measured: Any) -> None:
    draws = [found.queries for found in measured.draws[30]]
    assert len(set(draws)) == len(draws)
    assert {len(queries) for queries in draws} == {86}


def test_the_figures_keep_their_bars() -> None:
    text = BENCHMARK.PAGE.read_text(encoding="utf-8")
    apart = re.search(r"The six models' means are (\S+) apart", text)
    assert apart is not None
    assert float(apart[1]) >= 0.20
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [int(row[0]) for row in rows] == [10, 20, 30, 50]
    assert all(float(row[4]) >= 0.92 for row in rows)
    assert float(rows[2][1]) <= 0.045


@pytest.mark.slow
def test_the_pages_show_what_is_measured() -> None:
    found = BENCHMARK.measure(1000)
    assert BENCHMARK.table(found) in BENCHMARK.docs.table_of("six_judges", BENCHMARK.PAGE)
    assert BENCHMARK.short(found) in BENCHMARK.DOCS.read_text(encoding="utf-8")
    assert BENCHMARK._told(found) in BENCHMARK.README.read_text(encoding="utf-8")
