"""The span metrics beside the id metrics in tables, and ``ctxmetrics spans`` on large sources.

``python benchmarks/run.py spans [ROWS [CHUNKS [MEGABYTES]]]``: 100,000 rows, 10,000 chunks, 50 MB unless given.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import Any

from ctxmetrics import (
    IDBasedContextPrecision,
    IDBasedContextRecall,
    SpanBasedContextPrecision,
    SpanBasedContextRecall,
    score_table,
)
from ctxmetrics.agreement.span_labels import locate, read_sources

K = 10


def run(argv: list[str]) -> dict[str, Any]:
    rows, chunks, megabytes = (int(given) for given in (*argv, *("100000", "10000", "50")[len(argv) :]))
    figures = {**columns(rows), **locating(chunks, megabytes)}
    for name, value in figures.items():
        print(f"{name:32} {value}")
    return figures


def columns(rows: int) -> dict[str, Any]:
    """CPU seconds of `score_table` over rows with k = 10."""
    import pyarrow as pa

    random_ = random.Random(1)
    starts = [[random_.randrange(0, 20_000) for _ in range(K)] for _ in range(rows)]
    ids = pa.table(
        {
            "retrieved_context_ids": [[f"doc{at // 500}" for at in row] for row in starts],
            "reference_context_ids": [
                [f"doc{row[0] // 500}", f"doc{row[5] // 400}", "doc7"] for row in starts
            ],
        }
    )
    spans = pa.table(
        {
            "retrieved_context_ids": [
                [f"s{at % 3}.md#char={at},{at + 500}" for at in row] for row in starts
            ],
            "reference_context_ids": [
                [f"s{at % 3}.md#char={at + 100},{at + 300}" for at in (row[0], row[5], 7)]
                for row in starts
            ],
        }
    )
    by_ids = seconds(ids, [IDBasedContextRecall(), IDBasedContextPrecision()])
    by_spans = seconds(spans, [SpanBasedContextRecall(), SpanBasedContextPrecision()])
    return {
        "rows": rows,
        "id_metrics_seconds": round(by_ids, 2),
        "span_metrics_seconds": round(by_spans, 2),
        "times": round(by_spans / by_ids, 2),
    }


def seconds(table: Any, metrics: list[Any]) -> float:
    start = time.process_time()
    score_table(table, metrics, progress=False)
    return time.process_time() - start


def locating(chunks: int, megabytes: int) -> dict[str, Any]:
    """CPU seconds for finding chunks in sources of random words."""
    random_ = random.Random(2)
    words = [
        "".join(random_.choices("abcdefghijklmnopqrstuvwxyz", k=random_.randint(2, 11)))
        for _ in range(30_000)
    ]
    with tempfile.TemporaryDirectory() as folder:
        texts = []
        for number in range(megabytes):
            text = " ".join(random_.choices(words, k=150_000))[:1_000_000]
            (Path(folder) / f"{number}.txt").write_text(text, encoding="utf-8")
            texts.append(text)
        cut = []
        for number in range(chunks):
            text = random_.choice(texts)
            start = random_.randrange(0, len(text) - 1000)
            chunk = text[start : start + random_.randint(200, 1000)]
            cut.append(chunk.upper().replace(" ", "\n") if number % 10 == 0 else chunk)
        cut[0], cut[1] = "a text that stands in none of the sources, anywhere", texts[0][:40]
        start_time = time.process_time()
        places = locate(cut, read_sources(Path(folder)))
        spent = time.process_time() - start_time
    return {
        "chunks": chunks,
        "megabytes": megabytes,
        "found_once": sum(len(place.within(None)) == 1 for place in places),
        "locating_seconds": round(spent, 2),
    }
