"""Runs that are killed, and what the next one pays.

    python benchmarks/run.py resume [--samples 300] [--stops 10] [--seed 1]

A run of recall and precision, with a cache, in a process of its own against a fake judge: first undisturbed, then
stopped at so many random moments, by ``kill -9`` and by Ctrl-C, and at last to its end. Bars: all runs together send
at most samples + stops x 16 requests, the values are those of the undisturbed run, and after each ``kill -9`` the
``out`` file holds whole lines in order.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from _shared import arguments, judging

AT_ONCE = 16


def _worker(count: int, base_url: str, folder: str) -> None:
    from ctxmetrics import ContextPrecision, ContextRecall, evaluate

    results = evaluate(
        judging.samples_of(judging.cases(count)),
        [ContextRecall(), ContextPrecision()],
        judge=judging.judge_at(base_url),
        cache=f"{folder}/cache",
        out=f"{folder}/out.jsonl",
        max_concurrency=AT_ONCE,
        progress=False,
    )
    print(json.dumps([[row[name].value for name in results.metrics] for row in results]))


def _start(count: int, base_url: str, folder: Path) -> subprocess.Popen:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, str(HERE), str(count), base_url, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _finish(process: subprocess.Popen) -> list:
    return json.loads(process.communicate(timeout=300)[0].splitlines()[-1])


def _whole_lines(path: Path) -> bool:
    """Whether every line is a row, in order."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    try:
        rows = [row for row in map(json.loads, lines) if "metric" in row]
        return [row["sample_id"] for row in rows] == [str(n // 2) for n in range(len(rows))]
    except ValueError:
        return False


def _stopped(number, options, server, folder: Path, whole) -> dict[str, object]:
    source = random.Random(options.seed)
    moments = sorted(source.uniform(0.0, 1.0) for _ in range(options.stops))
    server.reset()
    valid = True
    for moment in moments:
        process = _start(options.samples, server.base_url, folder)
        while process.poll() is None and server.stats()["count"] < options.samples * moment:
            time.sleep(0.005)
        time.sleep(source.uniform(0.0, 0.1))
        process.send_signal(number)
        process.communicate(timeout=60)
        valid &= _whole_lines(folder / "out.jsonl")
    same = _finish(_start(options.samples, server.base_url, folder)) == whole
    return {"requests": server.stats()["count"], "same": same, "valid_out": valid}


def run(argv: list[str]) -> dict[str, object]:
    options = arguments.make_parser("resume", samples=300, stops=10, seed=1).parse_args(argv)
    bar = options.samples + options.stops * AT_ONCE
    figures: dict[str, object] = {"benchmark": "resume", **vars(options), "bar": bar}
    print(
        f"{options.samples} samples, stopped {options.stops} times, then run to the end; at most {bar} requests"
    )
    print(f"{'by':14}{'requests':>10}{'same values':>13}{'whole lines':>13}")
    with judging.Server(latency=0.1) as server, tempfile.TemporaryDirectory() as place:
        whole = _finish(_start(options.samples, server.base_url, Path(place) / "undisturbed"))
        print(f"{'nothing':14}{server.stats()['count']:10}")
        for name, number in (("kill -9", signal.SIGKILL), ("Ctrl-C", signal.SIGINT)):
            found = _stopped(number, options, server, Path(place) / str(int(number)), whole)
            print(f"{name:14}{found['requests']:10}{found['same']!s:>13}{found['valid_out']!s:>13}")
            figures |= {f"{name}: {key}": value for key, value in found.items()}
    return figures


if __name__ == "__main__":
    _worker(int(sys.argv[1]), sys.argv[2], sys.argv[3])
