"""How often the intervals of `score --audit` and `compare --audit` hold the truth by right gold: simulated.

    python benchmarks/run.py gold_audit [--draws 500] [--seed 1]

Each draw has 100, 300 or 1,000 questions whose recall by right gold is 0 or 1, or thirds. In 5, 10 or 20 % of them the gold is
wrong: the recall by it is that of chance (``random``), 0 (``lost``: the gold names what is not there), or 1 (``circular``: the
retriever made it). People audit 40 or 100 at random. ``plain`` is how often the interval of the mean without an audit holds
the mean by right gold. The truth is that of all questions in the world, not of the file. ``two runs`` is the same of the
difference to a second run, which is right about 10 % more and wrong about 5 % of the questions; circular gold is that of the
first run, and chance for the second.

Bar: 0.92 in each cell.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from _shared import arguments

from ctxmetrics.evaluation.statistics.corrected_means import audited_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from ctxmetrics.evaluation.statistics.paired import paired_mean

SHARES = (0.05, 0.1, 0.2)
SIZES = ((100, 40), (300, 40), (1000, 40), (300, 100))
SCORES = {
    "binary": ([0.0, 1.0], [0.3, 0.7]),
    "thirds": ([0.0, 1 / 3, 2 / 3, 1.0], [0.1, 0.1, 0.2, 0.6]),
}
WRONG = ("random", "lost", "circular")
# How many questions the second run has right and wrong that the first has otherwise.
GAINED = 0.1
LOST = 0.05
BAR = 0.92


def holds(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def measure(source: np.random.Generator, cell: tuple[Any, ...], draws: int) -> dict[str, float]:
    """Return how often the intervals hold the truth, and how wide they are."""
    scores, wrong, share, (size, audited) = cell
    values, weights = SCORES[scores]
    truth = float(np.dot(values, weights))
    truth_of_two = GAINED * (1 - truth) - LOST * truth
    counts = dict.fromkeys(("held", "plain", "two runs held", "two runs plain"), 0)
    width = 0.0
    for _ in range(draws):
        right = source.choice(values, size, p=weights)
        by_wrong = {"random": source.choice(values, size), "lost": 0.0, "circular": 1.0}[wrong]
        is_wrong = source.random(size) < share
        by_gold = np.where(is_wrong, by_wrong, right)
        interval = audited_mean(
            right[:audited].tolist(), by_gold[:audited].tolist(), by_gold[audited:].tolist()
        )[1]
        counts["held"] += holds(interval, truth)
        width += (interval[1] - interval[0]) / draws
        counts["plain"] += holds(mean_interval(by_gold.tolist()), truth)

        change = source.random(size)
        second = np.where(change < GAINED, 1.0, np.where(change > 1 - LOST, 0.0, right))
        second_by_wrong = 0.0 if wrong == "lost" else source.choice(values, size)
        people = second - right
        gold = np.where(is_wrong, second_by_wrong, second) - by_gold
        difference = labelled_difference(people[:audited], gold[:audited], gold[audited:])
        counts["two runs held"] += holds(difference.interval, truth_of_two)
        counts["two runs plain"] += holds(paired_mean(gold.tolist()).interval, truth_of_two)
    return {**{name: count / draws for name, count in counts.items()}, "width": width}


def run(argv: list[str]) -> dict[str, Any]:
    options = arguments.make_parser("gold_audit", __doc__, draws=500, seed=1).parse_args(argv)
    source = np.random.default_rng(options.seed)
    rows: dict[str, dict[str, float]] = {}
    over = []
    columns = ("held", "plain", "two runs held", "two runs plain", "width")
    head = ("scores", "wrong", "share", "questions", "audited", *columns)
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for cell in product(SCORES, WRONG, SHARES, SIZES):
        scores, wrong, share, (size, audited) = cell
        row = measure(source, cell, options.draws)
        name = f"{scores}, {wrong}, {share}, {size}, {audited}"
        rows[name] = row
        figures = " | ".join(f"{row[column]:.3f}" for column in columns)
        print(f"| {scores} | {wrong} | {share} | {size} | {audited} | {figures} |", flush=True)
        over += [
            f"{name}: {column} {row[column]:.3f}"
            for column in ("held", "two runs held")
            if row[column] < BAR
        ]
    return {"cells": rows, "over": over}
