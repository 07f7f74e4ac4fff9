"""How often the intervals of `compare` hold the true difference, how often its gates are wrong, and its power: simulated.

    python benchmarks/run.py interval_coverage [--draws 1000] [--seed 1]

About five minutes on one core.

Each cell draws paired differences with a known mean, at most 1 in size, from one of: dense fractions; 0 and 1 (3, 5, 10 or
30 % of the samples change, three of four get worse); thirds; a ceiling (most samples stay at 1.0); log-normal losses, which
are seldom and heavy; clusters of ten samples that change together (``n`` counts clusters there); fractions of which a fifth is missing;
recall of a stage of the retrieval, one to four sentences a sample, that a second run selects from the same pool.

``shown`` is how often an interval is shown at all (none is where no sample changed); ``held`` how often one that is shown
holds the true mean; ``t`` the same of scipy's plain t interval on the same draws; ``low`` and ``high`` how often the true
mean lies below and above the interval that is shown. ``max-drop`` and ``not-worse`` are the shares in which that gate is
wrong where the true loss is exactly its margin, of the draws in which something changed. Power is how often p is at most
0.05; beside it scipy's t test, Wilcoxon's test and a permutation test (999 flips).

A second table has the paths on which people's labels decide: the difference and the mean that labels correct (300 samples, of
which some are labelled), also where the labelled ones have weights or belong to clusters or are those of another run, and the
plain mean, also where samples are there several times. A judge is exact, wrong (it misses three changes in ten and sees one
in ten that is none) or blind.

Where the true loss is exactly the margin, ``low`` is how often ``--not-worse`` is wrong, and ``high`` how often ``--max-drop`` is.

Bars of the second table: held at least 0.92, the truth above or below the interval in at most 7 %. Bars of the first, where at least ten changes are expected: held at least 0.92 (log-normal cells are printed only); below that, held at
least 0.93; each gate wrong in at most 7 %.
"""

from __future__ import annotations

import warnings
from itertools import product
from zlib import crc32

import numpy as np
from _shared import arguments
from scipy import stats

from ctxmetrics.evaluation.statistics.corrected_means import corrected_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval, student_quantile
from ctxmetrics.evaluation.statistics.labelled import labelled_difference
from ctxmetrics.evaluation.statistics.paired import MIN_CHANGED_SAMPLES, ROUNDING_ERROR, paired_mean

SIZES = (5, 10, 20, 30, 50, 100, 200, 300)
TESTED = 100  # draws in which the slower tests of power are run
MORE = 3  # times as many draws of the second table, which has 0/1 scores that hold in 92.6 % exactly
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


def _stage(source, n):
    """Recall of a stage: of the sentences of its pool the first run keeps 9 in 10, and the second 8 in 10."""
    sentences = source.integers(1, 5, n)
    pool = source.binomial(sentences, 0.8)
    return (source.binomial(pool, 0.8) - source.binomial(pool, 0.9)) / sentences


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
    "a stage": (_stage, -0.08, 0.4),
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
        error = means.std(ddof=1) / np.sqrt(len(means))
        half = student_quantile(0.975, len(means) - 1) * error
        counts["t"] += abs(means.mean() - truth) <= half + ROUNDING_ERROR
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
            counts["t test"] += bool(error and abs(means.mean()) >= half)
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
    least = (
        0.0 if row["kind"] == "log-normal" else 0.92 if row["changes"] >= MIN_CHANGED_SAMPLES else 0.93
    )
    seen = row["shown"] > 0.02
    gates = row["kind"] != "log-normal" and max(row["max-drop"], row["not-worse"]) > 0.07
    return seen and (row["held"] < least or gates)


def printed(row, header):
    """A row of a table; shares with three digits."""
    cells = (f"{row[name]:.3f}" if type(row[name]) is float and name != "changes" else str(row[name]) for name in header)  # fmt: skip
    return f"| {' | '.join(cells)} |"


# --- the paths on which labels decide ---

JUDGED = 300
LABELLED = (25, 30, 50, 100)
SHARES = (0.02, 0.05, 0.1, 0.2)
# The size of a change, and how many of the changes are losses.
CHANGES = {"1, 3 of 4 lose": (1.0, 0.75), "1/2, all lose": (0.5, 1.0), "1, all lose": (1.0, 1.0)}
JUDGES = ("exact", "wrong", "blind")
PLACE = ("path", "change", "share", "judge", "labelled")
RATES = ("held", "low", "high", "width")
LABEL_HEADER = (*PLACE, *RATES)


def changes(source, share, change, judge, n):
    """Differences of n samples by people, and by a judge."""
    size, losses = CHANGES[change]
    signs = np.where(source.random(n) < losses, -size, size)
    people = np.where(source.random(n) < share, signs, 0.0)
    if judge == "exact":
        return people, people
    if judge == "blind":
        return people, np.zeros(n)
    its = np.where(source.random(n) < 0.3, 0.0, people)
    invented = (people == 0) & (source.random(n) < 0.1)
    return people, np.where(invented, np.where(source.random(n) < 0.5, size, -size), its)


def difference(source, share, change, judge, labelled):
    people, its = changes(source, share, change, judge, JUDGED)
    return people[:labelled], its[:labelled], its[labelled:], {}


def clustered(source, share, change, judge, labelled):
    """Clusters of five that change together, of which as many are labelled as there are labels elsewhere."""
    people, its = (np.repeat(values, 5) for values in changes(source, share, change, judge, JUDGED))
    split = labelled * 5
    names = np.repeat(np.arange(JUDGED), 5).tolist()
    return people[:split], its[:split], its[split:], {"clusters": names}


def weighted(source, share, change, judge, labelled):
    """A fifth of the samples is one stratum, in which twice as many change; half of the labels are there."""
    rare = changes(source, 2 * share, change, judge, JUDGED // 5)
    common = changes(source, share * 3 / 4, change, judge, JUDGED * 4 // 5)
    half = labelled // 2
    people = np.concatenate([rare[0][:half], common[0][:half]])
    its = np.concatenate([rare[1][:half], common[1][:half]])
    others = np.concatenate([rare[1][half:], common[1][half:]])
    return people, its, others, {"weights": [1.0] * half + [4.0] * half}


def another_run(source, share, change, judge, labelled):
    """The labelled samples are of a run before, and the mean that is looked for is that of all others."""
    return *difference(source, share, change, judge, labelled)[:3], {"apart": True}


def repeated(source, share, change, judge, labelled):
    """Every other sample is there three times."""
    people, _, _, _ = difference(source, share, change, judge, labelled)
    return people, people, people[:0], {"times": [1, 3] * (labelled // 2) + [1] * (labelled % 2)}


PATHS = {
    "plain mean": difference,
    "repeated samples": repeated,
    "difference": difference,
    "clusters": clustered,
    "weights": weighted,
    "another run": another_run,
}
# The paths, with the numbers of labels and the shares that change. Scores are at most 1, so that those of a mean only fall.
CELLS = (
    ("difference", LABELLED, SHARES),
    ("clusters", (25, 50), (0.05, 0.1)),
    ("weights", (40, 100), (0.05, 0.1)),
    ("difference of a mean", (25, 50), (0.05, 0.1, 0.2)),
    ("clusters of a mean", (10, 25, 50), (0.05, 0.1)),
    ("weights of a mean", (40, 100), (0.05, 0.1)),
    ("another run of a mean", (25, 50), (0.05, 0.1)),
    ("plain mean", LABELLED, (0.05, 0.1, 0.2)),
    ("repeated samples of a plain mean", (30, 100), (0.05, 0.1)),
)


def source_of(seed, *names):
    """Random numbers of one cell, which do not depend on the other cells."""
    return np.random.default_rng([seed, crc32(repr(names).encode())])


def missed_label_cell(row):
    """Whether a cell of the second table misses a bar."""
    return row["held"] < 0.92 or max(row["low"], row["high"]) > 0.07


def label_cells(seed, draws):
    """All rows of the second table."""
    for path, sizes, shares in CELLS:
        mean = path.endswith("mean")
        judges = JUDGES[:1] if path.endswith("plain mean") else JUDGES
        for change, judge, share, labelled in product(list(CHANGES)[mean:], judges, shares, sizes):
            place = path, change, share, judge, labelled
            yield label_cell(*place, source=source_of(seed, *place), draws=draws)


def label_cell(path, change, share, judge, labelled, *, source, draws):
    """One row of the second table; the mean is that of scores that are 1 less a loss."""
    size, losses = CHANGES[change]
    truth = share * size * (1 - 2 * losses)
    name, _, what = path.partition(" of a ")
    plain_mean = path.endswith("plain mean")
    counts = dict.fromkeys(RATES, 0.0)
    for _ in range(draws):
        people, its, others, options = PATHS[name](source, share, change, judge, labelled)
        if plain_mean:
            low, high = mean_interval((1 + people).tolist(), **options)
        elif what:
            scores = [np.minimum(1 + values, 1).tolist() for values in (people, its, others)]
            _, (low, high) = corrected_mean(*scores, **options)
        if what or plain_mean:
            low, high = low - 1, high - 1
        else:
            low, high = labelled_difference(people, its, others, **options).interval
        counts["low"] += truth < low - 1e-12
        counts["high"] += truth > high + 1e-12
        counts["width"] += high - low
    rates = {name: count / draws for name, count in counts.items()}
    rates["held"] = 1 - rates["low"] - rates["high"]
    place = (path, change, share, judge, labelled)
    return {**dict(zip(PLACE, place, strict=True)), **rates}


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("interval_coverage", draws=1000, seed=1).parse_args(argv)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    rows = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scipy's, about draws without a difference
        for kind in KINDS:
            for n in SIZES:
                rows.append(row := cell(kind, n, source_of(options.seed, kind, n), options.draws))
                print(printed(row, HEADER), flush=True)
    missed = [f"{row['kind']}, n = {row['n']}" for row in rows if wrong(row)]
    print(f"\n| {' | '.join(LABEL_HEADER)} |\n" + "|---" * len(LABEL_HEADER) + "|")
    labelled = []
    for row in label_cells(options.seed, MORE * options.draws):
        labelled.append(row)
        print(printed(row, LABEL_HEADER), flush=True)
        if missed_label_cell(row):
            missed.append(", ".join(str(row[name]) for name in PLACE))
    print(
        f"\n{len(rows) + len(labelled)} cells, {options.draws} draws each, {MORE * options.draws} with labels; below a bar: {'; '.join(missed) or 'none'}\n"
    )
    return {"cells": rows, "labelled": labelled, "missed": missed, "over": missed}
