"""How often the intervals of `compare` hold the true difference, how often its gates are wrong, and its power: simulated.

    python benchmarks/run.py interval_coverage [--draws 1000] [--seed 1]

Each cell draws paired differences with a known mean, at most 1 in size, from one of: dense fractions; 0 and 1 (3, 5, 10 or
30 % of the samples change, three of four get worse); thirds; a ceiling (most samples stay at 1.0); log-normal losses, which
are seldom and heavy; clusters of ten samples that change together (``n`` counts clusters there); fractions of which a fifth is missing.

``shown`` is how often an interval is shown at all (none is where no sample changed); ``held`` how often one that is shown
holds the true mean; ``t`` the same of scipy's plain t interval on the same draws; ``low`` and ``high`` how often the true
mean lies below and above the interval that is shown. ``max-drop`` and ``not-worse`` are the shares in which that gate is
wrong where the true loss is exactly its margin, of the draws in which something changed. Power is how often p is at most
0.05; beside it scipy's t test, Wilcoxon's test and a permutation test (999 flips).

Bars, where at least ten changes are expected: held at least 0.92 (log-normal cells are printed only); below that, held at
least 0.93; each gate wrong in at most 7 %.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy import stats

from ctxmetrics.comparison.means import FEW, paired_mean

SIZES = (5, 10, 20, 30, 50, 100, 200, 300)
TESTED = 200  # draws in which the slower tests of power are run
CLUSTER = 10


def rare(share):
    def draw(source, n):
        return (source.random(n) < share) * np.where(source.random(n) < 0.25, 1.0, -1.0)

    return draw, -share / 2, share


def _dense(source, n):
    return source.integers(0, 9, n) / 8 * 0.5 - source.integers(0, 9, n) / 8 * 0.7


def _thirds(source, n):
    return source.choice([-2 / 3, -1 / 3, 0, 1 / 3], n, p=[0.1, 0.25, 0.5, 0.15])


def _ceiling(source, n):
    return np.where(source.random(n) < 0.75, 0.0, -source.beta(1, 3, n))


def _heavy(source, n):
    return np.where(source.random(n) < 0.3, -np.minimum(source.lognormal(-3, 1.2, n), 1.0), 0.0)


def _heavy_mean():
    """Mean of the log-normal losses, cut at 1: by its closed form."""
    mu, sigma = -3, 1.2
    below = np.exp(mu + sigma**2 / 2) * stats.norm.cdf((0 - mu - sigma**2) / sigma)
    return -0.3 * float(below + stats.norm.sf((0 - mu) / sigma))


KINDS = {
    "dense": (_dense, -0.1, 0.9),
    "3 % change": rare(0.03),
    "5 % change": rare(0.05),
    "10 % change": rare(0.1),
    "30 % change": rare(0.3),
    "thirds": (_thirds, -0.1, 0.5),
    "ceiling": (_ceiling, -0.0625, 0.25),
    "log-normal": (_heavy, _heavy_mean(), 0.3),
    "a fifth missing": (_dense, -0.1, 0.9),
    "clusters": (_dense, -0.1, 0.9),
}
HEADER = ("kind", "n", "changes", "shown", "held", "t", "low", "high", "max-drop", "not-worse", "power", "t test", "Wilcoxon", "permutation")  # fmt: skip


def drawn(kind, source, n):
    """Differences of a cell, and the clusters they belong to."""
    draw = KINDS[kind][0]
    if kind == "clusters":
        shared = np.repeat(draw(source, n), CLUSTER)
        return np.where(source.random(n * CLUSTER) < 0.5, shared, draw(source, n * CLUSTER)), np.repeat(
            np.arange(n), CLUSTER
        )
    found = draw(source, n)
    return (found[source.random(n) >= 0.2] if kind == "a fifth missing" else found), None


def cell(kind, n, source, draws):
    """One row of the table."""
    _, truth, share = KINDS[kind]
    counts = dict.fromkeys(HEADER[3:], 0)
    for number in range(draws):
        values, clusters = drawn(kind, source, n)
        if len(values) < 2:
            continue
        found = paired_mean(values.tolist(), None if clusters is None else clusters.tolist())
        means = values if clusters is None else values.reshape(n, CLUSTER).mean(axis=1)
        oracle = stats.ttest_1samp(means, 0)
        ends = oracle.confidence_interval(0.95)
        counts["t"] += bool(ends.low <= truth <= ends.high) if means.std() else means[0] == truth
        counts["power"] += found.p <= 0.05
        if found.interval is not None:
            low, high = found.interval
            counts["shown"] += 1
            counts["held"] += low <= truth <= high
            counts["low"] += truth < low
            counts["high"] += truth > high
            counts["max-drop"] += high < truth and found.p <= 0.05
            counts["not-worse"] += low >= truth
        if number < TESTED:
            counts["t test"] += bool(oracle.pvalue <= 0.05)
            counts["Wilcoxon"] += bool(means.any() and stats.wilcoxon(means).pvalue <= 0.05)
            flips = np.where(source.random((999, len(means))) < 0.5, 1, -1) @ means
            counts["permutation"] += (1 + (abs(flips) >= abs(means.sum()) - 1e-9).sum()) / 1000 <= 0.05
    some = max(counts["shown"], 1)
    rates = {name: count / draws for name, count in counts.items()}
    rates |= {name: counts[name] / some for name in ("held", "low", "high", "max-drop", "not-worse")}
    rates |= {name: counts[name] / min(draws, TESTED) for name in ("t test", "Wilcoxon", "permutation")}
    expected = share * n * (CLUSTER if kind == "clusters" else 0.8 if kind == "a fifth missing" else 1)
    return {"kind": kind, "n": n, "changes": round(expected, 1), **rates}


def wrong(row):
    """Whether a cell misses a bar."""
    least = 0.0 if row["kind"] == "log-normal" else 0.92 if row["changes"] >= FEW else 0.93
    seen = row["shown"] > 0.02
    gates = row["kind"] != "log-normal" and max(row["max-drop"], row["not-worse"]) > 0.07
    return seen and (row["held"] < least or gates)


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="interval_coverage")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    source = np.random.default_rng(options.seed)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    rows = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scipy's, about draws without a difference
        for kind in KINDS:
            for n in SIZES:
                rows.append(row := cell(kind, n, source, options.draws))
                print(
                    "| "
                    + " | ".join(f"{row[name]:.3f}" if type(row[name]) is float and name != "changes" else str(row[name]) for name in HEADER)
                    + " |",
                    flush=True,
                )  # fmt: skip
    missed = [f"{row['kind']}, n = {row['n']}" for row in rows if wrong(row)]
    print(
        f"\n{len(rows)} cells, {options.draws} draws each; below a bar: {'; '.join(missed) or 'none'}\n"
    )
    return {"cells": rows, "missed": missed}
