"""How CPU time and memory grow with the number of samples, of retrieved ids and of characters.

    python benchmarks/run.py growth [--most 1000000]

CPU seconds of `score_table` (recall and precision over ids) for 1,000 samples and more at k = 5, 20 and 100; of
`evaluate` with the same metrics, whose results keep verdicts; and of the string metrics by the length of the texts. The
exponent is the slope of a straight line through the logarithms: 1 is growth in proportion. Memory of a kept row is what
the results of `evaluate` hold beside the samples that were given (tracemalloc).
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import statistics
import time
import tracemalloc

STEPS = (1_000, 10_000, 100_000, 1_000_000)
MOST_CELLS = 20_000_000
MOST_KEPT = 10_000
LENGTHS = (250, 500, 1_000, 2_000)
REFERENCES = 3


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--most", type=int, default=STEPS[-1])
    options = parser.parse_args(argv)
    figures: dict[str, object] = {"benchmark": "growth", "most": options.most}
    steps = [step for step in STEPS if step <= options.most]
    print(f"{'CPU s':34}" + "".join(f"{step:>12,}" for step in steps) + f"{'exponent':>10}")
    for k in (5, 20, 100):
        sizes = [step for step in steps if step * k <= MOST_CELLS]
        figures[f"table_k{k}_exponent"] = line(
            f"score_table, ids, k = {k}", sizes, lambda n, k=k: table(n, k)
        )
    kept = [step for step in steps if step <= MOST_KEPT]
    figures["evaluate_exponent"] = line("evaluate, ids, k = 10", kept, lambda n: evaluated(samples(n)))
    print(f"{'characters':34}" + "".join(f"{length:>12,}" for length in LENGTHS))
    figures["characters_exponent"] = line("strings, 10 x 10, by characters", LENGTHS, strings)
    figures["kept_bytes_a_row"] = kept_bytes(kept[-1])
    print(
        f"memory of a kept row, two id metrics, k = 10: {figures['kept_bytes_a_row']:,} bytes (at most 1,024)"
    )
    return figures


def line(title: str, sizes, work) -> float:
    """Print the CPU seconds for each size, and the exponent."""
    spent = [cpu(work(size)) for size in sizes]
    xs, ys = ([math.log(value) for value in values] for values in (sizes, spent))
    slope = statistics.linear_regression(xs, ys).slope
    print(f"{title:34}" + "".join(f"{seconds:12.4f}" for seconds in spent) + f"{slope:10.2f}")
    return round(slope, 2)


def cpu(call) -> float:
    call()
    gc.collect()
    begin = time.process_time()
    call()
    return max(time.process_time() - begin, 1e-6)


def metrics():
    from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall

    return [IDBasedContextRecall(), IDBasedContextPrecision()]


def table(rows: int, k: int):
    import numpy as np
    import polars as pl

    from ctxmetrics import score_table

    numbers = np.random.default_rng(rows)
    columns = {}
    for name, width in (("retrieved_context_ids", k), ("reference_context_ids", REFERENCES)):
        flat = pl.Series(numbers.integers(0, 4 * k, rows * width))
        columns[name] = flat.reshape((rows, width)).arr.to_list()
    frame = pl.DataFrame(columns)
    return lambda: score_table(frame, metrics(), progress=False)


def samples(count: int):
    from ctxmetrics import Sample

    source = random.Random(count)
    ids = [f"document-{number}" for number in range(count)]
    return [
        Sample(
            retrieved_context_ids=source.choices(ids, k=10), reference_context_ids=source.choices(ids, k=3)
        )
        for _ in range(count)
    ]


def evaluated(given):
    from ctxmetrics import evaluate

    return lambda: evaluate(given, metrics(), progress=False)


def strings(characters: int):
    from ctxmetrics import NonLLMContextRecall, Sample
    from ctxmetrics.metrics.similarity import clear_memory

    source = random.Random(characters)
    texts = ["".join(source.choices("abcdefghij ", k=characters)) for _ in range(20)]
    sample = Sample(retrieved_contexts=texts[:10], reference_contexts=texts[10:])

    def work() -> None:
        for _ in range(20):
            clear_memory()
            NonLLMContextRecall().score(sample)

    return work


def kept_bytes(count: int) -> int:
    """Bytes that the results of so many samples hold, a row."""
    given = samples(count)
    evaluated(given[:10])()
    gc.collect()
    tracemalloc.start()
    results = evaluated(given)()
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held // len(results)
