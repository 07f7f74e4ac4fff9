"""`score_table` on local clusters of two workers, Ray and Spark, against one process.

    python benchmarks/run.py cluster [--engine ray spark] [--ids 100000] [--texts 2000] [--judged 500] [--limit 8]

Four loads: four id metrics over rows of ten ids, string similarity and the embedded judge over short texts, and recall with
a judge behind a server on the loopback. Then the judged load once more with a shared cache, while a worker kills itself half
way. Bars: the same values and reason codes as in one process, never more requests in flight at the server than the limit
times the workers, and after a kill at most so many requests more. Everything listens on the loopback address only. Spark
needs Java.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

import _judging as judging

WORKERS, K = 2, 10
PARTITIONS = 4 * WORKERS


def _ids(count):
    import pyarrow as pa

    source = random.Random(1)
    names = [f"document-{number}" for number in range(200)]
    data = {"id": range(count)}
    for name, most in (("retrieved_context_ids", K), ("reference_context_ids", 5)):
        data[name] = [source.choices(names, k=most) for _ in range(count)]
    return pa.table(data)


def _texts(count):
    import pyarrow as pa

    given = judging.cases(count, sentences=2, k=3)
    return pa.table(
        {
            "id": range(count),
            "user_input": [case.question for case in given],
            "reference": [case.reference for case in given],
            "retrieved_contexts": [list(case.contexts) for case in given],
            "reference_contexts": [[case.contexts[0], case.reference] for case in given],
        }
    )


class _Ray:
    def __enter__(self):
        os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DATA_DISABLE_PROGRESS_BARS": "1"}
        # Else Ray takes the machine's own address for 127.0.0.1, and listens on all.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        import ray

        ray.init(
            num_cpus=WORKERS,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            log_to_driver=False,
            logging_level="ERROR",
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        self._ray = ray
        return self

    def __exit__(self, *_: object):
        self._ray.shutdown()

    def distributed(self, table):
        return self._ray.data.from_arrow(table).repartition(PARTITIONS)

    def collected(self, dataset):
        import pyarrow as pa

        return pa.concat_tables(self._ray.get(dataset.to_arrow_refs()))


class _Spark:
    def __enter__(self):
        os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        from pyspark.sql import SparkSession

        self._session = (
            SparkSession.builder.master(f"local[{WORKERS},4]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "2g")
            .config("spark.driver.maxResultSize", "0")
            .config("spark.ui.enabled", "false")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        return self

    def __exit__(self, *_: object):
        self._session.stop()

    def distributed(self, table):
        return self._session.createDataFrame(table).repartition(PARTITIONS)

    def collected(self, frame):
        return frame.toArrow()


def _equal(one, other, columns) -> bool:
    one, other = (
        table.sort_by("id").select(["id", *columns]).combine_chunks() for table in (one, other)
    )
    return all(one[name].to_pylist() == other[name].to_pylist() for name in columns)


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(
        prog="cluster", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", nargs="+", choices=("ray", "spark"), default=["ray", "spark"])
    parser.add_argument("--ids", type=int, default=100_000)
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--judged", type=int, default=500)
    parser.add_argument("--limit", type=int, default=8)
    options = parser.parse_args(argv)

    import ctxmetrics as cm
    from ctxmetrics import score_table
    from support.killing import killing_model

    figures: dict[str, object] = {"benchmark": "cluster", **vars(options)}
    loads = {
        "ids": (
            _ids(options.ids),
            [
                cm.IDBasedContextRecall(),
                cm.IDBasedContextPrecision(),
                cm.IDBasedNDCG(),
                cm.IDBasedReciprocalRank(),
            ],
        ),
        "strings": (_texts(options.texts), [cm.NonLLMContextRecall(), cm.NonLLMContextPrecision()]),
        "lexical": (_texts(options.texts), [cm.ContextRecall(), cm.ContextPrecision()]),
    }
    columns = {
        name: [f"{metric.name}{end}" for metric in metrics for end in ("", ".reason_code")]
        for name, (_, metrics) in loads.items()
    }
    print(f"{'':8}{'load':22}{'rows':>9}{'wall s':>9}{'requests':>10}{'in flight':>11}  values")
    expected = {}
    for name, (table, metrics) in loads.items():
        begin = time.perf_counter()
        expected[name] = score_table(table, metrics, progress=False)
        print(f"{'alone':8}{name:22}{len(table):9}{time.perf_counter() - begin:9.1f}", flush=True)
    judged = _texts(options.judged)
    with judging.Server(latency=0.1) as server, tempfile.TemporaryDirectory() as folder:
        judge = judging.judge_at(server.base_url)
        metrics = [cm.ContextRecall(), cm.ContextPrecision()]
        names = [f"{metric.name}{end}" for metric in metrics for end in ("", ".reason_code")]
        alone = score_table(judged, metrics, judge=judge, progress=False)
        for engine in options.engine:
            start = {"ray": _Ray, "spark": _Spark}[engine]
            with start() as cluster:
                for name, (table, given) in loads.items():
                    begin = time.perf_counter()
                    found = cluster.collected(score_table(cluster.distributed(table), given))
                    wall = time.perf_counter() - begin
                    equal = _equal(found, expected[name], columns[name])
                    print(
                        f"{engine:8}{name:22}{len(table):9}{wall:9.1f}{'-':>10}{'-':>11}  {'equal' if equal else 'DIFFER'}",
                        flush=True,
                    )
                    figures |= {
                        f"{engine}_{name}_equal": equal,
                        f"{engine}_{name}_wall": round(wall, 1),
                    }
            for name in ("judged", "killed"):
                server.reset()
                flag = Path(folder, f"{engine} {name}")
                asked, more = judge, {}
                if name != "judged":
                    # in the middle of a partition: what its worker was told until then is lost
                    middle = options.judged // 2 + options.judged // (2 * PARTITIONS)
                    asked = cm.LLMJudge(killing_model(judge.model, flag, f"Fact {middle}-"))
                    more["cache"] = Path(folder, f"{engine} cache")
                with start() as cluster:  # a new one, whose workers remember nothing
                    begin = time.perf_counter()
                    scored = score_table(
                        cluster.distributed(judged),
                        metrics,
                        judge=asked,
                        max_concurrency=options.limit,
                        timeout=10.0,
                        **more,
                    )
                    found = cluster.collected(scored)
                    wall, stats = time.perf_counter() - begin, server.stats()
                if name != "judged" and not flag.exists():
                    raise SystemExit(
                        f"{engine}, {name}: no worker was killed, so the figures say nothing"
                    )
                equal = _equal(found, alone, names)
                killed = "" if name == "judged" else ", a worker was killed"
                print(
                    f"{engine:8}{name:22}{len(judged):9}{wall:9.1f}{stats['count']:10}{stats['max_in_flight']:11}  "
                    f"{'equal' if equal else 'DIFFER'}{killed}",
                    flush=True,
                )
                key = f"{engine}_{name.replace(' ', '_')}"
                figures |= {
                    f"{key}_equal": equal,
                    f"{key}_requests": stats["count"],
                    f"{key}_in_flight": stats["max_in_flight"],
                }
    most = WORKERS * options.limit
    print(f"Bars: equal; in flight at most {most}; requests after a kill at most {most} more")
    return figures
