"""CPU time of the two string metrics: Ragas' own against ctxmetrics, the same scores.

    python benchmarks/run.py similarity [--rounds N]

Per sample, recall and precision together, with Levenshtein. The contenders take turns in every round; the figures are
medians over the rounds, in process time. ``samples`` are ``Metric.score`` of a `Sample`, with nothing remembered of another
sample; ``verdicts`` are the same, and all verdicts and their evidence are read; ``table`` is ``score_table`` over columns of
texts. ``bare`` is rapidfuzz with the cutoff, called once for the pairs that no equal text settles. Ragas runs on the first
samples of each load.

Text: seeded random words; one reference in five reappears among the retrieved contexts with a tenth of its words
changed, or as the load's name says.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxmetrics import Score

# Characters, contexts on each side, cutoff, kind; and how many times less than Ragas it must take.
WORKLOADS = [
    (500, 5, 0.5),
    (500, 20, 0.5),
    (500, 100, 0.5),
    (500, 20, 0.8),
    (2000, 5, 0.5),
    (2000, 20, 0.5),
    (2000, 20, 0.8),
    (500, 20, 0.5, "all verbatim", 100),
    (500, 20, 0.5, "half verbatim", 10),
    (500, 20, 0.5, "one near, others verbatim", 10),
    (2000, 20, 0.5, "half verbatim", 6),
    (2000, 20, 0.5, "one near, others verbatim", 6),
]
# Times the CPU of the comparisons alone, in those loads.
MOST_OVER_BARE = 1.15
PEERS = 2


@dataclass(frozen=True)
class Workload:
    name: str
    threshold: float
    samples: list[tuple[list[str], list[str]]]
    bar: int | None = None


def synthetic(
    characters: int, contexts: int, threshold: float, kind: str = "", bar: int | None = None
) -> Workload:
    source = random.Random(characters * contexts)
    words = ["".join(source.choices("etaoinshrdlucmfw", k=source.randint(2, 9))) for _ in range(3000)]

    def text() -> str:
        return " ".join(source.choices(words, k=characters // 5))[:characters]

    def nearly(original: str) -> str:
        return " ".join(
            source.choice(words) if source.random() < 0.1 else word for word in original.split()
        )

    def sample() -> tuple[list[str], list[str]]:
        retrieved = [text() for _ in range(contexts)]
        references = [
            nearly(retrieved[number]) if number % 5 == 0 else text() for number in range(contexts)
        ]
        if kind == "all verbatim":
            references = retrieved[::-1]
        elif kind == "half verbatim":
            references = [*retrieved[: contexts // 2], *references[1 : contexts - contexts // 2 + 1]]
            references[-1] = nearly(retrieved[-1])
        elif kind:
            references = [*retrieved[:-1], nearly(retrieved[-1])]
        return retrieved, references

    name = f"{contexts} x {contexts}, {characters} characters{f', {kind}' if kind else ''}"
    cheap = kind and kind != "half verbatim"
    count = max(12, (2_560_000 if cheap else 400_000) // (characters * contexts))
    return Workload(name, threshold, [sample() for _ in range(count)], bar)


class Ragas:
    name = "ragas"

    def __init__(self, threshold: float) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "use ragas.metrics.collections", where they do not exist
            from ragas.metrics import NonLLMContextPrecisionWithReference, NonLLMContextRecall
        self.metrics = [
            NonLLMContextRecall(threshold=threshold),
            NonLLMContextPrecisionWithReference(threshold=threshold),
        ]

    async def score(self, retrieved: list[str], references: list[str]) -> list[float]:
        from ragas import SingleTurnSample

        sample = SingleTurnSample(retrieved_contexts=retrieved, reference_contexts=references)
        return [await metric.single_turn_ascore(sample) for metric in self.metrics]


class Bare:
    """One call of rapidfuzz with the cutoff for the pairs that no equal text settles: no score comes of it."""

    name = "bare"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    async def score(self, retrieved: list[str], references: list[str]) -> None:
        import numpy as np
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein

        settled = {*retrieved} & {*references}
        for rows, columns in (
            ([text for text in retrieved if text not in settled], references),
            (
                [text for text in retrieved if text in settled],
                [text for text in references if text not in settled],
            ),
        ):
            if rows and columns:
                process.cdist(
                    rows,
                    columns,
                    scorer=Levenshtein.normalized_distance,
                    score_cutoff=1 - self.threshold,
                    dtype=np.float64,
                )


class Samples:
    name = "samples"

    def __init__(self, threshold: float) -> None:
        self.metrics = our_metrics(threshold)

    async def score(self, retrieved: list[str], references: list[str]) -> list[float]:
        from ctxmetrics import Sample
        from ctxmetrics.metrics.similarity import MEMORY

        MEMORY.clear()
        sample = Sample(retrieved_contexts=retrieved, reference_contexts=references)
        return [self.value(metric.score(sample)) for metric in self.metrics]

    def value(self, score: Score) -> float:
        return score.value


class Verdicts(Samples):
    name = "verdicts"

    def value(self, score: Score) -> float:
        if not all(verdict.reason for verdict in score.verdicts):
            raise SystemExit("a verdict has no reason")
        return score.value


def our_metrics(threshold: float) -> list[object]:
    from ctxmetrics import NonLLMContextPrecision, NonLLMContextRecall

    options = {"convention": "ragas", "min_similarity": threshold}
    return [NonLLMContextRecall(**options), NonLLMContextPrecision(**options)]


def score_columns(table: object, threshold: float) -> list[list[float]]:
    from ctxmetrics import score_table

    metrics = our_metrics(threshold)
    scored = score_table(table, metrics, schema="ragas", progress=False)
    return [list(row) for row in scored.select([metric.name for metric in metrics]).iter_rows()]


async def measure(workload: Workload, rounds: int) -> dict[str, list[float]]:
    """Time every contender once per round, in seconds a sample, and see that their scores are equal."""
    import polars as pl

    contenders = [kind(workload.threshold) for kind in (Ragas, Bare, Samples, Verdicts)]
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders} | {"table": []}
    names = ("retrieved_contexts", "reference_contexts")
    table = pl.DataFrame(
        workload.samples, schema=dict.fromkeys(names, pl.List(pl.String)), orient="row"
    )
    for round_number in range(rounds + 1):  # the first one warms up
        scores = {}
        for contender in contenders:
            samples = workload.samples[: PEERS if contender.name == "ragas" else None]
            start = time.process_time()
            scores[contender.name] = [await contender.score(*texts) for texts in samples]
            if round_number:
                times[contender.name].append((time.process_time() - start) / len(samples))
        start = time.process_time()
        scores["table"] = score_columns(table, workload.threshold)
        if round_number:
            times["table"].append((time.process_time() - start) / len(table))
        ours = scores["samples"]
        alike = ours == scores["verdicts"] == scores["table"]
        if not alike or not scores["ragas"] == ours[:PEERS]:
            raise SystemExit(f"{workload.name}: the scores differ: {scores}")
    return times


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="similarity", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args(argv)
    if options.rounds < 7:
        parser.error("--rounds: a median needs at least 7")

    workloads = [synthetic(*shape) for shape in WORKLOADS]
    print("CPU us a sample, and ratios (medians; in brackets the range over the rounds)")
    rows = [_row(workload, asyncio.run(measure(workload, options.rounds))) for workload in workloads]
    return {
        "benchmark": "similarity",
        "unit": "CPU us per sample, recall and precision",
        "rounds": options.rounds,
        "rows": rows,
    }


def _row(workload: Workload, times: dict[str, list[float]]) -> dict[str, object]:
    """Print the figures of a load, with the bars that hold for it, and return them."""
    us = {name: statistics.median(values) * 1e6 for name, values in times.items()}
    print(f"{workload.name}, cut {workload.threshold}")
    print("   ", "  ".join(f"{name} {value:,.1f}" for name, value in us.items()))
    figures: dict[str, object] = {"workload": workload.name, "min_similarity": workload.threshold}
    figures |= {f"{name}_us": round(value, 1) for name, value in us.items()}
    least = "" if workload.bar is None else f" (at least {workload.bar})"
    most = "" if workload.bar is None else f" (at most {MOST_OVER_BARE})"
    if workload.name.endswith("all verbatim"):
        most = " (no pair is open: nothing to compare)"
    for above, below, bar in (
        ("ragas", "samples", least),
        ("ragas", "table", least),
        ("samples", "bare", most),
        ("verdicts", "bare", ""),
        ("table", "bare", most),
    ):
        ratios = sorted(one / other for one, other in zip(times[above], times[below], strict=True))
        ratio = statistics.median(ratios)
        figures[f"{above}_over_{below}"] = round(ratio, 3)
        print(f"    {above} / {below}: {ratio:.2f} [{ratios[0]:.2f} .. {ratios[-1]:.2f}]{bar}")
    return figures
