"""The figures in the advice of the pages: each is computed again from what it rests on."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from statistics import NormalDist, fmean

import numpy as np
import pytest

from ctxmetrics.evaluation.statistics import labelled
from ctxmetrics.evaluation.statistics.paired import paired_mean, samples_needed
from support.benchmarks import load_benchmark

ROOT = Path(__file__).parents[2]


def words_of(page: str) -> str:
    """Return a page with single spaces."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def rows_of(name: str) -> list[dict[str, str]]:
    with (ROOT / "benchmarks" / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_number_of_answers_on_30_queries() -> None:
    rows = rows_of("trec-rag24-judges.csv")
    answers = 30 * len(rows) / len({row["query_id"] for row in rows})
    assert round(answers, -1) == 190
    for page in ("README.md", "docs/trust.md", "docs/index.md"):
        assert "(about 190 labels)" in words_of(page)


def test_the_coverage_on_real_labels() -> None:
    lines = (ROOT / "benchmarks" / "intervals.md").read_text(encoding="utf-8").splitlines()
    real = [
        line.split("|")
        for line in lines
        if line.startswith(("| precision, CLAPNQ", "| support, BEGIN"))
    ]
    judge, corrected = ([float(row[place].split("/")[2]) for row in real] for place in (3, 5))
    low, judge_low = (int(100 * min(values)) for values in (corrected, judge))
    high, judge_high = (-int(-100 * max(values) // 1) for values in (corrected, judge))
    said = re.search(
        r"in (\d+) to (\d+) % of the draws\. .*? held it in (\d+) to (\d+) %", words_of("docs/trust.md")
    )
    assert said is not None
    assert [*map(int, said.groups())] == [low, high, judge_low, judge_high]


def test_families_that_nobody_looked_at() -> None:
    rows = [row for row in rows_of("embedded-held-out.csv") if row["never_given"] == "yes"]
    columns = ("balanced_accuracy", "rapidfuzz_partial_ratio", "share_of_words_best_context")
    figures = [fmean(float(row[name]) for row in rows) for name in columns]
    page = words_of("docs/embedded-judge.md")
    assert len(rows) == 9
    assert (
        "balanced accuracy is {:.3f}; a plain ratio of strings has {:.3f}, the share of words {:.3f}".format(
            *figures
        )
        in page
    )
    assert f"(balanced accuracy {figures[0]:.3f} on held-out claims;" in words_of("README.md")


def test_held_out_order_and_flags_are_those_of_the_data() -> None:
    figures = {row["figure"]: float(row["value"]) for row in rows_of("embedded-held-out-flags.csv")}
    page = words_of("docs/embedded-judge.md")
    assert f"Kendall's tau {figures['kendall_of_retrievers']:.2f} on 240 unseen questions" in page
    flagged, others = (figures[f"share_of_{kind}_yeses_wrong"] for kind in ("flagged", "other"))
    assert (
        f"There {flagged:.0%} of flagged yeses were wrong, {others:.0%} of the others".replace(
            "%", " %"
        )
        in page
    )


def test_how_many_samples_show_a_difference() -> None:
    page = words_of("docs/comparing.md")
    assert (
        "A difference of .05 takes 100 to 300 samples if differences have a standard deviation of .18 to .3"
        in page
    )
    assert round(samples_needed(0.05, 0.18), -2) == 100
    assert round(samples_needed(0.05, 0.3), -2) == 300
    assert "about 800 if a quarter of the scores, all 0 or 1, change" in page
    assert round(samples_needed(0.05, 0.5, 0.25), -2) == 800
    assert "50 samples find .10 to .15 if the standard deviation is .25 to .37" in page
    assert samples_needed(0.1, 0.25) == 52
    assert samples_needed(0.15, 0.37) == 50


def test_how_often_a_gate_is_red_by_chance_in_50_commits() -> None:
    """100 samples, the judge's noise takes a third of a score from one in ten; every commit is compared with one file."""
    source = np.random.default_rng(3)
    red = {0.0: 0, 0.02: 0}
    for _ in range(50):
        first, *commits = np.where(source.random((51, 100)) < 0.1, -1 / 3, 0.0)
        highest = []
        for commit in commits:
            found = paired_mean((commit - first).tolist())
            highest.append(found.interval[1] if found.interval and found.p <= 0.05 else 0.0)
        for margin in red:
            red[margin] += min(highest) < -margin
    assert 0.2 <= red[0.0] / 50 <= 0.6
    assert red[0.02] / 50 <= 0.05
    assert (
        "with a margin of 0, at least one gate is red in 20 to 60 % of projects; with a margin of .02, in 0 to 5 %"
        in words_of("docs/comparing.md")
    )


def test_coverage_benchmark_fails_where_intervals_are_narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the label that is assumed to be unseen, 25 labels of which none changed have an interval of no width."""
    benchmark = load_benchmark("interval_coverage")
    cell = ("difference", "1, all lose", 0.05, "blind", 25)
    row = benchmark.label_cell(*cell, source=benchmark.source_of(1, *cell), draws=300)
    assert not benchmark.missed_label_cell(row)
    monkeypatch.setattr(labelled, "UNSEEN_LABEL_DISTANCE", 0.0)
    row = benchmark.label_cell(*cell, source=benchmark.source_of(1, *cell), draws=300)
    assert benchmark.missed_label_cell(row)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "judge", "labelled"),
    [
        ("weights of a mean", "wrong", 100),
        ("another run of a mean", "wrong", 100),
        ("clusters of a mean", "wrong", 100),
        ("clusters of a mean", "blind", 10),
    ],
)
def test_paths_of_a_corrected_mean_hold(path: str, judge: str, labelled: int) -> None:
    benchmark = load_benchmark("interval_coverage")
    cell = (path, "1, all lose", 0.05, judge, labelled)
    row = benchmark.label_cell(*cell, source=benchmark.source_of(1, *cell), draws=600)
    assert not benchmark.missed_label_cell(row), row


def test_labelled_gates_find_a_rule_that_loses_right_gates() -> None:
    """By the rule before, 25 labels of an exact judge turned gates green that were rightly red."""
    benchmark = load_benchmark("labelled_gates")
    setting = benchmark.Setting("exact", "samples", 0.1, 100)
    rows = [*benchmark.simulate(setting, seed=1, draws=20)]
    assert not any("red lost" in line for line in benchmark.list_missed(rows))
    before = [{**row, "red": row["red before"]} for row in rows]
    assert any("red lost, exact, 25 labels" in line for line in benchmark.list_missed(before))


def test_rule_of_labels_is_on_the_page() -> None:
    benchmark = load_benchmark("labelled_gates")
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    assert benchmark.FORMULA in page
    assert benchmark.FLOORS in page


@pytest.mark.parametrize(
    ("labels", "limit", "expected"),
    [(50, 0.12, [0.17, 0.5, 0.09, 0.36]), (100, 0.08, [0.03, 0.14, 0.01, 0.09])],
)
def test_floors_of_clusters_and_people(labels: int, limit: float, expected: list[float]) -> None:
    """Clusters of five samples change together half of the time; people err in 3 % of their answers."""
    loss = 0.05
    none_lost = [(1 - loss) * (1 - loss / 2) ** m + loss * ((1 - loss) / 2) ** m for m in range(6)]
    whole, clusters = none_lost[5], labels // 5
    no_cluster = whole**clusters
    at_most_one_cluster = no_cluster + clusters * (1 - whole) * whole ** (clusters - 1)
    # Labels of single samples of 60 clusters: the coefficient of x^labels counts the draws without a loss.
    of_one_cluster = [math.comb(5, m) * share for m, share in enumerate(none_lost)]
    coefficients = np.polynomial.polynomial.polypow(of_one_cluster, 60)
    no_sample = coefficients[labels] / math.comb(300, labels)
    normal = NormalDist()
    label_part = (1 - labels / 300) / labels
    error, error_with_loss = (label_part * (0.165**2 + more) for more in (0.0, loss))
    quantile = normal.inv_cdf(1 - limit)
    lost_passes = normal.cdf((quantile * error_with_loss**0.5 - loss) / error**0.5)
    found = [no_cluster, at_most_one_cluster, no_sample, lost_passes]
    assert [round(float(value), 2) for value in found] == expected
    page = words_of("docs/comparing.md")
    assert "`q(5)^10` = .17 and `q(5)^20` = .03" in page
    assert "drawn one by one from 60 clusters, .09 / .01" in page
    assert "at most one cluster with a loss in .50 / .14" in page
    assert ".36 with 50 labels and q = .12, and .09 with 100 and q = .08" in page


def test_interval_of_people_who_err() -> None:
    """They see .94 of a loss of .1. A sample of 1,000 knows that so well that the interval often misses the loss."""
    normal = NormalDist().cdf
    said = re.search(
        r"in (\S+) for 300 samples \(s_d = (\S+)\), and in (\S+) for 1,000 \(s_d = (\S+)\)",
        words_of("docs/comparing.md"),
    )
    assert said is not None
    for held, error in (said.groups()[:2], said.groups()[2:]):
        distance = 2 * 0.03 * 0.1 / float(error)
        assert normal(1.96 - distance) - normal(-1.96 - distance) == pytest.approx(
            float(held), abs=0.005
        )
    benchmark = load_benchmark("labelled_gates")
    source = np.random.default_rng(1)
    people = benchmark.draw_population(source, 400, 1000, "samples", 0.1)
    differences = benchmark.err(source, people, 0.03)
    assert differences.mean() == pytest.approx(0.94 * people.differences.mean(), abs=0.001)
