"""What becomes of the scores when the judge's server fails: ours, Ragas (both APIs) and DeepEval.

    python benchmarks/run.py faults [--samples 200] [--peers ragas collections deepeval] [--kinds 500 hang ..]
                                    [--write-docs]

Recall and precision with a fake judge that answers honestly, so every true score is known, and that fails in one way
(`tests/support/faults.py`): one request in ten, then every request. A score is ok, silently wrong, or missing (no
value, NaN or None); ``lost``: the call raised and gave nothing. Ours: so many samples, at 100 % with the number of log
lines; bars: nothing wrong, nothing lost, at 10 % nothing missing, at 100 % a reason code for everything missing and
one line that says so. Peers: 20 samples at 10 %, 4 at 100 %, in a process of their own that is ended after ``--limit``
seconds. Requests that hang are given up after 2 seconds (ours; for the peers, after what they are configured to).
``--write-docs`` puts the table into ``measured-faults.md``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from _shared import arguments, docs, judging

SHARES = {"10 %": {"every": 10}, "100 %": {"rate": 1.0}}
TIMEOUT = 2.0
PEERS = judging.PEERS
TITLES = {"ours": "ctxmetrics", **judging.TITLES}
"""Of the columns in the docs, each followed by the share of requests that fail."""


def _ours(kind: str, share: str, count: int) -> dict[str, object]:
    from ctxmetrics import ContextPrecision, ContextRecall, evaluate
    from ctxmetrics.judges.llm.judge import forget
    from support import FakeOpenAIServer, Fault

    forget()
    given = judging.cases(count)
    served = FakeOpenAIServer(judging.respond, faults=[Fault(kind, **SHARES[share])])
    with judging.logged("ctxmetrics") as lines, served as server:
        began = time.perf_counter()
        results = evaluate(
            judging.samples_of(given),
            [ContextRecall(), ContextPrecision()],
            judge=judging.judge_at(server.base_url),
            timeout=TIMEOUT,
            progress=False,
        )
        seconds = time.perf_counter() - began
        requests = server.count
    scores = [tuple(row[name].value for name in results.metrics) for row in results]
    codes = Counter(
        verdict.code
        for row in results
        for score in row.values()
        for verdict in score.verdicts
        if verdict.value is None
    )
    return {
        "count": count,
        "wrong": judging.wrong(scores, given),
        "missing": judging.missing(scores),
        "unexplained": sum(
            s.value is None and s.reason_code is None for row in results for s in row.values()
        ),
        "seconds": round(seconds, 1),
        "requests": requests,
        "lines": len(lines),
        "stopped": results.stopped,
        "codes": dict(codes.most_common(2)),
    }


def _peer(name: str, kind: str, share: str, limit: float) -> dict[str, object]:
    count = 20 if share == "10 %" else 4
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:  # DeepEval writes into the directory it is in
        try:
            done = subprocess.run(
                [sys.executable, str(HERE), name, kind, share, str(count)],
                cwd=folder,
                env={**os.environ, **judging.QUIET},
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
            found = (
                json.loads(done.stdout.splitlines()[-1])
                if done.returncode == 0
                else {"lost": "the process died"}
            )
        except subprocess.TimeoutExpired:
            found = {"lost": f"not finished after {limit:g} s"}
    return {"count": count, "seconds": round(time.perf_counter() - began, 1), **found}


def _peer_worker(name: str, kind: str, share: str, count: int) -> None:
    from support import FakeOpenAIServer, Fault

    given = judging.cases(count)
    server = FakeOpenAIServer(judging.respond, faults=[Fault(kind, **SHARES[share])])
    with server:
        try:
            scores = getattr(judging, PEERS[name])(given, server.base_url)
            found = {"wrong": judging.wrong(scores, given), "missing": judging.missing(scores)}
        except Exception as error:
            found = {"lost": type(error).__name__}
        found["requests"] = server.count
    print(json.dumps(found), flush=True)
    os._exit(0)  # whatever a framework left running


def _cell(found: dict[str, object]) -> str:
    if "lost" in found:
        return f"lost: {found['lost']}"
    both = [f"{found[key]} {key}" for key in ("wrong", "missing") if found[key]]
    return ", ".join(both) or "ok"


def _table(rows: list[dict[str, object]]) -> str:
    """Return the table as the docs have it: a line a fault, two columns a system."""
    columns = [(name, share) for name in TITLES for share in SHARES]
    found = {(row["fault"], row["share"]): row for row in rows}
    head = ["fault", *(f"{TITLES[name]}, {share}" for name, share in columns)]
    lines = []
    for kind in dict.fromkeys(row["fault"] for row in rows):
        lines.append([f"`{kind}`", *(_told(found[kind, share][name]) for name, share in columns)])
    return docs.markdown(head, lines)


def _told(found: dict[str, object]) -> str:
    if "lost" in found:
        return f"run lost: {found['lost']}"
    scores = 2 * int(found["count"])
    told = [
        f"**{found[key]} of {scores} {key}**" if key == "wrong" else f"{found[key]} of {scores} {key}"
        for key in ("wrong", "missing")
        if found[key]
    ]
    return ", ".join(told) or "right"


def _misses(kind: str, share: str, found: dict[str, object]) -> list[str]:
    """Which bars a cell of ours misses."""
    from support.faults import HARMLESS

    problems = []
    if found["wrong"]:
        problems.append("wrong scores")
    if found["missing"] and (share == "10 %" or kind in HARMLESS):
        problems.append("missing scores")
    if found["unexplained"]:
        problems.append("no reason code")
    if found["missing"] and share == "100 %" and found["lines"] != 1:
        problems.append("not said once")
    return problems


def run(argv: list[str]) -> dict[str, object]:
    from support import FAULTS

    parser = arguments.make_parser(
        "faults", samples=200, peers=PEERS, kinds=FAULTS, limit=45.0, write_docs=False
    )
    options = parser.parse_args(argv)
    if options.write_docs and (set(options.peers) != set(PEERS) or set(options.kinds) != set(FAULTS)):
        parser.error("--write-docs needs all peers and all kinds")
    titles = ["ours", *options.peers]
    print(
        f"{'fault':18}{'share':>6}  {'requests':>8}{'s':>7}{'lines':>6}  "
        + "".join(f"{title:32}" for title in titles)
    )
    rows = []
    for kind in options.kinds:
        for share in SHARES:
            ours = _ours(kind, share, options.samples)
            cells = {"ours": ours} | {
                name: _peer(name, kind, share, options.limit) for name in options.peers
            }
            misses = _misses(kind, share, ours)
            rows.append({"fault": kind, "share": share, "misses": misses, **cells})
            print(
                f"{kind:18}{share:>6}  {ours['requests']:8}{ours['seconds']:7}{ours['lines']:6}  "
                + "".join(f"{_cell(cells[title]):32}" for title in titles)
                + "; ".join(misses),
                flush=True,
            )
    total = {key: sum(int(row["ours"][key]) for row in rows) for key in ("wrong", "unexplained")}
    total["missing_at_10"] = sum(int(row["ours"]["missing"]) for row in rows if row["share"] == "10 %")
    total["slowest_seconds"] = max(float(row["ours"]["seconds"]) for row in rows)
    total["cells_that_miss_a_bar"] = sum(bool(row["misses"]) for row in rows)
    for name in options.peers:
        total[f"{name}_wrong"] = sum(int(row[name].get("wrong", 0)) for row in rows)
        total[f"{name}_lost_runs"] = sum("lost" in row[name] for row in rows)
    for key, value in total.items():
        print(f"{key:28}{value}")
    if options.write_docs:
        docs.write("faults", _table(rows))
    return {"benchmark": "faults", "samples": options.samples, **total, "rows": rows}


if __name__ == "__main__":
    _peer_worker(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
