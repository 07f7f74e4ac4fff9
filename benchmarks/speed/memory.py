"""Memory of a long run: a generator in, a file out.

    python benchmarks/run.py memory [--samples 100000]

Recall and precision by an instant scripted judge, in a process of its own; what counts is how much the peak of the
resident memory grows after the first 10,000 samples (or the first tenth). Bar: under 50 MB, rows in input order.

Then the first 20,000 lines of that file are compared with themselves and read again (``Results.from_jsonl``), in another
process. Bars: 1 KB a line and 6 KB a line. What numpy and pydantic take once is not counted: 200 lines are compared first.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

HERE = Path(__file__).resolve()
BAR = 50.0
LINES, BAR_OF_A_LINE, BAR_OF_COMPARE = 20_003, 6.0, 1.0  # three lines are about the run
FIRST_LINES = 203


def _resident() -> float:
    """Megabytes of this process now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1000
    raise SystemExit("memory: this benchmark reads /proc, which only Linux has")


def _reply(prompt):
    data = json.loads(prompt.user.split("\n", 2)[1])
    return {
        "code": "$code",
        "sentences": {
            item["id"]: {"evidence": [], "missing": "not said", "supported": False}
            for item in data["sentences"]
        },
        "useful": {
            item["id"]: {"quote": item["text"][:80], "useful": index == 0}
            for index, item in enumerate(data["contexts"])
        },
    }


def _worker(count: int, out: str) -> None:
    from ctxmetrics import ContextPrecision, ContextRecall, Sample, ScriptedJudge, evaluate

    seen: list[float] = []

    def stream():
        for number in range(count):
            if number % 1000 == 0:
                seen.append(_resident())
            yield Sample(
                id=number,
                user_input=f"What is number {number}?",
                reference=f"This is number {number}. It was found in the year {1900 + number % 100}.",
                retrieved_contexts=[
                    f"Text {rank} about number {number}. " + "More of it. " * 30 for rank in range(5)
                ],
            )

    began = time.perf_counter()
    results = evaluate(
        stream(),
        [ContextRecall(), ContextPrecision()],
        judge=ScriptedJudge(_reply, name="instant"),
        out=out,
        progress=False,
    )
    seconds = time.perf_counter() - began
    seen.append(_resident())
    first = max(1, min(10, len(seen) // 10))
    in_order = [row.sample_id for row in results] == [str(number) for number in range(count)]
    right = all(
        (row["context_recall"].value, row["context_precision"].value) == (0.0, 1.0) for row in results
    )
    figures = {
        "samples": len(results),
        "seconds": round(seconds, 1),
        "ms_per_sample": round(seconds / count * 1000, 3),
        "first_mb": round(max(seen[: first + 1]), 1),
        "peak_mb": round(max(seen), 1),
        "growth_mb": round(max(seen) - max(seen[: first + 1]), 1),
        "in_order": in_order and right,
    }
    print(json.dumps(figures))


def _peak() -> float:
    """Megabytes of this process at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _copy_lines(source: Path, target: Path, count: int) -> None:
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as copy:
        copy.writelines(islice(lines, count))


def _read_again(file: Path) -> None:
    from ctxmetrics import Results, compare

    small = file.with_name("small.jsonl")
    _copy_lines(file, small, FIRST_LINES)
    compare(small, small)  # loads numpy and pydantic
    begin = _peak()
    compare(file, file)
    compared = _peak() - begin
    begin = _resident()
    rows = Results.from_jsonl(file)
    figures = {"compare_mb": round(compared, 1), "rows_read": len(rows)}
    print(json.dumps({**figures, "rows_mb": round(_resident() - begin, 1)}))


def run(argv: list[str]) -> dict[str, object]:
    parser = argparse.ArgumentParser(prog="memory")
    parser.add_argument("--samples", type=int, default=100_000)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.jsonl"
        command = [sys.executable, str(HERE), str(options.samples), str(out)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures = json.loads(done.stdout.splitlines()[-1])
        written = 0
        with out.open(encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                if "metric" in line:
                    figures["in_order"] &= line["sample_id"] == str(written // 2)
                    written += 1
        some = Path(folder) / "some.jsonl"
        _copy_lines(out, some, LINES)
        command = [sys.executable, str(HERE), "read", str(some)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures |= json.loads(done.stdout)
        figures["kb_a_line"] = round(1000 * figures["rows_mb"] / min(LINES, written), 2)
        figures["kb_a_line_compared"] = round(1000 * figures["compare_mb"] / min(LINES, written), 2)
        figures["kb_a_line_in_the_file"] = round(some.stat().st_size / 1000 / min(LINES, written), 2)
        figures |= {"lines": written, "file_mb": round(out.stat().st_size / 1e6, 1)}
    for name, value in figures.items():
        print(f"{name:22}{value:>12}")
    print(f"a line of results in memory: {figures['kb_a_line']} KB (at most {BAR_OF_A_LINE:g}), while it is compared: "
          f"{figures['kb_a_line_compared']} KB (at most {BAR_OF_COMPARE:g})")  # fmt: skip
    print(f"growth after the first 10,000: {figures['growth_mb']} MB (under {BAR:g}); lines as they should be: "
          f"{figures['in_order'] and written == 2 * options.samples}")  # fmt: skip
    return {"benchmark": "memory", **figures}


if __name__ == "__main__":
    _read_again(Path(sys.argv[2])) if sys.argv[1] == "read" else _worker(int(sys.argv[1]), sys.argv[2])
