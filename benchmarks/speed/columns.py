"""Id metrics in tables: CPU of `score_table`.

    python benchmarks/run.py columns [--rows 100000] [--k 10]

Recall and precision beside ``ragas.evaluate`` with its own two, on as many rows; and with average precision and nDCG. The
figures are medians of CPU seconds of calls that take turns; Ragas runs once. A sample of the rows is compared with what the
metrics give for a `Sample`.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
import warnings

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

SEED = 7
ROUNDS = 3
REFERENCES = 3
COMPARED = 2_000
FIELDS = ("retrieved_context_ids", "reference_context_ids")


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="columns", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--k", type=int, default=10)
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
    frame = table(options.rows, options.k, "text")
    figures["ragas_us"] = ragas(frame) / options.rows * 1e6
    figures["ragas_over_ours"] = figures["ragas_us"] / figures["text_polars_two_us"]
    print(
        f"  ragas        {figures['ragas_us']:8.2f} us a row: {figures['ragas_over_ours']:.0f} times ours (at least 50)"
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
