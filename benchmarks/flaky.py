"""A server that fails at random, and one that takes few requests at once.

    python benchmarks/run.py flaky [--samples 200] [--seeds 20]

Recall and precision, 16 requests in flight. First one request in ten fails with HTTP 500, independently, once a seed;
bar: every sample judged, with the true scores. Then a server that takes 8 requests at once and answers the rest with
429 and Retry-After; bars: every sample judged, at most 15 % of the requests rejected.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _judging as judging


def _evaluate(given, **options) -> dict[str, object]:
    from ctxmetrics import ContextPrecision, ContextRecall, evaluate
    from ctxmetrics.judges.llm.judge import forget
    from support import FakeOpenAIServer

    forget()
    with FakeOpenAIServer(judging.respond, **options) as server:
        began = time.perf_counter()
        results = evaluate(
            judging.samples_of(given),
            [ContextRecall(), ContextPrecision()],
            judge=judging.judge_at(server.base_url),
            progress=False,
        )
        seconds = time.perf_counter() - began
        requests = server.requests
    scores = [tuple(row[name].value for name in results.metrics) for row in results]
    return {
        "missing": judging.missing(scores),
        "wrong": judging.wrong(scores, given),
        "requests": len(requests),
        "refused": sum(request.status == 429 for request in requests),
        "seconds": round(seconds, 2),
    }


def run(argv: list[str]) -> dict[str, object]:
    from support import Fault

    parser = argparse.ArgumentParser(prog="flaky")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args(argv)
    given = judging.cases(options.samples)
    print(f"{'server':24}{'missing':>8}{'wrong':>7}{'requests':>10}{'refused':>9}{'seconds':>9}")
    rows = []
    for seed in range(options.seeds):
        rows.append(_evaluate(given, faults=[Fault("500", rate=0.1, seed=seed)]))
        print(f"{f'10 % HTTP 500, seed {seed}':24}" + _cells(rows[-1]), flush=True)
    narrow = _evaluate(given, latency=0.2, max_parallel=8)
    print(f"{'8 at once':24}" + _cells(narrow))
    share = narrow["refused"] / narrow["requests"]
    print(f"refused: {share:.1%} (at most 15 %)")
    return {
        "benchmark": "flaky",
        "samples": options.samples,
        "seeds": options.seeds,
        "missing": sum(row["missing"] for row in rows),
        "wrong": sum(row["wrong"] for row in rows) + narrow["wrong"],
        "narrow_missing": narrow["missing"],
        "narrow_refused_share": round(share, 4),
    }


def _cells(row: dict[str, object]) -> str:
    return f"{row['missing']:8}{row['wrong']:7}{row['requests']:10}{row['refused']:9}{row['seconds']:9}"
