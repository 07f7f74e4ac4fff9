"""How often the intervals of `compare` hold the true difference, and how often its gates are wrong: by simulation.

    python benchmarks/run.py interval_coverage [--draws 1000] [--seed 1]

Pairs of scores are drawn from populations of 200,000 samples whose mean difference is known: of 0 and 1, and of fractions
(recall of one to six sentences). The judge of the corrected difference errs on a fifth of the samples, and likes the
second run more than people do; 400 samples are judged, and more where more are labelled. The gates are at their worst case: no true difference for
``--max-drop NAME=0``, a true loss of exactly the margin for ``--not-worse``. Power is how often the interval excludes
zero; beside it the paired t test of scipy.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from ctxmetrics.comparison import paired
from ctxmetrics.comparison.corrected import corrected_difference
from ctxmetrics.comparison.paired import paired_mean

SIZES = (10, 30, 100, 300)
POOL = 200_000
JUDGED = 400


def populations(source):
    """Name, and scores of the first and the second run: a column each."""
    first = (source.random(POOL) < 0.6).astype(float)
    lost, won = source.random(POOL) < 0.25, source.random(POOL) < 0.20
    yields = {"0 and 1": (first, np.where(first, 1.0 - lost, 1.0 * won))}
    rare_lost, rare_won = source.random(POOL) < 0.04, source.random(POOL) < 0.02
    units = source.integers(1, 7, POOL)
    rate = source.beta(1.2, 0.8, POOL)
    before = source.binomial(units, rate)
    after = before - source.binomial(before, 0.22) + source.binomial(units - before, 0.12)
    yields["fractions"] = (before / units, after / units)
    yields["0 and 1, one in 20 changes"] = (
        first,
        np.where(first, 1.0 - rare_lost, 1.0 * rare_won * 3 > 1),
    )
    return yields


def judged(scores, source, lean):
    """A judge's scores: on a fifth of the samples another value, more often a high one."""
    wrong = source.random(POOL) < 0.2
    return np.where(wrong, np.where(source.random(POOL) < lean, 1.0, 0.0), scores)


def measure(first, second, source, draws):
    differences, back = second - first, first - second
    truth = float(differences.mean())
    noise = judged(second, source, 0.7) - judged(first, source, 0.5)
    rows = []
    for n in SIZES:
        held = corrected = false_drop = false_pass = power = t_power = 0
        for _ in range(draws):
            places = source.integers(0, POOL, n)
            found = paired_mean(differences[places].tolist())
            held += found.interval[0] <= truth <= found.interval[1]
            power += found.interval[1] < 0 or found.interval[0] > 0
            with np.errstate(all="ignore"):
                t_power += bool(stats.ttest_1samp(differences[places], 0).pvalue < 0.05)
            false_pass += found.interval[0] >= truth if truth < 0 else found.interval[0] >= -truth
            turned = np.where(source.random(n) < 0.5, differences[places], back[places])
            flat = paired_mean(turned.tolist())
            false_drop += flat.mean < 0 and flat.interval[1] < 0
            others = source.integers(0, POOL, max(JUDGED - n, n))
            people = differences[places].tolist()
            _, (low, high) = corrected_difference(people, noise[places].tolist(), noise[others].tolist())
            corrected += low <= truth <= high
        counts = (held, corrected, false_drop, false_pass, power, t_power)
        rows.append((n, *(count / draws for count in counts)))
    return truth, rows


HEADER = ("n", "interval", "corrected", "max-drop fails", "not-worse passes", "power", "t test")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="interval_coverage")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    paired.sign_flip_p = lambda _: 1.0  # slow for fractions, and not looked at here
    source = np.random.default_rng(options.seed)
    figures = {}
    for name, (first, second) in populations(source).items():
        truth, rows = measure(first, second, source, options.draws)
        print(f"\n{name}: true difference {truth:+.4f}, {options.draws} draws\n")
        print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
        for row in rows:
            print("| " + " | ".join([str(row[0]), *(f"{share:.3f}" for share in row[1:])]) + " |")
        figures[name] = [dict(zip(HEADER, row, strict=True)) for row in rows]
    print()
    return figures
