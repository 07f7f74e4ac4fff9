"""CPU time of the two string metrics: Ragas' own against ctxmetrics, the same scores.

    python benchmarks/run.py similarity [--data DIR] [--rounds N]

Per sample, recall and precision together, with Levenshtein. The contenders take turns in every round; the
figures are medians over the rounds, in process time. ``loop`` is rapidfuzz asked once per pair without a cutoff:
what is left of Ragas' time without Ragas. ``bare`` is one call of rapidfuzz with the cutoff for the pairs that no equal
text settles. ctxmetrics starts every sample with nothing remembered.

Text: seeded random words; one reference in five reappears among the retrieved contexts with a tenth of its words
changed. With ``--data DIR``, also the first 60 samples of ``clapnq-dev.jsonl`` there, one JSON object a line with
``retrieved_contexts`` and ``reference_contexts`` (CLAPNQ, https://github.com/primeqa/clapnq): every passage split
into sentences, so that texts are short.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

WORKLOADS = [
    (500, 5, 0.5),
    (500, 20, 0.5),
    (500, 100, 0.5),
    (500, 20, 0.8),
    (2000, 5, 0.5),
    (2000, 20, 0.5),
    (2000, 20, 0.8),
    (500, 20, 0.5, "all verbatim"),
    (500, 20, 0.5, "half verbatim"),
    (500, 20, 0.5, "one near, others verbatim"),
    (2000, 20, 0.5, "half verbatim"),
    (2000, 20, 0.5, "one near, others verbatim"),
]


@dataclass(frozen=True)
class Workload:
    name: str
    threshold: float
    samples: list[tuple[list[str], list[str]]]


def synthetic(characters: int, contexts: int, threshold: float, kind: str = "") -> Workload:
    source = random.Random(characters * contexts)
    words = ["".join(source.choices("etaoinshrdlucmfw", k=source.randint(2, 9))) for _ in range(3000)]

    def text() -> str:
        return " ".join(source.choices(words, k=characters // 5))[:characters]

    def nearly(original: str) -> str:
        return " ".join(source.choice(words) if source.random() < 0.1 else word for word in original.split())

    retrieved = [text() for _ in range(contexts)]
    references = [nearly(retrieved[number]) if number % 5 == 0 else text() for number in range(contexts)]
    if kind == "all verbatim":
        references = retrieved[::-1]
    elif kind == "half verbatim":
        references = [*retrieved[: contexts // 2], *references[1 : contexts - contexts // 2 + 1]]
        references[-1] = nearly(retrieved[-1])
    elif kind:
        references = [*retrieved[:-1], nearly(retrieved[-1])]
    name = f"{contexts} x {contexts}, {characters} characters{f', {kind}' if kind else ''}"
    return Workload(name, threshold, [(retrieved, references)])


def recorded(folder: Path, threshold: float) -> Workload:
    lines = (folder / "clapnq-dev.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    samples = [(row["retrieved_contexts"], row["reference_contexts"]) for row in map(json.loads, lines)]
    return Workload(f"CLAPNQ, {len(samples)} samples", threshold, samples)


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


class Loop:
    name = "loop"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    async def score(self, retrieved: list[str], references: list[str]) -> list[float]:
        from rapidfuzz.distance import Levenshtein

        from ctxmetrics.formulas import average_precision, share

        ask = Levenshtein.normalized_distance
        rows = [[1 - ask(one, other) for other in references] for one in retrieved]
        recall = share([max(column) > self.threshold for column in zip(*rows, strict=True)])
        precision = average_precision([max(row) >= self.threshold for row in rows], epsilon=1e-10)
        return [recall, precision]


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


class Ours:
    name = "ctxmetrics"

    def __init__(self, threshold: float) -> None:
        from ctxmetrics import NonLLMContextPrecision, NonLLMContextRecall

        options = {"convention": "ragas", "min_similarity": threshold}
        self.metrics = [NonLLMContextRecall(**options), NonLLMContextPrecision(**options)]

    async def score(self, retrieved: list[str], references: list[str]) -> list[float]:
        from ctxmetrics import Sample
        from ctxmetrics.metrics.similarity import clear_memory

        clear_memory()
        sample = Sample(retrieved_contexts=retrieved, reference_contexts=references)
        return [metric.score(sample).value for metric in self.metrics]


async def measure(workload: Workload, rounds: int) -> dict[str, list[float]]:
    """Time every contender once per round, and see that their scores are equal."""
    contenders = [kind(workload.threshold) for kind in (Ragas, Loop, Bare, Ours)]
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for round_number in range(rounds + 1):  # the first one warms up
        scores = []
        for contender in contenders:
            start = time.process_time()
            scores.append([await contender.score(*texts) for texts in workload.samples])
            if round_number:
                times[contender.name].append(time.process_time() - start)
        if any(other not in (scores[0], [None] * len(scores[0])) for other in scores[1:]):
            raise SystemExit(f"{workload.name}: the scores differ: {scores}")
    return times


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="similarity", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with clapnq-dev.jsonl")
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args(argv)
    if options.rounds < 7:
        parser.error("--rounds: a median needs at least 7")

    workloads = [synthetic(*shape) for shape in WORKLOADS]
    if options.data:
        workloads += [recorded(options.data, 0.5), recorded(options.data, 0.8)]
    print(
        f"{'workload':52} {'cut':>4} {'ragas ms':>9} {'loop ms':>9} {'bare ms':>9} {'ours ms':>9} {'ours/bare':>10} "
        f"{'ragas/ours':>11} {'range':>15}"
    )
    rows = []
    for workload in workloads:
        times = asyncio.run(measure(workload, options.rounds))
        ms = {
            name: statistics.median(values) / len(workload.samples) * 1000 for name, values in times.items()
        }
        ratios = sorted(
            theirs / ours for theirs, ours in zip(times["ragas"], times["ctxmetrics"], strict=True)
        )
        ratio = statistics.median(ratios)
        print(
            f"{workload.name:52} {workload.threshold:4} {ms['ragas']:9.2f} {ms['loop']:9.2f} {ms['bare']:9.2f} "
            f"{ms['ctxmetrics']:9.2f} {ms['ctxmetrics'] / ms['bare']:10.2f} {ratio:10.1f}x "
            f"{ratios[0]:6.1f}..{ratios[-1]:.1f}x"
        )
        rows.append(
            {
                "workload": workload.name,
                "min_similarity": workload.threshold,
                "ragas_ms": round(ms["ragas"], 3),
                "loop_ms": round(ms["loop"], 3),
                "bare_ms": round(ms["bare"], 3),
                "ctxmetrics_ms": round(ms["ctxmetrics"], 3),
                "ratio": round(ratio, 2),
            }
        )
    return {
        "benchmark": "similarity",
        "unit": "CPU ms per sample, recall and precision",
        "rounds": options.rounds,
        "rows": rows,
    }
