"""A judged table on Ray and on Spark, each with two workers, beside one process and Ragas: seconds and requests.

    python benchmarks/run.py cluster [--samples 200]

Recall and precision by a fake judge that answers after 0.1 s. On each engine once undisturbed, and once with a worker that is
killed half-way, with a cache that all workers see. Bars: the values of one process, a request a sample, and after a kill at most
what was in flight on both workers on top. Ragas judges the same samples in one process with its own metrics. Needs Java.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from _shared import arguments, judging

from support import clusters

IN_FLIGHT, PARTS = 16, 8


def run(argv: list[str]) -> dict[str, object]:
    count = arguments.make_parser("cluster", __doc__, samples=200).parse_args(argv).samples
    os.environ.update(judging.QUIET | clusters.RAY_ENVIRONMENT | clusters.SPARK_ENVIRONMENT)
    figures: dict[str, object] = {"benchmark": "cluster", "samples": count, "over": (over := [])}
    print(f"{count} samples\n{'':24}{'seconds':>9}{'requests':>10}{'at once':>9}{'right values':>14}")
    places = (("one process", one_process), ("Ray", on_ray()), ("Spark", on_spark()))
    runs = [(name, place, False) for name, place in places]
    runs += [(f"{name}, worker killed", place, True) for name, place in places[1:]]
    with judging.Server(latency=0.1) as server:
        for turn, (name, place, killed) in enumerate(runs):
            # Workers remember what they judged.
            given = judging.cases(count, first=turn * count)
            server.reset()
            begin = time.monotonic()
            values = score(place, given, server.base_url, killed=killed)
            seconds, stats = time.monotonic() - begin, server.stats()
            right = not judging.wrong(values, given) and not judging.missing(values)
            figures[name] = {"seconds": round(seconds, 1), "requests": stats["count"]}
            print(
                f"{name:24}{seconds:>9.1f}{stats['count']:>10}{stats['max_in_flight']:>9}{right!s:>14}"
            )
            if not right or stats["count"] > count + killed * clusters.WORKERS * IN_FLIGHT:
                over.append(f"{name}: {stats['count']} requests, right values: {right}")
        server.reset()
        begin = time.monotonic()
        with judging.silence():
            judging.ragas_scores(given, server.base_url)
        seconds, stats = time.monotonic() - begin, server.stats()
        figures["ragas"] = {"seconds": round(seconds, 1), "requests": stats["count"]}
        print(f"{'Ragas':24}{seconds:>9.1f}{stats['count']:>10}{stats['max_in_flight']:>9}")
    return figures


def score(place, given: list[judging.Case], url: str, *, killed: bool) -> list[tuple]:
    """The values of samples, scored where ``place`` puts their table."""
    import pyarrow as pa

    from ctxmetrics import ContextPrecision, ContextRecall, LLMJudge, score_table
    from support.killing import killing_model

    fields = ("id", "user_input", "reference", "retrieved_contexts")
    rows = [sample.to_dict() for sample in judging.samples_of(given)]
    table = pa.Table.from_pylist([{name: row[name] for name in fields} for row in rows])
    judge = judging.judge_at(url)
    with tempfile.TemporaryDirectory() as folder:
        options = {"max_concurrency": IN_FLIGHT}
        if killed:
            marked = given[len(given) // 2].question
            judge = LLMJudge(killing_model(judge.model, Path(folder) / "killed", marked))
            options["cache"] = f"{folder}/cache"
        put, collect = place
        scored = score_table(put(table), [ContextRecall(), ContextPrecision()], judge=judge, **options)
        rows = sorted(collect(scored).to_pylist(), key=lambda row: int(row["id"]))
    return [(row["context_recall"], row["context_precision"]) for row in rows]


one_process = (lambda table: table, lambda table: table)


def on_ray():
    import pyarrow as pa

    ray = clusters.start_ray()

    def put(table):
        return ray.data.from_arrow(table).repartition(PARTS)

    return put, lambda dataset: pa.Table.from_pylist(dataset.take_all())


def on_spark():
    session = clusters.start_spark()
    return lambda table: session.createDataFrame(table).repartition(
        PARTS
    ), lambda frame: frame.toArrow()
