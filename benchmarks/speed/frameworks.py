"""Id metrics inside a framework's run: CPU time beside Ragas' own two, and beside a metric of DeepEval that does nothing.

    python benchmarks/run.py frameworks [--samples 500] [--rounds 15]

``ragas.evaluate`` with our two id metrics and with Ragas' own; ``deepeval.evaluate``, sync and async, with
`IDBasedContextRecallMetric` and with the smallest ``BaseMetric`` that works. Five retrieved ids, two reference ids, and for
DeepEval five contexts of 130 characters. The two take turns in every round, and which of them begins changes from round to
round. The time is that of the process, all its threads included; the ratio is the median of the ratios of the rounds,
beside the lowest and the highest. Bar: 1.1.

The garbage collector is off while a run is timed. A full collection takes as long as scoring a thousand samples does, and it
falls into the one run or the other. The benchmark prints how many objects each run of Ragas leaves behind: ours leaves the score
of each sample in the trace, where Ragas' own id metrics leave the number alone.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _shared import arguments, judging

os.environ.update(judging.QUIET)

LIMIT = 1.1
CONTEXT = "The handbook says that the pump is to be primed before the first use. " * 2


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("frameworks", __doc__, samples=500, rounds=15).parse_args(argv)
    warnings.simplefilter("ignore")
    figures: dict[str, object] = {"samples": options.samples, "rounds": options.rounds, "limit": LIMIT}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # DeepEval writes into the directory it is in
        os.chdir(folder)
        try:
            pairs = _ragas(options.samples) | _deepeval(options.samples)
            print(f"{options.samples} samples, {options.rounds} rounds, CPU microseconds a sample")
            print(f"{'':16}{'theirs':>8}{'ours':>8}{'ratio':>8}   lowest and highest ratio of a round")
            over = []
            for name, pair in pairs.items():
                ratio = _compare(name, pair, options.samples, options.rounds, figures)
                if ratio > LIMIT:
                    over.append(f"{name}: {ratio:.3f}, limit {LIMIT}")
        finally:
            os.chdir(here)
    return figures | {"over": over}


def _compare(
    name: str, pair: list[Callable[[], object]], samples: int, rounds: int, figures: dict[str, object]
) -> float:
    """Time two runs in turns; return the median of the ratios."""
    spent: list[list[float]] = [[], []]
    objects = [0, 0]
    for turn in range(rounds + 1):
        for which in (0, 1) if turn % 2 else (1, 0):
            seconds, objects[which] = _time(pair[which])
            if turn:
                spent[which].append(seconds / samples * 1e6)
    theirs, ours = map(statistics.median, spent)
    ratios = sorted(one / other for other, one in zip(*spent, strict=True))
    ratio = statistics.median(ratios)
    print(f"{name:16}{theirs:8.0f}{ours:8.0f}{ratio:8.3f}   {ratios[0]:.3f} to {ratios[-1]:.3f}")
    if name.startswith("ragas"):
        print(f"{'':16}objects left a sample: {objects[0] / samples:.1f}, {objects[1] / samples:.1f}")
    figures |= {f"{name}_theirs_us": theirs, f"{name}_ours_us": ours, f"{name}_ratio": ratio}
    return ratio


def _time(call: Callable[[], object]) -> tuple[float, int]:
    """Return the CPU seconds of a call, and how many objects are left while its result is held."""
    gc.collect()
    before = len(gc.get_objects())
    gc.disable()
    try:
        started = time.process_time()
        result = call()
        spent = time.process_time() - started
    finally:
        gc.enable()
    gc.collect()
    left = len(gc.get_objects()) - before
    del result
    return spent, left


def _ids(number: int) -> dict[str, list[str]]:
    return {
        "retrieved_context_ids": [f"doc-{number + rank}" for rank in range(5)],
        "reference_context_ids": [f"doc-{number}", f"doc-{number + 7}"],
    }


def _ragas(samples: int) -> dict[str, list[Callable[[], object]]]:
    import ragas.metrics
    from ragas import EvaluationDataset, evaluate

    from ctxmetrics_ragas import IDBasedContextPrecision, IDBasedContextRecall

    dataset = EvaluationDataset.from_list([_ids(number) for number in range(samples)])
    own = [ragas.metrics.IDBasedContextRecall(), ragas.metrics.IDBasedContextPrecision()]
    ours = [IDBasedContextRecall(), IDBasedContextPrecision()]

    def score(metrics: list) -> object:
        result = evaluate(dataset, metrics=metrics, show_progress=False)
        for metric in metrics:
            if any(map(math.isnan, result[metric.name])):
                raise RuntimeError(f"{metric.name}: a sample has no score")
        return result

    return {"ragas": [lambda: score(own), lambda: score(ours)]}


def _deepeval(samples: int) -> dict[str, list[Callable[[], object]]]:
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import BaseMetric

    from ctxmetrics_deepeval import IDBasedContextRecallMetric

    class NoOp(BaseMetric):
        threshold = 0.5

        def measure(self, *_, **__):
            self.score = 1.0
            return self.score

        async def a_measure(self, *_, **__):
            return self.measure()

        def is_successful(self):
            self.success = True
            return True

        @property
        def __name__(self):
            return "no-op"

    cases = _cases(samples)

    def score(metric, *, run_async: bool) -> object:
        with judging.silence():
            result = evaluate(
                cases,
                [metric],
                async_config=AsyncConfig(run_async=run_async),
                cache_config=CacheConfig(write_cache=False),
                display_config=DisplayConfig(print_results=False, show_indicator=False),
            )
        scores = [test.metrics_data[0].score for test in result.test_results]
        if None in scores:
            raise RuntimeError("a test case has no score")
        return result

    metrics = NoOp(), IDBasedContextRecallMetric()
    return {
        f"deepeval_{name}": [partial(score, metric, run_async=name == "async") for metric in metrics]
        for name in ("sync", "async")
    }


def _cases(samples: int) -> list:
    answer = "Prime the pump before the first use."
    contexts = [f"{CONTEXT[:128]}{rank:02}" for rank in range(5)]
    return [
        judging.deepeval_case(f"Question {number}?", answer, contexts, metadata=_ids(number))
        for number in range(samples)
    ]
