"""What labels are worth: a mean by the judge alone, by people alone, and corrected, on real human labels.

    python benchmarks/run.py corrected [--data DIR] [--draws 2000] [--judged 300] [--seed 1]

The embedded judge on CLAPNQ (average precision a sample) and BEGIN (reference supported: 0 or 1). So many samples are
drawn with replacement; people's labels are shown of the first n of them; the mean that is to be found is that of all labels. Error is the
root of the mean squared error; coverage is how often a 95 % interval holds the true mean. Three simulated populations with
true means of 0.5, 0.8 and 0.95 follow. Beside ours stands ppi-python (`ppi_mean_ci`, ends outside 0 to 1 cut off).

Bars of the simulated populations: corrected intervals hold the true mean in at least 93 % of the draws with 25 labels or more,
and with fewer as often as people's labels alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from validity.agreement import make_parser, require

from ctxmetrics import ContextPrecision, evaluate
from ctxmetrics.evaluation.agreement.agree import agree
from ctxmetrics.evaluation.files.sample_file import read_samples
from ctxmetrics.evaluation.rows.people_answers import REFERENCE
from ctxmetrics.evaluation.statistics.corrected_means import corrected_mean
from ctxmetrics.evaluation.statistics.intervals import mean_interval

SIZES = (5, 10, 25, 50, 100)
TRUE_MEANS = (0.5, 0.8, 0.95)
WAYS = ("judge only", "people only", "corrected", "ppi-python")


def _precision(file: Path) -> tuple[list[float], list[float]]:
    """People's and the judge's average precision of each CLAPNQ sample."""
    samples = list(read_samples(file))
    judge = [
        row["context_precision"].value
        for row in evaluate(samples, [ContextPrecision()], progress=False)
    ]
    people = []
    for sample in samples:
        useful = np.array(sample.labels["context_useful"], dtype=bool)
        ranks = np.flatnonzero(useful) + 1
        people.append(float(np.mean(np.arange(1, len(ranks) + 1) / ranks)) if len(ranks) else 0.0)
    return people, judge


def _support(file: Path) -> tuple[list[float], list[float]]:
    """What people and the judge say of each BEGIN sample: 1 is supported."""
    samples = list(read_samples(file))
    report = agree(samples, progress=False)
    disputed = {item.sample_id for item in report.disputes if item.label == REFERENCE}
    people = [float(sample.labels[REFERENCE]) for sample in samples]
    judge = [
        1 - value if sample.id in disputed else value
        for sample, value in zip(samples, people, strict=True)
    ]
    return people, judge


def _simulated(mean: float, random: np.random.Generator) -> tuple[list[float], list[float]]:
    """Recall of one to five sentences, and a judge that is wrong on a fifth of the samples and likes to say yes."""
    units = random.integers(1, 6, 100_000)
    people = random.binomial(units, random.beta(3 * mean, 3 * (1 - mean), len(units))) / units
    said = np.where(random.random(len(units)) < 0.7, 1.0, 0.0)
    return people.tolist(), np.where(random.random(len(units)) < 0.2, said, people).tolist()


def run(argv: list[str]) -> dict[str, object]:
    options = make_parser("corrected", draws=2000, judged=300, seed=1).parse_args(argv)
    sources = {
        "precision, CLAPNQ": (_precision, options.data / "clapnq-dev.jsonl"),
        "support, BEGIN": (_support, options.data / "begin-wow-dev.jsonl"),
    }
    require(options.data, [file.name for _, file in sources.values()])
    random = np.random.default_rng(options.seed)
    print(
        f"error / mean width / coverage; {options.judged} judged samples, n of them labelled, {options.draws} draws"
    )
    print(f"{'mean':20}{'true':>7}{'n':>5}" + "".join(f"{way:>22}" for way in WAYS))
    rows = []
    found_in = {title: partial(read, file) for title, (read, file) in sources.items()}
    found_in |= {f"simulated, {mean}": partial(_simulated, mean, random) for mean in TRUE_MEANS}
    for title, read_all in found_in.items():
        people, judge = map(np.array, read_all())
        truth = float(people.mean())
        for n in SIZES:
            found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
            for _ in range(options.draws):
                drawn = random.integers(0, len(people), options.judged)
                mine, its = people[drawn[:n]].tolist(), judge[drawn].tolist()
                found["judge only"].append((float(np.mean(its)), *mean_interval(its)))
                found["people only"].append((float(np.mean(mine)), *mean_interval(mine)))
                mean, interval = corrected_mean(mine, its[:n], its[n:])
                found["corrected"].append((mean, *interval))
                given = people[drawn[:n]], judge[drawn[:n]], judge[drawn[n:]]
                ends = np.clip(ppi_mean_ci(*given, alpha=0.05), 0, 1).ravel()
                found["ppi-python"].append((float(ppi_mean_pointestimate(*given)[0]), *ends))
            row: dict[str, object] = {"mean": title, "n": n, "true": truth}
            cells = ""
            for way, draws in found.items():
                values, lows, highs = np.array(draws).T
                error = float(np.sqrt(np.mean((values - truth) ** 2)))
                width = float(np.mean(highs - lows))
                held = float(np.mean((lows <= truth) & (truth <= highs)))
                row[way] = {"error": error, "width": width, "coverage": held}
                cells += f"{error:>10.3f} /{width:5.2f} /{held:4.2f}"
            rows.append(row)
            print(f"{title:20}{truth:7.3f}{n:5}{cells}", flush=True)
    missed = [
        f"{row['mean']}, n = {row['n']}"
        for row in rows
        if str(row["mean"]).startswith("simulated")
        and row["corrected"]["coverage"] < (0.93 if row["n"] >= 25 else row["people only"]["coverage"])
    ]
    print(f"below a bar: {'; '.join(missed) or 'none'}")
    return {
        "benchmark": "corrected",
        "missed": missed,
        "draws": options.draws,
        "judged": options.judged,
        "rows": rows,
    }
