"""Id metrics in tables: CPU and memory of `score_table`.

    python benchmarks/run.py columns [--rows 100000] [--k 10]

Recall and precision beside ``ragas.evaluate`` with its own two, on as many rows; with average precision and nDCG beside
ranx and ir_measures from the same lists of ids. The figures are medians of CPU seconds of calls that take turns; Ragas runs
once, peers on fewer rows. The memory is that of a process of its own, which reads the table from a file. A sample of the
rows is compared with what the metrics give for a `Sample`.
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
ROUNDS = 3
REFERENCES, COMPARED = 3, 2_000
FIELDS = ("retrieved_context_ids", "reference_context_ids")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="columns", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--peers", type=int, default=20_000, help="rows for ranx and ir_measures")
    options = parser.parse_args(argv)
    figures: dict[str, object] = {"benchmark": "columns", **vars(options)}
    print(f"{options.rows:,} rows, k = {options.k}, {REFERENCES} reference ids, CPU us a row")
    for kind in ("text", "int"):
        frame = table(options.rows, options.k, kind)
        forms = {"polars": frame, "pyarrow": frame.to_arrow(), "pandas": frame.to_pandas()}
        for name, form in forms.items():
            two, more = (
                seconds / options.rows * 1e6
                for seconds in cpu(
                    lambda form=form: _scored(form, four()[:2]), lambda form=form: _scored(form, four())
                )
            )
            figures |= {f"{kind}_{name}_two_us": two, f"{kind}_{name}_four_us": more}
            print(f"  {kind:5} {name:8} two metrics {two:6.2f}  four {more:6.2f}")
        figures[f"{kind}_equal"] = equal(frame)
        print(f"  {kind:5} equal to samples: {figures[f'{kind}_equal']}")
    figures |= reading(table(options.peers, options.k, "text"))
    frame = table(options.rows, options.k, "text")
    figures |= memory(frame)
    peers = table(options.peers, options.k, "text")
    spent = cpu(lambda: _scored(peers, four()), lambda: ranx(peers), lambda: ir_measures(peers))
    ours, *others = (seconds / options.peers * 1e6 for seconds in spent)
    for name, us in zip(("ranx", "ir_measures"), others, strict=True):
        figures[f"{name}_us"] = us
        print(f"  {name:12} {us:8.2f} us a row, our four {ours:6.2f}")
    figures["ragas_us"] = ragas(frame) / options.rows * 1e6
    figures["ragas_over_ours"] = figures["ragas_us"] / figures["text_polars_two_us"]
    print(
        f"  ragas        {figures['ragas_us']:8.2f} us a row: {figures['ragas_over_ours']:.0f} times ours (at least 50)"
    )
    return {
        name: round(value, 4) if isinstance(value, float) else value for name, value in figures.items()
    }


def reading(frame) -> dict[str, float]:
    """Microseconds of CPU a row: rows as dicts beside samples, lists that stand as text beside lists."""
    import polars as pl

    from ctxmetrics import Sample, evaluate, score_table

    rows = frame.to_dicts()
    samples = [Sample(**row) for row in rows]
    text = pl.DataFrame([{name: json.dumps(cell) for name, cell in row.items()} for row in rows])
    grades = [{"relevance": dict.fromkeys(row[FIELDS[1]], 2)} for row in rows]
    graded, two = frame.to_pandas().assign(labels=grades), four()[:2]
    calls = {
        "sample_us": lambda: [Sample(**row) for row in rows],
        "from_dict_us": lambda: [Sample.from_dict(row) for row in rows],
        "evaluate_samples_us": lambda: evaluate(samples, two, progress=False),
        "evaluate_dicts_us": lambda: evaluate(rows, two, progress=False),
        "lists_us": lambda: score_table(frame, two),
        "text_cells_us": lambda: score_table(text, two),
        "ndcg_us": lambda: score_table(frame, four()[3:]),
        "four_graded_us": lambda: score_table(graded, four()),
    }
    figures = {name: us / len(rows) * 1e6 for name, us in zip(calls, cpu(*calls.values()), strict=True)}
    for name, us in figures.items():
        print(f"  {name:20} {us:8.2f}")
    return figures


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

    ranked = IDBasedContextPrecision(formula="average_precision")
    return [IDBasedContextRecall(), IDBasedContextPrecision(), ranked, IDBasedNDCG()]


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


def as_trec(frame) -> tuple[dict, dict]:
    """The rows as qrels and as runs, by the number of the query."""
    qrels, runs = {}, {}
    for number, row in enumerate(frame.to_dicts()):
        qrels[str(number)] = dict.fromkeys(row[FIELDS[1]], 1)
        ids = dict.fromkeys(row[FIELDS[0]])
        runs[str(number)] = {id_: 1 / rank for rank, id_ in enumerate(ids, 1)}
    return qrels, runs


def ranx(frame):
    from ranx import Qrels, Run, evaluate

    qrels, runs = as_trec(frame)
    return evaluate(Qrels(qrels), Run(runs), ["recall", "precision", "map", "ndcg"], return_mean=False)


def ir_measures(frame):
    import ir_measures as ir

    return list(ir.iter_calc([ir.R @ 100, ir.P @ 100, ir.AP, ir.nDCG], *as_trec(frame)))


def ragas(frame) -> float:
    """CPU seconds of ``ragas.evaluate`` with its own two id metrics."""
    warnings.simplefilter("ignore", DeprecationWarning)
    from ragas import EvaluationDataset, evaluate
    from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

    dataset = EvaluationDataset.from_list(frame.to_dicts())
    metrics = [IDBasedContextRecall(), IDBasedContextPrecision()]
    evaluate(dataset[:10], metrics=metrics, show_progress=False)  # loads what is needed
    begin = time.process_time()
    evaluate(dataset, metrics=metrics, show_progress=False)
    return time.process_time() - begin


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
