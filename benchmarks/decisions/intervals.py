"""How often the 95 % interval of a mean holds the true mean, and how wide it is: by simulation.

    python benchmarks/run.py intervals [--draws 2000] [--seed 1]

Scores from 0 to 1 are drawn from populations whose mean is known; one score is one sample. Contenders:
`ctxmetrics.evaluation.statistics.intervals.mean_interval`; the t interval; the percentile and the BCa bootstrap (1,000 resamples). BCa falls back
to Wilson's interval where all scores are equal; t and percentile then have no width. Ends outside 0 to 1 are cut off.
"""

from __future__ import annotations

import numpy as np
from _shared import arguments
from scipy import stats

from ctxmetrics.evaluation.statistics.intervals import mean_interval, wilson

Z = stats.norm.ppf(0.975)
SIZES = (3, 5, 10, 20, 50, 200)


def _average_precision(useful):
    ranks = np.arange(1, useful.shape[1] + 1)
    found = useful.sum(1)
    return np.where(found, (np.cumsum(useful, 1) / ranks * useful).sum(1) / np.maximum(found, 1), 0.0)


def populations(source):
    """Name, and a function that draws so many scores."""

    def recall(n):
        sentences = source.integers(1, 7, n)
        return source.binomial(sentences, source.beta(0.8, 0.4, n)) / sentences

    def precision(n):
        return _average_precision(source.random((n, 5)) < np.array([0.7, 0.5, 0.3, 0.2, 0.2]))

    def nearly_perfect(n):
        return np.where(source.random(n) < 0.03, source.random(n) / 2, 1.0)

    return {
        "yes or no, mean 0.5": lambda n: (source.random(n) < 0.5).astype(float),
        "yes or no, mean 0.95": lambda n: (source.random(n) < 0.95).astype(float),
        "recall of 1 to 6 sentences": recall,
        "average precision, k = 5": precision,
        "1.0 but for one in 30": nearly_perfect,
        "spread evenly": source.random,
        "close to 0.5": lambda n: np.clip(source.normal(0.5, 0.05, n), 0, 1),
    }


def _t(x):
    half = stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return x.mean() - half, x.mean() + half


def _resampled(x, source):
    return x[source.integers(0, len(x), (1000, len(x)))].mean(1)


def _bca(x, source):
    mean = x.mean()
    if np.ptp(x) < 1e-9:
        return wilson(mean, len(x), Z)
    means = _resampled(x, source)
    below = ((means < mean).sum() + (means == mean).sum() / 2) / len(means)
    bias = stats.norm.ppf(np.clip(below, 1e-4, 1 - 1e-4))
    away = x - mean
    skew = (away**3).sum() / (6 * (away**2).sum() ** 1.5)
    shifted = bias + np.array([-Z, Z])
    return tuple(np.quantile(means, stats.norm.cdf(bias + shifted / (1 - skew * shifted))))


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("intervals", draws=2000, seed=1).parse_args(argv)
    source = np.random.default_rng(options.seed)
    contenders = {
        "ours": lambda x: mean_interval(x.tolist()),
        "t": _t,
        "percentile": lambda x: tuple(np.quantile(_resampled(x, source), [0.025, 0.975])),
        "BCa": lambda x: _bca(x, source),
    }
    print(f"coverage / mean width of 95 % intervals, {options.draws} draws each")
    print(f"{'scores':28}{'n':>5}" + "".join(f"{name:>16}" for name in contenders))
    rows = []
    for title, draw in populations(source).items():
        truth = float(draw(2_000_000).mean())
        for n in SIZES:
            data = [draw(n) for _ in range(options.draws)]
            row: dict[str, object] = {"scores": title, "n": n}
            for name, interval in contenders.items():
                ends = np.clip([interval(x) for x in data], 0, 1)
                held = (ends[:, 0] - 1e-9 <= truth) & (truth <= ends[:, 1] + 1e-9)
                row[name] = round(float(held.mean()), 3)
                row[f"{name} width"] = round(float(np.diff(ends, axis=1).mean()), 3)
            rows.append(row)
            cells = "".join(f"{row[name]:>9} /{row[f'{name} width']:5.2f}" for name in contenders)
            print(f"{title:28}{n:5}{cells}", flush=True)
    lowest = {f"{name} lowest": min(row[name] for row in rows) for name in contenders}
    print(f"{'lowest coverage':33}" + "".join(f"{value:>9}{'':7}" for value in lowest.values()))
    return {"benchmark": "intervals", "draws": options.draws, **lowest, "rows": rows}
