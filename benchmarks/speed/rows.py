"""What it costs to read rows: CPU of the plan, of the recognition, and of a file that is scored.

    python benchmarks/run.py rows [--rows 20000] [--against DIR]

Figures are the lowest CPU time of rounds that take turns. ``--against`` measures an older checkout in the same way, in a
process of its own, and prints old figures over new ones.
"""

from __future__ import annotations

import argparse
import inspect
import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 5
ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "handbook.jsonl"
COLUMNS = 1_000


def run(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="rows of the file that is scored")
    parser.add_argument("--against", type=Path, help="an older checkout of this repository")
    options = parser.parse_args(argv)
    figures: dict[str, Any] = {"benchmark": "rows", "rows": options.rows}
    figures |= measure_apart(ROOT, options.rows)
    old = measure_apart(options.against.resolve(), options.rows) if options.against else {}
    for name in [*figures][2:]:
        line = f"  {name:28} {figures[name]:10.2f}"
        if name in old:
            figures[f"old_{name}"] = old[name]
            line += f"  before {old[name]:10.2f}  ratio {old[name] / figures[name]:.1f}"
        print(line)
    return figures


def measure_apart(checkout: Path, rows: int) -> dict[str, float]:
    """Measure a checkout in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, str(checkout / "core"), str(rows)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def lowest(call: Callable[[], object]) -> float:
    """Return the lowest CPU time of a call, in seconds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def count_calls(call: Callable[[], object]) -> int:
    """Count the Python functions that a call enters."""
    calls = 0

    def count(_frame: object, event: str, _value: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    call()
    sys.setprofile(None)
    return calls


def measure(rows: int) -> dict[str, float]:
    """Measure the library that is imported."""
    logging.disable(logging.CRITICAL)
    from ctxmetrics import IDBasedContextPrecision, IDBasedContextRecall, Sample, evaluate, read_samples

    try:
        from ctxmetrics.evaluation.files.recognition import recognise
    except ImportError:  # before the number stood alone
        from ctxmetrics.reading.recognition import recognise  # type: ignore[import-not-found,no-redef]  # a module of older commits

    def plan_rows(source: list[Any], **options: Any) -> Callable[[], list[Any]]:
        plan: Any = recognise(source, **options)
        read = plan.apply if hasattr(plan, "apply") else plan.row
        for row in source:
            read(row)
        return lambda: [read(row) for row in source]

    example = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    wide = [{**row, **{f"column_{number}": number for number in range(COLUMNS)}} for row in example]
    documents = [
        {
            "id": f"q{number}",
            "user_input": "Why?",
            "reference": "It is so.",
            "retrieved_contexts": [
                {
                    "page_content": f"text {rank} of {number}",
                    "metadata": {"page": rank},
                    "id": f"d{rank}",
                }
                for rank in range(5)
            ],
        }
        for number in range(500)
    ]
    # What older commits call the same.
    is_new = "parses_texts" in inspect.signature(recognise).parameters
    read_documents = plan_rows(documents, **{"parses_texts" if is_new else "written": False})
    hundred = (example * 3)[:100]
    figures = {
        "example_us": lowest(plan_rows(example)) / len(example) * 1e6,
        "example_calls": count_calls(plan_rows(example)) / len(example),
        "recognition_ms": lowest(lambda: recognise(hundred)) * 1e3,
        "thousand_columns_ms": lowest(plan_rows(wide)) / len(wide) * 1e3,
        "documents_over_sample": lowest(lambda: [Sample(**fields) for fields, _ in read_documents()])
        / lowest(lambda: [Sample(**row) for row in documents]),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for number in range(rows):
                row = {**example[number % len(example)], "id": f"q{number}"}
                lines.write(json.dumps(row) + "\n")
        metrics = [IDBasedContextRecall(), IDBasedContextPrecision()]
        begin = time.process_time()
        evaluate(read_samples(file), metrics, progress=False)
        figures["scored_us"] = (time.process_time() - begin) / rows * 1e6
    return figures


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    print(json.dumps(measure(int(sys.argv[2]))))
