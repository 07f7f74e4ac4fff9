"""What our metric adds to a run of Ragas: CPU time per sample over a metric of theirs that does nothing.

    python benchmarks/run.py ragas_overhead [--samples N] [--rounds N]

``ragas.evaluate()`` with `IDBasedContextRecall` and with the smallest ``SingleTurnMetric`` that works and asks for the
same two columns, on the same samples: five retrieved ids, two reference ids. The two take turns in every round, and
which of them begins changes from round to round; garbage is collected before each run. The figures are medians over
the rounds, in process time, after one round that does not count, and the median of the rounds' ratios. The same for our two id metrics and Ragas' own two.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import statistics
import time
import warnings

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

TARGET = 1.25
TARGET_OF_TWO = 1.0


def run(argv: list[str]) -> dict[str, float]:
    parser = argparse.ArgumentParser(prog="ragas_overhead", description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9, help="at least 7")
    options = parser.parse_args(argv)
    if options.rounds < 7:
        parser.error("--rounds: a median needs at least 7")

    warnings.simplefilter("ignore", DeprecationWarning)  # Ragas: evaluate() itself
    import ragas.metrics
    from ragas.metrics.base import MetricType, SingleTurnMetric

    from ctxmetrics_ragas import IDBasedContextPrecision, IDBasedContextRecall

    columns = {MetricType.SINGLE_TURN: {"retrieved_context_ids", "reference_context_ids"}}

    class NoOp(SingleTurnMetric):
        name = "no_op"
        _required_columns = columns

        def init(self, run_config):
            pass

        async def _single_turn_ascore(self, sample, callbacks):
            return 1.0

    dataset = _dataset(options.samples)
    figures: dict[str, float] = {
        "samples": options.samples,
        "rounds": options.rounds,
        "target": TARGET,
        "two_target": TARGET_OF_TWO,
    }
    print(
        f"{options.samples} samples, {options.rounds} rounds, CPU microseconds per sample in ragas.evaluate()"
    )
    print(f"{'':16}{'other':>10}{'ours':>10}{'ratio':>8}   lowest and highest ratio of a round")
    own = [ragas.metrics.IDBasedContextRecall(), ragas.metrics.IDBasedContextPrecision()]
    for name, pair in (
        ("no-op", ([NoOp()], [IDBasedContextRecall()])),
        ("ragas' own two", (own, [IDBasedContextRecall(), IDBasedContextPrecision()])),
    ):
        spent: list[list[float]] = [[], []]
        for turn in range(options.rounds + 1):
            for which in (0, 1) if turn % 2 else (1, 0):
                seconds = _time(dataset, pair[which])
                if turn:
                    spent[which].append(seconds / options.samples * 1e6)
        theirs, ours = map(statistics.median, spent)
        ratios = sorted(one / other for other, one in zip(*spent, strict=True))
        ratio = statistics.median(ratios)
        print(f"{name:16}{theirs:10.0f}{ours:10.0f}{ratio:8.3f}   {ratios[0]:.3f} to {ratios[-1]:.3f}")
        key = "" if name == "no-op" else "two_"
        figures |= {f"{key}other_us": theirs, f"{key}ours_us": ours, f"{key}ratio": ratio}
    return figures


def _dataset(samples: int):
    from ragas import EvaluationDataset

    return EvaluationDataset.from_list(
        [
            {
                "retrieved_context_ids": [f"doc-{number + rank}" for rank in range(5)],
                "reference_context_ids": [f"doc-{number}", f"doc-{number + 7}"],
            }
            for number in range(samples)
        ]
    )


def _time(dataset, metrics) -> float:
    from ragas import evaluate

    gc.collect()
    started = time.process_time()
    result = evaluate(dataset, metrics=metrics, show_progress=False)
    spent = time.process_time() - started
    for metric in metrics:
        if len(result[metric.name]) != len(dataset) or any(map(math.isnan, result[metric.name])):
            raise SystemExit(f"{metric.name}: a sample has no score")
    return spent
