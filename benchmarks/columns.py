"""Id metrics in columns: CPU and memory of `score_table`.

    python benchmarks/run.py columns [--rows 1000000] [--k 10]

Recall, precision, average precision and nDCG together, with their rules for gaps, empty lists and repeated ids, beside a
bare polars expression of the recall alone; recall and precision beside ``ragas.evaluate`` with its own two; the four
beside ranx and ir_measures from the same lists of ids. Every figure is a median of CPU seconds of calls that take turns; peers run on fewer rows.
The memory is that of a process of its own, which reads the table from a file. A sample of the rows is compared with what
the metrics give for a `Sample`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

SEED = 7
ROUNDS = 5
REFERENCES = 3
COMPARED = 2_000
FIELDS = ("retrieved_context_ids", "reference_context_ids")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="columns", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--peers", type=int, default=50_000, help="rows for ranx and ir_measures")
    parser.add_argument("--ragas", type=int, default=2_000, help="samples for Ragas")
    options = parser.parse_args(argv)
    figures: dict[str, object] = {"benchmark": "columns", **vars(options)}
    print(f"{options.rows:,} rows, k = {options.k}, {REFERENCES} reference ids, CPU us a row")
    for kind in ("text", "int"):
        frame = table(options.rows, options.k, kind)
        bare, ours, two = (
            seconds / options.rows * 1e6
            for seconds in cpu(
                lambda frame=frame: recall_alone(frame),
                lambda frame=frame: _scored(frame, four()),
                lambda frame=frame: _scored(frame, four()[:2]),
            )
        )
        figures |= {f"{kind}_bare_us": bare, f"{kind}_four_us": ours, f"{kind}_two_us": two}
        figures |= {f"{kind}_over_bare": ours / bare, f"{kind}_equal": equal(frame)}
        print(
            f"  {kind:5} bare {bare:6.3f}  four metrics {ours:6.3f}  ratio {ours / bare:5.2f} (at most 2)",
            end="",
        )
        print(f"  two metrics {two:6.3f}  equal to samples: {figures[f'{kind}_equal']}")
    frame = table(options.rows, options.k, "text")
    figures |= memory(frame)
    peers = table(options.peers, options.k, "text")
    spent = cpu(lambda: _scored(peers, four()), lambda: ranx(peers), lambda: ir_measures(peers))
    ours, *others = (seconds / options.peers * 1e6 for seconds in spent)
    for name, us in zip(("ranx", "ir_measures"), others, strict=True):
        figures[f"{name}_us"] = us
        print(f"  {name:12} {us:8.2f} us a row, ours {ours:6.3f} (at most as much)")
    figures["ragas_us"] = ragas(table(options.ragas, options.k, "text")) / options.ragas * 1e6
    figures["ragas_over_ours"] = figures["ragas_us"] / figures["text_two_us"]
    print(
        f"  ragas        {figures['ragas_us']:8.2f} us a row: {figures['ragas_over_ours']:.0f} times ours (at least 100)"
    )
    return {
        name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()
    }


def table(rows: int, k: int, kind: str):
    """Rows with k retrieved ids, some of them repeated, and three reference ids."""
    import numpy as np
    import polars as pl

    numbers = np.random.default_rng(SEED)
    columns = {}
    for name, width in zip(FIELDS, (k, REFERENCES), strict=True):
        flat = pl.Series(numbers.integers(0, 4 * k, rows * width))
        if kind == "text":
            flat = pl.select(pl.lit("document-") + flat.cast(pl.String)).to_series()
        columns[name] = flat.reshape((rows, width)).arr.to_list()
    return pl.DataFrame(columns).rechunk()


def four():
    """Recall, precision, average precision, nDCG."""
    from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall
    from ctxmetrics.metrics.ids import IDBasedNDCG

    precision = IDBasedContextPrecision()
    ranked = IDBasedContextPrecision(formula="average_precision")
    return [IDBasedContextRecall(), precision, ranked, IDBasedNDCG()]


def recall_alone(frame):
    """The share of the reference ids that were retrieved, without any rule for gaps and empty lists."""
    import polars as pl

    retrieved, reference = map(pl.col, FIELDS)
    return frame.select(
        retrieved.list.set_intersection(reference).list.len() / reference.list.unique().list.len()
    )


def cpu(*calls) -> list[float]:
    """The medians of the CPU seconds of calls that take turns, after a round that does not count."""
    spent = [[] for _ in calls]
    for _ in range(ROUNDS + 1):
        for call, seconds in zip(calls, spent, strict=True):
            gc.collect()
            begin = time.process_time()
            call()
            seconds.append(time.process_time() - begin)
    return [statistics.median(seconds[1:]) for seconds in spent]


def equal(frame) -> bool:
    """Whether a sample of the rows has the values that the metrics give for a `Sample`."""
    from ctxmetrics import Sample

    part = _scored(frame.sample(min(COMPARED, len(frame)), seed=SEED), four())
    return all(
        metric.score(Sample(**{name: row[name] for name in FIELDS})).value == row[metric.name]
        for row in part.iter_rows(named=True)
        for metric in four()
    )


def memory(frame) -> dict[str, float]:
    """The most memory that scoring takes, the table included, over the table's own, in a process that reads it."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "table.parquet")
        frame.write_parquet(file)
        done = subprocess.run(
            [sys.executable, __file__, file], stdout=subprocess.PIPE, text=True, check=True
        )
    figures = json.loads(done.stdout)
    print(
        f"  memory: table {figures['table_mb']:.0f} MB, at most {figures['peak_mb']:.0f} MB,"
        f" ratio {figures['peak_over_table']:.2f} (at most 3)"
    )
    return figures


def ranx(frame):
    from ranx import Qrels, Run, evaluate

    queries = frame.to_dicts()
    qrels = {str(number): dict.fromkeys(row[FIELDS[1]], 1) for number, row in enumerate(queries)}
    runs = {
        str(number): {id_: 1 / rank for rank, id_ in enumerate(dict.fromkeys(row[FIELDS[0]]), 1)}
        for number, row in enumerate(queries)
    }
    return evaluate(Qrels(qrels), Run(runs), ["recall", "precision", "map", "ndcg"], return_mean=False)


def ir_measures(frame):
    import ir_measures as ir

    queries = frame.to_dicts()
    qrels = {str(number): dict.fromkeys(row[FIELDS[1]], 1) for number, row in enumerate(queries)}
    runs = {
        str(number): {id_: 1 / rank for rank, id_ in enumerate(dict.fromkeys(row[FIELDS[0]]), 1)}
        for number, row in enumerate(queries)
    }
    return list(ir.iter_calc([ir.R @ 100, ir.P @ 100, ir.AP, ir.nDCG], qrels, runs))


def ragas(frame) -> float:
    """CPU seconds of ``ragas.evaluate`` with its own two id metrics."""
    warnings.simplefilter("ignore", DeprecationWarning)
    from ragas import EvaluationDataset, evaluate
    from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

    dataset = EvaluationDataset.from_list(frame.to_dicts())
    metrics = [IDBasedContextRecall(), IDBasedContextPrecision()]
    return cpu(lambda: evaluate(dataset, metrics=metrics, show_progress=False))[0]


def _scored(frame, metrics):
    from ctxmetrics import score_table

    return score_table(frame, metrics, progress=False)


def _measure_memory(file: str) -> None:
    import polars as pl

    def megabytes(key: str) -> float:
        # Not ru_maxrss, which begins at what the process had that started this one.
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{key}:"))

    _scored(table(10, 3, "text"), four())  # loads what is needed
    before = megabytes("VmRSS")
    frame = pl.read_parquet(file)
    size = megabytes("VmRSS") - before
    _scored(frame, four())
    peak = megabytes("VmHWM") - before
    print(json.dumps({"table_mb": size, "peak_mb": peak, "peak_over_table": peak / size}))


if __name__ == "__main__":
    _measure_memory(sys.argv[1])
