"""What a run of id metrics costs as its rows grow: CPU and memory of `score`, `compare` and Ragas, and the bytes of files.

    python benchmarks/run.py growth [--rows 1000 10000 100000] [--peer 10000]

Recall and precision of a CSV with ten retrieved ids a row, two files of results of it compared, and ``ragas.evaluate`` with
its own two (on as many rows, ``--peer`` at most). Each runs in a process of its own. CPU is that of the rows: what the process
takes for one row is taken off. Bars: 500 bytes a row of results and 350 of a baseline, for each metric; 500 MB for a comparison.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

SEED = 7
BYTES, BYTES_OF_BASELINE, MEGABYTES = 500, 350, 500
METRICS = ("id_based_context_recall", "id_based_context_precision")
RAGAS = """
import csv, json, sys
from ragas import EvaluationDataset, evaluate
from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall
with open(sys.argv[1], encoding="utf-8") as file:
    rows = [{name: json.loads(row[name]) for name in row if name != "id"} for row in csv.DictReader(file)]
metrics = [IDBasedContextRecall(), IDBasedContextPrecision()]
evaluate(EvaluationDataset.from_list(rows), metrics=metrics, show_progress=False)
"""


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="growth", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--peer", type=int, default=10_000, help="the most rows for Ragas")
    options = parser.parse_args(argv)
    starts = measure_all(1, peer=True)
    print(f"{'rows':>8}  {'command':<8}{'CPU us a row':>14}{'MB':>8}")
    figures: dict[str, object] = {"benchmark": "growth", "over": (over := [])}
    for count in options.rows:
        measured = measure_all(count, peer=count <= options.peer)
        sizes = measured.pop("bytes")
        for name, (seconds, megabytes) in measured.items():
            us = (seconds - starts[name][0]) / count * 1e6
            print(f"{count:>8,}  {name:<8}{us:>14.1f}{megabytes:>8.0f}")
            figures[f"{name}_{count}"] = {"us_a_row": round(us, 1), "mb": round(megabytes)}
        print(f"{count:>8,}  bytes a row and metric: results {sizes[0]:.0f}, baseline {sizes[1]:.0f}")
        figures[f"bytes_{count}"] = [round(size, 1) for size in sizes]
        if sizes[0] > BYTES or sizes[1] > BYTES_OF_BASELINE:
            over.append(f"{count} rows: {sizes[0]:.0f} and {sizes[1]:.0f} bytes a row and metric")
        if measured["compare"][1] > MEGABYTES:
            over.append(f"{count} rows: {measured['compare'][1]:.0f} MB to compare")
    return figures


def measure_all(count: int, *, peer: bool) -> dict[str, tuple[float, float]]:
    """CPU seconds and megabytes of each command on as many rows; and the bytes of results and baseline, a row and metric."""
    ours = [sys.executable, "-m", "ctxmetrics"]
    with tempfile.TemporaryDirectory() as folder:
        measured, files = {}, []
        for seed in (SEED, SEED + 1):
            table, results, baseline = (Path(folder) / f"{seed}.{end}" for end in ("csv", "jsonl", "b"))
            write_table(table, count, seed)
            files.append(str(results))
            chosen = [part for name in METRICS for part in ("-m", name)]
            outputs = ["--out", str(results), "--write-baseline", str(baseline)]
            measured["score"] = measure([*ours, "score", str(table), *chosen, *outputs])
        measured["compare"] = measure([*ours, "compare", *files])
        if peer:
            measured["ragas"] = measure([sys.executable, "-c", RAGAS, str(table)])
        rows = count * len(METRICS)
        measured["bytes"] = (results.stat().st_size / rows, baseline.stat().st_size / rows)
    return measured


def write_table(path: Path, count: int, seed: int) -> None:
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "retrieved_context_ids", "reference_context_ids"])
        for number in range(count):
            ids = [f"d{draw.randrange(10_000)}" for _ in range(10)]
            wanted = [*ids[:2], f"d{draw.randrange(10_000)}"]
            rows.writerow([f"q{number}", json.dumps(ids), json.dumps(wanted)])


def measure(command: list[str]) -> tuple[float, float]:
    """CPU seconds and megabytes of a process."""
    environment = {**os.environ, "RAGAS_DO_NOT_TRACK": "true"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"growth: {command[-1]} failed: {errors.decode()[-500:]}")
    # Linux gives kilobytes of 1,024 bytes.
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
