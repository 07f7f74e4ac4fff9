"""What our metric adds to a run of DeepEval: CPU time per sample over a metric of theirs that does nothing.

    python benchmarks/run.py deepeval_overhead [--samples N] [--rounds N]

``deepeval.evaluate(write_cache=False)``, sync and async, with `IDBasedContextRecallMetric` and with the
smallest ``BaseMetric`` that works, on the same test cases: five contexts of 130 characters, ids in the
metadata. The two take turns in every round, and which of them begins changes from round to round; garbage is
collected before each run. The figures are medians over the rounds, in process time, after one round that does not
count; the ratio is the median of the ratios of the rounds, beside the lowest and the highest.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")

TARGET = 1.15


def run(argv: list[str]) -> dict[str, float]:
    parser = argparse.ArgumentParser(prog="deepeval_overhead")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(argv)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # DeepEval writes into the directory it is in
        os.chdir(folder)
        try:
            return _run(options.samples, options.rounds)
        finally:
            os.chdir(here)


def _run(samples: int, rounds: int) -> dict[str, float]:
    from deepeval.metrics import BaseMetric

    from ctxmetrics_deepeval import IDBasedContextRecallMetric

    class NoOp(BaseMetric):
        threshold = 0.5

        def measure(self, test_case, *args, **kwargs):
            self.score = 1.0
            return self.score

        async def a_measure(self, test_case, *args, **kwargs):
            self.score = 1.0
            return self.score

        def is_successful(self):
            self.success = self.score >= self.threshold
            return self.success

        @property
        def __name__(self):
            return "no-op"

    cases = _cases(samples)
    figures: dict[str, float] = {"samples": samples, "rounds": rounds, "target": TARGET}
    print(f"{samples} samples, {rounds} rounds, CPU microseconds per sample")
    print(f"{'':8}{'no-op':>10}{'ours':>10}{'ratio':>8}   lowest and highest ratio of a round")
    for mode in ("sync", "async"):
        metrics = [NoOp(), IDBasedContextRecallMetric()]
        spent: list[list[float]] = [[], []]
        for turn in range(rounds + 1):
            for which in (0, 1) if turn % 2 else (1, 0):
                seconds = _time(cases, metrics[which], run_async=mode == "async")
                if turn:
                    spent[which].append(seconds / samples * 1e6)
        theirs, ours = map(statistics.median, spent)
        ratios = sorted(one / other for other, one in zip(*spent, strict=True))
        ratio = statistics.median(ratios)
        figures |= {f"{mode}_noop_us": theirs, f"{mode}_ours_us": ours, f"{mode}_ratio": ratio}
        print(f"{mode:8}{theirs:10.0f}{ours:10.0f}{ratio:8.3f}   {ratios[0]:.3f} to {ratios[-1]:.3f}")
    return figures


def _cases(samples: int):
    from deepeval.test_case import LLMTestCase

    context = "The handbook says that the pump is to be primed before the first use. "
    return [
        LLMTestCase(
            input=f"Question {number}?",
            actual_output="Prime it.",
            expected_output="Prime the pump before the first use.",
            retrieval_context=[(context * 2)[:128] + f"{rank:02}" for rank in range(5)],
            metadata={
                "retrieved_context_ids": [f"doc-{number + rank}" for rank in range(5)],
                "reference_context_ids": [f"doc-{number}", f"doc-{number + 7}"],
            },
        )
        for number in range(samples)
    ]


def _time(cases, metric, *, run_async: bool) -> float:
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig

    gc.collect()
    started = time.process_time()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        result = evaluate(
            cases,
            [metric],
            async_config=AsyncConfig(run_async=run_async),
            cache_config=CacheConfig(write_cache=False),
            display_config=DisplayConfig(print_results=False, show_indicator=False),
        )
    spent = time.process_time() - started
    scored = sum(data.score is not None for test in result.test_results for data in test.metrics_data)
    if scored != len(cases):
        raise RuntimeError(f"only {scored} of {len(cases)} were scored")
    return spent
