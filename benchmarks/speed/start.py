"""CPU time of a start: what a command costs before it does any work, and the frameworks beside the adapters.

    python benchmarks/run.py start [--other PYTHON] [--repetitions 5]

CPU seconds (user and system) of processes that begin, interleaved, the least of the repetitions; bytecode is compiled
before, as pip does. ``--other`` is the Python of another environment, for the same of another version of the library. The
limits are those of the design: ``--help`` 250 ms and ``score`` of the handbook 750 ms on a machine on which Python itself
takes about 20, so that a share of them counts where Python takes longer.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HANDBOOK = Path(__file__).resolve().parents[2] / "examples" / "handbook.jsonl"
STARTS = {
    "python": ["-c", "pass"],
    "import ctxmetrics": ["-c", "import ctxmetrics"],
    "--help": ["-m", "ctxmetrics", "--help"],
    "score handbook.jsonl": ["-m", "ctxmetrics", "score", str(HANDBOOK)],
    # What every evaluator of LangSmith needs: its base class, and the chat models of langchain-core.
    "langsmith, langchain-core": [
        "-c",
        "from langsmith import RunEvaluator; from langchain_core.language_models import BaseChatModel",
    ],
    "import ctxmetrics_langchain": ["-c", "import ctxmetrics_langchain"],
}
# Milliseconds at most, where Python itself takes `PYTHON` of them.
LIMITS = {"--help": 250.0, "score handbook.jsonl": 750.0}
PYTHON = 20.0


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="start", description=__doc__)
    parser.add_argument("--other", help="the Python of another environment")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args(argv)
    pythons = [sys.executable, *([options.other] if options.other else [])]
    least: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(options.repetitions + 1):  # the first one compiles
            for name, command in STARTS.items():
                for python in pythons:
                    taken = cpu_seconds([python, *command], cache)
                    if turn:
                        least[name, python] = min(taken, least.get((name, python), taken))
    slower = max(1.0, least["python", sys.executable] * 1000 / PYTHON)
    over = []
    print(
        f"{'CPU, ms':<30}"
        + "".join(f"{which:>10}" for which in ("here", "other", "ratio")[: 2 * len(pythons) - 1])
    )
    for name in STARTS:
        taken = [least[name, python] * 1000 for python in pythons]
        ratio = f"{taken[0] / taken[1]:>10.2f}" if options.other else ""
        print(f"{name:<30}" + "".join(f"{value:>10.0f}" for value in taken) + ratio)
        if taken[0] > LIMITS.get(name, float("inf")) * slower:
            over.append(f"{name}: {taken[0]:.0f} ms of CPU, at most {LIMITS[name] * slower:.0f}")
    figures = {name: round(least[name, sys.executable] * 1000) for name in STARTS}
    return {"benchmark": "start", "milliseconds": figures, "over": over}


def cpu_seconds(command: list[str], cache: str) -> float:
    """Return the CPU time that a process takes, user and system."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
